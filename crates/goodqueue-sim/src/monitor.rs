//! Measurement of a queue: counters, histograms and time series. A packet costs only a few
//! additions.

use goodqueue::gauge::Observation;
use goodqueue::{DropReason, Duration, Instant, Stats};
use hdrhistogram::Histogram;

use crate::backlog::{BacklogWatch, Spike};
use crate::delays::{DelayCounts, Digits};
use crate::pause::PauseOutcome;
use goodqueue_link::work::{Progress, Work};

/// The measurements of one queue.
#[derive(Clone, Debug)]
pub(crate) struct LinkMonitor {
    sojourn: DelayCounts,
    // 128 bits: 10^9 packets that wait 20 s each exceed 64 bits.
    sojourn_sum: u128,
    drops: [u64; DropReason::ALL.len()],
    /// Bytes whose transmission the link has begun since the start of the run.
    sent_bytes: u64,
    /// Work sent before the measurement began.
    sent_before: Work,
    /// Work that the link could have sent before the measurement began.
    capacity_before: Work,
    /// Work sent before the current step of the series began.
    sent_before_step: Work,
    /// Packets queued now.
    length: usize,
    /// Largest number of packets queued.
    length_max: usize,
    /// Integral of the queue length over time, in packet nanoseconds.
    // 128 bits: a million packets that are queued for six hours exceed 64 bits.
    length_area: u128,
    /// Time up to which `length_area` is complete.
    last: Instant,
    /// Start of the measurement.
    begin: Instant,
    /// The current step of the series.
    bin: Bin,
    backlog: Option<Box<BacklogWatch>>,
    /// What was counted in the measured time up to the last end of a load.
    loaded: Loaded,
    /// Work sent, and work that the link could have sent, when the present load began; `None`
    /// without a load.
    load_began: Option<Loaded>,
}

/// The work of a link while at least one TCP flow without end is active in its direction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Loaded {
    /// Work sent in that time, for all flows.
    pub sent: Work,
    /// Work that the link could have sent in that time.
    pub capacity: Work,
}

/// The measurements of one queue in one step of the time series.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Bin {
    /// Packets that left the queue.
    pub packets: u64,
    /// Sum of the sojourn times of these packets, in nanoseconds.
    pub sojourn_sum: u64,
    /// Longest of these sojourn times.
    pub sojourn_max: Duration,
    /// Work sent by the link.
    pub sent: Work,
    /// Packets dropped.
    pub drops: u64,
    /// Packets queued at the end of the step.
    pub queue_packets: u64,
}

/// The results of one queue for the measured time.
#[derive(Clone, Debug)]
pub struct LinkOutcome {
    /// Counters of the discipline for the measured time.
    pub stats: Stats,
    /// State of the discipline at the end of the run, with its counters since the start of the run.
    pub seen: Observation,
    /// Sojourn times of transmitted packets, in nanoseconds.
    pub sojourn: Histogram<u64>,
    /// Exact mean of the sojourn times, in seconds.
    pub sojourn_mean: Option<f64>,
    /// Dropped packets by reason, in the order of [`DropReason::ALL`].
    pub drops: [u64; DropReason::ALL.len()],
    /// Work sent, counted bit by bit. For a trace: the work that its opportunities carried. For a
    /// WiFi channel: the packets that arrived.
    pub sent: Work,
    /// Work that the link could have sent; 0 for a WiFi channel. A packet in transmission keeps its
    /// rate when the link's rate changes, and the capacity follows it.
    pub capacity: Work,
    /// The part of both in which a TCP flow without end was active; `None` if nobody measured it,
    /// as in a live run with shorter flows. Only links of the bottleneck have such a part.
    pub loaded: Option<Loaded>,
    /// Mean number of packets queued, over time.
    pub queue_mean: f64,
    /// Largest number of packets queued.
    pub queue_max: u64,
    /// Mean number of bytes queued, over time; `None` if bytes were not watched.
    pub backlog_mean: Option<f64>,
    /// Time above each level of [`crate::Config::spikes`].
    pub spikes: Vec<Spike>,
    /// Pauses that the link obeyed; `None` if no device pauses the link.
    pub pauses: Option<PauseOutcome>,
}

impl LinkMonitor {
    /// Starts a measurement, with a `backlog` watch if bytes are to be measured.
    pub(crate) fn new(backlog: Option<BacklogWatch>) -> Self {
        Self {
            backlog: backlog.map(Box::new),
            sojourn: DelayCounts::with_digits(Digits::Three),
            sojourn_sum: 0,
            drops: [0; DropReason::ALL.len()],
            sent_bytes: 0,
            sent_before: Work::ZERO,
            capacity_before: Work::ZERO,
            sent_before_step: Work::ZERO,
            length: 0,
            length_max: 0,
            length_area: 0,
            last: Instant::ZERO,
            begin: Instant::ZERO,
            bin: Bin::default(),
            loaded: Loaded::default(),
            load_began: None,
        }
    }

    /// Measures sojourn times with one significant digit instead of three, in some KiB.
    pub(crate) fn coarsen(&mut self) {
        self.sojourn = DelayCounts::with_digits(Digits::One);
    }

    /// Discards everything measured before `now`, at the end of the warm-up. `link` is the link's
    /// progress at `now`.
    pub(crate) fn restart(&mut self, now: Instant, link: Progress) {
        let mut backlog = self.backlog.take();
        if let Some(watch) = &mut backlog {
            watch.restart(now);
        }
        *self = Self {
            sojourn: self.sojourn.emptied(),
            length: self.length,
            // Packets of the warm-up that are still queued count in the measured time.
            length_max: self.length,
            last: now,
            begin: now,
            // The series covers the warm-up too, so the current step keeps its packets.
            bin: self.bin,
            backlog,
            sent_bytes: self.sent_bytes,
            sent_before: self.work_sent(link),
            capacity_before: link.capacity,
            sent_before_step: self.sent_before_step,
            // A load that began in the warm-up counts from here on.
            load_began: self.load_began.map(|_| self.work_so_far(link)),
            ..Self::new(None)
        };
    }

    /// Records that a load by TCP flows without end begins or ends. `link` is the link's progress
    /// at this moment.
    pub(crate) fn set_loaded(&mut self, link: Progress, is_loaded: bool) {
        self.loaded = self.loaded_until(link);
        self.load_began = is_loaded.then(|| self.work_so_far(link));
    }

    /// Returns what was sent and could have been sent under load, up to this progress of the link.
    fn loaded_until(&self, link: Progress) -> Loaded {
        let Some(began) = self.load_began else { return self.loaded };
        let now = self.work_so_far(link);
        Loaded {
            sent: self.loaded.sent.plus(now.sent.minus(began.sent)),
            capacity: self.loaded.capacity.plus(now.capacity.minus(began.capacity)),
        }
    }

    const fn work_so_far(&self, link: Progress) -> Loaded {
        Loaded { sent: self.work_sent(link), capacity: link.capacity }
    }

    /// Returns the work that the link has sent since the start of the run, given its progress.
    const fn work_sent(&self, link: Progress) -> Work {
        Work::of_bytes(self.sent_bytes).minus(link.unsent)
    }

    /// Accounts for the time up to `now`, in which the queue length has not changed.
    #[inline]
    pub(crate) fn advance(&mut self, now: Instant) {
        self.length_area += u128::from(now.since(self.last).as_nanos()) * self.length as u128;
        self.last = now;
    }

    #[inline]
    pub(crate) fn length_is(&mut self, packets: usize) {
        self.length = packets;
        self.length_max = self.length_max.max(packets);
    }

    /// Records the backlog, if it is watched. `bytes` is called only then.
    #[inline]
    pub(crate) fn backlog_is(&mut self, now: Instant, bytes: impl FnOnce() -> u64) {
        if let Some(watch) = &mut self.backlog {
            watch.set(now, bytes());
        }
    }

    /// Returns true if no packet is queued. This uses the length last given to [`Self::length_is`],
    /// because asking the discipline is more expensive.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.length == 0
    }

    #[inline]
    pub(crate) fn dropped(&mut self, why: DropReason) {
        self.drops[why.index()] += 1;
        self.bin.drops += 1;
    }

    #[inline]
    pub(crate) fn dequeued(&mut self, sojourn: Duration) {
        let nanos = sojourn.as_nanos();
        self.sojourn.record(nanos);
        self.sojourn_sum += u128::from(nanos);
        self.bin.packets += 1;
        // Saturates at 584 years of waiting in one step.
        self.bin.sojourn_sum = self.bin.sojourn_sum.saturating_add(nanos);
        self.bin.sojourn_max = self.bin.sojourn_max.max(sojourn);
    }

    /// Counts a packet of this length whose transmission begins.
    #[inline]
    pub(crate) fn sent(&mut self, bytes: u32) {
        self.sent_bytes += u64::from(bytes);
    }

    /// Ends the current step of the series. `link` is the link's progress at this moment.
    pub(crate) fn take_bin(&mut self, link: Progress) -> Bin {
        let sent = self.work_sent(link);
        let bin =
            Bin { queue_packets: self.length as u64, sent: sent.minus(self.sent_before_step), ..self.bin };
        self.sent_before_step = sent;
        self.bin = Bin::default();
        bin
    }

    /// Ends the measurement at `end`. `link` is the link's progress at that time, `before` the
    /// discipline's counters at the start of the measurement, `seen` its state at the end.
    #[expect(clippy::cast_precision_loss, reason = "results are given in floating point")]
    pub(crate) fn finish(
        mut self,
        end: Instant,
        link: Progress,
        before: &Stats,
        seen: Observation,
    ) -> LinkOutcome {
        self.advance(end);
        let sent = self.work_sent(link).minus(self.sent_before);
        let loaded = Some(self.loaded_until(link));
        // A run that ends with its warm-up has no measured time, and must not divide by zero.
        let span = end.since(self.begin).as_nanos().max(1);
        let sojourn = self.sojourn.to_histogram();
        let samples = sojourn.len();
        let watched = self.backlog.map(|watch| watch.finish(self.begin, end));
        let (backlog_mean, spikes) =
            watched.map_or_else(Default::default, |(mean, spikes)| (Some(mean), spikes));
        LinkOutcome {
            stats: seen.stats.since(before),
            seen,
            sojourn_mean: (samples > 0).then(|| self.sojourn_sum as f64 / samples as f64 / 1e9),
            sojourn,
            drops: self.drops,
            sent,
            capacity: link.capacity.minus(self.capacity_before),
            loaded,
            queue_mean: self.length_area as f64 / span as f64,
            queue_max: self.length_max as u64,
            backlog_mean,
            spikes,
            pauses: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The progress of a link that could have sent this number of bytes and owes none.
    fn could_send(bytes: u64) -> Progress {
        Progress { unsent: Work::ZERO, capacity: Work::of_bytes(bytes) }
    }

    #[test]
    fn a_load_counts_while_it_lasts_and_not_before_the_measured_time() {
        let mut monitor = LinkMonitor::new(None);
        monitor.sent(1000);
        monitor.set_loaded(could_send(2000), true);
        monitor.sent(500);
        monitor.restart(Instant::from_nanos(1), could_send(3000));
        monitor.sent(100);
        monitor.set_loaded(could_send(3200), false);
        monitor.sent(1000);
        monitor.set_loaded(could_send(9000), true);
        monitor.sent(10);
        let end = Instant::from_nanos(2);
        let outcome = monitor.finish(end, could_send(9050), &Stats::default(), Observation::default());
        // 100 of the 200 bytes after the warm-up, and 10 of the last 50.
        let loaded = Loaded { sent: Work::of_bytes(110), capacity: Work::of_bytes(250) };
        assert_eq!(outcome.loaded, Some(loaded));
    }
}
