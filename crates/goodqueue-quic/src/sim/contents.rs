//! The bytes of datagrams that are in the network.

use std::collections::VecDeque;

use bytes::BytesMut;

use crate::tag::TAG;

/// The datagrams of one direction that have not arrived, in the order of their numbers.
///
/// The network does not tell the flow which packets it dropped. A datagram is forgotten once
/// another one arrives that was sent [`REORDERING`] datagrams later, so memory is bounded.
#[derive(Debug, Default)]
pub(super) struct Contents {
    waiting: VecDeque<Content>,
    sent: u64,
}

/// Datagrams by which the network may reorder. QUIC declares a packet lost after three later ones
/// (RFC 9002 §6.1.1).
const REORDERING: u64 = 1 << 14;

/// A datagram without the zeros in front of its last tag: simulated data is zeros.
#[derive(Debug)]
struct Content {
    number: u64,
    length: usize,
    /// Bytes up to the last that is not zero, and the tag.
    bytes: Box<[u8]>,
}

impl Contents {
    /// Keeps a datagram, and returns its number.
    pub(super) fn put(&mut self, datagram: &[u8]) -> u64 {
        let number = self.sent;
        self.sent += 1;
        // A datagram that is shorter than a tag has no payload.
        let end_of_payload = datagram.len().saturating_sub(TAG);
        let payload = &datagram[..end_of_payload];
        let zeros = trailing_zeros(payload);
        let bytes = [&payload[..end_of_payload - zeros], &datagram[end_of_payload..]].concat().into();
        self.waiting.push_back(Content { number, length: datagram.len(), bytes });
        number
    }

    /// Removes and returns a datagram; `None` if it has arrived already, or was forgotten.
    pub(super) fn take(&mut self, number: u64) -> Option<BytesMut> {
        while self.waiting.front().is_some_and(|first| first.number + REORDERING < number) {
            self.waiting.pop_front();
        }
        let Content { length, bytes, .. } = match self.waiting.front() {
            // The usual case: nothing was lost or reordered.
            Some(first) if first.number == number => self.waiting.pop_front()?,
            _ => {
                // Numbers rise along the queue, although some are missing.
                let place = self.waiting.binary_search_by_key(&number, |content| content.number).ok()?;
                self.waiting.remove(place)?
            }
        };
        let mut datagram = BytesMut::zeroed(length);
        let (payload, tag) = bytes.split_at(bytes.len().saturating_sub(TAG));
        datagram[..payload.len()].copy_from_slice(payload);
        datagram[length - tag.len()..].copy_from_slice(tag);
        Some(datagram)
    }

    /// Returns the number of datagrams sent.
    pub(super) const fn sent(&self) -> u64 {
        self.sent
    }
}

fn trailing_zeros(bytes: &[u8]) -> usize {
    // Most datagrams end in a thousand zeros, so these are counted by words.
    let (rest, words) = bytes.as_rchunks::<16>();
    // Zero is the same in each order of bytes.
    let zero_words = words.iter().rev().take_while(|word| u128::from_ne_bytes(**word) == 0).count();
    let before = &bytes[..rest.len() + 16 * (words.len() - zero_words)];
    16 * zero_words + before.iter().rev().take_while(|byte| **byte == 0).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_come_back_whole_in_any_order_and_once() {
        let datagrams: [&[u8]; 5] =
            [&[], &[1, 2, 3], &[0; 40], &[7; 40], &[&[9, 0, 8][..], &[0; 1300], &[0, 5], &[0; 14]].concat()];
        let mut contents = Contents::default();
        for (number, datagram) in (0..).zip(datagrams) {
            assert_eq!(contents.put(datagram), number);
        }
        for number in [3, 0, 4, 1, 2] {
            assert_eq!(contents.take(number as u64).as_deref(), Some(datagrams[number]), "{number}");
            assert_eq!(contents.take(number as u64), None, "a copy made by the path");
        }
    }

    #[test]
    fn lost_datagrams_are_forgotten() {
        let mut contents = Contents::default();
        for number in 0..10 * REORDERING {
            contents.put(&[1; 30]);
            if number % 2 == 0 {
                assert!(contents.take(number).is_some());
            }
        }
        // Every second datagram is lost.
        assert!(contents.waiting.len() as u64 <= REORDERING / 2 + 1);
        assert_eq!(contents.take(1), None);
    }
}
