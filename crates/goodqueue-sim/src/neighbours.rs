//! Whether the packets of a probe wait in one queue with those of another flow, although the discipline keeps flows apart: the
//! delays that the probe measures are then not those of a flow by itself.

use std::collections::{BTreeMap, BTreeSet};

use goodqueue::{AnyQdisc, Qdisc as _};

use crate::packet::Packet;

/// What the packets of one probe found in the queues that a hash chose for them at one link.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Meetings {
    /// Packets of the probe that came.
    pub packets: u64,
    /// Of them, those that found a packet of another flow in their queue.
    pub met: u64,
    /// The flows whose packets these were.
    pub with: BTreeSet<u32>,
}

/// The watch over all probes.
#[derive(Default, Debug)]
pub(crate) struct Neighbours {
    /// Of each flow, whether it is a probe; empty if none is.
    probes: Vec<bool>,
    /// By link and flow.
    met: BTreeMap<(u32, u32), Meetings>,
}

impl Neighbours {
    pub(crate) fn new(probes: impl Iterator<Item = bool>) -> Self {
        let probes: Vec<bool> = probes.collect();
        Self { probes: if probes.contains(&true) { probes } else { Vec::new() }, met: BTreeMap::new() }
    }

    #[inline]
    pub(crate) fn watches(&self, flow: u32) -> bool {
        self.probes.get(flow as usize).is_some_and(|probe| *probe)
    }

    /// A probe's packet comes to the discipline of `link`.
    #[cold]
    pub(crate) fn look(&mut self, link: u32, packet: &Packet, qdisc: &AnyQdisc<Packet>) {
        let meetings = self.met.entry((link, packet.flow)).or_default();
        meetings.packets += 1;
        if let Some(stranger) = qdisc.stranger(packet) {
            meetings.met += 1;
            meetings.with.insert(stranger.flow);
        }
    }

    /// Forgets what was seen so far: the warm-up is over.
    pub(crate) fn restart(&mut self) {
        self.met.clear();
    }

    /// By link and flow, where there was a meeting.
    pub(crate) fn finish(self) -> impl Iterator<Item = ((u32, u32), Meetings)> {
        self.met.into_iter().filter(|(_, meetings)| meetings.met > 0)
    }
}
