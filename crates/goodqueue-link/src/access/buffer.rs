//! The buffer of a modem or of a head end.

use goodqueue::config::ConfigError;
use goodqueue::fifo::{BfifoConfig, PfifoHeadDropConfig};
use goodqueue::{AnyConfig, Rate};

/// A buffer without AQM, one for each direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// Time that a full buffer takes to drain, in milliseconds.
    pub milliseconds: u64,
    /// Fewest bytes.
    pub least: u64,
    /// Most bytes.
    pub most: u64,
    /// Which packet a full buffer drops.
    pub drops: Drops,
}

impl Buffer {
    /// Returns a buffer of `bytes` at every rate.
    #[must_use]
    pub const fn fixed(bytes: u64) -> Self {
        Self { milliseconds: 0, least: bytes, most: bytes, drops: Drops::Tail }
    }

    /// Returns its bytes in a direction of this rate.
    #[must_use]
    pub fn bytes(&self, rate: Rate) -> u64 {
        // The highest rates times milliseconds do not fit; `most` cuts such a product anyway.
        (rate.as_bps() / 8).saturating_mul(self.milliseconds).div_euclid(1000).clamp(self.least, self.most)
    }
}

/// Which packet a full buffer drops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drops {
    /// The packet that arrives.
    Tail,
    /// The packet that has waited longest.
    Head,
}

impl Drops {
    /// Returns the queue of such a buffer.
    ///
    /// # Errors
    /// The discipline does not hold this number of bytes; the message names the range.
    pub fn qdisc(self, bytes: u64) -> Result<AnyConfig, ConfigError> {
        let limit = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        match self {
            Self::Tail => BfifoConfig::new(limit(bytes)).map(AnyConfig::from),
            // Linux counts a buffer that drops at its head in packets.
            Self::Head => PfifoHeadDropConfig::new(limit((bytes / FULL_FRAME).max(2))).map(AnyConfig::from),
        }
    }
}

/// A full packet with its Ethernet header.
const FULL_FRAME: u64 = 1514;
