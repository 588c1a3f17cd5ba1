//! The mean time that a page takes, as the tool of Høiland-Jørgensen et al. computes it.
//!
//! netperf-wrapper (now Flent) puts the measurements of a run on a grid of 200 ms. Between the ends
//! of two fetches it interpolates their times, but only up to 1 s before the second end. A fetch of
//! several seconds therefore counts no more than five of 200 ms.

use goodqueue_scenario::run::RunSpec;
use goodqueue_sim::{Outcome, Traffic};

use super::clock::seconds;

/// Step of the grid in seconds (`STEP_SIZE`).
const STEP: f64 = 0.2;
/// Longest time in seconds for which a value is taken from a measurement that follows
/// (`max_distance`).
const REACH: f64 = 5.0 * STEP;

/// Returns the mean over the fetches of all browsers of a run; `None` if none was completed.
pub(super) fn mean_of_run(run: &RunSpec, outcome: &Outcome) -> Option<f64> {
    let browsers = run.config.flows.iter().zip(&outcome.flows);
    let pages = browsers.filter(|(flow, _)| matches!(flow.traffic, Traffic::Web(_)));
    let mut fetches: Vec<(f64, f64)> = pages
        .flat_map(|(_, seen)| &seen.transfers)
        .filter_map(|page| {
            let end = page.ended_at?;
            Some((seconds(end.as_nanos()), seconds(end.since(page.begun_at).as_nanos())))
        })
        .collect();
    // The pages of several browsers do not end in the order of the flows.
    fetches.sort_by(|a, b| a.0.total_cmp(&b.0));
    mean(&fetches)
}

/// `fetches`: when each ended and how long it took, in the order of the ends.
fn mean(fetches: &[(f64, f64)]) -> Option<f64> {
    let (start, only) = *fetches.first()?;
    // The number of grid points before a time; a point at the time itself follows it.
    // The small number keeps a rounding error of the division from moving such a point before the
    // time.
    let points_before = |time: f64| ((time - start) / STEP - 1e-9).ceil();
    let mut sum = 0.0;
    let mut count = 0.0;
    for pair in fetches.windows(2) {
        let [(begin, before), (end, after)] = *pair else { continue };
        let first = points_before(begin.max(end - REACH));
        let next = points_before(end);
        if next > first {
            // The interpolation is linear, so the mean over the points is the value in their
            // middle.
            let middle = start + STEP * (first + next - 1.0) / 2.0;
            sum += (next - first) * (before + (after - before) * (middle - begin) / (end - begin));
            count += next - first;
        }
    }
    // A single fetch has no second end to interpolate to.
    Some(if count > 0.0 { sum / count } else { only })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_fetches_have_their_time_as_mean() {
        let fetches: Vec<(f64, f64)> = (1..20).map(|n| (f64::from(n) * 0.3, 0.3)).collect();
        assert!((mean(&fetches).unwrap() - 0.3).abs() < 1e-9);
    }

    #[test]
    fn a_long_fetch_counts_for_its_last_second() {
        let fetches: Vec<(f64, f64)> =
            (1..=50).map(|n| (f64::from(n) * 0.2, 0.2)).chain([(20.0, 10.0)]).collect();
        let long = mean(&fetches).unwrap();
        // 49 points lie among the short fetches. The last second of the long one has 5, with 9.5 s
        // in their middle.
        assert!((long - (49.0 * 0.2 + 5.0 * 9.5) / 54.0).abs() < 0.1, "{long}");
    }

    #[test]
    fn a_single_fetch_is_the_mean_and_none_has_none() {
        assert_eq!(mean(&[(3.0, 2.5)]), Some(2.5));
        assert_eq!(mean(&[]), None);
    }
}
