//! What is assumed about an access line of a kind.

use goodqueue::{Duration, Rate};

use super::buffer::Buffer;
use super::encapsulation::{ETHERNET_HEADER, Encapsulation};
use super::variation::Variation;

/// A kind of access line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Preset {
    /// Name in texts and on the command line.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Documents behind the numbers below, and which numbers are assumed.
    pub source: &'static str,
    /// Base round-trip time to a server nearby.
    pub rtt: Duration,
    /// Largest IP packet in bytes.
    pub mtu: u32,
    /// How the line carries packets.
    pub encapsulation: Encapsulation,
    /// The queue of the modem and of the head end.
    pub buffer: Buffer,
    /// Rate that the line is modelled with, in thousandths of the rate that people give. Contracts
    /// and modems round up, and a result must hold on such a line.
    pub real: u64,
    /// How the rate changes.
    pub variation: Variation,
}

impl Preset {
    /// Returns the rate that the line is modelled with when people give this one. It counts the
    /// bytes of the line.
    #[must_use]
    pub const fn modelled(&self, given: Rate) -> Rate {
        // Divided first, so that no rate overflows.
        Rate::from_bps(given.as_bps() / 1000 * self.real)
    }

    /// Returns the rate in bytes with the Ethernet header at which full packets pass the line when
    /// people give this rate.
    #[must_use]
    pub fn of_frames(&self, given: Rate) -> Rate {
        // The fields are public, and without an MTU and an overhead there would be nothing to
        // divide by.
        let on_line = u128::from(self.encapsulation.on_line(self.mtu)).max(1);
        let frame = u128::from(self.mtu + ETHERNET_HEADER);
        let bps = u128::from(self.modelled(given).as_bps()) * frame / on_line;
        Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
    }

    /// True if the rate of such a line changes while it is in use.
    #[must_use]
    pub fn varies(&self) -> bool {
        self.variation != Variation::Steady
    }
}
