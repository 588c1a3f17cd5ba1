//! What packets take on the link, and how long that lasts.

use super::config::{CakeConfig, Cells};
use crate::time::{Duration, Instant};

/// A rate, and when it lets the next packet go; for a tin, by when it is to have been served.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Shaper {
    pub(super) pace: Pace,
    pub(super) time_next: Instant,
    /// As `time_next`, but at two thirds of the rate: it lets go what the tins have delayed for too
    /// long.
    failsafe_next: Instant,
}

impl Shaper {
    /// True if there is a rate to keep.
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.pace.scaled > 0
    }

    /// When the next packet may go, if that is later than `now`: also after a rate that is no more,
    /// as in Linux.
    #[inline]
    pub(super) fn held_until(&self, now: Instant) -> Option<Instant> {
        let next = self.time_next.min(self.failsafe_next);
        (next > now).then_some(next)
    }

    /// A packet comes after a time without any; true if it will have to wait all the same.
    pub(super) fn wakes(&mut self, now: Instant) -> bool {
        if self.time_next < now {
            (self.time_next, self.failsafe_next) = (now, now);
            return false;
        }
        self.time_next > now && self.failsafe_next > now
    }

    /// A packet of so many `bytes` on the link goes, or is dropped but to be paid for; `tin` is
    /// that of its tin.
    #[inline]
    pub(super) fn charge(&mut self, tin: &mut Self, now: Instant, bytes: u32, dropped: bool) {
        if self.is_on() {
            self.advance(tin, now, bytes, dropped);
        }
    }

    fn advance(&mut self, tin: &mut Self, now: Instant, bytes: u32, dropped: bool) {
        let (whole, own) = (self.pace.time(bytes), tin.pace.time(bytes));
        if tin.time_next < now {
            tin.time_next += own;
        } else if tin.time_next < now + own {
            tin.time_next = now + own;
        }
        self.time_next += whole;
        if !dropped {
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
    pub(super) fn of(rate: u64) -> Self {
        if rate == 0 {
            return Self::default();
        }
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
    /// What a packet of `bytes`, Ethernet header included, has without what the link adds.
    pub(super) const fn on_the_network(&self, bytes: u32) -> u32 {
        if self.raw { bytes } else { bytes.saturating_sub(ETHERNET_HEADER) }
    }

    /// True if a packet takes on the link what it has, but one of no bytes takes one.
    pub(super) fn is_plain(&self) -> bool {
        self.raw && self.overhead == 0 && self.cells == Cells::None && self.mpu <= 1
    }

    /// True if `other` gives every packet the same length on the link.
    pub(super) fn measures_as(&self, other: &Self) -> bool {
        let terms = |of: &Self| (of.raw, of.overhead, of.cells, of.mpu);
        terms(self) == terms(other)
    }

    /// What a packet of `bytes`, Ethernet header included, takes on the link.
    #[inline(never)]
    pub(super) fn on_the_link(&self, bytes: u32) -> u32 {
        let bytes = self.on_the_network(bytes).saturating_add_signed(self.overhead);
        let bytes = bytes.max(self.mpu).max(1);
        match self.cells {
            Cells::None => bytes,
            Cells::Atm => bytes.div_ceil(48).saturating_mul(53),
            Cells::Ptm => bytes.saturating_add(bytes.div_ceil(64)),
        }
    }
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// What Linux subtracts where an overhead is given: the header of Ethernet.
pub(super) const ETHERNET_HEADER: u32 = 14;
