//! Parameters of the disciplines in a scenario, as numbers.

use goodqueue::config::Settings;
use goodqueue::{Link, config};
use goodqueue_scenario::results::{RateRecord, ScenarioRecord};
use goodqueue_scenario::scenario::Direction;
use goodqueue_tc::units;

/// The parameter `name` of the discipline labelled `label`, in front of the bottleneck's link down,
/// or up if the name begins with `up.`: times in seconds, rates in bit/s, a flag as 1 or 0. Of a
/// discipline in a shaper it is that of the inner one, if that has such a parameter. A parameter
/// that the scenario leaves out has its default. `None` if there is no such discipline or
/// parameter, or if it is not a number.
pub(super) fn parameter(scenario: &ScenarioRecord, label: &str, name: &str) -> Option<f64> {
    let (direction, name) = match name.strip_prefix("up.") {
        Some(name) => (Direction::Up, name),
        None => (Direction::Down, name),
    };
    let text = scenario.qdisc(label, direction)?;
    let RateRecord::Constant(rate) = scenario.link().rate(direction)? else { return None };
    let rate = units::rate(rate).ok()?;
    innermost(&goodqueue_tc::parse(text, &Link { rate, ..Link::default() }).ok()?.to_settings(), name)
}

/// The innermost parameter of this name.
fn innermost(settings: &Settings, name: &str) -> Option<f64> {
    let inside = settings.children().iter().filter_map(|child| child.qdisc.as_ref());
    let mut found = inside.filter_map(|(_, inner)| innermost(inner, name));
    found.next().or_else(|| number(&settings.get(name)?))
}

#[expect(clippy::cast_precision_loss, reason = "parameters are compared in floating point")]
fn number(value: &config::Value) -> Option<f64> {
    match value {
        config::Value::Packets(number) | config::Value::Bytes(number) | config::Value::Integer(number) => {
            Some(*number as f64)
        }
        config::Value::Signed(number) => Some(*number as f64),
        config::Value::Time(span) => Some(span.as_nanos() as f64 / 1e9),
        config::Value::Rate(rate) => Some(rate.as_bps() as f64),
        config::Value::Probability(share) => Some(*share),
        config::Value::Flag(on) => Some(f64::from(u8::from(*on))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_the_line_leaves_out_has_its_default() {
        let scenario = ScenarioRecord::from_json(serde_json::json!({
            "link": {"down": "2mbit"},
            "qdiscs": [{"label": "CoDel", "down": "codel target 7ms", "up": "pfifo"}, {"label": "FIFO", "down": "pfifo limit 99"}],
        }));
        assert_eq!(parameter(&scenario, "CoDel", "target"), Some(0.007));
        assert_eq!(parameter(&scenario, "CoDel", "interval"), Some(0.1));
        assert_eq!(parameter(&scenario, "FIFO", "limit"), Some(99.0));
        assert_eq!(parameter(&scenario, "FIFO", "target"), None);
        assert_eq!(parameter(&scenario, "PIE", "target"), None);
    }

    #[test]
    fn each_direction_has_its_own_and_a_shaper_s_inner_discipline_comes_first() {
        let inside = |limit: u64| format!("tbf rate 1mbit burst 1600 [pfifo limit {limit}]");
        let scenario = ScenarioRecord::from_json(serde_json::json!({
            "link": {"down": "10mbit", "up": "1mbit"},
            "qdiscs": [{"label": "FIFO", "down": inside(127), "up": inside(99)}],
        }));
        assert_eq!(parameter(&scenario, "FIFO", "limit"), Some(127.0));
        assert_eq!(parameter(&scenario, "FIFO", "up.limit"), Some(99.0));
        assert_eq!(parameter(&scenario, "FIFO", "up.rate"), Some(1e6), "the shaper's");
    }
}
