//! Shapers whose rate does not fit the line: above it they do nothing, far below it they waste it.

use goodqueue::{AnyConfig, Rate};
use goodqueue_tc::units::show_rate;

use super::ends::LinkRate;
use super::hops::HopQdisc;
use super::resolved::Scenario;

impl Scenario {
    /// Returns a sentence for each compared discipline with a shaper whose rate is above that of
    /// the line, or below half of it. Lines whose rate changes have no such sentence.
    #[must_use]
    pub fn shaper_remarks(&self) -> Vec<String> {
        let line = [self.slowest(0), self.slowest(1)];
        let mut remarks: Vec<String> = Vec::new();
        for choice in &self.qdiscs {
            for (side, discipline) in [&choice.down, &choice.up].into_iter().enumerate() {
                let (Some(shaper), Some(line)) = (shaper_rate(&discipline.config), line[side]) else {
                    continue;
                };
                let direction = ["down", "up"][side];
                let told = |relation: &str, effect: &str| {
                    let label = &choice.label;
                    let shaper = show_rate(shaper);
                    let line = show_rate(line);
                    format!(
                        "{label}: its shaper of {shaper} is {relation} the line's {line} {direction}, {effect}"
                    )
                };
                if shaper.as_bps() > line.as_bps() {
                    let effect =
                        "so the queue builds up in front of the line, where the shaper cannot manage it";
                    remarks.push(told("above", effect));
                } else if shaper.as_bps() < line.as_bps() / 2 {
                    remarks.push(told("far below", "so most of the line is unused"));
                }
            }
        }
        remarks
    }

    /// Returns the rate of the slowest link in this direction (0: down, 1: up), if it is constant.
    fn slowest(&self, side: usize) -> Option<Rate> {
        let ends = [&self.link.down, &self.link.up];
        let mut rates = vec![constant(&ends[side].rate)?];
        for hop in &self.hops {
            let rate = &[&hop.down, &hop.up][side].rate;
            // A link without a limit slows no packet.
            if *rate != LinkRate::Unlimited {
                rates.push(constant(rate)?);
            }
            // A shaper in a hop slows the path like a link of its rate.
            if let HopQdisc::Fixed(fixed) = &hop.qdisc {
                rates.extend(shaper_rate(&fixed[side].config));
            }
        }
        rates.into_iter().min()
    }
}

fn constant(rate: &LinkRate) -> Option<Rate> {
    match rate {
        LinkRate::Fixed(rate) => Some(*rate),
        _ => None,
    }
}

/// Returns the rate to which a discipline limits its packets; `None` if it does not.
fn shaper_rate(config: &AnyConfig) -> Option<Rate> {
    let settings = config.to_settings();
    SHAPERS.iter().find(|(kind, _)| *kind == config.kind().name).and_then(|(_, name)| settings.rate(name))
}

/// The disciplines with shapers, and the parameter with the rate.
const SHAPERS: &[(&str, &str)] = &[("cake", "bandwidth"), ("tbf", "rate")];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::scenario::{Document, Names};

    fn remarks(toml: &str) -> Vec<String> {
        let document = Document::parse("test.toml", toml, Path::new("")).unwrap();
        document.resolve(&Names::default()).unwrap().shaper_remarks()
    }

    #[test]
    fn a_shaper_above_the_line_and_one_far_below_it_are_told() {
        let told = remarks(
            "qdiscs = ['cake bandwidth 20mbit', 'tbf rate 1mbit burst 3028 latency 50ms']
             link = { down = '10mbit', up = '1mbit' }",
        );
        // The fourth, 1 Mbit/s of tbf up, is just the rate of the line.
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].contains("20 Mbit/s is above the line's 10 Mbit/s down"), "{told:?}");
        assert!(told[1].contains("above the line's 1 Mbit/s up"), "{told:?}");
        assert!(told[2].contains("1 Mbit/s is far below the line's 10 Mbit/s down"), "{told:?}");
    }

    #[test]
    fn the_line_is_the_slowest_link_of_the_path() {
        let told = remarks(
            "qdiscs = ['cake bandwidth 50mbit', 'cake bandwidth 9mbit', 'fq_codel']
             link = { down = '1gbit', up = '1gbit' }
             hops = [{ down = '10mbit', up = '10mbit' }]",
        );
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told.iter().all(|remark| remark.starts_with("cake bandwidth 50mbit")), "{told:?}");
    }

    #[test]
    fn a_shaper_near_the_line_and_a_line_that_changes_are_not_told() {
        assert!(remarks("qdiscs = ['cake bandwidth 950kbit', 'cake', 'tbf rate 1mbit burst 3028 latency 50ms']\nlink.down = '1mbit'").is_empty());
        let schedule =
            "qdiscs = 'cake bandwidth 1gbit'\nlink.down = { schedule = [['0s', '10mbit'], ['1s', '1mbit']] }";
        assert!(remarks(schedule).is_empty());
    }
}
