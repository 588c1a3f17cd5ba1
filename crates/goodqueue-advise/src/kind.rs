//! What is assumed about a kind of line.

use goodqueue::{Duration, Rate};

use crate::encapsulation::Encapsulation;

/// A kind of access line.
#[derive(Clone, Copy, Debug)]
pub struct LinkKind {
    /// Name on the command line.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Documents behind the numbers below, and which numbers are assumed.
    pub source: &'static str,
    /// Base round-trip time to a server nearby, unless given.
    pub rtt: Duration,
    /// Largest IP packet in bytes.
    pub mtu: u32,
    /// How the line carries packets.
    pub encapsulation: Encapsulation,
    /// What the shaper is told about it: what the line has, or more to be safe.
    pub accounted: Encapsulation,
    /// How the modem and the head end drop packets when their buffer is full.
    pub buffer: Buffer,
    /// Bytes of the buffers towards the home and towards the Internet, for these rates.
    pub buffers: fn([Rate; 2]) -> [u64; 2],
    /// Rate that the line is modelled with, in thousandths of the rate that people give. Contracts
    /// and modems round up, and the advice must hold on such a line.
    pub real: u64,
    /// How the rate changes.
    pub variation: Variation,
    /// Rates of the shapers to try.
    pub shares: Shares,
    /// Where the queue is.
    pub(crate) bottleneck: Bottleneck,
    /// Where the router can manage it.
    pub(crate) port: Port,
    /// The same line with other equipment, which the advice is compared with.
    pub(crate) instead: Option<Equipment>,
}

/// Other equipment for a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Equipment {
    /// The line with it.
    pub(crate) kind: &'static LinkKind,
    /// What to get, for people.
    pub(crate) how: &'static str,
}

/// Which packet a full buffer drops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// The packet that arrives.
    TailDrop,
    /// The packet that has waited longest.
    HeadDrop,
}

impl Buffer {
    /// Returns the queue in tc's grammar. `tc` counts a buffer that drops at its head in packets.
    pub(crate) fn line(self, bytes: u64) -> String {
        match self {
            Self::TailDrop => format!("bfifo limit {bytes}"),
            Self::HeadDrop => format!("pfifo_head_drop limit {}", (bytes / FULL_PACKET).max(2)),
        }
    }
}

/// A full packet with its Ethernet header.
const FULL_PACKET: u64 = 1514;

impl LinkKind {
    /// Returns the rate that the line is modelled with when people give this one.
    #[must_use]
    pub const fn modelled(&self, given: Rate) -> Rate {
        Rate::from_bps(given.as_bps() / 1000 * self.real)
    }

    /// True if the rate of such a line changes while it is in use.
    #[must_use]
    pub fn varies(&self) -> bool {
        self.variation != Variation::Steady
    }

    /// Name of the router's interface, unless given.
    #[must_use]
    pub fn device(&self) -> &'static str {
        self.port.device
    }
}

/// Returns the bytes that a line sends in this time, within bounds.
pub(crate) fn bytes_of(rate: Rate, milliseconds: u64, [least, most]: [u64; 2]) -> u64 {
    (rate.as_bps() / 8 * milliseconds / 1000).clamp(least, most)
}

/// The equipment that holds the queue of a full line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bottleneck {
    /// A modem and a head end behind the router.
    Modem,
    /// An access point and its devices.
    AccessPoint {
        /// The queue of the access point, as `wifi.mac` in scenarios.
        mac: &'static str,
    },
}

/// A network interface of the router.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Port {
    /// Name, unless given.
    pub(crate) device: &'static str,
    /// What it is, for people.
    pub(crate) title: &'static str,
    /// Direction of the packets that leave the router there: 0 towards the home, 1 towards the
    /// Internet.
    pub(crate) egress: usize,
}

impl Port {
    /// The interface towards a modem.
    pub(crate) const TO_MODEM: Self = Self { device: "eth0", title: "its port to the modem", egress: 1 };
    /// The WiFi of an access point.
    pub(crate) const WIFI: Self = Self { device: "wlan0", title: "its WiFi interface", egress: 0 };
}

/// The rates of the shapers to try, in thousandths of the rate of the modelled line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shares {
    /// Each direction has a rate of its own. All pairs are tried: how much the shaper of one
    /// direction has to leave free depends on the other one, because acknowledgements share its
    /// queue.
    Apart {
        /// Towards the home: the shaper is behind the bottleneck, and has to leave room for bursts.
        down: &'static [u64],
        /// Towards the Internet: the shaper is in front of the bottleneck.
        up: &'static [u64],
    },
    /// Both directions share a medium, and have the same share of it.
    Together(&'static [u64]),
}

impl Shares {
    /// For a line whose rate is known and constant.
    pub(crate) const STEADY: Self = Self::Apart { down: &[950, 980, 900, 850], up: &[950, 980] };
    /// For such a line without cells or a medium that others share.
    pub(crate) const FIBRE: Self = Self::Apart { down: &[950, 980], up: &[950, 980] };
    /// For a line whose rate changes.
    pub(crate) const VARYING: Self = Self::Apart { down: &[800, 950, 650, 500], up: &[800, 950, 650, 500] };

    /// Returns all pairs of shares, towards the home and the Internet. The first is the best guess
    /// before anything is simulated.
    pub(crate) fn pairs(self) -> Vec<[u64; 2]> {
        match self {
            Self::Apart { down, up } => {
                down.iter().flat_map(|down| up.iter().map(move |up| [*down, *up])).collect()
            }
            Self::Together(shares) => shares.iter().map(|share| [*share, *share]).collect(),
        }
    }
}

/// How the rate of a line changes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Variation {
    /// Not at all.
    Steady,
    /// A random walk around the mean rate, reflected at the bounds, in steps of 100 ms.
    Walk {
        /// Standard deviation after one second, relative to the mean rate.
        per_second: f64,
        /// Lowest and highest rate, relative to the mean rate.
        bounds: [f64; 2],
    },
    /// A new rate at equal intervals, uniform between the bounds.
    Steps {
        /// Time between two changes in seconds.
        every_s: f64,
        /// Lowest and highest rate, relative to the mean rate.
        bounds: [f64; 2],
    },
}

impl Variation {
    /// Returns the rates of a link in bit/s and the seconds from which they hold, for one run of
    /// `duration_s` seconds.
    #[must_use]
    pub fn rates(&self, mean_bps: u64, duration_s: f64, seed: u64) -> Vec<(f64, u64)> {
        let (every_s, next): (f64, &dyn Fn(f64, f64) -> f64) = match self {
            Self::Steady => return vec![(0.0, mean_bps)],
            Self::Walk { per_second, bounds } => (WALK_S, &move |now, random| {
                // A uniform step with the variance of a tenth of a second.
                let step = (random - 0.5) * per_second * (12.0 * WALK_S).sqrt();
                reflected(now + step, *bounds)
            }),
            Self::Steps { every_s, bounds } => {
                (*every_s, &move |_, random| bounds[0] + random * (bounds[1] - bounds[0]))
            }
        };
        // Without mixing, the next seed would give the same numbers, one step later.
        let mut state = mixed(seed);
        let mut share = 1.0;
        let mut at = 0.0;
        let mut rates = Vec::new();
        while at < duration_s {
            share = next(share, random(&mut state));
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a rate of a line, above 0"
            )]
            rates.push((at, (mean_bps as f64 * share) as u64));
            #[expect(clippy::cast_precision_loss, reason = "few steps")]
            let steps = rates.len() as f64;
            at = steps * every_s;
        }
        rates
    }

    /// Returns the rate of a link as a value in a scenario file: that of this run, for
    /// `duration_s`.
    pub(crate) fn rate(&self, mean_bps: u64, duration_s: f64, seed: u64) -> String {
        if *self == Self::Steady {
            return format!("\"{mean_bps}bit\"");
        }
        let rates = self.rates(mean_bps, duration_s, seed);
        let steps: String = rates.iter().map(|(at, bps)| format!("[\"{at:.1}s\", \"{bps}bit\"], ")).collect();
        format!("{{ schedule = [{steps}] }}")
    }
}

/// Mirrors a value at the bounds.
fn reflected(value: f64, [low, high]: [f64; 2]) -> f64 {
    if value < low {
        (2.0 * low - value).min(high)
    } else if value > high {
        (2.0 * high - value).max(low)
    } else {
        value
    }
}

/// Returns a number from 0 to 1: SplitMix64 (Steele, Lea & Flood 2014).
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let fraction = (mixed(*state) >> 11) as f64 / (1_u64 << 53) as f64;
    fraction
}

/// The mixing function of SplitMix64.
fn mixed(state: u64) -> u64 {
    let mut mixed = state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Time between two steps of a random walk.
const WALK_S: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    /// The rates towards the home and the Internet, and those of the search and the verification,
    /// have neighbouring seeds.
    #[test]
    fn walks_of_neighbouring_seeds_have_nothing_in_common() {
        let walk = Variation::Walk { per_second: 0.5, bounds: [0.25, 2.0] };
        let steps = |seed| {
            let rates = walk.rates(1_000_000, 60.0, seed);
            rates
                .windows(2)
                .map(|pair| pair[1].1.cast_signed() - pair[0].1.cast_signed())
                .collect::<Vec<i64>>()
        };
        for seed in 1..20 {
            let one = steps(seed);
            let other = steps(seed + 1);
            for late in 0..3 {
                let equal = one.iter().zip(&other[late..]).filter(|(one, other)| one == other).count()
                    + one[late..].iter().zip(&other).filter(|(one, other)| one == other).count();
                assert!(equal < 10, "seeds {seed} and {}, {late} steps apart: {equal}", seed + 1);
            }
        }
    }

    #[test]
    fn a_walk_stays_between_its_bounds_and_differs_between_seeds() {
        let walk = Variation::Walk { per_second: 0.5, bounds: [0.25, 2.0] };
        let [one, other] = [1, 2].map(|seed| walk.rates(1_000_000, 60.0, seed));
        assert_ne!(one, other);
        assert_eq!(one, walk.rates(1_000_000, 60.0, 1));
        assert_eq!(one.len(), 600);
        assert!(one.iter().all(|(_, bps)| (250_000..=2_000_000).contains(bps)), "{one:?}");
    }
}
