//! Whether there is something to send to a receiver.

/// The packets for a receiver that have left its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outside {
    /// Position of the first packet that has left the queue and must be sent, or sent again.
    pub(crate) waiting: Option<u64>,
    /// True if the window has room for the next frame.
    pub(crate) may_send: bool,
}

/// Whether there is something to send to a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Demand {
    /// Nothing to send.
    Nothing,
    /// Something to send, but not now.
    Blocked,
    /// Something to send now.
    Ready,
}

impl Outside {
    /// Combines these packets with a queue that is empty or not.
    pub(crate) const fn demand(self, queued: bool) -> Demand {
        match (queued || self.waiting.is_some(), self.may_send) {
            (false, _) => Demand::Nothing,
            (true, false) => Demand::Blocked,
            (true, true) => Demand::Ready,
        }
    }
}
