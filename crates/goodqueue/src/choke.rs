//! CHOKe: RED that also compares each arrival with a random queued packet.
//!
//! # What it does
//! While the average queue length is above `min`, CHOKe compares each arriving packet with one
//! drawn at random from the queue. If both belong to the same flow, both are dropped. A flow
//! therefore loses packets in proportion to its share of the queue, and CHOKe keeps no state per
//! flow. Packets that survive the comparison are subject to RED.
//!
//! # Reference
//! R. Pan, B. Prabhakar and K. Psounis, "CHOKe, a stateless active queue management scheme for
//! approximating fair bandwidth allocation", INFOCOM 2000; behaviour of Linux 6.1
//! `net/sched/sch_choke.c`; tc-choke(8).
//!
//! # State
//! ```text
//! avg as in RED, in packets:   0 ...... min ~~~~~~~~~~~~~ max ................. limit
//! arrival:                       admit     draw one: same flow? drop both
//!                                          else RED's early drop   else drop
//! ring: packets in order; a drawn and dropped packet leaves a hole (linux)
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets that the queue holds | packets | 300p | Pan et al. 2000; tc demands it | 4 to 131071 |
//! | `min` | average queue length up to which nothing is dropped | packets | max / 3 | tc | 1 to max - 1 |
//! | `max` | average queue length above which every packet is dropped | packets | limit / 4 | tc | min + 1 to limit |
//! | `burst` | length of a burst that passes, which sets how slowly the average moves | packets | (2 min + max) / 3 | tc | at least min |
//! | `avpkt` | typical packet length, which sets how fast the average decays on an idle link | bytes | 1000 | tc | 1 to 4294967295; linux: at most 4294967295 / min |
//! | `probability` | largest probability of an early drop | fraction, 0 to 1 | 0.02 | tc | above 0 (at least 2^-32), to 1 |
//! | `bandwidth` | rate at which the average decays on an idle link | rate | the link rate | tc: 10mbit | 8bit or more |
//! | `ecn` | mark ECN-capable packets instead of dropping them, except a packet that matches a queued one of its flow | flag | off | tc | |
//! | `variant` | `linux`: Linux 6.1 and tc, bit for bit. `infocom2000`: the published algorithm, on RED of 1993 | word | linux | | |
//!
//! # Deviations
//! `linux`: the ring has room for the next power of two above `limit`. When it is full of packets
//! and holes, the holes are removed; Linux overwrites queued packets in this case. A `probability`
//! of 1 becomes at most 1 / `avpkt`, as in tc, because 1 does not fit in its 32 bits. There is no
//! `harddrop`, which tc cannot set either.
//!
//! `infocom2000`: the averaging is that of RED in 1993 with a weight of 0.002, so `burst` has no
//! effect. The drawn packet is uniform over the queued packets. Linux takes the head after three
//! draws of holes.
//!
//! # Cost
//! Constant per packet, plus one comparison of two flows; at most two drops per call.
//! `infocom2000`: a drop inside the queue moves the packets on one side of it. `linux`: removing
//! the holes moves every packet once; this happens after as many drops inside the queue as the ring
//! has places.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, choke::ChokeConfig, config::Value};
//! let settings = Settings::new().with("limit", Value::Packets(120));
//! let config = ChokeConfig::from_settings(&settings, &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!((config.min(), config.max()), (10, 30));
//! ```

use alloc::collections::VecDeque;
use alloc::format;

use crate::config::{Build, Children, ConfigError, Configure, Kind, Link, Settings, Value, Variant};
use crate::decision::{Evidence, FULL, Fate, LIMITS, Limit, Moment, Quantity, Question, Rule, rules};
use crate::gauge::{Observation, Observe};
use crate::nesting::Inner;
use crate::packet::{Ecn, Flow, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, NextLen, Qdisc, Stats};
use crate::queue::Queued;
use crate::random::Random;
use crate::red::floyd1993::Floyd1993;
use crate::red::linux::{Law, Linux};
use crate::red::{self, Arrival, BANDWIDTH, RedConfig, Signal, filter_shift};
use crate::shown::{Show, Shown};
use crate::time::{Duration, Instant, Rate};
use crate::typed::{in_variants, parameters};

/// A queue under CHOKe.
#[derive(Clone, Debug)]
pub struct Choke<P, R> {
    config: ChokeConfig,
    random: R,
    ring: Ring<P>,
    red: Red,
    /// Latest time seen (contract rule 1).
    now: Instant,
    matched: u64,
    /// Signals of RED; those that became marks, packets that had one already included; drops
    /// because the queue was full.
    signals: u64,
    marks: u64,
    overflows: u64,
    stats: Stats,
}

/// Configuration of [`Choke`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ChokeConfig {
    variant: ChokeVariant,
    limit: u32,
    min: u32,
    max: u32,
    burst: u32,
    avpkt: u32,
    probability: f64,
    bandwidth: Rate,
    ecn: bool,
}

/// Whose behaviour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ChokeVariant {
    /// Linux 6.1 with tc.
    Linux,
    /// Pan et al. 2000.
    Infocom2000,
}

/// The average and its decisions.
#[derive(Clone, Debug)]
enum Red {
    Linux(Linux),
    Floyd1993(Floyd1993),
}

/// Packets in order, and holes where some were taken out; the first is no hole.
#[derive(Clone, Debug)]
struct Ring<P> {
    places: VecDeque<Option<Queued<P>>>,
    packets: usize,
    bytes: u64,
}

impl<P: Packet> Ring<P> {
    const fn new() -> Self {
        Self { places: VecDeque::new(), packets: 0, bytes: 0 }
    }

    fn push(&mut self, at: Instant, packet: P, most_places: usize) {
        if self.places.len() >= most_places {
            // Linux overwrites queued packets here.
            self.places.retain(Option::is_some);
        }
        self.packets += 1;
        self.bytes = self.bytes.saturating_add(u64::from(packet.len()));
        self.places.push_back(Some(Queued { at, packet }));
    }

    fn leaves(&mut self, place: Option<Queued<P>>) -> Option<P> {
        let packet = place?.packet;
        self.packets = self.packets.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(u64::from(packet.len()));
        while matches!(self.places.front(), Some(None)) {
            self.places.pop_front();
        }
        Some(packet)
    }

    fn pop_front(&mut self) -> Option<P> {
        let place = self.places.pop_front()?;
        self.leaves(place)
    }

    fn pop_back(&mut self) -> Option<P> {
        while matches!(self.places.back(), Some(None)) {
            self.places.pop_back();
        }
        let place = self.places.pop_back()?;
        self.leaves(place)
    }

    fn packet(&self, index: usize) -> Option<&P> {
        self.places.get(index)?.as_ref().map(|queued| &queued.packet)
    }

    /// Takes the packet at `index` out and leaves a hole.
    fn take(&mut self, index: usize) -> Option<P> {
        let place = self.places.get_mut(index)?.take();
        self.leaves(place)
    }

    /// Takes the packet at `index` out and closes the ranks.
    fn remove(&mut self, index: usize) -> Option<P> {
        let place = self.places.remove(index)?;
        self.leaves(place)
    }

    /// One place at random, holes included.
    fn draw(&self, random: &mut impl Random) -> usize {
        random.below(u32::try_from(self.places.len()).unwrap_or(u32::MAX)) as usize
    }
}

impl ChokeVariant {
    const ALL: [Self; 2] = [Self::Linux, Self::Infocom2000];

    const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Infocom2000 => "infocom2000",
        }
    }

    fn named(name: &'static str) -> Result<Self, ConfigError> {
        let found = Self::ALL.into_iter().find(|variant| variant.name() == name);
        found.ok_or_else(|| ConfigError::new("variant", name, "linux or infocom2000"))
    }
}

impl ChokeConfig {
    /// Packets that the queue holds.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// Average up to which nothing is dropped, in packets.
    #[must_use]
    pub const fn min(&self) -> u32 {
        self.min
    }

    /// Average above which everything is dropped, in packets.
    #[must_use]
    pub const fn max(&self) -> u32 {
        self.max
    }

    const fn packet_time(&self) -> Duration {
        self.bandwidth.serialization(self.avpkt)
    }

    /// Weight of the average as a power of two; tc counts in bytes.
    fn shift(&self) -> Option<u32> {
        filter_shift(self.min.saturating_mul(self.avpkt), self.burst, self.avpkt)
    }

    /// Places of the ring in use at most: one of a power of two stays free.
    const fn places(&self) -> usize {
        // As in Linux, whose ring would look empty if it were full.
        ((self.limit as usize) + 1).next_power_of_two() - 1
    }

    fn red(&self) -> Red {
        let thresholds = [self.min, self.max];
        match self.variant {
            ChokeVariant::Linux => Red::Linux(Linux::from_law(&Law {
                min: self.min,
                max: self.max,
                // A checked configuration always has a filter.
                shift: self.shift().unwrap_or(1),
                unit: self.avpkt,
                probability: self.probability,
                packet_time: self.packet_time(),
            })),
            ChokeVariant::Infocom2000 => Red::Floyd1993(Floyd1993::of_packets(
                thresholds,
                WEIGHT,
                self.probability,
                self.packet_time(),
            )),
        }
    }
}

impl Configure for ChokeConfig {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let bandwidth = red::bandwidth(settings, link)?;
        let limit: u32 = LIMIT.read(settings)?;
        // tc's defaults, with room for a `min` of at least 1 below `max`.
        let max = MAX.read_or(settings, (limit / 4).max(2).min(limit))?;
        let min = MIN.read_or(settings, (max / 3).max(1))?;
        if max > limit {
            return Err(ConfigError::new(
                MAX.name,
                format!("{max}"),
                format!("at most limit, which is {limit}"),
            ));
        }
        if min >= max {
            return Err(ConfigError::new(MIN.name, format!("{min}"), format!("below max, which is {max}")));
        }
        let config = Self {
            variant: settings.choice("variant").map_or(Ok(ChokeVariant::Linux), ChokeVariant::named)?,
            limit,
            min,
            max,
            // With a smaller burst no weight of the average settles (tc refuses it).
            burst: BURST.read_or(settings, ((2 * min + max) / 3).max(min))?,
            avpkt: AVPKT.read(settings)?,
            probability: PROBABILITY.read(settings)?,
            bandwidth,
            ecn: ECN.read(settings)?,
        };
        if config.variant == ChokeVariant::Linux && config.shift().is_none() {
            // Neither `burst` nor `min` is to blame if they would do with packets of a byte.
            if filter_shift(min, config.burst, 1).is_some() {
                let allowed = format!("at most {}, so that min is less than 4 GiB", u32::MAX / min.max(1));
                return Err(ConfigError::new(AVPKT.name, format!("{}", config.avpkt), allowed));
            }
            let allowed =
                format!("an average that settles: a burst of at least {min}, and avpkt a real packet");
            return Err(ConfigError::new(BURST.name, format!("{}", config.burst), allowed));
        }
        Ok(config)
    }

    fn to_settings(&self) -> Settings {
        Settings::new()
            .with("variant", Value::Choice(self.variant.name()))
            .and(&LIMIT, self.limit)
            .and(&MIN, self.min)
            .and(&MAX, self.max)
            .and(&BURST, self.burst)
            .and(&AVPKT, self.avpkt)
            .and(&PROBABILITY, self.probability)
            .and(&BANDWIDTH, self.bandwidth)
            .and(&ECN, self.ecn)
    }
}

impl Show for ChokeConfig {
    /// tc prints the options of both with one function.
    const SHOWN: &'static [Shown] = RedConfig::SHOWN;
}

parameters! {
    PARAMETERS of [] ChokeConfig;
    /// packets that the queue holds
    LIMIT: packets "limit", with_limit {
        default: 300,
        // Linux CHOKE_MAX_QUEUE.
        range: 4..=131_071,
        source: "Pan et al. 2000; tc demands it",
    };
    /// average queue length up to which nothing is dropped
    MIN: packets "min", with_min {
        derived: "max / 3",
        range: 1..=131_071,
        range_in_words: "1 to max - 1",
        source: "tc",
    };
    /// average queue length above which every packet is dropped
    MAX: packets "max", with_max {
        derived: "limit / 4",
        range: 2..=131_071,
        range_in_words: "min + 1 to limit",
        source: "tc",
    };
    /// length of a burst that passes, which sets how slowly the average moves
    BURST: packets "burst", with_burst {
        derived: "(2 min + max) / 3",
        range: 1..=131_071,
        range_in_words: "at least min",
        source: "tc",
    };
    /// typical packet length, which sets how fast the average decays on an idle link
    AVPKT: bytes "avpkt", with_avpkt {
        default: 1000,
        range: 1..=4_294_967_295,
        condition: "linux: at most 4294967295 / min",
        source: "tc",
    };
    /// largest probability of an early drop
    PROBABILITY: probability "probability", with_probability {
        default: 0.02,
        range: red::SMALLEST_FRACTION..=1.0,
        range_in_words: "above 0 (at least 2^-32), to 1",
        source: "tc",
    };
    BANDWIDTH: rate, with_bandwidth;
    /// mark ECN-capable packets instead of dropping them, except a packet that matches a queued one
    /// of its flow
    ECN: flag "ecn", with_ecn { default: false, source: "tc" };
}

in_variants! { [] ChokeConfig }

impl<P: Packet + Flow, R: Random> Choke<P, R> {
    /// An empty queue that draws from `random`.
    #[must_use]
    pub fn new(config: ChokeConfig, random: R) -> Self {
        Self {
            config,
            random,
            ring: Ring::new(),
            red: config.red(),
            now: Instant::ZERO,
            matched: 0,
            signals: 0,
            marks: 0,
            overflows: 0,
            stats: Stats::default(),
        }
    }

    /// The average queue length in packets, as of the last arrival.
    #[must_use]
    pub fn average(&self) -> f64 {
        match &self.red {
            Red::Linux(red) => red.average(),
            Red::Floyd1993(red) => red.average(),
        }
    }

    /// Packets that arrived and met one of their flow.
    #[must_use]
    pub const fn matched(&self) -> u64 {
        self.matched
    }

    /// Averages an arrival. Returns true if the queue is too short for any drop.
    fn is_small(&mut self, bytes: u32) -> bool {
        let packets = self.ring.packets;
        let backlog = self.ring.bytes;
        match &mut self.red {
            Red::Linux(red) => {
                red.sample(self.now, packets as u64);
                // Linux compares with `<=`: an average of exactly `min` drops nothing.
                !red.exceeds_min()
            }
            Red::Floyd1993(red) => {
                red.sample(&Arrival { now: self.now, backlog, packets, bytes });
                red.is_below_min()
            }
        }
    }

    /// Whether RED drops or marks.
    fn signals(&mut self, bytes: u32) -> bool {
        match &mut self.red {
            Red::Linux(red) => red.exceeds_max() || red.signals(&mut self.random),
            Red::Floyd1993(red) => !matches!(red.signal(bytes, &mut self.random), Signal::Spared(_)),
        }
    }

    /// Takes out of the queue the packet drawn, if it is of the flow of `packet`.
    fn match_random(&mut self, packet: &P) -> Option<P> {
        if self.ring.packets == 0 {
            return None;
        }
        let mut index = self.ring.draw(&mut self.random);
        if self.config.variant == ChokeVariant::Linux {
            let mut draws = 1;
            while self.ring.packet(index).is_none() {
                // Linux gives up after three holes.
                index = if draws < DRAWS { self.ring.draw(&mut self.random) } else { 0 };
                draws += 1;
            }
        }
        if !self.ring.packet(index)?.same_flow(packet) {
            return None;
        }
        match self.config.variant {
            ChokeVariant::Linux => self.ring.take(index),
            ChokeVariant::Infocom2000 => self.ring.remove(index),
        }
    }

    fn lose(&mut self, packet: P, why: DropReason, drops: &mut impl Drops<P>) {
        self.stats.dropped_after.add(packet.len());
        drops.dropped(packet, why);
    }
}

impl<P: Packet + Flow, R: Random> Build<P, R> for Choke<P, R> {
    fn build(config: ChokeConfig, _salt: u32, random: R) -> Self {
        Self::new(config, random)
    }
}

impl<P: Packet + Flow, R: Random> Qdisc<P> for Choke<P, R> {
    type Config = ChokeConfig;

    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        let bytes = packet.len();
        self.stats.offered.add(bytes);
        let mut stays = true;
        let mut marked = false;
        if !self.is_small(bytes) {
            // Both are dropped even with `ecn`, and RED's count of packets stays (Linux
            // `choke_enqueue()`).
            if let Some(drawn) = self.match_random(&packet) {
                self.matched = self.matched.wrapping_add(1);
                self.stats.dropped_before.add(bytes);
                drops.dropped(packet, DropReason::Congested);
                self.lose(drawn, DropReason::Congested, drops);
                return;
            }
            if self.signals(bytes) {
                let already = packet.ecn() == Ecn::Ce;
                stays = self.config.ecn && packet.set_ce();
                self.signals = self.signals.wrapping_add(1);
                self.marks = self.marks.wrapping_add(u64::from(stays));
                marked = stays && !already;
            }
        }
        if !stays || self.ring.packets >= self.config.limit as usize {
            self.overflows = self.overflows.wrapping_add(u64::from(stays));
            self.stats.dropped_before.add(bytes);
            drops.dropped(packet, if stays { DropReason::Overlimit } else { DropReason::Congested });
            return;
        }
        if marked {
            self.stats.marked.add(bytes);
        }
        self.stats.enqueued.add(bytes);
        self.ring.push(self.now, packet, self.config.places());
    }

    fn dequeue(&mut self, now: Instant, _drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        let packet = self.ring.pop_front();
        match &mut self.red {
            // Linux: idle since the first dequeue that finds no packet. 1993: idle since the queue
            // is empty.
            Red::Linux(red) if packet.is_none() => red.idle(self.now),
            Red::Floyd1993(red) if packet.is_some() && self.ring.packets == 0 => red.idle(self.now),
            _ => {}
        }
        if let Some(packet) = &packet {
            self.stats.dequeued.add(packet.len());
        }
        packet
    }

    fn len(&self) -> usize {
        self.ring.packets
    }

    fn backlog(&self) -> u64 {
        self.ring.bytes
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    /// As in Linux, queued packets stay if the table of the new size has places for them. The
    /// average is reset.
    fn reconfigure(&mut self, now: Instant, config: ChokeConfig, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        // A change to the configuration in force must change nothing (`Qdisc::config`).
        if config == self.config {
            return;
        }
        let old = core::mem::replace(&mut self.config, config);
        self.red = config.red();
        if old.places() == config.places() {
            return;
        }
        self.ring.places.retain(Option::is_some);
        while self.ring.packets > config.places() {
            // Linux `choke_change()` copies from the head on, so the youngest packets find no
            // place.
            let Some(youngest) = self.ring.pop_back() else { break };
            self.lose(youngest, DropReason::Overlimit, drops);
        }
    }

    fn config(&self) -> ChokeConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        while let Some(oldest) = self.ring.pop_front() {
            self.lose(oldest, DropReason::Purged, drops);
        }
        self.red = self.config.red();
    }
}

impl<P: Packet + Flow, R: Random> Lookahead<P> for Choke<P, R> {
    const RULES: &'static [&'static [Rule]] = &[RULES, LIMITS];

    fn next_len(&self) -> Option<u32> {
        self.ring.packet(0).map(Packet::len)
    }

    /// In Linux a parent that peeks at an empty queue does not dequeue, so the link below a token
    /// bucket is never idle.
    fn look_ahead(&mut self, now: Instant, _drops: &mut impl Drops<P>) -> Option<NextLen> {
        self.now = self.now.max(now);
        let next = self.ring.packet(0).map(Packet::len);
        (next.is_some() || matches!(self.red, Red::Linux(_))).then_some(next)
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(KIND.name);
        let about = &question.about;
        let average = match &self.red {
            Red::Linux(red) => red.average(),
            Red::Floyd1993(red) => red.average(),
        };
        let packets = self.ring.packets as u64;
        evidence.fact("average", Quantity::Real(average), "average queue in packets before this packet");
        evidence.given(
            "min",
            Quantity::Packets(u64::from(self.config.min)),
            "average from which packets are compared",
        );
        evidence.given(
            "max",
            Quantity::Packets(u64::from(self.config.max)),
            "average from which all are dropped",
        );
        evidence.fact("queued", Quantity::Packets(packets), "packets in the queue");
        evidence.fact(
            "matched",
            Quantity::Number(self.matched),
            "packets dropped because a random one was of their flow",
        );
        if about.is_signal() && (about.is_end() || about.fate == Fate::Marked) {
            let rule = match about.moment {
                Moment::Arrival if average >= f64::from(self.config.max) => ABOVE_MAX,
                Moment::Arrival => MATCHED_OR_HIT,
                Moment::Waiting | Moment::Departure => DRAWN,
            };
            evidence.rule(rule, SOURCE, &[]);
        }
        if about.moment == Moment::Arrival && about.fate == Fate::Sent {
            let rule = if average < f64::from(self.config.min) { BELOW_MIN } else { MISSED };
            evidence.rule(rule, SOURCE, &[]);
        }
        let limit = Limit {
            held: Quantity::Packets(packets),
            allowed: Quantity::Packets(u64::from(self.config.limit)),
            rule: FULL,
            source: SOURCE,
        };
        evidence.limit(about, DropReason::Overlimit, &limit);
        evidence
    }
}

impl<P: Packet + Flow, R: Random> Observe for Choke<P, R> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        seen.overlimits = self.signals;
        seen.number("marked", self.marks);
        seen.number("early", self.signals.wrapping_sub(self.marks));
        seen.number("pdrop", self.overflows);
        // Linux counted here the drops of `drop()` calls, which its qdiscs no longer have.
        seen.number("other", 0);
        seen.number("matched", self.matched);
    }
}

impl<P: Packet + Flow> Inner<P> for Choke<P, crate::random::Source> {}

/// Source of the rules in stories.
const SOURCE: &str = "tc-choke(8), ALGORITHM";

const KIND: Kind = Kind {
    name: "choke",
    summary: "RED that compares each arrival with a random queued packet and drops both if they share a flow",
    reference: "Pan, Prabhakar and Psounis 2000; tc-choke(8)",
    variants: &[
        Variant { name: "linux", doc: "Linux 6.1 and tc, bit for bit" },
        Variant { name: "infocom2000", doc: "the published algorithm, on RED of 1993" },
    ],
    children: Children::None,
    parameters: PARAMETERS,
};

/// Linux: a packet is drawn three times at most.
const DRAWS: u32 = 3;
/// Pan et al. 2000, as RED of 1993.
const WEIGHT: f64 = 0.002;

rules! {
    /// Rules of CHOKe.
    RULES;
    /// The average is not below the upper threshold.
    ABOVE_MAX: "choke.above_max" [];
    /// A packet of the same flow was drawn from the queue, or RED's draw hit the packet.
    MATCHED_OR_HIT: "choke.matched_or_hit" [];
    /// A packet of the same flow arrived and drew this one.
    DRAWN: "choke.drawn" [];
    /// The average is below the lower threshold.
    BELOW_MIN: "choke.below_min" [];
    /// A packet of another flow was drawn from the queue, and RED's draw missed the packet.
    MISSED: "choke.missed" [];
}

#[cfg(test)]
mod tests;
