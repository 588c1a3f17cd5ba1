//! The AQM of the classic queue: the PIE of RFC 8034, which drops arriving packets.

use super::config::{DocsisConfig, time_to_send};
use crate::pie::{Delays, MEAN_PACKET, ONE};
use crate::random::Random;
use crate::time::{Duration, Rate};

/// The variables of the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ClassicAqm {
    /// `drop_prob_` in units of 10^-18. It may exceed 1, since it is that of a mean packet.
    pub(super) probability: u64,
    /// `accu_prob_`: the probabilities since the last drop.
    pub(super) accumulated: u64,
    /// Queue delay at the last update, in ns.
    pub(super) delay: u64,
    /// `burst_allowance_`: time without drops.
    pub(super) burst: Duration,
    pub(super) state: Burst,
}

/// `burst_state_`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Burst {
    /// Less than a third of the buffer has been in use.
    None,
    /// No packet of this burst was dropped, or the queue has been quiet for this number of updates.
    Begun(u32),
    /// The first drop armed the burst allowance.
    Protecting,
}

impl ClassicAqm {
    pub(super) const fn new() -> Self {
        Self { probability: 0, accumulated: 0, delay: 0, burst: Duration::ZERO, state: Burst::None }
    }

    /// Does one periodic update of a queue of `backlog` bytes, which gets `rate` of the link.
    pub(super) fn update(&mut self, config: &DocsisConfig, rate: Rate, backlog: u64) {
        let delay = time_to_send(backlog, rate);
        self.probability = if self.burst.is_zero() {
            config.pie.after_update(self.probability, Delays { now: delay, before: self.delay }, backlog)
        } else {
            0
        };
        self.burst = self.burst.saturating_sub(config.pie.tupdate());
        let half = config.pie.target().as_nanos() / 2;
        let is_quiet = delay < half && self.delay < half && self.probability == 0 && self.burst.is_zero();
        let enough = BURST_RESET.as_nanos() / config.pie.tupdate().as_nanos().max(1);
        self.state = match self.state {
            Burst::Protecting if is_quiet => Burst::Begun(0),
            // RFC 8034: the quiet time must exceed the timeout, so 62 updates of 16 ms are one too
            // few.
            Burst::Begun(updates) if is_quiet && u64::from(updates) >= enough => Burst::None,
            Burst::Begun(updates) if is_quiet => Burst::Begun(updates + 1),
            Burst::Begun(_) => Burst::Begun(0),
            unchanged => unchanged,
        };
        self.delay = delay;
    }

    /// Decides whether to drop a packet of `bytes` that arrives behind `backlog` bytes
    /// (`drop_early`).
    pub(super) fn drops(
        &mut self,
        config: &DocsisConfig,
        backlog: u64,
        bytes: u32,
        random: &mut impl Random,
    ) -> bool {
        if !self.burst.is_zero() {
            return false;
        }
        if self.probability == 0 {
            self.accumulated = 0;
        }
        if self.state == Burst::None {
            if backlog < config.classic_limit / 3 {
                return false;
            }
            self.state = Burst::Begun(0);
        }
        // The sum grows before the queue is looked at, so spared packets count (the authors' ns-2
        // code, in its DOCSIS mode).
        let probability = config.pie.of_packet(self.probability, bytes);
        self.accumulated = self.accumulated.saturating_add(probability);
        if self.spares(config, backlog) || self.accumulated < PROB_LOW {
            return false;
        }
        if self.accumulated < PROB_HIGH && !config.pie.draw(probability, random) {
            return false;
        }
        self.accumulated = 0;
        if let Burst::Begun(_) = self.state {
            self.state = Burst::Protecting;
            self.burst = config.max_burst;
        }
        true
    }

    /// Returns true if the queue is too short for a drop.
    pub(super) fn spares(&self, config: &DocsisConfig, backlog: u64) -> bool {
        // RFC 8034 appendix A: PROB_DAMP is 0.2.
        let is_short = self.delay < config.pie.target().as_nanos() / 2 && self.probability < ONE / 5;
        is_short || backlog <= 2 * MEAN_PACKET
    }

    /// Forgets the probabilities so far, after a drop for lack of space.
    pub(super) const fn lost_one(&mut self) {
        self.accumulated = 0;
    }

    /// Returns the base probability of the coupling in units of 10^-18: the root of the drop
    /// probability.
    pub(super) fn base(&self) -> u128 {
        (u128::from(self.probability) * u128::from(ONE)).isqrt()
    }
}

/// RFC 8034 appendix A: PROB_LOW and PROB_HIGH, 0.85 and 8.5.
pub(super) const PROB_LOW: u64 = ONE / 100 * 85;
pub(super) const PROB_HIGH: u64 = ONE / 2 * 17;
/// RFC 8034 appendix A: BURST_RESET_TIMEOUT.
const BURST_RESET: Duration = Duration::from_secs(1);
