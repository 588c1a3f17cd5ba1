//! Congestion controllers: a controller receives events and returns a window.
//!
//! The sender finds losses and decides when a window is reduced: once per round trip, for any
//! number of signals. The controller decides by how much, and how the window grows. All windows are
//! in bytes.
//!
//! This file describes what a controller is. Each controller is one file below it;
//! [`registry`](crate::registry) lists them.

use core::fmt::Debug;

use goodqueue::{Duration, Instant};

pub mod bbr;
pub mod bbr3;
pub mod compound;
pub mod cube_root;
pub mod cubic;
pub mod cubic_linux;
pub mod dctcp;
pub mod fixed;
pub mod ledbat;
mod max_filter;
pub mod new_reno;
pub mod nice;
pub mod own;
mod own_limit;
pub mod parameter;
pub mod prague;
pub mod reno;
pub mod tcp_lp;
pub mod vegas;
pub mod whole;

use parameter::{Parameter, Value};

/// A congestion controller as its users and its sender see it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct About {
    /// Name in scenarios.
    pub name: &'static str,
    /// Name of the controller of which it is a variant. Lists show it after that one.
    pub variant_of: Option<&'static str>,
    /// One sentence: what it does.
    pub summary: &'static str,
    /// The document that defines it.
    pub reference: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// What is built in.
    pub constants: &'static [Constant],
    /// What it needs of both ends.
    pub needs: Needs,
    /// Whether and when it receives feedback on each ACK.
    pub feedback: FeedbackTiming,
    /// It sets the window in recovery too, and the sender reduces no rate (BBR).
    pub controls_all: bool,
    /// Its slow start is the standard one, which ends at the threshold and grows by [`Ack::acked`].
    /// HyStart++ may shape it.
    pub standard_slow_start: bool,
    /// Windows that a send buffer of Linux has memory for (`sndbuf_expand`): the one that is out,
    /// and what is written meanwhile.
    pub buffered_windows: u8,
}

impl About {
    /// A controller without a name that has no parameters, needs nothing and receives no feedback.
    /// Others state their differences: `About { name: "reno", ..About::PLAIN }`.
    pub const PLAIN: Self = Self {
        name: "",
        variant_of: None,
        summary: "",
        reference: "",
        parameters: &[],
        constants: &[],
        needs: Needs::Nothing,
        feedback: FeedbackTiming::Nothing,
        controls_all: false,
        standard_slow_start: false,
        buffered_windows: 2,
    };
}

/// What a controller needs of both ends of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// Timestamps, for one-way delays.
    Timestamps,
    /// ECN with an echo of each segment's own mark.
    AccurateEcn,
    /// L4S (RFC 9331): AccECN, and ECT(1) on all packets. Without them the controller behaves as
    /// one without ECN.
    L4s,
}

/// Whether and when a controller receives feedback on each ACK
/// ([`CongestionControl::on_feedback`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FeedbackTiming {
    /// Never.
    Nothing,
    /// After the sender looked for losses.
    EveryAck,
    /// Before the sender looks for losses and reduces the window, if the stack calls some
    /// controllers early and others late (Linux's `pkts_acked` and `in_ack_event` are early).
    EveryAckFirst,
}

/// A constant of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Constant {
    /// The name its document gives it.
    pub name: &'static str,
    /// Value and unit.
    pub value: &'static str,
    /// The document that gives the value.
    pub source: &'static str,
}

/// How segments are spread over time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pacing {
    /// Bytes per second at which segments may leave; `None`: only the window limits them.
    pub rate: Option<u64>,
    /// Least number of segments that leave together at that rate, if the window allows.
    pub least_burst: u32,
    /// Number of segments that leave together, for stacks that send bursts; `None`: the stack's
    /// own.
    pub burst: Option<u32>,
    /// The window in bytes, where it may be less than a segment.
    pub fine_window: Option<u64>,
}

impl Pacing {
    /// Only the window limits segments.
    pub const UNPACED: Self = Self { rate: None, least_burst: 2, burst: None, fine_window: None };
}

/// A controller with a name: it starts with its defaults, and then receives parameters.
///
/// A controller of another crate implements this trait too.
/// [`Catalogue::with_controller`](crate::Catalogue::with_controller) makes its name known.
pub trait Controller: CongestionControl + Default + Clone + Debug + Send + Sync + 'static {
    /// Description of the controller, and what it needs of its sender.
    const ABOUT: About;

    /// Sets a parameter of its table ([`About::parameters`]) to a value within its range.
    fn set(&mut self, parameter: &str, value: Value) {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = (parameter, value);
    }
}

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
    /// Bytes that it acknowledged, independent of the rule of `acked`.
    pub covered: u64,
    /// How the stack lets windows grow.
    pub growth: GrowthRule,
    /// Growth is justified: the window was full before this ACK came (RFC 9438 §5.8, RFC 7661
    /// §4.1), and the ACK echoes no congestion mark (RFC 3168 §6.1.2).
    pub may_grow: bool,
    /// It carried ECE (RFC 3168 §6.1) on a connection that uses ECN, or reports new marks by AccECN
    /// (RFC 9768).
    pub ecn_echo: bool,
}

/// How a stack lets windows grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GrowthRule {
    /// Slow start grows by all of [`Ack::acked`], not by one segment at most, and leaves the unused
    /// part to congestion avoidance.
    pub whole: bool,
    /// Congestion avoidance counts ACKs, not bytes.
    pub per_ack: bool,
    /// Congestion avoidance grows the window with the ACK after the last one that it needs. That
    /// ACK counts for nothing else.
    pub late: bool,
}

impl GrowthRule {
    /// Appropriate byte counting with L = 1 (RFC 3465, RFC 5681 §3.1).
    pub const ABC: Self = Self { whole: false, per_ack: false, late: false };
}

impl Ack {
    /// Slow start: the window grows by what was acknowledged, at most one segment per ACK (RFC 5681
    /// §3.1, equation 2; appropriate byte counting with L = 1).
    #[must_use]
    #[inline]
    pub fn slow_start(&self, cwnd: u64) -> u64 {
        let limit = if self.growth.whole { self.acked } else { u64::from(self.mss) };
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
    /// The retransmission timer ran out (RFC 5681 §3.1). The sender sets the window to one segment
    /// itself.
    Timeout,
}

/// A congestion event: at most one per window of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Congestion {
    /// When it was found.
    pub now: Instant,
    /// The signal.
    pub signal: Signal,
    /// The window before, in bytes.
    pub cwnd: u64,
    /// Bytes sent and not yet cumulatively acknowledged, without those that limited transmit sent
    /// (FlightSize, RFC 5681 §3.2).
    pub in_flight: u64,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// The controller is to reduce from the window, in whole segments, rather than from what is in
    /// flight.
    pub whole: bool,
}

impl Congestion {
    /// Returns the bytes from which a reduction starts.
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

/// The content of an ACK, for a controller that [receives feedback](About::feedback).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// When it arrived.
    pub now: Instant,
    /// The first byte not yet cumulatively acknowledged (SND.UNA).
    pub una: u64,
    /// The first byte not yet sent (SND.NXT).
    pub next: u64,
    /// Bytes that it acknowledged cumulatively for the first time.
    pub acked: u64,
    /// Bytes that it acknowledged for the first time, selectively or not.
    pub delivered: u64,
    /// Bytes newly taken for lost.
    pub lost: u64,
    /// Bytes in the network after the ACK.
    pub pipe: u64,
    /// Bytes in the network before the ACK.
    pub pipe_before: u64,
    /// Time until the next segment may leave, if segments are paced.
    pub until_departure: Duration,
    /// The RTT of the newest segment that it acknowledged, if that was sent once.
    pub rtt: Option<Duration>,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// Least RTT; zero before the first sample.
    pub min_rtt: Duration,
    /// One-way delay of data in microseconds, up to a constant (RFC 6817 §3.4.2): the time of this
    /// ACK on the receiver's clock, minus the returned time of the segment on the sender's clock.
    /// `None` without timestamps.
    pub one_way_delay: Option<u32>,
    /// The timestamps of the ACK in microseconds modulo 2^32 (RFC 7323 §3.2): the receiver's own,
    /// and the returned one of the sender.
    pub stamps: Option<(u32, u32)>,
    /// The clock of the real system at the time 0 of the timestamps, in milliseconds modulo 2^32.
    pub clock_start_ms: u32,
    /// It carried ECE on a connection that uses ECN, or reports new marks by AccECN.
    pub ecn_echo: bool,
    /// Bytes that it reports as marked: with AccECN those newly counted (RFC 9768), otherwise all
    /// delivered ones if it carried ECE.
    pub marked: u64,
    /// Both ends agreed on AccECN, so that `marked` is exact.
    pub accurate: bool,
    /// The sender is in fast recovery.
    pub in_recovery: bool,
    /// The controller may end slow start in its own way ([`HyStart::Own`](crate::HyStart::Own)).
    pub own_slow_start: bool,
    /// A delivery rate sample (draft-cheng-iccrg-delivery-rate-estimation), if the sender takes
    /// them.
    pub rate: Option<RateSample>,
    /// The application had too little to send, and what was out then is not all delivered. False if
    /// the sender takes no delivery rate samples.
    pub app_limited: bool,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Bytes of the headers before that payload: IP, TCP, and the options of every segment.
    pub headers: u32,
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
    /// Bytes that were in the network when the newest of them was sent, itself included.
    pub tx_in_flight: u64,
    /// Bytes taken for lost since then.
    pub lost_since: u64,
    /// The application had too little to send.
    pub app_limited: bool,
}

/// A segment that is taken for lost, for a controller that [controls all](About::controls_all).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostSegment {
    /// When it was found lost.
    pub now: Instant,
    /// Number of the segment among all that were ever sent. A loss at the next number belongs to
    /// the same gap.
    pub position: u64,
    /// Sequence numbers that it takes.
    pub bytes: u64,
    /// Bytes that were in the network when it was last sent, itself included.
    pub tx_in_flight: u64,
    /// Bytes taken for lost since then, itself included.
    pub lost: u64,
    /// The application had too little to send then.
    pub app_limited: bool,
}

/// The variables that a controller may set in answer to [`Feedback`], in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold.
    pub ssthresh: u64,
}

/// The first segment after a time with nothing in flight is about to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// When it leaves.
    pub now: Instant,
    /// How long nothing had been sent, in whole ticks of the host's clock.
    pub pause: Duration,
    /// The application had too little to send: a pause of its own, not a timeout that emptied the
    /// path. False if the sender takes no delivery rate samples.
    pub app_limited: bool,
    /// Smoothed round-trip time: before the first data that of the handshake. Zero if none is
    /// known.
    pub srtt: Duration,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Payload of a full segment in bytes.
    pub mss: u32,
}

/// The part of TCP that decides the size of the window. It has no clock and no window: both are
/// arguments.
pub trait CongestionControl {
    /// Returns the new window in bytes after an ACK of new data; `cwnd` is the window before. Must
    /// not grow it unless [`Ack::may_grow`].
    fn on_ack(&mut self, ack: &mut Ack, cwnd: u64) -> u64;

    /// Returns the new slow-start threshold in bytes after congestion. After [`Signal::Loss`] and
    /// [`Signal::Ecn`] this is the window as well.
    fn on_congestion(&mut self, event: &Congestion) -> u64;

    /// A loss was found while the window is being reduced because of a mark. Returns the new
    /// slow-start threshold in bytes if that is another event, `None` if it is the same one.
    fn on_loss_after_mark(&mut self, event: &Congestion) -> Option<u64> {
        let _ = event;
        None
    }

    /// A segment is taken for lost. The call comes before the [`on_feedback`](Self::on_feedback) of
    /// the ACK that shows it; a timer may show it too.
    fn on_lost(&mut self, lost: &LostSegment) {
        let _ = lost;
    }

    /// An ACK arrived, in recovery or not. The call comes before [`on_ack`](Self::on_ack), at the
    /// time that [`About::feedback`] names.
    fn on_feedback(&mut self, feedback: &Feedback, window: &mut Window) {
        let _ = (feedback, window);
    }

    /// Nothing was sent for `idle`, longer than a retransmission timeout, and a segment is about to
    /// be sent. The sender then makes the window smaller, unless the controller
    /// [controls all](About::controls_all).
    fn on_idle(&mut self, now: Instant, idle: Duration) {
        let _ = (now, idle);
    }

    /// Nothing was in flight, and a segment is about to leave (Linux `CA_EVENT_TX_START`).
    fn on_start(&mut self, start: &Start) {
        let _ = start;
    }

    /// The retransmission timer ran out. Comes after [`on_congestion`](Self::on_congestion) if the
    /// timeout reduced the window, and alone otherwise. `lost`: bytes taken for lost in all, if the
    /// sender takes delivery rate samples.
    fn on_timeout(&mut self, lost: u64) {
        let _ = lost;
    }

    /// A reduction was taken back, since nothing had been lost.
    fn on_undo(&mut self) {}

    /// Returns how segments are spread over time.
    fn pacing(&self) -> Pacing {
        Pacing::UNPACED
    }
}
