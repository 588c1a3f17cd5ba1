//! The metrics of the catalogue by their keys, one for each direction: columns of tables with a row
//! for each run, and names on the command line.

use goodqueue_sim::Direction;
use goodqueue_tc::diagnostic::{Diagnostic, nearest, shortened};

use super::catalogue::described;
use super::metric::{DirectionColumns, Group, Metric};
use crate::results::{Run, WIFI_QUEUE};
use crate::scenario::Scenario;

/// A metric of one direction.
#[derive(Clone)]
pub struct KeyedMetric<'g> {
    /// Name in SI units, such as `bottleneck.down.sojourn_s.p95`.
    pub key: String,
    /// Group of the metric.
    pub group: &'g Group,
    /// The metric.
    pub metric: &'g Metric,
    /// The direction; [`Direction::Down`] if both share one value.
    pub direction: Direction,
}

/// Returns every metric of these groups that has a key, in the order of the catalogue.
#[must_use]
pub fn by_key(groups: &[Group]) -> Vec<KeyedMetric<'_>> {
    let mut all: Vec<KeyedMetric<'_>> = Vec::new();
    for group in groups {
        for metric in &group.metrics {
            let sides = if group.sides == DirectionColumns::One {
                &Direction::BOTH[..1]
            } else {
                &Direction::BOTH[..]
            };
            for &direction in sides {
                let Some(key) = metric.key_of(direction) else { continue };
                // A key without a direction comes up once for each of the two.
                if all.iter().all(|known| known.key != key) {
                    all.push(KeyedMetric { key, group, metric, direction });
                }
            }
        }
    }
    all
}

/// Returns the keys of all metrics, with a placeholder for each number and for the name of a queue.
#[must_use]
pub fn keys() -> Vec<String> {
    by_key(&described()).into_iter().map(|metric| metric.key).collect()
}

/// Returns an error if no run can have a metric with this key.
///
/// # Errors
/// The key is unknown.
pub fn check_key(key: &str) -> Result<(), Diagnostic> {
    let known = keys();
    let with_placeholders = placeholders(key);
    if known.contains(&with_placeholders) {
        return Ok(());
    }
    let message = Diagnostic::new(format!("there is no metric `{}`", shortened(key)))
        .allowed("a key of docs/metrics.md, such as goodput.down, induced_latency_s.p95 or bottleneck.up.sojourn_s.p50");
    Err(match nearest(&with_placeholders, known.iter().map(String::as_str)) {
        Some(near) => message.help(format!("did you mean `{near}`?")),
        None => message,
    })
}

/// Returns an error if the key is that of a queue which this scenario does not have.
///
/// # Errors
/// No hop has the name in the key, and the scenario has no WiFi channel of this name.
pub fn check_queue(key: &str, scenario: &Scenario) -> Result<(), Diagnostic> {
    let Some(rest) = key.strip_prefix("queues.") else { return Ok(()) };
    let name = &rest[..direction_in(rest)];
    let hops = scenario.hops.iter().map(|hop| hop.name.as_str());
    let queues: Vec<&str> = hops.chain(scenario.wifi.is_some().then_some(WIFI_QUEUE)).collect();
    if queues.contains(&name) {
        return Ok(());
    }
    let message = Diagnostic::new(format!("the scenario has no queue `{}`", shortened(name)));
    Err(if queues.is_empty() {
        message.help("`bottleneck` is the only queue of a scenario without [[hops]] and [wifi]")
    } else {
        message.one_of(name, &queues)
    })
}

/// Returns the position of the direction in a key of a queue without `queues.`. A scenario chooses
/// the name of a queue, which may be `a.down.b`. No metric of a queue has a direction in it, so the
/// last one is that of the metric.
fn direction_in(rest: &str) -> usize {
    rest.rfind(".down.").max(rest.rfind(".up.")).unwrap_or(0)
}

/// Returns the key with the placeholders of the catalogue for numbers and for the name of a queue.
pub(super) fn placeholders(key: &str) -> String {
    if let Some(rest) = key.strip_prefix("queues.") {
        return format!("queues.NAME{}", &rest[direction_in(rest)..]);
    }
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    key.split('.').map(|part| if is_number(part) { "0" } else { part }).collect::<Vec<_>>().join(".")
}

impl KeyedMetric<'_> {
    /// Returns the value of a run in the metric's unit for tables.
    #[must_use]
    pub fn value_of(&self, run: &Run) -> Option<f64> {
        (self.metric.of)(run, self.direction)
    }

    /// Returns the name for people, such as `sojourn time down, p95 [ms]`.
    #[must_use]
    pub fn title(&self) -> String {
        let side = if self.group.sides == DirectionColumns::One { "" } else { self.direction.name() };
        let space = if side.is_empty() { "" } else { " " };
        let unit =
            if self.metric.unit.is_empty() { String::new() } else { format!(" [{}]", self.metric.unit) };
        format!("{}{space}{side}, {}{unit}", self.group.title, self.metric.name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::metrics::catalogue;

    #[test]
    fn an_unknown_metric_is_refused_with_the_nearest() {
        for known in [
            "goodput.down",
            "bottleneck.up.sojourn_s.p95",
            "bottleneck.down.spikes.2.longest_s",
            "wifi.stations.11.airtime_share",
            "queues.hop 1.down.sojourn_s.p50",
            "queues.a.down.b.down.sojourn_s.p50",
            "queues.a.down.b.up.sojourn_s.p50",
            "queues.up.down.up.sojourn_s.p99",
        ] {
            assert_eq!(check_key(known), Ok(()), "{known}");
        }
        let error = check_key("goodput.dwn").unwrap_err().to_string();
        assert!(
            error.contains("no metric `goodput.dwn`") && error.contains("did you mean `goodput.down`?"),
            "{error}"
        );
        assert!(check_key("").is_err() && check_key("queues.").is_err());
    }

    #[test]
    fn each_metric_has_one_key_for_each_direction() {
        let run = Run::default();
        let groups = catalogue(&[&run]);
        let keyed = by_key(&groups);
        let keys: BTreeSet<&str> = keyed.iter().map(|metric| metric.key.as_str()).collect();
        assert_eq!(keys.len(), keyed.len());
        for key in [
            "goodput.up",
            "bottleneck.up.sojourn_s.p95",
            "fairness.jain_goodput",
            "losses.down.events_per_flow",
        ] {
            assert!(keys.contains(key), "{key} is not in {keys:?}");
        }
        assert!(keyed.iter().all(|metric| !metric.key.contains('{')));
        let sojourn = keyed.iter().find(|metric| metric.key == "bottleneck.up.sojourn_s.p95");
        assert_eq!(sojourn.map(KeyedMetric::title).as_deref(), Some("Sojourn time up, p95 [ms]"));
    }
}
