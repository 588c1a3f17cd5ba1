//! Detection of hash collisions between a probe and another flow.
//!
//! When the packets of a probe share a hashed queue with another flow, the probe does not measure
//! the delay of a flow that has a queue of its own.

use std::collections::{BTreeMap, BTreeSet};

use goodqueue::{AnyQdisc, Lookahead as _};

use crate::id::{FlowId, LinkId};
use crate::packet::Packet;

/// The collisions of one probe with other flows at one link.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Collisions {
    /// Packets of the probe that arrived.
    pub packets: u64,
    /// Packets of the probe that found a packet of another flow in their queue.
    pub met: u64,
    /// Flows whose packets were found.
    pub with: BTreeSet<FlowId>,
}

/// The collisions of all probes.
#[derive(Default, Debug)]
pub(crate) struct CollisionWatch {
    /// For each flow, whether it is a probe; empty if no flow is.
    probes: Vec<bool>,
    /// Collisions by link and flow.
    // Ordered, because results list the collisions in this order.
    met: BTreeMap<(LinkId, FlowId), Collisions>,
}

impl CollisionWatch {
    pub(crate) fn new(probes: impl Iterator<Item = bool>) -> Self {
        let probes: Vec<bool> = probes.collect();
        Self { probes: if probes.contains(&true) { probes } else { Vec::new() }, met: BTreeMap::new() }
    }

    #[inline]
    pub(crate) fn watches(&self, flow: FlowId) -> bool {
        self.probes.get(flow.index()).is_some_and(|probe| *probe)
    }

    /// Examines the queue that `qdisc` chooses for a probe's packet at `link`.
    // Probes send few of the packets of a run.
    #[cold]
    pub(crate) fn look(&mut self, link: LinkId, packet: &Packet, qdisc: &AnyQdisc<Packet>) {
        let collisions = self.met.entry((link, packet.flow)).or_default();
        collisions.packets += 1;
        if let Some(other_flow) = qdisc.other_flow(packet) {
            collisions.met += 1;
            collisions.with.insert(other_flow.flow);
        }
    }

    /// Discards the collisions seen so far, at the end of the warm-up.
    pub(crate) fn restart(&mut self) {
        self.met.clear();
    }

    /// Returns the collisions by link and flow; entries without a collision are left out.
    pub(crate) fn finish(self) -> impl Iterator<Item = ((LinkId, FlowId), Collisions)> {
        self.met.into_iter().filter(|(_, collisions)| collisions.met > 0)
    }
}
