//! Packets that wait in the queue of their sender's own host.
//!
//! Linux counts them (`sk_wmem_alloc`) and decides by them whether a connection may send again. The
//! first queue of a path is on the sender's host only where a flow says so.

use crate::id::{FlowId, LinkId};

/// The flows whose packets are counted.
#[derive(Clone, Debug, Default)]
pub(super) struct HostQueues {
    /// By flow; empty if none is counted.
    of: Vec<Option<Waiting>>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// The first link of the flow's path, whose queue is on the host.
    link: LinkId,
    packets: u64,
    /// The flow waits until a packet has left the queue.
    awaits: bool,
}

impl HostQueues {
    /// Counts the packets of `flow` in the queue of `link` from now on.
    pub(super) fn count(&mut self, flow: FlowId, link: LinkId) {
        let flow = flow.index();
        // The table grows only with flows that are counted: most runs have none, and then `left`
        // finds an empty table.
        if self.of.len() <= flow {
            self.of.resize(flow + 1, None);
        }
        self.of[flow].get_or_insert(Waiting { link, packets: 0, awaits: false });
    }

    /// Returns the packets of `flow` that wait in its host's queue.
    pub(super) fn waiting(&self, flow: FlowId) -> u64 {
        self.of.get(flow.index()).copied().flatten().map_or(0, |waiting| waiting.packets)
    }

    /// Lets [`Self::left`] report the next packet of `flow` that leaves its host's queue.
    pub(super) fn report_next(&mut self, flow: FlowId) {
        if let Some(Some(waiting)) = self.of.get_mut(flow.index()) {
            waiting.awaits = true;
        }
    }

    /// A packet of `flow` was offered to the queue of `link`.
    #[inline]
    pub(super) fn entered(&mut self, flow: FlowId, link: LinkId) {
        if let Some(Some(waiting)) = self.of.get_mut(flow.index()) {
            waiting.packets += u64::from(waiting.link == link);
        }
    }

    /// A packet of `flow` left the queue of `link`, sent or dropped. Returns true if the flow waits
    /// for that.
    #[inline]
    pub(super) fn left(&mut self, flow: FlowId, link: LinkId) -> bool {
        let Some(Some(waiting)) = self.of.get_mut(flow.index()) else { return false };
        if waiting.link != link {
            return false;
        }
        // Packets that entered before the count began leave as well.
        waiting.packets = waiting.packets.saturating_sub(1);
        core::mem::take(&mut waiting.awaits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted_in_the_first_queue_of_flows_that_ask_for_it() {
        let mut queues = HostQueues::default();
        let [other, flow] = [0, 1].map(FlowId::new);
        let [first, second] = [0, 2].map(LinkId::new);
        queues.entered(flow, first);
        assert_eq!(queues.waiting(flow), 0);
        queues.count(flow, first);
        for link in [first, first, second] {
            queues.entered(flow, link);
        }
        queues.entered(other, first);
        assert_eq!((queues.waiting(flow), queues.waiting(other)), (2, 0));
        queues.report_next(flow);
        assert!(!queues.left(flow, second));
        assert!(queues.left(flow, first), "the flow waits for that");
        assert_eq!(queues.waiting(flow), 1);
        assert!(!queues.left(flow, first), "but not for the next packet");
    }
}
