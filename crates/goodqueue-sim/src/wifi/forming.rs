//! When a node forms its aggregates: as it gets the channel, or ahead of that.

use std::collections::VecDeque;

use goodqueue::{Flow, Instant, Packet};

use super::Sink;
use super::contention::AccessCategory;
use super::flight::Aggregate;
use super::queues::Queues;

/// When a node forms its aggregates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forming {
    /// When it gets the channel: every packet that is there by then may join. Hardware that forms aggregates itself does
    /// so, and ns-3.
    AtAccess,
    /// As soon as fewer than so many of an access category are ready or in the air. A packet that comes later waits for
    /// the next one.
    Ahead(u32),
}

impl Default for Forming {
    /// As ath9k, whose hardware queue gets a second aggregate while the first one is in the air (`ATH_AGGR_MIN_QDEPTH`).
    fn default() -> Self {
        Self::Ahead(2)
    }
}

/// What an access category of a node has to send next.
#[derive(Clone, Debug)]
pub(super) enum Supply<P> {
    /// What the queues give when it is taken.
    AtAccess,
    /// Aggregates that are ready, and how many there may be, the one in the air included.
    Ahead { most: usize, ready: VecDeque<Aggregate<P>> },
}

impl<P: Packet + Flow> Supply<P> {
    pub(super) fn new(forming: Forming) -> Self {
        match forming {
            Forming::AtAccess => Self::AtAccess,
            Forming::Ahead(most) => Self::Ahead { most: most.max(1) as usize, ready: VecDeque::new() },
        }
    }

    /// Forms what is to be formed ahead. True if there is something to send.
    pub(super) fn refill(
        &mut self,
        now: Instant,
        category: AccessCategory,
        in_air: usize,
        queues: &mut Queues<P>,
        sink: &mut impl Sink<P>,
    ) -> bool {
        match self {
            Self::AtAccess => queues.has_something(category),
            Self::Ahead { most, ready } => {
                while ready.len() + in_air < *most {
                    let Some(aggregate) = queues.aggregate(now, category, sink) else { break };
                    ready.push_back(aggregate);
                }
                !ready.is_empty()
            }
        }
    }

    /// The next aggregate.
    pub(super) fn take(
        &mut self,
        now: Instant,
        category: AccessCategory,
        queues: &mut Queues<P>,
        sink: &mut impl Sink<P>,
    ) -> Option<Aggregate<P>> {
        match self {
            Self::AtAccess => queues.aggregate(now, category, sink),
            Self::Ahead { ready, .. } => ready.pop_front(),
        }
    }

    /// True if an aggregate is ready.
    pub(super) fn is_ready(&self) -> bool {
        match self {
            Self::AtAccess => false,
            Self::Ahead { ready, .. } => !ready.is_empty(),
        }
    }

    /// Shows the packets of the aggregates that are ready.
    pub(super) fn for_each(&self, show: &mut impl FnMut(&P)) {
        if let Self::Ahead { ready, .. } = self {
            ready.iter().flat_map(|aggregate| &aggregate.frames).for_each(|frame| show(&frame.packet));
        }
    }
}
