//! The answer of a control law.

/// What to do with the packet, datagram or request that a control law was asked about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use = "the caller carries out the verdict"]
pub enum Verdict {
    /// Send or serve it.
    Pass,
    /// Send or serve it with a congestion mark (ECN's CE, or a hint of your own protocol).
    Mark,
    /// Drop or reject it.
    Drop,
}
