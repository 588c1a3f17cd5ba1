//! The number of bytes in a queue over time, and how long it exceeded given levels.
//!
//! Only runs that ask for it measure this, because asking a discipline for its backlog is more
//! expensive than counting packets.

use goodqueue::{Duration, Instant};

/// Time during which a queue held more bytes than a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spike {
    /// Level in bytes.
    pub above: u64,
    /// Longest uninterrupted time above the level.
    pub longest: Duration,
    /// Total time above the level.
    pub total: Duration,
}

/// The measurement of one queue.
#[derive(Clone, Debug)]
pub(crate) struct BacklogWatch {
    bytes: u64,
    // 128 bits: a megabyte that is queued for five hours exceeds 64 bits.
    area: u128,
    since: Instant,
    levels: Vec<Level>,
}

#[derive(Clone, Debug)]
struct Level {
    spike: Spike,
    /// Start of the present time above the level, if the queue is above it.
    begun: Option<Instant>,
}

impl BacklogWatch {
    /// Starts a watch for these levels, in bytes.
    pub(crate) fn new(levels: &[u64]) -> Self {
        let level = |above: &u64| Level {
            spike: Spike { above: *above, longest: Duration::ZERO, total: Duration::ZERO },
            begun: None,
        };
        Self { bytes: 0, area: 0, since: Instant::ZERO, levels: levels.iter().map(level).collect() }
    }

    /// Discards everything measured before `now`.
    pub(crate) fn restart(&mut self, now: Instant) {
        (self.area, self.since) = (0, now);
        for level in &mut self.levels {
            level.spike.longest = Duration::ZERO;
            level.spike.total = Duration::ZERO;
            // A time above the level that began in the warm-up counts from here on.
            level.begun = level.begun.map(|_| now);
        }
    }

    /// Records that the queue holds `bytes` from `now` on.
    #[inline]
    pub(crate) fn set(&mut self, now: Instant, bytes: u64) {
        self.area += u128::from(now.since(self.since).as_nanos()) * u128::from(self.bytes);
        (self.since, self.bytes) = (now, bytes);
        for level in &mut self.levels {
            match (level.begun, bytes > level.spike.above) {
                (None, true) => level.begun = Some(now),
                (Some(begun), false) => {
                    level.end(now.since(begun));
                    level.begun = None;
                }
                _ => {}
            }
        }
    }

    /// Ends the watch, which began at `begin`. Returns the mean number of bytes queued, and the
    /// spikes.
    #[expect(clippy::cast_precision_loss, reason = "results are given in floating point")]
    pub(crate) fn finish(mut self, begin: Instant, end: Instant) -> (f64, Vec<Spike>) {
        self.set(end, self.bytes);
        let spikes = self.levels.iter_mut().map(|level| {
            if let Some(begun) = level.begun {
                level.end(end.since(begun));
            }
            level.spike
        });
        let spikes = spikes.collect();
        // A run that ends with its warm-up has no measured time, and must not divide by zero.
        (self.area as f64 / end.since(begin).as_nanos().max(1) as f64, spikes)
    }
}

impl Level {
    fn end(&mut self, span: Duration) {
        self.spike.longest = self.spike.longest.max(span);
        self.spike.total += span;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_spike_is_the_longest_time_above_a_level_without_a_break() {
        let mut watch = BacklogWatch::new(&[1000, 5000]);
        for (ms, bytes) in [(0, 1500), (10, 1000), (20, 6000), (25, 1001), (60, 0), (70, 5000), (80, 0)] {
            watch.set(at(ms), bytes);
        }
        let (mean, spikes) = watch.finish(at(0), at(100));
        let ms = Duration::from_millis;
        // Above 1000 bytes from 0 to 10, from 20 to 60 and from 70 to 80 ms. 1000 bytes are not
        // above.
        assert_eq!(spikes[0], Spike { above: 1000, longest: ms(40), total: ms(60) });
        // Only the 6000 bytes from 20 to 25 ms.
        assert_eq!(spikes[1], Spike { above: 5000, longest: ms(5), total: ms(5) });
        let area = 10 * 1500 + 10 * 1000 + 5 * 6000 + 35 * 1001 + 10 * 5000;
        assert!((mean - f64::from(area) / 100.0).abs() < 1e-9);
    }

    #[test]
    fn a_spike_across_the_warm_up_or_the_end_counts_as_far_as_it_was_measured() {
        let mut watch = BacklogWatch::new(&[0]);
        watch.set(at(0), 1);
        watch.restart(at(30));
        let (mean, spikes) = watch.finish(at(30), at(100));
        assert_eq!(spikes[0].longest, Duration::from_millis(70));
        assert!((mean - 1.0).abs() < 1e-12);
    }
}
