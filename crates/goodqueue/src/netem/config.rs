//! The parameters of `netem`.

use alloc::boxed::Box;

use super::chance::{Chance, Share};
use super::distribution::Distribution;
use super::{Apart, Loss, NetemConfig, Overhead, Slot};
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
        let (packets, bytes) = (bound(PACKETS.name)?, bound(BYTES.name)?);
        let apart = match (settings.time(SLOT.name), settings.get(SLOT_DISTRIBUTION.name)) {
            (Some(_), Some(_)) => {
                return Err(ConfigError::new(SLOT.name, "", "one of `slot` and `slot distribution`"));
            }
            (Some(least), None) => {
                let (least, most) = (time(SLOT.name)?, settings.time(SLOT_MAX.name).unwrap_or(least));
                if most < least {
                    let allowed = alloc::format!("{least} or more, the least time between bunches");
                    return Err(ConfigError::new(SLOT_MAX.name, alloc::format!("{most}"), allowed));
                }
                time(SLOT_MAX.name)?;
                Apart::Between(least, most)
            }
            (None, Some(_)) => Apart::Spread(
                Distribution::from_settings(settings, SLOT_DISTRIBUTION.name)?,
                time(SLOT_DISTRIBUTION_DELAY.name)?,
                time(SLOT_DISTRIBUTION_JITTER.name)?,
            ),
            (None, None) => {
                return match (packets, bytes) {
                    (None, None) => Ok(None),
                    (Some(packets), _) => {
                        let given = alloc::format!("{packets}");
                        Err(ConfigError::new(PACKETS.name, given, "nothing without `slot`"))
                    }
                    (None, Some(bytes)) => {
                        Err(ConfigError::new(BYTES.name, alloc::format!("{bytes}"), "nothing without `slot`"))
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

/// Reads a share of packets.
fn share(settings: &Settings, name: &'static str, default: f64) -> Result<Share, ConfigError> {
    let fraction = settings.probability(name).unwrap_or(default);
    if !(0.0..=1.0).contains(&fraction) {
        return Err(ConfigError::new(name, alloc::format!("{fraction}"), SHARE_RANGE));
    }
    Ok(Share::new(fraction))
}

/// Reads a share of packets and its correlation.
fn chance(settings: &Settings, name: &'static str, correlation: &'static str) -> Result<Chance, ConfigError> {
    Ok(Chance { share: share(settings, name, 0.0)?, correlation: share(settings, correlation, 0.0)? })
}

/// Reads one of the three models of loss.
fn loss(settings: &Settings) -> Result<Loss, ConfigError> {
    let models = [LOSS.name, LOSS_GEMODEL.name, LOSS_STATE.name];
    if models.iter().filter(|name| settings.get(name).is_some()).count() > 1 {
        return Err(ConfigError::new(LOSS.name, "", "one of `loss`, `loss gemodel` and `loss state`"));
    }
    let share = |name, default| share(settings, name, default);
    Ok(match (settings.probability(LOSS_GEMODEL.name), settings.probability(LOSS_STATE.name)) {
        (None, None) => Loss::Random(chance(settings, LOSS.name, LOSS_CORRELATION.name)?),
        (None, Some(p13)) => Loss::States([
            share(LOSS_STATE.name, 0.0)?,
            share(LOSS_STATE_P31.name, 1.0 - p13)?,
            share(LOSS_STATE_P32.name, 0.0)?,
            share(LOSS_STATE_P23.name, 1.0)?,
            share(LOSS_STATE_P14.name, 0.0)?,
        ]),
        (Some(into), _) => Loss::GilbertElliott([
            share(LOSS_GEMODEL.name, 0.0)?,
            share(LOSS_GEMODEL_R.name, 1.0 - into)?,
            share(LOSS_GEMODEL_1_H.name, 1.0)?,
            share(LOSS_GEMODEL_1_K.name, 0.0)?,
        ]),
    })
}

/// Reads the rate and the overhead of each packet, which is 0 without a rate.
fn rate_and_overhead(settings: &Settings) -> Result<(Option<Rate>, Overhead), ConfigError> {
    let rate = settings.rate(RATE.name);
    if let Some(rate) = rate.filter(|rate| rate.as_bps() < 8) {
        return Err(ConfigError::new(RATE.name, alloc::format!("{rate}"), "8bit or more"));
    }
    let bytes = |name| -> Result<i32, ConfigError> {
        Ok(settings.signed(name, -MAX_OVERHEAD, MAX_OVERHEAD)?.unwrap_or(0))
    };
    let cell = settings.small(RATE_CELLSIZE.name, 0, u64::from(MAX_OVERHEAD.unsigned_abs()))?;
    let overhead = Overhead {
        packet: bytes(RATE_PACKETOVERHEAD.name)?,
        cell: cell.unwrap_or(0),
        per_cell: bytes(RATE_CELLOVERHEAD.name)?,
    };
    Ok((rate, if rate.is_some() { overhead } else { Overhead::default() }))
}

impl<C: InnerConfig> Configure for NetemConfig<C> {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let number = |name, default: u32| -> Result<u32, ConfigError> {
            Ok(settings.small(name, 1, u64::from(u32::MAX))?.unwrap_or(default))
        };
        let time = |name| -> Result<Duration, ConfigError> {
            let span = settings.time(name).unwrap_or_default();
            if span > MAX_DELAY {
                return Err(ConfigError::new(name, alloc::format!("{span}"), DELAY_RANGE));
            }
            Ok(span)
        };
        let (delay, jitter) = (time(DELAY.name)?, time(DELAY_JITTER.name)?);
        let reorder = chance(settings, REORDER.name, REORDER_CORRELATION.name)?;
        if !reorder.share.is_zero() && delay.is_zero() && jitter.is_zero() {
            return Err(ConfigError::new(
                REORDER.name,
                alloc::format!("{}", reorder.share.fraction),
                "0 without `delay`",
            ));
        }
        let gap = if settings.get(GAP.name).is_some() || !reorder.share.is_zero() {
            number(GAP.name, 1)?
        } else {
            0
        };
        let (rate, overhead) = rate_and_overhead(settings)?;
        let slot = Self::slot(settings, time)?;
        let inner = match settings.children() {
            [] => None,
            [child] => nesting::qdisc_of(child, link)?.map(Box::new),
            _ => return Err(ConfigError::new("qdisc", "", "one inner discipline")),
        };
        let seed = match settings.get(SEED.name) {
            Some(Value::Integer(seed)) => Some(seed),
            _ => None,
        };
        Ok(Self {
            limit: number(LIMIT.name, DEFAULT_LIMIT)?,
            delay,
            jitter,
            delay_correlation: share(settings, DELAY_CORRELATION.name, 0.0)?,
            distribution: Distribution::from_settings(settings, DISTRIBUTION.name)?,
            loss: loss(settings)?,
            duplicate: chance(settings, DUPLICATE.name, DUPLICATE_CORRELATION.name)?,
            corrupt: chance(settings, CORRUPT.name, CORRUPT_CORRELATION.name)?,
            reorder,
            gap,
            rate,
            overhead,
            slot,
            ecn: settings.flag(ECN.name).unwrap_or(false),
            seed,
            inner,
        })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = Settings::new()
            .with(LIMIT.name, Value::Packets(u64::from(self.limit)))
            .with(DELAY.name, Value::Time(self.delay))
            .with(DELAY_JITTER.name, Value::Time(self.jitter))
            .with(DELAY_CORRELATION.name, Value::Probability(self.delay_correlation.fraction));
        if self.distribution != Distribution::Uniform {
            settings.set(DISTRIBUTION.name, self.distribution.to_value());
        }
        let mut set = |name, share: Share| settings.set(name, Value::Probability(share.fraction));
        match self.loss {
            Loss::Random(chance) => {
                set(LOSS.name, chance.share);
                set(LOSS_CORRELATION.name, chance.correlation);
            }
            Loss::GilbertElliott([into, out, bad, good]) => {
                set(LOSS_GEMODEL.name, into);
                set(LOSS_GEMODEL_R.name, out);
                set(LOSS_GEMODEL_1_H.name, bad);
                set(LOSS_GEMODEL_1_K.name, good);
            }
            Loss::States([p13, p31, p32, p23, p14]) => {
                set(LOSS_STATE.name, p13);
                set(LOSS_STATE_P31.name, p31);
                set(LOSS_STATE_P32.name, p32);
                set(LOSS_STATE_P23.name, p23);
                set(LOSS_STATE_P14.name, p14);
            }
        }
        set(DUPLICATE.name, self.duplicate.share);
        set(DUPLICATE_CORRELATION.name, self.duplicate.correlation);
        set(CORRUPT.name, self.corrupt.share);
        set(CORRUPT_CORRELATION.name, self.corrupt.correlation);
        set(REORDER.name, self.reorder.share);
        set(REORDER_CORRELATION.name, self.reorder.correlation);
        if self.gap > 0 {
            settings.set(GAP.name, Value::Packets(u64::from(self.gap)));
        }
        if let Some(rate) = self.rate {
            settings.set(RATE.name, Value::Rate(rate));
            settings.set(RATE_PACKETOVERHEAD.name, Value::Signed(i64::from(self.overhead.packet)));
            settings.set(RATE_CELLSIZE.name, Value::Integer(u64::from(self.overhead.cell)));
            settings.set(RATE_CELLOVERHEAD.name, Value::Signed(i64::from(self.overhead.per_cell)));
        }
        if let Some(slot) = &self.slot {
            match &slot.apart {
                Apart::Between(least, most) => {
                    settings.set(SLOT.name, Value::Time(*least));
                    settings.set(SLOT_MAX.name, Value::Time(*most));
                }
                Apart::Spread(distribution, mean, jitter) => {
                    settings.set(SLOT_DISTRIBUTION.name, distribution.to_value());
                    settings.set(SLOT_DISTRIBUTION_DELAY.name, Value::Time(*mean));
                    settings.set(SLOT_DISTRIBUTION_JITTER.name, Value::Time(*jitter));
                }
            }
            if let Some(packets) = slot.packets {
                settings.set(PACKETS.name, Value::Packets(u64::from(packets)));
            }
            if let Some(bytes) = slot.bytes {
                settings.set(BYTES.name, Value::Bytes(u64::from(bytes)));
            }
        }
        settings.set(ECN.name, Value::Flag(self.ecn));
        if let Some(seed) = self.seed {
            settings.set(SEED.name, Value::Integer(seed));
        }
        match &self.inner {
            Some(config) => settings.with_child(nesting::child(1, Settings::new(), config.as_ref())),
            None => settings,
        }
    }

    /// Linux sch_netem resets some parameters at every change, and others together with those that
    /// tc sends in one attribute.
    fn is_kept_by_change(parameter: &str, given: &Settings) -> bool {
        let own = sent_with(parameter);
        own != "always" && !given.iter().any(|(name, _)| sent_with(name) == own)
    }
}

setters! {
    [C: InnerConfig] NetemConfig<C>,
    /// Sets `limit`: packets held, including those being delayed; must exceed the packets that
    /// arrive within one delay. Default: 1000p. Range: 1 to 4294967295.
    with_limit(packets);
    /// Sets `delay`: delay of every packet. Default: 0s. Range: 0 to 1000000s.
    with_delay(time);
    /// Sets `delay.jitter`: random variation of the delay. Default: 0s. Range: 0 to 1000000s.
    with_delay_jitter(time) = "delay.jitter";
    /// Sets `delay.correlation`: correlation with the value of the packet before. Default: 0.
    with_delay_correlation(probability) = "delay.correlation";
    /// Sets `distribution`: distribution of the random delay; jitter is the half width of uniform
    /// and the standard deviation of the others. Default: uniform. One of `uniform`, `normal`,
    /// `pareto`, `paretonormal`.
    with_distribution(choice);
    /// Sets `loss`: probability that a packet is lost. Default: 0.
    with_loss(probability);
    /// Sets `loss.correlation`: correlation with the value of the packet before. Default: 0.
    with_loss_correlation(probability) = "loss.correlation";
    /// Sets `loss gemodel`: loss in bursts (Gilbert-Elliott): probability to enter the bad state;
    /// not with `loss`. Default: none.
    with_loss_gemodel(probability) = "loss gemodel";
    /// Sets `loss gemodel.r`: probability to leave the bad state. Default: 1 - P.
    with_loss_gemodel_r(probability) = "loss gemodel.r";
    /// Sets `loss gemodel.1-h`: probability of a loss in the bad state. Default: 1.
    with_loss_gemodel_1_h(probability) = "loss gemodel.1-h";
    /// Sets `loss gemodel.1-k`: probability of a loss in the good state. Default: 0.
    with_loss_gemodel_1_k(probability) = "loss gemodel.1-k";
    /// Sets `loss state`: loss by a Markov chain of four states: probability from a gap to a loss
    /// in a burst; not with `loss`. Default: none.
    with_loss_state(probability) = "loss state";
    /// Sets `loss state.p31`: probability from a loss in a burst to a gap. Default: 1 - P13.
    with_loss_state_p31(probability) = "loss state.p31";
    /// Sets `loss state.p32`: probability from a loss in a burst to a delivery in a burst. Default:
    /// 0.
    with_loss_state_p32(probability) = "loss state.p32";
    /// Sets `loss state.p23`: probability from a delivery in a burst to a loss. Default: 1.
    with_loss_state_p23(probability) = "loss state.p23";
    /// Sets `loss state.p14`: probability of a single loss in a gap. Default: 0.
    with_loss_state_p14(probability) = "loss state.p14";
    /// Sets `corrupt`: probability that one bit of a packet is flipped. Default: 0.
    with_corrupt(probability);
    /// Sets `corrupt.correlation`: correlation with the value of the packet before. Default: 0.
    with_corrupt_correlation(probability) = "corrupt.correlation";
    /// Sets `duplicate`: probability that a packet is duplicated. Default: 0.
    with_duplicate(probability);
    /// Sets `duplicate.correlation`: correlation with the value of the packet before. Default: 0.
    with_duplicate_correlation(probability) = "duplicate.correlation";
    /// Sets `reorder`: probability that a packet skips the delay. Default: 0. Range: needs delay.
    with_reorder(probability);
    /// Sets `reorder.correlation`: correlation with the value of the packet before. Default: 0.
    with_reorder_correlation(probability) = "reorder.correlation";
    /// Sets `gap`: one packet out of this many may skip the delay. Default: 1 with reorder. Range:
    /// 1 to 4294967295.
    with_gap(packets);
    /// Sets `rate`: link rate that spaces packets. Default: none. Range: 8bit or more.
    with_rate(rate);
    /// Sets `rate.packetoverhead`: bytes added to each packet. Default: 0.
    with_rate_packetoverhead(signed) = "rate.packetoverhead";
    /// Sets `rate.cellsize`: payload bytes of a cell; the link sends whole cells. Default: 0.
    with_rate_cellsize(integer) = "rate.cellsize";
    /// Sets `rate.celloverhead`: bytes added to each cell. Default: 0.
    with_rate_celloverhead(signed) = "rate.celloverhead";
    /// Sets `slot`: shortest time between bunches of packets. Default: none.
    with_slot(time);
    /// Sets `slot.max`: longest time between bunches. Default: the least.
    with_slot_max(time) = "slot.max";
    /// Sets `slot distribution`: distribution of the time between bunches. Default: none. One of
    /// `uniform`, `normal`, `pareto`, `paretonormal`.
    with_slot_distribution(choice) = "slot distribution";
    /// Sets `slot distribution.delay`: mean time between bunches. Default: 0s.
    with_slot_distribution_delay(time) = "slot distribution.delay";
    /// Sets `slot distribution.jitter`: standard deviation of the time between bunches. Default:
    /// 0s.
    with_slot_distribution_jitter(time) = "slot distribution.jitter";
    /// Sets `packets`: packets per bunch; needs slot. Default: no bound.
    with_packets(packets);
    /// Sets `bytes`: bytes per bunch; needs slot. Default: no bound.
    with_bytes(bytes);
    /// Sets `ecn`: mark ECN-capable packets instead of losing them. Default: off.
    with_ecn(flag);
    /// Sets `seed`: seed of the random numbers of this discipline. Default: that of the run.
    with_seed(integer);
}

/// What tc sends together with `parameter`, so that a change of one sets the others too.
fn sent_with(parameter: &str) -> &str {
    let is_one_of = |parameters: &[Parameter]| parameters.iter().any(|one| one.name == parameter);
    let first = parameter.split(['.', ' ']).next().unwrap_or_default();
    if is_one_of(&[DELAY_CORRELATION, LOSS_CORRELATION, DUPLICATE_CORRELATION]) {
        "correlation"
    } else if is_one_of(&[PACKETS, BYTES]) {
        SLOT.name
    } else if is_one_of(&[LIMIT, DELAY, DELAY_JITTER, GAP])
        || [LOSS, DUPLICATE, REORDER].iter().any(|one| one.name == first)
    {
        "always"
    } else {
        first
    }
}

const fn follower(name: &'static str, unit: Unit, default: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, unit, default, source: "tc", range: "", doc }
}

const fn correlation(name: &'static str) -> Parameter {
    follower(name, Unit::Probability, "0", "correlation with the value of the packet before")
}

const KIND: Kind = Kind {
    name: "netem",
    summary: "An emulated network: delay, jitter, loss, duplicates, reordering, rate",
    reference: "Hemminger 2005; tc-netem(8)",
    variants: &[],
    children: Children::One,
    parameters: &[
        LIMIT,
        DELAY,
        DELAY_JITTER,
        DELAY_CORRELATION,
        DISTRIBUTION,
        LOSS,
        LOSS_CORRELATION,
        LOSS_GEMODEL,
        LOSS_GEMODEL_R,
        LOSS_GEMODEL_1_H,
        LOSS_GEMODEL_1_K,
        LOSS_STATE,
        LOSS_STATE_P31,
        LOSS_STATE_P32,
        LOSS_STATE_P23,
        LOSS_STATE_P14,
        CORRUPT,
        CORRUPT_CORRELATION,
        DUPLICATE,
        DUPLICATE_CORRELATION,
        REORDER,
        REORDER_CORRELATION,
        GAP,
        RATE,
        RATE_PACKETOVERHEAD,
        RATE_CELLSIZE,
        RATE_CELLOVERHEAD,
        SLOT,
        SLOT_MAX,
        SLOT_DISTRIBUTION,
        SLOT_DISTRIBUTION_DELAY,
        SLOT_DISTRIBUTION_JITTER,
        PACKETS,
        BYTES,
        ECN,
        SEED,
    ],
};

const DISTRIBUTIONS: &[&str] = &["uniform", "normal", "pareto", "paretonormal"];
const SHARE_RANGE: &str = "0 to 1";
const DELAY_RANGE: &str = "0 to 1000000s";
const MAX_DELAY: Duration = Duration::from_secs(1_000_000);
const DEFAULT_LIMIT: u32 = 1000;
const MAX_OVERHEAD: i32 = 65_535;

pub(super) const LIMIT: Parameter = Parameter {
    name: "limit",
    unit: Unit::Packets,
    default: "1000p",
    source: "tc",
    range: "1 to 4294967295",
    doc: "packets held, including those being delayed; must exceed the packets that arrive within one delay",
};

pub(super) const DELAY: Parameter = Parameter {
    name: "delay",
    unit: Unit::Time,
    default: "0s",
    source: "tc",
    range: DELAY_RANGE,
    doc: "delay of every packet",
};

pub(super) const DELAY_JITTER: Parameter = Parameter {
    name: "delay.jitter",
    unit: Unit::Time,
    default: "0s",
    source: "tc",
    range: DELAY_RANGE,
    doc: "random variation of the delay",
};

pub(super) const REORDER: Parameter = Parameter {
    name: "reorder",
    unit: Unit::Probability,
    default: "0",
    source: "tc",
    range: "needs delay",
    doc: "probability that a packet skips the delay",
};

pub(super) const GAP: Parameter = Parameter {
    name: "gap",
    unit: Unit::Packets,
    default: "1 with reorder",
    source: "tc",
    range: "1 to 4294967295",
    doc: "one packet out of this many may skip the delay",
};

pub(super) const RATE: Parameter = Parameter {
    name: "rate",
    unit: Unit::Rate,
    default: "none",
    source: "tc",
    range: "8bit or more",
    doc: "link rate that spaces packets",
};

pub(super) const ECN: Parameter = Parameter {
    name: "ecn",
    unit: Unit::Flag { off: None },
    default: "off",
    source: "tc",
    range: "",
    doc: "mark ECN-capable packets instead of losing them",
};

pub(super) const SEED: Parameter = Parameter {
    name: "seed",
    unit: Unit::Integer,
    default: "that of the run",
    source: "tc",
    range: "",
    doc: "seed of the random numbers of this discipline",
};

pub(super) const DELAY_CORRELATION: Parameter = correlation("delay.correlation");

const DISTRIBUTION: Parameter = follower(
    "distribution",
    Unit::Table(DISTRIBUTIONS),
    "uniform",
    "distribution of the random delay; jitter is the half width of uniform and the standard deviation of the others",
);

pub(super) const LOSS: Parameter =
    follower("loss", Unit::Probability, "0", "probability that a packet is lost");

pub(super) const LOSS_CORRELATION: Parameter = correlation("loss.correlation");

pub(super) const LOSS_GEMODEL: Parameter = follower(
    "loss gemodel",
    Unit::Probability,
    "none",
    "loss in bursts (Gilbert-Elliott): probability to enter the bad state; not with `loss`",
);

pub(super) const LOSS_GEMODEL_R: Parameter =
    follower("loss gemodel.r", Unit::Probability, "1 - P", "probability to leave the bad state");

pub(super) const LOSS_GEMODEL_1_H: Parameter =
    follower("loss gemodel.1-h", Unit::Probability, "1", "probability of a loss in the bad state");

pub(super) const LOSS_GEMODEL_1_K: Parameter =
    follower("loss gemodel.1-k", Unit::Probability, "0", "probability of a loss in the good state");

pub(super) const LOSS_STATE: Parameter = follower(
    "loss state",
    Unit::Probability,
    "none",
    "loss by a Markov chain of four states: probability from a gap to a loss in a burst; not with `loss`",
);

pub(super) const LOSS_STATE_P31: Parameter =
    follower("loss state.p31", Unit::Probability, "1 - P13", "probability from a loss in a burst to a gap");

pub(super) const LOSS_STATE_P32: Parameter = follower(
    "loss state.p32",
    Unit::Probability,
    "0",
    "probability from a loss in a burst to a delivery in a burst",
);

pub(super) const LOSS_STATE_P23: Parameter =
    follower("loss state.p23", Unit::Probability, "1", "probability from a delivery in a burst to a loss");

pub(super) const LOSS_STATE_P14: Parameter =
    follower("loss state.p14", Unit::Probability, "0", "probability of a single loss in a gap");

pub(super) const CORRUPT: Parameter =
    follower("corrupt", Unit::Probability, "0", "probability that one bit of a packet is flipped");

pub(super) const CORRUPT_CORRELATION: Parameter = correlation("corrupt.correlation");

pub(super) const DUPLICATE: Parameter =
    follower("duplicate", Unit::Probability, "0", "probability that a packet is duplicated");

pub(super) const DUPLICATE_CORRELATION: Parameter = correlation("duplicate.correlation");

pub(super) const REORDER_CORRELATION: Parameter = correlation("reorder.correlation");

pub(super) const RATE_PACKETOVERHEAD: Parameter =
    follower("rate.packetoverhead", Unit::Signed, "0", "bytes added to each packet");

pub(super) const RATE_CELLSIZE: Parameter =
    follower("rate.cellsize", Unit::Integer, "0", "payload bytes of a cell; the link sends whole cells");

pub(super) const RATE_CELLOVERHEAD: Parameter =
    follower("rate.celloverhead", Unit::Signed, "0", "bytes added to each cell");

pub(super) const SLOT: Parameter =
    follower("slot", Unit::Time, "none", "shortest time between bunches of packets");

pub(super) const SLOT_MAX: Parameter =
    follower("slot.max", Unit::Time, "the least", "longest time between bunches");

pub(super) const SLOT_DISTRIBUTION: Parameter = follower(
    "slot distribution",
    Unit::Table(DISTRIBUTIONS),
    "none",
    "distribution of the time between bunches",
);

pub(super) const SLOT_DISTRIBUTION_DELAY: Parameter =
    follower("slot distribution.delay", Unit::Time, "0s", "mean time between bunches");

pub(super) const SLOT_DISTRIBUTION_JITTER: Parameter =
    follower("slot distribution.jitter", Unit::Time, "0s", "standard deviation of the time between bunches");

pub(super) const PACKETS: Parameter =
    follower("packets", Unit::Packets, "no bound", "packets per bunch; needs slot");

pub(super) const BYTES: Parameter = follower("bytes", Unit::Bytes, "no bound", "bytes per bunch; needs slot");
