//! What a sender counts.

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
    /// Duplicates that the receiver reported (RFC 2883): retransmissions that were not needed, or
    /// copies that the network made.
    pub spurious: u64,
    /// Probes for a lost tail (RFC 8985 §7).
    pub tail_loss_probes: u64,
    /// Reductions that were taken back.
    pub undone: u64,
    /// Restarts after an idle time (RFC 5681 §4.1).
    pub idle_restarts: u64,
    /// Probes of a closed window (RFC 9293 §3.8.6.1).
    pub window_probes: u64,
    /// Packets that AccECN reported as marked (RFC 9768).
    pub marks: u64,
}
