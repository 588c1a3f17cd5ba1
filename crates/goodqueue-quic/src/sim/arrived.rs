//! The bytes of a transfer that have arrived, in order or not.
//!
//! quinn passes bytes on in order, and does not tell how many of them wait for an earlier one. The
//! STREAM frames tell it: without encryption they can be read (RFC 9000 §17 and §19).

use std::collections::BTreeMap;
use std::ops::Range;

use crate::tag::TAG;

/// The bytes of a transfer at its receiver, each counted once.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    /// Number of the latest stream. Earlier ones have the data of earlier transfers.
    stream: u64,
    /// True if the latest stream is that of an earlier transfer, too.
    is_over: bool,
    in_order: u64,
    /// Begin and end of the parts behind a gap. They do not touch.
    behind: BTreeMap<u64, u64>,
    /// Stream and bytes of each STREAM frame of the datagram that was read last.
    frames: Vec<(u64, Range<u64>)>,
}

impl Arrived {
    /// From now on a later stream of the same connection counts.
    pub(super) fn begin_next(&mut self) {
        *self = Self { stream: self.stream, is_over: self.is_over || self.bytes() > 0, ..Self::default() };
    }

    /// Returns the bytes that have arrived.
    pub(super) fn bytes(&self) -> u64 {
        self.in_order + self.behind.iter().map(|(begin, end)| end - begin).sum::<u64>()
    }

    /// Returns the bytes in front of the first gap.
    pub(super) const fn in_order(&self) -> u64 {
        self.in_order
    }

    /// Reads a datagram. Of a malformed one the rest is left out.
    pub(super) fn read(&mut self, datagram: &[u8]) {
        self.frames.clear();
        // Handshake packets have no data of streams.
        let payload = payload_of_short_packet(Rest(datagram));
        // `None` only says that the data has ended.
        let _ = payload.and_then(|frames| self.read_frames(frames));
    }

    /// Returns true if a datagram has data of a stream.
    pub(super) fn has_data(&mut self, datagram: &[u8]) -> bool {
        self.read(datagram);
        self.frames.iter().any(|(_, part)| !part.is_empty())
    }

    /// Counts the datagram that was read last, since the connection took it.
    pub(super) fn count(&mut self) {
        // The list goes back below, so that its memory serves the next datagram.
        let mut frames = std::mem::take(&mut self.frames);
        for (stream, part) in frames.drain(..) {
            if stream < self.stream || (stream == self.stream && self.is_over) {
                continue;
            }
            self.stream = stream;
            self.is_over = false;
            self.add(part);
        }
        self.frames = frames;
    }

    /// Returns `None` behind the last frame.
    fn read_frames(&mut self, mut rest: Rest<'_>) -> Option<()> {
        loop {
            match rest.number()? {
                // PADDING, PING, HANDSHAKE_DONE, and IMMEDIATE_ACK of the draft on ACK frequency.
                0x00 | 0x01 | 0x1e | 0x1f => {}
                // ACK: two numbers, the count of further ranges, the first range, and two numbers
                // for each other one. The kind 0x03 has three ECN counts (RFC 9000 §19.3).
                kind @ (0x02 | 0x03) => {
                    rest.numbers(2)?;
                    let ranges = rest.number()?;
                    // A number takes at least a byte, so a false count ends with the datagram.
                    rest.numbers(1 + 2 * ranges + if kind == 0x03 { 3 } else { 0 })?;
                }
                // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID.
                0x10 | 0x12 | 0x13 | 0x14 | 0x16 | 0x17 | 0x19 => rest.numbers(1)?,
                // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED.
                0x05 | 0x11 | 0x15 => rest.numbers(2)?,
                // RESET_STREAM.
                0x04 => rest.numbers(3)?,
                // CRYPTO.
                0x06 => {
                    rest.numbers(1)?;
                    let length = rest.number()?;
                    rest.skip(length)?;
                }
                // NEW_TOKEN.
                0x07 => {
                    let length = rest.number()?;
                    rest.skip(length)?;
                }
                // STREAM: bit 4 of the kind announces an offset, bit 2 a length (RFC 9000 §19.8).
                kind @ 0x08..=0x0f => {
                    let stream = rest.number()?;
                    let begin = if kind & 4 == 0 { 0 } else { rest.number()? };
                    let length = if kind & 2 == 0 { rest.0.len() as u64 } else { rest.number()? };
                    rest.skip(length)?;
                    // Both numbers are below 2^62 (RFC 9000 §16), so the sum always fits.
                    self.frames.push((stream, begin..begin.saturating_add(length)));
                }
                // NEW_CONNECTION_ID, with a token of 16 bytes.
                0x18 => {
                    rest.numbers(2)?;
                    let length = rest.byte()?;
                    rest.skip(u64::from(length) + 16)?;
                }
                // PATH_CHALLENGE and PATH_RESPONSE.
                0x1a | 0x1b => rest.skip(8)?,
                // CONNECTION_CLOSE, behind which nothing counts, and frames that nobody agreed on.
                _ => return None,
            }
        }
    }

    fn add(&mut self, mut part: Range<u64>) {
        // What is in order has been counted.
        part.start = part.start.max(self.in_order);
        if part.is_empty() {
            return;
        }
        // Parts that only touch are joined too, so that no two parts touch.
        while let Some((&begin, &end)) = self.behind.range(..=part.end).next_back()
            && end >= part.start
        {
            self.behind.remove(&begin);
            part = part.start.min(begin)..part.end.max(end);
        }
        if part.start == self.in_order {
            self.in_order = part.end;
        } else {
            self.behind.insert(part.start, part.end);
        }
    }
}

/// Bytes of connection identifiers, as all endpoints of this crate choose them.
const IDENTIFIER: u64 = 8;

/// Returns the frames of the packet with application data, if the datagram has one: it is the last.
fn payload_of_short_packet(mut rest: Rest<'_>) -> Option<Rest<'_>> {
    loop {
        let first = rest.byte()?;
        if first & 0x80 == 0 {
            // The identifier, and a packet number of one to four bytes (RFC 9000 §17.3.1).
            rest.skip(IDENTIFIER + 1 + u64::from(first & 0x03))?;
            return rest.0.len().checked_sub(TAG).map(|length| Rest(&rest.0[..length]));
        }
        // The version, and both identifiers.
        rest.skip(4)?;
        for _ in 0..2 {
            let length = rest.byte()?;
            rest.skip(u64::from(length))?;
        }
        // An Initial packet has a token.
        if first & 0x30 == 0 {
            let length = rest.number()?;
            rest.skip(length)?;
        }
        let length = rest.number()?;
        rest.skip(length)?;
    }
}

/// What is not read yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// Reads a number of variable length (RFC 9000 §16).
    fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        let mut number = u64::from(first & 0x3f);
        // The first two bits tell the length: 1, 2, 4 or 8 bytes.
        for _ in 1..1 << (first >> 6) {
            number = number << 8 | u64::from(self.byte()?);
        }
        Some(number)
    }

    /// Skips this number of numbers.
    fn numbers(&mut self, count: u64) -> Option<()> {
        (0..count).try_for_each(|_| self.number().map(drop))
    }

    fn skip(&mut self, length: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(length).ok()?..)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with a short header and these frames.
    fn packet(frames: &[u8]) -> Vec<u8> {
        // The fixed bit, the identifier, and a packet number of one byte.
        [&[0x40][..], &[9; 8], &[7], frames, &[0; TAG]].concat()
    }

    /// A STREAM frame with an offset and a length.
    fn data(stream: u8, offset: u8, length: u8) -> Vec<u8> {
        // 0x0e is a STREAM frame with both bits. Numbers below 64 take one byte.
        [&[0x0e, stream, offset, length][..], &vec![0; length.into()]].concat()
    }

    impl Arrived {
        fn note(&mut self, datagram: &[u8]) {
            self.read(datagram);
            self.count();
        }
    }

    #[test]
    fn bytes_behind_a_gap_count_once_and_those_in_front_of_it_are_in_order() {
        let mut arrived = Arrived::default();
        for (frame, bytes, in_order) in [
            (data(0, 0, 10), 10, 10),
            (data(0, 20, 10), 20, 10),
            (data(0, 40, 10), 30, 10),
            // Again, and once more with its neighbours.
            (data(0, 20, 10), 30, 10),
            (data(0, 25, 20), 40, 10),
            (data(0, 5, 30), 50, 50),
        ] {
            arrived.note(&packet(&frame));
            assert_eq!((arrived.bytes(), arrived.in_order()), (bytes, in_order), "{frame:?}");
        }
    }

    #[test]
    fn a_late_packet_of_an_earlier_transfer_does_not_count() {
        let mut arrived = Arrived::default();
        arrived.begin_next();
        arrived.note(&packet(&data(0, 0, 10)));
        arrived.begin_next();
        arrived.note(&packet(&data(0, 0, 10)));
        assert_eq!(arrived.bytes(), 0);
        arrived.note(&packet(&data(4, 0, 7)));
        arrived.note(&packet(&data(0, 0, 10)));
        assert_eq!(arrived.bytes(), 7);
    }

    #[test]
    fn data_is_found_behind_other_frames_and_behind_packets_of_the_handshake() {
        // ACK with one more range and ECN counts, MAX_DATA of two bytes, STREAM to the end.
        let frames = [&[0x03, 9, 0, 1, 0, 1, 1, 5, 0, 0, 0x10, 0x40, 99, 0x08, 0][..], &[0; 30]].concat();
        let handshake = [&[0xe0, 0, 0, 0, 1, 2, 9, 9, 1, 9, 3][..], &[0x08; 3]].concat();
        let initial = [&[0xc0, 0, 0, 0, 1, 0, 0, 2, 5, 5, 3][..], &[0x08; 3]].concat();
        let mut arrived = Arrived::default();
        arrived.note(&[initial, handshake, packet(&frames)].concat());
        assert_eq!(arrived.bytes(), 30);
    }
}
