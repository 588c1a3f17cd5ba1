//! The memory that queued packets take, as Linux's limits count it (`skb->truesize`): that of their
//! buffers and descriptions, not that of their bytes alone.
//!
//! Linux 6.1 allocates a packet of its own host with the shared description of its fragments (320
//! bytes) and room in front (64), rounded up to a power of two, and 256 bytes for the description
//! of the packet: 768 bytes for a packet of 90, 2,304 for a full frame (`SKB_TRUESIZE`,
//! `kmalloc_reserve`; so the recordings have it). A network card's driver often gives every packet
//! a buffer of the same size.

use crate::config::{ConfigError, Parameter, Settings, Unit, Value};
use crate::packet::Packet;

/// Length and memory of one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Length of the packet.
    pub(crate) bytes: u32,
    /// Memory that the packet itself reports.
    truesize: Option<u32>,
}

impl Size {
    /// Size of no packet.
    pub(crate) const NONE: Self = Self { bytes: 0, truesize: None };

    #[inline]
    pub(crate) fn of<P: Packet>(packet: &P) -> Self {
        Self { bytes: packet.len(), truesize: packet.truesize() }
    }
}

/// Rule for the memory of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Buffers {
    /// Its length.
    Bare,
    /// The memory that the packet reports, or else the size that the allocator of Linux 6.1 gives
    /// it.
    Allocated,
    /// This number of bytes, or the length of a longer packet.
    OfDriver(u32),
}

/// The parameter that chooses the rule. Its default is an argument of [`Buffers::from_settings`].
pub(crate) const TRUESIZE: Parameter = Parameter {
    name: "truesize",
    unit: Unit::Bytes,
    default: "linux: as Linux allocates; others: the packet's length",
    source: "Linux skb->truesize",
    range: "1 to 1073741824",
    doc: "memory that each packet is charged, at least its length; 2304 for many network drivers, 1 to charge lengths",
};

impl Buffers {
    /// Returns the rule of `truesize`, or `default` if it is not set.
    pub(crate) fn from_settings(settings: &Settings, default: Self) -> Result<Self, ConfigError> {
        let given = settings.number(TRUESIZE.name, 1, 1 << 30)?.and_then(|bytes| u32::try_from(bytes).ok());
        Ok(given.map_or(default, Self::OfDriver))
    }

    /// Adds the rule to `settings`.
    pub(crate) fn add_to(self, settings: Settings) -> Settings {
        match self {
            Self::OfDriver(bytes) => settings.with(TRUESIZE.name, Value::Bytes(u64::from(bytes))),
            Self::Bare | Self::Allocated => settings,
        }
    }

    /// Memory of a packet.
    #[inline]
    pub(crate) const fn of(self, size: Size) -> u64 {
        let own = size.bytes as u64;
        match self {
            Self::Bare => own,
            Self::Allocated => {
                if let Some(said) = size.truesize {
                    return said as u64;
                }
                let data = (own + ROOM_AND_SHARED).next_power_of_two();
                (if data < LEAST_DATA { LEAST_DATA } else { data }) + DESCRIPTION
            }
            Self::OfDriver(buffer) => {
                if own < buffer as u64 {
                    buffer as u64
                } else {
                    own
                }
            }
        }
    }
}

/// `NET_SKB_PAD` and `struct skb_shared_info`.
const ROOM_AND_SHARED: u64 = 64 + 320;
/// The smallest allocation that holds these.
const LEAST_DATA: u64 = 512;
/// `struct sk_buff`, aligned to lines of the cache.
const DESCRIPTION: u64 = 256;

/// Memory of all queued packets. It is counted only if it differs from the sum of their lengths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    buffers: Buffers,
    used: u64,
}

impl Memory {
    pub(crate) const fn new(buffers: Buffers) -> Self {
        Self { buffers, used: 0 }
    }

    pub(crate) const fn buffers(&self) -> Buffers {
        self.buffers
    }

    #[inline]
    pub(crate) fn enters(&mut self, size: Size) {
        if self.buffers != Buffers::Bare {
            self.used = self.used.wrapping_add(self.buffers.of(size));
        }
    }

    #[inline]
    pub(crate) fn leaves(&mut self, size: Size) {
        if self.buffers != Buffers::Bare {
            self.used = self.used.wrapping_sub(self.buffers.of(size));
        }
    }

    /// Returns the memory that the queued packets use, whose lengths add up to `bytes`.
    #[inline]
    pub(crate) fn used(&self, bytes: u64) -> u64 {
        if self.buffers == Buffers::Bare { bytes } else { self.used }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_take_what_the_recordings_of_linux_show() {
        let sizes =
            [(90, 768), (200, 1280), (300, 1280), (590, 1280), (700, 2304), (1000, 2304), (1514, 2304)];
        let silent = |bytes| Size { bytes, truesize: None };
        for (bytes, memory) in sizes {
            assert_eq!(Buffers::Allocated.of(silent(bytes)), memory, "{bytes}");
            assert_eq!(Buffers::Bare.of(silent(bytes)), u64::from(bytes));
        }
        assert_eq!(Buffers::Allocated.of(silent(u32::MAX)), (1 << 33) + 256);
        assert_eq!(
            [60, 1514, 9014].map(|bytes| Buffers::OfDriver(2304).of(silent(bytes))),
            [2304, 2304, 9014]
        );
    }

    #[test]
    fn what_a_packet_says_of_its_memory_counts_unless_a_setting_or_the_variant_has_another_rule() {
        let pure_ack = Size { bytes: 66, truesize: Some(2) };
        let rules = [Buffers::Allocated, Buffers::OfDriver(2304), Buffers::Bare];
        assert_eq!(rules.map(|rule| rule.of(pure_ack)), [2, 2304, 66]);
    }
}
