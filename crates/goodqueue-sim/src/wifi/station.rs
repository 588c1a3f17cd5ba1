//! A node of the channel: its queues and its four contenders for the medium.

use goodqueue::{Flow, Instant, Packet};

use super::contention::{AccessCategory, Backoff};
use super::forming::Forming;
use super::queues::Queues;
use super::supply::Supply;

/// A node.
#[derive(Clone, Debug)]
pub(super) struct Station<P: Packet + Flow> {
    /// Time from which the node counts the medium as idle. Its inter-frame spaces begin here.
    pub(super) idle_from: Instant,
    pub(super) queues: Queues<P>,
    pub(super) access: [Access<P>; 4],
}

/// One access category of a node.
#[derive(Clone, Debug)]
pub(super) struct Access<P> {
    pub(super) backoff: Backoff,
    pub(super) supply: Supply<P>,
    /// Time since which it has had something to send.
    pub(super) ready: Option<Instant>,
}

impl<P: Packet + Flow> Station<P> {
    pub(super) fn new(queues: Queues<P>, forming: Forming) -> Self {
        let access = AccessCategory::ALL.map(|category| Access {
            backoff: Backoff::new(category.edca()),
            supply: Supply::new(forming),
            ready: None,
        });
        Self { idle_from: Instant::ZERO, queues, access }
    }

    /// Returns the time at which the first of its access categories begins to send, if the medium
    /// stays idle.
    pub(super) fn sends_at(&self) -> Option<Instant> {
        self.access.iter().filter_map(|access| access.sends_at(self.idle_from)).min()
    }
}

impl<P> Access<P> {
    /// Returns the time at which it begins to send, if the medium stays idle from `idle` on.
    pub(super) fn sends_at(&self, idle: Instant) -> Option<Instant> {
        self.ready.map(|ready| self.backoff.sends_at(idle, ready))
    }
}
