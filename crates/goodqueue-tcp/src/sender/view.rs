//! What can be seen of a sender from outside.

use goodqueue::Duration;

use super::{FIRST_BYTE, Phase, Sender, State};

/// What a sender counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(C)]
pub struct SenderStats {
    /// Segments sent, of any kind.
    pub segments: u64,
    /// Data segments sent for the first time.
    pub data_segments: u64,
    /// Data segments sent again, for any reason.
    pub retransmits: u64,
    /// SYNs sent again.
    pub syn_retransmits: u64,
    /// ACKs that came in.
    pub acks: u64,
    /// Of those, duplicate ones (RFC 5681 §2, RFC 6675 §2).
    pub duplicate_acks: u64,
    /// Of those, ones that acknowledge what was never sent; they are ignored.
    pub invalid_acks: u64,
    /// SACK blocks that were inverted or beyond what was sent; they are ignored.
    pub invalid_sack_blocks: u64,
    /// Retransmission timeouts, SYN not counted.
    pub timeouts: u64,
    /// Times fast recovery began.
    pub fast_recoveries: u64,
    /// Window reductions on congestion marks.
    pub ecn_reductions: u64,
    /// Duplicates that the receiver reported (RFC 2883): retransmissions that were not needed, or copies that the
    /// network made.
    pub spurious: u64,
    /// Probes for a lost tail (RFC 8985 §7).
    pub tail_loss_probes: u64,
    /// Reductions that were taken back.
    pub undone: u64,
    /// Restarts after an idle time (RFC 5681 §4.1).
    pub idle_restarts: u64,
    /// Probes of a closed window (RFC 9293 §3.8.6.1).
    pub window_probes: u64,
}

impl<C> Sender<C> {
    /// True once the handshake is done.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// True once the FIN was acknowledged, and so everything before it.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.fin_sent && self.snd_una == self.snd_nxt
    }

    /// The next sequence number that the other end expects, as far as is known (SND.UNA).
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.snd_una
    }

    /// Payload bytes that were cumulatively acknowledged.
    #[must_use]
    pub fn bytes_acked(&self) -> u64 {
        let fin = u64::from(self.is_finished());
        self.snd_una.saturating_sub(FIRST_BYTE + fin)
    }

    /// What the next ACK will read beside the sender itself, for those who fetch memory ahead: places in the list of the
    /// segments that are out, a cache line from each other, some from the oldest on and that of the next to come.
    #[inline]
    pub fn records(&self) -> impl Iterator<Item = &impl Copy> {
        self.scoreboard.sample()
    }

    /// Congestion window in bytes; never below one full segment.
    #[must_use]
    pub const fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Slow-start threshold in bytes.
    #[must_use]
    pub const fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    /// Smoothed RTT (RFC 6298 §2); `None` before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }

    /// Retransmission timeout in force, back-off included (RFC 6298 §2 and §5.5).
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// Estimate of the bytes in the network (RFC 6675 §4).
    #[must_use]
    pub fn pipe(&self) -> u64 {
        self.scoreboard.pipe()
    }

    /// The same, counted from the scoreboard record by record: for tests, as it takes time in proportion to the
    /// window.
    #[must_use]
    pub fn recount_pipe(&self) -> u64 {
        self.scoreboard.recount_pipe()
    }

    /// Bytes sent and not cumulatively acknowledged (FlightSize, RFC 5681 §2).
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.scoreboard.outstanding()
    }

    /// True in fast recovery.
    #[must_use]
    pub fn is_in_recovery(&self) -> bool {
        self.phase == Phase::Recovery
    }

    /// True if both ends agreed on ECN.
    #[must_use]
    pub const fn uses_ecn(&self) -> bool {
        self.ecn
    }

    /// Bytes per second at which segments leave, if they are paced.
    #[must_use]
    pub const fn pacing_rate(&self) -> Option<u64> {
        self.pace
    }

    /// The congestion controller.
    #[must_use]
    pub const fn controller(&self) -> &C {
        &self.controller
    }

    /// Counters since the start.
    #[must_use]
    pub const fn stats(&self) -> &SenderStats {
        &self.stats
    }
}
