//! The state of `fq` around one decision, in words.

use super::Fq;
use crate::account::{Account, Decision, Fate, Moment, Quantity};
use crate::config::Configure;
use crate::packet::{Flow, Packet};
use crate::qdisc::DropReason;

impl<P: Packet + Flow> Fq<P> {
    pub(super) fn told(&self, packet: &P, about: &Decision) -> Account {
        let mut account = Account::of(super::FqConfig::KIND.name);
        let config = &self.config;
        let band = self.band_of(packet);
        let number = self.flows.known(self.hash_of(packet));
        let flow = number.and_then(|number| self.flows.flow(number));
        let held = self.bands.get(usize::from(band)).map_or(0, |band| u64::from(band.packets));
        let own = flow.map_or(0, |flow| u64::from(flow.len()));
        account.given("band", Quantity::Number(u64::from(band)), "band of its priority");
        account.fact("packets_band", Quantity::Packets(held), "packets in that band");
        account.fact("packets_flow", Quantity::Packets(own), "packets in its flow");
        account.fact("fast_path", Quantity::Packets(self.fast.len() as u64), "packets past the flows");
        if let Some(flow) = flow {
            account.fact("credit", Quantity::Credit(i64::from(flow.credit)), "bytes left in this round");
            let next = Quantity::at(flow.time_next, about.now);
            account.fact("time_next", next, "when its flow may send next");
        }
        if let Some(asked) = packet.earliest_departure() {
            account.given("earliest", Quantity::at(asked, about.now), "departure that the sender asked for");
        }
        account.given("horizon", Quantity::Span(config.horizon), "how far in the future it may ask");
        if about.moment == Moment::Arrival && about.fate == Fate::Dropped(DropReason::Horizon) {
            let text = "Its sender asked for a departure beyond the horizon: dropped.";
            account.rule(text.into(), "tc-fq(8), horizon_drop");
        }
        if about.moment == Moment::Departure && about.fate == Fate::Marked {
            let text = "It left later than planned by more than ce_threshold: marked.";
            account.rule(text.into(), "tc-fq(8), ce_threshold");
        }
        let limit = |packets: u32| Quantity::Packets(u64::from(packets));
        let who = "A full band drops the packet that arrives.";
        let both = (Quantity::Packets(held), limit(config.limit));
        account.limit(about, DropReason::BandLimit, both, (who, "tc-fq(8), limit"));
        let of_flow = (Quantity::Packets(own), limit(config.flow_limit));
        let rule = ("A full flow drops the packet that arrives.", "tc-fq(8), flow_limit");
        account.limit(about, DropReason::FlowLimit, of_flow, rule);
        account
    }
}
