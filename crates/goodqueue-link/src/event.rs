//! What becomes of a packet.

use goodqueue::{DropReason, Instant};

/// The fate of a packet that was given to a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event<P> {
    /// The packet reached the other side. It carries a mark if the discipline marked it.
    Arrived {
        /// Time of the arrival.
        at: Instant,
        /// The packet.
        packet: P,
    },
    /// The queue discipline dropped the packet.
    Dropped {
        /// Time of the drop.
        at: Instant,
        /// The packet.
        packet: P,
        /// Reason that the discipline gave.
        why: DropReason,
    },
    /// The path behind the queue lost the packet.
    Lost {
        /// Time of the loss.
        at: Instant,
        /// The packet.
        packet: P,
        /// [`DropReason::Lost`], or the reason for which a full path dropped it.
        why: DropReason,
    },
}

impl<P> Event<P> {
    /// Returns the time of the event.
    #[must_use]
    pub const fn at(&self) -> Instant {
        match self {
            Self::Arrived { at, .. } | Self::Dropped { at, .. } | Self::Lost { at, .. } => *at,
        }
    }

    /// Returns the packet if it arrived.
    #[must_use]
    pub fn arrived(self) -> Option<P> {
        match self {
            Self::Arrived { packet, .. } => Some(packet),
            Self::Dropped { .. } | Self::Lost { .. } => None,
        }
    }

    /// Returns the same event of a packet that `change` makes of this one.
    #[must_use]
    pub fn map<Q>(self, change: impl FnOnce(P) -> Q) -> Event<Q> {
        match self {
            Self::Arrived { at, packet } => Event::Arrived { at, packet: change(packet) },
            Self::Dropped { at, packet, why } => Event::Dropped { at, packet: change(packet), why },
            Self::Lost { at, packet, why } => Event::Lost { at, packet: change(packet), why },
        }
    }
}
