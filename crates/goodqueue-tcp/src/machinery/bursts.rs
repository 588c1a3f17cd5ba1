//! Segments that leave together, since Linux makes large packets that the device cuts (TSO). This
//! file decides how many leave together, and when a small open window waits for the next ACK. A
//! burst ends at the latest with a piece of the [send buffer](super::send_buffer).

use goodqueue::{Duration, Instant};

use super::parts::BurstState;
use super::send_buffer::{Burst, Flight, Front, Permission};
use super::{Core, FIRST_BYTE, Phase, narrow};
use crate::congestion::CongestionControl;

/// Least number of segments of a burst, if the window allows (`tcp_min_tso_segs`).
const LEAST: u32 = 2;
/// Most bytes of a burst (`GSO_MAX_SIZE`).
const MOST_BYTES: u64 = 65_536;
/// A burst has the bytes that leave at the pacing rate in 1/1024 s (`tcp_pacing_shift`). The two
/// ratios give this rate in hundredths of a window per SRTT, in slow start and beyond it
/// (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
pub(super) const PER_SECOND: u64 = 1024;
const SLOW_START_RATIO: u64 = 200;
const AVOIDANCE_RATIO: u64 = 120;
/// On short paths bursts are larger: they halve with each 512 µs of the least RTT
/// (`tcp_tso_rtt_log`).
const RTT_SHIFT: u32 = 9;
/// No burst waits if more than this part of the window is open (`tcp_tso_win_divisor`), if the last
/// segment left longer than `RECENT` ago, or if the next ACK is further away than that.
const WINDOW_DIVISOR: u64 = 3;
const RECENT: Duration = Duration::from_millis(1);

impl Core {
    /// Decides how many segments follow each other now, with `room` bytes of the congestion window
    /// and `usable` of the receiver's open.
    #[inline(always)]
    pub(crate) fn begin_burst(&mut self, now: Instant, room: u64, usable: u64) -> Burst {
        let Some(buffer) = &mut self.buffer.of_bursts else { return Burst::Begins };
        let Some(mut front) = buffer.front() else { return Burst::Begins };
        let permission = buffer.permission();
        if permission == Permission::No {
            return Burst::IsWritten;
        }
        let most = self.most_of_burst();
        if self.config.fills_bursts {
            front = self.filled(front, room, most);
        }
        let Front { end, is_last } = front;
        let open = room.min(usable);
        let full = u64::from(most) * self.mss;
        let left = end.saturating_sub(self.snd_nxt);
        let ends = self.closing && is_last && end == self.data_end;
        // Linux `tcp_tso_should_defer()`. A single segment does not wait. A piece before the last
        // gets no more data, and neither does the last one before a FIN. These two wait only if the
        // window cuts them.
        if permission == Permission::MayWait
            && left > self.mss
            && open < full
            && (is_last || open < left)
            && !(ends && open > left)
            && self.awaits_more(now, open)
        {
            return Burst::Waits;
        }
        let segments = self.segments_of_burst(open, most);
        // The last segment of the piece may be a short one.
        self.burst.left = self.whole_segments(left + self.mss - 1, segments).max(1);
        self.burst.of_several = self.burst.left > 1;
        self.burst.begins = true;
        Burst::Begins
    }

    /// The next segment is a burst of its own, whatever the last burst had left: a probe.
    pub(crate) fn begin_single(&mut self) {
        self.burst =
            BurstState { awaits_ack: self.burst.awaits_ack, begins: true, of_several: false, left: 1 };
    }

    /// The number of segments in a burst, if `open` bytes of the windows are open.
    #[inline]
    fn segments_of_burst(&self, open: u64, most: u32) -> u32 {
        // Two bursts at least are to be out.
        let half = (self.cwnd / 2).max(self.mss);
        self.whole_segments(open.min(half), most).max(1)
    }

    /// Data of the next piece completes a burst, which is as large as the congestion window allows
    /// with `room` bytes: the window of the receiver cuts it later. Returns the first piece then.
    // Out of line, for kernels that end a burst with its piece.
    #[cold]
    fn filled(&mut self, front: Front, room: u64, most: u32) -> Front {
        // Before the question whether to wait, because a full burst does not wait for more.
        let wanted = u64::from(self.segments_of_burst(room, most)) * self.mss;
        let Some(buffer) = &mut self.buffer.of_bursts else { return front };
        buffer.fill(self.snd_nxt + wanted);
        buffer.front().unwrap_or(front)
    }

    /// The number of full segments in `bytes`, at most `most`. Needs no division for the most.
    #[inline]
    fn whole_segments(&self, bytes: u64, most: u32) -> u32 {
        if bytes >= u64::from(most) * self.mss { most } else { narrow(bytes / self.mss) }
    }

    /// Whether the segment that was just sent, of which the burst has one less to go now, is to be
    /// handed over at once.
    #[inline]
    pub fn ends_burst(&mut self) -> bool {
        self.burst.left = self.burst.left.saturating_sub(1);
        let last = self.burst.left == 0;
        let pushed = self.buffer.of_bursts.as_mut().is_some_and(|buffer| buffer.on_sent(self.snd_nxt));
        if last {
            self.make_room(self.flight(), self.scoreboard.pipe());
        }
        (last && self.burst.of_several) || pushed
    }

    /// The segment at `position` is sent again, with what follows it in its burst as far as the
    /// window allows.
    pub fn cut_burst(&mut self, position: u64) {
        if self.scoreboard.begins_piece(position) {
            let room = self.cwnd.saturating_sub(self.scoreboard.pipe()) / self.mss;
            self.scoreboard.cut(position, room.clamp(1, self.most_of_burst().into()));
        }
    }

    /// The application may write more, if the send buffer has room with `pipe` bytes in the
    /// network.
    fn make_room(&mut self, flight: Flight, pipe: u64) {
        // A closure, because the division is needed only while the application sleeps.
        let window = || (pipe < self.cwnd).then(|| self.cwnd / self.mss);
        if let Some(buffer) = &mut self.buffer.of_bursts {
            buffer.make_room(flight, window);
        }
    }

    fn flight(&self) -> Flight {
        // While the SYN is out, SND.UNA is below the first byte.
        let una = self.snd_una.max(FIRST_BYTE);
        Flight { una, next: self.snd_nxt, pieces: self.scoreboard.pieces() }
    }

    /// The application writes what the send buffer has room for, as far as it gets before something
    /// is to be sent. Returns true if that may be.
    pub fn write_more(&mut self) -> bool {
        let flight = self.flight();
        if let Some(buffer) = &mut self.buffer.plain {
            return buffer.write(flight.una, flight.next.max(FIRST_BYTE), self.data_end, self.mss, self.cwnd);
        }
        self.make_room(flight, self.scoreboard.pipe());
        let Some(buffer) = &mut self.buffer.of_bursts else { return false };
        while buffer.write(flight, self.data_end, self.mss, self.offered.most) {
            if buffer.permits() {
                self.burst.awaits_ack = false;
                return true;
            }
        }
        false
    }

    /// The application also writes while pacing holds segments back: until the buffer is full, and
    /// again when an ACK wakes it. This sends nothing, so the next burst may still wait for an ACK.
    #[inline]
    pub(super) fn write_while_held(&mut self) {
        if self.buffer.of_bursts.as_ref().is_some_and(|buffer| buffer.is_writable(self.data_end)) {
            self.write_without_sending();
        }
    }

    #[inline(never)]
    fn write_without_sending(&mut self) {
        let flight = self.flight();
        self.make_room(flight, self.scoreboard.pipe());
        if let Some(buffer) = &mut self.buffer.of_bursts {
            while buffer.write(flight, self.data_end, self.mss, self.offered.most) {}
        }
    }

    /// Up to here there is something to send.
    #[inline]
    pub fn sendable(&self) -> u64 {
        match (&self.buffer.of_bursts, &self.buffer.plain) {
            (Some(buffer), _) => buffer.written(),
            (None, Some(buffer)) => buffer.written(),
            (None, None) => self.data_end,
        }
    }

    /// A full burst will be possible soon: the last one left just now, and the next ACK is expected
    /// at once, as the oldest segment has been out for a round trip.
    fn awaits_more(&self, now: Instant, open: u64) -> bool {
        let srtt = self.rtt.srtt().unwrap_or(Duration::ZERO);
        let soon = now + RECENT.min(Duration::from_nanos(srtt.as_nanos() / 2));
        // `tcp_wstamp_ns`: a paced segment counts as written when its time of pacing is over.
        let written = self.last_sent.max(self.pacer.next_departure);
        !matches!(self.phase, Phase::Recovery | Phase::Loss)
            && now.since(written) <= RECENT
            && open < self.cwnd / WINDOW_DIVISOR
            && self.scoreboard.front_sent().is_some_and(|sent| sent + srtt <= soon)
    }

    /// Most segments of a burst, by the rate at which the window would go over a round trip.
    #[inline]
    pub(super) fn most_of_burst(&self) -> u32 {
        let srtt = self.rtt.srtt().unwrap_or(Duration::ZERO).as_nanos();
        let rtt = self.rtt.min_rtt().as_nanos() / 1000;
        let mut fewest = LEAST;
        if self.pacer.rate.is_some() {
            let pacing = self.controller.pacing();
            if let Some(burst) = pacing.burst {
                return burst;
            }
            fewest = pacing.least_burst;
        }
        let window = self.window_in_use();
        let shift = u32::try_from(rtt >> RTT_SHIFT).unwrap_or(u32::MAX);
        // On a path of many milliseconds the shift exceeds the bits, where the addition is 0.
        let short = MOST_BYTES.checked_shr(shift).unwrap_or(0);
        // Whether it can be more than the least, without a division.
        let least = (u64::from(LEAST + 1) * self.mss).saturating_sub(short) * PER_SECOND;
        let slow = match self.pacer.rate {
            Some(rate) => rate < least,
            None => u128::from(window) * 2_000_000_000 < u128::from(srtt) * u128::from(least),
        };
        if slow {
            return fewest;
        }
        let rate = self.pacer.rate.unwrap_or_else(|| self.usual_rate());
        let bytes = ((rate / PER_SECOND).min(MOST_BYTES) + short).min(MOST_BYTES);
        narrow(bytes / self.mss).max(fewest)
    }

    #[inline]
    fn window_in_use(&self) -> u64 {
        self.cwnd.max(self.scoreboard.outstanding())
    }

    /// Returns the pacing rate in bytes per second that Linux gives every connection, whether or
    /// not its controller paces (`tcp_update_pacing_rate`).
    #[inline]
    pub(super) fn usual_rate(&self) -> u64 {
        let srtt = self.rtt.srtt().unwrap_or(Duration::ZERO).as_nanos();
        // From half of the threshold on, slow start is about to end, so Linux already lowers the
        // rate.
        let slow_start = self.cwnd < self.ssthresh / 2;
        let ratio = if slow_start { SLOW_START_RATIO } else { AVOIDANCE_RATIO };
        self.window_in_use().saturating_mul(ratio).saturating_mul(10_000_000) / srtt.max(1)
    }
}
