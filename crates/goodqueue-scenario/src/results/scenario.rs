//! The scenario beside its results.

use std::borrow::Cow;
use std::iter;

use goodqueue::Duration;
use goodqueue_tc::units;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::scenario::{self, Scenario};

/// The scenario that gave the results, in the format of scenario files with every default filled
/// in, so that it can be run again.
///
/// It is kept as it was written and not resolved anew, because a result file is read on machines
/// that lack the traces of the scenario, and by versions that know other keys. So each part may be
/// missing.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScenarioRecord(Value);

/// Both ends of a link of the scenario, or of the line that its percentages refer to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkRecord<'r>(&'r Value);

/// The rate of one end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateRecord<'r> {
    /// A rate that stays, or a word in its place, as it is written.
    Constant(&'r str),
    /// The name of a trace.
    Trace(&'r str),
    /// Steps of time and rate.
    Schedule {
        /// True if the last step is a rate of 0, which then lasts for ever.
        ends_blocked: bool,
    },
}

/// A table of equal flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowsRecord<'r>(&'r Value);

impl ScenarioRecord {
    /// The scenario in the format of scenario files.
    #[must_use]
    pub const fn from_json(scenario: Value) -> Self {
        Self(scenario)
    }

    /// The scenario in the format of scenario files.
    #[must_use]
    pub const fn as_json(&self) -> &Value {
        &self.0
    }

    /// The text of a key of the scenario that is for people, such as `title`; `None` if it has
    /// none.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0[key].as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0["name"].as_str()
    }

    /// Simulated time of a run, as it is written.
    #[must_use]
    pub fn duration(&self) -> Option<&str> {
        self.0["duration"].as_str()
    }

    /// Number of repetitions.
    #[must_use]
    pub fn seeds(&self) -> Option<u64> {
        self.0["seeds"].as_u64()
    }

    /// The line that percentages of rates refer to; without one, the bottleneck.
    #[must_use]
    pub fn line(&self) -> LinkRecord<'_> {
        LinkRecord(if self.0["line"].is_object() { &self.0["line"] } else { &self.0["link"] })
    }

    /// The bottleneck.
    #[must_use]
    pub fn link(&self) -> LinkRecord<'_> {
        LinkRecord(&self.0["link"])
    }

    /// The bottleneck and the links in series with it.
    pub fn links(&self) -> impl Iterator<Item = LinkRecord<'_>> {
        iter::once(&self.0["link"]).chain(self.0["hops"].as_array().into_iter().flatten()).map(LinkRecord)
    }

    /// The tables of flows.
    pub fn flows(&self) -> impl Iterator<Item = FlowsRecord<'_>> {
        self.0["flows"].as_array().into_iter().flatten().map(FlowsRecord)
    }

    /// The tc line of the discipline with this label in front of the bottleneck, in the direction
    /// `down` or `up`.
    #[must_use]
    pub fn qdisc(&self, label: &str, direction: scenario::Direction) -> Option<&str> {
        let qdiscs = self.0["qdiscs"].as_array()?;
        qdiscs.iter().find(|qdisc| qdisc["label"] == label)?[direction.name()].as_str()
    }

    /// The value at a dotted path such as `flows.0.count`.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<&Value> {
        self.0.pointer(&pointer(path))
    }

    /// The same scenario with `word` in place of the values of the dotted `keys`.
    #[must_use]
    pub fn with_word_for(&self, word: &str, keys: &[String]) -> Self {
        let mut scenario = self.0.clone();
        for key in keys {
            if let Some(value) = scenario.pointer_mut(&pointer(key)) {
                *value = word.into();
            }
        }
        Self(scenario)
    }
}

fn pointer(path: &str) -> String {
    format!("/{}", path.replace('.', "/"))
}

impl<'r> LinkRecord<'r> {
    /// The rate in a direction; `None` if it is not known.
    #[must_use]
    pub fn rate(self, direction: scenario::Direction) -> Option<RateRecord<'r>> {
        match &self.0[direction.name()] {
            Value::String(text) => Some(RateRecord::Constant(text)),
            Value::Null => None,
            end => Some(end["trace"].as_str().map_or_else(
                || {
                    let last = end["schedule"].as_array().and_then(|steps| steps.last());
                    let ends_blocked = last.is_some_and(|step| step[1].as_str() == Some("0bit"));
                    RateRecord::Schedule { ends_blocked }
                },
                RateRecord::Trace,
            )),
        }
    }

    /// The base round-trip time, as it is written.
    #[must_use]
    pub fn rtt(self) -> Option<&'r str> {
        self.0["rtt"].as_str()
    }
}

impl<'r> FlowsRecord<'r> {
    /// The word of its kind.
    #[must_use]
    pub fn kind(self) -> Option<&'r str> {
        self.0["kind"].as_str()
    }

    /// The congestion control, if it has one.
    #[must_use]
    pub fn cc(self) -> Option<&'r str> {
        self.0["cc"].as_str()
    }

    /// The word of its direction.
    #[must_use]
    pub fn direction(self) -> Option<&'r str> {
        self.0["direction"].as_str()
    }

    /// The number of flows, or the word in its place.
    #[must_use]
    pub fn count(self) -> Cow<'r, str> {
        match &self.0["count"] {
            Value::String(word) => word.into(),
            count => count.to_string().into(),
        }
    }

    /// The base round-trip times of the first and of the last flow.
    #[must_use]
    pub fn rtts(self) -> Option<[Duration; 2]> {
        let time = |key: &str| units::time(self.0[key].as_str()?).ok();
        let first = time("rtt")?;
        let steps = self.0["count"].as_u64().unwrap_or(1).saturating_sub(1);
        Some([first, first + time("rtt_step").unwrap_or_default().saturating_mul(steps)])
    }
}

impl From<&Scenario> for ScenarioRecord {
    fn from(scenario: &Scenario) -> Self {
        Self(scenario.to_json())
    }
}

impl JsonSchema for ScenarioRecord {
    fn schema_name() -> Cow<'static, str> {
        "Scenario".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema: Schema = scenario::schema().try_into().unwrap_or_default();
        // Its references begin with `#`. With an identity of its own that means this schema, and
        // not the one around it (JSON Schema 2020-12, section 9.2).
        schema.insert("$id".to_owned(), "urn:goodqueue:scenario".into());
        schema
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scenario::Direction;

    #[test]
    fn a_record_of_another_program_may_lack_everything() {
        let record = ScenarioRecord::from_json(json!(["no", "scenario"]));
        assert_eq!(record.name(), None);
        assert_eq!(record.line().rate(Direction::Down), None);
        assert_eq!(record.flows().count(), 0);
        assert_eq!(record.qdisc("pie", Direction::Up), None);
        assert_eq!(record.links().filter_map(LinkRecord::rtt).count(), 0);
    }

    #[test]
    fn the_line_stands_for_the_bottleneck_that_is_a_part_of_it() {
        let scenario = json!({"line": {"down": "16mbit"}, "link": {"down": "15.2mbit", "rtt": "20ms"}});
        let record = ScenarioRecord::from_json(scenario);
        assert_eq!(record.line().rate(Direction::Down), Some(RateRecord::Constant("16mbit")));
        assert_eq!(record.link().rate(Direction::Down), Some(RateRecord::Constant("15.2mbit")));
        assert_eq!(record.link().rtt(), Some("20ms"));
    }

    #[test]
    fn a_schedule_ends_blocked_if_its_last_rate_is_zero() {
        let ends_blocked = |steps: Value| {
            let record = ScenarioRecord::from_json(json!({"link": {"up": {"schedule": steps}}}));
            record.link().rate(Direction::Up) == Some(RateRecord::Schedule { ends_blocked: true })
        };
        assert!(ends_blocked(json!([["0s", "1mbit"], ["9s", "0bit"]])));
        assert!(!ends_blocked(json!([["0s", "0bit"], ["9s", "1mbit"]])));
    }

    #[test]
    fn flows_with_a_step_have_a_range_of_round_trip_times() {
        let flows = json!({"flows": [{"rtt": "10ms", "rtt_step": "5ms", "count": 3}]});
        let record = ScenarioRecord::from_json(flows);
        let rtts: Vec<_> = record.flows().filter_map(FlowsRecord::rtts).collect();
        assert_eq!(rtts, [[Duration::from_millis(10), Duration::from_millis(20)]]);
    }
}
