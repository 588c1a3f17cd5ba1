//! How Linux fits a receive buffer to a connection (dynamic right-sizing, `tcp_rcv_space_adjust` of Linux 6.1, 3.14 and 3.2), and
//! the window that it announces from it. While that grows, no ACK is delayed.

use goodqueue::{Duration, Instant};

use crate::config::BufferTuning;

/// Buffer of a new connection, and the most: `tcp_rmem` of Linux 6.1, in bytes.
const INITIAL: u64 = 131_072;
const MOST: u64 = 6_291_456;
/// What a segment takes in memory beside its payload: as recorded, and as Linux reckons ahead. Segments that follow each
/// other out of order are joined, and take it once.
pub(crate) const OVERHEAD: u64 = 1280;
/// So many segments at most are joined: `MAX_SKB_FRAGS` of Linux.
pub(crate) const JOINED: u64 = 17;
const RECKONED_OVERHEAD: u64 = 832;
const RECKONED_STEP: u64 = 128;
/// Segments that the initial window is taken to have (`TCP_INIT_CWND`), and what is added for losses.
const INITIAL_SEGMENTS: u64 = 10;
const CUSHION: u64 = 16;
/// In Linux 3.14 a buffer begins with room for so many segments of 1460 bytes, headers and bookkeeping included, four times
/// twice over, and so many are announced (`tcp_fixup_rcvbuf`, `tcp_default_init_rwnd`); then what a segment is reckoned to take.
const INITIAL_314: u64 = 8 * ANNOUNCED_314 * (1460 + RECKONED_OVERHEAD_314);
const ANNOUNCED_314: u64 = 20;
const RECKONED_OVERHEAD_314: u64 = 800;
/// Linux takes its time in these, in nanoseconds.
const MICROSECOND: u64 = 1000;
/// Linux 3.2 begins with the default of `tcp_rmem`, and announces so many segments (`TCP_DEFAULT_INIT_RCVWND`).
const INITIAL_32: u64 = 87_380;
const ANNOUNCED_32: u64 = 10;
const RECKONED_OVERHEAD_32: u64 = 864;
/// A shorter segment does not let the window grow.
const SHORT: u32 = 128;
/// Windows are announced in multiples of this (a window scale of 7, which `MOST` gives).
const SCALE: u64 = 128;

/// State of the tuning; sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveBuffer {
    tuning: BufferTuning,
    mss: u64,
    /// The buffer, the window that it is good for, and how much of that is announced by now.
    buffer: u64,
    clamp: u64,
    announced: u64,
    /// Smoothed RTT as seen from here in microseconds, times eight, and the tick of the timestamp that gave the last sample.
    rtt: u64,
    answered: Option<u64>,
    /// What arrived in the last round trip; where and when the present one began.
    space: u64,
    from: u64,
    since: Instant,
}

impl ReceiveBuffer {
    /// Of a connection established at `now`, whose full segments carry `mss` bytes.
    pub(crate) fn new(mss: u32, tuning: BufferTuning, now: Instant) -> Self {
        let mss = u64::from(mss);
        let buffer = match tuning {
            BufferTuning::Linux61 => INITIAL,
            BufferTuning::Linux314 => INITIAL_314,
            BufferTuning::Linux32 => INITIAL_32,
        };
        let clamp = window(buffer).saturating_sub(mss).max(2 * mss);
        let (announced, space) = match tuning {
            BufferTuning::Linux61 => (clamp, clamp.min(INITIAL_SEGMENTS * mss)),
            BufferTuning::Linux314 => (clamp.min(ANNOUNCED_314 * mss), clamp.min(ANNOUNCED_314 * mss)),
            BufferTuning::Linux32 => (clamp.min(ANNOUNCED_32 * mss), clamp.min(ANNOUNCED_32 * mss)),
        };
        Self { tuning, mss, buffer, clamp, announced, rtt: 0, answered: None, space, from: 1, since: now }
    }

    /// The window, with `taken` bytes of the buffer in use.
    #[inline]
    pub(crate) fn window(&self, taken: u64) -> u64 {
        self.announced.min(window(self.buffer.saturating_sub(taken))).next_multiple_of(SCALE)
    }

    /// A segment of `len` bytes arrived that answers to what was sent `rtt` ago, in the tick `answered` of the timestamps
    /// clock, with `taken` bytes of the buffer in use, its own too if it is in order. Returns true if the window grows.
    #[inline]
    pub(crate) fn on_segment(&mut self, len: u32, taken: u64, answered: u64, rtt: Duration) -> bool {
        let of_old = self.tuning != BufferTuning::Linux61;
        if (of_old || self.answered != Some(answered)) && u64::from(len) >= self.mss {
            self.answered = Some(answered);
            // A shorter one counts at once, since 4.x.
            let sample = rtt.as_nanos() / MICROSECOND;
            let is_less = self.rtt == 0 || !of_old && sample * 8 < self.rtt;
            self.rtt = if is_less { sample * 8 } else { self.rtt - self.rtt / 8 + sample };
        }
        let room = self.clamp.min(window(self.buffer.saturating_sub(taken)));
        if len < SHORT || room <= self.announced {
            return false;
        }
        let most = if of_old { self.clamp } else { room };
        self.announced = most.min(self.announced + 2 * self.mss);
        true
    }

    /// The application has read what lay first in its queue, up to `read`.
    #[inline]
    pub(crate) fn on_read(&mut self, now: Instant, read: u64) {
        let micros = |instant: Instant| instant.as_nanos() / MICROSECOND;
        if self.rtt == 0 || micros(now) - micros(self.since) < self.rtt / 8 {
            return;
        }
        let mut copied = read - self.from;
        if self.tuning == BufferTuning::Linux32 {
            copied = copied.saturating_mul(2);
        }
        if copied > self.space {
            self.enlarge(copied);
            self.space = copied;
        }
        self.from = read;
        self.since = now;
    }

    /// Twice what a round trip brought, and more as it grew; in Linux 3.2 `copied` is twice that already.
    fn enlarge(&mut self, copied: u64) {
        if self.tuning == BufferTuning::Linux32 {
            self.set(copied, RECKONED_OVERHEAD_32, copied);
            return;
        }
        let base = 2 * copied + CUSHION * self.mss;
        if self.tuning == BufferTuning::Linux314 {
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
    use alloc::vec::Vec;

    use super::*;

    const MSS: u32 = 1448;

    #[test]
    fn a_round_trip_of_twenty_segments_after_one_of_eleven_gives_the_recorded_buffer() {
        // Linux 6.1.192: 28,960 bytes after 15,928 in 50 ms each gave 429,240 bytes of buffer and a window of half of them.
        let mut buffer =
            ReceiveBuffer { space: 15_928, ..ReceiveBuffer::new(MSS, BufferTuning::Linux61, Instant::ZERO) };
        assert_eq!((buffer.clamp, buffer.announced), (64_088, 64_088));
        assert!(!buffer.on_segment(MSS, 0, 7, Duration::from_millis(50)), "nothing to grow into yet");
        buffer.on_read(Instant::from_nanos(50_000_000), 1 + 28_960);
        assert_eq!((buffer.buffer, buffer.clamp), (429_240, 214_620));
        assert!(buffer.on_segment(MSS, u64::from(MSS) + OVERHEAD, 8, Duration::from_millis(50)));
        assert_eq!(buffer.announced, 64_088 + 2 * 1448);
    }

    #[test]
    fn linux_3_14_announces_twenty_segments_and_two_more_with_each_that_comes() {
        // Linux 3.14.1 announced 28,960 bytes, then 31,872, 34,816 and so on up to 179,456.
        let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::Linux314, Instant::ZERO);
        assert_eq!((buffer.buffer, buffer.clamp, buffer.announced), (361_600, 179_352, 28_960));
        let own = u64::from(MSS) + OVERHEAD;
        let mut windows = Vec::new();
        while buffer.on_segment(MSS, own, 7, Duration::from_millis(50)) {
            windows.push(buffer.window(0));
        }
        assert_eq!((windows.len(), windows[0], windows[1]), (52, 31_872, 34_816));
        assert_eq!(windows.last(), Some(&179_456));
        // Twice as much as came in the round trip and 16 segments: that much twice over, as the rate grew by more than half.
        buffer.on_read(Instant::from_nanos(50_000_000), 1 + 100_000);
        assert_eq!(buffer.clamp, 446_336);
    }

    #[test]
    fn within_a_round_trip_nothing_is_measured() {
        let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::Linux61, Instant::ZERO);
        buffer.on_read(Instant::from_nanos(1_000_000_000), 1_000_000);
        assert_eq!(buffer.buffer, INITIAL, "no RTT is known");
        buffer.on_segment(MSS, 0, 7, Duration::from_millis(50));
        buffer.on_read(Instant::from_nanos(49_999_999), 1_000_000);
        assert_eq!(buffer.buffer, INITIAL);
    }

    #[test]
    fn it_stops_growing_at_the_most_there_is() {
        let mut buffer = ReceiveBuffer::new(MSS, BufferTuning::Linux61, Instant::ZERO);
        buffer.on_segment(MSS, 0, 7, Duration::from_millis(50));
        buffer.on_read(Instant::from_nanos(50_000_000), u64::MAX / 4);
        assert_eq!(buffer.buffer, MOST);
        let own = u64::from(MSS) + OVERHEAD;
        let grown = (0..10_000_u32).filter(|_| buffer.on_segment(MSS, own, 8, Duration::ZERO)).count();
        assert_eq!(grown, 1064, "by two segments at a time up to what the buffer is good for");
    }
}
