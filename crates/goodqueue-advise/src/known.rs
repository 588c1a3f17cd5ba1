//! When the values of a load are known well enough.

use goodqueue_scenario::results::Estimate;

/// Values of one run in blocks of [`BLOCK_S`] seconds, without the warm-up.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Blocks {
    /// Mean ping beyond the idle ping, of the blocks in which one was answered.
    pub(crate) added_s: Vec<f64>,
    /// Goodput of TCP in bit/s, towards the home and the Internet.
    pub(crate) goodput_bps: [Vec<f64>; 2],
}

/// How well values have to be known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Share of the added latency.
    latency_share: f64,
    /// Latency in seconds that is enough, however small the share.
    latency_s: f64,
    /// Share of the rate of the line.
    goodput_share: f64,
}

impl Known {
    /// For the values that are promised.
    pub(crate) const PROMISED: Self = Self { latency_share: 0.1, latency_s: 0.002, goodput_share: 0.03 };
    /// For the values of today, which people know themselves.
    pub(crate) const COMPARED: Self = Self { latency_share: 0.2, latency_s: 0.005, goodput_share: 0.1 };

    /// True if the mean added latency of these runs is known well enough.
    pub(crate) fn has_latency(self, runs: &[&Blocks]) -> bool {
        let of_runs: Vec<&[f64]> = runs.iter().map(|run| &*run.added_s).collect();
        let all = of_runs.concat();
        let added_s = Estimate::from_values(&all).map_or(0.0, |of| of.mean);
        uncertainty(&of_runs) <= (added_s * self.latency_share).max(self.latency_s)
    }

    /// True if the mean goodput of these runs is known well enough on a line of these rates.
    pub(crate) fn has_goodput(self, runs: &[&Blocks], rates_bps: [f64; 2]) -> bool {
        (0..2).all(|side| {
            let of_runs: Vec<&[f64]> = runs.iter().map(|run| &*run.goodput_bps[side]).collect();
            uncertainty(&of_runs) <= rates_bps[side] * self.goodput_share
        })
    }
}

/// Returns half of the interval in which the mean is with a confidence of 95 %: the wider one of
/// two estimates. One takes each block by itself. The other one takes each run as one value,
/// because what happens at the start of a run may last for all of its blocks. It is infinite for
/// fewer than two blocks.
fn uncertainty(runs: &[&[f64]]) -> f64 {
    let of_blocks = Estimate::from_values(&runs.concat()).and_then(|of| of.ci95).unwrap_or(f64::INFINITY);
    let means: Vec<f64> = runs.iter().filter_map(|run| Some(Estimate::from_values(run)?.mean)).collect();
    of_blocks.max(two_standard_errors(&means))
}

/// Returns two standard errors of the mean of these values; 0 for a single one. Student's factor
/// for two runs, 12.7, would call nothing known.
fn two_standard_errors(means: &[f64]) -> f64 {
    let (Some(of), true) = (Estimate::from_values(means), means.len() > 1) else { return 0.0 };
    #[expect(clippy::cast_precision_loss, reason = "a few runs")]
    let count = means.len() as f64;
    let squares: f64 = means.iter().map(|mean| (mean - of.mean).powi(2)).sum();
    2.0 * (squares / (count - 1.0) / count).sqrt()
}

/// Length of a block: longer than the round trips of a path, so that blocks hardly depend on each
/// other.
pub(crate) const BLOCK_S: f64 = 5.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn pings(added_ms: &[f64]) -> Blocks {
        Blocks { added_s: added_ms.iter().map(|ms| ms / 1e3).collect(), ..Blocks::default() }
    }

    #[test]
    fn equal_blocks_are_known_and_few_or_scattered_ones_are_not() {
        let is_known = |added_ms: &[f64]| Known::PROMISED.has_latency(&[&pings(added_ms)]);
        assert!(is_known(&[20.0; 3]));
        assert!(!is_known(&[20.0]));
        assert!(!is_known(&[20.0, 120.0, 40.0, 190.0]));
        let many = [15.0, 25.0].repeat(60);
        assert!(is_known(&many) && !is_known(&many[..4]));
    }

    #[test]
    fn runs_that_contradict_each_other_are_not_known_however_steady_each_of_them_is() {
        let [one, other] = [600.0, 800.0].map(|ms| pings(&[ms; 12]));
        assert!(Known::COMPARED.has_latency(&[&one]) && Known::COMPARED.has_latency(&[&one, &one]));
        assert!(!Known::COMPARED.has_latency(&[&one, &other]));
    }
}
