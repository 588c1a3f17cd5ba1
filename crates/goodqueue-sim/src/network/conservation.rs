//! The conservation check: counts of all packets that entered and left the network.

use goodqueue::Count;

/// Counts of all packets that entered and left the network, for the conservation check. Debug
/// builds only.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Conservation {
    pub(super) sent: Count,
    pub(super) arrived: Count,
    pub(super) dropped: Count,
}

impl Conservation {
    #[inline]
    pub(super) fn sent(&mut self, bytes: u32) {
        if cfg!(debug_assertions) {
            self.sent.add(bytes);
        }
    }

    #[inline]
    pub(super) fn arrived(&mut self, bytes: u32) {
        if cfg!(debug_assertions) {
            self.arrived.add(bytes);
        }
    }

    #[inline]
    pub(super) fn dropped(&mut self, bytes: u32) {
        if cfg!(debug_assertions) {
            self.dropped.add(bytes);
        }
    }
}
