//! A user who transfers something, thinks, and does it again, over any transport.

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{Duration, Instant};

use super::distribution::Distribution;
use super::source::Transfer;
use crate::id::FlowId;
use crate::network::Network;

/// The settings of a user.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Habits {
    /// Size of each transfer in bytes.
    pub size: Distribution,
    /// Time between the end of a transfer and the beginning of the next, in seconds.
    pub think: Distribution,
    /// True if all transfers use one connection; otherwise each opens its own.
    pub persistent: bool,
    /// Number of transfers; `None` for no limit.
    pub count: Option<u64>,
}

/// The transfers of a user, and the pauses between them. The source that holds this value moves the
/// data.
#[derive(Debug)]
pub struct User {
    flow: FlowId,
    habits: Habits,
    random: Xoshiro256PlusPlus,
    transfers: Vec<Transfer>,
    is_transferring: bool,
    /// Start of the next transfer, while the user thinks.
    next_at: Option<Instant>,
    is_stopped: bool,
}

impl User {
    /// Creates the user of flow number `flow`, whose sizes and pauses follow from `random`.
    #[must_use]
    pub const fn new(flow: FlowId, habits: Habits, random: Xoshiro256PlusPlus) -> Self {
        Self {
            flow,
            habits,
            random,
            transfers: Vec::new(),
            is_transferring: false,
            next_at: None,
            is_stopped: false,
        }
    }

    /// Returns true if the next transfer needs a connection of its own.
    #[must_use]
    pub const fn needs_connection(&self) -> bool {
        self.transfers.is_empty() || !self.habits.persistent
    }

    /// Returns true if all transfers use one connection.
    #[must_use]
    pub const fn is_persistent(&self) -> bool {
        self.habits.persistent
    }

    /// Draws the size of the next transfer in bytes; `None` if the user makes no more transfers.
    pub fn next_size(&mut self) -> Option<u64> {
        let is_last = self.habits.count.is_some_and(|count| self.transfers.len() as u64 >= count);
        (!self.is_stopped && !is_last).then(|| self.habits.size.draw_bytes(&mut self.random))
    }

    /// Begins a transfer.
    pub fn begin(&mut self, now: Instant, bytes: u64) {
        self.transfers.push(Transfer { begun_at: now, ended_at: None, bytes });
        self.is_transferring = true;
    }

    /// Returns true from the beginning of a transfer to its end.
    #[must_use]
    pub const fn is_transferring(&self) -> bool {
        self.is_transferring
    }

    /// Ends the transfer in progress. The user thinks, and the flow wakes up for the next one.
    pub fn end(&mut self, now: Instant, network: &mut Network) {
        self.is_transferring = false;
        if let Some(transfer) = self.transfers.last_mut() {
            transfer.ended_at = Some(now);
        }
        // At least 1 ns, so that transfers over a path without delay cannot stop time.
        let next_at = now + self.habits.think.draw_time(&mut self.random).max(Duration::from_nanos(1));
        self.next_at = Some(next_at);
        network.wake(self.flow, next_at);
    }

    /// Handles a wake-up of the flow. Returns whether the next transfer is due.
    pub fn on_wake(&mut self, now: Instant, network: &mut Network) -> bool {
        let Some(next_at) = self.next_at else { return false };
        let is_due = next_at <= now;
        if is_due {
            self.next_at = None;
        } else {
            // The network keeps only the earliest wake-up of a flow, so this one is requested
            // again.
            network.wake(self.flow, next_at);
        }
        is_due
    }

    /// Lets the user begin no more transfers.
    pub const fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Returns all transfers in the order of their beginnings.
    #[must_use]
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }
}
