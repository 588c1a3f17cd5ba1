//! How Linux fits a receive buffer to a connection (dynamic right-sizing, `tcp_rcv_space_adjust` of
//! Linux 6.1, 3.14 and 3.2), and the window that it announces from it. While that grows, no ACK is
//! delayed.

use alloc::vec::Vec;

use goodqueue::{Duration, Instant};

use crate::config::BufferTuning;

/// Buffer of a new connection, and the most: `tcp_rmem` of Linux 6.1, in bytes.
const INITIAL: u64 = 131_072;
const MOST: u64 = 6_291_456;
/// Memory that a segment takes beside its payload, as recorded. Linux itself assumes
/// `RECKONED_OVERHEAD`.
const OVERHEAD: u64 = 1280;
/// A segment out of order is joined to the one that it follows, and takes no further overhead,
/// while both have at most `PIECES` pieces of memory (`MAX_SKB_FRAGS`). A segment has one piece, or
/// two where the sender's memory changes from one page of `PAGE` bytes to the next
/// (`skb_page_frag_refill`).
const PIECES: u64 = 17;
const PAGE: u64 = 32_768;
const RECKONED_OVERHEAD: u64 = 832;
const RECKONED_STEP: u64 = 128;
/// Segments that Linux assumes of the initial window (`TCP_INIT_CWND`), and segments added for
/// losses.
const INITIAL_SEGMENTS: u64 = 10;
const CUSHION: u64 = 16;
/// In Linux 3.14 a buffer begins with room for eight times `ANNOUNCED_314` segments of 1460 bytes
/// with headers and bookkeeping, and `ANNOUNCED_314` segments are announced (`tcp_fixup_rcvbuf`,
/// `tcp_default_init_rwnd`). The last constant is the assumed overhead of a segment.
const INITIAL_314: u64 = 8 * ANNOUNCED_314 * (1460 + RECKONED_OVERHEAD_314);
const ANNOUNCED_314: u64 = 20;
const RECKONED_OVERHEAD_314: u64 = 800;
/// Linux takes its time in these, in nanoseconds.
const MICROSECOND: u64 = 1000;
/// Linux 3.2 begins with the default of `tcp_rmem`, and announces `ANNOUNCED_32` segments
/// (`TCP_DEFAULT_INIT_RCVWND`).
const INITIAL_32: u64 = 87_380;
const ANNOUNCED_32: u64 = 10;
const RECKONED_OVERHEAD_32: u64 = 864;
/// A shorter segment does not let the window grow.
const SHORT: u32 = 128;
/// Windows are announced in multiples of this (a window scale of 7, which `MOST` gives).
pub(crate) const SCALE: u64 = 128;

/// Segments out of order that were joined: from where to where, and in how many pieces of memory.
#[derive(Clone, Copy, Debug)]
struct Joined {
    start: u64,
    end: u64,
    pieces: u64,
}

impl Joined {
    /// One segment.
    fn new(start: u64, end: u64) -> Self {
        let page = |seq: u64| seq.saturating_sub(1) / PAGE;
        Self { start, end, pieces: 1 + page(end.saturating_sub(1)) - page(start) }
    }

    /// Joins `next` to it, if that can be.
    fn join(&mut self, next: Self) -> bool {
        let fits = self.end == next.start && self.pieces + next.pieces <= PIECES;
        if fits {
            self.end = next.end;
            self.pieces += next.pieces;
        }
        fits
    }
}

/// State of the tuning; sizes in bytes.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveBuffer {
    tuning: BufferTuning,
    mss: u64,
    /// The buffer, the window that it is good for, and how much of that is announced by now.
    buffer: u64,
    clamp: u64,
    announced: u64,
    /// Smoothed RTT as seen from here in microseconds, times eight, and the tick of the timestamp
    /// that gave the last sample.
    rtt: u64,
    answered: Option<u64>,
    /// Bytes that arrived in the last round trip; then position and time of the start of this one.
    space: u64,
    from: u64,
    since: Instant,
    /// Segments out of order, by sequence number, and their bytes.
    held: Vec<Joined>,
    held_bytes: u64,
}

impl ReceiveBuffer {
    /// Of a connection established at `now`, whose full segments carry `mss` bytes.
    pub(crate) fn new(mss: u32, tuning: BufferTuning, now: Instant) -> Self {
        let mss = u64::from(mss);
        let buffer = match tuning {
            BufferTuning::Proportional => INITIAL,
            BufferTuning::Stepwise => INITIAL_314,
            BufferTuning::TwoRoundTrips => INITIAL_32,
        };
        let clamp = window(buffer).saturating_sub(mss).max(2 * mss);
        let (announced, space) = match tuning {
            BufferTuning::Proportional => (clamp, clamp.min(INITIAL_SEGMENTS * mss)),
            BufferTuning::Stepwise => (clamp.min(ANNOUNCED_314 * mss), clamp.min(ANNOUNCED_314 * mss)),
            BufferTuning::TwoRoundTrips => (clamp.min(ANNOUNCED_32 * mss), clamp.min(ANNOUNCED_32 * mss)),
        };
        Self {
            tuning,
            mss,
            buffer,
            clamp,
            announced,
            rtt: 0,
            answered: None,
            space,
            from: 1,
            since: now,
            held: Vec::new(),
            held_bytes: 0,
        }
    }

    /// Returns the memory that segments out of order take, with `unread` bytes beside them.
    #[inline]
    fn taken(&self, unread: u64) -> u64 {
        self.held_bytes + self.held.len() as u64 * OVERHEAD + unread
    }

    /// Returns the memory that a segment in order with `len` bytes of payload takes until it is
    /// read.
    #[inline]
    pub(crate) const fn of_segment(len: u32) -> u64 {
        len as u64 + OVERHEAD
    }

    /// The window, with `unread` bytes of the buffer in use beside what is held out of order; and
    /// whether that is less than half of what there could be.
    #[inline]
    pub(crate) fn window(&self, unread: u64) -> (u64, bool) {
        let free = window(self.buffer.saturating_sub(self.taken(unread)));
        (self.announced.min(free).next_multiple_of(SCALE), free < self.clamp.min(window(self.buffer)) / 2)
    }

    /// A segment of `len` bytes arrived that answers to what was sent `rtt` ago, in the tick
    /// `answered` of the timestamps clock.
    #[inline]
    pub(crate) fn time(&mut self, len: u32, answered: u64, rtt: Duration) {
        let of_old = self.tuning != BufferTuning::Proportional;
        if (of_old || self.answered != Some(answered)) && u64::from(len) >= self.mss {
            self.answered = Some(answered);
            // A shorter one counts at once, since 4.x.
            let sample = rtt.as_nanos() / MICROSECOND;
            let is_less = self.rtt == 0 || !of_old && sample * 8 < self.rtt;
            self.rtt = if is_less { sample * 8 } else { self.rtt - self.rtt / 8 + sample };
        }
    }

    /// A segment with `len` bytes of payload was taken in, `unread` bytes of the buffer being in
    /// use beside what is held out of order. Returns true if the window grows.
    #[inline]
    pub(crate) fn grow(&mut self, len: u32, unread: u64) -> bool {
        let of_old = self.tuning != BufferTuning::Proportional;
        let room = self.clamp.min(window(self.buffer.saturating_sub(self.taken(unread))));
        if len < SHORT || room <= self.announced {
            return false;
        }
        let most = if of_old { self.clamp } else { room };
        self.announced = most.min(self.announced + 2 * self.mss);
        true
    }

    /// The segment `start..end` came out of order, and is new. Returns true if the window grows.
    pub(crate) fn hold(&mut self, start: u64, end: u64) -> bool {
        let segment = Joined::new(start, end);
        let len = u32::try_from(end - start).unwrap_or(u32::MAX);
        let index = self.held.partition_point(|joined| joined.start < start);
        let before = index.checked_sub(1).and_then(|before| self.held.get_mut(before));
        if before.is_some_and(|joined| joined.join(segment)) {
            self.held_bytes += u64::from(len);
            return self.grow(len, 0);
        }
        // What is not joined does not take room yet when the window is looked at.
        let grows = self.grow(len, 0);
        self.held.insert(index, segment);
        self.held_bytes += u64::from(len);
        grows
    }

    /// With the segment `start..end` everything up to `next` is in order. Returns up to where it is
    /// read at first, as it was joined with what follows it, and what all that was not read takes.
    pub(crate) fn release(&mut self, start: u64, end: u64, next: u64) -> (u64, u64) {
        let mut queue = Joined::new(start, end);
        let mut first = None;
        let mut unread = end - start + OVERHEAD;
        let count = self.held.partition_point(|joined| joined.start < next);
        for joined in self.held.drain(..count) {
            let len = joined.end - joined.start;
            self.held_bytes -= len;
            unread += len;
            if !queue.join(joined) {
                first = first.or(Some(queue.end));
                queue = joined;
                unread += OVERHEAD;
            }
        }
        (first.unwrap_or(queue.end), unread)
    }

    /// The application has read its queue up to `read`.
    #[inline]
    pub(crate) fn on_read(&mut self, now: Instant, read: u64) {
        let micros = |instant: Instant| instant.as_nanos() / MICROSECOND;
        if self.rtt == 0 || micros(now) - micros(self.since) < self.rtt / 8 {
            return;
        }
        let mut copied = read - self.from;
        if self.tuning == BufferTuning::TwoRoundTrips {
            copied = copied.saturating_mul(2);
        }
        if copied > self.space {
            self.enlarge(copied);
            self.space = copied;
        }
        self.from = read;
        self.since = now;
    }

    /// Twice what a round trip brought, and more as it grew; in Linux 3.2 `copied` is twice that
    /// already.
    fn enlarge(&mut self, copied: u64) {
        if self.tuning == BufferTuning::TwoRoundTrips {
            self.set(copied, RECKONED_OVERHEAD_32, copied);
            return;
        }
        let base = 2 * copied + CUSHION * self.mss;
        if self.tuning == BufferTuning::Stepwise {
            // By half where the rate grew by a quarter, twice where it grew by half.
            let wanted = if copied >= self.space + self.space / 2 {
                2 * base
            } else if copied >= self.space + self.space / 4 {
                base + base / 2
            } else {
                base
            };
            self.set(wanted, RECKONED_OVERHEAD_314, wanted);
            return;
        }
        let growth = u128::from(base) * u128::from(copied - self.space) / u128::from(self.space.max(1));
        let wanted = base.saturating_add(u64::try_from(2 * growth).unwrap_or(u64::MAX));
        self.set(wanted, RECKONED_OVERHEAD, u64::MAX);
    }

    /// A buffer for a window of `wanted` bytes, if that is more; `most` of it is announced.
    fn set(&mut self, wanted: u64, overhead: u64, most: u64) {
        let mut reckoned = self.mss + overhead;
        while window(reckoned) < self.mss {
            reckoned += RECKONED_STEP;
        }
        let buffer = (wanted / self.mss).saturating_mul(reckoned).min(MOST);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = window(buffer).min(most);
        }
    }
}

/// The window that a buffer is good for: half of it (`tcp_adv_win_scale` 1).
const fn window(buffer: u64) -> u64 {
    buffer / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1448;

    #[test]
    fn a_round_trip_of_twenty_segments_after_one_of_eleven_gives_the_recorded_buffer() {
        // Linux 6.1.192: 28,960 bytes after 15,928 in 50 ms each gave 429,240 bytes of buffer and a
        // window of half of them.
        let mut buffer = ReceiveBuffer {
            space: 15_928,
            ..ReceiveBuffer::new(MSS, BufferTuning::Proportional, Instant::ZERO)
        };
        assert_eq!((buffer.clamp, buffer.announced), (64_088, 64_088));
        buffer.time(MSS, 7, Duration::from_millis(50));
        assert!(!buffer.grow(MSS, 0), "nothing to grow into yet");
        buffer.on_read(Instant::from_nanos(50_000_000), 1 + 28_960);
        assert_eq!((buffer.buffer, buffer.clamp), (429_240, 214_620));
        assert!(buffer.grow(MSS, ReceiveBuffer::of_segment(MSS)));
        assert_eq!(buffer.announced, 64_088 + 2 * 1448);
    }

    #[test]
    fn linux_3_14_announces_twenty_segments_and_two_more_with_each_that_comes() {
        // Linux 3.14.1 announced 28,960 bytes, then 31,872, 34,816 and so on up to 179,456.
        let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::Stepwise, Instant::ZERO);
        assert_eq!((buffer.buffer, buffer.clamp, buffer.announced), (361_600, 179_352, 28_960));
        buffer.time(MSS, 7, Duration::from_millis(50));
        let mut windows = Vec::new();
        while buffer.grow(MSS, ReceiveBuffer::of_segment(MSS)) {
            windows.push(buffer.window(0).0);
        }
        assert_eq!((windows.len(), windows[0], windows[1]), (52, 31_872, 34_816));
        assert_eq!(windows.last(), Some(&179_456));
        // Twice as much as came in the round trip and 16 segments: that much twice over, as the
        // rate grew by more than half.
        buffer.on_read(Instant::from_nanos(50_000_000), 1 + 100_000);
        assert_eq!(buffer.clamp, 446_336);
    }

    #[test]
    fn within_a_round_trip_nothing_is_measured() {
        let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::Proportional, Instant::ZERO);
        buffer.on_read(Instant::from_nanos(1_000_000_000), 1_000_000);
        assert_eq!(buffer.buffer, INITIAL, "no RTT is known");
        buffer.time(MSS, 7, Duration::from_millis(50));
        buffer.on_read(Instant::from_nanos(49_999_999), 1_000_000);
        assert_eq!(buffer.buffer, INITIAL);
    }

    #[test]
    fn it_stops_growing_at_the_most_there_is() {
        let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::Proportional, Instant::ZERO);
        buffer.time(MSS, 7, Duration::from_millis(50));
        buffer.on_read(Instant::from_nanos(50_000_000), u64::MAX / 4);
        assert_eq!(buffer.buffer, MOST);
        let own = ReceiveBuffer::of_segment(MSS);
        let grown = (0..10_000_u32).filter(|_| buffer.grow(MSS, own)).count();
        assert_eq!(grown, 1064, "by two segments at a time up to what the buffer is good for");
    }

    fn holding(numbers: impl IntoIterator<Item = u64>) -> ReceiveBuffer {
        let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::Proportional, Instant::ZERO);
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
