//! The weighted round robin between a low-latency queue and a classic queue.

/// The weights of the two queues. Their unit does not matter.
///
/// The scheduler has a credit. The classic queue sends while its credit is above 0 or the other
/// queue is empty. Only a packet that another queue waited for changes the credit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Weights {
    /// Weight of the low-latency queue.
    pub(crate) low_latency: u32,
    /// Weight of the classic queue.
    pub(crate) classic: u32,
}

impl Weights {
    /// Returns the credit of two empty queues: the low-latency queue goes first.
    pub(crate) const fn first_credit(self, mtu: u32) -> i64 {
        (self.classic as i64 - self.low_latency as i64) * mtu as i64
    }

    /// Returns the change of the credit by a low-latency packet of `bytes`, for which the classic
    /// queue waited.
    pub(crate) fn by_low_latency(self, bytes: u32) -> i64 {
        // A packet of no bytes counts as one, or the other queue would wait for ever.
        i64::from(self.classic).saturating_mul(i64::from(bytes.max(1)))
    }

    /// Returns the change of the credit by a classic packet of `bytes`, for which the low-latency
    /// queue waited.
    pub(crate) fn by_classic(self, bytes: u32) -> i64 {
        // A packet without bytes has a cost, too, or its queue would be served for ever.
        -i64::from(self.low_latency).saturating_mul(i64::from(bytes.max(1)))
    }
}
