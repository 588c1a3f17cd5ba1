//! CoDel's control law without a queue.

use super::exact::{enter, judge, next_drop};
use super::vars::NEVER;
use super::{CodelConfig, CodelParams, CodelVariant, CodelVars};
use crate::time::{Duration, Instant};
use crate::verdict::Verdict;

/// CoDel for a program that already has a queue: an RPC server, a DNS worker, a game server, the
/// datagram queue of a QUIC connection.
///
/// Ask it about each item when the item reaches the head of the queue. On [`Verdict::Drop`], reject
/// the item and ask about the next one. The arithmetic is that of RFC 8289, exact to the
/// nanosecond; a queue that follows the verdicts drops the same items as [`Codel`](super::Codel)
/// with variant `rfc8289`.
///
/// ```
/// use goodqueue::codel::{CodelConfig, Controller, Waiting};
/// use goodqueue::{Duration, Instant, Verdict};
///
/// // Requests may wait for 20 ms; a queue that stays longer for half a second is too long.
/// let config = CodelConfig::default()
///     .with_interval(Duration::from_millis(500))?
///     .with_target(Duration::from_millis(20))?;
/// let mut codel = Controller::new(&config);
/// let mut served = 0;
/// for millis in 0..1000 {
///     let now = Instant::ZERO + Duration::from_millis(millis);
///     // Every request has waited for 50 ms, and others wait behind it.
///     let request = Waiting { sojourn: Duration::from_millis(50), ..Waiting::default() };
///     served += u32::from(codel.judge(now, request) == Verdict::Pass);
/// }
/// assert_eq!(served, 999, "the first rejection comes after half a second");
/// # Ok::<(), goodqueue::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Controller {
    params: CodelParams,
    vars: CodelVars,
    /// The last verdict was a drop while dropping: the next drop is not yet scheduled.
    is_unscheduled: bool,
    /// Latest time seen.
    now: Instant,
}

/// An item at the head of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Waiting {
    /// How long the item has been queued.
    pub sojourn: Duration,
    /// True if nothing is queued behind it. For packets, RFC 8289 §5.4: at most one MTU of bytes.
    pub is_last: bool,
    /// True if it can carry a mark. Marks need `ecn` in the configuration.
    pub can_mark: bool,
}

impl Controller {
    /// Returns a controller with target, interval, `ecn`, `ce_threshold` and `recall` of `config`.
    #[must_use]
    pub fn new(config: &CodelConfig) -> Self {
        let params = CodelParams { variant: CodelVariant::Rfc8289, ..*config.params() };
        Self { params, vars: CodelVars::starting(&params), is_unscheduled: false, now: Instant::ZERO }
    }

    /// Decides about the item at the head of the queue at `now`.
    pub fn judge(&mut self, now: Instant, item: Waiting) -> Verdict {
        // As in the contract of disciplines, a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        let clock = self.now;
        let params = &self.params;
        // Items need not have bytes. Both extremes answer the law's comparison whatever the MTU is,
        // and the RFC's law ignores the bytes of the item itself.
        let bytes_left = if item.is_last { 0 } else { u64::MAX };
        let is_above = judge(&mut self.vars, clock, params, item.sojourn, 0, bytes_left);
        let marks = params.ecn && item.can_mark;
        let signal = if marks { Verdict::Mark } else { Verdict::Drop };
        let was_unscheduled = core::mem::take(&mut self.is_unscheduled);
        if !is_above {
            self.vars.dropping = false;
            return self.above_threshold(item);
        }
        if !self.vars.dropping {
            enter(&mut self.vars, clock, params);
            return signal;
        }
        // The item is above target, so the drop before it is now followed by another one.
        if was_unscheduled {
            self.vars.drop_next = next_drop(&self.vars, params.interval);
        }
        if clock.as_nanos() < self.vars.drop_next {
            return self.above_threshold(item);
        }
        self.vars.count = self.vars.count.wrapping_add(1);
        if marks {
            self.vars.drop_next = next_drop(&self.vars, params.interval);
        }
        // RFC 8289 §5.6 schedules the next drop only if the next item is above target too.
        self.is_unscheduled = !marks;
        signal
    }

    /// Tells the controller that the queue was found empty.
    pub const fn emptied(&mut self) {
        self.is_unscheduled = false;
        self.vars.emptied(NEVER);
    }

    /// Returns true while the controller drops or marks.
    #[must_use]
    pub const fn is_dropping(&self) -> bool {
        self.vars.dropping
    }

    fn above_threshold(&self, item: Waiting) -> Verdict {
        match self.params.ce_threshold {
            // As in Linux, `ce_threshold` marks without `ecn`, which governs the control law only.
            Some(threshold) if item.can_mark && item.sojourn > threshold => Verdict::Mark,
            _ => Verdict::Pass,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::codel::Codel;
    use crate::config::{Configure, Link, Settings, Value};
    use crate::packet::Ecn;
    use crate::packet::story::Datagram;
    use crate::qdisc::Qdisc;
    use crate::random::{Random, Xoshiro256PlusPlus};
    use std::collections::VecDeque;
    use std::vec::Vec;

    #[test]
    fn a_queue_that_follows_the_verdicts_drops_what_codel_drops() {
        for (seed, ecn) in [(1, Ecn::NotEct), (2, Ecn::Ect0), (3, Ecn::NotEct)] {
            let rfc = Settings::new().with("variant", Value::Choice("rfc8289"));
            let config = CodelConfig::from_settings(&rfc, &Link::default()).expect("valid");
            let config = config.with_ecn(true).expect("valid");
            let mut random = Xoshiro256PlusPlus::new(seed);
            let mut codel = Codel::new(config);
            let mut control = Controller::new(&config);
            let mut own: VecDeque<(Instant, Datagram)> = VecDeque::new();
            let mut now = Instant::ZERO;
            let mut dropped = 0;
            let mut drops = 0;
            for id in 0..200_000 {
                now += Duration::from_micros(u64::from(random.below(1_500)));
                // Slightly more arrivals than departures, so that the queue stands.
                if random.below(100) < 52 {
                    let datagram = Datagram::new(1514, ecn).numbered(id);
                    codel.enqueue(now, datagram, &mut |_, _| drops += 1);
                    if own.len() < 1000 {
                        own.push_back((now, datagram));
                    } else {
                        dropped += 1;
                    }
                    continue;
                }
                let sent = codel.dequeue(now, &mut |_, _| drops += 1);
                let mut mine = None;
                while let Some((came, mut datagram)) = own.pop_front() {
                    let item = Waiting {
                        sojourn: now.since(came),
                        // One packet of 1514 bytes is not more than the MTU (RFC 8289 §5.4).
                        is_last: own.len() <= 1,
                        can_mark: ecn.is_capable(),
                    };
                    match control.judge(now, item) {
                        Verdict::Drop => dropped += 1,
                        Verdict::Mark => {
                            datagram.ecn = Ecn::Ce;
                            mine = Some(datagram);
                        }
                        Verdict::Pass => mine = Some(datagram),
                    }
                    if mine.is_some() {
                        break;
                    }
                }
                if mine.is_none() {
                    control.emptied();
                }
                assert_eq!(sent, mine, "operation {id}");
                assert_eq!(drops, dropped, "operation {id}");
            }
            let signals: Vec<u64> = [drops, codel.stats().marked.packets].into();
            assert!(signals.iter().sum::<u64>() > 100, "{signals:?}");
        }
    }
}
