//! The capacity of a link: a constant rate, a schedule of rates, or the delivery opportunities of a
//! recorded link.

use std::sync::Arc;

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

    /// Returns the running number of the first opportunity at or after `now`.
    pub(crate) fn first_not_before(&self, now: Instant) -> u64 {
        let now_ms = now.as_nanos().div_ceil(1_000_000);
        let period_ms = self.period_ms().max(1);
        let count = self.at_ms.len() as u64;
        // An opportunity exactly at the end of a period belongs to that period.
        let (cycle, within) =
            if now_ms == 0 { (0, 0) } else { ((now_ms - 1) / period_ms, (now_ms - 1) % period_ms + 1) };
        cycle * count + self.at_ms.partition_point(|&at| u64::from(at) < within) as u64
    }

    pub(crate) fn time_of(&self, number: u64) -> Instant {
        let count = self.at_ms.len() as u64;
        let index = usize::try_from(number % count).unwrap_or(0);
        let within = self.at_ms.get(index).map_or(0, |&at| u64::from(at));
        let start = self.period().saturating_mul(number / count);
        Instant::ZERO + start + Duration::from_millis(within)
    }
}

/// A rate at which packets take no time.
pub const UNLIMITED: Rate = Rate::from_bps(u64::MAX);
