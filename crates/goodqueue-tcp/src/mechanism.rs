//! What some stacks can do and others cannot.

/// A mechanism that a stack may have. Settings that need one are refused for a stack without it
/// ([`Config::check`](crate::Config::check)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Mechanism {
    /// Recovery without [`Config::sack`](crate::Config::sack), as NewReno has it (RFC 6582).
    RecoveryWithoutSack,
    /// Probes for a lost tail ([`Config::tail_loss_probe`](crate::Config::tail_loss_probe)).
    TailLossProbe,
    /// Early retransmission ([`Config::early_retransmit`](crate::Config::early_retransmit)).
    EarlyRetransmit,
    /// Segments that the host's queue refused are offered again
    /// ([`Config::offers_again`](crate::Config::offers_again)).
    OfferAgain,
    /// The receiver adapts ACKs and windows to the traffic:
    /// [`Config::adaptive_acks`](crate::Config::adaptive_acks),
    /// [`quick_acks`](crate::Config::quick_acks),
    /// [`quick_after_gap`](crate::Config::quick_after_gap) and
    /// [`sack_delay`](crate::Config::sack_delay).
    AdaptiveAcks,
    /// Reductions are taken back ([`Config::undo`](crate::Config::undo)).
    Undo,
    /// TCP small queues, and departures that the host's queue keeps
    /// ([`Sender::set_host_queue`](crate::Sender::set_host_queue)).
    SmallQueues,
    /// Accurate ECN ([`Config::accecn`](crate::Config::accecn)).
    AccurateEcn,
}
