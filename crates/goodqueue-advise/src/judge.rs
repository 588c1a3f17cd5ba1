//! Ends a run as soon as its values are known well enough, and says whether a load needs another
//! seed.

use std::sync::{Mutex, PoisonError};

use goodqueue::{Duration, Instant};
use goodqueue_scenario::results::Estimate;
use goodqueue_scenario::session::Watch;
use goodqueue_sim::{Config, SoFar, Traffic};

use crate::advice::Observe;

/// Values of one run in blocks of equal time, without the warm-up.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Blocks {
    /// Mean ping beyond the idle ping, of the blocks in which one was answered.
    pub(crate) added_s: Vec<f64>,
    /// Goodput of TCP in bit/s, towards the home and the Internet.
    pub(crate) goodput_bps: [Vec<f64>; 2],
}

/// How well values have to be known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Precision {
    /// Share of the added latency.
    pub(crate) latency_share: f64,
    /// Latency in seconds that is enough, however small the share.
    pub(crate) latency_s: f64,
    /// Share of the rate of the line.
    pub(crate) goodput_share: f64,
}

impl Precision {
    // The page about advice states both precisions.
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

/// When the runs of a load are enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// How well the values have to be known.
    pub(crate) wanted: Precision,
    /// Rates of the line in bit/s if the goodput counts too.
    pub(crate) goodput_of_bps: Option<[f64; 2]>,
    /// Length of a block in seconds: longer than the round trips of a path, so that blocks hardly
    /// depend on each other.
    pub(crate) block_s: f64,
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
        // A run without an answered ping knows nothing, and must not end early.
        let added_s = Estimate::from_values(&run.added_s).map_or(f64::INFINITY, |of| of.mean);
        #[expect(clippy::cast_precision_loss, reason = "a few blocks")]
        let measured_s = blocks as f64 * self.block_s;
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

// A cycle of BBR has eight phases of a round trip each.
/// Round trips under load after which senders have forgotten their start: six gain cycles of BBR.
const ROUND_TRIPS: f64 = 50.0;

/// The judge of one run.
pub(crate) struct Judge<'j> {
    config: &'j Config,
    /// The runs of the same load with other seeds.
    earlier: &'j [Blocks],
    rule: Rule,
    observer: &'j dyn Observe,
    seen: Mutex<Observed>,
}

/// What a run has shown.
#[derive(Default)]
pub(crate) struct Observed {
    pub(crate) blocks: Blocks,
    /// Mean added ping in the first [`BEGINNING`] of the load.
    pub(crate) first_s: Option<f64>,
    /// Start of the current block, and the bytes that were delivered before.
    from: Option<(Instant, [u64; 2])>,
}

impl<'j> Judge<'j> {
    pub(crate) fn new(
        config: &'j Config,
        earlier: &'j [Blocks],
        rule: Rule,
        observer: &'j dyn Observe,
    ) -> Self {
        Self { config, earlier, rule, observer, seen: Mutex::default() }
    }

    /// Returns what the run has shown.
    pub(crate) fn into_seen(self) -> Observed {
        self.seen.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the payload that TCP flows have delivered, towards the home and the Internet.
    fn delivered(&self, so_far: SoFar<'_>) -> [u64; 2] {
        let mut bytes = [0; 2];
        for (number, flow) in self.config.flows.iter().enumerate() {
            if flow.traffic.transport().controls_congestion() {
                bytes[flow.traffic.direction().index()] += so_far.delivered(number);
            }
        }
        bytes
    }

    /// Returns the mean ping beyond the idle ping of those sent in this time; `None` if none of
    /// them was answered.
    fn added_s(&self, so_far: SoFar<'_>, from: Instant, to: Instant) -> Option<f64> {
        let mut count = 0.0;
        let mut sum = 0.0;
        for (number, flow) in self.config.flows.iter().enumerate() {
            if !matches!(flow.traffic, Traffic::Ping(_)) {
                continue;
            }
            let base = self.config.base_rtt(flow);
            let sent =
                so_far.round_trips(number).iter().filter(|ping| ping.sent_at >= from && ping.sent_at < to);
            for time in sent.filter_map(|ping| ping.time) {
                count += 1.0;
                sum += seconds(time.saturating_sub(base));
            }
        }
        (count > 0.0).then(|| sum / count)
    }

    /// Notes the block that has ended, if one has. True if it has.
    fn ends_block(&self, seen: &mut Observed, so_far: SoFar<'_>) -> bool {
        let now = so_far.now();
        let Some((from, before)) = seen.from else {
            if now >= Instant::ZERO + self.config.warmup {
                seen.from = Some((now, self.delivered(so_far)));
            }
            return false;
        };
        // The first look may come a little after the end of the warm-up.
        let is_last = now >= Instant::ZERO + self.config.duration;
        let length_s = seconds(now.since(from));
        if length_s < self.rule.block_s * if is_last { 0.5 } else { 1.0 } {
            return false;
        }
        let delivered = self.delivered(so_far);
        seen.blocks.added_s.extend(self.added_s(so_far, from, now));
        for (side, blocks) in seen.blocks.goodput_bps.iter_mut().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "bytes of a few seconds")]
            let bits = (delivered[side] - before[side]) as f64 * 8.0;
            blocks.push(bits / length_s);
        }
        seen.from = Some((now, delivered));
        true
    }
}

impl Watch for Judge<'_> {
    fn is_cancelled(&self) -> bool {
        self.observer.is_cancelled()
    }

    fn knows_enough(&self, _: usize, so_far: SoFar<'_>) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let beginning = Instant::ZERO + BEGINNING;
        if seen.first_s.is_none() && so_far.now() >= beginning {
            seen.first_s = self.added_s(so_far, Instant::ZERO, beginning);
        }
        if !self.ends_block(&mut seen, so_far) {
            return false;
        }
        let runs: Vec<&Blocks> = self.earlier.iter().chain([&seen.blocks]).collect();
        self.rule.ends(&runs)
    }
}

/// The time in which the flows of a load search for their rate.
pub(crate) const BEGINNING: Duration = Duration::from_millis(10_000);

#[expect(clippy::cast_precision_loss, reason = "a time of a run")]
pub(crate) fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pings(added_ms: &[f64]) -> Blocks {
        Blocks { added_s: added_ms.iter().map(|ms| ms / 1e3).collect(), ..Blocks::default() }
    }

    #[test]
    fn equal_blocks_are_known_and_few_or_scattered_ones_are_not() {
        let is_known = |added_ms: &[f64]| Precision::PROMISED.has_latency(&[&pings(added_ms)]);
        assert!(is_known(&[20.0; 3]));
        assert!(!is_known(&[20.0]));
        assert!(!is_known(&[20.0, 120.0, 40.0, 190.0]));
        let many = [15.0, 25.0].repeat(60);
        assert!(is_known(&many) && !is_known(&many[..4]));
    }

    #[test]
    fn runs_that_contradict_each_other_are_not_known_however_steady_each_of_them_is() {
        let [one, other] = [600.0, 800.0].map(|ms| pings(&[ms; 12]));
        assert!(Precision::COMPARED.has_latency(&[&one]) && Precision::COMPARED.has_latency(&[&one, &one]));
        assert!(!Precision::COMPARED.has_latency(&[&one, &other]));
    }

    /// The rule for one run of at least two blocks whose latency counts.
    fn rule(wanted: Precision) -> Rule {
        Rule { wanted, goodput_of_bps: None, block_s: 5.0, least_blocks: 2, rtt_s: 0.03, least_runs: 1 }
    }

    fn steady(blocks: usize) -> Blocks {
        let values = |value: f64| vec![value; blocks];
        Blocks { added_s: values(0.02), goodput_bps: [values(9e6), values(1e6)] }
    }

    #[test]
    fn a_run_has_its_least_blocks_and_a_load_its_least_runs() {
        let rule = Rule {
            goodput_of_bps: Some([10e6, 1e6]),
            least_blocks: 3,
            least_runs: 2,
            ..rule(Precision::PROMISED)
        };
        assert!(!rule.ends(&[&steady(2)]) && rule.ends(&[&steady(3)]));
        assert!(!rule.ends(&[&steady(6), &steady(2)]), "the first run has ended already");
        assert!(!rule.is_met(&[&steady(6)]) && rule.is_met(&[&steady(6), &steady(3)]));
    }

    /// BBR behind a buffer of a second takes tens of seconds to settle, however steady its queue
    /// is.
    #[test]
    fn a_run_behind_a_long_queue_lasts_longer() {
        let rule = rule(Precision::COMPARED);
        let behind = |added_s: f64, blocks: usize| {
            let goodput_bps = [vec![9e6; blocks], vec![1e6; blocks]];
            Blocks { added_s: vec![added_s; blocks], goodput_bps }
        };
        // Fifty round trips of 0.33 s are 16.5 s, more than three blocks of 5 s. Those of 1.23 s
        // are 61.5 s, more than twelve.
        assert!(rule.ends(&[&behind(0.07, 2)]) && !rule.ends(&[&behind(0.3, 3)]));
        assert!(rule.ends(&[&behind(0.3, 4)]) && !rule.ends(&[&behind(1.2, 12)]));
    }

    #[test]
    fn a_load_whose_goodput_swings_goes_on() {
        let mut run = steady(6);
        run.goodput_bps[0] = [3e6, 9e6].repeat(3);
        let rule = rule(Precision::PROMISED);
        assert!(rule.ends(&[&run]));
        assert!(!Rule { goodput_of_bps: Some([10e6, 1e6]), ..rule }.ends(&[&run]));
    }

    /// A look after each block finds more steady beginnings by chance than a single look. With
    /// blocks that do not depend on each other, less than a tenth of the runs end at a wrong value,
    /// however much the blocks scatter. The page about advice says so.
    #[test]
    fn hardly_any_run_ends_at_a_wrong_value() {
        let mut state = 1_u64;
        // The sum of twelve uniform numbers has a variance of 1 and is nearly normal.
        let mut normal = || {
            let uniform = (0..12).map(|_| {
                // A linear congruential generator with Knuth's multiplier of MMIX.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Its low bits have short periods.
                #[expect(clippy::cast_precision_loss, reason = "any number will do")]
                let number = (state >> 11) as f64;
                number / 2_f64.powi(53)
            });
            uniform.sum::<f64>() - 6.0
        };
        let rule = Rule { least_blocks: 3, ..rule(Precision::PROMISED) };
        // The means are 10 ms, which have to be known to 2 ms, and a run has 33 blocks at most.
        let mean_s = 0.01;
        let wanted_s = 0.002;
        for share in [0.5, 1.0, 1.5, 2.0, 3.0, 5.0] {
            let is_wrong = || {
                let mut run = Blocks { goodput_bps: [vec![1e6; 3], vec![1e6; 3]], ..Blocks::default() };
                run.added_s = (0..3).map(|_| mean_s + normal() * wanted_s * share).collect();
                while run.added_s.len() < 33 && !rule.ends(&[&run]) {
                    run.added_s.push(mean_s + normal() * wanted_s * share);
                    run.goodput_bps.iter_mut().for_each(|blocks| blocks.push(1e6));
                }
                let found_s = Estimate::from_values(&run.added_s).unwrap().mean;
                rule.ends(&[&run]) && (found_s - mean_s).abs() > wanted_s
            };
            let wrong = std::iter::repeat_with(is_wrong).take(1000).filter(|is_wrong| *is_wrong).count();
            assert!(wrong < 100, "{wrong} of 1000 with blocks that scatter by {share}");
        }
    }
}
