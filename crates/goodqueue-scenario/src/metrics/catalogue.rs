//! The list of all metrics, and the numbers of a run by their keys.

use std::collections::BTreeMap;

use goodqueue_sim::Direction;
use serde_json::Value;

use super::metric::Group;
use super::varying::Parts;
use super::{everywhere, losses, traffic};
use crate::results::Run;

/// Returns the catalogue for these runs: the fixed entries, and those for the hops, thresholds and
/// stations that the runs have.
#[must_use]
pub fn catalogue(runs: &[&Run]) -> Vec<Group> {
    with(&Parts::from_runs(runs))
}

/// Returns the catalogue with one placeholder for each sort of hop, threshold and station.
pub(super) fn described() -> Vec<Group> {
    with(&Parts::placeholders())
}

fn with(parts: &Parts) -> Vec<Group> {
    [everywhere::groups(), traffic::groups(), losses::groups(), parts.groups()]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns every number of a run by its key, in the units of the JSON: the numbers that the run
/// holds, and the metrics of the catalogue that have a key and are computed from these numbers.
/// Single flows and time series are not included.
#[must_use]
pub fn values(run: &Run) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    // A copy without the long parts that are not needed.
    let bare = Run { series: None, flows: Vec::new(), sweep: BTreeMap::new(), ..run.clone() };
    if let Ok(Value::Object(fields)) = serde_json::to_value(&bare) {
        for (key, value) in fields.iter().filter(|(key, _)| !NO_METRICS.contains(&key.as_str())) {
            collect(key, value, &mut values);
        }
    }
    for group in catalogue(&[run]) {
        for metric in &group.metrics {
            for direction in Direction::BOTH {
                let Some(key) = metric.key_of(direction) else { continue };
                let value = (metric.of)(run, direction).map(|value| value / metric.scale());
                if let Some(value) = value.filter(|value| value.is_finite()) {
                    // A number that the run holds stays: the way through the unit of the tables may
                    // have rounded this one.
                    values.entry(key).or_insert(value);
                }
            }
        }
    }
    values
}

fn collect(path: &str, value: &Value, values: &mut BTreeMap<String, f64>) {
    match value {
        Value::Number(number) => {
            if let Some(number) = number.as_f64().filter(|number| number.is_finite()) {
                values.insert(path.to_owned(), number);
            }
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(key, field)| collect(&format!("{path}.{key}"), field, values));
        }
        Value::Array(items) => {
            (0..).zip(items).for_each(|(number, item): (u32, _)| {
                collect(&format!("{path}.{number}"), item, values);
            });
        }
        // Texts and what a run does not have are no metrics.
        _ => {}
    }
}

/// Keys whose numbers identify the run or describe the program rather than the discipline.
const NO_METRICS: &[&str] = &["seed", "engine", "tc_stats"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{PauseResult, Probes, SpikeResult, StationResult, VoipResult, WifiResult};

    /// A run in which every number of the catalogue with a key has a value of its own.
    fn run() -> Run {
        let mut run = Run::default();
        run.goodput.down = 9e6;
        run.goodput.up = 8e5;
        run.induced_latency_s.mean = Some(0.02);
        run.bottleneck.up.sojourn_s.p95 = Some(0.03);
        run.bottleneck.down.queue_share = Some(0.25);
        run.bottleneck.down.packets.dropped = 12;
        run.bottleneck.up.spikes = vec![SpikeResult { above_bytes: 9, longest_s: 0.5, total_s: 0.75 }];
        run.bottleneck.down.spikes.clone_from(&run.bottleneck.up.spikes);
        run.bottleneck.up.pauses = Some(PauseResult { frames: 7, time_s: 1.5, share: 0.125 });
        run.loss_synchronization.down = Some(0.5);
        let voip = VoipResult { loss: Some(0.01), mos: Some(4.1), ..VoipResult::default() };
        run.probes =
            Probes { voip: Some(Box::new(voip)), responsiveness_rpm: Some(300.0), ..Probes::default() };
        let station = |share| StationResult { airtime_share: Some(share), ..StationResult::default() };
        let stations = vec![station(0.4), station(0.6)];
        run.wifi = Some(Box::new(WifiResult { stations, ..WifiResult::default() }));
        run
    }

    #[test]
    fn a_metric_and_its_key_have_the_same_value() {
        let run = run();
        let values = values(&run);
        let mut compared = 0;
        for group in catalogue(&[&run]) {
            for metric in &group.metrics {
                for direction in Direction::BOTH {
                    let Some(value) = (metric.of)(&run, direction) else { continue };
                    let Some(key) = metric.key_of(direction) else { continue };
                    let kept = values[&key];
                    assert!((kept * metric.scale() - value).abs() < 1e-9, "{key}: {kept} and {value}");
                    compared += 1;
                }
            }
        }
        assert!(compared >= 25, "only {compared} values were compared");
    }

    #[test]
    fn values_are_those_of_the_disciplines() {
        let values = values(&run());
        assert!(values.contains_key("wifi.stations.1.airtime_share"));
        assert!(!values.contains_key("seed") && !values.contains_key("engine.events"));
    }
}
