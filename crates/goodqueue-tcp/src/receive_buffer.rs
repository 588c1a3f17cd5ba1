//! The receive buffer of Linux, which grows with the rate of the connection (dynamic right-sizing,
//! `tcp_rcv_space_adjust` of Linux 7.3, 6.1, 3.14 and 3.2), and the window that Linux announces
//! from it. While the window grows, no ACK is delayed. The numbers of each kernel are in
//! [`BufferTuning`].

use alloc::vec::Vec;

use goodqueue::{Duration, Instant};

use crate::clock::TICK;
use crate::config::{BufferGrowth, BufferTuning};

/// A window is counted in this part of the buffer (`TCP_RMEM_TO_WIN_SCALE`).
const PARTS: u64 = 256;
/// Below this round-trip time in microseconds, the buffer of Linux 7.3 grows in proportion to it
/// (`tcp_rcvbuf_low_rtt`).
const LOW_RTT: u64 = 1000;
/// Largest number of memory pieces in two joined segments (`MAX_SKB_FRAGS`). A segment out of order
/// is joined to the one before it within this limit, and then takes no further overhead.
const PIECES: u64 = 17;
/// Size in bytes of a page of the sender's memory (`skb_page_frag_refill`). A segment that begins
/// in one page and ends in the next has two pieces, any other one.
const PAGE: u64 = 32_768;
/// Step in bytes by which the assumed overhead grows until the window holds a segment.
const OVERHEAD_STEP: u64 = 128;
/// Data of the first round trip that Linux assumes, in segments (`TCP_INIT_CWND`).
const INITIAL_SEGMENTS: u64 = 10;
/// Segments added to the window for losses.
const CUSHION: u64 = 16;
/// Linux measures round trips in this unit since 4.x, in nanoseconds; before, in ticks.
const MICROSECOND: u64 = 1000;
// `tcp_event_data_recv` has this bound.
/// Shortest segment, in bytes, that lets the window grow.
const SHORT: u32 = 128;

/// Segments out of order that were joined.
#[derive(Clone, Copy, Debug)]
struct Joined {
    /// First sequence number.
    start: u64,
    /// Sequence number after the last byte.
    end: u64,
    /// Pieces of memory.
    pieces: u64,
}

impl Joined {
    /// Returns a single segment.
    fn new(start: u64, end: u64) -> Self {
        let page = |seq: u64| seq.saturating_sub(1) / PAGE;
        Self { start, end, pieces: 1 + page(end.saturating_sub(1)) - page(start) }
    }

    /// Joins `next` if it follows and the pieces allow it. Returns true if it was joined.
    fn join(&mut self, next: Self) -> bool {
        let fits = self.end == next.start && self.pieces + next.pieces <= PIECES;
        if fits {
            self.end = next.end;
            self.pieces += next.pieces;
        }
        fits
    }
}

/// State of the tuning.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveBuffer {
    tuning: BufferTuning,
    /// Payload of a full segment in bytes.
    mss: u64,
    /// Size of the buffer in bytes.
    buffer: u64,
    /// Share of the buffer that is window, in 256ths (`scaling_ratio`).
    share: u64,
    /// Largest window in bytes that the buffer allows.
    clamp: u64,
    /// Window in bytes that is announced if the buffer has room.
    announced: u64,
    /// Smoothed RTT that the receiver measured, in [units](Self::unit) times eight.
    rtt: u64,
    /// Tick of the timestamp that gave the last RTT sample.
    answered: Option<u64>,
    /// Bytes that the application read in the last round trip.
    space: u64,
    /// The next byte expected, as of the last segment in order.
    next: u64,
    /// First sequence number of this round trip.
    from: u64,
    /// Start of this round trip; `None`: nothing was read yet, and the system counts from then on.
    since: Option<Instant>,
    /// Segments out of order, by sequence number.
    held: Vec<Joined>,
    /// Bytes of payload in `held`.
    held_bytes: u64,
}

impl ReceiveBuffer {
    /// Returns the buffer of a connection that was established at `now`. Full segments carry `mss`
    /// bytes.
    pub(crate) fn new(mss: u32, tuning: BufferTuning, now: Instant) -> Self {
        let mss = u64::from(mss);
        // One segment stays reserved (`tcp_init_buffer_space`).
        let clamp = (tuning.initial / 2).saturating_sub(mss).max(2 * mss);
        let announced = tuning.first_window.map_or(clamp, |segments| clamp.min(segments * mss));
        let space = clamp.min(tuning.first_window.unwrap_or(INITIAL_SEGMENTS) * mss);
        Self {
            tuning,
            mss,
            buffer: tuning.initial,
            // Half of a buffer is window (`tcp_adv_win_scale` 1) until Linux 7.3 measures its
            // segments.
            share: PARTS / 2,
            clamp,
            announced,
            rtt: 0,
            answered: None,
            space,
            next: 1,
            from: 1,
            since: (tuning.growth != BufferGrowth::TwoRoundTrips).then_some(now),
            held: Vec::new(),
            held_bytes: 0,
        }
    }

    /// Returns the memory that segments out of order take, with `unread` bytes beside them.
    #[inline]
    fn taken(&self, unread: u64) -> u64 {
        self.held_bytes + self.held.len() as u64 * self.tuning.taken + unread
    }

    /// Returns the memory that a segment in order with `len` bytes of payload takes until it is
    /// read.
    #[inline]
    pub(crate) const fn of_segment(&self, len: u32) -> u64 {
        len as u64 + self.tuning.taken
    }

    /// Returns the next larger window that can be announced. Scales are powers of two.
    #[inline]
    pub(crate) const fn aligned(&self, window: u64) -> u64 {
        let mask = self.tuning.scale - 1;
        (window + mask) & !mask
    }

    /// Returns the window that `space` bytes of the buffer allow.
    #[inline]
    const fn window_of(&self, space: u64) -> u64 {
        space * self.share / PARTS
    }

    /// True for the kernels before 6.x.
    #[inline]
    fn is_old(&self) -> bool {
        matches!(self.tuning.growth, BufferGrowth::Stepwise | BufferGrowth::TwoRoundTrips)
    }

    /// Returns the unit of round trips in nanoseconds.
    #[inline]
    fn unit(&self) -> u64 {
        if self.is_old() { TICK } else { MICROSECOND }
    }

    /// Returns the window, and whether it is less than half of the largest one. `unread` bytes of
    /// the buffer are in use beside the segments out of order.
    #[inline]
    pub(crate) fn window(&self, unread: u64) -> (u64, bool) {
        let free = self.window_of(self.buffer.saturating_sub(self.taken(unread)));
        // Below half of the window Linux ends quick ACKs (`__tcp_select_window()`).
        let is_scarce = free < self.clamp.min(self.window_of(self.buffer)) / 2;
        (self.aligned(self.announced.min(free)), is_scarce)
    }

    /// A segment of `len` bytes arrived. It answers a segment that was sent `rtt` ago, in the tick
    /// `answered` of the timestamps clock.
    #[inline]
    pub(crate) fn time(&mut self, len: u32, answered: u64, rtt: Duration) {
        let is_old = self.is_old();
        if (is_old || self.answered != Some(answered)) && u64::from(len) >= self.mss {
            self.answered = Some(answered);
            // Since Linux 4.x, a shorter RTT replaces the smoothed one.
            let sample = rtt.as_nanos() / self.unit();
            let is_less = self.rtt == 0 || !is_old && sample * 8 < self.rtt;
            self.rtt = if is_less { sample * 8 } else { self.rtt - self.rtt / 8 + sample };
        }
    }

    /// A segment with `len` bytes of payload was accepted. `unread` bytes of the buffer are in use
    /// beside the segments out of order. Returns true if the window grows.
    #[inline]
    pub(crate) fn grow(&mut self, len: u32, unread: u64) -> bool {
        if self.tuning.growth == BufferGrowth::Measured && self.share == PARTS / 2 {
            self.measure(len);
        }
        let room = self.clamp.min(self.window_of(self.buffer.saturating_sub(self.taken(unread))));
        if len < SHORT || room <= self.announced {
            return false;
        }
        let most = if self.is_old() { self.clamp } else { room };
        // `tcp_grow_window` opens by two segments for each that arrives.
        self.announced = most.min(self.announced + 2 * self.mss);
        true
    }

    /// The first segment shows which share of the memory is payload (`tcp_measure_rcv_mss`).
    #[cold]
    fn measure(&mut self, len: u32) {
        self.share = (u64::from(len) * PARTS / self.of_segment(len).max(1)).max(1);
        self.clamp = self.window_of(self.buffer);
        self.space = self.space.min(self.clamp);
    }

    /// The new segment `start..end` arrived out of order. Returns true if the window grows.
    pub(crate) fn hold(&mut self, start: u64, end: u64) -> bool {
        let segment = Joined::new(start, end);
        let len = u32::try_from(end - start).unwrap_or(u32::MAX);
        let index = self.held.partition_point(|joined| joined.start < start);
        let before = index.checked_sub(1).and_then(|before| self.held.get_mut(before));
        if self.tuning.joins && before.is_some_and(|joined| joined.join(segment)) {
            self.held_bytes += u64::from(len);
            let grows = self.grow(len, 0);
            self.on_held();
            return grows;
        }
        // A segment that is not joined takes memory only after the window was computed.
        let grows = self.grow(len, 0);
        self.held.insert(index, segment);
        self.held_bytes += u64::from(len);
        self.on_held();
        grows
    }

    /// A segment is kept out of order: the buffer of Linux 7.3 grows for it at once
    /// (`tcp_data_queue_ofo`).
    fn on_held(&mut self) {
        if self.tuning.growth == BufferGrowth::Measured {
            self.enlarge_in_proportion(self.space);
        }
    }

    /// The segment `start..end` arrived, and everything up to `next` is in order. Returns the end
    /// of the first read, since the segment was joined with those that follow it, and the memory of
    /// all unread segments.
    pub(crate) fn release(&mut self, start: u64, end: u64, next: u64) -> (u64, u64) {
        let mut queue = Joined::new(start, end);
        let mut first = None;
        self.next = self.next.max(next);
        let overhead = self.tuning.taken;
        let mut unread = end - start + overhead;
        let count = self.held.partition_point(|joined| joined.start < next);
        for joined in self.held.drain(..count) {
            let len = joined.end - joined.start;
            self.held_bytes -= len;
            unread += len;
            if !(self.tuning.joins && queue.join(joined)) {
                first = first.or(Some(queue.end));
                queue = joined;
                unread += overhead;
            }
        }
        (first.unwrap_or(queue.end), unread)
    }

    /// The application has read all data below the sequence number `read`.
    #[inline]
    pub(crate) fn on_read(&mut self, now: Instant, read: u64) {
        self.next = self.next.max(read);
        let units = |instant: Instant| instant.as_nanos() / self.unit();
        match self.since {
            None => {
                self.from = read;
                self.since = Some(now);
                return;
            }
            Some(since) if self.rtt == 0 || units(now) - units(since) < self.rtt / 8 => return,
            Some(_) => {}
        }
        let mut copied = read - self.from;
        match self.tuning.growth {
            BufferGrowth::TwoRoundTrips => copied = copied.saturating_mul(2),
            // Without the data that waits to be read.
            BufferGrowth::Measured => copied = copied.saturating_sub(self.next - read),
            BufferGrowth::Proportional | BufferGrowth::Stepwise => {}
        }
        if copied > self.space {
            self.enlarge(copied);
            self.space = copied;
        }
        self.from = read;
        self.since = Some(now);
    }

    /// Enlarges the buffer to twice the data of a round trip, and further if the rate grew. In
    /// Linux 3.2 `copied` is twice the data already.
    fn enlarge(&mut self, copied: u64) {
        let for_losses = CUSHION * self.mss;
        match self.tuning.growth {
            BufferGrowth::TwoRoundTrips => self.set(copied, copied),
            BufferGrowth::Stepwise => {
                let base = 2 * copied + for_losses;
                let wanted = if copied >= self.space + self.space / 2 {
                    2 * base
                } else if copied >= self.space + self.space / 4 {
                    base + base / 2
                } else {
                    base
                };
                self.set(wanted, wanted);
            }
            BufferGrowth::Measured => self.enlarge_in_proportion(copied),
            BufferGrowth::Proportional => {
                let base = 2 * copied + for_losses;
                let grown = u128::from(base) * u128::from(copied - self.space);
                let more = 2 * (grown / u128::from(self.space.max(1)));
                self.set(base.saturating_add(u64::try_from(more).unwrap_or(u64::MAX)), u64::MAX);
            }
        }
    }

    /// Enlarges the buffer for twice the data of a round trip, for the growth of the rate, and for
    /// what is missing before the last segment (`tcp_rcvbuf_grow` of Linux 7.3).
    fn enlarge_in_proportion(&mut self, copied: u64) {
        let twice = 2 * copied;
        let rtt = self.rtt / 8;
        let grown = if rtt < LOW_RTT {
            twice * rtt / LOW_RTT
        } else {
            let more = u128::from(2 * twice) * u128::from(copied.saturating_sub(self.space));
            u64::try_from(more / u128::from(self.space.max(1))).unwrap_or(u64::MAX)
        };
        let beyond = self.held.last().map_or(0, |last| last.end.saturating_sub(self.next));
        let window = twice.saturating_add(grown).saturating_add(beyond);
        let buffer = (window.min(self.tuning.most) * PARTS / self.share).min(self.tuning.most);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = self.window_of(buffer);
        }
    }

    /// Enlarges the buffer for a window of `wanted` bytes, of which at most `most` are announced. A
    /// buffer does not become smaller.
    fn set(&mut self, wanted: u64, most: u64) {
        let mut assumed = self.mss + self.tuning.overhead;
        while self.window_of(assumed) < self.mss {
            assumed += OVERHEAD_STEP;
        }
        // Linux divides first, so that only whole segments count.
        let buffer = (wanted / self.mss).saturating_mul(assumed).min(self.tuning.most);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = self.window_of(buffer).min(most);
        }
    }
}

#[cfg(test)]
mod tests;
