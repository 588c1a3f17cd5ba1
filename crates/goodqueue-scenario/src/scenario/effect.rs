//! Options of the command line that change nothing in the scenario that they were given for.

use goodqueue::{Direction, Duration};
use goodqueue_tc::diagnostic::{Diagnostic, shortened};

use super::document::{Document, Node, Origin};
use super::flows::FlowGroup;
use super::hops::{BOTTLENECK, Hop};
use super::link::MAX_RTT;
use super::names::Names;
use super::resolved::Scenario;

impl Document {
    /// Returns an error for each option that has no effect on `scenario`, the resolved form of this
    /// document.
    ///
    /// # Errors
    /// None. An option whose effect is unknown counts as effective.
    pub(crate) fn without_effect(&self, scenario: &Scenario, names: &Names<'_>) -> Vec<Diagnostic> {
        let link = |key: &str| self.below("link", key);
        let crossed = |direction| scenario.flows.iter().any(|group| group.crosses(&scenario.hops, direction));
        let down = crossed(Direction::Down);
        let up = crossed(Direction::Up);
        let mut idle = Vec::new();
        // `has_effect` is a function: `needs_rtt` resolves the whole scenario, and few options are
        // given.
        let mut check = |node: Option<&Node>, has_effect: &dyn Fn() -> bool, why: &str, help: &str| {
            if let Some(option) = node.and_then(given_by)
                && !has_effect()
            {
                let message = Diagnostic::new(format!("`{option}` has no effect: {why}"));
                idle.push(message.help(help));
            }
        };
        // The rate down is the default of the rate up.
        let both = link("up").is_none();
        let no_flow = "no flow sends packets this way through the bottleneck";
        let leave_out = "leave it out, or add flows";
        check(link("down"), &|| down || (both && up), no_flow, leave_out);
        check(link("up"), &|| up, no_flow, leave_out);
        check(
            link("rtt"),
            &|| self.needs_rtt(scenario, names),
            "every flow has a round-trip time of its own",
            "set those of the flows, as in `--set flows.0.rtt=20ms`",
        );
        idle
    }

    /// True if another base round-trip time of the link would change anything beside itself.
    fn needs_rtt(&self, scenario: &Scenario, names: &Names<'_>) -> bool {
        let rtt = scenario.link.rtt;
        let step = Duration::from_millis(1);
        // The longest round-trip time has no longer one beside it.
        let other = if rtt + step > MAX_RTT { rtt.saturating_sub(step) } else { rtt + step };
        let mut document = self.clone();
        let resolved =
            document.set("link.rtt", "link.rtt", &other.to_string()).and_then(|()| document.resolve(names));
        // Without a second scenario the effect is unknown, and counts.
        resolved.map_or(true, |mut with_other| {
            with_other.link.rtt = rtt;
            with_other != *scenario
        })
    }
}

impl FlowGroup {
    /// True if its packets pass the bottleneck in this direction.
    fn crosses(&self, hops: &[Hop], direction: Direction) -> bool {
        let bottleneck = Hop::position(hops, Some(BOTTLENECK));
        Hop::position(hops, self.enters.as_deref()) <= bottleneck
            && (self.direction == direction || !self.traffic.is_one_way())
    }
}

/// The option of `compare` or `run` that gave this value, as it was written.
fn given_by(node: &Node) -> Option<String> {
    let Origin::Argument { name, text, .. } = &node.origin else { return None };
    let is_option = OPTIONS.contains(&&**name);
    is_option.then(|| format!("{name} {}", shortened(text)))
}

const OPTIONS: &[&str] = &["--rate", "--up", "--rtt", "--trace-down", "--trace-up", "--set"];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scenario::Overrides;

    /// What is said of `overrides` on the scenario of this text.
    fn idle(text: &str, overrides: &Overrides) -> Vec<String> {
        let mut document = Document::parse("load.toml", text, Path::new("")).unwrap();
        document.apply(overrides).unwrap();
        let names = Names::default();
        let scenario = document.resolve(&names).unwrap();
        document.without_effect(&scenario, &names).iter().map(ToString::to_string).collect()
    }

    fn rtt(text: &str) -> Overrides {
        Overrides { rtt: Some(text.to_owned()), ..Overrides::default() }
    }

    fn rates() -> Overrides {
        let rate = || Some("5mbit".to_owned());
        Overrides { rate: rate(), up: rate(), ..Overrides::default() }
    }

    #[test]
    fn a_round_trip_time_that_no_flow_takes_has_no_effect() {
        let own = "[[flows]]\nrtt = \"10ms\"\n[[flows]]\nrtt = \"20ms\"\n";
        insta::assert_snapshot!(idle(own, &rtt("99ms")).join("\n"), @r"
        `--rtt 99ms` has no effect: every flow has a round-trip time of its own
          help: set those of the flows, as in `--set flows.0.rtt=20ms`
        ");
        let set = Overrides { set: vec!["link.rtt=99ms".to_owned()], ..Overrides::default() };
        assert_eq!(idle(own, &set).len(), 1);
        assert_eq!(idle(&format!("{own}[[flows]]\n"), &rtt("99ms")), [""; 0]);
        assert_eq!(idle("", &rtt("50ms")), [""; 0], "the default, but another value would have one");
        assert_eq!(idle("", &rtt("1h")), [""; 0]);
    }

    #[test]
    fn a_rate_of_a_direction_in_which_nothing_is_sent_has_no_effect() {
        let datagrams = "[[flows]]\nkind = \"cbr\"\nrate = \"1mbit\"\n";
        let said = idle(datagrams, &rates());
        assert_eq!(said.len(), 1);
        assert!(
            said[0].starts_with("`--up 5mbit` has no effect: no flow sends packets this way"),
            "{said:?}"
        );
        let down = Overrides { up: None, ..rates() };
        assert_eq!(idle(&datagrams.replace("rate", "direction = \"up\"\nrate"), &down), [""; 0]);
        assert_eq!(idle("[[flows]]\n", &rates()), [""; 0], "acknowledgements go up");
        let behind = "[[hops]]\nname = \"air\"\ndown = \"9mbit\"\n[[flows]]\nenters = \"air\"\n";
        assert_eq!(idle(behind, &rates()).len(), 2);
        let before = behind.replace("[[flows]]", "side = \"server\"\n[[flows]]");
        assert_eq!(idle(&before, &rates()), [""; 0]);
    }
}
