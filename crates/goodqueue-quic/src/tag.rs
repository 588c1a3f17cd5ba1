//! A checksum in the place of an authentication tag.

use goodqueue::hash::mix_64;

/// Bytes of a tag, as of AES-GCM (RFC 9001 §5.3).
pub(crate) const TAG: usize = 16;
/// Bytes that header protection samples, as for AES (RFC 9001 §5.4.3).
pub(crate) const SAMPLE: usize = 16;
/// Packets that a key of AES-GCM may protect, and forged ones that it may meet (RFC 9001 §6.6).
pub(crate) const LIMITS: [u64; 2] = [1 << 23, 1 << 52];

/// Returns the tag of `parts`. It depends on each byte and on where one part ends.
pub(crate) fn tag_of(number: u64, parts: &[&[u8]]) -> [u8; TAG] {
    let mut sum = mix_64(number ^ SALT);
    for part in parts {
        let (words, rest) = part.as_chunks::<8>();
        for word in words {
            // One multiplication for each word: this runs over every byte of a transfer.
            // The rotation brings down the high bits of the product, which alone depend on the
            // whole word.
            sum = (sum ^ u64::from_le_bytes(*word)).wrapping_mul(ODD).rotate_left(29);
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // The length tells a short last word from one that ends in zeros.
        sum = mix_64(sum ^ u64::from_le_bytes(last)).wrapping_add(part.len() as u64);
    }
    let mut tag = [0; TAG];
    tag[..8].copy_from_slice(&mix_64(sum).to_le_bytes());
    tag[8..].copy_from_slice(&mix_64(sum ^ ODD).to_le_bytes());
    tag
}

/// What the tags of packets are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protection {
    /// Checksums, so that a changed packet is refused.
    Checked,
    /// Zeros, for simulations that change no packet: a checksum runs over every byte of a transfer.
    Trusted,
}

impl Protection {
    /// Writes the tag of a packet into its last bytes.
    pub(crate) fn seal(self, number: u64, packet: &mut [u8], header: usize) {
        let Some(payload_end) = packet.len().checked_sub(TAG) else { return };
        let (content, space) = packet.split_at_mut(payload_end);
        let (header, payload) = content.split_at(header.min(payload_end));
        match self {
            Self::Checked => space.copy_from_slice(&tag_of(number, &[header, payload])),
            Self::Trusted => space.fill(0),
        }
    }

    /// Returns the length of the payload without its tag; `None` if the tag is wrong.
    pub(crate) fn open(self, number: u64, header: &[u8], payload: &[u8]) -> Option<usize> {
        let (content, tag) = payload.split_at_checked(payload.len().checked_sub(TAG)?)?;
        let is_right = self == Self::Trusted || tag == tag_of(number, &[header, content]);
        is_right.then_some(content.len())
    }
}

/// Any odd number with many bits set.
const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
// "null" in ASCII.
const SALT: u64 = 0x6e75_6c6c;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_opens_only_as_it_was_sealed() {
        let mut packet = [7; 60];
        let key = Protection::Checked;
        key.seal(9, &mut packet, 20);
        let opened = |number, packet: &[u8], header| key.open(number, &packet[..header], &packet[header..]);
        // 60 bytes less 20 of header and 16 of tag.
        assert_eq!(opened(9, &packet, 20), Some(24));
        assert_eq!(opened(8, &packet, 20), None);
        assert_eq!(opened(9, &packet, 19), None);
        for byte in 0..60 {
            let mut changed = packet;
            changed[byte] ^= 1;
            assert_eq!(opened(9, &changed, 20), None, "byte {byte}");
        }
        assert_eq!(key.open(9, &[], &[0; 15]), None);
    }

    #[test]
    fn a_trusted_packet_has_room_for_a_tag() {
        let mut packet = [7; 60];
        Protection::Trusted.seal(9, &mut packet, 20);
        assert_eq!(Protection::Trusted.open(8, &packet[..20], &packet[20..]), Some(24));
        assert_eq!(packet[44..], [0; TAG]);
    }
}
