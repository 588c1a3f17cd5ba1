//! The receive buffer of Linux, which grows with the rate of the connection (dynamic right-sizing,
//! `tcp_rcv_space_adjust` of Linux 7.3, 6.1, 3.14 and 3.2), and the window that Linux announces from it.
//! While the window grows, no ACK is delayed. The numbers of each kernel are in
//! [`BufferTuning`].

use alloc::vec::Vec;

use goodqueue::{Duration, Instant};

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
/// Linux measures times in this unit, in nanoseconds.
const MICROSECOND: u64 = 1000;
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
    /// Smoothed RTT that the receiver measured, in microseconds times eight.
    rtt: u64,
    /// Tick of the timestamp that gave the last RTT sample.
    answered: Option<u64>,
    /// Bytes that the application read in the last round trip.
    space: u64,
    /// The next byte expected, as of the last segment in order.
    next: u64,
    /// First sequence number of this round trip.
    from: u64,
    /// Start of this round trip.
    since: Instant,
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
        let clamp = (tuning.initial / 2).saturating_sub(mss).max(2 * mss);
        let announced = tuning.first_window.map_or(clamp, |segments| clamp.min(segments * mss));
        let space = clamp.min(tuning.first_window.unwrap_or(INITIAL_SEGMENTS) * mss);
        Self {
            tuning,
            mss,
            buffer: tuning.initial,
            share: PARTS / 2,
            clamp,
            announced,
            rtt: 0,
            answered: None,
            space,
            next: 1,
            from: 1,
            since: now,
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

    /// Windows are announced in multiples of this.
    #[inline]
    pub(crate) const fn scale(&self) -> u64 {
        self.tuning.scale
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

    /// Returns the window, and whether it is less than half of the largest one. `unread` bytes of
    /// the buffer are in use beside the segments out of order.
    #[inline]
    pub(crate) fn window(&self, unread: u64) -> (u64, bool) {
        let free = self.window_of(self.buffer.saturating_sub(self.taken(unread)));
        let is_scarce = free < self.clamp.min(self.window_of(self.buffer)) / 2;
        (self.announced.min(free).next_multiple_of(self.tuning.scale), is_scarce)
    }

    /// A segment of `len` bytes arrived. It answers a segment that was sent `rtt` ago, in the tick
    /// `answered` of the timestamps clock.
    #[inline]
    pub(crate) fn time(&mut self, len: u32, answered: u64, rtt: Duration) {
        let is_old = self.is_old();
        if (is_old || self.answered != Some(answered)) && u64::from(len) >= self.mss {
            self.answered = Some(answered);
            // Since Linux 4.x, a shorter RTT replaces the smoothed one.
            let sample = rtt.as_nanos() / MICROSECOND;
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
        if before.is_some_and(|joined| joined.join(segment)) {
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
            if !queue.join(joined) {
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
        let micros = |instant: Instant| instant.as_nanos() / MICROSECOND;
        if self.rtt == 0 || micros(now) - micros(self.since) < self.rtt / 8 {
            return;
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
        self.since = now;
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
        let buffer = (wanted / self.mss).saturating_mul(assumed).min(self.tuning.most);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = self.window_of(buffer).min(most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1448;
    const OVERHEAD: u64 = BufferTuning::LINUX.taken;

    #[test]
    fn a_round_trip_of_twenty_segments_after_one_of_eleven_gives_the_recorded_buffer() {
        // Linux 6.1.192: 28,960 bytes after 15,928 in 50 ms each gave 429,240 bytes of buffer and a
        // window of half of them.
        let mut buffer =
            ReceiveBuffer { space: 15_928, ..ReceiveBuffer::new(MSS, BufferTuning::LINUX, Instant::ZERO) };
        assert_eq!((buffer.clamp, buffer.announced), (64_088, 64_088));
        buffer.time(MSS, 7, Duration::from_millis(50));
        assert!(!buffer.grow(MSS, 0), "nothing to grow into yet");
        buffer.on_read(Instant::from_nanos(50_000_000), 1 + 28_960);
        assert_eq!((buffer.buffer, buffer.clamp), (429_240, 214_620));
        assert!(buffer.grow(MSS, buffer.of_segment(MSS)));
        assert_eq!(buffer.announced, 64_088 + 2 * 1448);
    }

    #[test]
    fn linux_3_14_announces_twenty_segments_and_two_more_with_each_that_comes() {
        // Linux 3.14.1 announced 28,960 bytes, then 31,872, 34,816 and so on up to 179,456.
        let tuning = BufferTuning {
            growth: BufferGrowth::Stepwise,
            initial: 361_600,
            first_window: Some(20),
            overhead: 800,
            ..BufferTuning::LINUX
        };
        let mut buffer = ReceiveBuffer::new(MSS, tuning, Instant::ZERO);
        assert_eq!((buffer.buffer, buffer.clamp, buffer.announced), (361_600, 179_352, 28_960));
        buffer.time(MSS, 7, Duration::from_millis(50));
        let mut windows = Vec::new();
        while buffer.grow(MSS, buffer.of_segment(MSS)) {
            windows.push(buffer.window(0).0);
        }
        assert_eq!((windows.len(), windows[0], windows[1]), (52, 31_872, 34_816));
        assert_eq!(windows.last(), Some(&179_456));
        // Twice the data of the round trip and 16 segments. The buffer is for twice as much,
        // because the rate grew by more than half.
        buffer.on_read(Instant::from_nanos(50_000_000), 1 + 100_000);
        assert_eq!(buffer.clamp, 446_336);
    }

    #[test]
    fn linux_7_3_opens_the_window_six_times_as_soon_as_it_knows_the_memory_of_a_segment() {
        // Linux 7.3.4 acknowledged the first 22 segments of a connection one by one, and 6.1 the
        // first 16: each time that the window opens, one more ACK is quick.
        let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::LINUX_7, Instant::ZERO);
        assert_eq!((buffer.clamp, buffer.announced), (64_088, 64_088));
        let grown = (0..30).filter(|_| buffer.grow(MSS, buffer.of_segment(MSS))).count();
        assert_eq!((grown, buffer.share), (6, 158), "1448 of 2344 bytes are payload");
        assert_eq!((buffer.clamp, buffer.announced), (80_896, 79_449));
    }

    #[test]
    fn linux_7_3_also_makes_room_for_the_data_beyond_a_gap() {
        let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::LINUX_7, Instant::ZERO);
        buffer.time(MSS, 7, Duration::from_millis(50));
        buffer.grow(MSS, 0);
        buffer.on_read(Instant::from_nanos(50_000_000), 1 + 28_960);
        // Twice 28,960, and twice as much again for each time that the rate doubled.
        let wanted = 2 * 28_960 + 4 * 28_960 * (28_960 - 14_480) / 14_480;
        assert_eq!(buffer.buffer, wanted * 256 / 158);
        buffer.hold(1 + 28_960 + 300_000, 1 + 28_960 + 301_448);
        assert_eq!(buffer.buffer, (2 * 28_960 + 301_448) * 256 / 158);
    }

    #[test]
    fn within_a_round_trip_nothing_is_measured() {
        let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::LINUX, Instant::ZERO);
        buffer.on_read(Instant::from_nanos(1_000_000_000), 1_000_000);
        assert_eq!(buffer.buffer, BufferTuning::LINUX.initial, "no RTT is known");
        buffer.time(MSS, 7, Duration::from_millis(50));
        buffer.on_read(Instant::from_nanos(49_999_999), 1_000_000);
        assert_eq!(buffer.buffer, BufferTuning::LINUX.initial);
    }

    #[test]
    fn it_stops_growing_at_the_most_there_is() {
        let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::LINUX, Instant::ZERO);
        buffer.time(MSS, 7, Duration::from_millis(50));
        buffer.on_read(Instant::from_nanos(50_000_000), u64::MAX / 4);
        assert_eq!(buffer.buffer, BufferTuning::LINUX.most);
        let own = buffer.of_segment(MSS);
        let grown = (0..10_000_u32).filter(|_| buffer.grow(MSS, own)).count();
        assert_eq!(grown, 1064, "by two segments at a time up to what the buffer is good for");
    }

    fn holding(numbers: impl IntoIterator<Item = u64>) -> ReceiveBuffer {
        let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::LINUX, Instant::ZERO);
        for number in numbers {
            buffer.hold(1 + number * 1448, 1 + (number + 1) * 1448);
        }
        buffer
    }

    #[test]
    fn what_follows_a_segment_out_of_order_takes_its_payload_only_up_to_17_pieces() {
        // Of these the one numbered 22, from 31,856 to 33,304, lies in two pages.
        assert_eq!(holding([30, 31]).taken(0), 2 * 1448 + OVERHEAD);
        assert_eq!(holding(23..40).taken(0), 17 * 1448 + OVERHEAD);
        assert_eq!(holding(23..41).taken(0), 18 * 1448 + 2 * OVERHEAD);
        assert_eq!(holding(22..38).taken(0), 16 * 1448 + OVERHEAD, "the first lies in two");
        assert_eq!(holding(22..39).taken(0), 17 * 1448 + 2 * OVERHEAD);
        assert_eq!(
            holding([25, 27, 26]).taken(0),
            3 * 1448 + 2 * OVERHEAD,
            "not joined with what follows it"
        );
    }

    #[test]
    fn what_fills_a_gap_is_read_with_what_it_is_joined_to() {
        let at = |number: u64| 1 + number * 1448;
        let mut buffer = holding((24..30).chain(40..42));
        assert_eq!(buffer.release(at(23), at(24), at(30)), (at(30), 7 * 1448 + OVERHEAD));
        assert_eq!(buffer.taken(0), 2 * 1448 + OVERHEAD);
        let mut buffer = holding(24..41);
        assert_eq!(buffer.release(at(23), at(24), at(41)), (at(24), 18 * 1448 + 2 * OVERHEAD));
        assert_eq!(buffer.taken(0), 0);
    }
}
