//! Evidence of CAKE's decisions.

use super::Cake;
use super::config::{BANDWIDTH, CakeConfig};
use super::queues::Set;
use super::rules::{FULL, QUEUED, SHAPED, SUPERSEDED};
use crate::config::Configure;
use crate::decision::{Decision, Evidence, Fate, Limit, Moment, Quantity};
use crate::packet::{Flow, Packet};
use crate::qdisc::DropReason;
use crate::random::Random;
use crate::time::Rate;

impl<P: Packet + Flow, R: Random> Cake<P, R> {
    pub(super) fn evidence_about(&self, packet: &P, about: &Decision) -> Evidence {
        let mut evidence = Evidence::from_kind(CakeConfig::KIND.name);
        let tin_index = self.tin_of(packet);
        let Some(tin) = self.tins.get(tin_index) else { return evidence };
        let index = tin.known_queue_of(self.tag_of(packet));
        let flow = tin.flows.at(index);
        let set = match flow.set {
            Set::None => "none",
            Set::Sparse => "sparse",
            Set::SparseWait => "sparse, waiting",
            Set::Bulk => "bulk",
            Set::Decaying => "decaying",
        };
        let packets = u64::from(flow.packets.len());
        if self.rate > 0 {
            let rate = Rate::from_bps(self.rate.saturating_mul(8));
            evidence.given(BANDWIDTH.name, Quantity::Rate(rate), "rate of the shaper");
            let next = Quantity::at(self.shaper.time_next, about.now);
            evidence.fact("time_next", next, "when the shaper lets the next packet go");
        }
        evidence.given("tin", Quantity::Number(tin_index as u64), "the tin of this packet's DSCP");
        evidence.fact("tin_backlog", Quantity::Bytes(tin.backlog), "bytes in that tin");
        evidence.flow_queue(index, packets, flow.backlog);
        evidence.fact("set", Quantity::Word(set), "sparse flows are served first");
        evidence.fact(
            "deficit",
            Quantity::Credit(i64::from(flow.deficit)),
            "bytes that the queue may send now",
        );
        flow.cobalt.observe(&tin.cobalt, about, flow.packets.len() <= 1, &mut evidence);
        match (about.moment, about.fate) {
            (Moment::Arrival, Fate::Sent | Fate::Marked) => evidence.rule(QUEUED, SOURCE, &[]),
            (Moment::Departure, Fate::Sent | Fate::Marked) if self.rate > 0 => {
                evidence.rule(SHAPED, SOURCE, &[]);
            }
            (_, Fate::Dropped(DropReason::Superseded)) => evidence.rule(SUPERSEDED, SOURCE, &[]),
            _ => {}
        }
        let held = Quantity::Bytes(self.held.memory.used());
        let limit = Limit { held, allowed: Quantity::Bytes(self.memory), rule: FULL, source: SOURCE };
        evidence.limit(about, DropReason::Overmemory, &limit);
        evidence
    }
}

const SOURCE: &str = "Høiland-Jørgensen, Täht and Morton 2018; Linux sch_cake";
