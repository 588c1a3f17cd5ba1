//! The transmission clock of a link that has a rate.

use goodqueue::{Duration, Instant, Rate};

use goodqueue_link::capacity::UNLIMITED;
use goodqueue_link::work::{Progress, Work};

/// The transmission clock of a link that has a rate.
#[derive(Debug)]
pub(crate) struct Wire {
    rate: Rate,
    /// End of the last packet.
    ended: Instant,
    /// Work by which the last packet ends later than `ended`, so that back-to-back packets together
    /// take exactly the time of their bits.
    carry: u64,
    /// Work that the link could have sent until `settled`.
    capacity: Work,
    /// Time up to which `capacity` is complete.
    settled: Instant,
    /// Rate of the packet that ends at `settled`, if that is in the future.
    kept: Rate,
}

impl Wire {
    /// Returns the idle clock of a link of `rate`.
    pub(crate) const fn new(rate: Rate) -> Self {
        Self {
            rate,
            ended: Instant::ZERO,
            carry: 0,
            capacity: Work::ZERO,
            settled: Instant::ZERO,
            kept: rate,
        }
    }

    /// Returns the rate of the next packet.
    #[inline]
    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns the end of the last packet.
    #[inline]
    pub(crate) const fn ended(&self) -> Instant {
        self.ended
    }

    /// Returns the end of a packet whose transmission begins now. A 64-byte packet at 400 Gbit/s
    /// takes 1.28 ns; the fraction is carried over to the next packet if it follows without a gap.
    #[inline]
    pub(crate) fn end_of(&mut self, now: Instant, bytes: u32) -> Instant {
        if self.rate == UNLIMITED {
            return now;
        }
        let before = if self.ended == now { self.carry } else { 0 };
        let rate = self.rate.as_bps();
        let work = u64::from(bytes).checked_mul(BYTE).and_then(|work| work.checked_add(before));
        let nanos = if let Some(work) = work {
            self.carry = work % rate;
            work / rate
        } else {
            self.nanos_of_much(bytes, before)
        };
        self.ended = now + Duration::from_nanos(nanos);
        self.ended
    }

    /// Returns the nanoseconds of a packet, and sets the carry, where the work does not fit in 64
    /// bits.
    // Out of line, because the wide division takes several times as long, and packets hardly ever
    // need it.
    #[cold]
    fn nanos_of_much(&mut self, bytes: u32, before: u64) -> u64 {
        let rate = u128::from(self.rate.as_bps());
        let work = u128::from(bytes) * u128::from(BYTE) + u128::from(before);
        // The remainder is below the rate, so that it fits. An end beyond the clock is its last
        // instant.
        self.carry = u64::try_from(work % rate).unwrap_or(0);
        u64::try_from(work / rate).unwrap_or(u64::MAX)
    }

    /// Sets the rate from now on. The packet in transmission keeps the old rate.
    pub(crate) fn change_rate(&mut self, now: Instant, rate: Rate) {
        let until = self.ended.max(now);
        // After two changes during one packet the time until its end is counted already.
        if until > self.settled {
            self.capacity = self.capacity.plus(Work::at(self.rate, until.since(self.settled)));
            (self.settled, self.kept) = (until, self.rate);
        }
        if self.ended >= now {
            // A fraction of a nanosecond is not carried over to another rate. The link sends these
            // bits in addition.
            self.capacity = self.capacity.plus(Work::of_units(self.carry));
        }
        (self.rate, self.carry) = (rate, 0);
    }

    /// Returns the state of the link's work at `now`.
    pub(crate) fn progress(&self, now: Instant) -> Progress {
        // The packet that outlives a change is in transmission, and its time was counted in
        // advance.
        let keeps = self.settled > now;
        let capacity = if keeps {
            self.capacity.minus(Work::at(self.kept, self.settled.since(now)))
        } else {
            self.capacity.plus(Work::at(self.rate, now.since(self.settled)))
        };
        let unsent = if self.ended < now {
            Work::ZERO
        } else {
            let rate = if keeps { self.kept } else { self.rate };
            Work::at(rate, self.ended.since(now)).plus(Work::of_units(self.carry))
        };
        Progress { unsent, capacity }
    }
}

/// Work of a byte in billionths of a bit: divided by the rate, it gives nanoseconds.
const BYTE: u64 = 8_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const MBIT: Rate = Rate::from_bps(1_000_000);

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    /// Returns the bits sent, and the bits that could have been sent, until `micros` after `begun`
    /// bytes.
    fn seen(wire: &Wire, micros: u64, begun: u64) -> (f64, f64) {
        let Progress { unsent, capacity } = wire.progress(at(micros));
        (Work::of_bytes(begun).minus(unsent).bits(), capacity.bits())
    }

    #[test]
    fn a_packet_is_sent_bit_by_bit() {
        let mut wire = Wire::new(MBIT);
        // 1000 bits at 1 Mbit/s.
        assert_eq!(wire.end_of(at(1000), 125), at(2000));
        assert_eq!(seen(&wire, 1000, 125), (0.0, 1000.0));
        assert_eq!(seen(&wire, 1250, 125), (250.0, 1250.0));
        assert_eq!(seen(&wire, 2000, 125), (1000.0, 2000.0));
        assert_eq!(seen(&wire, 3000, 125), (1000.0, 3000.0));
    }

    #[test]
    fn a_packet_that_outlives_changes_of_rate_takes_its_own_rate_with_it() {
        let mut wire = Wire::new(MBIT);
        assert_eq!(wire.end_of(at(0), 125), at(1000));
        wire.change_rate(at(400), Rate::from_bps(0));
        assert_eq!(seen(&wire, 500, 125), (500.0, 500.0));
        wire.change_rate(at(600), Rate::from_bps(2_000_000));
        assert_eq!(seen(&wire, 700, 125), (700.0, 700.0));
        // 1 ms at 1 Mbit/s, and 1 ms at 2 Mbit/s.
        assert_eq!(seen(&wire, 2000, 125), (1000.0, 3000.0));
        assert_eq!(wire.end_of(at(2000), 250), at(3000));
        assert_eq!(seen(&wire, 2500, 375), (2000.0, 4000.0));
        wire.change_rate(at(5000), Rate::from_bps(0));
        assert_eq!(seen(&wire, 9000, 375), (3000.0, 9000.0));
    }

    #[test]
    fn packets_of_any_length_end_after_the_time_of_their_bits() {
        // 2^32 - 1 bytes are more work than 64 bits hold. At the second rate the carry alone is
        // almost 2^64.
        for rate in [3_000_000_007, u64::MAX - 1] {
            let mut wire = Wire::new(Rate::from_bps(rate));
            let mut now = Instant::ZERO;
            let mut work = 0;
            for bytes in [u32::MAX, 2_305_843_010, 64, u32::MAX, 1500, u32::MAX] {
                now = wire.end_of(now, bytes);
                work += u128::from(bytes) * 8_000_000_000;
                assert_eq!(u128::from(now.as_nanos()), work / u128::from(rate), "{bytes} bytes at {rate}");
            }
        }
        let mut wire = Wire::new(Rate::from_bps(1));
        // The clock ends after 584 years.
        assert_eq!(wire.end_of(at(0), u32::MAX), Instant::MAX, "1089 years");
    }

    #[test]
    fn packets_shorter_than_a_nanosecond_are_never_ahead_of_their_rate() {
        let mut wire = Wire::new(Rate::from_bps(400_000_000_000));
        let mut now = Instant::ZERO;
        let mut bytes = 0;
        while now < Instant::from_nanos(1280) {
            now = wire.end_of(now, 64);
            bytes += 64;
            let Progress { unsent, capacity } = wire.progress(now);
            assert!(Work::of_bytes(bytes).minus(unsent) <= capacity, "at {now:?}");
        }
        let other = Rate::from_bps(3_000_000_007);
        wire.change_rate(now, other);
        now = wire.end_of(now, 64);
        let Progress { unsent, capacity } = wire.progress(now);
        assert!(Work::of_bytes(bytes + 64).minus(unsent) <= capacity);
    }
}
