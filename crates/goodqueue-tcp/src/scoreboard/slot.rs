//! A record: one segment that is out, and its marks.

use goodqueue::Instant;

/// The receiver holds it.
pub(super) const SACKED: u8 = 1;
/// It is taken for lost (IsLost, RFC 6675 §4).
pub(super) const LOST: u8 = 2;
/// A retransmission of it counts as being in the network.
pub(super) const RESENT: u8 = 4;
/// It was sent more than once: gives no RTT sample (RFC 6298 §3).
pub(super) const AMBIGUOUS: u8 = 8;
/// It does not lie in one piece of memory with the one before it, as the host keeps it.
pub(super) const APART: u8 = 16;

/// A segment that is out.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Its first sequence number.
    pub seq: u64,
    /// Sequence numbers that it takes: payload, and one for FIN.
    pub len: u32,
}

/// The same as it stands in the ring, four to a cache line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    pub(super) sent: Instant,
    /// The lower half of its sequence number: all that are out lie within a window, which is less
    /// than 2^31.
    pub(super) low: u32,
    pub(super) len: u16,
    pub(super) marks: u8,
}

const _: () = assert!(size_of::<Slot>() == 16, "there is one for each segment in the network");

impl Slot {
    #[inline]
    pub(super) fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// One transmission of it is in the network.
    pub(super) fn is_out(&self) -> bool {
        !self.is(SACKED) && (!self.is(LOST) || self.is(RESENT))
    }

    #[inline]
    pub(super) fn len(&self) -> u64 {
        u64::from(self.len)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
pub(super) const fn low(seq: u64) -> u32 {
    seq as u32
}

/// The sequence number whose lower half is `half`, of those below `end`.
#[inline]
pub(super) fn whole(end: u64, half: u32) -> u64 {
    // Right if less than 2^32 bytes are out, which no window allows.
    end - u64::from(low(end).wrapping_sub(half))
}
