//! What the advice assumes about a kind of line beyond the line itself.

use goodqueue_link::access::{Encapsulation, Preset};

/// A kind of access line.
#[derive(Clone, Copy, Debug)]
pub struct LinkKind {
    /// The line.
    pub line: Preset,
    /// What else is assumed, with its sources.
    pub(crate) assumed: &'static str,
    /// What the shaper is told about it: what the line has, or more to be safe.
    pub accounted: Encapsulation,
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

impl LinkKind {
    /// Returns the documents behind the numbers, and which numbers are assumed.
    #[must_use]
    pub fn source(&self) -> String {
        [self.line.source, self.assumed].join(" ").trim_end().to_owned()
    }

    /// Name of the router's interface, unless given.
    #[must_use]
    pub fn device(&self) -> &'static str {
        self.port.device
    }
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
    // The first share of each direction is the guess of the first answer, so the lists are not
    // sorted.
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
