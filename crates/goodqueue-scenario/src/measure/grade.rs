//! The grade of a run: one letter for what a person feels.

use goodqueue_sim::{Config, Direction, Traffic};

use crate::choice::starves;
use crate::results::{LinkResult, Probes};
use crate::statistics::float;

/// The grades known from speed tests, each with the mean induced latency in seconds below which it
/// is given.
pub const GRADES: &[(&str, f64)] =
    &[("A+", 0.005), ("A", 0.030), ("B", 0.060), ("C", 0.200), ("D", 0.400), ("F", f64::INFINITY)];

/// The best grade above each share of lost pings: a video meeting works up to 1 % of lost packets,
/// and a call up to 3 % (ITU-T G.1010, table I.1).
pub const LOSS_CAPS: &[(f64, &str)] = &[(0.03, "C"), (0.01, "B")];

/// The best grade of a run in which a queue leaves a direction less than half of its rate.
pub const STARVED_CAP: &str = "C";

/// Returns the grade for this mean induced latency in seconds.
#[must_use]
pub fn grade(induced_s: f64) -> &'static str {
    GRADES.iter().find(|(_, bound)| induced_s < *bound).map_or("F", |(grade, _)| grade)
}

/// Returns the worse of two grades. Their letters are in alphabetical order, and `A+` is above `A`.
#[must_use]
pub fn worse_of<'g>(one: &'g str, other: &'g str) -> &'g str {
    let rank = |grade: &str| GRADES.iter().position(|(name, _)| *name == grade);
    if rank(one) >= rank(other) { one } else { other }
}

/// Returns the grade of a run: that of its latency, lowered where packets are lost or a direction
/// starves. Short pings are no cure for a line that carries nothing.
pub(super) fn of_run(
    induced_s: f64,
    probes: &Probes,
    config: &Config,
    links: [&LinkResult; 2],
) -> &'static str {
    let mut letter = grade(induced_s);
    if probes.ping_sent > 0 {
        let lost = float(probes.ping_lost) / float(probes.ping_sent);
        if let Some((_, cap)) = LOSS_CAPS.iter().find(|(share, _)| lost > *share) {
            letter = worse_of(letter, cap);
        }
    }
    if has_own_bottleneck(config) && Direction::BOTH.iter().any(|side| is_starved(*side, config, links)) {
        letter = worse_of(letter, STARVED_CAP);
    }
    letter
}

/// True if the path has no other link that may be slower than the bottleneck.
fn has_own_bottleneck(config: &Config) -> bool {
    config.wifi.is_none() && config.before.is_empty() && config.after.is_empty()
}

/// True if a flow always has data to send in this direction, the queue drops packets, and the link
/// is idle most of the time.
fn is_starved(direction: Direction, config: &Config, links: [&LinkResult; 2]) -> bool {
    let link = links[direction.index()];
    let has_data = config.flows.iter().any(|flow| {
        matches!(&flow.traffic, Traffic::Tcp(tcp) if tcp.size.is_none() && flow.traffic.direction() == direction)
    });
    let drops: u64 = link.drops.values().sum();
    has_data && drops > 0 && link.utilization.is_some_and(|share| starves(share, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grades_change_at_their_bounds() {
        let at = [0.0049, 0.005, 0.0299, 0.03, 0.06, 0.2, 0.4].map(grade);
        assert_eq!(at, ["A+", "A", "A", "B", "C", "D", "F"]);
    }

    #[test]
    fn the_worse_of_two_grades_is_the_later_one() {
        assert_eq!(worse_of("A+", "A"), "A");
        assert_eq!(worse_of("D", "C"), "D");
        assert_eq!(worse_of("B", "B"), "B");
    }
}
