//! Evidence of the decisions of `fq`.

use super::Fq;
use super::rules::{BEYOND_HORIZON, FULL_BAND, FULL_FLOW, LATE};
use crate::config::Configure;
use crate::decision::{Decision, Evidence, Fate, Limit, Moment, Quantity};
use crate::packet::{Flow, Packet};
use crate::qdisc::DropReason;

impl<P: Packet + Flow> Fq<P> {
    pub(super) fn evidence_about(&self, packet: &P, about: &Decision) -> Evidence {
        let mut evidence = Evidence::from_kind(super::FqConfig::KIND.name);
        let config = &self.config;
        let band = self.band_of(packet);
        let number = self.flows.known(self.hash_of(packet));
        let flow = number.and_then(|number| self.flows.flow(number));
        let held = self.bands.get(usize::from(band)).map_or(0, |band| u64::from(band.packets));
        let own = flow.map_or(0, |flow| u64::from(flow.len()));
        evidence.given("band", Quantity::Number(u64::from(band)), "band of its priority");
        evidence.fact("packets_band", Quantity::Packets(held), "packets in that band");
        evidence.fact("packets_flow", Quantity::Packets(own), "packets in its flow");
        evidence.fact("fast_path", Quantity::Packets(self.fast.len() as u64), "packets past the flows");
        if let Some(flow) = flow {
            evidence.fact("credit", Quantity::Credit(i64::from(flow.credit)), "bytes left in this round");
            let next = Quantity::at(flow.time_next, about.now);
            evidence.fact("time_next", next, "when its flow may send next");
        }
        if let Some(asked) = packet.earliest_departure() {
            evidence.given("earliest", Quantity::at(asked, about.now), "departure that the sender asked for");
        }
        evidence.given("horizon", Quantity::Span(config.horizon), "how far in the future it may ask");
        if about.moment == Moment::Arrival && about.fate == Fate::Dropped(DropReason::Horizon) {
            evidence.rule(BEYOND_HORIZON, "tc-fq(8), horizon_drop", &[]);
        }
        if about.moment == Moment::Departure && about.fate == Fate::Marked {
            evidence.rule(LATE, "tc-fq(8), ce_threshold", &[]);
        }
        let packets = |packets: u32| Quantity::Packets(u64::from(packets));
        let of_band = Limit {
            held: Quantity::Packets(held),
            allowed: packets(config.limit),
            rule: FULL_BAND,
            source: "tc-fq(8), limit",
        };
        evidence.limit(about, DropReason::BandLimit, &of_band);
        let of_flow = Limit {
            held: Quantity::Packets(own),
            allowed: packets(config.flow_limit),
            rule: FULL_FLOW,
            source: "tc-fq(8), flow_limit",
        };
        evidence.limit(about, DropReason::FlowLimit, &of_flow);
        evidence
    }
}
