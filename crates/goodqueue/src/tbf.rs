//! Token bucket filter: `tbf`.
//!
//! # What it does
//! Limits the packets of one inner discipline to `rate`. After a pause, `burst` bytes may leave at
//! once. `tbf` is the usual way to move a bottleneck to a place where its queue can be managed.
//!
//! # Reference
//! tc-tbf(8); behaviour of Linux 6.1 `net/sched/sch_tbf.c`.
//!
//! # State
//! The inner discipline; tokens, in nanoseconds at the rate, up to `burst`; the same at the peak
//! rate, up to `mtu`.
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | `rate` | long-term rate | rate | the link rate | ours; tc wants one | 8bit or more |
//! | `burst` | bytes that may leave at once; longer packets are dropped | bytes | the larger of the MTU and 1 ms at rate | ours, after tc-tbf(8); tc wants one | 1 to 4294967295 |
//! | `limit` | bytes that the inner bfifo holds | bytes | rate x latency + burst | tc | 1 to 4294967295 |
//! | `latency` | longest time in the inner bfifo, which sets its limit | time | 50ms | ours; tc wants this or limit | |
//! | `peakrate` | rate limit within a burst; needs mtu | rate | none | tc | more than `rate` |
//! | `mtu` | bytes that may leave at once at the peak rate | bytes | none | tc | 1 to 4294967295 |
//! | `overhead` | bytes that the link adds to each packet | bytes | 0 | tc | 0 to 65535 |
//! | `mpu` | smallest length of a packet on the link, overhead included | bytes | 0 | tc | 0 to 65535 |
//! | `linklayer` | framing of the link; `atm` and `adsl` send cells of 53 bytes that carry 48 | `ethernet`, `atm`, `adsl` | ethernet | tc | |
//!
//! Without an inner discipline, packets wait in a `bfifo` of `limit` bytes. An inner discipline is
//! written in brackets, and `limit` then has no effect: `tbf rate 10mbit burst 5000 [codel]`.
//! `limit` overrides `latency`.
//!
//! # Deviations
//! As in Linux, an arriving packet longer than `burst` (or `mtu`) is dropped. A queued packet that
//! is longer than a reduced `burst` or `mtu` is dropped at the head; Linux waits forever. A change
//! of the inner discipline drops the packets of the old one. In Linux a change of `limit` also
//! changes the limit of an inner FIFO, in the unit of that FIFO. Here tc commands do the same, and
//! [`Qdisc::reconfigure`] does not.
//!
//! # Cost
//! Constant, plus the cost of the inner discipline.
//!
//! # Example
//! ```
//! use goodqueue::{AnyConfig, Configure, Duration, Link, Rate, Settings, config::Value, tbf::TbfConfig};
//! let settings = Settings::new()
//!     .with("rate", Value::Rate(Rate::from_bps(8_000_000)))
//!     .with("burst", Value::Bytes(5000))
//!     .with("latency", Value::Time(Duration::from_millis(50)));
//! let config = TbfConfig::<AnyConfig>::from_settings(&settings, &Link::default()).unwrap();
//! assert_eq!(config.limit(), Some(55_000));
//! ```

use alloc::boxed::Box;

use crate::bucket::{ByteCost, Framing, LINKLAYER, MPU, OVERHEAD};
use crate::config::{Build, Children, ConfigError, Configure, Kind, Link, Settings, Value};
use crate::decision::{Evidence, Fate, Moment, Quantity, Question, Rule, rules};
use crate::gauge::{Observation, Observe};
use crate::leaf::Leaf;
use crate::nesting::{self, Inner, InnerConfig};
use crate::packet::{Flow, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::random::Source;
use crate::shown::{self, Printed, Show, Shown};
use crate::time::{Duration, Instant, Rate};
use crate::typed::{self, parameters};

/// A token bucket in front of a discipline.
#[derive(Clone, Debug)]
pub struct Tbf<P, Q: Qdisc<P>> {
    config: TbfConfig<Q::Config>,
    leaf: Leaf<P, Q>,
    bucket: Bucket,
    /// Latest time seen (contract rule 1).
    now: Instant,
    /// Packets that were not let in.
    refused: Stats,
    /// How often a packet had to wait for tokens when it was asked for.
    overlimits: u64,
}

/// Configuration of [`Tbf`].
#[derive(Clone, PartialEq, Debug)]
pub struct TbfConfig<C> {
    rate: Rate,
    burst: u32,
    peak: Option<Peak>,
    framing: Framing,
    costs: Costs,
    inner: Inside<C>,
}

/// The limit within a burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Peak {
    rate: Rate,
    /// Bytes that may leave at once at this rate.
    mtu: u32,
}

/// A [`Peak`] in the units of the bucket.
#[derive(Clone, Copy, PartialEq, Debug)]
struct PeakCost {
    rate: ByteCost,
    depth: i64,
}

#[derive(Clone, PartialEq, Debug)]
enum Inside<C> {
    /// A `bfifo` with this limit.
    Limit(u32),
    Given(Box<C>),
}

/// The configuration in the units of the bucket.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Costs {
    rate: ByteCost,
    depth: i64,
    peak: Option<PeakCost>,
    /// The longest packet that can ever be sent.
    longest: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bucket {
    tokens: i64,
    peak_tokens: i64,
    filled_at: Instant,
}

impl<C: InnerConfig> TbfConfig<C> {
    /// The rate.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Bytes that may leave at once.
    #[must_use]
    pub const fn burst(&self) -> u32 {
        self.burst
    }

    /// Bytes that the inner `bfifo` holds; `None` if there is another discipline.
    #[must_use]
    pub const fn limit(&self) -> Option<u32> {
        match self.inner {
            Inside::Limit(limit) => Some(limit),
            Inside::Given(_) => None,
        }
    }

    /// The inner discipline.
    fn leaf(&self) -> C {
        match &self.inner {
            Inside::Limit(limit) => C::of_bytes(*limit).unwrap_or_else(C::usual),
            Inside::Given(config) => config.as_ref().clone(),
        }
    }
}

impl<C: InnerConfig> TbfConfig<C> {
    /// Sets the inner discipline.
    ///
    /// # Errors
    /// The inner discipline refuses its settings on this link.
    pub fn with_inner(&self, inner: &C) -> Result<Self, ConfigError> {
        typed::with_child(self, nesting::child(1, Settings::new(), inner))
    }
}

impl<C: InnerConfig> Configure for TbfConfig<C> {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        // `ByteCost` needs a byte per second at least, and a link may have less.
        let of_link = if link.rate.as_bps() < 8 { FALLBACK } else { link.rate };
        let rate = RATE.read_or(settings, of_link)?;
        let cost = ByteCost::new(rate)
            .ok_or_else(|| ConfigError::new(RATE.name, alloc::format!("{rate}"), RATE.range_text()))?;
        let framing = Framing::from_settings(settings)?;
        let cost = cost.framed(framing);
        let of_a_millisecond = u32::try_from(rate.as_bps() / 8000).unwrap_or(u32::MAX);
        // A bucket smaller than a packet would let none pass.
        let burst = BURST.read_or(settings, of_a_millisecond.max(link.mtu).max(1))?;
        let peak = match (PEAKRATE.given::<Rate>(settings)?, MTU.given(settings)?) {
            (None, _) => None,
            (Some(peak), _) if peak <= rate => {
                return Err(ConfigError::new(PEAKRATE.name, alloc::format!("{peak}"), PEAKRATE.range_text()));
            }
            (Some(_), None) => {
                return Err(ConfigError::new(MTU.name, "", "a size, since `peakrate` is given"));
            }
            (Some(peak), Some(mtu)) => Some(Peak { rate: peak, mtu }),
        };
        let peak_cost = peak.and_then(|peak: Peak| {
            let peak_rate = ByteCost::new(peak.rate)?.framed(framing);
            Some(PeakCost { rate: peak_rate, depth: peak_rate.nanos(peak.mtu) })
        });
        let costs = Costs {
            rate: cost,
            // tc hands over bytes (`TCA_TBF_BURST`), and Linux converts them. A class of htb gets
            // tc's ticks.
            depth: cost.nanos(burst),
            peak: peak_cost,
            // A longer packet would never find enough tokens.
            longest: peak.map_or(burst, |peak| burst.min(peak.mtu)),
        };
        let inner = match settings.children() {
            [] => Inside::Limit(match LIMIT.given(settings)? {
                Some(limit) => limit,
                None => {
                    let latency = LATENCY.read(settings)?;
                    let at =
                        |pace: Rate, more: u32| pace.bytes_in(latency).saturating_add(u64::from(more)).max(1);
                    // As tc: the rate that limits the queue more decides.
                    let limit = at(rate, burst).min(peak.map_or(u64::MAX, |peak| at(peak.rate, peak.mtu)));
                    u32::try_from(limit).unwrap_or(u32::MAX)
                }
            }),
            [child] => match nesting::qdisc_of(child, link)? {
                Some(config) => Inside::Given(Box::new(config)),
                None => return Err(ConfigError::new("qdisc", "", "a discipline in brackets")),
            },
            _ => return Err(ConfigError::new("qdisc", "", "one inner discipline")),
        };
        Ok(Self { rate, burst, peak, framing, costs, inner })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = Settings::new().and(&RATE, self.rate).and(&BURST, self.burst);
        if let Some(peak) = self.peak {
            settings.put(&PEAKRATE, peak.rate);
            settings.put(&MTU, peak.mtu);
        }
        self.framing.add_to_settings(&mut settings);
        match &self.inner {
            Inside::Limit(limit) => settings.and(&LIMIT, *limit),
            Inside::Given(config) => settings.with_child(nesting::child(1, Settings::new(), config.as_ref())),
        }
    }

    /// Linux passes the limit of `tbf` on to an inner FIFO, as bytes or as packets.
    fn handed_down(inner: &str, changed: &Settings) -> Option<(&'static str, Value)> {
        let limit = Self::from_settings(changed, &Link::default()).ok()?.limit()?;
        match inner {
            "bfifo" => Some((LIMIT.name, Value::Bytes(u64::from(limit)))),
            "pfifo" | "pfifo_head_drop" => Some((LIMIT.name, Value::Packets(u64::from(limit)))),
            _ => None,
        }
    }

    /// The limit follows from a latency.
    fn stays_beside(parameter: &str, given: &Settings) -> bool {
        parameter != LIMIT.name || given.time(LATENCY.name).is_none()
    }
}

impl<C: InnerConfig> Show for TbfConfig<C> {
    const SHOWN: &'static [Shown] = &[
        Shown::Setting(RATE.name),
        Shown::Setting(BURST.name),
        Shown::Setting(PEAKRATE.name),
        Shown::Setting(MTU.name),
        Shown::Computed("lat", limit_as_time),
    ];
}

/// Returns the limit as tc prints it: the time that it takes at the rate, in microseconds.
fn limit_as_time(settings: &Settings) -> Option<Printed> {
    settings.get(LIMIT.name)?;
    let number = |name| shown::number(settings, name);
    let rate = u128::from(number(RATE.name).max(1));
    let time = |bytes: u64| u128::from(bytes) * 1_000_000 / rate;
    let latency = time(number(LIMIT.name)).saturating_sub(time(number(BURST.name)));
    Some(Value::Integer(u64::try_from(latency).unwrap_or(u64::MAX)).into())
}

parameters! {
    PARAMETERS of [C: InnerConfig] TbfConfig<C>;
    /// long-term rate
    RATE: rate "rate", with_rate {
        derived: "the link rate",
        range: Rate::from_bps(8)..=Rate::MAX,
        source: "ours; tc wants one",
    };
    /// bytes that may leave at once; longer packets are dropped
    BURST: bytes "burst", with_burst {
        derived: "the larger of the MTU and 1 ms at rate",
        range: 1..=4_294_967_295,
        source: "ours, after tc-tbf(8); tc wants one",
    };
    /// bytes that the inner bfifo holds
    LIMIT: bytes "limit", with_limit {
        derived: "rate x latency + burst",
        range: 1..=4_294_967_295,
        source: "tc",
    };
    /// longest time in the inner bfifo, which sets its limit
    LATENCY: time "latency", with_latency {
        default: Duration::from_millis(50),
        source: "ours; tc wants this or limit",
    };
    /// rate limit within a burst; needs mtu
    PEAKRATE: rate "peakrate", with_peakrate {
        derived: "none",
        range_in_words: "more than `rate`",
        source: "tc",
    };
    /// bytes that may leave at once at the peak rate
    MTU: bytes "mtu", with_mtu { derived: "none", range: 1..=4_294_967_295, source: "tc" };
    OVERHEAD: bytes, with_overhead;
    MPU: bytes, with_mpu;
    LINKLAYER: choice, with_linklayer;
}

impl Costs {
    fn full(&self, now: Instant) -> Bucket {
        let peak_tokens = self.peak.map_or(0, |peak| peak.depth);
        Bucket { tokens: self.depth, peak_tokens, filled_at: now }
    }

    /// Returns the buckets after a packet of `len` bytes at `now`; negative while tokens are
    /// missing.
    fn after(&self, bucket: &Bucket, len: u32, now: Instant) -> Bucket {
        let elapsed = i64::try_from(now.since(bucket.filled_at).as_nanos()).unwrap_or(i64::MAX);
        // Linux `tbf_dequeue()` bounds the time for both buckets by the depth of the first.
        let elapsed = elapsed.min(self.depth);
        let tokens = elapsed.saturating_add(bucket.tokens).min(self.depth);
        let peak_tokens = self.peak.map_or(0, |peak| {
            elapsed.saturating_add(bucket.peak_tokens).min(peak.depth).saturating_sub(peak.rate.nanos(len))
        });
        let tokens = tokens.saturating_sub(self.rate.nanos(len));
        Bucket { tokens, peak_tokens, filled_at: now }
    }
}

impl Bucket {
    /// How long the packet must wait; `None` if it may go.
    fn debt(&self) -> Option<Duration> {
        // Without a peak rate its tokens stay 0, so they are no debt.
        let worst = self.tokens.min(self.peak_tokens);
        (worst < 0).then(|| Duration::from_nanos(worst.unsigned_abs()))
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Tbf<P, Q> {
    /// Full buckets and nothing queued.
    #[must_use]
    pub fn new(config: TbfConfig<Q::Config>, salt: u32, mut random: Source) -> Self {
        let leaf = Leaf::new(config.leaf(), 0, salt, &mut random);
        let bucket = config.costs.full(Instant::ZERO);
        Self { config, leaf, bucket, now: Instant::ZERO, refused: Stats::default(), overlimits: 0 }
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Build<P, Source> for Tbf<P, Q> {
    fn build(config: TbfConfig<Q::Config>, salt: u32, random: Source) -> Self {
        Self::new(config, salt, random)
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Qdisc<P> for Tbf<P, Q> {
    type Config = TbfConfig<Q::Config>;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        let bytes = packet.len();
        if bytes > self.config.costs.longest {
            self.refused.offered.add(bytes);
            self.refused.dropped_before.add(bytes);
            drops.dropped(packet, DropReason::Oversize);
            return;
        }
        self.leaf.enqueue(self.now, packet, drops);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        loop {
            let len = self.leaf.peek_len(self.now, drops)?;
            // A packet queued before a smaller burst was set would wait for tokens forever.
            if len > self.config.costs.longest {
                self.leaf.drop_next(self.now, DropReason::Oversize, drops);
                continue;
            }
            let after = self.config.costs.after(&self.bucket, len, self.now);
            if after.debt().is_some() {
                self.overlimits = self.overlimits.wrapping_add(1);
                return None;
            }
            let packet = self.leaf.dequeue(self.now, drops)?;
            // As in Linux, an attempt that fails keeps the old bucket, so its time is counted by
            // the next one.
            self.bucket = after;
            return Some(packet);
        }
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        let now = self.now.max(now);
        match self.leaf.known_len() {
            Some(len) => self.config.costs.after(&self.bucket, len, now).debt().map(|debt| now + debt),
            None => self.leaf.next_event(now),
        }
    }

    fn len(&self) -> usize {
        self.leaf.len()
    }

    fn backlog(&self) -> u64 {
        self.leaf.backlog()
    }

    fn stats(&self) -> Stats {
        let mut stats = self.leaf.stats();
        stats = stats.plus(&self.refused);
        stats
    }

    /// As in Linux, a change fills the buckets.
    fn reconfigure(&mut self, now: Instant, config: TbfConfig<Q::Config>, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        // A change to the configuration in force must change nothing (`Qdisc::config`).
        if config == self.config {
            return;
        }
        // A change of the inner discipline is not a change of tbf.
        let own = |of: &TbfConfig<Q::Config>| (of.rate, of.burst, of.peak, of.framing, of.limit());
        if own(&config) != own(&self.config) {
            self.bucket = config.costs.full(self.now);
        }
        self.leaf.reconfigure(self.now, config.leaf(), drops);
        self.config = config;
    }

    fn config(&self) -> TbfConfig<Q::Config> {
        self.config.clone()
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.now = self.now.max(now);
        self.leaf.purge(self.now, drops);
        // As Linux `tbf_reset()`.
        self.bucket = self.config.costs.full(self.now);
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Lookahead<P> for Tbf<P, Q> {
    const RULES: &'static [&'static [Rule]] = &[RULES];

    fn other_flow(&self, packet: &P) -> Option<&P> {
        self.leaf.other_flow(packet)
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(KIND.name);
        let about = &question.about;
        let TbfConfig { rate, burst, costs, .. } = &self.config;
        let len = question.packet.len();
        let now = self.now.max(about.now);
        let after = costs.after(&self.bucket, len, now);
        let tokens = after.tokens.saturating_add(costs.rate.nanos(len));
        evidence.given("rate", Quantity::Rate(*rate), "long-term rate");
        evidence.given("burst", Quantity::Bytes(u64::from(*burst)), "bytes that may leave at once");
        evidence.fact("tokens", Quantity::Difference(tokens as f64 / 1e9), "tokens, as time at the rate");
        evidence.given(
            "needed",
            Quantity::Span(Duration::from_nanos(costs.rate.nanos(len).unsigned_abs())),
            "tokens for this packet",
        );
        if about.fate == Fate::Dropped(DropReason::Oversize) {
            let longest = Quantity::Bytes(u64::from(costs.longest));
            let numbers = [("bytes", Quantity::Bytes(u64::from(len))), ("longest", longest)];
            evidence.rule(OVERSIZE, KIND.reference, &numbers);
        } else if about.moment == Moment::Departure && !matches!(about.fate, Fate::Dropped(_)) {
            evidence.rule(TOKENS, KIND.reference, &[]);
        }
        evidence.with_inner(Some(self.leaf.evidence(question)))
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Observe for Tbf<P, Q> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        seen.overlimits = self.overlimits;
        seen.children.push((1, self.leaf.observe(now)));
    }
}

impl<P: Packet + Flow, Q: Inner<P>> Inner<P> for Tbf<P, Q> {}

const KIND: Kind = Kind {
    name: "tbf",
    summary: "Token bucket: limits the rate, with a burst, in front of one inner discipline",
    reference: "tc-tbf(8)",
    variants: &[],
    children: Children::One,
    parameters: PARAMETERS,
};

/// When the link has no rate of its own to take.
const FALLBACK: Rate = Rate::from_bps(10_000_000);

rules! {
    /// Rules of the bucket.
    RULES;
    /// The packet is longer than the bucket.
    OVERSIZE: "tbf.oversize" ["bytes", "longest"];
    /// The bucket held enough tokens.
    TOKENS: "tbf.tokens" [];
}
