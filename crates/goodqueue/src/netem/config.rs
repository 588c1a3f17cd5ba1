//! What `netem` is told.

use alloc::boxed::Box;

use super::{Apart, Chance, Distribution, Loss, NetemConfig, Overhead, Share, Slot};
use crate::config::{Children, ConfigError, Configure, Kind, Link, Parameter, Settings, Unit, Value};
use crate::nesting::{self, InnerConfig};
use crate::random::Source;
use crate::time::{Duration, Rate};
use crate::typed::{self, setters};

impl<C: InnerConfig> NetemConfig<C> {
    /// Packets held.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// The fixed delay.
    #[must_use]
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// Bunches, if they are asked for.
    pub(super) fn slot(
        settings: &Settings,
        time: impl Fn(&'static str) -> Result<Duration, ConfigError>,
    ) -> Result<Option<Box<Slot>>, ConfigError> {
        let bound = |name| -> Result<Option<u32>, ConfigError> {
            // As many as Linux counts.
            settings.small(name, 1, u64::from(i32::MAX.unsigned_abs()))
        };
        let (packets, bytes) = (bound("packets")?, bound("bytes")?);
        let apart = match (settings.time("slot"), settings.get("slot distribution")) {
            (Some(_), Some(_)) => {
                return Err(ConfigError::new("slot", "", "one of `slot` and `slot distribution`"));
            }
            (Some(least), None) => {
                let (least, most) = (time("slot")?, settings.time("slot.max").unwrap_or(least));
                if most < least {
                    let allowed = alloc::format!("{least} or more, the least time between bunches");
                    return Err(ConfigError::new("slot.max", alloc::format!("{most}"), allowed));
                }
                time("slot.max")?;
                Apart::Between(least, most)
            }
            (None, Some(_)) => Apart::Spread(
                Distribution::from_settings(settings, "slot distribution")?,
                time("slot distribution.delay")?,
                time("slot distribution.jitter")?,
            ),
            (None, None) => {
                return match (packets, bytes) {
                    (None, None) => Ok(None),
                    (Some(packets), _) => {
                        let given = alloc::format!("{packets}");
                        Err(ConfigError::new("packets", given, "nothing without `slot`"))
                    }
                    (None, Some(bytes)) => {
                        Err(ConfigError::new("bytes", alloc::format!("{bytes}"), "nothing without `slot`"))
                    }
                };
            }
        };
        Ok(Some(Box::new(Slot { apart, packets, bytes })))
    }

    /// How long a packet of `bytes` takes at the rate, with all that goes with it.
    pub(super) fn on_wire(&self, rate: Rate, bytes: u32) -> i64 {
        let Overhead { packet, cell, per_cell } = self.overhead;
        let mut len = bytes.saturating_add_signed(packet);
        if cell > 0 {
            len = len.div_ceil(cell).saturating_mul(cell.saturating_add_signed(per_cell));
        }
        // The kernel gets whole bytes per second.
        let nanos = u128::from(len) * 1_000_000_000 / u128::from((rate.as_bps() / 8).max(1));
        i64::try_from(nanos).unwrap_or(i64::MAX)
    }

    pub(super) fn source(&self, given: Source) -> Source {
        self.seed.map_or(given, Source::seeded)
    }
}

impl<C: InnerConfig> NetemConfig<C> {
    /// Sets the inner discipline.
    ///
    /// # Errors
    /// The inner discipline refuses its settings on this link.
    pub fn with_inner(&self, inner: &C) -> Result<Self, ConfigError> {
        typed::with_child(self, nesting::child(1, Settings::new(), inner))
    }
}

impl<C: InnerConfig> Configure for NetemConfig<C> {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let number = |name, default: u32| -> Result<u32, ConfigError> {
            Ok(settings.small(name, 1, u64::from(u32::MAX))?.unwrap_or(default))
        };
        let share = |name, default: f64| -> Result<Share, ConfigError> {
            let fraction = settings.probability(name).unwrap_or(default);
            if !(0.0..=1.0).contains(&fraction) {
                return Err(ConfigError::new(name, alloc::format!("{fraction}"), SHARE_RANGE));
            }
            Ok(Share::new(fraction))
        };
        let chance = |name, correlation| -> Result<Chance, ConfigError> {
            Ok(Chance { share: share(name, 0.0)?, correlation: share(correlation, 0.0)? })
        };
        let time = |name| -> Result<Duration, ConfigError> {
            let span = settings.time(name).unwrap_or_default();
            if span > MAX_DELAY {
                return Err(ConfigError::new(name, alloc::format!("{span}"), DELAY_RANGE));
            }
            Ok(span)
        };
        let (delay, jitter) = (time("delay")?, time("delay.jitter")?);
        let models = ["loss", "loss gemodel", "loss state"];
        if models.iter().filter(|name| settings.get(name).is_some()).count() > 1 {
            return Err(ConfigError::new("loss", "", "one of `loss`, `loss gemodel` and `loss state`"));
        }
        let loss = match (settings.probability("loss gemodel"), settings.probability("loss state")) {
            (None, None) => Loss::Random(chance("loss", "loss.correlation")?),
            (None, Some(p13)) => Loss::States([
                share("loss state", 0.0)?,
                share("loss state.p31", 1.0 - p13)?,
                share("loss state.p32", 0.0)?,
                share("loss state.p23", 1.0)?,
                share("loss state.p14", 0.0)?,
            ]),
            (Some(into), _) => Loss::GilbertElliott([
                share("loss gemodel", 0.0)?,
                share("loss gemodel.r", 1.0 - into)?,
                share("loss gemodel.1-h", 1.0)?,
                share("loss gemodel.1-k", 0.0)?,
            ]),
        };
        let reorder = chance("reorder", "reorder.correlation")?;
        if !reorder.share.is_zero() && delay.is_zero() && jitter.is_zero() {
            return Err(ConfigError::new(
                "reorder",
                alloc::format!("{}", reorder.share.fraction),
                "0 without `delay`",
            ));
        }
        let gap =
            if settings.get("gap").is_some() || !reorder.share.is_zero() { number("gap", 1)? } else { 0 };
        let rate = settings.rate("rate");
        if let Some(rate) = rate.filter(|rate| rate.as_bps() < 8) {
            return Err(ConfigError::new("rate", alloc::format!("{rate}"), "8bit or more"));
        }
        let bytes = |name| -> Result<i32, ConfigError> {
            Ok(settings.signed(name, -MAX_OVERHEAD, MAX_OVERHEAD)?.unwrap_or(0))
        };
        let cell = settings.small("rate.cellsize", 0, u64::from(MAX_OVERHEAD.unsigned_abs()))?;
        let overhead = Overhead {
            packet: bytes("rate.packetoverhead")?,
            cell: cell.unwrap_or(0),
            per_cell: bytes("rate.celloverhead")?,
        };
        // They say nothing without a rate.
        let overhead = if rate.is_some() { overhead } else { Overhead::default() };
        let slot = Self::slot(settings, time)?;
        let inner = match settings.children() {
            [] => None,
            [child] => nesting::qdisc_of(child, link)?.map(Box::new),
            _ => return Err(ConfigError::new("qdisc", "", "one inner discipline")),
        };
        let seed = match settings.get("seed") {
            Some(Value::Integer(seed)) => Some(seed),
            _ => None,
        };
        Ok(Self {
            limit: number("limit", DEFAULT_LIMIT)?,
            delay,
            jitter,
            delay_correlation: share("delay.correlation", 0.0)?,
            distribution: Distribution::from_settings(settings, "distribution")?,
            loss,
            duplicate: chance("duplicate", "duplicate.correlation")?,
            corrupt: chance("corrupt", "corrupt.correlation")?,
            reorder,
            gap,
            rate,
            overhead,
            slot,
            ecn: settings.flag("ecn").unwrap_or(false),
            seed,
            inner,
        })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = Settings::new()
            .with("limit", Value::Packets(u64::from(self.limit)))
            .with("delay", Value::Time(self.delay))
            .with("delay.jitter", Value::Time(self.jitter))
            .with("delay.correlation", Value::Probability(self.delay_correlation.fraction));
        if self.distribution != Distribution::Uniform {
            settings.set("distribution", self.distribution.to_value());
        }
        let mut set = |name, share: Share| settings.set(name, Value::Probability(share.fraction));
        match self.loss {
            Loss::Random(chance) => {
                set("loss", chance.share);
                set("loss.correlation", chance.correlation);
            }
            Loss::GilbertElliott([into, out, bad, good]) => {
                set("loss gemodel", into);
                set("loss gemodel.r", out);
                set("loss gemodel.1-h", bad);
                set("loss gemodel.1-k", good);
            }
            Loss::States([p13, p31, p32, p23, p14]) => {
                set("loss state", p13);
                set("loss state.p31", p31);
                set("loss state.p32", p32);
                set("loss state.p23", p23);
                set("loss state.p14", p14);
            }
        }
        set("duplicate", self.duplicate.share);
        set("duplicate.correlation", self.duplicate.correlation);
        set("corrupt", self.corrupt.share);
        set("corrupt.correlation", self.corrupt.correlation);
        set("reorder", self.reorder.share);
        set("reorder.correlation", self.reorder.correlation);
        if self.gap > 0 {
            settings.set("gap", Value::Packets(u64::from(self.gap)));
        }
        if let Some(rate) = self.rate {
            settings.set("rate", Value::Rate(rate));
            settings.set("rate.packetoverhead", Value::Signed(i64::from(self.overhead.packet)));
            settings.set("rate.cellsize", Value::Integer(u64::from(self.overhead.cell)));
            settings.set("rate.celloverhead", Value::Signed(i64::from(self.overhead.per_cell)));
        }
        if let Some(slot) = &self.slot {
            match &slot.apart {
                Apart::Between(least, most) => {
                    settings.set("slot", Value::Time(*least));
                    settings.set("slot.max", Value::Time(*most));
                }
                Apart::Spread(distribution, mean, jitter) => {
                    settings.set("slot distribution", distribution.to_value());
                    settings.set("slot distribution.delay", Value::Time(*mean));
                    settings.set("slot distribution.jitter", Value::Time(*jitter));
                }
            }
            if let Some(packets) = slot.packets {
                settings.set("packets", Value::Packets(u64::from(packets)));
            }
            if let Some(bytes) = slot.bytes {
                settings.set("bytes", Value::Bytes(u64::from(bytes)));
            }
        }
        settings.set("ecn", Value::Flag(self.ecn));
        if let Some(seed) = self.seed {
            settings.set("seed", Value::Integer(seed));
        }
        match &self.inner {
            Some(config) => settings.with_child(nesting::child(1, Settings::new(), config.as_ref())),
            None => settings,
        }
    }

    /// Linux sch_netem takes some anew whenever anything changes, and others with those that tc
    /// sends together.
    fn is_kept_by_change(parameter: &str, given: &Settings) -> bool {
        let own = sent_with(parameter);
        own != "always" && !given.iter().any(|(name, _)| sent_with(name) == own)
    }
}

setters! {
    [C: InnerConfig] NetemConfig<C>,
    /// Sets `limit`: packets held, those being delayed included; must exceed what is under way in
    /// one delay. Default: 1000p. Range: 1 to 4294967295.
    with_limit(packets);
    /// Sets `delay`: delay of every packet. Default: 0s. Range: 0 to 1000000s.
    with_delay(time);
    /// Sets `delay.jitter`: random delay more or less. Default: 0s. Range: 0 to 1000000s.
    with_delay_jitter(time) = "delay.jitter";
    /// Sets `delay.correlation`: how much each depends on the last one. Default: 0.
    with_delay_correlation(probability) = "delay.correlation";
    /// Sets `distribution`: how random delays are distributed; jitter is the standard deviation of
    /// all but uniform. Default: uniform. One of `uniform`, `normal`, `pareto`, `paretonormal`.
    with_distribution(choice);
    /// Sets `loss`: probability that a packet is lost. Default: 0.
    with_loss(probability);
    /// Sets `loss.correlation`: how much each depends on the last one. Default: 0.
    with_loss_correlation(probability) = "loss.correlation";
    /// Sets `loss gemodel`: losses in bursts: probability to enter the bad state. Default: none.
    with_loss_gemodel(probability) = "loss gemodel";
    /// Sets `loss gemodel.r`: probability to leave the bad state. Default: 1 - P.
    with_loss_gemodel_r(probability) = "loss gemodel.r";
    /// Sets `loss gemodel.1-h`: probability of a loss in the bad state. Default: 1.
    with_loss_gemodel_1_h(probability) = "loss gemodel.1-h";
    /// Sets `loss gemodel.1-k`: probability of a loss in the good state. Default: 0.
    with_loss_gemodel_1_k(probability) = "loss gemodel.1-k";
    /// Sets `loss state`: losses of a Markov chain with four states: from a gap to a loss in a
    /// burst. Default: none.
    with_loss_state(probability) = "loss state";
    /// Sets `loss state.p31`: from a loss in a burst to a gap. Default: 1 - P13.
    with_loss_state_p31(probability) = "loss state.p31";
    /// Sets `loss state.p32`: from a loss in a burst to what gets through it. Default: 0.
    with_loss_state_p32(probability) = "loss state.p32";
    /// Sets `loss state.p23`: from what gets through a burst to a loss. Default: 1.
    with_loss_state_p23(probability) = "loss state.p23";
    /// Sets `loss state.p14`: probability of a single loss in a gap. Default: 0.
    with_loss_state_p14(probability) = "loss state.p14";
    /// Sets `corrupt`: probability that a bit is flipped. Default: 0.
    with_corrupt(probability);
    /// Sets `corrupt.correlation`: how much each depends on the last one. Default: 0.
    with_corrupt_correlation(probability) = "corrupt.correlation";
    /// Sets `duplicate`: probability that a packet comes twice. Default: 0.
    with_duplicate(probability);
    /// Sets `duplicate.correlation`: how much each depends on the last one. Default: 0.
    with_duplicate_correlation(probability) = "duplicate.correlation";
    /// Sets `reorder`: probability that a packet is sent at once. Default: 0. Range: needs delay.
    with_reorder(probability);
    /// Sets `reorder.correlation`: how much each depends on the last one. Default: 0.
    with_reorder_correlation(probability) = "reorder.correlation";
    /// Sets `gap`: only one packet of so many may be sent at once. Default: 1 with reorder. Range:
    /// 1 to 4294967295.
    with_gap(packets);
    /// Sets `rate`: packets follow each other no closer than at this rate. Default: none. Range:
    /// 8bit or more.
    with_rate(rate);
    /// Sets `rate.packetoverhead`: bytes that each packet takes beside its own. Default: 0.
    with_rate_packetoverhead(signed) = "rate.packetoverhead";
    /// Sets `rate.cellsize`: bytes of a cell, of which the link sends whole ones. Default: 0.
    with_rate_cellsize(integer) = "rate.cellsize";
    /// Sets `rate.celloverhead`: bytes that each cell takes beside these. Default: 0.
    with_rate_celloverhead(signed) = "rate.celloverhead";
    /// Sets `slot`: least time between bunches of packets. Default: none.
    with_slot(time);
    /// Sets `slot.max`: most time between bunches. Default: the least.
    with_slot_max(time) = "slot.max";
    /// Sets `slot distribution`: distribution of the time between bunches. Default: none. One of
    /// `uniform`, `normal`, `pareto`, `paretonormal`.
    with_slot_distribution(choice) = "slot distribution";
    /// Sets `slot distribution.delay`: its mean. Default: 0s.
    with_slot_distribution_delay(time) = "slot distribution.delay";
    /// Sets `slot distribution.jitter`: its deviation. Default: 0s.
    with_slot_distribution_jitter(time) = "slot distribution.jitter";
    /// Sets `packets`: packets of a bunch, with `slot`. Default: no bound.
    with_packets(packets);
    /// Sets `bytes`: bytes of a bunch, with `slot`. Default: no bound.
    with_bytes(bytes);
    /// Sets `ecn`: mark CE where possible instead of losing. Default: off.
    with_ecn(flag);
    /// Sets `seed`: seed of this network's own random numbers. Default: the run's.
    with_seed(integer);
}

fn sent_with(parameter: &str) -> &str {
    match parameter {
        "delay.correlation" | "loss.correlation" | "duplicate.correlation" => "correlation",
        "limit" | "delay" | "delay.jitter" | "gap" => "always",
        "packets" | "bytes" => "slot",
        _ => match parameter.split(['.', ' ']).next().unwrap_or_default() {
            "loss" | "duplicate" | "reorder" => "always",
            first => first,
        },
    }
}

const fn follower(name: &'static str, unit: Unit, default: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, unit, default, source: "tc", range: "", doc }
}

const fn correlation(name: &'static str) -> Parameter {
    follower(name, Unit::Probability, "0", "how much each depends on the last one")
}

const KIND: Kind = Kind {
    name: "netem",
    summary: "An emulated network: delay, jitter, loss, duplicates, reordering, rate",
    reference: "Hemminger 2005; tc-netem(8)",
    variants: &[],
    children: Children::One,
    parameters: &[
        Parameter {
            name: "limit",
            unit: Unit::Packets,
            default: "1000p",
            source: "tc",
            range: "1 to 4294967295",
            doc: "packets held, those being delayed included; must exceed what is under way in one delay",
        },
        Parameter {
            name: "delay",
            unit: Unit::Time,
            default: "0s",
            source: "tc",
            range: DELAY_RANGE,
            doc: "delay of every packet",
        },
        Parameter {
            name: "delay.jitter",
            unit: Unit::Time,
            default: "0s",
            source: "tc",
            range: DELAY_RANGE,
            doc: "random delay more or less",
        },
        correlation("delay.correlation"),
        follower(
            "distribution",
            Unit::Table(DISTRIBUTIONS),
            "uniform",
            "how random delays are distributed; jitter is the standard deviation of all but uniform",
        ),
        follower("loss", Unit::Probability, "0", "probability that a packet is lost"),
        correlation("loss.correlation"),
        follower(
            "loss gemodel",
            Unit::Probability,
            "none",
            "losses in bursts: probability to enter the bad state",
        ),
        follower("loss gemodel.r", Unit::Probability, "1 - P", "probability to leave the bad state"),
        follower("loss gemodel.1-h", Unit::Probability, "1", "probability of a loss in the bad state"),
        follower("loss gemodel.1-k", Unit::Probability, "0", "probability of a loss in the good state"),
        follower(
            "loss state",
            Unit::Probability,
            "none",
            "losses of a Markov chain with four states: from a gap to a loss in a burst",
        ),
        follower("loss state.p31", Unit::Probability, "1 - P13", "from a loss in a burst to a gap"),
        follower("loss state.p32", Unit::Probability, "0", "from a loss in a burst to what gets through it"),
        follower("loss state.p23", Unit::Probability, "1", "from what gets through a burst to a loss"),
        follower("loss state.p14", Unit::Probability, "0", "probability of a single loss in a gap"),
        follower("corrupt", Unit::Probability, "0", "probability that a bit is flipped"),
        correlation("corrupt.correlation"),
        follower("duplicate", Unit::Probability, "0", "probability that a packet comes twice"),
        correlation("duplicate.correlation"),
        Parameter {
            name: "reorder",
            unit: Unit::Probability,
            default: "0",
            source: "tc",
            range: "needs delay",
            doc: "probability that a packet is sent at once",
        },
        correlation("reorder.correlation"),
        Parameter {
            name: "gap",
            unit: Unit::Packets,
            default: "1 with reorder",
            source: "tc",
            range: "1 to 4294967295",
            doc: "only one packet of so many may be sent at once",
        },
        Parameter {
            name: "rate",
            unit: Unit::Rate,
            default: "none",
            source: "tc",
            range: "8bit or more",
            doc: "packets follow each other no closer than at this rate",
        },
        follower("rate.packetoverhead", Unit::Signed, "0", "bytes that each packet takes beside its own"),
        follower("rate.cellsize", Unit::Integer, "0", "bytes of a cell, of which the link sends whole ones"),
        follower("rate.celloverhead", Unit::Signed, "0", "bytes that each cell takes beside these"),
        follower("slot", Unit::Time, "none", "least time between bunches of packets"),
        follower("slot.max", Unit::Time, "the least", "most time between bunches"),
        follower(
            "slot distribution",
            Unit::Table(DISTRIBUTIONS),
            "none",
            "distribution of the time between bunches",
        ),
        follower("slot distribution.delay", Unit::Time, "0s", "its mean"),
        follower("slot distribution.jitter", Unit::Time, "0s", "its deviation"),
        follower("packets", Unit::Packets, "no bound", "packets of a bunch, with `slot`"),
        follower("bytes", Unit::Bytes, "no bound", "bytes of a bunch, with `slot`"),
        Parameter {
            name: "ecn",
            unit: Unit::Flag { off: None },
            default: "off",
            source: "tc",
            range: "",
            doc: "mark CE where possible instead of losing",
        },
        Parameter {
            name: "seed",
            unit: Unit::Integer,
            default: "the run's",
            source: "tc",
            range: "",
            doc: "seed of this network's own random numbers",
        },
    ],
};

const DISTRIBUTIONS: &[&str] = &["uniform", "normal", "pareto", "paretonormal"];
const SHARE_RANGE: &str = "0 to 1";
const DELAY_RANGE: &str = "0 to 1000000s";
const MAX_DELAY: Duration = Duration::from_secs(1_000_000);
const DEFAULT_LIMIT: u32 = 1000;
const MAX_OVERHEAD: i32 = 65_535;
