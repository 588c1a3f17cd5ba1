//! The request-grant delay of a DOCSIS upstream: a cable modem sends only the bytes that the other
//! end of its line, the CMTS, has granted (DOCSIS 3.1, CM-SP-MULPIv3.1).
//!
//! Time is divided into MAP intervals. At the beginning of each interval the modem first uses its
//! grant, and then requests the bytes that still wait and that it has not requested yet. It sends
//! the request with the data of its grant (piggyback), or alone if it has no grant. The CMTS grants
//! the requested bytes in the first interval that begins a request-grant delay later.
//!
//! ```text
//! interval   0          1          2          3          4
//!            |----------|----------|----------|----------|---
//! packet          x     ^ request             ^ grant
//!                 `waits`--- request-grant ---`
//! ```
//!
//! A grant is never longer than the bytes of the link's rate in one interval, so a link with a
//! backlog keeps its rate, and its packets leave in one burst per interval. A packet may be sent in
//! parts by several grants. The unused part of a grant is lost.
//!
//! With a proactive rate (Proactive Grant Service of Low Latency DOCSIS) each interval has a grant
//! of at least the bytes of that rate, without any request.
//!
//! The types here are values without a clock and without packets: the caller passes the number of
//! the interval and the bytes that wait.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use goodqueue::config::ConfigError;
use goodqueue::{Duration, Instant, Rate};

/// The requests and grants of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grants {
    interval: Duration,
    delay: Duration,
    proactive: Option<Rate>,
}

impl Grants {
    /// Possible MAP intervals. The shortest one leaves room below 135 µs, which is the time of a
    /// frame in CableLabs' module for ns-3.
    pub const INTERVALS: RangeInclusive<Duration> = Duration::from_micros(100)..=Duration::from_secs(1);

    /// Possible request-grant delays.
    pub const DELAYS: RangeInclusive<Duration> = Duration::from_nanos(1)..=Duration::from_secs(1);

    /// MAP interval by default: 15 frames of 135 µs.
    ///
    /// CableLabs' module for ns-3 rounds 2 ms to whole frames and gets this interval. It divides
    /// none of the usual times between packets (20 ms, 200 ms), so packets of regular senders have
    /// all places in the interval.
    pub const DEFAULT_INTERVAL: Duration = Duration::from_micros(2025);

    /// Request-grant delay by default: 4 ms, which is rounded up to two MAP intervals.
    ///
    /// CableLabs' module for ns-3 derives the shortest delay from the times of encoding,
    /// propagation and scheduling: 12 frames of 135 µs, or 1.62 ms, with its defaults. Its requests
    /// and grants have random places in their intervals, so that the mean is 3.6 ms, computed from
    /// these rules. Here both are at the beginning.
    pub const DEFAULT_DELAY: Duration = Duration::from_millis(4);

    /// Returns grants in MAP intervals of this length. `delay` is the shortest time from a request
    /// to the interval of its grant; `proactive` is the rate granted without requests.
    ///
    /// # Errors
    /// A time out of range, or a proactive rate of 0.
    pub fn new(interval: Duration, delay: Duration, proactive: Option<Rate>) -> Result<Self, ConfigError> {
        let within = |name, given: Duration, range: &RangeInclusive<Duration>| {
            let allowed = || format!("{} to {}", range.start(), range.end());
            range
                .contains(&given)
                .then_some(())
                .ok_or_else(|| ConfigError::new(name, given.to_string(), allowed()))
        };
        within("interval", interval, &Self::INTERVALS)?;
        within("delay", delay, &Self::DELAYS)?;
        if proactive.is_some_and(|rate| rate.as_bps() == 0) {
            return Err(ConfigError::new("proactive", "0bit", "a rate above 0"));
        }
        Ok(Self { interval, delay, proactive })
    }

    /// Returns the MAP interval.
    #[must_use]
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// Returns the request-grant delay.
    #[must_use]
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// Returns the rate that is granted without requests; `None`: nothing is.
    #[must_use]
    pub const fn proactive(&self) -> Option<Rate> {
        self.proactive
    }

    /// Returns the number of the first interval that begins at `now` or later.
    pub(crate) fn first_not_before(&self, now: Instant) -> u64 {
        // An interval of 0 must not divide.
        now.as_nanos().div_ceil(self.interval.as_nanos().max(1))
    }

    /// Returns the beginning of interval `number`, counted from 0.
    pub(crate) fn start_of(&self, number: u64) -> Instant {
        Instant::ZERO + self.interval.saturating_mul(number)
    }

    /// Returns the number of intervals from a request to its grant.
    fn answered_after(&self) -> u64 {
        // A grant is at the beginning of an interval, so a delay is rounded up to whole intervals.
        self.delay.as_nanos().div_ceil(self.interval.as_nanos().max(1))
    }

    /// Returns the bytes of `rate` in interval `number`, of intervals counted from any origin. The
    /// intervals since the origin together have the bytes of the rate, rounded down.
    fn bytes_of(&self, rate: Rate, number: u64) -> u64 {
        let work = u128::from(rate.as_bps()) * u128::from(self.interval.as_nanos());
        let whole = u64::try_from(work / BYTE).unwrap_or(u64::MAX);
        let rest = work % BYTE;
        let until = |count: u64| rest * u128::from(count) / BYTE;
        // The difference of two multiples of a part of a byte is 0 or 1.
        whole.saturating_add(u64::from(until(number.saturating_add(1)) > until(number)))
    }
}

/// The work of a byte: that of 1 bit/s in 8 · 10⁹ ns.
const BYTE: u128 = 8_000_000_000;

/// The requests of a modem and the memory of its CMTS.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    grants: Grants,
    rate: Rate,
    /// First interval with this rate.
    since: u64,
    /// Requests whose answer is not due yet: number of the first interval that may answer, and
    /// bytes.
    // In order, because all requests have the same delay.
    on_the_way: VecDeque<(u64, u64)>,
    /// Bytes that the next grant may answer.
    due: u64,
    /// Bytes requested and not granted: those of `on_the_way` and `due`.
    outstanding: u64,
}

impl Requests {
    pub(crate) const fn new(grants: Grants, rate: Rate) -> Self {
        Self { grants, rate, since: 0, on_the_way: VecDeque::new(), due: 0, outstanding: 0 }
    }

    pub(crate) const fn grants(&self) -> &Grants {
        &self.grants
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    /// Sets the rate of the intervals that begin at `now` or later.
    pub(crate) fn change_rate(&mut self, now: Instant, rate: Rate) {
        self.since = self.grants.first_not_before(now);
        self.rate = rate;
    }

    /// Returns true if the modem has requested bytes that are not granted.
    pub(crate) const fn are_outstanding(&self) -> bool {
        self.outstanding > 0
    }

    /// Returns the bytes that the modem may send in interval `number`. Each interval is asked for
    /// at most once, in their order.
    pub(crate) fn grant(&mut self, number: u64) -> u64 {
        while let Some(&(answered, bytes)) = self.on_the_way.front()
            && answered <= number
        {
            self.on_the_way.pop_front();
            self.due += bytes;
        }
        // A new rate counts its bytes from its own first interval. The proactive rate never
        // changes, so it counts from the start.
        let most = self.grants.bytes_of(self.rate, number.saturating_sub(self.since));
        let proactive = self.grants.proactive.map_or(0, |rate| self.grants.bytes_of(rate, number));
        // Proactive grants are a part of the rate, and answer requests like any other grant.
        let granted = self.due.max(proactive).min(most);
        let answered = self.due.min(granted);
        self.due -= answered;
        self.outstanding -= answered;
        granted
    }

    /// Sends a request in interval `number` for those of the `waiting` bytes that no request
    /// covers. A modem cannot take a request back.
    pub(crate) fn request(&mut self, number: u64, waiting: u64) {
        // More than the waiting bytes can be outstanding: proactive grants and drops take packets
        // away that were requested.
        let bytes = waiting.saturating_sub(self.outstanding);
        if bytes > 0 {
            self.on_the_way.push_back((number.saturating_add(self.grants.answered_after()), bytes));
            self.outstanding += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBIT: Rate = Rate::from_bps(1_000_000);

    /// MAP interval, of 250 bytes at 1 Mbit/s.
    const INTERVAL: Duration = Duration::from_millis(2);

    fn grants(proactive: Option<Rate>) -> Grants {
        Grants::new(INTERVAL, Duration::from_millis(4), proactive).expect("valid")
    }

    /// Asks for the grants of `count` intervals from `first` on.
    fn granted(requests: &mut Requests, first: u64, count: u64) -> Vec<u64> {
        (first..first + count).map(|number| requests.grant(number)).collect()
    }

    #[test]
    fn a_request_is_granted_after_the_delay_and_at_the_rate() {
        let mut requests = Requests::new(grants(None), MBIT);
        assert_eq!(requests.grant(7), 0, "nobody has asked");
        requests.request(7, 600);
        // The delay of 4 ms is two intervals, so the first grant is in interval 9.
        assert_eq!(granted(&mut requests, 8, 5), [0, 250, 250, 100, 0]);
        assert!(!requests.are_outstanding());
    }

    #[test]
    fn a_delay_between_two_intervals_waits_for_the_later_one() {
        let delays = [(1, 1), (2_000_000, 1), (2_000_001, 2), (4_000_000, 2), (4_000_001, 3)];
        for (nanos, intervals) in delays {
            let delay = Duration::from_nanos(nanos);
            let mut requests = Requests::new(Grants::new(INTERVAL, delay, None).expect("valid"), MBIT);
            requests.request(10, 100);
            let first = (11..20).find(|&number| requests.grant(number) > 0);
            assert_eq!(first, Some(10 + intervals), "{delay}");
        }
    }

    #[test]
    fn bytes_that_are_requested_already_are_not_requested_again() {
        let mut requests = Requests::new(grants(None), MBIT);
        requests.request(0, 100);
        requests.request(1, 100);
        requests.request(1, 130);
        // Of the 130 bytes, 100 were requested before.
        assert_eq!(granted(&mut requests, 2, 3), [100, 30, 0]);
    }

    #[test]
    fn proactive_grants_need_no_request_and_are_a_part_of_the_rate() {
        let half = Rate::from_bps(500_000);
        let mut requests = Requests::new(grants(Some(half)), MBIT);
        assert_eq!(granted(&mut requests, 0, 3), [125, 125, 125]);
        requests.request(2, 400);
        // The request of interval 2 is due in interval 4, which has 250 bytes. The next one has the
        // other 150.
        assert_eq!(granted(&mut requests, 3, 4), [125, 250, 150, 125]);
        let mut slow = Requests::new(grants(Some(MBIT)), half);
        assert_eq!(granted(&mut slow, 0, 2), [125, 125], "never more than the rate");
    }

    #[test]
    fn parts_of_a_byte_are_not_lost() {
        let mut requests = Requests::new(grants(None), Rate::from_bps(1_000));
        requests.request(0, 1_000);
        // A quarter of a byte per interval.
        let bytes: u64 = granted(&mut requests, 2, 4_000).iter().sum();
        assert_eq!(bytes, 1_000);
        assert!(!requests.are_outstanding());
    }

    #[test]
    fn a_new_rate_counts_its_bytes_from_its_first_interval() {
        let mut requests = Requests::new(grants(None), Rate::from_bps(1_000));
        requests.request(0, 10_000);
        // With a quarter of a byte per interval, interval 3 completes the first byte.
        assert_eq!(granted(&mut requests, 2, 3), [0, 1, 0]);
        // The change is within interval 5. Three quarters of a byte are lost with the old rate.
        requests.change_rate(Instant::from_nanos(11_000_000), Rate::from_bps(3_000));
        assert_eq!(granted(&mut requests, 6, 4), [0, 1, 1, 1]);
    }

    #[test]
    fn times_out_of_range_and_a_rate_of_nothing_are_refused() {
        let refused = |interval, delay, proactive| {
            let error = Grants::new(interval, delay, proactive).expect_err("out of range");
            error.to_string()
        };
        let usual = Duration::from_millis(2);
        let long = Duration::from_millis(1001);
        let cases = [
            (refused(Duration::from_micros(99), usual, None), "`interval 99us`"),
            (refused(long, usual, None), "`interval 1001ms`"),
            (refused(usual, Duration::ZERO, None), "`delay 0s`"),
            (refused(usual, long, None), "`delay 1001ms`"),
            (refused(usual, usual, Some(Rate::from_bps(0))), "`proactive 0bit`"),
        ];
        for (said, expected) in cases {
            assert!(said.contains(expected), "{said}");
        }
    }
}
