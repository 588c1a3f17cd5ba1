//! Where the bottleneck of a kind of line is.

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
