//! Checksums against damage by accident: of stored runs, and of the program that made them. They do
//! not protect against a person who changes a file and its checksum.

use goodqueue::random::mix_64;

/// A checksum of bytes that come in pieces. Every piece but the last has a multiple of 8 bytes.
///
/// Each step is a bijection of the sum, so a change within a single 8-byte word is always seen.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Checksum {
    sum: u64,
    bytes: u64,
}

impl Checksum {
    /// Adds a piece.
    pub(super) fn add(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.sum = piece.chunks(8).fold(self.sum, |sum, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            mix_64(sum.rotate_left(1) ^ u64::from_le_bytes(word))
        });
    }

    /// Returns the checksum. It contains the length, because the last word is filled with zeros.
    pub(super) fn finish(self) -> u64 {
        mix_64(self.sum ^ self.bytes)
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
        pieces.add(b"12345678");
        pieces.add(b"9");
        assert_eq!(pieces.finish(), Checksum::of_bytes(b"123456789"));
    }
}
