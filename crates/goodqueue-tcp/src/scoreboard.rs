//! What was sent and not yet cumulatively acknowledged: the scoreboard of RFC 6675.
//!
//! A ring of one record per segment, in the order of sequence numbers; segments keep the boundaries
//! of their first transmission. Counters and cursors are kept up to date by each change, so that
//! pipe, "is it lost" and "what to send next" cost a constant, however large the window. A cursor
//! only moves forward, except after a timeout.
//!
//! Positions are numbers that are never reused: the n-th segment ever sent has position n.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use goodqueue::{Duration, Instant};

use crate::segment::{MAX_SACK_BLOCKS, SackBlocks};

/// Duplicate acknowledgements that mean loss (RFC 6675 §2).
pub(crate) const DUP_THRESH: u64 = 3;
/// Segments that the ring holds before it first grows.
const INITIAL_CAPACITY: usize = 16;

/// The receiver holds it.
const SACKED: u8 = 1;
/// It is taken for lost (IsLost, RFC 6675 §4).
const LOST: u8 = 2;
/// A retransmission of it counts as being in the network.
const RESENT: u8 = 4;
/// It was sent more than once: gives no RTT sample (RFC 6298 §3).
const AMBIGUOUS: u8 = 8;
/// It does not lie in one piece of memory with the one before it, as the host keeps it.
const APART: u8 = 16;

/// A segment that is out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) seq: u64,
    /// Sequence numbers that it takes: payload, and one for FIN.
    pub(crate) len: u32,
}

/// The same as it stands in the ring, four to a cache line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    sent: Instant,
    /// The lower half of its sequence number: all that are out lie within a window, which is less
    /// than 2^31.
    low: u32,
    len: u16,
    marks: u8,
}

const _: () = assert!(size_of::<Slot>() == 16, "there is one for each segment in the network");

impl Slot {
    #[inline]
    fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    #[inline]
    fn len(&self) -> u64 {
        u64::from(self.len)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
const fn low(seq: u64) -> u32 {
    seq as u32
}

/// The sequence number whose lower half is `half`, of those below `end`.
#[inline]
fn whole(end: u64, half: u32) -> u64 {
    end - u64::from(low(end).wrapping_sub(half))
}

/// What a cumulative acknowledgement took off the scoreboard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    /// Bytes that had not been selectively acknowledged before.
    pub(crate) delivered: u64,
    /// When the last of the segments was sent, if it can serve as an RTT sample.
    pub(crate) sent: Option<Instant>,
    /// When the first of them was sent, likewise.
    pub(crate) first_sent: Option<Instant>,
}

/// A delivered segment: the one sent last decides which others are lost (RFC 8985 §6.2 step 2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Delivered {
    pub(crate) sent: Instant,
    /// Sequence number after it, which orders segments of the same instant.
    pub(crate) end: u64,
}

/// What an ACK delivered, for time-based loss detection.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Arrivals {
    /// The one of them that was sent last.
    pub(crate) newest: Option<Delivered>,
    /// When the highest of them was sent: of those cumulatively acknowledged, if there are any.
    /// With its place.
    pub(crate) highest: (u64, Instant),
    /// When the first and the last that were newly SACKed, and sent but once, were sent.
    pub(crate) first_sacked: Option<Instant>,
    pub(crate) last_sacked: Option<Instant>,
    /// One that was sent but once came after a later one, and by how many segments at most.
    pub(crate) reordered: bool,
    pub(crate) displaced: u64,
    /// One that was taken for lost came without having been sent again.
    pub(crate) was_not_lost: bool,
    /// What had been sent again was cumulatively acknowledged; also beyond the first segment.
    pub(crate) acknowledged_resent: (bool, bool),
}

/// What time-based detection found.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Found {
    /// Bytes that were taken for lost, retransmissions too.
    pub(crate) lost: u64,
    /// A retransmission was lost.
    pub(crate) retransmission: bool,
    /// So much later the next segment will be lost, unless it arrives.
    pub(crate) next: Option<Duration>,
}

/// A block of an earlier ACK and the records within it, all of which are marked.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    start: u64,
    end: u64,
    low: u64,
    high: u64,
}

/// What every ACK needs comes first and lies together: with thousands of flows each is out of the
/// cache when its turn comes.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Scoreboard {
    /// A power of two of them, never none; position p is at p modulo their number.
    records: Box<[Slot]>,
    /// Position of the oldest record, and of the next to come.
    first: u64,
    next: u64,
    /// Sequence number after the last record.
    end_seq: u64,
    /// Bytes of all records; of the SACKED; of the LOST and of the RESENT ones that are not SACKED.
    outstanding: u64,
    sacked: u64,
    lost: u64,
    resent: u64,
    /// So many records are [`APART`].
    pieces: u64,
    /// Losses are found by time, in [`detect`](Self::detect), and not by counting.
    rack: bool,
    /// Losses are found by counting what was SACKed above.
    counts: bool,
    /// Somebody wants to know what an ACK delivers.
    watched: bool,
    /// What was SACKed before a timeout, and is acknowledged after it, speaks for that having been
    /// wrong.
    trusts_sacked: bool,
    /// Usual length of a record.
    mss: u32,
    /// Below this position each record is SACKED or RESENT (HighRxt, RFC 6675 §2).
    resend: u64,
    /// Below this position each record is SACKED or LOST. At and above it there are so many SACKED
    /// bytes in so many ranges.
    edge: u64,
    sacked_above: u64,
    ranges_above: u64,
    /// Position after the highest SACKED record.
    high_sacked: u64,
    known: [Known; MAX_SACK_BLOCKS],
    /// Positions that the ACK at hand delivered, if somebody asked for them.
    log: Option<Vec<u64>>,
    /// Of the ACK at hand. A retransmission sent after the second field cannot be what arrived, nor
    /// one sent after the third what is acknowledged.
    arrivals: Arrivals,
    recent: Instant,
    stamped: Instant,
    /// Below this position no record that was sent once awaits [`detect`](Self::detect).
    undecided: u64,
    /// Below this position a record that was never sent again, and arrives, shows the last timeout
    /// to be wrong.
    doubted: u64,
    /// Retransmissions in the order in which they were sent: which, when, and the position that was
    /// next to be sent then.
    resends: VecDeque<(u64, Instant, u64)>,
}

impl Scoreboard {
    pub(crate) fn new(mss: u32, seq: u64, rack: bool) -> Self {
        Self {
            records: vec![Slot::default(); INITIAL_CAPACITY].into_boxed_slice(),
            first: 0,
            next: 0,
            end_seq: seq,
            mss,
            outstanding: 0,
            sacked: 0,
            lost: 0,
            resent: 0,
            pieces: 0,
            edge: 0,
            sacked_above: 0,
            ranges_above: 0,
            resend: 0,
            high_sacked: 0,
            known: [Known::default(); MAX_SACK_BLOCKS],
            rack,
            counts: !rack,
            log: None,
            watched: rack,
            trusts_sacked: false,
            arrivals: Arrivals::default(),
            recent: Instant::MAX,
            stamped: Instant::MAX,
            undecided: 0,
            doubted: 0,
            resends: VecDeque::new(),
        }
    }

    /// An ACK is about to be taken in; a retransmission sent after `recent` cannot be what it tells
    /// of, nor one sent after `stamped` what it acknowledges. (The timestamp of a SACK is older
    /// than what it tells of, and says nothing.)
    #[inline]
    pub(crate) fn begin_ack(&mut self, recent: Instant, stamped: Instant) {
        self.recent = recent;
        self.stamped = stamped.min(recent);
        self.arrivals = Arrivals::default();
    }

    /// What was SACKed when the timer ran out shows, once it is acknowledged, that the timer should
    /// not have (Linux 3.10 to 4.17, by mistake).
    pub(crate) fn trust_sacked(&mut self) {
        self.trusts_sacked = true;
    }

    /// Somebody else decides what is lost.
    pub(crate) fn count_no_losses(&mut self) {
        self.counts = false;
    }

    /// The first position is taken: by a SYN that counts as a segment.
    pub(crate) fn skip_first(&mut self) {
        let places = [&mut self.first, &mut self.next, &mut self.edge, &mut self.resend];
        let marks = [&mut self.high_sacked, &mut self.undecided, &mut self.doubted];
        places.into_iter().chain(marks).for_each(|place| *place = 1);
    }

    /// Forgets what was SACKed, and, but for what is taken for lost, what was sent again.
    pub(crate) fn forget_sacked(&mut self) {
        for position in self.first..self.next {
            let record = self.at_mut(position);
            let before = *record;
            let kept = if before.is(LOST) { LOST | RESENT | AMBIGUOUS } else { AMBIGUOUS };
            record.marks &= kept | APART;
            let len = before.len();
            if before.is(SACKED) && before.is(LOST) {
                self.lost += len;
                self.resent += if before.is(RESENT) { len } else { 0 };
            } else if before.is(RESENT) && !before.is(LOST | SACKED) {
                self.resent -= len;
            }
        }
        self.sacked = 0;
        self.sacked_above = 0;
        self.ranges_above = 0;
        self.edge = self.first;
        self.resend = self.first;
        self.high_sacked = self.first;
        self.known = [Known::default(); MAX_SACK_BLOCKS];
    }

    /// Takes nothing for lost, and nothing for sent again.
    pub(crate) fn forget_lost(&mut self) {
        for position in self.first..self.next {
            self.at_mut(position).marks &= SACKED | AMBIGUOUS | APART;
        }
        self.lost = 0;
        self.resent = 0;
        self.resend = self.first;
    }

    /// From now on the positions that an ACK delivers are kept.
    pub(crate) fn keep_log(&mut self) {
        self.log = Some(Vec::new());
        self.watched = true;
    }

    /// The positions delivered since the last call.
    pub(crate) fn drain_log(&mut self) -> impl Iterator<Item = u64> {
        self.log.as_mut().into_iter().flat_map(|log| log.drain(..))
    }

    /// Position of the oldest segment.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// Position of the segment to come next.
    pub(crate) fn next_position(&self) -> u64 {
        self.next
    }

    /// The segment at `position`, if it is out.
    pub(crate) fn record(&self, position: u64) -> Option<Record> {
        (position >= self.first && position < self.next).then(|| self.unpacked(position))
    }

    fn note_delivered(&mut self, position: u64) {
        if let Some(log) = &mut self.log {
            log.push(position);
        }
    }

    /// What the ACK delivered.
    #[inline]
    pub(crate) fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// Bytes sent and not yet cumulatively acknowledged (FlightSize, RFC 5681 §2).
    #[inline]
    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Estimate of the bytes in the network (pipe, RFC 6675 §4).
    #[inline]
    pub(crate) fn pipe(&self) -> u64 {
        self.outstanding - self.sacked - self.lost + self.resent
    }

    #[inline]
    pub(crate) fn sacked(&self) -> u64 {
        self.sacked
    }

    /// True if a retransmission counts as being in the network.
    pub(crate) fn has_resent(&self) -> bool {
        self.resent > 0
    }

    #[inline]
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == self.next
    }

    /// The segment was sent for the first time. It follows the one before without a gap; `apart`:
    /// in another burst.
    #[inline]
    pub(crate) fn push(&mut self, len: u32, now: Instant, apart: bool) {
        if self.next - self.first == self.records.len() as u64 {
            self.grow();
        }
        // The longest segment has less than 2^16 bytes (MAX_MSS), and a FIN.
        let short = u16::try_from(len).unwrap_or(u16::MAX);
        let marks = if apart { APART } else { 0 };
        self.pieces += u64::from(apart);
        *self.at_mut(self.next) = Slot { low: low(self.end_seq), sent: now, len: short, marks };
        self.next += 1;
        self.end_seq += u64::from(len);
        self.outstanding += u64::from(len);
    }

    /// Everything below `ack` arrived. A segment acknowledged in part stays as it is.
    #[inline]
    pub(crate) fn acknowledge(&mut self, ack: u64) -> Acknowledged {
        let mut delivered = 0;
        let mut sent = None;
        let mut ambiguous = false;
        let plain = self.sacked == 0 && self.lost == 0;
        let oldest = self.first;
        let mut first_sent = None;
        while self.first < self.next {
            let record = *self.at(self.first);
            let len = record.len();
            if self.seq_of(record) + len > ack {
                break;
            }
            self.outstanding -= len;
            self.pieces -= u64::from(record.is(APART));
            if record.marks & !APART == 0 {
                delivered += len;
                sent = Some(record.sent);
                if self.watched {
                    first_sent = first_sent.or(sent);
                    self.note_displacement(self.first);
                    self.note_delivered(self.first);
                }
            } else {
                if record.is(AMBIGUOUS) {
                    ambiguous = true;
                    let beyond = self.first > oldest;
                    let resent = &mut self.arrivals.acknowledged_resent;
                    *resent = (true, resent.1 || beyond);
                }
                self.note_marked_arrival(record, self.stamped, true);
                if self.trusts_sacked && !record.is(AMBIGUOUS) {
                    if record.is(SACKED) {
                        self.arrivals.was_not_lost |= self.first < self.doubted;
                    } else {
                        self.note_displacement(self.first);
                    }
                }
                if self.watched && !record.is(SACKED) {
                    self.note_delivered(self.first);
                }
                delivered += self.forget(record);
            }
            self.first += 1;
        }
        if self.first < self.next {
            self.part(self.first);
        }
        self.resend = self.resend.max(self.first);
        self.edge = self.edge.max(self.first);
        if !plain {
            self.high_sacked = self.high_sacked.max(self.first);
        }
        if self.rack
            && let Some(sent) = sent
        {
            self.note_arrival(Delivered { sent, end: self.seq_of_first() }, true);
        }
        if ambiguous {
            return Acknowledged { delivered, sent: None, first_sent: None };
        }
        Acknowledged { delivered, sent, first_sent: first_sent.or(sent) }
    }

    fn seq_of_first(&self) -> u64 {
        if self.is_empty() { self.end_seq } else { self.seq_of(*self.at(self.first)) }
    }

    fn note_arrival(&mut self, arrival: Delivered, acknowledged: bool) {
        self.arrivals.newest = self.arrivals.newest.max(Some(arrival));
        let place = arrival.end | u64::from(acknowledged) << 63;
        if place >= self.arrivals.highest.0 {
            self.arrivals.highest = (place, arrival.sent);
        }
    }

    /// A record that was sent but once arrived.
    #[inline]
    fn note_displacement(&mut self, position: u64) {
        if position < self.high_sacked {
            self.arrivals.reordered = true;
            self.arrivals.displaced = self.arrivals.displaced.max(self.high_sacked - position);
        }
    }

    /// A marked record arrived.
    fn note_marked_arrival(&mut self, record: Slot, recent: Instant, acknowledged: bool) {
        if !self.rack || record.is(SACKED) {
            return;
        }
        if record.is(AMBIGUOUS) {
            if record.sent > recent {
                return; // the first transmission arrived, whose time is forgotten (RFC 8985 §6.2 step 2)
            }
        } else {
            self.arrivals.was_not_lost |= record.is(LOST);
        }
        let arrival = Delivered { sent: record.sent, end: self.seq_of(record) + record.len() };
        self.note_arrival(arrival, acknowledged);
    }

    /// Takes the marks of the first record out of the counters; returns what its arrival adds to
    /// what was delivered.
    fn forget(&mut self, record: Slot) -> u64 {
        let len = record.len();
        if record.is(SACKED) {
            self.sacked -= len;
            if self.first >= self.edge {
                self.sacked_above -= len;
                self.ranges_above -= u64::from(!self.is_sacked(self.first + 1));
            }
            return 0;
        }
        if record.is(LOST) {
            self.lost -= len;
        }
        if record.is(RESENT) {
            self.resent -= len;
        }
        len
    }

    /// Marks what the blocks name, then what that shows to be lost (Update and IsLost, RFC 6675
    /// §4). Returns the bytes newly marked, and how many blocks make no sense and were ignored.
    pub(crate) fn sack(&mut self, ack: u64, blocks: &SackBlocks) -> (u64, u64) {
        let mut bytes = 0;
        let mut invalid = 0;
        let known = self.known;
        let mut seen = [Known::default(); MAX_SACK_BLOCKS];
        // The lowest first, as Linux sorts them: after an ACK that was lost two may be new, and
        // neither overtook the other.
        let mut list = [(u64::MAX, 0); MAX_SACK_BLOCKS];
        list.iter_mut().zip(blocks.iter(ack)).for_each(|(place, block)| *place = block);
        list.sort_unstable();
        for (slot, (start, end)) in seen.iter_mut().zip(list).take(blocks.len()) {
            if start >= end || end > self.end_seq {
                invalid += 1;
                continue;
            }
            if end <= ack {
                continue; // DSACK, or old
            }
            if let Some(same) = known.iter().find(|known| known.start == start && known.end == end) {
                *slot = *same;
                continue;
            }
            let low = self.position(start);
            let high = self.position_before(end);
            bytes += self.mark_sacked(low, high, &known);
            *slot = Known { start, end, low, high };
        }
        self.known = seen;
        if bytes > 0 && self.counts {
            self.mark_lost();
        }
        (bytes, invalid)
    }

    /// Marks the records `low..high` except those in `known`.
    fn mark_sacked(&mut self, low: u64, high: u64, known: &[Known]) -> u64 {
        if low >= high {
            return 0;
        }
        for (index, old) in known.iter().enumerate() {
            if old.low < high && low < old.high {
                let rest = known.get(index + 1..).unwrap_or(&[]);
                return self.mark_sacked(low, old.low, rest) + self.mark_sacked(old.high, high, rest);
            }
        }
        let mut bytes = 0;
        for position in low..high {
            let record = *self.at(position);
            if record.is(SACKED) {
                continue;
            }
            let len = record.len();
            bytes += len;
            if self.watched {
                self.note_sacked(position, record);
            }
            self.at_mut(position).marks |= SACKED;
            if self.rack {
                self.join(position);
            }
            if record.is(LOST) {
                self.lost -= len;
            }
            if record.is(RESENT) {
                self.resent -= len;
            }
            if position >= self.edge {
                self.sacked_above += len;
                self.ranges_above += u64::from(!self.is_sacked(position + 1));
                self.ranges_above -= u64::from(position > self.edge && self.is_sacked(position - 1));
            }
        }
        self.sacked += bytes;
        self.high_sacked = self.high_sacked.max(high);
        bytes
    }

    /// Marks as lost each record with enough SACKED above it (IsLost, RFC 6675 §4): more than two
    /// segments' bytes, or three separate ranges.
    fn mark_lost(&mut self) {
        while self.edge < self.next
            && (self.sacked_above > (DUP_THRESH - 1) * u64::from(self.mss) || self.ranges_above >= DUP_THRESH)
        {
            let record = *self.at(self.edge);
            let len = record.len();
            if record.is(SACKED) {
                self.sacked_above -= len;
                self.ranges_above -= u64::from(!self.is_sacked(self.edge + 1));
            } else if !record.is(LOST) {
                self.at_mut(self.edge).marks |= LOST;
                self.lost += len;
            }
            self.edge += 1;
        }
    }

    /// True if the oldest segment is taken for lost.
    pub(crate) fn is_front_lost(&self) -> bool {
        !self.is_empty() && self.at(self.first).marks & (LOST | SACKED) == LOST
    }

    /// True if the oldest segment was sent again.
    pub(crate) fn is_front_resent(&self) -> bool {
        !self.is_empty() && self.at(self.first).is(AMBIGUOUS)
    }

    /// Takes the oldest segment for lost, whatever was SACKED above it.
    pub(crate) fn mark_front_lost(&mut self) {
        if self.is_empty() {
            return;
        }
        let front = *self.at(self.first);
        if front.marks & (LOST | SACKED) == 0 {
            self.at_mut(self.first).marks |= LOST;
            self.lost += front.len();
        }
    }

    /// The retransmission timer ran out: everything not SACKED is lost, and no retransmission is in
    /// the network. What is SACKED stays so, unless the oldest segment is SACKED: then the receiver
    /// reneged (RFC 2018 §8).
    ///
    /// What was sent after `recent`, except the oldest segment, may still arrive and is kept (RFC
    /// 8985 §6.3).
    pub(crate) fn time_out(&mut self, recent: Instant, forget: bool) {
        let reneged = forget || (!self.is_empty() && self.at(self.first).is(SACKED));
        if reneged {
            self.known = [Known::default(); MAX_SACK_BLOCKS];
            self.high_sacked = self.first;
        }
        self.sacked = 0;
        self.lost = 0;
        self.resent = 0;
        let first = self.first;
        for position in self.first..self.next {
            let record = self.at_mut(position);
            let len = record.len();
            if record.is(SACKED) && !reneged {
                self.sacked += len;
            } else if record.sent > recent && position != first {
                record.marks &= AMBIGUOUS | RESENT | LOST | APART;
                let marks = record.marks;
                self.lost += if marks & LOST != 0 { len } else { 0 };
                self.resent += if marks & RESENT != 0 { len } else { 0 };
            } else {
                record.marks = (record.marks & (AMBIGUOUS | APART)) | LOST;
                self.lost += len;
            }
        }
        self.undecided = self.first;
        self.doubted = self.next;
        self.edge = self.next;
        self.sacked_above = 0;
        self.ranges_above = 0;
        self.resend = self.first;
    }

    /// The first segment that is lost and not yet resent (NextSeg rule 1, RFC 6675 §4).
    #[inline]
    pub(crate) fn next_lost(&mut self) -> Option<(u64, Record)> {
        if self.lost == 0 {
            return None;
        }
        if self.rack {
            // Lost ones may lie beyond others that are not.
            while self.resend < self.next {
                if self.at(self.resend).marks & (SACKED | RESENT | LOST) == LOST {
                    return Some((self.resend, self.unpacked(self.resend)));
                }
                self.resend += 1;
            }
            return None;
        }
        let position = self.next_to_resend()?;
        self.at(position).is(LOST).then(|| (position, self.unpacked(position)))
    }

    /// The first segment that is neither SACKED nor resent, below one that is SACKED (NextSeg rule
    /// 3).
    pub(crate) fn next_hole(&mut self) -> Option<(u64, Record)> {
        let hole = self.next_to_resend()?;
        (hole < self.high_sacked).then(|| (hole, self.unpacked(hole)))
    }

    /// Position of the first segment from `position` on that is not SACKED, below one that is.
    pub(crate) fn hole_from(&self, position: u64) -> Option<u64> {
        (position.max(self.first)..self.high_sacked).find(|&hole| !self.at(hole).is(SACKED))
    }

    /// The last segment that is not SACKED (NextSeg rule 4, the rescue retransmission).
    pub(crate) fn rescue(&self) -> Option<(u64, Record)> {
        let last = (self.first..self.next).rev().find(|&position| !self.at(position).is(SACKED))?;
        Some((last, self.unpacked(last)))
    }

    /// The oldest segment.
    pub(crate) fn front(&self) -> Option<(u64, Record)> {
        (!self.is_empty()).then(|| (self.first, self.unpacked(self.first)))
    }

    /// The segment at `position` was sent again.
    pub(crate) fn resent(&mut self, position: u64, now: Instant) {
        let record = self.at_mut(position);
        let before = *record;
        record.marks |= RESENT | AMBIGUOUS;
        record.sent = now;
        if before.marks & (SACKED | RESENT) == 0 {
            self.resent += before.len();
        }
        if self.rack {
            self.resends.push_back((position, now, self.next));
        }
    }

    /// The segment at `position` was sent again, and takes the place of what was sent before, if
    /// that is not taken for lost.
    pub(crate) fn resent_in_place(&mut self, position: u64, now: Instant) {
        let lost = self.at(position).is(LOST);
        if lost {
            self.resent(position, now);
        } else {
            let record = self.at_mut(position);
            record.marks |= AMBIGUOUS;
            record.sent = now;
        }
    }

    /// When the segment at `position` was last sent; whether it was sent once.
    pub(crate) fn last_sent(&self, position: u64) -> (Instant, bool) {
        let record = self.at(position);
        (record.sent, !record.is(AMBIGUOUS))
    }

    /// Pipe counted from the records, as RFC 6675 §4 words it; equals [`pipe`](Self::pipe).
    pub(crate) fn recount_pipe(&self) -> u64 {
        let octets = |record: &Slot| {
            let len = record.len();
            let original = if record.is(LOST) { 0 } else { len };
            let retransmission = if record.is(RESENT) { len } else { 0 };
            if record.is(SACKED) { 0 } else { original + retransmission }
        };
        (self.first..self.next).map(|position| octets(self.at(position))).sum()
    }

    fn next_to_resend(&mut self) -> Option<u64> {
        while self.resend < self.next {
            if self.at(self.resend).marks & (SACKED | RESENT) == 0 {
                return Some(self.resend);
            }
            self.resend += 1;
        }
        None
    }

    /// Positions of the records that lie within a block, the second after the last.
    pub(crate) fn positions(&self, start: u64, end: u64) -> (u64, u64) {
        (self.position(start), self.position_before(end.min(self.end_seq)))
    }

    /// Position of the first record that begins at or after `seq`.
    fn position(&self, seq: u64) -> u64 {
        if seq >= self.end_seq {
            return self.next;
        }
        let start = self.seq_of_first();
        if seq <= start {
            return self.first;
        }
        // Nearly always all segments are full, and the narrow division is the cheap one.
        let distance = u32::try_from(seq - start).unwrap_or(u32::MAX);
        let guess = self.first + u64::from(distance / self.mss);
        if guess < self.next && self.at(guess).low == low(seq) {
            return guess;
        }
        let (mut low, mut high) = (self.first, self.next);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.seq_of(*self.at(middle)) < seq {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Position after the last record that ends at or before `seq`.
    fn position_before(&self, seq: u64) -> u64 {
        let position = self.position(seq);
        let start = if position < self.next { self.seq_of(*self.at(position)) } else { self.end_seq };
        if start == seq { position } else { position.saturating_sub(1).max(self.first) }
    }

    #[inline]
    pub(crate) fn is_sacked(&self, position: u64) -> bool {
        position < self.next && position >= self.first && self.at(position).is(SACKED)
    }

    #[inline]
    fn slot(&self, position: u64) -> usize {
        usize::try_from(position & (self.records.len() as u64 - 1)).unwrap_or(0)
    }

    #[inline]
    fn at(&self, position: u64) -> &Slot {
        &self.records[self.slot(position)]
    }

    #[inline]
    fn at_mut(&mut self, position: u64) -> &mut Slot {
        let slot = self.slot(position);
        &mut self.records[slot]
    }

    /// Places from the oldest record on, a cache line from each other, and that of the next record
    /// to come.
    #[inline]
    pub(crate) fn sample(&self) -> impl Iterator<Item = &Slot> {
        let from_oldest = (self.first..self.next).step_by(4).take(3);
        from_oldest.chain([self.next]).map(|position| self.at(position))
    }

    /// The whole sequence number of a record that is out.
    #[inline]
    fn seq_of(&self, record: Slot) -> u64 {
        whole(self.end_seq, record.low)
    }

    #[inline]
    fn unpacked(&self, position: u64) -> Record {
        let record = *self.at(position);
        Record { seq: self.seq_of(record), len: u32::from(record.len) }
    }

    #[cold]
    fn grow(&mut self) {
        let capacity = self.records.len() * 2;
        let mut records = vec![Slot::default(); capacity].into_boxed_slice();
        for position in self.first..self.next {
            records[usize::try_from(position & (capacity as u64 - 1)).unwrap_or(0)] = *self.at(position);
        }
        self.records = records;
    }
}

mod forward;
mod frto;
mod pieces;
mod refused;
mod timed;

#[cfg(test)]
mod tests;
