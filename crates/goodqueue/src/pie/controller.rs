//! PIE's control law without a queue.

use super::config::PieConfig;
use super::law::{Vars, catch_up};
use crate::random::Random;
use crate::time::{Duration, Instant};
use crate::verdict::Verdict;

/// PIE for a program that already has a queue.
///
/// Ask it about each item when the item arrives, and tell it about each item that leaves. The
/// sojourn time of leaving items moves the drop probability; arriving items are dropped or marked
/// at random.
///
/// ```
/// use goodqueue::pie::{Arriving, Controller, PieConfig};
/// use goodqueue::{Duration, Instant, Verdict, random::Source};
///
/// let mut pie = Controller::new(PieConfig::default(), Source::seeded(1));
/// let mut rejected = 0;
/// for millis in 0..10_000 {
///     let now = Instant::ZERO + Duration::from_millis(millis);
///     // Requests wait for 40 ms although PIE aims at 15, and 100 of them are queued.
///     let request = Arriving { bytes: 1_500, backlog: 150_000, can_mark: false };
///     rejected += u32::from(pie.judge(now, request) == Verdict::Drop);
///     pie.departed(now, Duration::from_millis(40), 1_500, 150_000);
/// }
/// assert!(rejected > 1_000, "{rejected} of 10,000");
/// # Ok::<(), goodqueue::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Controller<R> {
    config: PieConfig,
    vars: Vars,
    random: R,
    /// Latest time seen.
    now: Instant,
    /// Time of the next update; 0 before the first call.
    update_at: Instant,
}

/// An item that arrives at a queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Arriving {
    /// Its size in bytes. Count an item without a size as 1,500.
    pub bytes: u32,
    /// Bytes queued before it.
    pub backlog: u64,
    /// True if it can carry a mark. Marks need `ecn` in the configuration.
    pub can_mark: bool,
}

impl<R: Random> Controller<R> {
    /// Returns a controller that draws from `random`. The limit of `config` is not used: the queue
    /// has its own.
    #[must_use]
    pub fn new(config: PieConfig, random: R) -> Self {
        // `onoff` has no effect: the controller does not know the buffer of which a third would be
        // in use.
        let vars = Vars { active: true, ..config.fresh() };
        Self { config, vars, random, now: Instant::ZERO, update_at: Instant::ZERO }
    }

    /// Decides about an item that arrives at `now`.
    pub fn judge(&mut self, now: Instant, item: Arriving) -> Verdict {
        self.update(now, item.backlog);
        self.vars.arm(&self.config);
        if !self.vars.congested(&self.config, item.backlog, item.bytes, &mut self.random) {
            return Verdict::Pass;
        }
        // RFC 8033 §5.1: above a probability of 10 % even items that can be marked are dropped.
        if item.can_mark && self.vars.may_mark(&self.config, 10) {
            return Verdict::Mark;
        }
        self.vars.lost_one();
        Verdict::Drop
    }

    /// Tells the controller that an item of `bytes` left at `now` after `sojourn`, with `backlog`
    /// bytes queued behind it.
    pub fn departed(&mut self, now: Instant, sojourn: Duration, bytes: u32, backlog: u64) {
        // Updates that were due before the item left still count it.
        self.update(now, backlog.saturating_add(u64::from(bytes)));
        self.vars.departed(&self.config, self.now, self.now - sojourn, bytes, backlog);
    }

    /// Returns the drop probability, from 0 to 1.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.config.fraction(self.vars.probability)
    }

    fn update(&mut self, now: Instant, backlog: u64) {
        // As in the contract of disciplines, a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        if self.update_at <= self.now {
            self.update_at = catch_up(&self.config, &mut self.vars, self.update_at, self.now, backlog);
        }
    }
}
