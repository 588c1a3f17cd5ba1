//! The capacity of one direction of the bottleneck: a rate, a schedule of rates, or the
//! opportunities of a recorded link.

use goodqueue::{Duration, Instant, Rate};

/// The capacity of a link.
#[derive(Clone, PartialEq, Debug)]
pub enum Capacity {
    /// No limit, so no queue.
    Unlimited,
    /// A constant rate.
    Constant(Rate),
    /// Each rate holds from its instant on. The first one also holds before its instant. A rate of
    /// 0 blocks the link.
    Schedule(Vec<(Instant, Rate)>),
    /// Times of a recorded link's opportunities to deliver 1504 bytes, in milliseconds, ascending,
    /// as in a Mahimahi trace. The trace repeats for ever; its last time is the period.
    Trace(Vec<u32>),
}

/// Bytes of one delivery opportunity: Mahimahi's `PACKET_SIZE`.
pub(crate) const OPPORTUNITY_BYTES: u32 = 1504;
/// Bytes that Mahimahi adds to each IP packet: the header of its TUN device.
pub(crate) const TUN_HEADER: u32 = 4;

impl Capacity {
    /// Returns the rate at `now` and the time of its next change. Returns `None` for a trace and
    /// without a limit.
    #[must_use]
    pub fn rate_at(&self, now: Instant) -> Option<(Rate, Option<Instant>)> {
        match self {
            Self::Unlimited | Self::Trace(_) => None,
            Self::Constant(rate) => Some((*rate, None)),
            Self::Schedule(changes) => {
                let passed = changes.partition_point(|change| change.0 <= now);
                let current = changes.get(passed.saturating_sub(1)).or(changes.first());
                let rate = current.map_or(Rate::from_bps(0), |change| change.1);
                Some((rate, changes.get(passed).map(|change| change.0)))
            }
        }
    }

    /// Returns the most bytes that can be sent within `span`; `None` without a limit.
    #[must_use]
    pub fn most_within(&self, span: Duration) -> Option<u64> {
        let at = |rate: Rate| {
            let bytes = u128::from(rate.as_bps()) * u128::from(span.as_nanos()) / 8_000_000_000;
            u64::try_from(bytes).unwrap_or(u64::MAX)
        };
        match self {
            Self::Unlimited => None,
            Self::Constant(rate) => Some(at(*rate)),
            Self::Schedule(changes) => Some(changes.iter().map(|change| at(change.1)).max().unwrap_or(0)),
            Self::Trace(at_ms) => {
                let count = at_ms.len() as u64;
                let period = Duration::from_millis(u64::from(at_ms.last().copied().unwrap_or(1).max(1)));
                let whole = (span.as_nanos() / period.as_nanos()).saturating_mul(count);
                let rest = Duration::from_nanos(span.as_nanos() % period.as_nanos());
                let mut end = 0;
                let within = (0..count).map(|start| {
                    let last = self.opportunity(start).unwrap_or(Instant::ZERO) + rest;
                    while self.opportunity(end).is_some_and(|at| at <= last) {
                        end += 1;
                    }
                    end - start
                });
                let most = within.max().unwrap_or(0).saturating_add(whole);
                Some(most.saturating_mul(u64::from(OPPORTUNITY_BYTES)))
            }
        }
    }

    /// Returns the time of opportunity `number` (from 0) of a trace.
    pub(crate) fn opportunity(&self, number: u64) -> Option<Instant> {
        let Self::Trace(at_ms) = self else { return None };
        let count = at_ms.len() as u64;
        let index = usize::try_from(number.checked_rem(count)?).ok()?;
        let period = Duration::from_millis(u64::from(*at_ms.last()?));
        let within = Duration::from_millis(u64::from(*at_ms.get(index)?));
        Some(Instant::ZERO + period.saturating_mul(number / count) + within)
    }

    /// Returns the number of the first opportunity of a trace at or after `now`.
    pub(crate) fn first_opportunity(&self, now: Instant) -> u64 {
        let Self::Trace(at_ms) = self else { return 0 };
        let now_ms = now.as_nanos().div_ceil(1_000_000);
        let period_ms = u64::from(at_ms.last().copied().unwrap_or(1).max(1));
        // An opportunity at the end of a period belongs to that period, not to the next.
        let (cycle, within) =
            if now_ms == 0 { (0, 0) } else { ((now_ms - 1) / period_ms, (now_ms - 1) % period_ms + 1) };
        cycle * at_ms.len() as u64 + at_ms.partition_point(|&at| u64::from(at) < within) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: u64) -> Instant {
        Instant::from_nanos(at * 1_000_000)
    }

    #[test]
    fn a_schedule_holds_each_rate_until_the_next() {
        let steps = [(ms(10), Rate::from_bps(1)), (ms(20), Rate::from_bps(0))];
        let schedule = Capacity::Schedule(steps.to_vec());
        assert_eq!(schedule.rate_at(ms(0)), Some((Rate::from_bps(1), Some(ms(10)))));
        assert_eq!(schedule.rate_at(ms(19)), Some((Rate::from_bps(1), Some(ms(20)))));
        assert_eq!(schedule.rate_at(ms(20)), Some((Rate::from_bps(0), None)));
        assert_eq!(Capacity::Schedule(Vec::new()).rate_at(ms(1)), Some((Rate::from_bps(0), None)));
    }

    #[test]
    fn the_most_that_is_sent_within_a_span_is_that_of_its_best_moment() {
        let span = Duration::from_millis(300);
        let gigabit = Rate::from_bps(1_000_000_000);
        assert_eq!(Capacity::Unlimited.most_within(span), None);
        assert_eq!(Capacity::Constant(gigabit).most_within(span), Some(37_500_000));
        let schedule = Capacity::Schedule(vec![(ms(0), Rate::from_bps(8_000)), (ms(9), gigabit)]);
        assert_eq!(schedule.most_within(span), Some(37_500_000));
        let trace = Capacity::Trace(vec![1, 50, 51, 52, 100]);
        for (milliseconds, opportunities) in [(0, 1), (1, 2), (2, 3), (100, 6), (202, 13)] {
            let most = trace.most_within(Duration::from_millis(milliseconds));
            assert_eq!(most, Some(opportunities * u64::from(OPPORTUNITY_BYTES)), "{milliseconds} ms");
        }
    }

    #[test]
    fn a_trace_repeats_with_its_last_millisecond_as_the_period() {
        let trace = Capacity::Trace(vec![0, 5, 5, 10]);
        let times: Vec<_> = (0..8).filter_map(|number| trace.opportunity(number)).collect();
        assert_eq!(times, [0, 5, 5, 10, 10, 15, 15, 20].map(ms));
        for (now, first) in [(0, 0), (1, 1), (5, 1), (6, 3), (10, 3), (11, 5), (20, 7)] {
            assert_eq!(trace.first_opportunity(ms(now)), first, "{now} ms");
        }
    }
}
