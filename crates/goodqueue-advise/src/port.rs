//! The router's interface at which the queue of a line can be managed.

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
