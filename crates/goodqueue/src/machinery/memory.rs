//! The memory that queued packets take, as Linux's limits count it (`skb->truesize`): that of their
//! buffers and descriptions, not that of their bytes alone.
//!
//! Linux allocates a packet of its own host with the shared description of its fragments (320
//! bytes) and room in front (64), rounded up to a power of two, and 256 bytes for the description
//! of the packet: 2,304 bytes for a full frame (`SKB_TRUESIZE`, `kmalloc_reserve`; so the
//! recordings have it). A packet of 90 bytes takes 768 bytes in Linux 6.1, and 896 since Linux 6.3,
//! which has a cache of buffers of 640 bytes (`skb_small_head_cache`). A network card's driver
//! often gives every packet a buffer of the same size.

use crate::config::{ConfigError, Declaration, Parameter, Settings};
use crate::packet::Packet;

/// Rule for the memory of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Buffers {
    /// Its length.
    Bare,
    /// The memory that the packet reports, or else the size that the allocator of Linux 7.3 gives
    /// it.
    Allocated,
    /// The same, of Linux 6.1.
    Allocated61,
    /// This number of bytes, or the length of a longer packet.
    OfDriver(u32),
}

/// The parameter that chooses the rule. Its default is an argument of [`Buffers::from_settings`].
pub(crate) const TRUESIZE: Parameter = Declaration::bytes("truesize")
    .derived("linux: as Linux allocates; others: the packet's length")
    .range(1..=1_073_741_824)
    .source("Linux skb->truesize")
    .meaning(
        "memory that each packet is charged, at least its length; 2304 for many network drivers, 1 to charge lengths",
    );

impl Buffers {
    /// Returns the rule of `truesize`, or `default` if it is not set.
    pub(crate) fn from_settings(settings: &Settings, default: Self) -> Result<Self, ConfigError> {
        Ok(TRUESIZE.given(settings)?.map_or(default, Self::OfDriver))
    }

    /// Adds the rule to `settings`.
    pub(crate) fn add_to(self, settings: Settings) -> Settings {
        match self {
            Self::OfDriver(bytes) => settings.and(&TRUESIZE, bytes),
            Self::Bare | Self::Allocated | Self::Allocated61 => settings,
        }
    }

    /// Returns the memory of `packet`, whose length is `bytes`.
    #[inline]
    pub(crate) fn memory_of<P: Packet>(self, packet: &P, bytes: u32) -> u64 {
        match self {
            Self::Bare => u64::from(bytes),
            Self::Allocated => packet.truesize().map_or_else(|| allocated(bytes), u64::from),
            Self::Allocated61 => packet.truesize().map_or_else(|| allocated_in_61(bytes), u64::from),
            Self::OfDriver(buffer) => u64::from(bytes.max(buffer)),
        }
    }
}

/// Returns the size that the allocator of Linux 7.3 gives a packet of `bytes`.
#[inline]
fn allocated(bytes: u32) -> u64 {
    if bytes <= SMALL { SMALL_HEAD + DESCRIPTION } else { allocated_in_61(bytes) }
}

/// Returns the size that the allocator of Linux 6.1 gives a packet of `bytes`.
#[inline]
fn allocated_in_61(bytes: u32) -> u64 {
    // From 256 bytes on, the sizes of Linux's allocator are the powers of two.
    (u64::from(bytes) + ROOM_AND_SHARED).next_power_of_two().max(LEAST_DATA) + DESCRIPTION
}

/// `NET_SKB_PAD` and `struct skb_shared_info`.
const ROOM_AND_SHARED: u64 = 64 + 320;
/// The smallest allocation that holds these.
const LEAST_DATA: u64 = 512;
/// A buffer of `skb_small_head_cache`, and the bytes of the longest packet that fits into it.
const SMALL_HEAD: u64 = 640;
// 640 less `ROOM_AND_SHARED`.
const SMALL: u32 = 256;
/// `struct sk_buff`, aligned to lines of the cache.
const DESCRIPTION: u64 = 256;

/// Memory of all queued packets.
///
/// A packet is charged when it enters. The storage keeps the charge, so that the rule is applied
/// once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    buffers: Buffers,
    used: u64,
}

impl Memory {
    pub(crate) const fn new(buffers: Buffers) -> Self {
        Self { buffers, used: 0 }
    }

    /// Returns the rule.
    #[inline]
    pub(crate) const fn buffers(&self) -> Buffers {
        self.buffers
    }

    #[inline]
    pub(crate) const fn enters(&mut self, charge: u64) {
        self.used = self.used.wrapping_add(charge);
    }

    #[inline]
    pub(crate) const fn leaves(&mut self, charge: u64) {
        self.used = self.used.wrapping_sub(charge);
    }

    /// Returns the memory that the queued packets use.
    #[inline]
    pub(crate) const fn used(&self) -> u64 {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;

    /// A packet of a length, and the memory that it reports.
    struct Frame(u32, Option<u32>);

    impl Packet for Frame {
        fn len(&self) -> u32 {
            self.0
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn set_ce(&mut self) -> bool {
            false
        }
        fn truesize(&self) -> Option<u32> {
            self.1
        }
    }

    fn charge(rule: Buffers, packet: &Frame) -> u64 {
        rule.memory_of(packet, packet.len())
    }

    #[test]
    fn packets_take_what_the_recordings_of_linux_show() {
        let sizes =
            [(90, 768), (200, 1280), (300, 1280), (590, 1280), (700, 2304), (1000, 2304), (1514, 2304)];
        let silent = |bytes| Frame(bytes, None);
        for (bytes, memory) in sizes {
            assert_eq!(charge(Buffers::Allocated61, &silent(bytes)), memory, "{bytes}");
            let now = if bytes <= 200 { 896 } else { memory };
            assert_eq!(charge(Buffers::Allocated, &silent(bytes)), now, "{bytes}");
            assert_eq!(charge(Buffers::Bare, &silent(bytes)), u64::from(bytes));
        }
        // The room in front and the shared description exceed the next power of two, 2^32.
        assert_eq!(charge(Buffers::Allocated, &silent(u32::MAX)), (1 << 33) + 256);
        assert_eq!(
            [60, 1514, 9014].map(|bytes| charge(Buffers::OfDriver(2304), &silent(bytes))),
            [2304, 2304, 9014]
        );
    }

    #[test]
    fn what_a_packet_says_of_its_memory_counts_unless_a_setting_or_the_variant_has_another_rule() {
        let pure_ack = Frame(66, Some(2));
        let rules = [Buffers::Allocated, Buffers::Allocated61, Buffers::OfDriver(2304), Buffers::Bare];
        assert_eq!(rules.map(|rule| charge(rule, &pure_ack)), [2, 2, 2304, 66]);
    }
}
