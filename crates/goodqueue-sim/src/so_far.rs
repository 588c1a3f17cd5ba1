//! What a run has counted so far, for those who decide whether it has to continue.

use goodqueue::Instant;

use crate::traffic::{AnySource, RoundTrip, Source as _};

/// The counters of a run that is on its way.
#[derive(Clone, Copy)]
pub struct SoFar<'s> {
    now: Instant,
    sources: &'s [AnySource],
}

impl<'s> SoFar<'s> {
    pub(crate) const fn new(now: Instant, sources: &'s [AnySource]) -> Self {
        Self { now, sources }
    }

    /// Returns the time up to which the run has advanced.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Returns the payload bytes that a flow has delivered since the start of the run; 0 for an
    /// unknown flow.
    #[must_use]
    pub fn delivered(&self, flow: usize) -> u64 {
        self.sources.get(flow).map_or(0, AnySource::delivered)
    }

    /// Returns the latest pings of a flow, those of the warm-up included. It is empty for other
    /// flows. A run with millions of pings keeps only some of them.
    #[must_use]
    pub fn round_trips(&self, flow: usize) -> &'s [RoundTrip] {
        self.sources.get(flow).map_or(&[], AnySource::round_trips)
    }
}
