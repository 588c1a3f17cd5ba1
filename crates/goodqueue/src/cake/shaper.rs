//! Lengths of packets on the link, and the time that they take there.

use super::config::{CakeConfig, Cells};
use crate::time::{Duration, Instant};

/// A rate, and the time of the next packet at that rate; for a tin, the time by which it should
/// have been served.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Shaper {
    pub(super) pace: Pace,
    pub(super) time_next: Instant,
    /// As `time_next`, but at two thirds of the rate. It releases packets that the tins have
    /// delayed for too long.
    failsafe_next: Instant,
}

impl Shaper {
    /// True if there is a rate to keep.
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.pace.scaled > 0
    }

    /// Returns the time of the next packet, if that is later than `now`. As in Linux, a time set by
    /// a former rate still counts.
    #[inline]
    pub(super) fn held_until(&self, now: Instant) -> Option<Instant> {
        let next = self.time_next.min(self.failsafe_next);
        (next > now).then_some(next)
    }

    /// Starts again after idle time. Returns true if the arriving packet must wait nevertheless.
    pub(super) fn wakes(&mut self, now: Instant) -> bool {
        if self.time_next < now {
            (self.time_next, self.failsafe_next) = (now, now);
            return false;
        }
        self.time_next > now && self.failsafe_next > now
    }

    /// Charges a packet that takes `bytes` on the link. `dropped`: it is charged although it was
    /// dropped. `tin` is the shaper of its tin.
    #[inline]
    pub(super) fn charge(&mut self, tin: &mut Self, now: Instant, bytes: u32, dropped: bool) {
        if self.is_on() {
            self.advance(tin, now, bytes, dropped);
        }
    }

    fn advance(&mut self, tin: &mut Self, now: Instant, bytes: u32, dropped: bool) {
        let whole = self.pace.time(bytes);
        let own = tin.pace.time(bytes);
        // Linux `cake_advance_shaper()`: a tin that is behind may catch up, and one that is ahead
        // by more than this packet is not charged.
        if tin.time_next < now {
            tin.time_next += own;
        } else if tin.time_next < now + own {
            tin.time_next = now + own;
        }
        self.time_next += whole;
        if !dropped {
            // As in Linux `cake_advance_shaper()`: however much is dropped and charged, a packet is
            // sent per one and a half of its times.
            self.failsafe_next = self.failsafe_next + whole + Duration::from_nanos(whole.as_nanos() >> 1);
        }
    }
}

/// Nanoseconds per byte: `len * scaled >> shift`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Pace {
    scaled: u64,
    shift: u32,
}

impl Pace {
    /// `rate` in bytes per second, taken as 64 at least so that a link never stops for good; 0: no
    /// pace.
    pub(super) fn from_rate(rate: u64) -> Self {
        if rate == 0 {
            return Self::default();
        }
        // Linux `cake_set_rate()`: as many places as leave the factor below 2^34.
        let mut shift = 34;
        let mut scaled = (NANOS_PER_SECOND << shift) / rate.max(64);
        while scaled >> 34 > 0 {
            scaled >>= 1;
            shift -= 1;
        }
        Self { scaled, shift }
    }

    pub(super) fn time(self, bytes: u32) -> Duration {
        let nanos = (u128::from(bytes) * u128::from(self.scaled)) >> self.shift;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl CakeConfig {
    /// Returns the network length of a packet of `bytes` with Ethernet header.
    pub(super) const fn on_the_network(&self, bytes: u32) -> u32 {
        if self.raw { bytes } else { bytes.saturating_sub(ETHERNET_HEADER) }
    }

    /// Returns true if the link adds nothing to packets, except one byte to a packet of no bytes.
    pub(super) fn is_plain(&self) -> bool {
        self.raw && self.overhead == 0 && self.cells == Cells::None && self.mpu <= 1
    }

    /// Returns true if `other` gives every packet the same length on the link.
    pub(super) fn measures_as(&self, other: &Self) -> bool {
        let terms = |of: &Self| (of.raw, of.overhead, of.cells, of.mpu);
        terms(self) == terms(other)
    }

    // Without overhead and cells the length on the link is the packet's own, and nobody asks.
    /// Returns the length on the link of a packet of `bytes` with Ethernet header.
    #[inline(never)]
    pub(super) fn on_the_link(&self, bytes: u32) -> u32 {
        let bytes = self.on_the_network(bytes).saturating_add_signed(self.overhead);
        // At least one byte: Linux counts below 0 with a large negative overhead, and a packet
        // would cost nothing.
        let bytes = bytes.max(self.mpu).max(1);
        match self.cells {
            Cells::None => bytes,
            Cells::Atm => bytes.div_ceil(48).saturating_mul(53),
            // The 64/65-octet code of PTM adds a byte for each 64 that begin.
            Cells::Ptm => bytes.saturating_add(bytes.div_ceil(64)),
        }
    }
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// What Linux subtracts where an overhead is given: the header of Ethernet.
pub(super) const ETHERNET_HEADER: u32 = 14;
