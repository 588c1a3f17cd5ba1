//! Groups of variables of a sender that belong together.

use alloc::boxed::Box;

use goodqueue::{Duration, Instant};

use super::plain_buffer::PlainBuffer;
use super::send_buffer::SendBuffer;

/// Segments that leave before all others.
#[derive(Clone, Copy, Default, Debug)]
pub struct DueSegments {
    /// The ACK of the SYN/ACK.
    pub ack: bool,
    /// The SYN.
    pub syn: bool,
    /// The oldest segment, without room in the window (RFC 6675 §5 step 4.3, RFC 6298 §5.4).
    pub front: bool,
}

/// The probes of a closed window (RFC 9293 §3.8.6.1).
#[derive(Clone, Copy, Default, Debug)]
pub struct Persist {
    /// The timer is the persist timer.
    pub is_on: bool,
    /// A segment that probes the window is to be sent.
    pub probe_due: bool,
}

/// State of the present recovery.
#[derive(Clone, Copy, Default, Debug)]
pub struct Recovery {
    /// The rescue retransmission is spent (RFC 6675 §4, NextSeg rule 4).
    pub rescued: bool,
    /// No partial ACK came yet (RFC 6582 §3.2 step 3).
    pub first_partial: bool,
}

/// The window that the receiver offers.
#[derive(Clone, Copy, Default, Debug)]
pub struct OfferedWindow {
    /// Right edge of the window.
    pub edge: u64,
    /// Largest window that the receiver ever offered, in bytes.
    pub most: u64,
}

/// A tail loss probe (RFC 8985 §7).
#[derive(Clone, Copy, Default, Debug)]
pub struct TailProbe {
    /// A probe leaves without room in the window: new data (true) or the last segment again.
    pub due: Option<bool>,
    /// SND.NXT when a probe was sent whose answer is awaited; whether it was a retransmission.
    pub probed: Option<(u64, bool)>,
}

/// Segments that leave together.
#[derive(Clone, Copy, Default, Debug)]
pub struct BurstState {
    /// The burst waits for the next ACK; polling does not release it.
    pub awaits_ack: bool,
    /// No segment of this burst has left yet.
    pub(crate) begins: bool,
    /// This burst has more than one segment.
    pub(crate) of_several: bool,
    /// Segments of this burst that have not left yet.
    pub(crate) left: u32,
}

/// How segments are spread over time.
#[derive(Clone, Copy, Default, Debug)]
pub struct Pacer {
    /// Bytes per second; `None`: segments are not paced.
    pub rate: Option<u64>,
    /// When the next segment may leave.
    pub(crate) next_departure: Instant,
    /// How late the last burst left, compared with its pacing time.
    pub(crate) late_by: Duration,
    /// Segments wait for their departure.
    pub(crate) paced_out: bool,
}

/// The queue of the host itself, in front of the network.
#[derive(Clone, Copy, Default, Debug)]
pub struct HostQueue {
    /// It refused a segment: the next ACK or timer is awaited.
    pub refused: bool,
    /// Nothing is out, and a segment was refused before.
    pub(crate) refused_alone: bool,
    /// Segments of the connection in it, as far as the host says so.
    pub(crate) waiting: u64,
    /// How the stack uses it.
    pub(crate) usage: Usage,
    /// It holds enough of the connection; the next segment waits until one has left.
    pub(crate) is_full: bool,
    /// When the last segment may leave it.
    pub(crate) departure: Instant,
}

/// How a stack uses the queue of its host.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Usage {
    /// It does not know the queue.
    #[default]
    Unknown,
    /// It fills the queue up to the limit of TCP small queues.
    Limited,
    /// The same, and the queue holds each segment until its departure.
    Planned,
}

/// The buffer into which the application writes.
#[derive(Clone, Default, Debug)]
pub(crate) struct Buffers {
    /// Its size is limited.
    pub(crate) is_limited: bool,
    /// The buffer of a stack that sends in bursts.
    pub(crate) of_bursts: Option<Box<SendBuffer>>,
    /// The buffer of another stack.
    pub(crate) plain: Option<Box<PlainBuffer>>,
}
