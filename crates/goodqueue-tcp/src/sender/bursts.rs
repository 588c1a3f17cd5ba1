//! Segments that leave together, as Linux makes large packets that are cut at the device (TSO): how many, and when a window
//! that is open by too little is left for the next ACK.

use goodqueue::{Duration, Instant};

use super::{Phase, Sender, narrow};
use crate::congestion::CongestionControl;

/// Least number of segments of a burst, if the window allows (`tcp_min_tso_segs`).
const LEAST: u32 = 2;
/// Most bytes of a burst (`GSO_MAX_SIZE`).
const MOST_BYTES: u64 = 65_536;
/// The application's data are cut into pieces of so many bytes first, and no burst goes beyond one: what an IP packet
/// holds less the room for headers.
const PIECE: u64 = MOST_BYTES - 257;
/// A burst has what the pacing rate brings in 1/1024 s (`tcp_pacing_shift`); the rate is so many hundredths of window per
/// SRTT in slow start and beyond it (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const PER_SECOND: u64 = 1024;
const SLOW_START_RATIO: u64 = 200;
const AVOIDANCE_RATIO: u64 = 120;
/// On short paths bursts are larger: they halve with each 512 µs of the least RTT (`tcp_tso_rtt_log`).
const RTT_SHIFT: u32 = 9;
/// With more than this part of the window open there is no waiting (`tcp_tso_win_divisor`), nor if the last segment left
/// longer ago than this, nor if the next ACK is further away.
const WINDOW_DIVISOR: u64 = 3;
const RECENT: Duration = Duration::from_millis(1);

impl<C: CongestionControl> Sender<C> {
    /// Decides how many segments follow each other now, with `room` bytes of the congestion window and `usable` of the
    /// receiver's open. False: none, it is better to wait for the next ACK.
    #[inline]
    pub(super) fn begin_burst(&mut self, now: Instant, room: u64, usable: u64) -> bool {
        let most = self.most_of_burst();
        let open = room.min(usable);
        let remaining = self.data_end - self.snd_nxt;
        let full = u64::from(most) * self.mss;
        let segments = if open >= full { most } else { narrow(open / self.mss).max(1) };
        if self.piece == 0 {
            self.piece = narrow(PIECE / self.mss).max(1);
        }
        let left = if remaining >= full { most } else { narrow(remaining.div_ceil(self.mss)).max(1) };
        let left = left.min(self.piece);
        if segments < left && segments < most && self.awaits_more(now, open) {
            return false;
        }
        self.burst = segments.min(left);
        self.burst_of_several = self.burst > 1;
        true
    }

    /// Whether the segment up to `end`, of which the burst has one less to go now, is to be handed over at once.
    #[inline]
    pub(super) fn ends_burst(&mut self, end: u64) -> bool {
        self.burst = self.burst.saturating_sub(1);
        self.piece = self.piece.saturating_sub(1);
        if end == self.data_end {
            self.piece = 0;
        }
        (self.burst == 0 && self.burst_of_several) || self.piece == 0
    }

    /// A full burst will be possible soon: the last one left just now, and the next ACK is expected at once, as the oldest
    /// segment has been out for a round trip.
    fn awaits_more(&self, now: Instant, open: u64) -> bool {
        let srtt = self.rtt.srtt().unwrap_or(Duration::ZERO);
        let soon = now + RECENT.min(Duration::from_nanos(srtt.as_nanos() / 2));
        !matches!(self.phase, Phase::Recovery | Phase::Loss)
            && now.since(self.last_sent) <= RECENT
            && open < self.cwnd / WINDOW_DIVISOR
            && self.scoreboard.front_sent().is_some_and(|sent| sent + srtt <= soon)
    }

    /// Most segments of a burst, by the rate at which the window would go over a round trip.
    #[inline]
    fn most_of_burst(&self) -> u32 {
        let srtt = self.rtt.srtt().unwrap_or(Duration::ZERO).as_nanos();
        let rtt = self.rtt.min_rtt().as_nanos() / 1000;
        let window = self.cwnd.max(self.scoreboard.outstanding());
        // Whether it can be more than the least, without a division.
        let least = u64::from(LEAST + 1) * self.mss * PER_SECOND;
        let slow = match self.pace {
            Some(rate) => rate < least,
            None => u128::from(window) * 2_000_000_000 < u128::from(srtt) * u128::from(least),
        };
        if slow && rtt >> RTT_SHIFT > 4 {
            return LEAST;
        }
        let slow_start = self.cwnd < self.ssthresh / 2;
        let ratio = if slow_start { SLOW_START_RATIO } else { AVOIDANCE_RATIO };
        let rate = self
            .pace
            .unwrap_or_else(|| window.saturating_mul(ratio).saturating_mul(10_000_000) / srtt.max(1));
        let shift = u32::try_from(rtt >> RTT_SHIFT).unwrap_or(u32::MAX);
        let short = MOST_BYTES.checked_shr(shift).unwrap_or(0);
        let bytes = ((rate / PER_SECOND).min(MOST_BYTES) + short).min(MOST_BYTES);
        narrow(bytes / self.mss).max(LEAST)
    }
}
