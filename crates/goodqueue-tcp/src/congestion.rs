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
    /// Slow-start threshold in bytes.
    pub ssthresh: u64,
    /// Payload of a full segment in bytes.
    pub mss: u32,
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
        cwnd.saturating_add(self.acked.min(u64::from(self.mss)))
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
}

/// The part of TCP that decides how large the window is. Holds no clock and no window: both are passed in.
pub trait CongestionControl {
    /// Its name in the registry.
    fn name(&self) -> &'static str;

    /// New data was acknowledged; `cwnd` is the window in bytes. Returns the new one. Must not grow it unless
    /// [`Ack::may_grow`].
    fn on_ack(&mut self, ack: &Ack, cwnd: u64) -> u64;

    /// Congestion was found. Returns the new slow-start threshold in bytes, which, after
    /// [`Signal::Loss`] and [`Signal::Ecn`], is also where the window goes.
    fn on_congestion(&mut self, event: &Congestion) -> u64;

    /// Nothing was sent for `idle`, and something is about to be.
    fn on_idle(&mut self, now: Instant, idle: Duration);
}
