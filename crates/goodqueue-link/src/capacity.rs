//! The capacity of a link: a constant rate, a schedule of rates, or the delivery opportunities of a
//! recorded link.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use goodqueue::{Duration, Instant, Rate};

use crate::work::Work;

/// The capacity of a link.
#[derive(Clone, PartialEq, Debug)]
pub enum Capacity {
    /// A constant rate.
    Constant(Rate),
    /// The rate from each instant on, in order of time. The first rate also holds before its
    /// instant. Rate 0 blocks the link.
    Schedule(Vec<(Instant, Rate)>),
    /// Delivery opportunities of a recorded link.
    Trace(Arc<Opportunities>),
}

impl Capacity {
    /// No limit: packets take no time.
    pub const UNLIMITED: Self = Self::Constant(UNLIMITED);

    /// Returns true if packets take no time.
    #[must_use]
    pub const fn is_unlimited(&self) -> bool {
        matches!(self, Self::Constant(UNLIMITED))
    }

    /// Returns the rate at `now` and the time of its next change; `None` for a trace and without a
    /// limit. A schedule without entries has rate 0.
    #[must_use]
    pub fn rate_at(&self, now: Instant) -> Option<(Rate, Option<Instant>)> {
        match self {
            Self::Trace(_) | Self::Constant(UNLIMITED) => None,
            Self::Constant(rate) => Some((*rate, None)),
            Self::Schedule(changes) => {
                let passed = changes.partition_point(|change| change.0 <= now);
                // Before its instant the first rate holds already.
                let current = changes.get(passed.saturating_sub(1)).or(changes.first());
                let rate = current.map_or(Rate::from_bps(0), |change| change.1);
                Some((rate, changes.get(passed).map(|change| change.0)))
            }
        }
    }

    /// Returns the most bytes that can be sent within `span`; `None` without a limit.
    #[must_use]
    pub fn most_within(&self, span: Duration) -> Option<u64> {
        match self {
            Self::Constant(rate) => (!self.is_unlimited()).then(|| rate.bytes_in(span)),
            Self::Schedule(changes) => {
                // Without entries the rate is 0, as in `rate_at`.
                Some(changes.iter().map(|change| change.1.bytes_in(span)).max().unwrap_or(0))
            }
            Self::Trace(opportunities) => Some(opportunities.most_within(span)),
        }
    }

    /// Returns the work that a link of this capacity could send between two instants if no packet
    /// were in transmission at either.
    #[must_use]
    pub fn between(&self, begin: Instant, end: Instant) -> Work {
        match self {
            Self::Constant(rate) => Work::at(*rate, end.since(begin)),
            Self::Schedule(changes) => {
                let until = changes.iter().skip(1).map(|change| change.0.min(end)).chain([end]);
                changes.iter().zip(until).enumerate().fold(Work::ZERO, |sum, (index, (change, until))| {
                    // The first rate also holds before its own instant.
                    let from = if index == 0 { begin } else { change.0.max(begin) };
                    sum.plus(Work::at(change.1, until.since(from)))
                })
            }
            Self::Trace(all) => {
                let passed = all.count_before(end).saturating_sub(all.count_before(begin));
                Work::of_bytes(passed * u64::from(OPPORTUNITY_BYTES))
            }
        }
    }
}

/// The delivery opportunities of a recorded link, as in a Mahimahi trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opportunities {
    /// Times in ms. Four bytes each without spare capacity, because a trace may have millions.
    at_ms: Box<[u32]>,
}

/// Bytes of one delivery opportunity (Mahimahi's `PACKET_SIZE`): an IP packet of 1500 bytes and the
/// 4-byte header of its TUN device.
pub const OPPORTUNITY_BYTES: u32 = 1504;

/// Bytes that Mahimahi adds to each IP packet: the header of its TUN device.
pub const TUN_HEADER: u32 = 4;

impl Opportunities {
    /// Returns opportunities at these milliseconds, which repeat with the last one as the period.
    ///
    /// `None` if there are none, if they decrease, or if the period is 0.
    #[must_use]
    pub fn new(at_ms: Vec<u32>) -> Option<Self> {
        let at_ms = at_ms.into_boxed_slice();
        let ordered = at_ms.windows(2).all(|pair| pair[0] <= pair[1]);
        (ordered && at_ms.last().is_some_and(|&period| period > 0)).then_some(Self { at_ms })
    }

    /// Returns the milliseconds of the first period.
    #[must_use]
    pub fn at_ms(&self) -> &[u32] {
        &self.at_ms
    }

    /// Returns the number of opportunities in one period.
    #[must_use]
    pub fn count(&self) -> usize {
        self.at_ms.len()
    }

    /// Returns the length of one period.
    #[must_use]
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.period_ms())
    }

    fn period_ms(&self) -> u64 {
        self.at_ms.last().map_or(1, |&period| u64::from(period))
    }

    /// Returns the number of opportunities before `end`.
    #[must_use]
    pub fn count_before(&self, end: Instant) -> u64 {
        self.first_not_before(end)
    }

    /// Returns the most bytes that opportunities carry within a `span` that begins at any of them.
    fn most_within(&self, span: Duration) -> u64 {
        let count = self.at_ms.len() as u64;
        // `new` refuses a period of 0, so the bound changes nothing.
        let period = self.period().as_nanos().max(1);
        // Each whole period carries the same, wherever the span begins.
        let whole = (span.as_nanos() / period).saturating_mul(count);
        let rest = Duration::from_nanos(span.as_nanos() % period);
        let mut end = 0;
        let within = (0..count).map(|start| {
            let last = self.time_of(start) + rest;
            // The end of the span never moves back, so the search takes one pass through the trace.
            while self.time_of(end) <= last {
                end += 1;
            }
            end - start
        });
        let most = within.max().unwrap_or(0).saturating_add(whole);
        most.saturating_mul(u64::from(OPPORTUNITY_BYTES))
    }

    /// Returns the running number of the first opportunity at or after `now`.
    #[must_use]
    #[inline]
    pub fn first_not_before(&self, now: Instant) -> u64 {
        // Opportunities are at whole milliseconds.
        let now_ms = now.as_nanos().div_ceil(1_000_000);
        let period_ms = self.period_ms().max(1);
        let count = self.at_ms.len() as u64;
        // An opportunity exactly at the end of a period belongs to that period.
        let (cycle, within) =
            if now_ms == 0 { (0, 0) } else { ((now_ms - 1) / period_ms, (now_ms - 1) % period_ms + 1) };
        cycle * count + self.at_ms.partition_point(|&at| u64::from(at) < within) as u64
    }

    /// Returns the time of opportunity `number`, counted from 0.
    #[must_use]
    #[inline]
    pub fn time_of(&self, number: u64) -> Instant {
        let count = self.at_ms.len() as u64;
        // `new` refuses a trace without opportunities, so the divisor is not 0.
        let index = usize::try_from(number % count).unwrap_or(0);
        let within = self.at_ms.get(index).map_or(0, |&at| u64::from(at));
        let start = self.period().saturating_mul(number / count);
        Instant::ZERO + start + Duration::from_millis(within)
    }
}

/// A rate at which packets take no time.
pub const UNLIMITED: Rate = Rate::from_bps(u64::MAX);

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn ms(at: u64) -> Instant {
        Instant::from_nanos(at * 1_000_000)
    }

    #[test]
    fn a_schedule_holds_each_rate_until_the_next() {
        let schedule = Capacity::Schedule(vec![(ms(10), Rate::from_bps(1)), (ms(20), Rate::from_bps(0))]);
        assert_eq!(schedule.rate_at(ms(0)), Some((Rate::from_bps(1), Some(ms(10)))));
        assert_eq!(schedule.rate_at(ms(19)), Some((Rate::from_bps(1), Some(ms(20)))));
        assert_eq!(schedule.rate_at(ms(20)), Some((Rate::from_bps(0), None)));
        assert_eq!(Capacity::Schedule(Vec::new()).rate_at(ms(1)), Some((Rate::from_bps(0), None)));
    }

    #[test]
    fn the_most_that_is_sent_within_a_span_is_that_of_its_best_moment() {
        let span = Duration::from_millis(300);
        let gigabit = Rate::from_bps(1_000_000_000);
        assert_eq!(Capacity::UNLIMITED.most_within(span), None);
        assert_eq!(Capacity::Constant(gigabit).most_within(span), Some(37_500_000));
        let schedule = Capacity::Schedule(vec![(ms(0), Rate::from_bps(8_000)), (ms(9), gigabit)]);
        assert_eq!(schedule.most_within(span), Some(37_500_000));
        let trace = Opportunities::new(vec![1, 50, 51, 52, 100]).unwrap();
        for (milliseconds, opportunities) in [(0, 1), (1, 2), (2, 3), (100, 6), (202, 13)] {
            let most = trace.most_within(Duration::from_millis(milliseconds));
            assert_eq!(most, opportunities * u64::from(OPPORTUNITY_BYTES), "{milliseconds} ms");
        }
    }

    #[test]
    fn a_trace_repeats_with_its_last_millisecond_as_the_period() {
        let trace = Opportunities::new(vec![0, 5, 5, 10]).unwrap();
        let times: Vec<_> = (0..8).map(|number| trace.time_of(number)).collect();
        assert_eq!(times, [0, 5, 5, 10, 10, 15, 15, 20].map(ms));
        for (now, first) in [(0, 0), (1, 1), (5, 1), (6, 3), (10, 3), (11, 5), (20, 7)] {
            assert_eq!(trace.first_not_before(ms(now)), first, "{now} ms");
        }
    }
}
