//! ECN at the sender: the handshake that agrees on it, and the marks that ACKs report (RFC 3168,
//! RFC 9768).

use goodqueue::{Ecn, Instant};

use super::Core;
use super::accurate::Accurate;
use super::ack_changes::AckChanges;
use crate::accecn::field_of;
use crate::segment::{Flags, Segment};

/// The second retransmission of a SYN asks for no ECN (RFC 9768 §3.1.4).
const MOST_REQUESTS: u64 = 2;

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

    /// Returns the bytes under the mark that an ACK echoes: those counted, or all that it
    /// delivered.
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
        // Stamps wrap, so the sign of the difference tells which is newer (RFC 7323 §5.2).
        let is_newer = stamped && segment.ts_val.wrapping_sub(accurate.newest).cast_signed() > 0;
        if news.delivered == 0 && !is_newer {
            return;
        }
        accurate.newest = segment.ts_val;
        if core::mem::take(&mut accurate.is_first) && segment.flags.ace() == 0 {
            self.ecn = false; // something clears the field on the way (RFC 9768 §3.2.2.4)
        }
        if self.ecn {
            // The ACE field counts packets, and a short segment is a packet too.
            let marked = accurate.decode(segment, news.delivered.div_ceil(mss), mss);
            self.stats.marks += marked;
            // The counter gives packets, so each counts as a full segment.
            news.marked = marked * mss;
            news.echo = marked > 0;
        }
    }
}
