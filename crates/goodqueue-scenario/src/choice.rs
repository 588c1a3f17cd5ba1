//! Which of several settings does best: the one definition of "best" for tables, advice and pages.

/// What one setting does with the same load as the others.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Candidate {
    /// Ping under load beyond the idle ping in seconds, mean.
    pub latency_s: f64,
    /// Goodput in bit/s of the flows that share a link, such as those of TCP, towards the clients
    /// and the servers.
    pub goodput_bps: [f64; 2],
    /// What flows that do not share, such as datagrams at a constant rate, deliver in bit/s.
    pub other_bps: [f64; 2],
}

impl Candidate {
    /// Returns the goodput relative to `most`, mean over the directions that carry anything.
    #[must_use]
    pub fn share_of(&self, most: [f64; 2]) -> f64 {
        let share = |side: usize| (most[side] > 0.0).then(|| self.goodput_bps[side] / most[side]);
        match [share(0), share(1)] {
            [Some(down), Some(up)] => (down + up) / 2.0,
            // If no candidate carries anything, all are equal.
            [one, other] => one.or(other).unwrap_or(1.0),
        }
    }

    /// True if this leaves a direction less than half of the goodput that another one of `all`
    /// gives it, unless the difference is small for the line: beside a sender that fills the line
    /// and heeds no drops, little is left for all others with any setting.
    #[must_use]
    pub fn starves(&self, side: usize, all: &[Self]) -> bool {
        let most = most(all)[side];
        let carried = all.iter().map(|of| of.goodput_bps[side] + of.other_bps[side]).fold(0.0, f64::max);
        starves(self.goodput_bps[side], most) && most - self.goodput_bps[side] >= carried * CLEAR_LOSS
    }

    /// True if this adds hardly more latency than `least_s`: nobody feels the difference. A path of
    /// a longer base round-trip time hides more.
    #[must_use]
    pub fn is_hardly_slower_than(&self, least_s: f64, rtt_s: f64) -> bool {
        self.latency_s <= least_s * (1.0 + SHARE) + SECONDS + RTT_SHARE * rtt_s
    }
}

/// Returns the largest goodput of any candidate, towards the clients and the servers.
#[must_use]
pub fn most(candidates: &[Candidate]) -> [f64; 2] {
    [0, 1].map(|side| candidates.iter().map(|of| of.goodput_bps[side]).fold(0.0, f64::max))
}

/// True if a setting takes more than half of the goodput that a direction could have.
#[must_use]
pub fn starves(goodput_bps: f64, most_bps: f64) -> bool {
    goodput_bps < most_bps * LEAST_SHARE
}

/// Returns the index of the candidate that does best; `None` without candidates.
///
/// 1. A setting that starves a direction ([`Candidate::starves`]) is no cure, however short its
///    queue is, unless all of them do so.
/// 2. Of the others, those that add hardly more latency than the one that adds least are equally
///    responsive.
/// 3. Of these, the one that carries most wins; among equals the one that adds less latency.
///
/// The result is on the Pareto front of latency and goodput.
#[must_use]
pub fn best(candidates: &[Candidate], rtt_s: f64) -> Option<usize> {
    let most = most(candidates);
    let feeds_both = |of: &Candidate| (0..2).all(|side| !of.starves(side, candidates));
    let any_feeds_both = candidates.iter().any(feeds_both);
    let carries = |of: &&Candidate| !any_feeds_both || feeds_both(of);
    let fit = || candidates.iter().filter(carries);
    let least = fit().map(|of| of.latency_s).reduce(f64::min)?;
    let responsive = |of: &&Candidate| of.is_hardly_slower_than(least, rtt_s);
    let used = fit().filter(responsive).map(|of| of.share_of(most)).reduce(f64::max)?;
    let equal =
        |(_, of): &(usize, &Candidate)| carries(of) && responsive(of) && of.share_of(most) > used - SAME_USE;
    candidates
        .iter()
        .enumerate()
        .filter(equal)
        .min_by(|one, other| one.1.latency_s.total_cmp(&other.1.latency_s))
        .map(|(number, _)| number)
}

/// A setting that adds this share, this time and this share of the round-trip time more is hardly
/// worse.
const SHARE: f64 = 0.25;
const SECONDS: f64 = 0.002;
const RTT_SHARE: f64 = 0.1;
/// Share of the largest goodput that a direction needs.
const LEAST_SHARE: f64 = 0.5;
/// Share of what the line carries below which a loss of goodput starves nobody.
const CLEAR_LOSS: f64 = 0.1;
/// Difference in the use of the line that is no difference.
pub const SAME_USE: f64 = 0.002;

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(latency_ms: f64, down: f64, up: f64) -> Candidate {
        Candidate { latency_s: latency_ms / 1e3, goodput_bps: [down, up], ..Candidate::default() }
    }

    #[test]
    fn a_short_queue_that_starves_a_direction_is_not_best() {
        let starved = [candidate(1.0, 9.0, 0.2), candidate(6.0, 9.0, 0.9), candidate(300.0, 9.5, 0.9)];
        // 0.2 is less than half of 0.9, and 300 ms are far above 6 ms.
        assert_eq!(best(&starved, 0.05), Some(1));
    }

    #[test]
    fn beside_a_sender_that_heeds_no_drops_small_remainders_do_not_decide() {
        // The sender gets 37 of 40 Mbit/s. The others keep 1.7 or 3.9.
        let beside = |latency_ms, down, other| Candidate {
            other_bps: [other, 0.0],
            ..candidate(latency_ms, down, 0.0)
        };
        assert_eq!(best(&[beside(8.2, 1.7, 37.0), beside(16.4, 3.9, 35.0)], 0.0), Some(0));
        // A discipline that gives the others half of the line protects them, and one that gives
        // them a tenth does not.
        assert_eq!(best(&[beside(8.2, 2.0, 37.0), beside(16.4, 19.0, 20.0)], 0.0), Some(1));
    }

    #[test]
    fn of_equally_short_queues_the_one_that_carries_most_is_best() {
        assert_eq!(
            // 6 ms are within a quarter and 2 ms of 5 ms, and 90 ms are not.
            best(&[candidate(5.0, 8.0, 0.8), candidate(6.0, 9.0, 0.9), candidate(90.0, 9.6, 0.9)], 0.0),
            Some(1)
        );
    }

    #[test]
    fn if_each_starves_a_direction_there_is_still_an_answer() {
        // Either starves one direction, and both use 61 % of the line; the first adds less latency.
        assert_eq!(best(&[candidate(5.0, 9.0, 0.2), candidate(6.0, 2.0, 0.9)], 0.0), Some(0));
        assert_eq!(best(&[], 0.0), None);
    }

    #[test]
    fn a_direction_without_load_decides_nothing() {
        // 0 is not less than half of 0.
        assert_eq!(best(&[candidate(50.0, 9.0, 0.0), candidate(5.0, 8.8, 0.0)], 0.0), Some(1));
    }

    #[test]
    fn the_best_is_never_worse_than_another_in_both() {
        let mut state = 7_u64;
        let mut random = || {
            // A linear congruential generator with Knuth's multiplier of MMIX.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Its low bits have short periods.
            #[expect(clippy::cast_precision_loss, reason = "any number will do")]
            let number = (state >> 40) as f64;
            number % 100.0
        };
        for _ in 0..1000 {
            let all: Vec<Candidate> =
                (0..6).map(|_| candidate(random(), random() + 1.0, random() + 1.0)).collect();
            let chosen = all[best(&all, 0.03).expect("some are given")];
            let most = most(&all);
            for other in &all {
                let is_shorter = other.latency_s < chosen.latency_s;
                let carries_more = (0..2).all(|side| other.goodput_bps[side] >= chosen.goodput_bps[side]);
                assert!(!(is_shorter && carries_more), "{other:?} beats {chosen:?} of {most:?}");
            }
        }
    }
}
