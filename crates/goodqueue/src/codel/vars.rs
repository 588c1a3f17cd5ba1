//! The state of CoDel for one queue.

use super::{CodelParams, CodelVariant, Recall, Startup};

/// What the control law remembers between packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodelVars {
    /// When the queue will have been above target for an interval (`NEVER`: it is below). `linux`:
    /// ticks of 1024 ns, 0 = below.
    pub(super) first_above: u64,
    /// When to drop next, while dropping. `linux`: ticks.
    pub(super) drop_next: u64,
    /// Drops since the dropping phase started, as the control law counts them.
    pub(super) count: u32,
    /// `count` when dropping last began.
    pub(super) lastcount: u32,
    /// Largest packet seen (`cacm2012`, `ns2`).
    pub(super) max_packet: u32,
    /// `linux`: 1/sqrt(count) as a 16-bit fraction.
    pub(super) rec_inv_sqrt: u16,
    pub(super) dropping: bool,
}

const _: () = assert!(size_of::<CodelVars>() <= 32, "a thousand flows' state must stay in the cache");

impl Default for CodelVars {
    fn default() -> Self {
        Self {
            first_above: NEVER,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            max_packet: FIRST_MAX_PACKET,
            rec_inv_sqrt: 0,
            dropping: false,
        }
    }
}

impl CodelVars {
    /// The state of a queue that was never above target, for this variant.
    #[must_use]
    pub fn new(variant: CodelVariant) -> Self {
        match variant {
            _ if variant.is_linux() => Self { first_above: below(variant), ..Self::default() },
            _ => Self::default(),
        }
    }

    /// The state of a queue that has seen no packet.
    #[must_use]
    pub fn starting(params: &CodelParams) -> Self {
        let fresh = Self::new(params.variant);
        match (params.startup, params.variant) {
            // 0 means "below" in Linux, so the earliest time above target is 1.
            (Some(Startup::Ns2), variant) if variant.is_linux() => Self { first_above: 1, ..fresh },
            // ns-2 has -1, which is before every time. The earliest instant suffices here, because
            // the law asks for "at or after".
            (Some(Startup::Ns2), _) => Self { first_above: 0, ..fresh },
            _ => fresh,
        }
    }

    /// Returns the bytes of one packet, for the question whether more than one packet is behind a
    /// packet of `bytes`.
    #[inline]
    pub(super) fn one_packet(&self, params: &CodelParams, bytes: u32) -> u32 {
        // The paper and ns-2 take the largest packet seen (`maxpacket`), RFC 8289 §5.4 and Linux
        // the MTU.
        if params.variant.learns_packet_size() { self.max_packet.max(bytes) } else { params.mtu }
    }

    /// Tells the law about a packet of `bytes` in another queue.
    pub(crate) fn know_largest(&mut self, bytes: u32) {
        self.max_packet = self.max_packet.max(bytes);
    }

    /// A dequeue found the queue empty; `below` is `first_above` of a queue below target.
    #[inline]
    pub(crate) const fn emptied(&mut self, below: u64) {
        self.first_above = below;
        self.dropping = false;
    }

    /// Ends the dropping phase.
    pub(crate) const fn stop(&mut self) {
        self.dropping = false;
    }

    /// Drops since the dropping phase started, as the control law counts them.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Returns the count at the start of the last dropping phase.
    #[must_use]
    pub const fn lastcount(&self) -> u32 {
        self.lastcount
    }

    /// Adds drops made outside the law, as `fq_codel` does at an overflow.
    pub const fn add_to_count(&mut self, drops: u32) {
        // The kernel's count is modulo 2^32 too.
        self.count = self.count.wrapping_add(drops);
    }

    /// True while the law is dropping.
    #[must_use]
    pub const fn is_dropping(&self) -> bool {
        self.dropping
    }
}

/// "Below target": no instant of interest is that late.
pub(super) const NEVER: u64 = u64::MAX;

/// `first_above` of a queue that is below target.
pub(super) const fn below(variant: CodelVariant) -> u64 {
    if variant.is_linux() { 0 } else { NEVER }
}

/// Returns the first `count` of a dropping phase. `within` tells whether the last phase ended less
/// than a number of intervals ago.
pub(super) fn recalled<N: From<u8>>(
    vars: &CodelVars,
    params: &CodelParams,
    within: impl Fn(N) -> bool,
) -> u32 {
    let (intervals, recalled) = match params.recall() {
        Recall::A => (16, vars.count.saturating_sub(1)),
        Recall::B => (8, vars.count.saturating_sub(2)),
        // The count may have wrapped since; the difference is still right.
        Recall::C => (16, vars.count.wrapping_sub(vars.lastcount)),
    };
    // RFC 8289 §5.5 asks for more than one; the others for a count that leaves at least one.
    let enough = if params.recall() == Recall::C { 2 } else { 1 };
    if recalled >= enough && within(N::from(intervals)) { recalled } else { 1 }
}

/// ns-2 codel.cc: the largest packet seen starts at 256 bytes.
const FIRST_MAX_PACKET: u32 = 256;
