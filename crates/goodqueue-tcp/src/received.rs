//! The receiver's part of Accurate ECN (RFC 9768): it counts marked packets and bytes, and reports
//! the counters in each ACK.

use goodqueue::Ecn;

use crate::accecn::{ALL_FIELDS, EcnBytes, EcnOption, code_of, wire_len};
use crate::config::Config;
use crate::machinery::accurate::ace_of;
use crate::segment::{Flags, MAX_SACK_BLOCKS, Segment, TIMESTAMPS};
use crate::stack_info::EcnFeedback;

/// Number of marks that are acknowledged at once, if there is data to acknowledge (RFC 9768
/// §3.2.2.5.1).
const MOST_MARKS: u32 = 2;
/// Room for options in a TCP header, in bytes (RFC 9293 §3.1).
const OPTIONS: u32 = 40;

/// The counters of a receiver that negotiated AccECN.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Number of packets with a mark (r.cep without its first value).
    packets: u64,
    /// Payload bytes with each ECN field.
    bytes: EcnBytes,
    /// ECN field of the SYN, which the SYN/ACK reports.
    syn: Ecn,
    /// ECN field of the last packet.
    last: Ecn,
    /// Number of marks since the last ACK.
    unreported: u32,
    /// The last packet is to be acknowledged at once.
    pub urges: bool,
}

impl Received {
    /// Of a connection whose SYN had this ECN field.
    pub fn new(syn: Ecn) -> Self {
        Self { packets: 0, bytes: EcnBytes::default(), syn, last: syn, unreported: 0, urges: false }
    }

    /// Counts a packet, and decides whether it is acknowledged at once.
    #[cold]
    #[inline(never)]
    pub fn count(&mut self, segment: &Segment, feedback: EcnFeedback) {
        let is_marked = segment.ecn == Ecn::Ce;
        let changed = segment.ecn != self.last;
        self.last = segment.ecn;
        self.bytes.count(segment.ecn, segment.len);
        if is_marked {
            self.packets += 1;
            self.unreported += 1;
        }
        self.urges = match feedback {
            EcnFeedback::Rfc9768 => is_marked && (changed || self.unreported >= MOST_MARKS),
            EcnFeedback::Linux => changed,
        };
    }

    /// Makes a SYN/ACK the answer to the SYN (RFC 9768 §3.1.2 table 2), with an option.
    #[cold]
    #[inline(never)]
    pub fn answer_syn(&self, segment: &mut Segment, config: &Config) {
        segment.flags = segment.flags.with_ace(code_of(self.syn));
        segment.set_ecn_option(&EcnOption::new(&self.bytes, config.puts_ect1_first(), ALL_FIELDS));
    }

    /// Writes the counters into an ACK.
    #[cold]
    #[inline(never)]
    pub fn stamp(&mut self, segment: &mut Segment, config: &Config) {
        self.unreported = 0;
        segment.flags = (segment.flags | Flags::ACK).with_ace(ace_of(self.packets));
        let ect1_first = config.puts_ect1_first();
        let needed = self.needed(ect1_first);
        let mut fields = room(segment, config);
        if fields < needed && segment.sack.len() == MAX_SACK_BLOCKS {
            // The third block gives way if the counters then fit (Linux `tcp_options_fit_accecn`).
            let mut fewer = *segment;
            fewer.sack.truncate(2);
            fields = room(&fewer, config);
            if fields >= needed {
                *segment = fewer;
            }
        }
        // An option without any counter would report nothing.
        if fields >= needed.max(1) {
            segment.set_ecn_option(&EcnOption::new(&self.bytes, ect1_first, fields));
        }
    }

    /// Returns the number of counters that an option must have to report all that have grown.
    fn needed(&self, ect1_first: bool) -> u8 {
        let EcnBytes { ect0, ect1, ce } = self.bytes;
        let [first, last] = if ect1_first { [ect1, ect0] } else { [ect0, ect1] };
        match [first > 0, ce > 0, last > 0] {
            [_, _, true] => 3,
            [_, true, _] => 2,
            [true, ..] => 1,
            _ => 0,
        }
    }
}

/// Returns the number of counters for which a segment has room.
fn room(segment: &Segment, config: &Config) -> u8 {
    // The option is kept in the place of the third block.
    if segment.sack.len() == MAX_SACK_BLOCKS {
        return 0;
    }
    let timestamps = if config.timestamps { TIMESTAMPS } else { 0 };
    let free = OPTIONS.saturating_sub(timestamps + segment.sack.wire_len());
    (1..=ALL_FIELDS).rev().find(|&fields| wire_len(fields) <= free).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(ecn: Ecn) -> Segment {
        Segment { len: 1000, ecn, ..Segment::default() }
    }

    fn urges(fields: &[Ecn], feedback: EcnFeedback) -> alloc::vec::Vec<bool> {
        let mut received = Received::new(Ecn::NotEct);
        let mut answered = |field: &Ecn| {
            received.count(&data(*field), feedback);
            if received.urges {
                received.stamp(&mut Segment::default(), &Config::RFC);
            }
            received.urges
        };
        fields.iter().map(&mut answered).collect()
    }

    #[test]
    fn a_mark_after_none_and_each_second_mark_are_acknowledged_at_once() {
        use Ecn::{Ce, Ect0};
        let fields = [Ect0, Ect0, Ce, Ce, Ce, Ect0, Ce];
        assert_eq!(urges(&fields, EcnFeedback::Rfc9768), [false, false, true, false, true, false, true]);
        assert_eq!(urges(&fields, EcnFeedback::Linux), [true, false, true, false, false, true, true]);
    }

    #[test]
    fn sack_blocks_leave_room_for_fewer_counters() {
        let config = Config { timestamps: true, ..Config::RFC };
        let stamped = |field, ect1_first: bool, blocks: u64| {
            let mut received = Received::new(Ecn::NotEct);
            received.count(&data(field), EcnFeedback::Rfc9768);
            let mut segment = Segment::default();
            (0..blocks).for_each(|block| assert!(segment.sack.push(0, 10 * block + 1, 10 * block + 2)));
            received.stamp(&mut segment, &Config { l4s: ect1_first, ..config });
            (segment.sack.len(), segment.ecn_option().map(|option| option.fields))
        };
        assert_eq!(stamped(Ecn::Ect0, false, 0), (0, Some(3)));
        assert_eq!(stamped(Ecn::Ect0, false, 1), (1, Some(3)));
        // Options have 40 bytes. Timestamps take 12 and two blocks 20; two counters with kind and
        // length fill the other 8.
        assert_eq!(stamped(Ecn::Ect0, false, 2), (2, Some(2)));
        assert_eq!(stamped(Ecn::Ect0, false, 3), (2, Some(2)), "the third block gives way");
        assert_eq!(stamped(Ecn::Ect0, true, 2), (2, None), "the counter of ECT(0) is the last one");
        assert_eq!(stamped(Ecn::Ect0, true, 3), (3, None));
        assert_eq!(stamped(Ecn::Ect1, true, 3), (2, Some(2)));
    }
}
