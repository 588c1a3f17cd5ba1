//! Measurement: counters, histograms and series, kept so that a packet costs a few additions.

use goodqueue::gauge::Observation;
use goodqueue::{DropReason, Duration, Instant, Stats};
use hdrhistogram::Histogram;

use crate::backlog::{BacklogWatch, Spike};
use crate::work::{Progress, Work};

/// What is measured at one queue.
#[derive(Clone, Debug)]
pub(crate) struct LinkMonitor {
    sojourn: Histogram<u64>,
    sojourn_sum: u128,
    drops: [u64; DropReason::ALL.len()],
    /// Bytes that the link has begun to send since its beginning.
    sent_bytes: u64,
    /// What it had sent, and could have sent, when the measurement began; and what it had sent when the step began.
    sent_before: Work,
    capacity_before: Work,
    sent_before_step: Work,
    length: usize,
    length_max: usize,
    length_area: u128,
    last: Instant,
    begin: Instant,
    bin: Bin,
    backlog: Option<Box<BacklogWatch>>,
}

/// What one step of the series collects of a queue.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Bin {
    /// Packets that left the queue.
    pub packets: u64,
    /// Sum of their sojourn times, in nanoseconds.
    pub sojourn_sum: u64,
    /// Longest of them.
    pub sojourn_max: Duration,
    /// What was sent.
    pub sent: Work,
    /// Packets dropped.
    pub drops: u64,
    /// Packets queued at the end.
    pub queue_packets: u64,
}

/// What one queue did in the time measured.
#[derive(Clone, Debug)]
pub struct LinkOutcome {
    /// The discipline's own counters, over the time measured.
    pub stats: Stats,
    /// What there was to be seen of the discipline at the end, with its counters since the beginning.
    pub seen: Observation,
    /// Sojourn times of transmitted packets, in nanoseconds.
    pub sojourn: Histogram<u64>,
    /// Their exact mean in seconds.
    pub sojourn_mean: Option<f64>,
    /// Dropped packets by reason, in the order of [`DropReason::ALL`].
    pub drops: [u64; DropReason::ALL.len()],
    /// What was sent: a packet counts bit by bit. On a trace, what its opportunities carried; in the air, what arrived.
    pub sent: Work,
    /// What the link could have sent. A packet on the wire keeps its rate when that of the link changes, and so does this.
    /// Nothing in the air.
    pub capacity: Work,
    /// Packets queued, mean over time.
    pub queue_mean: f64,
    /// Packets queued at most.
    pub queue_max: u64,
    /// Bytes queued, mean over time, if that was watched.
    pub backlog_mean: Option<f64>,
    /// Time for which the queue held more than so many bytes, for each level that was asked for.
    pub spikes: Vec<Spike>,
}

/// Three significant figures from a microsecond to an hour: 0.1 % of error at most, about 200 KiB.
pub(crate) fn delay_histogram() -> Histogram<u64> {
    const LOWEST: u64 = 1_000;
    const HIGHEST: u64 = 3_600_000_000_000;
    // The bounds are constants that the crate accepts; `new` with automatic growth stands in if that should change.
    Histogram::new_with_bounds(LOWEST, HIGHEST, 3)
        .or_else(|_| Histogram::new(3))
        .unwrap_or_else(|_| unreachable!("3 is a valid number of figures"))
}

impl LinkMonitor {
    /// With a `backlog` watch, if bytes matter.
    pub(crate) fn new(backlog: Option<BacklogWatch>) -> Self {
        Self {
            backlog: backlog.map(Box::new),
            sojourn: delay_histogram(),
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
        }
    }

    /// Forgets what was measured before `now`, when the link has come so far: the warm-up is over.
    pub(crate) fn restart(&mut self, now: Instant, link: Progress) {
        let mut backlog = self.backlog.take();
        if let Some(watch) = &mut backlog {
            watch.restart(now);
        }
        *self = Self {
            length: self.length,
            length_max: self.length,
            last: now,
            begin: now,
            bin: self.bin,
            backlog,
            sent_bytes: self.sent_bytes,
            sent_before: self.work_sent(link),
            capacity_before: link.capacity,
            sent_before_step: self.sent_before_step,
            ..Self::new(None)
        };
    }

    /// What a link has sent since its beginning that has come so far.
    const fn work_sent(&self, link: Progress) -> Work {
        Work::of_bytes(self.sent_bytes).minus(link.unsent)
    }

    /// The number of packets queued has not changed until `now`.
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

    /// Watches the backlog, which `bytes` tells, if that is wanted.
    #[inline]
    pub(crate) fn backlog_is(&mut self, now: Instant, bytes: impl FnOnce() -> u64) {
        if let Some(watch) = &mut self.backlog {
            watch.set(now, bytes());
        }
    }

    /// True if no packet is queued, as [`Self::length_is`] was told last: asking the discipline is dearer.
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
        self.sojourn.saturating_record(nanos);
        self.sojourn_sum += u128::from(nanos);
        self.bin.packets += 1;
        self.bin.sojourn_sum = self.bin.sojourn_sum.saturating_add(nanos);
        self.bin.sojourn_max = self.bin.sojourn_max.max(sojourn);
    }

    /// The link begins to send so many bytes.
    #[inline]
    pub(crate) fn sent(&mut self, bytes: u32) {
        self.sent_bytes += u64::from(bytes);
    }

    /// Ends a step of the series, when the link has come so far.
    pub(crate) fn take_bin(&mut self, link: Progress) -> Bin {
        let sent = self.work_sent(link);
        let bin =
            Bin { queue_packets: self.length as u64, sent: sent.minus(self.sent_before_step), ..self.bin };
        self.sent_before_step = sent;
        self.bin = Bin::default();
        bin
    }

    /// Ends the measurement at `end`, when the link has come so far. `before` are the discipline's counters at its beginning, `seen` is what there is to be
    /// seen of it now.
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
        let span = end.since(self.begin).as_nanos().max(1);
        let samples = self.sojourn.len();
        let watched = self.backlog.map(|watch| watch.finish(self.begin, end));
        let (backlog_mean, spikes) =
            watched.map_or_else(Default::default, |(mean, spikes)| (Some(mean), spikes));
        LinkOutcome {
            stats: seen.stats.since(before),
            seen,
            sojourn_mean: (samples > 0).then(|| self.sojourn_sum as f64 / samples as f64 / 1e9),
            sojourn: self.sojourn,
            drops: self.drops,
            sent,
            capacity: link.capacity.minus(self.capacity_before),
            queue_mean: self.length_area as f64 / span as f64,
            queue_max: self.length_max as u64,
            backlog_mean,
            spikes,
        }
    }
}
