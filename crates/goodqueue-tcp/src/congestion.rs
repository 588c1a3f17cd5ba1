//! What a congestion controller is: told what happened, it answers with a window.
//!
//! The sender finds losses and decides when a window is reduced (once per round trip, whatever the signals);
//! the controller decides by how much, and how the window grows. All windows are in bytes.

use goodqueue::{Duration, Instant};

/// An ACK of new data, outside fast recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Instant,
    /// Bytes that it acknowledged for the first time, cumulatively.
    pub acked: u64,
    /// Smoothed RTT (RFC 6298 §2); zero before the first sample.
    pub srtt: Duration,
    /// The RTT sample that this ACK gave, if it gave one.
    pub rtt: Option<Duration>,
    /// Slow-start threshold in bytes. A controller that ends slow start by itself changes it.
    pub ssthresh: u64,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Slow start may grow by all that was acknowledged, not by one segment at most.
    pub whole: bool,
    /// Beyond slow start growth counts ACKs, not bytes (Linux up to 3.19): the bytes that this one acknowledged.
    pub per_ack: Option<u64>,
    /// Beyond slow start the window grows with the ACK after as many as growth takes, which counts for nothing else (Linux up
    /// to 3.19).
    pub one_more: bool,
    /// Growth is justified: the window was full before this ACK came (RFC 9438 §5.8, RFC 7661 §4.1), and the ACK
    /// echoes no congestion mark (RFC 3168 §6.1.2).
    pub may_grow: bool,
    /// It carried ECE (RFC 3168 §6.1) on a connection that uses ECN.
    pub ecn_echo: bool,
}

impl Ack {
    /// Slow start: the window grows by what was acknowledged, at most one segment per ACK (RFC 5681 §3.1,
    /// equation 2; appropriate byte counting with L = 1).
    #[must_use]
    #[inline]
    pub fn slow_start(&self, cwnd: u64) -> u64 {
        let limit = if self.whole { self.acked } else { u64::from(self.mss) };
        cwnd.saturating_add(self.acked.min(limit))
    }
}

/// Why the window is to be reduced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// A segment was found lost by duplicate or selective acknowledgements.
    Loss,
    /// The receiver echoed a congestion mark (RFC 3168 §6.1.2).
    Ecn,
    /// The retransmission timer ran out (RFC 5681 §3.1). The sender sets the window to one segment itself.
    Timeout,
}

/// A congestion event: at most one per window of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Congestion {
    /// When it was found.
    pub now: Instant,
    /// What told of it.
    pub signal: Signal,
    /// The window before, in bytes.
    pub cwnd: u64,
    /// Bytes sent and not yet cumulatively acknowledged, without those that limited transmit sent
    /// (FlightSize, RFC 5681 §3.2).
    pub in_flight: u64,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// The controller is to reduce from the window, in whole segments, rather than from what is in flight.
    pub whole: bool,
}

impl Congestion {
    /// What a reduction starts from, in bytes.
    #[must_use]
    pub fn basis(&self) -> u64 {
        if self.whole { self.cwnd } else { self.in_flight }
    }

    /// `window`, in whole segments if the stack counts them.
    #[must_use]
    pub fn rounded(&self, window: u64) -> u64 {
        if self.whole { window - window % u64::from(self.mss).max(1) } else { window }
    }
}

/// All that an ACK told, for a controller that [wants it](CongestionControl::wants_feedback).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// When it arrived.
    pub now: Instant,
    /// The first byte not yet cumulatively acknowledged, and the first not yet sent (SND.UNA, SND.NXT).
    pub una: u64,
    /// See `una`.
    pub next: u64,
    /// Bytes that it acknowledged cumulatively for the first time.
    pub acked: u64,
    /// Bytes that it acknowledged for the first time, selectively or not.
    pub delivered: u64,
    /// Bytes newly taken for lost.
    pub lost: u64,
    /// Bytes in the network after it, and before it.
    pub pipe: u64,
    /// See `pipe`.
    pub pipe_before: u64,
    /// So much later than now may the next segment leave, if segments are paced.
    pub until_departure: Duration,
    /// The RTT of the newest segment that it acknowledged, if that was sent once.
    pub rtt: Option<Duration>,
    /// Smoothed and least RTT; zero before the first sample.
    pub srtt: Duration,
    /// See `srtt`.
    pub min_rtt: Duration,
    /// One-way delay of data in microseconds, up to a constant (RFC 6817 §3.4.2): when the receiver sent this ACK less
    /// when the segment was sent whose timestamp it returns. `None` without timestamps.
    pub one_way_delay: Option<u32>,
    /// The timestamps that it carries, in microseconds modulo 2^32 (RFC 7323 §3.2): the receiver's own, and the sender's
    /// that it returns.
    pub stamps: Option<(u32, u32)>,
    /// It carried ECE on a connection that uses ECN.
    pub ecn_echo: bool,
    /// The sender is in fast recovery.
    pub in_recovery: bool,
    /// A delivery rate sample (draft-cheng-iccrg-delivery-rate-estimation), if the sender takes them.
    pub rate: Option<RateSample>,
    /// Payload of a full segment in bytes.
    pub mss: u32,
}

/// A delivery rate sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub delivered: u64,
    /// The longer of the times in which they were sent and acknowledged.
    pub interval: Duration,
    /// Bytes that had been delivered when the newest of them was sent.
    pub prior_delivered: u64,
    /// Bytes delivered in all.
    pub total: u64,
    /// Bytes taken for lost in all.
    pub lost: u64,
    /// The application had too little to send.
    pub app_limited: bool,
}

/// What a controller may set in answer to [`Feedback`], in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold.
    pub ssthresh: u64,
}

/// The part of TCP that decides how large the window is. Holds no clock and no window: both are passed in.
pub trait CongestionControl {
    /// Its name in the registry.
    fn name(&self) -> &'static str;

    /// New data was acknowledged; `cwnd` is the window in bytes. Returns the new one. Must not grow it unless
    /// [`Ack::may_grow`].
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64;

    /// Congestion was found. Returns the new slow-start threshold in bytes, which, after
    /// [`Signal::Loss`] and [`Signal::Ecn`], is also where the window goes.
    fn on_congestion(&mut self, event: &Congestion) -> u64;

    /// Nothing was sent for `idle`, and something is about to be.
    fn on_idle(&mut self, now: Instant, idle: Duration);

    /// Nothing was in flight, and the first segment since `pause` is about to leave (Linux `CA_EVENT_TX_START`).
    fn on_start(&mut self, now: Instant, pause: Duration) {
        let _ = (now, pause);
    }

    /// The retransmission timer ran out; comes after [`on_congestion`](Self::on_congestion), where the window was reduced, or
    /// without, where it had been before. `lost`: bytes taken for lost in all, where the sender takes delivery rate samples.
    fn on_timeout(&mut self, lost: u64) {
        let _ = lost;
    }

    /// A reduction was taken back: nothing had been lost.
    fn on_undo(&mut self) {}

    /// True if [`on_feedback`](Self::on_feedback) is to be called; asked once, when the connection is made.
    fn wants_feedback(&self) -> bool {
        false
    }

    /// An ACK, in recovery as well; comes before [`on_ack`](Self::on_ack).
    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        let _ = (feedback, window);
    }

    /// True if [`on_feedback`](Self::on_feedback) comes before the sender looks for losses and reduces the window, where the
    /// stack has controllers that hear of ACKs early and late (Linux's `pkts_acked` and `in_ack_event` are early).
    fn hears_first(&self) -> bool {
        false
    }

    /// A loss was found while the window is being reduced because of a mark. Returns the new slow-start threshold in bytes if
    /// that is another event; `None`: it is the same.
    fn on_loss_after_mark(&mut self, event: &Congestion) -> Option<u64> {
        let _ = event;
        None
    }

    /// Asked once, when the connection is made, if [`HyStart`](crate::HyStart) is not the controller's own: whether its slow
    /// start is the standard one, which ends at the threshold, grows by [`Ack::acked`], and which HyStart++ may shape. From then
    /// on it is.
    fn takes_standard_slow_start(&mut self) -> bool {
        false
    }

    /// True if the controller sets the window in recovery too, and no rate reduction is to be made by the sender (BBR).
    fn controls_all(&self) -> bool {
        false
    }

    /// Bytes per second at which segments may leave; `None`: as the window lets them.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// Least number of segments that leave together at the pacing rate, if the window allows.
    fn least_burst(&self) -> u32 {
        2
    }

    /// The window in bytes, where it may be less than a segment.
    fn fine_window(&self) -> Option<u64> {
        None
    }
}
