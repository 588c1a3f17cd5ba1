//! The next aggregates of an access category of a node.

use std::collections::VecDeque;

use goodqueue::{Flow, Instant, Packet};

use super::contention::AccessCategory;
use super::flight::Aggregate;
use super::forming::Forming;
use super::queues::Queues;
use super::sink::Sink;

/// The next aggregates of an access category of a node.
#[derive(Clone, Debug)]
pub(super) enum Supply<P> {
    /// Aggregates are formed from the queues when they are taken.
    AtAccess,
    /// Aggregates that are ready, and their largest number, the one in the air included.
    Ahead { most: usize, ready: VecDeque<Aggregate<P>> },
}

impl<P: Packet + Flow> Supply<P> {
    pub(super) fn new(forming: Forming) -> Self {
        match forming {
            Forming::AtAccess => Self::AtAccess,
            // With 0 no aggregate would ever be formed.
            Forming::Ahead(most) => Self::Ahead { most: most.max(1) as usize, ready: VecDeque::new() },
        }
    }

    /// Forms the aggregates that are formed ahead. Returns true if there is something to send.
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

    /// Takes the next aggregate.
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

    /// Returns true if an aggregate is ready.
    pub(super) fn is_ready(&self) -> bool {
        match self {
            Self::AtAccess => false,
            Self::Ahead { ready, .. } => !ready.is_empty(),
        }
    }

    /// Calls `show` for the packets of the aggregates that are ready.
    pub(super) fn for_each(&self, show: &mut impl FnMut(&P)) {
        if let Self::Ahead { ready, .. } = self {
            ready.iter().flat_map(|aggregate| &aggregate.frames).for_each(|frame| show(&frame.packet));
        }
    }
}
