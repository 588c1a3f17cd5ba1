//! What a sender of Linux does after a pause of its application.

use goodqueue::{Duration, Instant};

use super::{Core, Phase, narrow};
use crate::clock::{TICK, ticks, ticks_between};
use crate::congestion::{CongestionControl, Start};

impl Core {
    /// Window of a new connection, in bytes.
    pub fn initial_window(&self) -> u64 {
        self.mss * u64::from(self.config.iw)
    }

    /// Notifies the controller of a segment that leaves with nothing in flight.
    pub fn tell_of_start(&mut self, now: Instant) {
        self.controller.on_start(&Start {
            now,
            pause: ticks_between(self.last_sent, now),
            app_limited: self.controls_all && self.rates.as_ref().is_some_and(|rates| rates.app_limited()),
            srtt: self.rtt.srtt().unwrap_or(Duration::ZERO),
            cwnd: self.cwnd,
            mss: narrow(self.mss),
        });
        self.pacer.rate = self.controller.pacing().rate;
    }

    /// Notifies the rate estimator that the application writes. If it had nothing more to send and
    /// the window had room, the next samples are limited by the application. Linux checks this only
    /// at the next write (`tcp_rate_check_app_limited()`).
    pub fn note_write(&mut self) {
        let Some(rates) = &mut self.rates else { return };
        let pipe = self.scoreboard.pipe();
        let unsent = self.data_end.saturating_sub(self.snd_nxt);
        let is_dry = unsent < self.mss && pipe < self.cwnd && self.scoreboard.next_lost().is_none();
        rates.note_app_limited(is_dry, pipe);
    }

    /// The number of retransmission timeouts in the time since the last segment was sent. Both
    /// times count in ticks, and Linux rounds a timeout up to them (`usecs_to_jiffies()`).
    pub fn timeouts_since_last_sent(&self, now: Instant) -> u64 {
        let timeout = self.rtt.rto().as_nanos().div_ceil(TICK).max(1);
        // The timeout must be exceeded: a pause of exactly one timeout counts as none.
        (ticks(now) - ticks(self.last_sent)).div_ceil(timeout).saturating_sub(1)
    }

    /// Halves the window for each timeout that passed, down to the initial window, and remembers
    /// three quarters of it in the threshold (RFC 2861 §3.1; Linux `tcp_cwnd_restart()`).
    pub fn halve_window(&mut self, timeouts: u64) {
        let segments = self.cwnd / self.mss;
        // A reduction has set the threshold already (Linux `tcp_current_ssthresh()`).
        if !matches!(self.phase, Phase::Recovery | Phase::Reduction) {
            self.ssthresh = self.ssthresh.max((segments / 2 + segments / 4) * self.mss);
        }
        let halvings = u32::try_from(timeouts).unwrap_or(u32::MAX);
        let halved = segments.checked_shr(halvings).unwrap_or(0) * self.mss;
        self.cwnd = halved.max(self.initial_window().min(self.cwnd));
    }
}
