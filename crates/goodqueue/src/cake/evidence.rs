//! CAKE's state around one decision, in words.

use alloc::format;

use super::Cake;
use super::config::CakeConfig;
use super::queues::Set;
use crate::config::Configure;
use crate::decision::{Decision, Evidence, Fate, Moment, Quantity, readable};
use crate::packet::{Flow, Packet};
use crate::qdisc::DropReason;
use crate::random::Random;
use crate::time::Rate;

impl<P: Packet + Flow, R: Random> Cake<P, R> {
    pub(super) fn evidence_about(&self, packet: &P, about: &Decision) -> Evidence {
        let mut evidence = Evidence::of(CakeConfig::KIND.name);
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
            evidence.given("bandwidth", Quantity::Rate(rate), "rate of the shaper");
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
            (Moment::Arrival, Fate::Sent | Fate::Marked) => evidence.rule(
                format!(
                    "It went into queue {index} of tin {tin_index}, behind {} ({} bytes) of its own; the queue's \
                     set was: {set}.",
                    Quantity::Packets(packets),
                    flow.backlog
                ),
                SOURCE,
            ),
            (Moment::Departure, Fate::Sent | Fate::Marked) if self.rate > 0 => evidence.rule(
                format!(
                    "It waited {} for the shaper of {}, for the packets of its flow in front of it, and for the \
                     turns of other flows.",
                    readable(about.sojourn()),
                    Rate::from_bps(self.rate.saturating_mul(8))
                ),
                SOURCE,
            ),
            (_, Fate::Dropped(DropReason::Superseded)) => {
                evidence.rule("A later acknowledgement of its flow made it redundant (ack-filter).".into(), SOURCE);
            }
            _ => {}
        }
        let memory = (Quantity::Bytes(self.held.memory.used()), Quantity::Bytes(self.memory));
        let who = "The queue with the most bytes pays: it loses packets from its head.";
        evidence.limit(about, DropReason::Overmemory, memory, (who, SOURCE));
        evidence
    }
}

const SOURCE: &str = "Høiland-Jørgensen, Täht and Morton 2018; Linux sch_cake";
