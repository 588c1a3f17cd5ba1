//! BLUE: drops with a probability that follows losses and idle time, not the queue length.
//!
//! # What it does
//! One drop probability holds for all arriving packets. When the buffer overflows, or holds more
//! than `threshold` packets, the probability grows by `increment`. When the link finds nothing to
//! send, the probability shrinks by `decrement`. After each change it stays constant for
//! `freeze_time`. The probability settles where the queue neither overflows nor runs empty.
//!
//! # Reference
//! W. Feng, K. Shin, D. Kandlur and D. Saha, "The BLUE Active Queue Management Algorithms",
//! IEEE/ACM Transactions on Networking 10(4), 2002; the same, CSE-TR-387-99, 1999.
//!
//! # State
//! ```text
//! p, last_update
//! loss, or more than `threshold` queued:  now - last_update > freeze_time:  p += increment, last_update = now
//! queue empty when the link asks:         now - last_update > freeze_time:  p -= decrement, last_update = now
//! arrival: dropped or marked with probability p
//! ```
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `limit` | packets that the queue holds | packets | 1000p | as the other queues | 1 to 4294967295 |
//! | `freeze_time` | shortest time between two changes of the probability | time | 100ms | Feng et al. 2002: 10 to 500 ms | any |
//! | `increment` | increase of the probability at an overflow (d1) | fraction, 0 to 1 | 0.02 | Feng et al. 2002 | 0 to 1 |
//! | `decrement` | decrease of the probability when the link is idle (d2) | fraction, 0 to 1 | 0.002 | Feng et al. 2002 | 0 to 1 |
//! | `threshold` | queue length above which the probability also rises, to keep room for bursts | packets | off | Feng et al. 2002: L | 1 to 4294967295 |
//! | `ecn` | mark ECN-capable packets instead of dropping them | flag | noecn | as the other queues | |
//!
//! # Deviations
//! The first event may change the probability at once. The queue counts as idle when a `dequeue`
//! leaves it empty or finds it empty. An idle period of any length is one such event until the next
//! `dequeue`. A packet that arrives with CE is not counted as marked.
//!
//! # Cost
//! Constant per packet; one draw per arrival; at most one drop per call.
//!
//! # Example
//! ```
//! use goodqueue::{Configure, Link, Settings, blue::BlueConfig};
//! let config = BlueConfig::from_settings(&Settings::new(), &Link::default()).unwrap();
//! println!("{:?}", config.to_settings());
//! assert_eq!(config.freeze_time().to_string(), "100ms");
//! ```

use crate::config::{Build, Children, ConfigError, Configure, Kind, Link, Settings};
use crate::decision::{Evidence, Fate, Limit, Moment, Quantity, Question, Rule, rules};
use crate::gauge::{Observation, Observe};
use crate::nesting::Inner;
use crate::packet::{Ecn, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::Fifo;
use crate::random::Random;
use crate::shown::Show;
use crate::time::{Duration, Instant};
use crate::typed::parameters;

/// A queue under BLUE.
#[derive(Clone, Debug)]
pub struct Blue<P, R> {
    config: BlueConfig,
    random: R,
    queue: Fifo<P>,
    probability: f64,
    last_update: Option<Instant>,
    /// Latest time seen (contract rule 1).
    now: Instant,
    /// Counters except those that the queue keeps.
    stats: Stats,
}

/// Configuration of [`Blue`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BlueConfig {
    limit: u32,
    freeze_time: Duration,
    increment: f64,
    decrement: f64,
    threshold: Option<u32>,
    ecn: bool,
}

impl BlueConfig {
    /// Packets that the queue holds.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// Time for which the probability stands still after a change.
    #[must_use]
    pub const fn freeze_time(&self) -> Duration {
        self.freeze_time
    }
}

impl Configure for BlueConfig {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, _link: &Link) -> Result<Self, ConfigError> {
        Ok(Self {
            limit: LIMIT.read(settings)?,
            freeze_time: FREEZE_TIME.read(settings)?,
            increment: INCREMENT.read(settings)?,
            decrement: DECREMENT.read(settings)?,
            threshold: THRESHOLD.given(settings)?,
            ecn: ECN.read(settings)?,
        })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = Settings::new()
            .and(&LIMIT, self.limit)
            .and(&FREEZE_TIME, self.freeze_time)
            .and(&INCREMENT, self.increment)
            .and(&DECREMENT, self.decrement)
            .and(&ECN, self.ecn);
        if let Some(threshold) = self.threshold {
            settings.put(&THRESHOLD, threshold);
        }
        settings
    }
}

impl Show for BlueConfig {}

parameters! {
    PARAMETERS of [] BlueConfig;
    /// packets that the queue holds
    LIMIT: packets "limit", with_limit {
        default: 1000,
        range: 1..=4_294_967_295,
        source: "as the other queues",
    };
    /// shortest time between two changes of the probability
    FREEZE_TIME: time "freeze_time", with_freeze_time {
        default: Duration::from_millis(100),
        range: Duration::ZERO..=Duration::MAX,
        source: "Feng et al. 2002: 10 to 500 ms",
    };
    /// increase of the probability at an overflow (d1)
    INCREMENT: probability "increment", with_increment {
        default: 0.02,
        range: 0.0..=1.0,
        source: "Feng et al. 2002",
    };
    /// decrease of the probability when the link is idle (d2)
    DECREMENT: probability "decrement", with_decrement {
        default: 0.002,
        range: 0.0..=1.0,
        source: "Feng et al. 2002",
    };
    /// queue length above which the probability also rises, to keep room for bursts
    THRESHOLD: packets "threshold", with_threshold {
        derived: "off",
        range: 1..=4_294_967_295,
        source: "Feng et al. 2002: L",
    };
    /// mark ECN-capable packets instead of dropping them
    ECN: flag "ecn", with_ecn { default: false, off: "noecn", source: "as the other queues" };
}

impl<P: Packet, R: Random> Blue<P, R> {
    /// An empty queue that draws from `random`.
    #[must_use]
    pub fn new(config: BlueConfig, random: R) -> Self {
        Self {
            config,
            random,
            queue: Fifo::default(),
            probability: 0.0,
            last_update: None,
            now: Instant::ZERO,
            stats: Stats::default(),
        }
    }

    /// The probability with which arrivals are dropped or marked.
    #[must_use]
    pub const fn probability(&self) -> f64 {
        self.probability
    }

    /// Moves the probability, unless it is frozen.
    fn change(&mut self, by: f64) {
        // Feng et al. 2002 move the probability when more than `freeze_time` has passed, not when
        // it has just passed.
        let frozen = |last: Instant| self.now.since(last) <= self.config.freeze_time;
        if !self.last_update.is_some_and(frozen) {
            self.probability = (self.probability + by).clamp(0.0, 1.0);
            self.last_update = Some(self.now);
        }
    }

    fn drop_oldest(&mut self, why: DropReason, drops: &mut impl Drops<P>) -> bool {
        let Some(oldest) = self.queue.pop_front() else { return false };
        self.stats.dropped_after.add(oldest.packet.len());
        drops.dropped(oldest.packet, why);
        true
    }
}

impl<P: Packet, R: Random> Build<P, R> for Blue<P, R> {
    fn build(config: BlueConfig, _salt: u32, random: R) -> Self {
        Self::new(config, random)
    }
}

impl<P: Packet, R: Random> Qdisc<P> for Blue<P, R> {
    type Config = BlueConfig;

    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        let bytes = packet.len();
        let full = self.queue.len() >= self.config.limit as usize;
        let long = self.config.threshold.is_some_and(|threshold| self.queue.len() > threshold as usize);
        if full || long {
            self.change(self.config.increment);
        }
        let why = if full {
            DropReason::Overlimit
        } else {
            let signals = f64::from(self.random.next_u32()) / 4_294_967_296.0 < self.probability;
            let already = packet.ecn() == Ecn::Ce;
            if !signals || (self.config.ecn && packet.set_ce()) {
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
        let packet = self.queue.pop_front().map(|queued| queued.packet);
        if self.queue.is_empty() {
            // A queue without packets stands for an idle link (Feng et al. 2002).
            self.change(-self.config.decrement);
        }
        packet
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

    fn reconfigure(&mut self, now: Instant, config: BlueConfig, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        self.config = config;
        while self.queue.len() > config.limit as usize {
            let Some(youngest) = self.queue.pop_back() else { break };
            self.stats.dropped_after.add(youngest.packet.len());
            drops.dropped(youngest.packet, DropReason::Overlimit);
        }
    }

    fn config(&self) -> BlueConfig {
        self.config
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        while self.drop_oldest(DropReason::Purged, drops) {}
        self.probability = 0.0;
        self.last_update = None;
    }
}

impl<P: Packet, R: Random> Lookahead<P> for Blue<P, R> {
    const RULES: &'static [&'static [Rule]] = &[RULES];

    fn next_len(&self) -> Option<u32> {
        self.queue.front().map(|queued| queued.packet.len())
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(KIND.name);
        let about = &question.about;
        let probability = Quantity::Fraction(self.probability);
        evidence.fact("probability", probability, "drop probability");
        evidence.fact("queued", Quantity::Packets(self.queue.len() as u64), "packets in the queue");
        if about.moment == Moment::Arrival && (about.is_signal() || about.fate == Fate::Sent) {
            let rule = if about.is_signal() { HIT } else { MISSED };
            evidence.rule(rule, KIND.reference, &[]);
        }
        let limit = Limit {
            held: Quantity::Packets(self.queue.len() as u64),
            allowed: Quantity::Packets(u64::from(self.config.limit)),
            rule: FULL,
            source: KIND.reference,
        };
        evidence.limit(about, DropReason::Overlimit, &limit);
        evidence
    }
}

impl<P: Packet, R: Random> Observe for Blue<P, R> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        seen.fraction("prob", self.probability);
        seen.number("marked", self.stats.marked.packets);
    }
}

impl<P: Packet> Inner<P> for Blue<P, crate::random::Source> {}

const KIND: Kind = Kind {
    name: "blue",
    summary: "Drops arrivals with a probability that overflows raise and idle time lowers",
    reference: "Feng, Shin, Kandlur and Saha 2002",
    variants: &[],
    children: Children::None,
    parameters: PARAMETERS,
};

rules! {
    /// Rules of BLUE.
    RULES;
    /// The draw hit the packet.
    HIT: "blue.hit" ["probability"];
    /// The draw missed the packet.
    MISSED: "blue.missed" ["probability"];
    /// A full queue drops the packet that arrives, and raises the probability.
    FULL: "blue.full" ["held", "allowed"];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Value;
    use crate::packet::story::Datagram;
    use crate::random::Xoshiro256PlusPlus;

    fn blue(settings: &Settings) -> Blue<Datagram, Xoshiro256PlusPlus> {
        Blue::new(BlueConfig::from_settings(settings, &Link::default()).unwrap(), Xoshiro256PlusPlus::new(1))
    }

    fn one_packet() -> Settings {
        Settings::new().with("limit", Value::Packets(1))
    }

    const fn micros(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000)
    }

    #[test]
    fn overflows_raise_the_probability_once_per_freeze_time() {
        // One every 50 ms and a bit: every second one counts. At 50 ms sharp it is every third: 100
        // ms are still frozen.
        for (period, rises) in [(50_001, 10), (50_000, 7)] {
            let mut queue = blue(&one_packet());
            queue.enqueue(micros(0), Datagram::new(1000, Ecn::NotEct), &mut |_: Datagram, _: DropReason| {});
            for n in 1..=20 {
                queue.enqueue(
                    micros(n * period),
                    Datagram::new(1000, Ecn::NotEct),
                    &mut |_: Datagram, _: DropReason| {},
                );
            }
            assert!((queue.probability() - 0.02 * f64::from(rises)).abs() < 1e-9, "{}", queue.probability());
        }
    }

    #[test]
    fn only_an_idle_link_lowers_it() {
        let mut queue = blue(&Settings::new());
        queue.probability = 0.05;
        let mut ignore = |_: Datagram, _: DropReason| {};
        for n in 0..100 {
            queue.enqueue(micros(n * 200_000), Datagram::new(1000, Ecn::NotEct), &mut ignore);
            queue.enqueue(micros(n * 200_000), Datagram::new(1000, Ecn::NotEct), &mut ignore);
            queue.dequeue(micros(n * 200_000), &mut ignore);
        }
        let before = queue.probability();
        while queue.dequeue(micros(30_000_000), &mut ignore).is_some() {}
        assert!((before - 0.05).abs() < 1e-9 && (queue.probability() - 0.048).abs() < 1e-9);
        for n in 0..100 {
            queue.dequeue(micros(40_000_000 + n * 200_000), &mut ignore);
        }
        assert!(queue.probability() <= 0.0, "it stops at nothing");
    }

    #[test]
    fn a_threshold_raises_it_before_the_buffer_is_full() {
        let mut queue = blue(&Settings::new().with("threshold", Value::Packets(5)));
        for n in 0..7 {
            let mut ignore = |_: Datagram, _: DropReason| {};
            queue.enqueue(micros(n * 200_000), Datagram::new(1000, Ecn::NotEct), &mut ignore);
            // The seventh arrival is the first that finds more than five packets.
            assert!((queue.probability() > 0.0) == (n == 6), "{n}");
        }
    }

    #[test]
    fn it_finds_the_probability_that_fits_the_load() {
        // Twice as much comes as can leave: half must go, with a queue that is rarely full.
        let settings = Settings::new()
            .with("limit", Value::Packets(200))
            .with("freeze_time", Value::Time(Duration::from_millis(10)))
            .with("ecn", Value::Flag(true));
        let mut queue = blue(&settings);
        let mut overlimit = 0;
        let mut congested = 0;
        for n in 0..400_000_u64 {
            let mut count = |_: Datagram, why: DropReason| match why {
                DropReason::Overlimit => overlimit += u32::from(n > 200_000),
                _ => congested += u32::from(n > 200_000),
            };
            queue.enqueue(micros(n * 500), Datagram::new(1000, Ecn::NotEct), &mut count);
            if n % 2 == 0 {
                queue.dequeue(micros(n * 500), &mut count);
            }
        }
        assert!((0.45..0.55).contains(&queue.probability()), "{}", queue.probability());
        // Half of the 200,000 arrivals that count is 100,000.
        assert!(congested > 90_000 && overlimit < 5_000, "{congested} {overlimit}");
        assert_eq!(queue.stats().marked.packets, 0, "nobody was capable");
    }
}
