//! The changes that an ACK makes.

use goodqueue::Duration;

/// The changes that one ACK makes, in bytes.
#[derive(Default)]
pub struct AckChanges {
    /// Cumulatively acknowledged for the first time.
    pub acked: u64,
    /// Cumulatively or selectively acknowledged for the first time.
    pub delivered: u64,
    /// Selectively acknowledged for the first time.
    pub sacked: u64,
    /// A segment was taken for lost because of this ACK.
    pub lost: bool,
    /// It is a duplicate (RFC 6675 §2; without SACK RFC 5681 §2).
    pub duplicate: bool,
    /// RTT of the newest segment that it acknowledged, if that was sent once.
    pub rtt: Option<Duration>,
    /// Bytes newly taken for lost, if the controller asks.
    pub newly_lost: u64,
    /// Bytes in the network before it.
    pub pipe_before: u64,
    /// It carried ECE on a connection that uses ECN.
    pub echo: bool,
}
