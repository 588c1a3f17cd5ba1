//! The lengths of packets, as they came and as the link has them.

use super::config::CakeConfig;
use crate::time::Instant;

/// The smallest and the largest packet: as they arrived, on the link, and since `overhead` was set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sizes {
    pub(super) network: Extremes,
    pub(super) adjusted: Extremes,
    pub(super) recent: Extremes,
    pub(super) most_memory: u64,
}

/// The smallest and the largest of some packets, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extremes {
    pub(super) least: u32,
    pub(super) most: u32,
}

impl Extremes {
    /// Includes a packet of `bytes`.
    #[inline]
    pub(super) fn widen(&mut self, bytes: u32) {
        self.least = self.least.min(bytes);
        self.most = self.most.max(bytes);
    }

    /// Returns these extremes with those of other packets.
    fn with(self, others: Self) -> Self {
        Self { least: self.least.min(others.least), most: self.most.max(others.most) }
    }
}

impl Default for Sizes {
    fn default() -> Self {
        // Linux `cake_init()` sets its 16-bit minima to all ones.
        let none = Extremes { least: u32::from(u16::MAX), most: 0 };
        Self { network: none, adjusted: none, recent: NO_SIZES, most_memory: 0 }
    }
}

impl Sizes {
    /// Returns the sizes for display. The link adds to small packets what it adds to large ones.
    pub(super) fn complete(self, config: &CakeConfig) -> Self {
        let recent = self.recent;
        if recent.least > recent.most {
            return self;
        }
        let sized =
            |size: &dyn Fn(u32) -> u32| Extremes { least: size(recent.least), most: size(recent.most) };
        Self {
            network: self.network.with(sized(&|bytes| config.on_the_network(bytes))),
            adjusted: self.adjusted.with(sized(&|bytes| config.on_the_link(bytes))),
            recent: NO_SIZES,
            ..self
        }
    }
}

/// A former configuration, the time until which it applied, and the number of packets that had
/// arrived by then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) until: Instant,
    pub(super) entered: u64,
    pub(super) by: CakeConfig,
}

/// Returns the configuration under which a packet that arrived at `at` was measured.
///
/// Of several configurations that applied at `at`, it is the last one: packets keep the time of
/// their arrival, but not whether they came before or after a change at this time. A number per
/// packet would cost memory in every queue.
#[inline]
pub(super) fn measured_by<'a>(former: &'a [Measured], now: &'a CakeConfig, at: Instant) -> &'a CakeConfig {
    former.iter().find(|earlier| at < earlier.until).map_or(now, |earlier| &earlier.by)
}

/// The sizes before the first packet.
const NO_SIZES: Extremes = Extremes { least: u32::MAX, most: 0 };
