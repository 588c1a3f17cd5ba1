//! What travels between the two ends: a TCP segment without its payload bytes.

use core::fmt;
use core::ops::{BitOr, BitOrAssign};

use goodqueue::Ecn;

/// IPv4 header (RFC 791 §3.1) and TCP header (RFC 9293 §3.1), without options, in bytes.
pub const HEADER: u32 = 40;
/// The timestamps option padded to a multiple of four (RFC 7323 appendix A), in bytes.
pub const TIMESTAMPS: u32 = 12;
/// Most SACK blocks that fit beside a timestamps option (RFC 2018 §3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// The control bits that matter here (RFC 9293 §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u8);

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

    /// True if all bits of `other` are set.
    #[must_use]
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits as they stand in the TCP header.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
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
/// stays within one cache line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct SackBlocks {
    start: [i32; MAX_SACK_BLOCKS],
    length: [u32; MAX_SACK_BLOCKS],
    count: u8,
}

impl SackBlocks {
    /// No blocks.
    pub const NONE: Self = Self { start: [0; MAX_SACK_BLOCKS], length: [0; MAX_SACK_BLOCKS], count: 0 };

    /// Adds the block `start..end` of a segment that acknowledges `ack`. Returns false and adds
    /// nothing if there are three already, or if a bound is further than 2 GiB from `ack` (the
    /// largest window is 1 GiB, RFC 7323 §2.2). An inverted block is stored as it is, as a hostile
    /// peer would send it.
    pub fn push(&mut self, ack: u64, start: u64, end: u64) -> bool {
        let slot = usize::from(self.count);
        let offset = i32::try_from(start.wrapping_sub(ack).cast_signed());
        let length = i32::try_from(end.wrapping_sub(start).cast_signed());
        let (Ok(offset), Ok(length), true) = (offset, length, slot < MAX_SACK_BLOCKS) else { return false };
        self.start[slot] = offset;
        self.length[slot] = length.cast_unsigned();
        self.count += 1;
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
    /// What the receiver holds above `ack`.
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
}
