//! The line above the tables: the link and its traffic.

use goodqueue::Duration;
use goodqueue_scenario::results::{FlowsRecord, LinkRecord, RateRecord, ScenarioRecord};
use goodqueue_scenario::scenario::Direction;
use goodqueue_tc::{printable, units};

/// Describes a scenario in one line, or in two that fit a terminal. `means` says how it ran, such
/// as "simulated". The values of these `swept` keys are called "varied", because those of the
/// scenario belong to one point of the sweep.
#[must_use]
pub fn headline_of_sweep(scenario: &ScenarioRecord, means: &str, swept: &[String]) -> String {
    headline(&scenario.with_word_for(VARIED, swept), means)
}

/// Describes a scenario in one line, or in two that fit a terminal. `means` says how it ran, such
/// as "simulated".
#[must_use]
pub fn headline(scenario: &ScenarioRecord, means: &str) -> String {
    let line = scenario.line();
    let flows: Vec<String> = scenario.flows().map(flows_in_words).collect();
    let line = format!(
        "{} down, {} up, base RTT {}, {} {means};",
        rate(line, Direction::Down),
        rate(line, Direction::Up),
        base_rtt(scenario),
        shown(scenario.duration())
    );
    let flows = flows.join(", ");
    // Less, and not equal, because the blank between them takes a column.
    let separator = if line.len() + flows.len() < COLUMNS { ' ' } else { '\n' };
    format!("{line}{separator}{flows}")
}

fn rate(link: LinkRecord<'_>, direction: Direction) -> String {
    match link.rate(direction) {
        Some(RateRecord::Trace(name)) => format!("trace {}", shown(Some(name))),
        Some(RateRecord::Schedule { .. }) => "a schedule".to_owned(),
        Some(RateRecord::Constant(rate)) => shown(Some(rate)),
        None => shown(None),
    }
}

fn flows_in_words(flows: FlowsRecord<'_>) -> String {
    let cc = flows.cc().map_or_else(String::new, |cc| format!(" {}", shown(Some(cc))));
    format!("{} x {}{cc} {}", shown(Some(&flows.count())), shown(flows.kind()), shown(flows.direction()))
}

/// A text of a scenario, which may come from anywhere, as a terminal can show it.
fn shown(text: Option<&str>) -> String {
    text.map_or_else(|| "?".to_owned(), |text| printable::line(text).into_owned())
}

const VARIED: &str = "varied";
/// Width of a terminal that nobody has widened.
const COLUMNS: usize = 80;

/// Returns the range of the flows' base round-trip times.
fn base_rtt(scenario: &ScenarioRecord) -> String {
    let of_link = scenario.link().rtt();
    // Flows take their round-trip time from the link, so theirs would be that of one point.
    if of_link == Some(VARIED) {
        return VARIED.to_owned();
    }
    let all: Vec<Duration> = scenario.flows().filter_map(FlowsRecord::rtts).flatten().collect();
    let of_link = || units::time(of_link?).ok();
    let shortest = all.iter().min().copied().or_else(of_link).unwrap_or_default();
    match all.iter().max() {
        Some(longest) if *longest > shortest => format!("{shortest} to {longest}"),
        _ => shortest.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn swept_values_are_called_varied_and_not_by_those_of_one_point() {
        let scenario = ScenarioRecord::from_json(json!({
            "link": {"down": "10mbit", "up": "1mbit", "rtt": "10ms"}, "duration": "60s",
            "flows": [{"kind": "tcp", "cc": "cubic", "direction": "down", "count": 4, "rtt": "10ms"}],
        }));
        let said = |swept: &[&str]| {
            headline_of_sweep(
                &scenario,
                "simulated",
                &swept.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            said(&["link.rtt"]),
            "10mbit down, 1mbit up, base RTT varied, 60s simulated; 4 x tcp cubic down"
        );
        assert_eq!(
            said(&["link.up", "flows.0.count", "absent"]),
            "10mbit down, varied up, base RTT 10ms, 60s simulated; varied x tcp cubic down"
        );
    }
}
