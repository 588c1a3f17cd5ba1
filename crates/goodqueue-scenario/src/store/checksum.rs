//! Checksums against damage by accident: of stored runs, and of the program that made them. They do
//! not protect against a person who changes a file and its checksum.

use goodqueue::random::mix_64;

/// A checksum of bytes that come in pieces. Every piece but the last has a multiple of 32 bytes.
///
/// Four sums take the words of 8 bytes in turn, because a step has to wait for the one before it:
/// the program itself, of 30 MB, is read at each start. Each step is a bijection of its sum, so a
/// change within a single word is always seen.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Checksum {
    sums: [u64; 4],
    bytes: u64,
}

impl Checksum {
    /// Adds a piece.
    pub(super) fn add(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        let (blocks, rest) = piece.as_chunks::<32>();
        for block in blocks {
            self.add_block(block);
        }
        if !rest.is_empty() {
            let mut block = [0; 32];
            block[..rest.len()].copy_from_slice(rest);
            self.add_block(&block);
        }
    }

    fn add_block(&mut self, block: &[u8; 32]) {
        let (words, _) = block.as_chunks::<8>();
        for (sum, word) in self.sums.iter_mut().zip(words) {
            *sum = mix_64(sum.rotate_left(1) ^ u64::from_le_bytes(*word));
        }
    }

    /// Returns the checksum. It contains the length, because the last block is filled with zeros.
    pub(super) fn finish(self) -> u64 {
        self.sums.iter().fold(self.bytes, |joined, sum| mix_64(joined ^ sum))
    }

    /// Returns the checksum of one piece.
    pub(super) fn of_bytes(bytes: &[u8]) -> u64 {
        let mut sum = Self::default();
        sum.add(bytes);
        sum.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_changed_added_or_missing_byte_changes_the_sum() {
        // A zero at the end, because the last block is filled with zeros as well.
        let text = b"{\"goodput_bps\":9500000.0}\0";
        let whole = Checksum::of_bytes(text);
        for at in 0..text.len() {
            let mut changed = text.to_vec();
            changed[at] ^= 1;
            assert_ne!(Checksum::of_bytes(&changed), whole, "byte {at}");
            assert_ne!(Checksum::of_bytes(&text[..at]), whole, "{at} bytes");
        }
        assert_ne!(Checksum::of_bytes(&[text.as_slice(), b"\0"].concat()), whole);
    }

    #[test]
    fn pieces_have_the_sum_of_the_whole() {
        let mut pieces = Checksum::default();
        // 32 bytes, because only the last piece may have a length that is no multiple of 32.
        pieces.add(b"12345678901234567890123456789012");
        pieces.add(b"3");
        assert_eq!(pieces.finish(), Checksum::of_bytes(b"123456789012345678901234567890123"));
    }
}
