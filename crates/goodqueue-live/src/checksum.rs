//! Internet checksums (RFC 1071), and their state in packets from the kernel.

/// State of a packet's transport checksum.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Checksum {
    /// Present, and perhaps wrong.
    #[default]
    Unknown,
    /// Present, and verified by the kernel.
    Verified,
    /// Incomplete. The sum of the bytes from `start` on belongs in the field at `start + offset`,
    /// which holds the sum of the pseudo-header.
    Open {
        /// Offset of the transport header in the packet.
        start: u16,
        /// Offset of the checksum in the transport header.
        offset: u16,
    },
}

impl Checksum {
    /// Completes the checksum of `packet` if it is incomplete.
    pub fn complete(self, packet: &mut [u8]) {
        let Self::Open { start, offset } = self else { return };
        let start = usize::from(start);
        let field = start + usize::from(offset);
        let sum = folded(sum_of(packet.get(start..).unwrap_or_default(), 0));
        // A UDP checksum of 0 would mean "no checksum".
        let sum = if sum == 0xffff { sum } else { !sum };
        if let Some(field) = packet.get_mut(field..field + 2) {
            field.copy_from_slice(&sum.to_be_bytes());
        }
    }
}

/// Returns the sum of RFC 1071 §4.1, computed eight bytes at a time. At most 128 KiB, so no carry
/// is lost.
pub(crate) fn sum_of(bytes: &[u8], begin: u32) -> u32 {
    // One's complement sums may be added in larger words and folded later (RFC 1071 §2).
    let (words, rest) = bytes.as_chunks::<8>();
    let mut sum = u64::from(begin);
    for word in words {
        let word = u64::from_be_bytes(*word);
        sum += (word >> 32) + (word & 0xffff_ffff);
    }
    for two in rest.chunks(2) {
        // An odd last byte counts as if a zero followed it (RFC 1071 §4.1).
        sum += u64::from(u16::from_be_bytes([two[0], two.get(1).copied().unwrap_or(0)]));
    }
    // Adds up the 16-bit words: 2^16 is 1 modulo 2^16 - 1.
    let once = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32 & 0xffff) + (sum >> 48);
    u32::try_from(once).unwrap_or(u32::MAX)
}

pub(crate) fn folded(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    // The first addition can carry once more, the second cannot.
    u16::try_from((once & 0xffff) + (once >> 16)).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bytes_at_a_time_give_the_sum_of_two_at_a_time() {
        let bytes: Vec<u8> =
            // Multiplication by 2^32 divided by the golden ratio spreads the numbers (Knuth).
            (0..70_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0]).collect();
        for length in (0..70).chain([1460, 65_535, 70_000]) {
            let plain = bytes[..length].chunks(2).fold(5_u64, |sum, two| {
                sum + u64::from(u16::from_be_bytes([two[0], two.get(1).copied().unwrap_or(0)]))
            });
            // 0 and 0xffff are the same number in one's complement.
            assert_eq!(u64::from(folded(sum_of(&bytes[..length], 5))) % 0xffff, plain % 0xffff, "{length}");
        }
        let ones = vec![0xff; 1 << 17];
        assert_eq!(folded(sum_of(&ones, u32::MAX)), 0xffff);
    }
}
