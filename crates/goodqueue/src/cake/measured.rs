//! The lengths of packets, as they came and as the link has them.

use super::config::CakeConfig;
use crate::time::Instant;

/// The smallest and the largest packet: as they arrived, on the link, and since `overhead` was set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sizes {
    pub(super) network: (u32, u32),
    pub(super) adjusted: (u32, u32),
    pub(super) recent: (u32, u32),
    pub(super) most_memory: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        let none = (u32::from(u16::MAX), 0);
        Self { network: none, adjusted: none, recent: NO_SIZES, most_memory: 0 }
    }
}

impl Sizes {
    /// Returns the sizes for display. The link adds to small packets what it adds to large ones.
    pub(super) fn complete(self, config: &CakeConfig) -> Self {
        let (least, most) = self.recent;
        if least > most {
            return self;
        }
        let widened =
            |old: (u32, u32), size: &dyn Fn(u32) -> u32| (old.0.min(size(least)), old.1.max(size(most)));
        Self {
            network: widened(self.network, &|bytes| config.on_the_network(bytes)),
            adjusted: widened(self.adjusted, &|bytes| config.on_the_link(bytes)),
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
#[inline]
pub(super) fn measured_by<'a>(former: &'a [Measured], now: &'a CakeConfig, at: Instant) -> &'a CakeConfig {
    former.iter().find(|earlier| at < earlier.until).map_or(now, |earlier| &earlier.by)
}

/// The sizes before the first packet.
const NO_SIZES: (u32, u32) = (u32::MAX, 0);
