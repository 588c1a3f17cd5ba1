//! SFQ-PIE: PIE in each bin of a stochastic fair queue.
//!
//! # What it does
//! SFQ-PIE serves bins packet by packet, as `sfq_codel` does. A PIE controller per bin decides
//! about arriving packets by the delay and backlog of that bin.
//!
//! # Reference
//! The scheduler of ns-2's `sfqcodel.cc` (Nichols 2012) with PIE (RFC 8033) in the place of CoDel.
//!
//! # State
//! As in `sfq_codel`, with the state that `fq_pie` has per flow in each bin.
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets that all bins together hold | packets | 1000p | ours; ns-2's scripts set it | 1 to 16777216 |
//! | `flows` | number of bins; does not change while packets are queued | number | 1024 | ns-2 sfqcodel | 1 to 65536 |
//! | `target` | target queue delay of each flow | time | 15ms | RFC 8033 §4.2; Linux | 1ns to 4294967295us |
//! | `tupdate` | time between updates of the drop probabilities | time | 15ms | RFC 8033 §4.2; Linux | 1us to 4294967295us |
//! | `alpha` | gain on the distance from the target, in 1/16 per second | number | 2 | RFC 8033 §4.2 (0.125 per s); Linux | 0 to 32 |
//! | `beta` | gain on the change of the delay, in 1/16 per second | number | 20 | RFC 8033 §4.2 (1.25 per s); Linux | 0 to 32 |
//! | `ecn_prob` | drop probability in per cent above which ECN-capable packets are dropped as well | number | 10 | Linux sch_fq_pie; RFC 8033 §5.1 | 0 to 100 |
//! | `ecn` | mark ECN-capable packets instead of dropping them, up to the probability ecn_prob | flag | noecn | Linux sch_fq_pie | |
//! | `bytemode` | scale the drop probability by packet length over MTU | flag | nobytemode | Linux sch_fq_pie | |
//! | `dq_rate_estimator` | derive the delay from the measured departure rate, not from timestamps | flag | no_dq_rate_estimator | Linux sch_fq_pie | |
//! | `variant` | `linux`: the PIE of Linux 6.1, bit for bit. `rfc8033`: the PIE of RFC 8033 in exact arithmetic | word | linux | | |
//!
//! # Deviations
//! The deviations of `pie` hold for each bin. A full queue drops the arriving packet.
//!
//! # Cost
//! As in `sfq_codel`, but two cache lines per bin, for the same reason as in `fq_pie`. An update
//! visits the bins that are not at rest, with at most 2048 missed updates each.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, config::Value, sfq_pie::SfqPieConfig};
//! let config = SfqPieConfig::from_settings(&Settings::new(), &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.to_settings().get("flows"), Some(Value::Integer(1024)));
//! ```

use alloc::vec::Vec;

use crate::bins::{Behind, Bin, Bins, FLOWS, LIMIT};
use crate::config::{Build, ConfigError, Configure, Kind, Link, Settings};
use crate::decision::{Evidence, FULL, LIMITS, Limit, Quantity, Question, Rule};
use crate::gauge::{Observation, Observe};
use crate::nesting::Inner;
use crate::packet::{Flow, Packet};
use crate::pie::flow::{
    ALPHA, Arrival, BETA, BYTEMODE, ECN, ECN_PROB, ESTIMATOR, PieFlow, TARGET, TUPDATE, VARIANTS, inner_pie,
    pie_settings, updates_due,
};
use crate::pie::{self, PieConfig};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::random::Random;
use crate::shown::Show;
use crate::time::Instant;
use crate::typed::{in_variants, parameters};

/// The discipline `sfq_pie`.
#[derive(Clone, Debug)]
pub struct SfqPie<P, R> {
    config: SfqPieConfig,
    salt: u32,
    random: R,
    bins: Bins<P, PieFlow>,
    /// Bins that an update can change.
    awake: Vec<u32>,
    /// When the probabilities are updated next; set by the first call.
    update_at: Option<Instant>,
    tally: pie::Tally,
    now: Instant,
}

const _: () = assert!(size_of::<Bin<PieFlow>>() <= 128, "two lines of the cache per bin");

/// Configuration of [`SfqPie`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SfqPieConfig {
    limit: u32,
    flows: u32,
    ecn_percent: u32,
    pie: PieConfig,
}

impl Configure for SfqPieConfig {
    const KIND: Kind = Kind {
        name: "sfq_pie",
        summary: "Stochastic fairness with PIE in each bin",
        reference: "ns-2 sfqcodel.cc (Nichols 2012); RFC 8033",
        children: crate::config::Children::None,
        variants: VARIANTS,
        parameters: PARAMETERS,
    };

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let limit = LIMIT.read(settings)?;
        Ok(Self {
            limit,
            flows: FLOWS.read(settings)?,
            ecn_percent: ECN_PROB.read(settings)?,
            pie: inner_pie(settings, limit, link)?,
        })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = pie_settings(&self.pie, Self::KIND.parameters)
            .and(&LIMIT, self.limit)
            .and(&FLOWS, self.flows)
            .and(&ECN_PROB, self.ecn_percent);
        if let Some(variant) = self.pie.to_settings().get("variant") {
            settings.set("variant", variant);
        }
        settings
    }

    fn link(&self) -> Link {
        self.pie.link()
    }
}

impl Show for SfqPieConfig {}

parameters! {
    PARAMETERS of [] SfqPieConfig;
    LIMIT: packets, with_limit;
    FLOWS: integer, with_flows;
    TARGET: time, with_target;
    TUPDATE: time, with_tupdate;
    ALPHA: integer, with_alpha;
    BETA: integer, with_beta;
    ECN_PROB: integer, with_ecn_prob;
    ECN: flag, with_ecn;
    BYTEMODE: flag, with_bytemode;
    ESTIMATOR: flag, with_dq_rate_estimator;
}

in_variants! { [] SfqPieConfig }

impl<P: Packet + Flow, R: Random> SfqPie<P, R> {
    /// An empty queue; `salt` seeds the hash of flows, PIE draws from `random`.
    #[must_use]
    pub fn new(config: SfqPieConfig, salt: u32, random: R) -> Self {
        Self {
            config,
            salt,
            random,
            bins: Bins::new(config.flows, PieFlow::new(&config.pie)),
            awake: Vec::new(),
            update_at: None,
            tally: pie::Tally::default(),
            now: Instant::ZERO,
        }
    }

    /// Does the updates that are due at `now`. Every call of the queue does so by itself.
    #[inline]
    pub fn update(&mut self, now: Instant) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        if self.update_at.is_none_or(|at| at <= self.now) {
            self.catch_up();
        }
    }

    // All packets between two updates only compare the clock.
    #[inline(never)]
    fn catch_up(&mut self) {
        let pie = &self.config.pie;
        let (due, next) = updates_due(pie, self.update_at, self.now);
        self.update_at = Some(next);
        if due == 0 {
            return;
        }
        let bins = &mut self.bins;
        // An update leaves a bin at rest as it is, so only the others are visited.
        self.awake.retain(|&index| {
            let backlog = bins.backlog(index);
            let packets = bins.packets_of(index);
            let Some(bin) = bins.aqm_mut(index) else { return false };
            // Packets of no bytes make no backlog.
            bin.awake = bin.update(pie, backlog, due) || packets > 0;
            bin.awake
        });
    }
}

impl<P: Packet + Flow, R: Random> Build<P, R> for SfqPie<P, R> {
    fn build(config: SfqPieConfig, salt: u32, random: R) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, R: Random> Qdisc<P> for SfqPie<P, R> {
    type Config = SfqPieConfig;

    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut impl Drops<P>) {
        self.update(now);
        let bytes = packet.len();
        let index = self.bins.classify(&packet, self.salt);
        let backlog = self.bins.backlog(index);
        let full = self.bins.len() >= self.config.limit as usize;
        let SfqPieConfig { pie, ecn_percent, .. } = &self.config;
        let Some(bin) = self.bins.aqm_mut(index) else { return };
        let why = if full {
            bin.vars.lost_one();
            Some(DropReason::Overlimit)
        } else {
            match bin.arrives(pie, backlog, &mut packet, *ecn_percent, &mut self.random) {
                Arrival::Queued => None,
                Arrival::Marked { already } => {
                    self.tally.marked();
                    if !already {
                        self.bins.stats.marked.add(bytes);
                    }
                    None
                }
                Arrival::Dropped => Some(DropReason::Congested),
            }
        };
        if let Some(why) = why {
            self.tally.dropped(why);
            self.bins.stats.dropped_before.add(bytes);
            drops.dropped(packet, why);
            return;
        }
        if let Some(listed) = self.bins.aqm_mut(index).filter(|listed| !listed.awake) {
            listed.awake = true;
            self.awake.push(index);
        }
        self.bins.push(self.now, index, packet, 0);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.update(now);
        self.bins.pop(self.now, 0, &self.config.pie, Behind::Bin, drops)
    }

    fn len(&self) -> usize {
        self.bins.len()
    }

    fn backlog(&self) -> u64 {
        self.bins.bytes()
    }

    fn stats(&self) -> Stats {
        self.bins.stats()
    }

    /// The number of bins does not change while packets are queued.
    fn reconfigure(&mut self, now: Instant, config: SfqPieConfig, drops: &mut impl Drops<P>) {
        self.update(now);
        let resize = config.flows != self.config.flows && self.bins.len() == 0;
        let flows = if resize { config.flows } else { self.config.flows };
        let old = core::mem::replace(&mut self.config, SfqPieConfig { flows, ..config });
        if resize {
            self.bins.resize(flows, PieFlow::new(&config.pie));
            self.awake.clear();
        } else if old.pie.variant() != config.pie.variant() {
            for bin in self.bins.aqms() {
                bin.vars = config.pie.fresh();
            }
        }
        if old.pie.tupdate() != config.pie.tupdate() {
            let soon = config.pie.next_update(self.now);
            self.update_at = self.update_at.map(|at| at.min(soon));
        }
        while self.bins.len() > self.config.limit as usize
            && self.bins.drop_from_longest(DropReason::Overlimit, drops)
        {}
    }

    fn config(&self) -> SfqPieConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.update(now);
        self.bins.purge(PieFlow::new(&self.config.pie), drops);
        self.awake.clear();
    }
}

impl<P: Packet + Flow, R: Random> Lookahead<P> for SfqPie<P, R> {
    const RULES: &'static [&'static [Rule]] = &[pie::evidence::RULES, LIMITS];

    fn other_flow(&self, packet: &P) -> Option<&P> {
        self.bins.other_flow(packet, self.salt)
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(SfqPieConfig::KIND.name);
        let about = &question.about;
        let pie = &self.config.pie;
        let index = self.bins.classify(question.packet, self.salt);
        self.bins.observe(index, &mut evidence);
        if let Some((bin, _)) = self.bins.aqm_of(index, Behind::Bin, question.packet.len()) {
            // The updates that the decision does first.
            let mut then = *bin;
            let backlog = self.bins.backlog(index);
            if then.awake {
                then.update(pie, backlog, updates_due(pie, self.update_at, about.now).0);
            }
            then.vars.observe(pie, about, backlog, question.packet.len(), &mut evidence);
        }
        let limit = Limit {
            held: Quantity::Packets(self.bins.len() as u64),
            allowed: Quantity::Packets(u64::from(self.config.limit)),
            rule: FULL,
            source: "ns-2 sfqcodel.cc",
        };
        evidence.limit(about, DropReason::Overlimit, &limit);
        evidence
    }
}

impl<P: Packet + Flow, R: Random> Observe for SfqPie<P, R> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        self.tally.show(&self.bins.stats(), seen);
        seen.number("bins_active", self.bins.active());
    }
}

impl<P: Packet + Flow> Inner<P> for SfqPie<P, crate::random::Source> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::random::Xoshiro256PlusPlus;

    struct Of(u32);

    impl Packet for Of {
        fn len(&self) -> u32 {
            1514
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn set_ce(&mut self) -> bool {
            false
        }
    }

    impl Flow for Of {
        fn flow_hash(&self, _salt: u32) -> u32 {
            0
        }
        fn class(&self) -> Option<u32> {
            Some(self.0 + 1)
        }
    }

    #[test]
    fn the_flow_that_overloads_the_link_loses_and_the_sparse_one_does_not() {
        let config = SfqPieConfig::from_settings(&Settings::new(), &Link::default()).expect("valid");
        let mut queue = SfqPie::new(config, 0, Xoshiro256PlusPlus::new(1));
        let mut lost = [0_u64; 2];
        for step in 0..8_000_u64 {
            // One packet leaves per 1.2 ms, 1.2 arrive.
            let now = Instant::from_nanos(step * 1_200_000);
            let mut drops = |packet: Of, _| lost[packet.0 as usize] += 1;
            queue.enqueue(now, Of(0), &mut drops);
            if step % 5 == 0 {
                queue.enqueue(now, Of(0), &mut drops);
            }
            if step % 20 == 0 {
                queue.enqueue(now, Of(1), &mut drops);
            }
            queue.dequeue(now, &mut drops);
        }
        assert!(lost[0] > 800 && lost[1] == 0, "{lost:?}");
    }
}
