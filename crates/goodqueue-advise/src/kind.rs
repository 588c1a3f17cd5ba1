//! What is assumed about a kind of line.

use goodqueue::{Duration, Rate};

use crate::bottleneck::Bottleneck;
use crate::encapsulation::Encapsulation;
use crate::port::Port;
use crate::shares::Shares;
use crate::variation::Variation;

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
