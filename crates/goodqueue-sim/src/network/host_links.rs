//! The links of hosts that have a discipline of their own, and the flows that use them.

use goodqueue::{AnyConfig, Direction, Rate};

use crate::id::{FlowId, LineId, LinkId};
use crate::packet::Ends;

/// The links of hosts, and the flows that use them.
#[derive(Debug)]
pub(super) struct HostLinks {
    /// The index of the first one.
    pub(super) first: usize,
    /// The ways of each flow out of its hosts, by direction; empty without such hosts.
    pub(super) of_flows: Vec<[Option<Exit>; 2]>,
}

/// The way out of a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exit {
    pub(super) link: LinkId,
    /// The line from there to the first hop.
    pub(super) line: LineId,
    /// True if the discipline holds packets until their departure.
    pub(super) paces: bool,
}

impl HostLinks {
    /// Returns no links of hosts, behind `first` links of hops.
    pub(super) const fn behind(first: usize) -> Self {
        Self { first, of_flows: Vec::new() }
    }

    #[inline]
    pub(super) const fn exist(&self) -> bool {
        !self.of_flows.is_empty()
    }

    /// Returns true if `link` is that of a host.
    #[inline]
    pub(super) const fn has(&self, link: LinkId) -> bool {
        link.index() >= self.first
    }

    /// Returns the way out of the host of a flow that sends in this direction, if the host has a
    /// discipline.
    pub(super) fn exit(&self, flow: FlowId, direction: Direction) -> Option<Exit> {
        self.of_flows.get(flow.index()).and_then(|exits| exits[direction.index()])
    }

    /// Returns the line behind a host's link for a packet of `flow`.
    pub(super) fn line_behind(&self, link: LinkId, flow: FlowId) -> LineId {
        let exit = self.exit(flow, link.direction());
        exit.expect("only flows of the host send on its link").line
    }
}

/// A host that sends in one direction at one rate. Flows are compared with those of the same host
/// only, since thousands of hosts may have a flow each.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Host {
    is_client: bool,
    number: u16,
    /// Bits per second.
    rate: Option<u64>,
}

impl Host {
    /// Returns the host that sends packets with these ends in their direction.
    pub(super) fn from_ends(ends: Ends, rate: Option<Rate>) -> Self {
        let number = if ends.is_up() { ends.client } else { u16::from(ends.server) };
        Self { is_client: ends.is_up(), number, rate: rate.map(Rate::as_bps) }
    }
}

/// A link of a host, which flows with this discipline share.
pub(super) struct Shared<'a> {
    pub(super) qdisc: &'a AnyConfig,
    pub(super) link: LinkId,
}
