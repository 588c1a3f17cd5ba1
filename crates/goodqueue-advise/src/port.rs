//! The router's interface at which the queue of a line can be managed.

use goodqueue::Rate;

use crate::question::Question;

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

/// Returns the rate of the router's port towards the modem, and of the network interfaces of the
/// hosts. A sender without a rate of its own would overflow the router's queue in a burst that no
/// real host sends.
pub(crate) fn port_rate(question: &Question) -> &'static str {
    if question.rates.iter().any(|rate| *rate > FAST) { FASTER_PORT } else { PORT }
}

const PORT: &str = "1gbit";
const FASTER_PORT: &str = "10gbit";
/// A line that a port of 1 Gbit/s would limit.
const FAST: Rate = Rate::from_bps(900_000_000);
