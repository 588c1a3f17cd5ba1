//! The line above the tables: the link and its traffic.

use goodqueue::Duration;
use goodqueue_tc::{printable, units};

/// Describes a scenario in one line, or in two that fit a terminal. `means` says how it ran, such
/// as "simulated". The values of these `swept` keys are called "varied", because those of the
/// scenario belong to one point of the sweep.
#[must_use]
pub fn headline_of_sweep(scenario: &serde_json::Value, means: &str, swept: &[String]) -> String {
    let mut scenario = scenario.clone();
    for key in swept {
        if let Some(value) = scenario.pointer_mut(&format!("/{}", key.replace('.', "/"))) {
            *value = VARIED.into();
        }
    }
    headline(&scenario, means)
}

/// Describes a scenario in one line, or in two that fit a terminal. `means` says how it ran, such
/// as "simulated".
#[must_use]
pub fn headline(scenario: &serde_json::Value, means: &str) -> String {
    let link = if scenario["line"].is_object() { &scenario["line"] } else { &scenario["link"] };
    let text = |value: &serde_json::Value| {
        value.as_str().map_or("?".into(), |text| printable::line(text).into_owned())
    };
    let rate = |side: &serde_json::Value| match &side["trace"] {
        _ if side.is_string() => text(side),
        trace if trace.is_string() => format!("trace {}", text(trace)),
        _ => "a schedule".to_owned(),
    };
    let flows: Vec<String> = scenario["flows"].as_array().map_or_else(Vec::new, |flows| {
        flows
            .iter()
            .map(|flow| {
                let cc =
                    if flow["cc"].is_string() { format!(" {}", text(&flow["cc"])) } else { String::new() };
                let count =
                    if flow["count"].is_string() { text(&flow["count"]) } else { flow["count"].to_string() };
                format!("{count} x {}{cc} {}", text(&flow["kind"]), text(&flow["direction"]))
            })
            .collect()
    });
    let line = format!(
        "{} down, {} up, base RTT {}, {} {means};",
        rate(&link["down"]),
        rate(&link["up"]),
        base_rtt(scenario),
        text(&scenario["duration"])
    );
    let flows = flows.join(", ");
    let separator = if line.len() + flows.len() < COLUMNS { ' ' } else { '\n' };
    format!("{line}{separator}{flows}")
}

const VARIED: &str = "varied";
/// Width of a terminal that nobody has widened.
const COLUMNS: usize = 80;

/// Returns the range of the flows' base round-trip times.
fn base_rtt(scenario: &serde_json::Value) -> String {
    if scenario["link"]["rtt"] == VARIED {
        return VARIED.to_owned();
    }
    let time = |value: &serde_json::Value| units::time(value.as_str()?).ok();
    let flows = scenario["flows"].as_array().map_or(&[][..], Vec::as_slice);
    let ends = flows.iter().filter_map(|flow| {
        let first = time(&flow["rtt"])?;
        let steps = flow["count"].as_u64().unwrap_or(1).saturating_sub(1);
        Some([first, first + time(&flow["rtt_step"]).unwrap_or_default().saturating_mul(steps)])
    });
    let all: Vec<Duration> = ends.flatten().collect();
    let shortest = all.iter().min().copied().or_else(|| time(&scenario["link"]["rtt"])).unwrap_or_default();
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
        let scenario = json!({
            "link": {"down": "10mbit", "up": "1mbit", "rtt": "10ms"}, "duration": "60s",
            "flows": [{"kind": "tcp", "cc": "cubic", "direction": "down", "count": 4, "rtt": "10ms"}],
        });
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
