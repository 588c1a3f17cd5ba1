//! The counters of a sender with Accurate ECN (RFC 9768): those that ACKs carry, and the count of
//! marked ACKs.

use alloc::boxed::Box;

use goodqueue::Ecn;

use crate::accecn::{ALL_FIELDS, EcnBytes, EcnOption, FIRST_PACKETS, code_of, grown};
use crate::segment::Segment;

/// A wrapped counter is assumed unless marked segments would be smaller than full ones by this
/// factor (`SAFETY_FACTOR`, RFC 9768 appendix A.2.2).
const SAFETY_FACTOR: u64 = 2;
/// Values of the ACE field.
const CYCLE: u64 = 8;

/// The counters of a sender that negotiated AccECN.
#[derive(Clone, Debug)]
pub struct Accurate {
    /// Marked packets that the receiver reported (s.cep without its first value).
    reported: u64,
    /// The part of them that no option has confirmed yet.
    unconfirmed: u64,
    /// Marked bytes that the last option reported (s.ceb).
    bytes: u32,
    /// Number of ACKs that arrived with a mark (r.cep without its first value).
    pub(super) received: u64,
    /// The ECN field of the SYN/ACK. The next segment reports it instead of `received`.
    pub(super) handshake: Option<Ecn>,
    /// Timestamp of the newest ACK that was decoded.
    pub(super) newest: u32,
    /// No ACK came yet after the handshake.
    pub(super) is_first: bool,
}

impl Accurate {
    pub(super) fn new(segment: &Segment) -> Box<Self> {
        Box::new(Self {
            reported: 0,
            unconfirmed: 0,
            bytes: 0,
            received: u64::from(segment.ecn == Ecn::Ce),
            handshake: Some(segment.ecn),
            newest: segment.ts_val,
            is_first: true,
        })
    }

    /// Writes the count of marked ACKs into a segment, or the answer to the SYN/ACK (RFC 9768
    /// §3.2.2.1). The option is part of that answer, and of each segment with `always`.
    pub(super) fn stamp(&mut self, segment: &mut Segment, always: bool, ect1_first: bool) {
        let answer = self.handshake.take();
        let ace = answer.map_or_else(|| ace_of(self.received), code_of);
        segment.flags = segment.flags.with_ace(ace);
        if always || answer.is_some() {
            // ACKs have no payload, so the counters of bytes never change.
            segment.set_ecn_option(&EcnOption::new(&EcnBytes::default(), ect1_first, ALL_FIELDS));
        }
    }

    /// Returns the number of packets newly reported as marked by an ACK that acknowledged `packets`
    /// packets of `mss` bytes (RFC 9768 appendix A.2).
    pub(super) fn decode(&mut self, segment: &Segment, packets: u64, mss: u64) -> u64 {
        let ace = u64::from(segment.flags.ace());
        // 2^64 is a multiple of the cycle, so the differences may wrap.
        let likely = ace.wrapping_sub(FIRST_PACKETS).wrapping_sub(self.reported) % CYCLE;
        let safe = safest(likely, packets);
        let marked_bytes = segment.ecn_option().and_then(|option| option.ce()).map(|ce| {
            let newly = grown(self.bytes, ce);
            self.bytes = ce;
            u64::from(newly)
        });
        let marked = match marked_bytes {
            // Without the option the counter wrapped as often as it could (appendix A.2.1).
            None => safe,
            Some(0) => likely,
            // Marked segments larger than full ones do not exist: the counter wrapped (A.2.2).
            Some(bytes) if bytes > (self.unconfirmed + likely) * mss => safe,
            Some(bytes) if bytes < (self.unconfirmed + safe) * mss / SAFETY_FACTOR => likely,
            Some(_) => safe,
        };
        self.unconfirmed = if marked_bytes.is_some() { 0 } else { self.unconfirmed + marked };
        self.reported += marked;
        marked
    }
}

/// Returns the ACE field that reports `packets` marked packets.
pub(crate) fn ace_of(packets: u64) -> u8 {
    // A remainder of 8 always fits.
    u8::try_from((FIRST_PACKETS + packets) % CYCLE).unwrap_or(0)
}

/// Returns the largest number of marked packets among `packets` that the ACE field can mean, if it
/// grew by `likely` modulo 8.
fn safest(likely: u64, packets: u64) -> u64 {
    likely + packets.saturating_sub(likely) / CYCLE * CYCLE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Flags;

    const MSS: u64 = 1000;

    fn sender(reported: u64) -> Accurate {
        Accurate { reported, ..*Accurate::new(&Segment::default()) }
    }

    fn ack(packets: u64) -> Segment {
        Segment { flags: Flags::ACK.with_ace(ace_of(packets)), ..Segment::default() }
    }

    /// Also with the option.
    fn ack_of(packets: u64, bytes: u32) -> Segment {
        let mut segment = ack(packets);
        segment.set_ecn_option(&EcnOption::new(
            &EcnBytes { ce: bytes, ..EcnBytes::default() },
            false,
            ALL_FIELDS,
        ));
        segment
    }

    #[test]
    fn the_counter_begins_at_five_and_wraps_at_eight() {
        assert_eq!([0, 1, 2, 3, 8].map(ace_of), [5, 6, 7, 0, 5]);
        let mut sender = sender(0);
        assert_eq!(sender.decode(&ack(0), 2, MSS), 0);
        assert_eq!(sender.decode(&ack(2), 2, MSS), 2);
        assert_eq!(sender.decode(&ack(5), 4, MSS), 3);
        assert_eq!(sender.decode(&ack(11), 7, MSS), 6);
        assert_eq!(sender.reported, 11);
    }

    #[test]
    fn without_an_option_the_counter_wrapped_as_often_as_it_could() {
        // Of 20 packets 3, 11 or 19 were marked.
        assert_eq!(sender(0).decode(&ack(3), 20, MSS), 19);
        // Of 10 packets 11 cannot be marked.
        assert_eq!(sender(0).decode(&ack(3), 10, MSS), 3);
        assert_eq!(sender(0).decode(&ack(3), 1, MSS), 3);
    }

    #[test]
    fn the_marked_bytes_tell_whether_the_counter_wrapped() {
        assert_eq!(sender(0).decode(&ack_of(3, 3000), 20, MSS), 3);
        assert_eq!(sender(0).decode(&ack_of(3, 19_000), 20, MSS), 19);
        // The field looks unchanged, but eight full segments were marked.
        assert_eq!(sender(0).decode(&ack_of(0, 8000), 9, MSS), 8);
        assert_eq!(sender(0).decode(&ack_of(0, 0), 9, MSS), 0);
    }

    #[test]
    fn an_option_also_confirms_the_marks_of_acks_that_had_none() {
        let mut sender = sender(0);
        assert_eq!(sender.decode(&ack(4), 4, MSS), 4);
        assert_eq!(sender.decode(&ack_of(5, 5000), 9, MSS), 1);
        assert_eq!(sender.unconfirmed, 0);
    }
}
