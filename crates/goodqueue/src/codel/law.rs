//! CoDel's control law for a queue: one call per dequeue, with the arithmetic of the variant.

use super::vars::below;
use super::{CeSelector, CodelParams, CodelVariant, CodelVars, Mark, Source, exact, linux};
use crate::gauge::Gauge;
use crate::packet::Ecn;
use crate::time::{Duration, Instant};

impl CodelVars {
    /// Drops and marks at the head of `source` until a packet may be sent, which is then at the
    /// head. Returns false if no packet is left.
    #[inline]
    pub fn dequeue<S: Source>(&mut self, now: Instant, params: &CodelParams, source: &mut S) -> bool {
        if source.head().is_some() {
            return self.judge(now, params, source);
        }
        self.emptied(below(params.variant));
        false
    }

    /// Returns true if the packet at the head, which arrived at `came`, may be sent without further
    /// work. That holds below target outside a dropping phase, which is nearly every packet of a
    /// controlled queue. False requires a call of [`Self::judge`].
    #[inline]
    pub(crate) fn passes(&mut self, now: Instant, law: &CodelLaw, came: Instant) -> bool {
        let passes = !self.dropping && now.since(came) < law.passed_below;
        if passes {
            self.first_above = law.below;
        }
        passes
    }

    /// Like [`Self::dequeue`], for a queue that is not empty.
    #[inline(never)]
    pub(crate) fn judge<S: Source>(&mut self, now: Instant, params: &CodelParams, source: &mut S) -> bool {
        match params.variant {
            CodelVariant::Linux => linux::dequeue::<linux::Linux73, S>(self, now, params, source),
            CodelVariant::Linux61 => linux::dequeue::<linux::Linux61, S>(self, now, params, source),
            _ => exact::dequeue(self, now, params, source),
        }
    }

    /// Like [`Self::judge`], for a bin of ns-2's `sfqcodel.cc`. A drop that empties the bin keeps
    /// the time since which it is above target.
    pub(crate) fn judge_bin<S: Source>(
        &mut self,
        now: Instant,
        params: &CodelParams,
        source: &mut S,
    ) -> bool {
        // ns-2 returns from an empty bin before it could reset the time.
        let first_above = self.first_above;
        let is_left = self.judge(now, params, source);
        if !is_left {
            self.first_above = first_above;
        }
        is_left
    }

    /// The time until the next drop; 0 while nothing is being dropped.
    #[must_use]
    pub fn until_drop(&self, params: &CodelParams, now: Instant) -> Gauge {
        // As `codel_dump_stats()` in Linux, which fills in a time only while dropping.
        if !self.dropping {
            return Gauge::Time(Duration::ZERO);
        }
        if params.variant.is_linux() {
            return linux::until(self.drop_next, now);
        }
        let next = Instant::from_nanos(self.drop_next);
        if next >= now { Gauge::Time(next.since(now)) } else { Gauge::Overdue(now.since(next)) }
    }
}

/// The parameters, with precomputed values for the common case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodelLaw {
    /// What the control law is told.
    pub params: CodelParams,
    /// A packet that waited for less may be sent outside a dropping phase. It is at most the
    /// target: the law decides about longer waits.
    passed_below: Duration,
    /// `first_above` after such a packet.
    pub(crate) below: u64,
}

impl CodelLaw {
    /// Returns the law of `params`.
    #[must_use]
    pub fn from_params(params: CodelParams) -> Self {
        let passed_below = match params.variant {
            // A threshold can be below the target, so every packet has to be judged.
            _ if params.ce_threshold.is_some() => Duration::ZERO,
            CodelVariant::Rfc8289 => params.target,
            CodelVariant::Linux | CodelVariant::Linux61 => linux::surely_below(params.target),
            // These laws learn the largest packet size from every packet that leaves.
            CodelVariant::Cacm2012 | CodelVariant::Ns2 | CodelVariant::Ns2CableLabs => Duration::ZERO,
        };
        Self { params, passed_below, below: below(params.variant) }
    }
}

impl CodelParams {
    /// Marks the packet at the head, which has waited for longer than `ce_threshold`, if the
    /// threshold is for such packets.
    pub(super) fn mark_late<S: Source>(&self, source: &mut S) {
        let is_selected = match self.ce_threshold_selector {
            None => true,
            Some(CeSelector::L4s) => matches!(source.head_ecn(), Some(Ecn::Ect1 | Ecn::Ce)),
        };
        if is_selected {
            source.mark_head(Mark::Threshold);
        }
    }

    /// Returns the age at `now` of a packet that arrived at `came`, on the variant's clock.
    pub(super) fn age(&self, came: Instant, now: Instant) -> Duration {
        match self.variant {
            CodelVariant::Linux | CodelVariant::Linux61 => linux::age(came, now),
            _ => now.since(came),
        }
    }

    /// Returns true if a packet that arrived at `came` has waited for less than the target at
    /// `now`, on the variant's clock.
    pub(super) fn is_below_target(&self, came: Instant, now: Instant) -> bool {
        match self.variant {
            CodelVariant::Linux | CodelVariant::Linux61 => linux::is_below_target(came, now, self.target),
            _ => now.since(came) < self.target,
        }
    }
}
