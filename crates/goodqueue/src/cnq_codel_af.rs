//! Cheap Nasty Queueing with CoDel and Approximate Fairness: `cnq_codel_af`.
//!
//! # What it does
//! Two FIFOs. A packet of a flow that has nothing in the bulk queue joins the sparse queue, which
//! is served first, and a dummy takes its place in the bulk queue. All other packets join the bulk
//! queue. A COBALT for each flow compares the sojourn time, weighted by the flow's share of the
//! bulk queue, with the target. A flow with more than its share is therefore signalled earlier, and
//! flows share the link without a queue for each.
//!
//! # Reference
//! draft-morton-tsvwg-cheap-nasty-queueing and draft-morton-tsvwg-codel-approx-fair (2019);
//! behaviour of J. Morton's module `sch_cnq_codel_af.c` for Linux 5.4, in the repository
//! chromi/sce.
//!
//! # State
//! ```text
//! arrival -> flow has packets in the bulk queue? -- yes -> bulk queue ----------------.
//!            | no                                                                     v
//!            |-> sparse queue --> first ------------> sent       AQM of the flow --> sent, marked
//!            '-> a dummy into the bulk queue --> skipped                      \----> dropped
//!
//! weighted sojourn time = sojourn time * packets of the flow * flows / packets of all flows
//!   above target --> CoDel of the flow signals      above 4 * interval --> BLUE of the flow rises
//! ```
//! 65,536 flows have a counter of packets and the state of a COBALT: 40 bytes.
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets that both queues together hold | packets | 10240p | SCE sch_cnq_codel_af | 1 to 4294967295 |
//! | `target` | acceptable sojourn time of a standing queue | time | 5ms | RFC 8289 §4.2 | any; linux, linux61: at most 2199s; sensible: 5 to 10 % of interval, and at least the serialization time of one packet |
//! | `interval` | time within which the sojourn time must fall below target at least once | time | 100ms | RFC 8289 §4.3 | more than 0; linux: at most 2199s; linux61: 1024ns to 2199s; sensible: the longest expected round-trip time |
//!
//! # Deviations
//! The module stores a limit of 10240 packets and never compares the queue with it. Here a full
//! queue drops the packet that arrives, so that memory is bounded. A queue above a lowered limit
//! keeps its packets.
//!
//! The module's shaper (`bandwidth` and the overheads) is missing: use `htb` or `tbf`. SCE marks,
//! which the module does not set by default, are missing too. The option `rtt` of the module is
//! `interval`. Flows are hashed by [`Flow::flow_hash`] with the salt, modulo 65,536; the module
//! uses a hash with a random key. Weighted sojourn times do not wrap around at 64 bits. A purge
//! also forgets the states of the flows; in the module a reset keeps them.
//!
//! As in the module, a dummy that is left in an otherwise empty queue stays until packets come, so
//! the next packet of its flow joins the bulk queue. An ECN-capable packet is always marked instead
//! of dropped, except by BLUE. The last packet of a flow is not dropped. If none of its packets was
//! judged for an interval, a flow that is late is signalled at its next packet. Steps of an
//! interval above 4.29 s are cut to 32 bits of nanoseconds. A flood of new flows starves the
//! bulk queue.
//!
//! # Cost
//! Constant per packet, plus dropped packets, plus the steps by which the counts decay. There are
//! never more such steps than signals. A dequeue skips the dummies at the head of the bulk queue,
//! which has at most one of each flow. Memory: 8 KiB, and 2.5 KiB for each 64 neighbouring flow
//! numbers of which one has sent a packet; 2.6 MiB at most.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, cnq_codel_af::CnqCodelAfConfig};
//! let config = CnqCodelAfConfig::from_settings(&Settings::new(), &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.limit(), 10_240);
//! ```

mod flows;
mod law;

use alloc::collections::VecDeque;

use flows::FlowTable;
use law::{Params, Share, Vars};

use crate::codel::{INTERVAL, TARGET};
use crate::config::{Build, Children, ConfigError, Configure, Kind, Link, Settings};
use crate::decision::{Evidence, FULL, Fate, LIMITS, Limit, Moment, Quantity, Question, Rule, rules};
use crate::gauge::{Observation, Observe};
use crate::nesting::Inner;
use crate::packet::{Ecn, Flow, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::Passage;
use crate::random::Random;
use crate::shown::Show;
use crate::time::Instant;
use crate::typed::parameters;

/// A queue of sparse flows and a bulk queue, with an AQM for each flow.
#[derive(Clone, Debug)]
pub struct CnqCodelAf<P, R> {
    config: CnqCodelAfConfig,
    salt: u32,
    random: R,
    flows: FlowTable,
    sparse: VecDeque<Waiting<P>>,
    /// Packets, and the dummies of packets that joined the sparse queue.
    bulk: VecDeque<Waiting<P>>,
    /// Dummies in the bulk queue.
    dummies: u32,
    /// The flow whose AQM decays next if the flow is idle.
    decay_index: u16,
    passage: Passage,
    /// Counters except those that `passage` keeps.
    stats: Stats,
    /// A packet that the parent keeps counts against the limit.
    taken_ahead: bool,
    overflows: u64,
    /// Latest time seen (contract rule 1).
    now: Instant,
}

/// A queued packet, or a dummy.
#[derive(Clone, Debug)]
struct Waiting<P> {
    at: Instant,
    flow: u16,
    /// `None`: a dummy.
    packet: Option<P>,
}

/// Configuration of [`CnqCodelAf`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CnqCodelAfConfig {
    limit: u32,
    params: Params,
}

impl CnqCodelAfConfig {
    /// Packets that both queues together hold.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }
}

impl Configure for CnqCodelAfConfig {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, _link: &Link) -> Result<Self, ConfigError> {
        Ok(Self {
            limit: LIMIT.read(settings)?,
            params: Params { target: TARGET.read(settings)?, interval: INTERVAL.read(settings)? },
        })
    }

    fn to_settings(&self) -> Settings {
        Settings::new()
            .and(&LIMIT, self.limit)
            .and(&TARGET, self.params.target)
            .and(&INTERVAL, self.params.interval)
    }
}

impl Show for CnqCodelAfConfig {}

parameters! {
    PARAMETERS of [] CnqCodelAfConfig;
    /// packets that both queues together hold
    LIMIT: packets "limit", with_limit {
        default: 10_240,
        range: 1..=4_294_967_295,
        source: "SCE sch_cnq_codel_af",
    };
    TARGET: time, with_target;
    INTERVAL: time, with_interval;
}

impl<P: Packet + Flow, R: Random> CnqCodelAf<P, R> {
    /// Empty queues. Flows are hashed with `salt`; BLUE draws from `random`.
    #[must_use]
    pub fn new(config: CnqCodelAfConfig, salt: u32, random: R) -> Self {
        Self {
            config,
            salt,
            random,
            flows: FlowTable::new(),
            sparse: VecDeque::new(),
            bulk: VecDeque::new(),
            dummies: 0,
            decay_index: 0,
            passage: Passage::default(),
            stats: Stats::default(),
            taken_ahead: false,
            overflows: 0,
            now: Instant::ZERO,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the flow number is the hash modulo 65,536")]
    fn flow_of(&self, packet: &P) -> u16 {
        packet.flow_hash(self.salt) as u16
    }

    /// Packets that count against the limit.
    fn held(&self) -> u64 {
        self.passage.packets().saturating_add(u64::from(self.taken_ahead))
    }

    /// Takes the packet that was sent to the sparse queue first.
    fn take_sparse(&mut self) -> Option<P> {
        let waiting = self.sparse.pop_front()?;
        if let Some(state) = self.flows.known_mut(waiting.flow) {
            state.vars.queue_empty(self.now, &self.config.params);
        }
        let packet = waiting.packet?;
        self.passage.leaves(packet.len());
        Some(packet)
    }

    /// Takes the first packet of the bulk queue, and the dummies in front of it.
    fn take_bulk(&mut self) -> Option<(Instant, u16, P)> {
        while let Some(waiting) = self.bulk.pop_front() {
            // A dummy counts until all that came before it has left. A flow is therefore sparse if
            // its packets are as far apart as a packet waits in the bulk queue.
            self.flows.leaves(waiting.flow);
            if let Some(packet) = waiting.packet {
                self.passage.leaves(packet.len());
                return Some((waiting.at, waiting.flow, packet));
            }
            self.dummies = self.dummies.wrapping_sub(1);
        }
        None
    }

    /// Takes the next packet that is sent.
    fn take(&mut self, drops: &mut impl Drops<P>) -> Option<P> {
        // The module asks for packets first, so dummies alone stay.
        while self.passage.packets() > 0 {
            if let Some(packet) = self.take_sparse() {
                return Some(packet);
            }
            let taken = self.take_bulk()?;
            let mut packet = taken.2;
            // A flow with nothing but a dummy builds no queue, so it claims no share. The module
            // subtracts all dummies, also those of flows that have packets behind them.
            let flows = self.flows.active.saturating_sub(self.dummies);
            let of_all = self.passage.packets().saturating_add(1);
            let Some(state) = self.flows.known_mut(taken.1) else { return Some(packet) };
            // The packet itself has just left both counts.
            let share = Share { of_flow: state.backlog.saturating_add(1), flows, of_all };
            let sojourn = self.now.since(taken.0);
            let params = &self.config.params;
            let verdict = state.vars.judge(self.now, params, sojourn, &share, &mut packet, &mut self.random);
            if verdict.marked {
                self.stats.marked.add(packet.len());
            }
            // The last packet of a flow may be marked, not dropped.
            if !verdict.drop || state.backlog == 0 {
                return Some(packet);
            }
            self.stats.dropped_after.add(packet.len());
            drops.dropped(packet, DropReason::Congested);
        }
        None
    }

    /// Lets the AQM of one flow decay, if the flow is idle.
    fn decay_one(&mut self) {
        // One flow per departure bounds the work. Each flow has its turn within 65,536 departures.
        // A flow that is not known is in its first state, which an empty queue does not change.
        if let Some(state) = self.flows.known_mut(self.decay_index) {
            if state.backlog == 0 {
                state.vars.queue_empty(self.now, &self.config.params);
            }
        }
        self.decay_index = self.decay_index.wrapping_add(1);
    }

    /// Returns the share with which the packet of `flow` would be judged as the next one.
    fn share_of_next(&self, flow: u16) -> Share {
        let in_front = self.bulk.iter().take_while(|waiting| waiting.packet.is_none());
        let mut flows = self.flows.active;
        let mut dummies = self.dummies;
        for waiting in in_front {
            dummies = dummies.wrapping_sub(1);
            flows = flows.wrapping_sub(u32::from(self.flows.backlog(waiting.flow) == 1));
        }
        // The flow of the last packet has left the count of flows.
        let of_flow = self.flows.backlog(flow);
        flows = flows.wrapping_sub(u32::from(of_flow == 1));
        Share { of_flow, flows: flows.saturating_sub(dummies), of_all: self.passage.packets() }
    }
}

impl<P: Packet + Flow, R: Random> Build<P, R> for CnqCodelAf<P, R> {
    fn build(config: CnqCodelAfConfig, salt: u32, random: R) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, R: Random> Qdisc<P> for CnqCodelAf<P, R> {
    type Config = CnqCodelAfConfig;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        if self.held() >= u64::from(self.config.limit) {
            self.overflows = self.overflows.wrapping_add(1);
            self.stats.dropped_before.add(packet.len());
            drops.dropped(packet, DropReason::Overlimit);
            return;
        }
        self.passage.enters(packet.len());
        let flow = self.flow_of(&packet);
        // Asked before the packet counts, since its own dummy would make the flow busy.
        let is_sparse = self.flows.backlog(flow) == 0;
        self.flows.enters(flow);
        let at = self.now;
        if is_sparse {
            self.dummies = self.dummies.wrapping_add(1);
            self.bulk.push_back(Waiting { at, flow, packet: None });
            self.sparse.push_back(Waiting { at, flow, packet: Some(packet) });
        } else {
            self.bulk.push_back(Waiting { at, flow, packet: Some(packet) });
        }
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        let packet = self.take(drops)?;
        self.decay_one();
        Some(packet)
    }

    fn len(&self) -> usize {
        usize::try_from(self.passage.packets()).unwrap_or(usize::MAX)
    }

    fn backlog(&self) -> u64 {
        self.passage.bytes()
    }

    fn stats(&self) -> Stats {
        self.passage.complete(self.stats)
    }

    fn reconfigure(&mut self, now: Instant, config: CnqCodelAfConfig, _drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        self.config = config;
    }

    fn config(&self) -> CnqCodelAfConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        let waiting = self.sparse.drain(..).chain(self.bulk.drain(..));
        for packet in waiting.filter_map(|waiting| waiting.packet) {
            self.stats.dropped_after.add(packet.len());
            drops.dropped(packet, DropReason::Purged);
        }
        self.passage.all_leave();
        self.flows.clear();
        self.dummies = 0;
        self.decay_index = 0;
    }
}

impl<P: Packet + Flow, R: Random> Lookahead<P> for CnqCodelAf<P, R> {
    const RULES: &'static [&'static [Rule]] = &[RULES, LIMITS];

    fn set_taken_ahead(&mut self, _now: Instant, taken: bool) {
        self.taken_ahead = taken;
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(KIND.name);
        let about = &question.about;
        let flow = self.flow_of(question.packet);
        let backlog = self.flows.backlog(flow);
        let Params { target, interval } = self.config.params;
        let vars = self.flows.known(flow).map_or(Vars::NEW, |state| state.vars);
        let share = self.share_of_next(flow);
        let sojourn = about.sojourn();
        evidence.given("flow", Quantity::Number(u64::from(flow)), "number of this packet's flow");
        let packets = Quantity::Packets(u64::from(backlog));
        evidence.fact("flow_packets", packets, "packets of the flow in the bulk queue, with its dummy");
        let sparse = Quantity::Packets(self.sparse.len() as u64);
        evidence.fact("sparse_packets", sparse, "packets in the sparse queue");
        let flows = Quantity::Number(u64::from(share.flows));
        evidence.fact("bulk_flows", flows, "flows that build a queue");
        evidence.given("sojourn", Quantity::Span(sojourn), "how long this packet had waited");
        let weighted = Quantity::Span(share.weighted(sojourn));
        evidence.fact("weighted", weighted, "sojourn time, weighted by the flow's share of the queue");
        evidence.given(TARGET.name, Quantity::Span(target), "acceptable weighted sojourn time");
        evidence.given(INTERVAL.name, Quantity::Span(interval), "time between the first two signals");
        evidence.fact("dropping", Quantity::Flag(vars.dropping), "CoDel is in a dropping phase");
        evidence.fact("count", Quantity::Number(u64::from(vars.count)), "signals, less those that decayed");
        evidence.fact("drop_next", Quantity::at(vars.next, about.now), "when the next signal is due");
        let blue = Quantity::Fraction(f64::from(vars.p_drop) / TWO_TO_32);
        evidence.fact("blue_prob", blue, "BLUE's drop probability of the flow");
        let is_late = share.exceeds(sojourn, target);
        let rule = match about.moment {
            Moment::Arrival if backlog == 0 => Some(SPARSE),
            Moment::Arrival => Some(BULK),
            Moment::Departure if about.is_end() => self.rule(question, &vars, is_late),
            _ => None,
        };
        if let Some(rule) = rule {
            let signal = Quantity::Number(u64::from(vars.count).saturating_add(1));
            evidence.rule(rule, SOURCE, &[("signal", signal)]);
        }
        let limit = Limit {
            held: Quantity::Packets(self.held()),
            allowed: Quantity::Packets(u64::from(self.config.limit)),
            rule: FULL,
            source: SOURCE,
        };
        evidence.limit(about, DropReason::Overlimit, &limit);
        evidence
    }
}

impl<P: Packet + Flow, R: Random> CnqCodelAf<P, R> {
    /// Returns the rule that leads to the end of a packet at a departure.
    fn rule(&self, question: &Question<'_, P>, vars: &Vars, is_late: bool) -> Option<Rule> {
        let about = &question.about;
        let is_capable = question.packet.ecn() != Ecn::NotEct;
        let is_last = self.flows.backlog(self.flow_of(question.packet)) <= 1;
        let due = is_late && vars.dropping && vars.is_due(about.now);
        Some(match about.fate {
            // CoDel would have marked it.
            Fate::Dropped(DropReason::Congested) if is_capable => BLUE,
            // Packets that the same call dropped before may have changed the share.
            _ if about.is_signal() && (due || vars.p_drop == 0) => SIGNAL_DUE,
            _ if about.is_signal() => BLUE,
            Fate::Sent if !self.sparse.is_empty() => FIRST,
            Fate::Sent if !is_late => ON_TIME,
            Fate::Sent if is_last => LAST_OF_FLOW,
            Fate::Sent => NOT_DUE,
            _ => return None,
        })
    }
}

impl<P: Packet + Flow, R: Random> Observe for CnqCodelAf<P, R> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        seen.number("drop_overlimit", self.overflows);
        seen.number("ecn_mark", self.stats.marked.packets);
        seen.number("active_flows", u64::from(self.flows.active));
        seen.number("sparse_dummies", u64::from(self.dummies));
    }
}

impl<P: Packet + Flow> Inner<P> for CnqCodelAf<P, crate::random::Source> {}

/// Source of the rules in stories.
const SOURCE: &str = "SCE sch_cnq_codel_af; draft-morton-tsvwg-codel-approx-fair";

const KIND: Kind = Kind {
    name: "cnq_codel_af",
    summary: "Two FIFOs, one for sparse flows, and a CoDel for each flow that weights its share of the queue",
    reference: "Morton 2019; SCE sch_cnq_codel_af",
    variants: &[],
    children: Children::None,
    parameters: PARAMETERS,
};

const TWO_TO_32: f64 = 4_294_967_296.0;

rules! {
    /// Rules of CNQ-CodelAF.
    RULES;
    /// The flow has nothing in the bulk queue.
    SPARSE: "cnq_codel_af.sparse" [];
    /// The flow has packets, or a dummy, in the bulk queue.
    BULK: "cnq_codel_af.bulk" ["flow_packets"];
    /// The sparse queue is served first.
    FIRST: "cnq_codel_af.first" [];
    /// A signal of the phase is due.
    SIGNAL_DUE: "cnq_codel_af.signal_due" ["sojourn", "weighted", TARGET.name, "signal", "drop_next"];
    /// BLUE's draw hit the packet.
    BLUE: "cnq_codel_af.blue" ["blue_prob"];
    /// The weighted sojourn time is not above the target.
    ON_TIME: "cnq_codel_af.on_time" ["sojourn", "weighted", TARGET.name];
    /// The last packet of a flow is never dropped.
    LAST_OF_FLOW: "cnq_codel_af.last_of_flow" ["sojourn"];
    /// Above the target, and a signal is not due yet.
    NOT_DUE: "cnq_codel_af.not_due" ["sojourn", "weighted", TARGET.name];
}

#[cfg(test)]
mod tests;
