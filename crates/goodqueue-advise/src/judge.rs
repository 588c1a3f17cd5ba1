//! Watches a run, and ends it as soon as its values are known well enough.

use std::sync::{Mutex, PoisonError};

use goodqueue::{Duration, Instant};
use goodqueue_scenario::session::Watch;
use goodqueue_sim::{Config, SoFar, Traffic};

use crate::known::{BLOCK_S, Blocks};
use crate::observe::Observe;
use crate::rule::Rule;

/// The judge of one run.
pub(crate) struct Judge<'j> {
    config: &'j Config,
    /// The runs of the same load with other seeds.
    earlier: &'j [Blocks],
    rule: Rule,
    observer: &'j dyn Observe,
    seen: Mutex<Seen>,
}

/// What a run has shown.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) blocks: Blocks,
    /// Mean added ping in the first [`BEGINNING_S`] seconds of the load.
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
    pub(crate) fn into_seen(self) -> Seen {
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
        let (mut count, mut sum) = (0.0, 0.0);
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
    fn ends_block(&self, seen: &mut Seen, so_far: SoFar<'_>) -> bool {
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
        if length_s < if is_last { BLOCK_S / 2.0 } else { BLOCK_S } {
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
const BEGINNING: Duration = Duration::from_millis(10_000);

#[expect(clippy::cast_precision_loss, reason = "a time of a run")]
fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}
