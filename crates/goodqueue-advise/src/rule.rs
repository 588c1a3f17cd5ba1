//! The rule by which a run ends, and by which no further seed is needed.

use goodqueue_scenario::results::Estimate;

use crate::known::{BLOCK_S, Blocks, Known};

/// When the runs of a load are enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// How well the values have to be known.
    pub(crate) wanted: Known,
    /// Rates of the line in bit/s if the goodput counts too.
    pub(crate) goodput_of_bps: Option<[f64; 2]>,
    /// Blocks that a run has at least.
    pub(crate) least_blocks: usize,
    /// Base round-trip time in seconds. A run lasts for at least [`ROUND_TRIPS`] under load.
    pub(crate) rtt_s: f64,
    /// Runs that a load has at least.
    pub(crate) least_runs: usize,
}

impl Rule {
    /// True if the last of these runs, which is on its way, may end.
    pub(crate) fn ends(&self, runs: &[&Blocks]) -> bool {
        let Some(run) = runs.last() else { return false };
        let blocks = run.goodput_bps[0].len();
        let added_s = Estimate::from_values(&run.added_s).map_or(f64::INFINITY, |of| of.mean);
        #[expect(clippy::cast_precision_loss, reason = "a few blocks")]
        let measured_s = blocks as f64 * BLOCK_S;
        blocks >= self.least_blocks && measured_s >= ROUND_TRIPS * (self.rtt_s + added_s) && self.knows(runs)
    }

    /// True if these runs are enough.
    pub(crate) fn is_met(&self, runs: &[&Blocks]) -> bool {
        runs.len() >= self.least_runs && self.knows(runs)
    }

    fn knows(&self, runs: &[&Blocks]) -> bool {
        let goodput = |rates| self.wanted.has_goodput(runs, rates);
        self.wanted.has_latency(runs) && self.goodput_of_bps.is_none_or(goodput)
    }
}

/// Round trips under load after which senders have forgotten their start: six gain cycles of BBR.
const ROUND_TRIPS: f64 = 50.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(blocks: usize) -> Blocks {
        let values = |value: f64| vec![value; blocks];
        Blocks { added_s: values(0.02), goodput_bps: [values(9e6), values(1e6)] }
    }

    #[test]
    fn a_run_has_its_least_blocks_and_a_load_its_least_runs() {
        let rule = Rule {
            wanted: Known::PROMISED,
            goodput_of_bps: Some([10e6, 1e6]),
            least_blocks: 3,
            rtt_s: 0.03,
            least_runs: 2,
        };
        assert!(!rule.ends(&[&steady(2)]) && rule.ends(&[&steady(3)]));
        assert!(!rule.ends(&[&steady(6), &steady(2)]), "the first run has ended already");
        assert!(!rule.is_met(&[&steady(6)]) && rule.is_met(&[&steady(6), &steady(3)]));
    }

    /// BBR behind a buffer of a second takes tens of seconds to settle, however steady its queue
    /// is.
    #[test]
    fn a_run_behind_a_long_queue_lasts_longer() {
        let rule = Rule {
            wanted: Known::COMPARED,
            goodput_of_bps: None,
            least_blocks: 2,
            rtt_s: 0.03,
            least_runs: 1,
        };
        let behind = |added_s: f64, blocks: usize| {
            let goodput_bps = [vec![9e6; blocks], vec![1e6; blocks]];
            Blocks { added_s: vec![added_s; blocks], goodput_bps }
        };
        assert!(rule.ends(&[&behind(0.07, 2)]) && !rule.ends(&[&behind(0.3, 3)]));
        assert!(rule.ends(&[&behind(0.3, 4)]) && !rule.ends(&[&behind(1.2, 12)]));
    }

    #[test]
    fn a_load_whose_goodput_swings_goes_on() {
        let mut run = steady(6);
        run.goodput_bps[0] = [3e6, 9e6].repeat(3);
        let rule = Rule {
            wanted: Known::PROMISED,
            goodput_of_bps: None,
            least_blocks: 2,
            rtt_s: 0.03,
            least_runs: 1,
        };
        assert!(rule.ends(&[&run]));
        assert!(!Rule { goodput_of_bps: Some([10e6, 1e6]), ..rule }.ends(&[&run]));
    }
}
