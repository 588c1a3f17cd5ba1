//! What travels between the two ends: a TCP segment without its payload bytes.

use core::fmt;
use core::ops::{BitOr, BitOrAssign};

use goodqueue::Ecn;

use crate::accecn::EcnOption;

/// IPv4 header (RFC 791 §3.1) and TCP header (RFC 9293 §3.1), without options, in bytes.
pub const HEADER: u32 = 40;
/// The timestamps option padded to a multiple of four (RFC 7323 appendix A), in bytes.
pub const TIMESTAMPS: u32 = 12;
/// Most SACK blocks that fit beside a timestamps option (RFC 2018 §3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// The control bits that matter here (RFC 9293 §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u16);

impl Flags {
    /// No bit set.
    pub const NONE: Self = Self(0);
    /// No more data from the sender of this segment.
    pub const FIN: Self = Self(0x01);
    /// Opens a connection.
    pub const SYN: Self = Self(0x02);
    /// The receiver should hand over what it has (RFC 9293 §3.9.1.2); Linux's acknowledges at once.
    pub const PSH: Self = Self(0x08);
    /// [`Segment::ack`] means something.
    pub const ACK: Self = Self(0x10);
    /// ECN echo (RFC 3168 §6.1).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: Self = Self(0x80);
    /// Accurate ECN (RFC 9768 §3.1).
    pub const AE: Self = Self(0x100);

    /// True if all bits of `other` are set.
    #[must_use]
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits as they stand in the TCP header: AE is the lowest bit of the byte before the
    /// others.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// AE, CWR and ECE as a number (the ACE field, RFC 9768 §3.2.2).
    #[must_use]
    #[inline]
    pub const fn ace(self) -> u8 {
        // ECE, CWR and AE are the bits 6 to 8 of the header.
        (self.0 >> 6 & 7) as u8
    }

    /// The same bits with the lowest three bits of `ace` as the ACE field.
    #[must_use]
    pub const fn with_ace(self, ace: u8) -> Self {
        Self(self.0 & !(7 << 6) | (ace as u16 & 7) << 6)
    }

    /// `self`, and `other` too if `condition` holds.
    #[must_use]
    #[inline]
    pub const fn and_if(self, condition: bool, other: Self) -> Self {
        if condition { Self(self.0 | other.0) } else { self }
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::SYN, 'S'),
            (Self::FIN, 'F'),
            (Self::PSH, 'P'),
            (Self::ACK, '.'),
            (Self::ECE, 'E'),
            (Self::CWR, 'W'),
            (Self::AE, 'A'),
        ];
        for (flag, letter) in names {
            if self.contains(flag) {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

/// Up to three SACK blocks (RFC 2018 §3), kept as offsets from [`Segment::ack`] so that a segment
/// stays within one cache line. An [`EcnOption`] has the place of the third block: a header has no
/// room for three blocks, timestamps and that option.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct SackBlocks {
    start: [i32; MAX_SACK_BLOCKS],
    length: [u32; MAX_SACK_BLOCKS],
    count: u8,
    /// Number of counters of the ECN option, plus one; [`ECT1_FIRST`] for its order; 0 without it.
    shape: u8,
    /// The highest byte of its last counter.
    rest: u8,
}

/// Bit of [`SackBlocks::shape`]: the counter of ECT(1) bytes comes first.
const ECT1_FIRST: u8 = 0x80;

impl SackBlocks {
    /// No blocks.
    pub const NONE: Self =
        Self { start: [0; MAX_SACK_BLOCKS], length: [0; MAX_SACK_BLOCKS], count: 0, shape: 0, rest: 0 };

    /// Adds the block `start..end` of a segment that acknowledges `ack`. Returns false and adds
    /// nothing if there is no place for it, or if a bound is further than 2 GiB from `ack` (the
    /// largest window is 1 GiB, RFC 7323 §2.2). An inverted block is stored as it is, as a hostile
    /// peer would send it.
    pub fn push(&mut self, ack: u64, start: u64, end: u64) -> bool {
        let slot = usize::from(self.count);
        let offset = i32::try_from(start.wrapping_sub(ack).cast_signed());
        let length = i32::try_from(end.wrapping_sub(start).cast_signed());
        let (Ok(offset), Ok(length), true) = (offset, length, slot < self.places()) else { return false };
        self.start[slot] = offset;
        self.length[slot] = length.cast_unsigned();
        self.count += 1;
        true
    }

    /// Number of blocks that there is place for.
    const fn places(&self) -> usize {
        if self.shape == 0 { MAX_SACK_BLOCKS } else { MAX_SACK_BLOCKS - 1 }
    }

    /// Keeps the first `most` blocks.
    pub(crate) fn truncate(&mut self, most: u8) {
        self.count = self.count.min(most);
    }

    /// True if the segment has neither blocks nor an ECN option.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        self.count == 0 && self.shape == 0
    }

    /// Returns the ECN option, if there is one.
    fn ecn_option(&self) -> Option<EcnOption> {
        let fields = (self.shape & !ECT1_FIRST).checked_sub(1)?;
        // The third block has 72 bits with `rest`: room for three counters of 24 bits.
        let [low, middle] = [self.start[2].cast_unsigned(), self.length[2]];
        let values =
            [low & 0xff_ffff, low >> 24 | (middle & 0xffff) << 8, middle >> 16 | u32::from(self.rest) << 16];
        Some(EcnOption { ect1_first: self.shape & ECT1_FIRST != 0, fields, values })
    }

    /// Adds an ECN option. Returns false and adds nothing if there are three blocks.
    fn set_ecn_option(&mut self, option: &EcnOption) -> bool {
        if self.len() == MAX_SACK_BLOCKS {
            return false;
        }
        let [first, second, third] = option.values.map(|value| value & 0xff_ffff);
        self.start[2] = (first | second << 24).cast_signed();
        self.length[2] = second >> 8 | third << 16;
        self.rest = third.to_le_bytes()[2];
        let order = if option.ect1_first { ECT1_FIRST } else { 0 };
        self.shape = (option.fields.min(3) + 1) | order;
        true
    }

    /// How many blocks there are.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// True if there is none.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The blocks as `(start, end)` sequence numbers, most recent first, of a segment that
    /// acknowledges `ack`.
    #[inline]
    pub fn iter(&self, ack: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let blocks = self.start.iter().zip(&self.length).take(self.len());
        blocks.map(move |(&offset, &length)| {
            let start = ack.wrapping_add_signed(i64::from(offset));
            (start, start.wrapping_add_signed(i64::from(length.cast_signed())))
        })
    }

    /// Bytes that the option takes in the header, padded to a multiple of four (RFC 2018 §3).
    #[must_use]
    pub const fn wire_len(&self) -> u32 {
        if self.count == 0 { 0 } else { 4 + 8 * self.count as u32 }
    }
}

/// A TCP segment. Plain data; its payload is a length only.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Segment {
    /// Sequence number of the first byte. SYN and FIN take one number each; numbering starts at 0.
    pub seq: u64,
    /// The next sequence number that is expected of the other end.
    pub ack: u64,
    /// Payload in bytes.
    pub len: u32,
    /// Receive window in bytes, scaling already undone (RFC 7323 §2.3).
    pub window: u32,
    /// When this segment was sent, in microseconds modulo 2^32 (RFC 7323 §3.2); 0 without
    /// timestamps.
    pub ts_val: u32,
    /// The `ts_val` that the other end is told back (RFC 7323 §4.3); 0 without timestamps.
    pub ts_ecr: u32,
    /// What the receiver holds above `ack`, and the [ECN option](Segment::ecn_option).
    pub sack: SackBlocks,
    /// Control bits.
    pub flags: Flags,
    /// ECN field of the IP header; a queue on the way may set it to [`Ecn::Ce`].
    pub ecn: Ecn,
}

const _: () = assert!(size_of::<Segment>() <= 64, "a segment fits in one cache line");
const _: () = assert!(size_of::<Option<Segment>>() <= 64, "also when it is optional");

impl Segment {
    /// The sequence number after this segment: payload, SYN and FIN counted (RFC 9293 §3.4).
    #[must_use]
    #[inline]
    pub const fn end(&self) -> u64 {
        let control = self.flags.contains(Flags::SYN) as u64 + self.flags.contains(Flags::FIN) as u64;
        self.seq.saturating_add(self.len as u64).saturating_add(control)
    }

    /// Returns the AccECN option (RFC 9768 §3.2.3), if the segment has one.
    #[must_use]
    pub fn ecn_option(&self) -> Option<EcnOption> {
        self.sack.ecn_option()
    }

    /// Adds an AccECN option. Returns false and adds nothing beside three SACK blocks.
    pub fn set_ecn_option(&mut self, option: &EcnOption) -> bool {
        self.sack.set_ecn_option(option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accecn::EcnBytes;

    #[test]
    fn an_ecn_option_leaves_place_for_two_blocks() {
        let bytes = EcnBytes { ect0: 0xab_cdef, ect1: 0x12_3456, ce: 0xfe_dcba };
        for ect1_first in [false, true] {
            for fields in 0..=3 {
                let option = EcnOption::new(&bytes, ect1_first, fields);
                let mut segment = Segment { ack: 10, ..Segment::default() };
                assert!(segment.set_ecn_option(&option));
                assert!(segment.sack.push(10, 20, 30) && segment.sack.push(10, 40, 50));
                assert!(!segment.sack.push(10, 60, 70));
                assert_eq!(segment.ecn_option(), Some(option));
                assert_eq!(segment.sack.iter(10).collect::<alloc::vec::Vec<_>>(), [(20, 30), (40, 50)]);
            }
        }
    }

    #[test]
    fn three_blocks_leave_no_place_for_an_ecn_option() {
        let mut segment = Segment::default();
        assert!((0..3).all(|block| segment.sack.push(0, 10 * block + 1, 10 * block + 2)));
        assert!(!segment.set_ecn_option(&EcnOption::new(&EcnBytes::default(), false, 3)));
        assert_eq!(segment.ecn_option(), None);
    }

    #[test]
    fn the_ace_field_is_three_bits_of_the_header() {
        let flags = Flags::ACK.with_ace(0b110);
        assert_eq!(flags, Flags::ACK | Flags::AE | Flags::CWR);
        // The field has three bits, which hold 1 of 9.
        assert_eq!((flags.ace(), flags.with_ace(9).ace()), (6, 1));
    }
}
