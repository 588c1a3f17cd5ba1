//! Evidence of the scheduler's decisions about one packet.

use super::{FlowAqm, FlowQueues};
use crate::decision::{Decision, Evidence, Fate, Moment, Quantity, rules};
use crate::packet::Packet;

impl<P: Packet, A: FlowAqm> FlowQueues<P, A> {
    /// Adds the state of flow `index`, and the rule of the scheduler about a packet that is sent.
    pub(crate) fn observe(
        &self,
        index: u32,
        quantum: u32,
        about: &Decision,
        source: &'static str,
        evidence: &mut Evidence,
    ) {
        let Some(flow) = self.flows.get(index as usize) else { return };
        let is_new = self.new_flows.iter().any(|listed| listed == index);
        let list = match (flow.listed, is_new) {
            (true, true) => "new flows",
            (true, false) => "old flows",
            (false, _) => "none",
        };
        let (new, old) = self.listed();
        let packets = u64::from(flow.packets.len());
        evidence.flow_queue(index, packets, flow.backlog);
        evidence.fact("list", Quantity::Word(list), "the list on which that queue is");
        evidence.fact(
            "deficit",
            Quantity::Credit(flow.deficit),
            "bytes that the queue may send in this round",
        );
        evidence.given("quantum", Quantity::Bytes(u64::from(quantum)), "bytes per queue and round");
        evidence.fact("new_flows", Quantity::Number(new), "queues that have just become active");
        evidence.fact("old_flows", Quantity::Number(old), "other active queues");
        evidence.fact("queued", Quantity::Packets(self.packets()), "packets in all queues");
        match (about.moment, about.fate) {
            (Moment::Arrival, Fate::Sent | Fate::Marked) if !flow.listed => {
                evidence.rule(NEW_FLOW, source, &[]);
            }
            (Moment::Arrival, Fate::Sent | Fate::Marked) => evidence.rule(LISTED_FLOW, source, &[]),
            (Moment::Departure, Fate::Sent | Fate::Marked) => {
                let sojourn = Quantity::Span(about.sojourn());
                let active = Quantity::Number(new.saturating_add(old));
                evidence.rule(TURN, source, &[("sojourn", sojourn), ("active", active)]);
            }
            _ => {}
        }
    }

    /// Returns the flow with the most bytes, and these bytes. Unlike [`Self::fattest`], it looks at
    /// all flows and changes nothing.
    pub(crate) fn fattest_now(&self) -> (u32, u64) {
        let flows = (0..).zip(self.flows.iter().map(|flow| flow.backlog));
        flows.fold((0, 0), |most, flow| if flow.1 > most.1 { flow } else { most })
    }
}

rules! {
    /// Rules of the scheduler.
    pub(crate) RULES;
    /// The queue was empty and becomes a new flow.
    NEW_FLOW: "flows.new" [];
    /// The queue holds packets already.
    LISTED_FLOW: "flows.listed" ["flow", "flow_packets", "flow_backlog", "list"];
    /// The turn of the queue came.
    TURN: "flows.turn" ["sojourn", "active", "quantum"];
}
