//! The parameters of `netem`.

use alloc::boxed::Box;

use super::chance::{Chance, Share};
use super::distribution::Distribution;
use super::{BunchSpacing, Loss, NetemConfig, Overhead, Slot};
use crate::config::{Children, ConfigError, Configure, Kind, Link, Parameter, Settings};
use crate::nesting::{self, InnerConfig};
use crate::random::Source;
use crate::tc_version::{self, TcVersion};
use crate::time::{Duration, Rate};
use crate::typed::{self, in_variants, parameters};

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
    pub(super) fn slot(settings: &Settings) -> Result<Option<Box<Slot>>, ConfigError> {
        let packets: Option<u32> = PACKETS.given(settings)?;
        let bytes: Option<u32> = BYTES.given(settings)?;
        let apart = match (SLOT.given::<Duration>(settings)?, settings.get(SLOT_DISTRIBUTION.name)) {
            (Some(_), Some(_)) => {
                return Err(ConfigError::new(SLOT.name, "", "one of `slot` and `slot distribution`"));
            }
            (Some(least), None) => {
                let most = SLOT_MAX.read_or(settings, least)?;
                if most < least {
                    let allowed = alloc::format!("{least} or more, the least time between bunches");
                    return Err(ConfigError::new(SLOT_MAX.name, alloc::format!("{most}"), allowed));
                }
                BunchSpacing::Between(least, most)
            }
            (None, Some(_)) => BunchSpacing::Spread(
                Distribution::from_settings(settings, SLOT_DISTRIBUTION.name)?,
                SLOT_DISTRIBUTION_DELAY.read(settings)?,
                SLOT_DISTRIBUTION_JITTER.read(settings)?,
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

/// Reads a share of packets and its correlation.
fn chance(settings: &Settings, of: &Parameter, correlation: &Parameter) -> Result<Chance, ConfigError> {
    Ok(Chance { share: of.read(settings)?, correlation: correlation.read(settings)? })
}

/// Reads one of the three models of loss.
fn loss(settings: &Settings) -> Result<Loss, ConfigError> {
    let models = [LOSS.name, LOSS_GEMODEL.name, LOSS_STATE.name];
    if models.iter().filter(|name| settings.get(name).is_some()).count() > 1 {
        return Err(ConfigError::new(LOSS.name, "", "one of `loss`, `loss gemodel` and `loss state`"));
    }
    Ok(match (LOSS_GEMODEL.given::<Share>(settings)?, LOSS_STATE.given::<Share>(settings)?) {
        (None, None) => Loss::Random(chance(settings, &LOSS, &LOSS_CORRELATION)?),
        (None, Some(p13)) => Loss::States([
            p13,
            LOSS_STATE_P31.read_or(settings, Share::new(1.0 - p13.fraction))?,
            LOSS_STATE_P32.read(settings)?,
            LOSS_STATE_P23.read(settings)?,
            LOSS_STATE_P14.read(settings)?,
        ]),
        (Some(into), _) => Loss::GilbertElliott([
            into,
            LOSS_GEMODEL_R.read_or(settings, Share::new(1.0 - into.fraction))?,
            LOSS_GEMODEL_1_H.read(settings)?,
            LOSS_GEMODEL_1_K.read(settings)?,
        ]),
    })
}

/// Reads the rate and the overhead of each packet, which is 0 without a rate.
fn rate_and_overhead(settings: &Settings) -> Result<(Option<Rate>, Overhead), ConfigError> {
    let rate = RATE.given(settings)?;
    let overhead = Overhead {
        packet: RATE_PACKETOVERHEAD.read(settings)?,
        cell: RATE_CELLSIZE.read(settings)?,
        per_cell: RATE_CELLOVERHEAD.read(settings)?,
    };
    Ok((rate, if rate.is_some() { overhead } else { Overhead::default() }))
}

impl<C: InnerConfig> Configure for NetemConfig<C> {
    const KIND: Kind = KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let delay: Duration = DELAY.read(settings)?;
        let jitter: Duration = DELAY_JITTER.read(settings)?;
        let reorder = chance(settings, &REORDER, &REORDER_CORRELATION)?;
        // As in tc: without a delay there is none to skip.
        if !reorder.share.is_zero() && delay.is_zero() && jitter.is_zero() {
            return Err(ConfigError::new(
                REORDER.name,
                alloc::format!("{}", reorder.share.fraction),
                "0 without `delay`",
            ));
        }
        let gap = GAP.read_or(settings, u32::from(!reorder.share.is_zero()))?;
        let (rate, overhead) = rate_and_overhead(settings)?;
        let slot = Self::slot(settings)?;
        let inner = match settings.children() {
            [] => None,
            [child] => nesting::qdisc_of(child, link)?.map(Box::new),
            _ => return Err(ConfigError::new("qdisc", "", "one inner discipline")),
        };
        Ok(Self {
            limit: LIMIT.read(settings)?,
            delay,
            jitter,
            delay_correlation: DELAY_CORRELATION.read(settings)?,
            distribution: Distribution::from_settings(settings, DISTRIBUTION.name)?,
            loss: loss(settings)?,
            duplicate: chance(settings, &DUPLICATE, &DUPLICATE_CORRELATION)?,
            corrupt: chance(settings, &CORRUPT, &CORRUPT_CORRELATION)?,
            reorder,
            gap,
            rate,
            overhead,
            slot,
            ecn: ECN.read(settings)?,
            seed: SEED.given(settings)?,
            inner,
            version: TcVersion::from_settings(settings),
        })
    }

    fn to_settings(&self) -> Settings {
        let mut settings = self
            .version
            .add_to(Settings::new())
            .and(&LIMIT, self.limit)
            .and(&DELAY, self.delay)
            .and(&DELAY_JITTER, self.jitter)
            .and(&DELAY_CORRELATION, self.delay_correlation);
        if self.distribution != Distribution::Uniform {
            settings.set(DISTRIBUTION.name, self.distribution.to_value());
        }
        match self.loss {
            Loss::Random(chance) => {
                settings.put(&LOSS, chance.share);
                settings.put(&LOSS_CORRELATION, chance.correlation);
            }
            Loss::GilbertElliott([into, out, bad, good]) => {
                settings.put(&LOSS_GEMODEL, into);
                settings.put(&LOSS_GEMODEL_R, out);
                settings.put(&LOSS_GEMODEL_1_H, bad);
                settings.put(&LOSS_GEMODEL_1_K, good);
            }
            Loss::States([p13, p31, p32, p23, p14]) => {
                settings.put(&LOSS_STATE, p13);
                settings.put(&LOSS_STATE_P31, p31);
                settings.put(&LOSS_STATE_P32, p32);
                settings.put(&LOSS_STATE_P23, p23);
                settings.put(&LOSS_STATE_P14, p14);
            }
        }
        settings.put(&DUPLICATE, self.duplicate.share);
        settings.put(&DUPLICATE_CORRELATION, self.duplicate.correlation);
        settings.put(&CORRUPT, self.corrupt.share);
        settings.put(&CORRUPT_CORRELATION, self.corrupt.correlation);
        settings.put(&REORDER, self.reorder.share);
        settings.put(&REORDER_CORRELATION, self.reorder.correlation);
        if self.gap > 0 {
            settings.put(&GAP, self.gap);
        }
        if let Some(rate) = self.rate {
            settings.put(&RATE, rate);
            settings.put(&RATE_PACKETOVERHEAD, self.overhead.packet);
            settings.put(&RATE_CELLSIZE, self.overhead.cell);
            settings.put(&RATE_CELLOVERHEAD, self.overhead.per_cell);
        }
        if let Some(slot) = &self.slot {
            match &slot.apart {
                BunchSpacing::Between(least, most) => {
                    settings.put(&SLOT, *least);
                    settings.put(&SLOT_MAX, *most);
                }
                BunchSpacing::Spread(distribution, mean, jitter) => {
                    settings.set(SLOT_DISTRIBUTION.name, distribution.to_value());
                    settings.put(&SLOT_DISTRIBUTION_DELAY, *mean);
                    settings.put(&SLOT_DISTRIBUTION_JITTER, *jitter);
                }
            }
            if let Some(packets) = slot.packets {
                settings.put(&PACKETS, packets);
            }
            if let Some(bytes) = slot.bytes {
                settings.put(&BYTES, bytes);
            }
        }
        settings.put(&ECN, self.ecn);
        if let Some(seed) = self.seed {
            settings.put(&SEED, seed);
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

parameters! {
    PARAMETERS of [C: InnerConfig] NetemConfig<C>;
    /// packets held, including those being delayed; must exceed the packets that arrive within one
    /// delay
    pub(super) LIMIT: packets "limit", with_limit { default: 1000, range: 1..=4_294_967_295, source: "tc" };
    /// delay of every packet
    pub(super) DELAY: time "delay", with_delay {
        default: Duration::ZERO,
        range: Duration::ZERO..=LONGEST,
        source: "tc",
    };
    /// random variation of the delay
    pub(super) DELAY_JITTER: time "delay.jitter", with_delay_jitter {
        default: Duration::ZERO,
        range: Duration::ZERO..=LONGEST,
        source: "tc",
    };
    /// correlation with the value of the packet before
    pub(super) DELAY_CORRELATION: percentage "delay.correlation", with_delay_correlation {
        default: 0.0,
        source: "tc",
    };
    /// distribution of the random delay; jitter is the half width of uniform and the standard
    /// deviation of the others
    DISTRIBUTION: table "distribution", with_distribution {
        default: "uniform",
        words: DISTRIBUTIONS,
        source: "tc",
    };
    /// probability that a packet is lost
    pub(super) LOSS: percentage "loss", with_loss { default: 0.0, source: "tc" };
    /// correlation with the value of the packet before
    pub(super) LOSS_CORRELATION: percentage "loss.correlation", with_loss_correlation {
        default: 0.0,
        source: "tc",
    };
    /// loss in bursts (Gilbert-Elliott): probability to enter the bad state; not with `loss`
    pub(super) LOSS_GEMODEL: percentage "loss gemodel", with_loss_gemodel { derived: "none", source: "tc" };
    /// probability to leave the bad state
    pub(super) LOSS_GEMODEL_R: percentage "loss gemodel.r", with_loss_gemodel_r {
        derived: "1 - P",
        source: "tc",
    };
    /// probability of a loss in the bad state
    pub(super) LOSS_GEMODEL_1_H: percentage "loss gemodel.1-h", with_loss_gemodel_1_h {
        default: 1.0,
        source: "tc",
    };
    /// probability of a loss in the good state
    pub(super) LOSS_GEMODEL_1_K: percentage "loss gemodel.1-k", with_loss_gemodel_1_k {
        default: 0.0,
        source: "tc",
    };
    /// loss by a Markov chain of four states: probability from a gap to a loss in a burst; not with
    /// `loss`
    pub(super) LOSS_STATE: percentage "loss state", with_loss_state { derived: "none", source: "tc" };
    /// probability from a loss in a burst to a gap
    pub(super) LOSS_STATE_P31: percentage "loss state.p31", with_loss_state_p31 {
        derived: "1 - P13",
        source: "tc",
    };
    /// probability from a loss in a burst to a delivery in a burst
    pub(super) LOSS_STATE_P32: percentage "loss state.p32", with_loss_state_p32 {
        default: 0.0,
        source: "tc",
    };
    /// probability from a delivery in a burst to a loss
    pub(super) LOSS_STATE_P23: percentage "loss state.p23", with_loss_state_p23 {
        default: 1.0,
        source: "tc",
    };
    /// probability of a single loss in a gap
    pub(super) LOSS_STATE_P14: percentage "loss state.p14", with_loss_state_p14 {
        default: 0.0,
        source: "tc",
    };
    /// probability that one bit of a packet is flipped
    pub(super) CORRUPT: percentage "corrupt", with_corrupt { default: 0.0, source: "tc" };
    /// correlation with the value of the packet before
    pub(super) CORRUPT_CORRELATION: percentage "corrupt.correlation", with_corrupt_correlation {
        default: 0.0,
        source: "tc",
    };
    /// probability that a packet is duplicated
    pub(super) DUPLICATE: percentage "duplicate", with_duplicate { default: 0.0, source: "tc" };
    /// correlation with the value of the packet before
    pub(super) DUPLICATE_CORRELATION: percentage "duplicate.correlation", with_duplicate_correlation {
        default: 0.0,
        source: "tc",
    };
    /// probability that a packet skips the delay
    pub(super) REORDER: percentage "reorder", with_reorder {
        default: 0.0,
        condition: "needs delay",
        source: "tc",
    };
    /// correlation with the value of the packet before
    pub(super) REORDER_CORRELATION: percentage "reorder.correlation", with_reorder_correlation {
        default: 0.0,
        source: "tc",
    };
    /// one packet out of this many may skip the delay
    pub(super) GAP: packets "gap", with_gap {
        derived: "1 with reorder",
        range: 1..=4_294_967_295,
        source: "tc",
    };
    /// link rate that spaces packets
    pub(super) RATE: rate "rate", with_rate {
        derived: "none",
        // Below 8 bit/s the rate in bytes would be 0, which means no rate in Linux.
        range: Rate::from_bps(8)..=Rate::MAX,
        source: "tc",
    };
    /// bytes added to each packet
    pub(super) RATE_PACKETOVERHEAD: signed "rate.packetoverhead", with_rate_packetoverhead {
        default: 0,
        range: -65_535..=65_535,
        source: "tc",
    };
    /// payload bytes of a cell; the link sends whole cells
    pub(super) RATE_CELLSIZE: integer "rate.cellsize", with_rate_cellsize { default: 0, range: 0..=65_535, source: "tc" };
    /// bytes added to each cell
    pub(super) RATE_CELLOVERHEAD: signed "rate.celloverhead", with_rate_celloverhead {
        default: 0,
        range: -65_535..=65_535,
        source: "tc",
    };
    /// shortest time between bunches of packets
    pub(super) SLOT: time "slot", with_slot { derived: "none", range: Duration::ZERO..=LONGEST, source: "tc" };
    /// longest time between bunches
    pub(super) SLOT_MAX: time "slot.max", with_slot_max { derived: "the least", range: Duration::ZERO..=LONGEST, source: "tc" };
    /// distribution of the time between bunches
    pub(super) SLOT_DISTRIBUTION: table "slot distribution", with_slot_distribution {
        derived: "none",
        words: DISTRIBUTIONS,
        source: "tc",
    };
    /// mean time between bunches
    pub(super) SLOT_DISTRIBUTION_DELAY: time "slot distribution.delay", with_slot_distribution_delay {
        default: Duration::ZERO,
        range: Duration::ZERO..=LONGEST,
        source: "tc",
    };
    /// standard deviation of the time between bunches
    pub(super) SLOT_DISTRIBUTION_JITTER: time "slot distribution.jitter", with_slot_distribution_jitter {
        default: Duration::ZERO,
        range: Duration::ZERO..=LONGEST,
        source: "tc",
    };
    // `struct tc_netem_slot` has signed numbers of 32 bits.
    /// packets per bunch
    pub(super) PACKETS: packets "packets", with_packets {
        derived: "no bound",
        range: 1..=2_147_483_647,
        condition: "needs slot or slot distribution",
        source: "tc",
    };
    /// bytes per bunch
    pub(super) BYTES: bytes "bytes", with_bytes {
        derived: "no bound",
        range: 1..=2_147_483_647,
        condition: "needs slot or slot distribution",
        source: "tc",
    };
    /// mark ECN-capable packets instead of losing them
    pub(super) ECN: flag "ecn", with_ecn { default: false, source: "tc" };
    /// seed of the random numbers of this discipline
    pub(super) SEED: integer "seed", with_seed { derived: "that of the run", source: "tc" };
}

/// What tc sends together with `parameter`, so that a change of one sets the others too.
fn sent_with(parameter: &str) -> &str {
    let is_one_of = |parameters: &[Parameter]| parameters.iter().any(|one| one.name == parameter);
    let first = parameter.split(['.', ' ']).next().unwrap_or_default();
    if is_one_of(&[DELAY_CORRELATION, LOSS_CORRELATION, DUPLICATE_CORRELATION]) {
        // tc's `struct tc_netem_corr`.
        "correlation"
    } else if is_one_of(&[PACKETS, BYTES]) {
        SLOT.name
    } else if is_one_of(&[LIMIT, DELAY, DELAY_JITTER, GAP])
        || [LOSS, DUPLICATE, REORDER].iter().any(|one| one.name == first)
    {
        // tc's `struct tc_netem_qopt`, which every change contains.
        "always"
    } else {
        first
    }
}

in_variants! { [C: InnerConfig] NetemConfig<C> }

const KIND: Kind = Kind {
    name: "netem",
    summary: "An emulated network: delay, jitter, loss, duplicates, reordering, rate",
    reference: "Hemminger 2005; tc-netem(8)",
    variants: tc_version::VARIANTS,
    children: Children::One,
    parameters: PARAMETERS,
};

const DISTRIBUTIONS: &[&str] = &["uniform", "normal", "pareto", "paretonormal"];
/// The longest delay that can be asked for.
const LONGEST: Duration = Duration::from_secs(1_000_000);
