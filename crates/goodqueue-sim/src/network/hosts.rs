//! Hosts with a discipline of their own in front of their access link.
//!
//! Host `n` of a list has two links, like a hop: that of server `n` sends down, and that of client
//! `n` sends up. All packets of a flow on such hosts pass their links first.

use std::collections::BTreeMap;
use std::sync::Arc;

use goodqueue::{AnyConfig, Direction, Instant};

use super::delay_line::End;
use super::host_links::{Exit, Host, Shared};
use super::{Hosts, Network};
use crate::id::{FlowId, LinkId};
use crate::link::{Link, LinkConfig};
use crate::packet::Packet;
use goodqueue_link::capacity::Capacity;

impl Network {
    /// Adds the links of hosts that have a discipline: `qdiscs` by flow. `build` makes the link
    /// number `n` in a direction.
    pub(crate) fn add_hosts(
        &mut self,
        flows: &[Hosts],
        qdiscs: &[Option<Arc<AnyConfig>>],
        mut build: impl FnMut(usize, Direction, &LinkConfig) -> Link,
    ) {
        if qdiscs.iter().all(Option::is_none) {
            // Without hosts `of_flows` stays empty, and no packet asks for one (`exist`).
            return;
        }
        let mut known: BTreeMap<Host, Vec<Shared<'_>>> = BTreeMap::new();
        for (id, (flow, qdisc)) in (0..).map(FlowId::new).zip(flows.iter().zip(qdiscs)) {
            let Some(qdisc) = qdisc.as_deref() else {
                self.hosts.of_flows.push([None; 2]);
                continue;
            };
            let exits = Direction::BOTH.map(|direction| {
                let alike =
                    known.entry(Host::from_ends(flow.ends.towards(direction), flow.access_rate)).or_default();
                let shared = alike.iter().find(|other| other.qdisc == qdisc).map(|other| other.link);
                let link = shared.unwrap_or_else(|| {
                    let link = self.add_host(flow, qdisc, direction, &mut build);
                    alike.push(Shared { qdisc, link });
                    link
                });
                let end = match (direction, &self.wifi) {
                    (Direction::Up, Some(_)) => End::Wifi(direction),
                    _ => End::Link(self.first_of(id, direction)),
                };
                // A line for each flow, because flows of one host may have different access delays
                // and first links.
                let line = self.add_line(flow.access, end);
                // `fq` is the only discipline that reads the planned departure of a packet.
                Some(Exit { link, line, paces: matches!(qdisc, AnyConfig::Fq(_)) })
            });
            self.hosts.of_flows.push(exits);
        }
    }

    /// Adds the two links of a host, and returns the one in this direction.
    fn add_host(
        &mut self,
        flow: &Hosts,
        qdisc: &AnyConfig,
        direction: Direction,
        build: &mut impl FnMut(usize, Direction, &LinkConfig) -> Link,
    ) -> LinkId {
        // Without `access_rate` a host sends in no time, as it does without a discipline.
        let capacity = flow.access_rate.map_or(Capacity::UNLIMITED, Capacity::Constant);
        let config = LinkConfig::new(capacity, qdisc.clone());
        let first = self.links.len();
        let number = (first - self.hosts.first) / 2;
        // Both directions, although a flow needs one, because the number of a link tells its
        // direction.
        self.links.extend(Direction::BOTH.map(|either| build(number, either, &config)));
        // Flows leave a host by lines of their own (`line_behind`).
        self.onward.extend([None; 2]);
        LinkId::from_index(first + direction.index())
    }

    /// Offers a packet to the queue of its host. Returns false if the host has none.
    // Out of line, because few runs have such hosts.
    #[inline(never)]
    pub(super) fn enter_host(
        &mut self,
        now: Instant,
        direction: Direction,
        packet: Packet,
        departs: Option<Instant>,
    ) -> bool {
        let Some(exit) = self.hosts.exit(packet.flow, direction) else { return false };
        let planned = departs.map_or(packet, |departure| packet.planned_for(departure));
        self.enter(now, exit.link, planned);
        true
    }

    /// Returns the link into which the host of `flow` sends in this direction.
    pub(super) fn leaves_by(&self, flow: FlowId, direction: Direction) -> LinkId {
        self.hosts.exit(flow, direction).map_or_else(|| self.first_of(flow, direction), |exit| exit.link)
    }

    /// Returns whether the queue of the flow's host paces; `None` if the host has no queue.
    pub(crate) fn host_paces(&self, flow: FlowId, direction: Direction) -> Option<bool> {
        self.hosts.exit(flow, direction).map(|exit| exit.paces)
    }

    /// Wakes `flow` when one of its counted packets has left the queue of its host.
    pub(crate) fn wake_after_next(&mut self, flow: FlowId) {
        self.host_queues.report_next(flow);
    }
}
