//! CoDel that drops at the tail: `codel_dt`.
//!
//! # What it does
//! CoDel-DT measures the sojourn time of leaving packets, as CoDel does, but drops (or marks)
//! arriving packets. It is for links that have promised to send the queued bytes, such as a cable
//! modem that has already requested its upstream slots. The signal reaches the sender later than
//! CoDel's, by the time that the queue takes to drain.
//!
//! # Reference
//! G. White and D. Rice, "Active Queue Management Algorithms for DOCSIS 3.0", CableLabs, 2013
//! (CoDel-DT); RFC 8289 for the law.
//!
//! # State
//! ```text
//! departure: sojourn >= target for `interval`: above;  one packet below target, or <= 1 MTU left: not above, law at rest
//! arrival:   above, at rest: drop, drop_next = now + interval / sqrt(count)
//!            above, now >= drop_next: drop, drop_next += interval / sqrt(++count)
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets that the queue holds | packets | 1000p | Linux sch_codel | 1 to 4294967295 |
//! | `target` | acceptable sojourn time of a standing queue | time | 5ms | RFC 8289 §4.2 | any; linux, linux61: at most 2199s; sensible: 5 to 10 % of interval, and at least the serialization time of one packet |
//! | `interval` | time within which the sojourn time must fall below target at least once | time | 100ms | RFC 8289 §4.3 | more than 0; linux: at most 2199s; linux61: 1024ns to 2199s; sensible: the longest expected round-trip time |
//! | `ecn` | mark ECN-capable packets instead of dropping them | flag | noecn | Linux sch_codel | |
//! | `recall` | drop count with which the next dropping phase starts | `a`, `b`, `c` | c | RFC 8289 §5.5 | a: last count - 1, if the last phase ended less than 16 intervals ago; b: last count - 2, within 8 intervals; c: the drops that the last phase added, within 16 intervals |
//!
//! # Deviations
//! The report does not define how the law applies to arrivals. Here each arrival takes at most one
//! step of the law, so a law that is behind catches up packet by packet.
//!
//! # Cost
//! Constant per packet; at a drop one 128-bit integer root. At most one drop per call.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, codel_dt::CodelDtConfig};
//! let config = CodelDtConfig::from_settings(&Settings::new(), &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.params().target.to_string(), "5ms");
//! ```

use crate::codel::exact::{emptied, enter, is_due, judge, leave};
use crate::codel::{
    CodelConfig, CodelParams, CodelVariant, CodelVars, ECN, INTERVAL, LIMIT, RECALL_RULES, TARGET,
};
use crate::config::{Build, Children, ConfigError, Configure, Kind, Link, Settings};
use crate::decision::{Evidence, FULL, LIMITS, Limit, Moment, Quantity, Question, Rule, rules};
use crate::gauge::{Observation, Observe};
use crate::head::Head;
use crate::nesting::Inner;
use crate::packet::{Ecn, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::Fifo;
use crate::shown::Show;
use crate::time::Instant;
use crate::typed::parameters;

/// A FIFO under CoDel's law, which is executed on arriving packets.
#[derive(Clone, Debug)]
pub struct CodelDt<P> {
    config: CodelDtConfig,
    vars: CodelVars,
    /// The packet that left last was above target, as all were for an interval.
    above: bool,
    queue: Fifo<P>,
    /// Counters except those that the queue keeps.
    stats: Stats,
    /// Latest time seen (contract rule 1).
    now: Instant,
}

/// Configuration of [`CodelDt`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodelDtConfig(CodelConfig);

impl CodelDtConfig {
    /// The parameters of the law.
    #[must_use]
    pub const fn params(&self) -> &CodelParams {
        self.0.params()
    }

    /// Packets that the queue holds.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.0.limit()
    }
}

impl Configure for CodelDtConfig {
    const KIND: Kind = Kind {
        name: "codel_dt",
        summary: "CoDel at the tail: the control law drops arriving packets, not those at the head",
        reference: "White and Rice 2013; RFC 8289",
        variants: &[],
        children: Children::None,
        parameters: PARAMETERS,
    };

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let params = CodelParams::from_settings(settings, link, ECN.read(settings)?, CodelVariant::Rfc8289)?;
        CodelConfig::new(LIMIT.read(settings)?, params).map(Self)
    }

    fn to_settings(&self) -> Settings {
        let limit = Settings::new().and(&LIMIT, self.limit());
        self.params().add_to_settings(limit)
    }

    fn link(&self) -> Link {
        Link { mtu: self.params().mtu, ..Link::default() }
    }
}

impl Show for CodelDtConfig {}

parameters! {
    PARAMETERS of [] CodelDtConfig;
    LIMIT: packets, with_limit;
    TARGET: time, with_target;
    INTERVAL: time, with_interval;
    ECN: flag, with_ecn;
    /// drop count with which the next dropping phase starts
    RECALL: choice "recall", with_recall {
        default: "c",
        words: &["a", "b", "c"],
        range_in_words: RECALL_RULES,
        source: "RFC 8289 §5.5",
    };
}

impl<P: Packet> CodelDt<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(config: CodelDtConfig) -> Self {
        Self {
            config,
            vars: CodelVars::starting(config.params()),
            above: false,
            queue: Fifo::default(),
            stats: Stats::default(),
            now: Instant::ZERO,
        }
    }

    /// The state of the law.
    #[must_use]
    pub const fn vars(&self) -> &CodelVars {
        &self.vars
    }

    /// Whether the law wants a packet that arrives now.
    fn signals(&mut self) -> bool {
        if !self.above {
            return false;
        }
        let now = self.now;
        let params = self.config.params();
        if self.vars.is_dropping() {
            // The report does not say how the law applies to arrivals. One step per arrival lets a
            // law that is behind catch up packet by packet.
            return is_due(&mut self.vars, now, params);
        }
        enter(&mut self.vars, now, params);
        true
    }

    fn lose(&mut self, packet: P, why: DropReason, drops: &mut impl Drops<P>) {
        self.stats.dropped_after.add(packet.len());
        drops.dropped(packet, why);
    }
}

impl<P: Packet, R> Build<P, R> for CodelDt<P> {
    fn build(config: CodelDtConfig, _salt: u32, _random: R) -> Self {
        Self::new(config)
    }
}

impl<P: Packet> Qdisc<P> for CodelDt<P> {
    type Config = CodelDtConfig;

    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        let bytes = packet.len();
        let why = if self.queue.len() >= self.config.limit() as usize {
            DropReason::Overlimit
        } else {
            let already = packet.ecn() == Ecn::Ce;
            let signals = self.signals();
            if !signals || (self.config.params().ecn && packet.set_ce()) {
                if signals && !already {
                    self.stats.marked.add(bytes);
                }
                self.queue.push_back(self.now, packet);
                return;
            }
            DropReason::Congested
        };
        self.stats.dropped_before.add(bytes);
        drops.dropped(packet, why);
    }

    fn dequeue(&mut self, now: Instant, _drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        let Some(oldest) = self.queue.pop_front() else {
            self.above = false;
            emptied(&mut self.vars);
            return None;
        };
        let sojourn = self.now.since(oldest.at);
        let bytes = oldest.packet.len();
        let left = self.queue.bytes();
        self.above = judge(&mut self.vars, self.now, self.config.params(), sojourn, bytes, left);
        if !self.above {
            leave(&mut self.vars);
        }
        Some(oldest.packet)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn backlog(&self) -> u64 {
        self.queue.bytes()
    }

    fn stats(&self) -> Stats {
        self.queue.complete(self.stats)
    }

    fn reconfigure(&mut self, now: Instant, config: CodelDtConfig, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        self.config = config;
        while self.queue.len() > config.limit() as usize {
            let Some(youngest) = self.queue.pop_back() else { break };
            self.lose(youngest.packet, DropReason::Overlimit, drops);
        }
    }

    fn config(&self) -> CodelDtConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        while let Some(oldest) = self.queue.pop_front() {
            self.lose(oldest.packet, DropReason::Purged, drops);
        }
        self.vars = CodelVars::starting(self.config.params());
        self.above = false;
    }
}

impl<P: Packet> Lookahead<P> for CodelDt<P> {
    const RULES: &'static [&'static [Rule]] = &[RULES, crate::codel::evidence::RULES, LIMITS];

    fn next_len(&self) -> Option<u32> {
        self.queue.front().map(|queued| queued.packet.len())
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(CodelDtConfig::KIND.name);
        let about = &question.about;
        let reference = CodelDtConfig::KIND.reference;
        evidence.fact("above", Quantity::Flag(self.above), "the last departure found a standing queue");
        let bytes = question.packet.len();
        let bytes_behind = self.queue.bytes().saturating_sub(u64::from(bytes));
        let head = Head { at: about.arrived, bytes, bytes_behind };
        self.vars.observe(self.config.params(), about, &head, reference, &mut evidence);
        if about.moment == Moment::Arrival && about.is_signal() {
            evidence.rule(SIGNAL, reference, &[]);
        }
        let limit = Limit {
            held: Quantity::Packets(self.queue.len() as u64),
            allowed: Quantity::Packets(u64::from(self.config.limit())),
            rule: FULL,
            source: reference,
        };
        evidence.limit(about, DropReason::Overlimit, &limit);
        evidence
    }
}

impl<P: Packet> Observe for CodelDt<P> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        seen.number("count", u64::from(self.vars.count()));
        seen.number("lastcount", u64::from(self.vars.lastcount()));
        let next = self.vars.until_drop(self.config.params(), self.now.max(now));
        seen.gauges.push(("drop_next", next));
        seen.number("ecn_mark", self.stats.marked.packets);
    }
}

impl<P: Packet> Inner<P> for CodelDt<P> {}

rules! {
    /// Rules of CoDel-DT, beside those of CoDel.
    RULES;
    /// A drop is due, and the packet arrives.
    SIGNAL: "codel_dt.signal" [];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Value;
    use crate::packet::story::Datagram;
    use alloc::vec::Vec;

    /// The times in ms at which packets are lost: one comes and one leaves every ms, behind a
    /// standing queue of 20.
    fn losses(ecn: Ecn, settings: &Settings) -> (Vec<u64>, CodelDt<Datagram>) {
        let config = CodelDtConfig::from_settings(settings, &Link::default()).unwrap();
        let mut queue = CodelDt::new(config);
        let mut lost = Vec::new();
        for n in 0..20 {
            queue.enqueue(
                Instant::ZERO,
                Datagram::new(1514, ecn).numbered(n),
                &mut |_: Datagram, _: DropReason| {},
            );
        }
        for ms in 1..1_000 {
            let at = Instant::from_nanos(ms * 1_000_000);
            queue.enqueue(
                at,
                Datagram::new(1514, ecn).numbered(20 + ms),
                &mut |packet: Datagram, why: DropReason| {
                    assert_eq!(
                        (packet.id, why),
                        (20 + ms, DropReason::Congested),
                        "only what arrives is lost"
                    );
                    lost.push(ms);
                },
            );
            if queue.len() > 19 {
                queue.dequeue(at, &mut |_: Datagram, _: DropReason| {});
            }
        }
        (lost, queue)
    }

    #[test]
    fn arrivals_are_lost_by_the_schedule_of_codel() {
        let (lost, _) = losses(Ecn::NotEct, &Settings::new());
        // Target is exceeded at 5 ms, for an interval at 105; the next arrival is the first victim.
        assert_eq!(lost[0], 106);
        // The sums of 100 ms / sqrt(n).
        let exact = [0.0, 100.0, 170.71, 228.45, 278.45, 323.17, 363.99, 401.79];
        for (ours, law) in lost.iter().zip(exact) {
            let late = (ours - lost[0]) as f64 - law;
            assert!((0.0..1.01).contains(&late), "{ours} is late by {late}");
        }
        // By the law 27 drops are due in the 893 ms that are left.
        assert!((26..=28).contains(&lost.len()), "{}", lost.len());
    }

    #[test]
    fn capable_packets_are_marked_instead() {
        let (lost, queue) = losses(Ecn::Ect0, &Settings::new().with("ecn", Value::Flag(true)));
        assert!(lost.is_empty() && (26..=28).contains(&queue.stats().marked.packets));
    }

    #[test]
    fn one_departure_below_target_lets_everybody_in() {
        let (_, mut queue) = losses(Ecn::NotEct, &Settings::new());
        assert!(queue.vars().is_dropping());
        let at = Instant::from_nanos(2_000_000_000);
        let mut ignore = |_: Datagram, _: DropReason| {};
        while queue.dequeue(at, &mut ignore).is_some() {}
        assert!(!queue.vars().is_dropping());
        for n in 0..100 {
            queue.enqueue(
                at,
                Datagram::new(1514, Ecn::NotEct).numbered(n),
                &mut |_: Datagram, _: DropReason| panic!("dropped"),
            );
        }
    }
}
