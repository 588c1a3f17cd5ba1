//! Bytes as operations on a link, and the packets of these operations.

use goodqueue::{Datagram, FlowKey, Instant};

/// A packet with its number.
pub(super) type Packet = Datagram<u64>;

/// Time of an event, number of its packet, and whether the packet arrived.
pub(super) type Fate = (Instant, u64, bool);

/// One of a few flows.
pub(super) fn flow(number: u64) -> FlowKey {
    let port = 1 + u16::try_from(number % 4).unwrap_or(0);
    // Addresses for documentation (RFC 5737).
    FlowKey::new(([192, 0, 2, 1], port).into(), ([198, 51, 100, 7], 443).into(), FlowKey::UDP)
}

/// Bytes as a source of choices. Zeros follow the last byte.
pub(super) struct Choices<'a> {
    pub(super) bytes: &'a [u8],
}

impl Choices<'_> {
    pub(super) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// A number up to 16 bits; small ones are frequent.
    pub(super) fn number(&mut self) -> u64 {
        match self.byte() {
            small @ 0..=199 => u64::from(small),
            _ => u64::from(u16::from_le_bytes([self.byte(), self.byte()])),
        }
    }

    /// Any number; extremes are frequent.
    pub(super) fn extreme(&mut self) -> u64 {
        match self.byte() {
            small @ 0..=127 => u64::from(small),
            // The largest shift that keeps a byte within 64 bits is 56.
            128..=191 => u64::from(self.byte()) << (self.byte() % 57),
            192..=223 => u64::from(u32::MAX) - u64::from(self.byte()),
            _ => u64::MAX - u64::from(self.byte()),
        }
    }

    pub(super) fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }
}
