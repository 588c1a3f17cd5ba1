//! Blocks of pcapng files (draft-ietf-opsawg-pcapng), little-endian, with times in nanoseconds.
//!
//! The simulator, the live path and links write their captures with it. Each function appends one
//! block to a buffer.

use alloc::vec::Vec;

use goodqueue::Instant;

/// An option: its code and its value.
pub type Opt<'a> = (u16, &'a [u8]);

/// Points at which a capture has a packet, in this order one interface each.
pub const POINTS: [&str; 3] = ["ingress", "egress", "drops"];
/// Number in [`POINTS`] of packets that arrive at the queue.
pub const INGRESS: u32 = 0;
/// Number in [`POINTS`] of packets that leave the queue.
pub const EGRESS: u32 = 1;
/// Number in [`POINTS`] of packets that are dropped or lost.
pub const DROPS: u32 = 2;

/// Link type of packets that begin with an Ethernet header.
pub const ETHERNET: u16 = 1;
/// Link type of packets that begin with an IP header.
pub const RAW_IP: u16 = 101;

/// `opt_comment` (§3.5): a text.
pub const COMMENT: u16 = 1;
/// `shb_userappl` (§4.1): the program that wrote the file.
pub const APPLICATION: u16 = 4;
/// Options of a packet that was dropped: `epb_verdict` (§4.3.1) of Linux's traffic control (1) with
/// the value `TC_ACT_SHOT`, little-endian as the file is.
pub const SHOT: Opt<'static> = (7, &[1, 2, 0, 0, 0, 0, 0, 0, 0]);

/// Appends the header of a file (§4.1).
pub fn section(to: &mut Vec<u8>, options: &[Opt<'_>]) {
    // This type reads the same in both orders of bytes, because the order is not known before the
    // body.
    block(to, 0x0A0D_0D0A, options, |body| {
        // The order of bytes, version 1.0, and an unknown length.
        body.extend(0x1A2B_3C4D_u32.to_le_bytes());
        body.extend([1, 0, 0, 0]);
        body.extend([0xFF; 8]);
    });
}

/// Appends an interface (§4.2) with this name. Interfaces are numbered from 0.
pub fn interface(to: &mut Vec<u8>, link_type: u16, name: &str) {
    // `if_name` and `if_tsresol` (§4.2).
    block(to, 1, &[(2, name.as_bytes()), (9, &[NANOSECONDS])], |body| {
        body.extend(link_type.to_le_bytes());
        // Reserved; and packets are captured whole.
        body.extend([0; 2 + 4]);
    });
}

/// Appends a packet (§4.3) of `length` bytes, of which `captured` is the beginning. The clock of
/// the file begins in 1970, and so does a virtual one at [`Instant::ZERO`].
pub fn packet(
    to: &mut Vec<u8>,
    interface: u32,
    at: Instant,
    length: u32,
    captured: &[u8],
    options: &[Opt<'_>],
) {
    // Type 6 is the Enhanced Packet Block.
    block(to, 6, options, |body| {
        let held = u32::try_from(captured.len()).unwrap_or(u32::MAX);
        body.extend(interface.to_le_bytes());
        // The upper half of the time comes first.
        body.extend(at.as_nanos().rotate_left(32).to_le_bytes());
        body.extend(held.to_le_bytes());
        body.extend(length.max(held).to_le_bytes());
        body.extend(captured);
    });
}

/// Appends a block: its type, its length, the body, the options, and the length again (§3.1).
fn block(to: &mut Vec<u8>, kind: u32, options: &[Opt<'_>], body: impl FnOnce(&mut Vec<u8>)) {
    let begin = to.len();
    to.extend(kind.to_le_bytes());
    // Room for the length, which is known at the end.
    to.extend([0; 4]);
    body(to);
    // A block without options has no end of them.
    let end = (!options.is_empty()).then_some((END_OF_OPTIONS, &[][..]));
    for (code, value) in options.iter().copied().chain(end) {
        pad(to, begin);
        // Text that is too long is cut between two characters of UTF-8.
        let is_start = |at: &usize| value.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80);
        let end = (0..=value.len().min(usize::from(u16::MAX))).rev().find(is_start).unwrap_or(0);
        to.extend(code.to_le_bytes());
        to.extend(u16::try_from(end).unwrap_or(0).to_le_bytes());
        to.extend(value.get(..end).unwrap_or_default());
    }
    pad(to, begin);
    // The length at the end counts, too.
    let length = u32::try_from(to.len() - begin + 4).unwrap_or(u32::MAX).to_le_bytes();
    to.extend(length);
    if let Some(place) = to.get_mut(begin + 4..begin + 8) {
        place.copy_from_slice(&length);
    }
}

/// Fills up to a multiple of four bytes since `begin`.
fn pad(to: &mut Vec<u8>, begin: usize) {
    let whole = begin + (to.len() - begin).next_multiple_of(4);
    to.resize(whole, 0);
}

/// `if_tsresol`: times are in units of 10^-9 s.
const NANOSECONDS: u8 = 9;
const END_OF_OPTIONS: u16 = 0;

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    #[test]
    fn a_text_that_is_too_long_for_an_option_is_cut_between_two_characters() {
        // 65,536 bytes, one more than the field can say: the last character does not fit.
        let text: String = "ä".repeat(32_768);
        let mut file = Vec::new();
        section(&mut file, &[(COMMENT, text.as_bytes())]);
        // The option comes behind 24 bytes, and its length behind its code.
        assert_eq!(file.get(26..28), Some(&65_534_u16.to_le_bytes()[..]));
        let length = u32::try_from(file.len()).unwrap_or(0).to_le_bytes();
        assert_eq!((file.get(4..8), file.last_chunk::<4>()), (Some(&length[..]), Some(&length)));
        assert_eq!(file.len(), 24 + 4 + 65_536 + 4 + 4, "padded, the end of options, the length");
    }
}
