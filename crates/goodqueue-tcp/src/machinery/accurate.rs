//! The sender's part of Accurate ECN (RFC 9768): the handshake, the decoding of the counters that
//! ACKs carry, and the count of marked ACKs.

use alloc::boxed::Box;

use goodqueue::{Ecn, Instant};

use super::Core;
use super::ack_changes::AckChanges;
use crate::accecn::{ALL_FIELDS, EcnBytes, EcnOption, FIRST_PACKETS, code_of, field_of, grown};
use crate::segment::{Flags, Segment};

/// A wrapped counter is assumed unless marked segments would be smaller than full ones by this
/// factor (`SAFETY_FACTOR`, RFC 9768 appendix A.2.2).
const SAFETY_FACTOR: u64 = 2;
/// Values of the ACE field.
const CYCLE: u64 = 8;
/// The second retransmission of a SYN asks for no ECN (RFC 9768 §3.1.4).
const MOST_REQUESTS: u64 = 2;

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
    received: u64,
    /// The ECN field of the SYN/ACK. The next segment reports it instead of `received`.
    handshake: Option<Ecn>,
    /// Timestamp of the newest ACK that was decoded.
    newest: u32,
    /// No ACK came yet after the handshake.
    is_first: bool,
}

impl Accurate {
    fn new(segment: &Segment) -> Box<Self> {
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
    fn stamp(&mut self, segment: &mut Segment, always: bool, ect1_first: bool) {
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
    fn decode(&mut self, segment: &Segment, packets: u64, mss: u64) -> u64 {
        let ace = u64::from(segment.flags.ace());
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
    u8::try_from((FIRST_PACKETS + packets) % CYCLE).unwrap_or(0)
}

/// Returns the largest number of marked packets among `packets` that the ACE field can mean, if it
/// grew by `likely` modulo 8.
fn safest(likely: u64, packets: u64) -> u64 {
    likely + packets.saturating_sub(likely) / CYCLE * CYCLE
}

impl Core {
    /// Returns the ECN bits and the ECN field of a SYN.
    pub(super) fn request_ecn(&mut self, flags: Flags) -> (Flags, Ecn) {
        let asks = self.config.ecn;
        if !self.config.accecn {
            // An ECN-setup SYN (RFC 3168 §6.1.1).
            return (flags.and_if(asks, Flags::ECE | Flags::CWR), self.ecn_of_syn(asks));
        }
        if self.stats.syn_retransmits >= MOST_REQUESTS {
            return (flags, Ecn::NotEct);
        }
        // A SYN that is sent again might have been dropped for its ECN field.
        let field = self.ecn_of_syn(self.stats.syn_retransmits == 0);
        (flags | Flags::AE | Flags::CWR | Flags::ECE, field)
    }

    /// The ECN field of a SYN: ECN-capable only for controllers that need ECN.
    fn ecn_of_syn(&self, agreed: bool) -> Ecn {
        if agreed && self.config.covers_syn_by_ecn() { self.config.capable() } else { Ecn::NotEct }
    }

    /// Takes the mode of the connection from a SYN/ACK (RFC 9768 §3.1.2 table 2).
    pub(super) fn take_answer(&mut self, segment: &Segment) {
        if !self.config.accecn {
            // ECE alone accepts ECN (RFC 3168 §6.1.1).
            let has = |flag| segment.flags.contains(flag);
            self.ecn = self.config.ecn && has(Flags::ECE) && !has(Flags::CWR);
            return;
        }
        self.ecn = match segment.flags.ace() {
            0b000 | 0b111 => false,
            // Classic feedback is too coarse for ECT(1) (RFC 9331 §4.2).
            0b001 => !self.config.l4s,
            code => {
                self.accurate = Some(Accurate::new(segment));
                self.is_unmangled(code)
            }
        };
    }

    /// True unless the answer shows that the ECN field of the SYN was changed on the way, except to
    /// a mark: data is not ECN-capable then (RFC 9768 §3.2.2.3). A reserved code says that the
    /// field arrived as it was (§3.1.3).
    fn is_unmangled(&self, code: u8) -> bool {
        let sent = self.ecn_of_syn(self.stats.syn_retransmits == 0);
        let Some(arrived) = field_of(code) else { return true };
        arrived == sent || (arrived == Ecn::Ce && sent.is_capable())
    }

    /// A repeated SYN/ACK arrived: it is acknowledged again (RFC 9293 §3.10.7.4), with the same
    /// report of its ECN field.
    #[cold]
    pub fn answer_again(&mut self, segment: &Segment) {
        self.due.ack = true;
        if let Some(accurate) = &mut self.accurate {
            accurate.handshake = Some(segment.ecn);
        }
    }

    /// An ACK arrived with a congestion mark.
    #[cold]
    pub(super) fn count_marked_ack(&mut self) {
        if let Some(accurate) = &mut self.accurate {
            accurate.received += 1;
        }
    }

    /// Returns the bytes under the mark that an ACK echoes: those counted, or all that it delivered.
    #[cold]
    pub(super) fn marked_bytes(&self, news: &AckChanges) -> u64 {
        if self.accurate.is_some() { news.marked } else { news.delivered }
    }

    /// Returns a segment with the counters of AccECN.
    #[cold]
    #[inline(never)]
    pub(super) fn counted_segment(&mut self, now: Instant, seq: u64, len: u32, flags: Flags) -> Segment {
        let mut segment = self.plain_segment(now, seq, len, flags);
        let always = self.config.counters_on_data;
        let ect1_first = self.config.puts_ect1_first();
        if let Some(accurate) = &mut self.accurate {
            accurate.stamp(&mut segment, always, ect1_first);
        }
        segment
    }

    /// Takes the counters of AccECN from an ACK that was taken into the scoreboard. An ACK that
    /// shows no progress may have been overtaken, and its counters are old.
    #[inline]
    pub fn take_counters(&mut self, segment: &Segment, news: &mut AckChanges) {
        if self.accurate.is_some() {
            self.decode_counters(segment, news);
        }
    }

    #[cold]
    fn decode_counters(&mut self, segment: &Segment, news: &mut AckChanges) {
        news.echo = false;
        let stamped = self.config.timestamps && segment.ts_ecr != 0;
        let mss = self.mss;
        let Some(accurate) = &mut self.accurate else { return };
        let is_newer = stamped && segment.ts_val.wrapping_sub(accurate.newest).cast_signed() > 0;
        if news.delivered == 0 && !is_newer {
            return;
        }
        accurate.newest = segment.ts_val;
        if core::mem::take(&mut accurate.is_first) && segment.flags.ace() == 0 {
            self.ecn = false; // something clears the field on the way (RFC 9768 §3.2.2.4)
        }
        if self.ecn {
            let marked = accurate.decode(segment, news.delivered.div_ceil(mss), mss);
            self.stats.marks += marked;
            news.marked = marked * mss;
            news.echo = marked > 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(sender(0).decode(&ack(3), 10, MSS), 3);
        assert_eq!(sender(0).decode(&ack(3), 1, MSS), 3);
    }

    #[test]
    fn the_marked_bytes_tell_whether_the_counter_wrapped() {
        assert_eq!(sender(0).decode(&ack_of(3, 3000), 20, MSS), 3);
        assert_eq!(sender(0).decode(&ack_of(3, 19_000), 20, MSS), 19);
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
