//! The scoreboard of RFC 6675: the segments that were sent and not yet cumulatively acknowledged.
//!
//! A ring of one record per segment, in the order of sequence numbers; segments keep the boundaries
//! of their first transmission. Each change updates counters and cursors, so that the pipe, the
//! losses and the next segment to send take constant time for windows of any size. A cursor only
//! moves forward, except after a timeout.
//!
//! Positions are numbers that are never reused: the n-th segment ever sent has position n.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;

use goodqueue::{Duration, Instant};

use crate::segment::MAX_SACK_BLOCKS;

mod forward;
mod frto;
mod log;
mod pieces;
mod places;
mod refused;
mod resend;
mod sacks;
mod slot;
#[cfg(test)]
mod tests;
mod timed;
mod timeout;

use log::Log;
pub use log::LostRecord;
pub use slot::Record;
use slot::{AMBIGUOUS, APART, LOST, RESENT, SACKED, Slot, low};

/// Duplicate acknowledgements that mean loss (RFC 6675 §2).
pub const DUP_THRESH: u64 = 3;
/// Segments that the ring holds before it first grows: a power of two above the initial window of
/// ten (RFC 6928).
const INITIAL_CAPACITY: usize = 16;

/// The segments that a cumulative acknowledgement removed from the scoreboard.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// Bytes that had not been selectively acknowledged before.
    pub delivered: u64,
    /// When the last of the segments was sent, if it can serve as an RTT sample.
    pub sent: Option<Instant>,
    /// When the first of the segments was sent, if it can serve as an RTT sample.
    pub first_sent: Option<Instant>,
}

/// A delivered segment: the one sent last decides which others are lost (RFC 8985 §6.2 step 2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Delivered {
    /// When it was sent.
    pub sent: Instant,
    /// Sequence number after it, which orders segments of the same instant.
    pub end: u64,
}

/// The segments that an ACK delivered, for time-based loss detection.
#[derive(Clone, Copy, Default, Debug)]
pub struct Arrivals {
    /// The one of them that was sent last.
    pub newest: Option<Delivered>,
    /// Place and sending time of the highest of them: of the cumulatively acknowledged segments, if
    /// there are any.
    pub highest: (u64, Instant),
    /// When the first segment was sent that was newly SACKed, and sent but once.
    pub first_sacked: Option<Instant>,
    /// When the last segment was sent that was newly SACKed, and sent but once.
    pub last_sacked: Option<Instant>,
    /// One that was sent but once came after a later one.
    pub reordered: bool,
    /// Largest number of segments by which one that was sent but once came late.
    pub displaced: u64,
    /// One that was taken for lost came without having been sent again.
    pub was_not_lost: bool,
    /// A segment that had been sent again was cumulatively acknowledged; and one beyond the first
    /// segment was.
    pub acknowledged_resent: (bool, bool),
}

/// The result of time-based detection.
#[derive(Clone, Copy, Default, Debug)]
pub struct LateSegments {
    /// Bytes that were taken for lost, including retransmissions.
    pub lost: u64,
    /// A retransmission was lost.
    pub retransmission: bool,
    /// Time until all waiting segments are lost, unless they arrive.
    pub next: Option<Duration>,
}

/// A block of an earlier ACK and the records within it, all of which are marked.
#[derive(Clone, Copy, Debug, Default)]
struct MarkedBlock {
    start: u64,
    end: u64,
    low: u64,
    high: u64,
}

// `repr(C)` keeps the fields in this order.
/// The fields that every ACK needs come first and lie together: with thousands of flows every
/// scoreboard misses the cache.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Scoreboard {
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
    /// Number of records that are [`APART`].
    pieces: u64,
    /// Losses are found by time, in [`detect`](Self::detect), and not by counting.
    rack: bool,
    /// Losses are found by counting what was SACKed above.
    counts: bool,
    /// The deliveries of an ACK are recorded.
    watched: bool,
    /// A segment that was SACKed before a timeout and is acknowledged after it shows that the
    /// timeout was wrong.
    trusts_sacked: bool,
    /// Usual length of a record.
    mss: u32,
    /// Below this position each record is SACKED or RESENT (HighRxt, RFC 6675 §2).
    resend: u64,
    /// Below this position each record is SACKED or LOST. The next two fields count the SACKED
    /// bytes and their ranges at and above it.
    edge: u64,
    sacked_above: u64,
    ranges_above: u64,
    /// Position after the highest SACKED record.
    high_sacked: u64,
    known: [MarkedBlock; MAX_SACK_BLOCKS],
    /// Positions that the ACK at hand delivered, if somebody asked for them.
    log: Option<Log>,
    /// Arrivals of the ACK at hand. A retransmission sent after `recent` cannot have arrived, and
    /// one sent after `stamped` cannot be acknowledged.
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
    /// Without losses of its own: the stack decides what is lost.
    pub fn of_deciding_stack(mss: u32, seq: u64) -> Self {
        Self { counts: false, ..Self::new(mss, seq, false) }
    }

    /// For segments of `mss` bytes, the first of which begins at `seq`. `rack`: losses are found by
    /// time.
    pub fn new(mss: u32, seq: u64, rack: bool) -> Self {
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
            known: [MarkedBlock::default(); MAX_SACK_BLOCKS],
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

    /// Prepares for an ACK. It cannot report a retransmission sent after `recent`, nor cumulatively
    /// acknowledge one sent after `stamped`. (The timestamp of a SACK is older than the segments
    /// that it reports, and therefore no evidence.)
    #[inline]
    pub fn begin_ack(&mut self, recent: Instant, stamped: Instant) {
        self.recent = recent;
        // A retransmission that cannot have arrived cannot be acknowledged either.
        self.stamped = stamped.min(recent);
        self.arrivals = Arrivals::default();
    }

    /// A segment that was SACKed when the timer ran out shows, once it is acknowledged, that the
    /// timeout was wrong (Linux 3.10 to 4.17, by mistake).
    pub fn trust_sacked(&mut self) {
        self.trusts_sacked = true;
    }

    /// The first position is taken: by a SYN that counts as a segment.
    pub fn skip_first(&mut self) {
        let places = [&mut self.first, &mut self.next, &mut self.edge, &mut self.resend];
        let marks = [&mut self.high_sacked, &mut self.undecided, &mut self.doubted];
        places.into_iter().chain(marks).for_each(|place| *place = 1);
    }

    /// From now on the positions that an ACK delivers, and those that are taken for lost, are kept.
    pub fn keep_log(&mut self) {
        self.log = Some(Log::default());
        self.watched = true;
    }

    /// The positions delivered since the last call.
    pub fn drain_delivered(&mut self) -> impl Iterator<Item = u64> {
        self.log.as_mut().into_iter().flat_map(|log| log.delivered.drain(..))
    }

    /// What was taken for lost since the last call.
    pub fn drain_lost(&mut self) -> impl Iterator<Item = LostRecord> {
        self.log.as_mut().into_iter().flat_map(|log| log.lost.drain(..))
    }

    fn note_delivered(&mut self, position: u64) {
        if let Some(log) = &mut self.log {
            log.delivered.push(position);
        }
    }

    /// The transmission at `position`, which was in the network, is taken for lost.
    fn note_lost(&mut self, position: u64, bytes: u64) {
        if let Some(log) = &mut self.log {
            log.lost.push(LostRecord { position, bytes });
        }
    }

    /// Returns the deliveries of the ACK.
    #[inline]
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// Bytes sent and not yet cumulatively acknowledged (FlightSize, RFC 5681 §2).
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Estimate of the bytes in the network (pipe, RFC 6675 §4).
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.outstanding - self.sacked - self.lost + self.resent
    }

    /// Returns the bytes that were selectively acknowledged.
    #[inline]
    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    /// True if a retransmission counts as being in the network.
    pub fn has_resent(&self) -> bool {
        self.resent > 0
    }

    /// Returns the bytes that are taken for lost.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns true if no segment is out.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == self.next
    }

    /// The segment was sent for the first time. It follows the one before without a gap; `apart`:
    /// in another burst.
    #[inline]
    pub fn push(&mut self, len: u32, now: Instant, apart: bool) {
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
    pub fn acknowledge(&mut self, ack: u64) -> Acknowledged {
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
            // The usual segment: it has no marks, so the counters of marks stay as they are.
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
            // The rest of a burst that was acknowledged in part takes memory of its own.
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
        // Karn's algorithm (RFC 6298 §3): the ACK may answer to either transmission of one that was
        // sent twice.
        if ambiguous {
            return Acknowledged { delivered, sent: None, first_sent: None };
        }
        Acknowledged { delivered, sent, first_sent: first_sent.or(sent) }
    }

    fn note_arrival(&mut self, arrival: Delivered, acknowledged: bool) {
        self.arrivals.newest = self.arrivals.newest.max(Some(arrival));
        // The highest bit puts acknowledged segments above SACKed ones. No sequence number reaches
        // it.
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

    /// Removes the marks of the first record from the counters. Returns the bytes that its arrival
    /// delivers.
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

    /// Pipe counted from the records, as RFC 6675 §4 words it; equals [`pipe`](Self::pipe).
    pub fn recount_pipe(&self) -> u64 {
        let octets = |record: &Slot| {
            let len = record.len();
            let original = if record.is(LOST) { 0 } else { len };
            let retransmission = if record.is(RESENT) { len } else { 0 };
            if record.is(SACKED) { 0 } else { original + retransmission }
        };
        (self.first..self.next).map(|position| octets(self.at(position))).sum()
    }
}
