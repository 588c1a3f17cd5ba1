//! The control law with the kernel's integers: a clock of 1024 ns in 32 bits, an inverse square
//! root of 16 bits.

use super::vars::recalled;
use super::{CodelParams, CodelVars, Mark, Source};
use crate::gauge::Gauge;
use crate::time::{Duration, Instant};

/// A time of the kernel's CoDel, in units of 1024 ns modulo 2^32. The sign of the difference tells
/// which of two times is later, so they must be less than 2199 s apart.
type Ticks = u32;

/// A packet that has waited for less than this is below `target`, however its times are cut to
/// ticks.
pub(super) fn surely_below(target: Duration) -> Duration {
    // Both times of a packet are cut separately, so their difference can be a tick too large.
    span(ticks(target.as_nanos()).saturating_sub(1))
}

/// What differs between versions of the kernel.
pub(super) trait Version {
    /// After this number of drops in one dequeue, the next one is scheduled from the present time.
    const MOST_DROPS: u32;
    /// Shortest time between two drops.
    const SHORTEST_STEP: Ticks;
}

/// Linux 7.3.
pub(super) struct Linux73;

/// Linux 6.1.
pub(super) struct Linux61;

impl Version for Linux73 {
    // Linux `codel.h`: CODEL_MAX_DROPS_PER_DEQUEUE.
    const MOST_DROPS: u32 = 256;
    const SHORTEST_STEP: Ticks = 1;
}

impl Version for Linux61 {
    // Linux 6.1 has neither bound.
    const MOST_DROPS: u32 = u32::MAX;
    const SHORTEST_STEP: Ticks = 0;
}

pub(super) fn dequeue<V: Version, S: Source>(
    vars: &mut CodelVars,
    now: Instant,
    params: &CodelParams,
    source: &mut S,
) -> bool {
    let clock = ticks(now.as_nanos());
    let interval = ticks(params.interval.as_nanos());
    let Some(mut head) = judge_head(vars, clock, params, source) else {
        vars.dropping = false;
        return false;
    };
    if vars.dropping {
        let mut drops: u32 = 0;
        if !head.should_drop {
            vars.dropping = false;
        }
        while vars.dropping && !is_before(clock, drop_next(vars)) {
            // As in Linux, a wrap does no harm, because nothing divides by the count.
            vars.count = vars.count.wrapping_add(1);
            // One step per drop instead of a root: cheap, and still converging when it is used.
            newton_step(vars);
            if params.ecn && source.mark_head(Mark::Law) {
                vars.drop_next = control_law::<V>(vars, drop_next(vars), interval);
                break;
            }
            source.drop_head();
            drops = drops.saturating_add(1);
            head = match judge_head(vars, clock, params, source) {
                Some(successor) => successor,
                None => {
                    vars.dropping = false;
                    return false;
                }
            };
            if head.should_drop {
                // Linux 7.3 bounds the work of one call: it starts anew from the present time.
                let from = if drops < V::MOST_DROPS { drop_next(vars) } else { clock };
                vars.drop_next = control_law::<V>(vars, from, interval);
            } else {
                vars.dropping = false;
            }
        }
    } else if head.should_drop {
        // A marked packet is sent; a dropped one has a successor that must be judged.
        let delivered = if params.ecn && source.mark_head(Mark::Law) {
            Some(head)
        } else {
            source.drop_head();
            judge_head(vars, clock, params, source)
        };
        // As in Linux, the phase begins even if the drop emptied the queue.
        vars.dropping = true;
        let since_last = clock.wrapping_sub(drop_next(vars));
        vars.count =
            // The kernel multiplies in 32 bits, so the product of a long interval wraps.
            recalled(vars, params, |intervals| is_before(since_last, interval.wrapping_mul(intervals)));
        // A resumed count improves the root of the last phase. A new one starts at 1.
        if vars.count > 1 {
            newton_step(vars);
        } else {
            // 1/sqrt(1) is the largest fraction of 16 bits.
            vars.rec_inv_sqrt = u16::MAX;
        }
        vars.lastcount = vars.count;
        vars.drop_next = control_law::<V>(vars, clock, interval);
        let Some(successor) = delivered else { return false };
        head = successor;
    }
    let threshold = params.ce_threshold.map(|threshold| ticks(threshold.as_nanos()));
    if threshold.is_some_and(|threshold| is_before(threshold, head.delay)) {
        params.mark_late(source);
    }
    true
}

/// The age of a packet in the kernel's unit of time.
pub(super) fn age(came: Instant, now: Instant) -> Duration {
    span(ticks(now.as_nanos()).wrapping_sub(ticks(came.as_nanos())))
}

/// Returns true if a packet that arrived at `came` is below the target.
pub(super) fn is_below_target(came: Instant, now: Instant, target: Duration) -> bool {
    is_below(ticks(now.as_nanos()).wrapping_sub(ticks(came.as_nanos())), target)
}

fn is_below(delay: Ticks, target: Duration) -> bool {
    is_before(delay, ticks(target.as_nanos()))
}

/// How long until `due`, on the kernel's clock.
pub(super) fn until(due: u64, now: Instant) -> Gauge {
    let clock = ticks(now.as_nanos());
    let left = ticks_of(due).wrapping_sub(clock);
    if is_before(ticks_of(due), clock) {
        Gauge::Overdue(span(left.wrapping_neg()))
    } else {
        Gauge::Time(span(left))
    }
}

fn span(ticks: Ticks) -> Duration {
    Duration::from_nanos(u64::from(ticks) << 10)
}

/// The packet at the head of the queue, and whether it is to be dropped.
struct HeadDecision {
    delay: Ticks,
    should_drop: bool,
}

fn judge_head<S: Source>(
    vars: &mut CodelVars,
    clock: Ticks,
    params: &CodelParams,
    source: &S,
) -> Option<HeadDecision> {
    let Some(head) = source.head() else {
        vars.first_above = 0;
        return None;
    };
    let delay = clock.wrapping_sub(ticks(head.at.as_nanos()));
    // Linux takes the packet from the backlog first and compares the rest.
    let small = head.bytes_behind <= u64::from(params.mtu);
    let should_drop = if small || is_below(delay, params.target) {
        vars.first_above = 0;
        false
    } else if vars.first_above == 0 {
        // The kernel uses 0 for "below target". A clock that wraps to 0 costs one interval, as
        // there.
        vars.first_above = u64::from(clock.wrapping_add(ticks(params.interval.as_nanos())));
        false
    } else {
        // Strictly after, where RFC 8289 has "at or after".
        is_before(ticks_of(vars.first_above), clock)
    };
    Some(HeadDecision { delay, should_drop })
}

/// One step of Newton's iteration for 1/sqrt(count), in the kernel's fixed point; overflow wraps as
/// it does there.
fn newton_step(vars: &mut CodelVars) {
    let root = u64::from(vars.rec_inv_sqrt) << 16;
    let square = (root * root) >> 32;
    // The shift by 2 keeps the next product in 64 bits. The shift by 31 makes up for it and halves,
    // which the iteration asks for.
    let rest = (3_u64 << 32).wrapping_sub(u64::from(vars.count).wrapping_mul(square)) >> 2;
    let improved = rest.wrapping_mul(root) >> 31;
    vars.rec_inv_sqrt = fraction_of(improved >> 16);
}

/// Returns the time of the next drop.
fn control_law<V: Version>(vars: &CodelVars, from: Ticks, interval: Ticks) -> u64 {
    // As the kernel's `reciprocal_scale()`: the upper half of a product replaces a division.
    let step = ticks_of((u64::from(interval) * (u64::from(vars.rec_inv_sqrt) << 16)) >> 32);
    u64::from(from.wrapping_add(step.max(V::SHORTEST_STEP)))
}

fn drop_next(vars: &CodelVars) -> Ticks {
    ticks_of(vars.drop_next)
}

/// `a` is before `b` on a clock that wraps.
const fn is_before(a: Ticks, b: Ticks) -> bool {
    a.wrapping_sub(b) > u32::MAX >> 1
}

fn ticks(nanos: u64) -> Ticks {
    // A shift instead of a division by 1000: a tick of 1024 ns (`CODEL_SHIFT`).
    ticks_of(nanos >> 10)
}

#[expect(clippy::cast_possible_truncation, reason = "the kernel's clock is modulo 2^32")]
const fn ticks_of(wide: u64) -> Ticks {
    wide as u32
}

#[expect(clippy::cast_possible_truncation, reason = "the kernel stores the low 16 bits")]
const fn fraction_of(wide: u64) -> u16 {
    wide as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codel::CodelVariant;

    #[test]
    fn the_inverse_root_walks_the_kernels_values() {
        let mut vars = CodelVars { rec_inv_sqrt: u16::MAX, ..CodelVars::new(CodelVariant::Linux) };
        let mut roots = alloc::vec::Vec::new();
        for count in 1..=8 {
            vars.count = count;
            if count > 1 {
                newton_step(&mut vars);
            }
            roots.push(vars.rec_inv_sqrt);
        }
        // The first step from 1 gives (3 - 2) / 2 = 0.5 in place of 0.707. Later steps approach the
        // roots again.
        assert_eq!(roots, [65535, 32769, 36864, 31968, 28935, 26481, 24588, 23037]);
    }

    #[test]
    fn earlier_and_later_survive_the_wrap_of_the_clock() {
        assert!(is_before(u32::MAX, 3));
        assert!(!is_before(3, u32::MAX));
        assert!(!is_before(7, 7));
    }
}
