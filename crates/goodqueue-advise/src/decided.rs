//! When further candidates cannot change which one is best.

use goodqueue_scenario::choice::{Candidate, SAME_USE, best, most};

/// Returns the index of the best candidate if the candidates that were not tried cannot change it.
/// `tried`: from the one that carries most on. `next`: what the first of the others carries; it and
/// those behind it carry less. `None` if all were tried.
pub(crate) fn decided(tried: &[Candidate], next: Option<[f64; 2]>, rtt_s: f64) -> Option<usize> {
    let Some(next) = next else { return best(tried, rtt_s) };
    let most = most(tried);
    let least_s = tried.iter().map(|of| of.latency_s).reduce(f64::min)?;
    // One that adds more latency than the least allows will not be chosen: the least can only fall.
    let first = tried.iter().find(|of| of.is_hardly_slower_than(least_s, rtt_s))?;
    let next = Candidate { goodput_bps: next, latency_s: 0.0 };
    let carries_more = first.share_of(most) > next.share_of(most) + SAME_USE;
    // Even beside a setting that adds nothing.
    let is_short_enough = first.is_hardly_slower_than(0.0, rtt_s);
    if carries_more && is_short_enough { best(tried, rtt_s) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(latency_ms: f64, mbit: f64) -> Candidate {
        Candidate { latency_s: latency_ms / 1e3, goodput_bps: [mbit; 2] }
    }

    #[test]
    fn a_fast_shaper_whose_latency_nobody_feels_makes_slower_ones_needless() {
        assert_eq!(decided(&[of(1.5, 98.0)], Some([95.0; 2]), 0.02), Some(0));
        assert_eq!(decided(&[of(90.0, 98.0), of(1.5, 95.0)], Some([90.0; 2]), 0.02), Some(1));
    }

    #[test]
    fn it_takes_another_one_as_long_as_that_could_be_better() {
        assert_eq!(decided(&[of(9.0, 98.0)], Some([95.0; 2]), 0.02), None, "another may add less");
        assert_eq!(decided(&[of(5.0, 98.0), of(3.0, 95.0)], Some([90.0; 2]), 0.02), None);
        assert_eq!(decided(&[of(1.5, 98.0)], Some([98.0; 2]), 0.02), None, "an equal one may add less");
    }

    /// All orders of latencies, on the way from the fastest shaper to the slowest.
    #[test]
    fn an_early_decision_is_that_of_all_candidates() {
        let mut early = 0;
        for number in 0..4_u32.pow(5) {
            let latencies =
                (0..5).map(|place| [0.5, 3.0, 6.0, 40.0][(number / 4_u32.pow(place) % 4) as usize]);
            let all: Vec<Candidate> =
                latencies.zip([98.0, 95.0, 95.0, 90.0, 85.0]).map(|(ms, mbit)| of(ms, mbit)).collect();
            let chosen = best(&all, 0.02);
            for tried in 1..all.len() {
                if let Some(index) = decided(&all[..tried], Some(all[tried].goodput_bps), 0.02) {
                    assert_eq!(Some(index), chosen, "{:?}", &all[..]);
                    early += 1;
                }
            }
        }
        assert!(early > 500, "{early}");
    }
}
