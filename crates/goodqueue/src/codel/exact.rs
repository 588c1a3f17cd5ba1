//! The control law in exact arithmetic: variants `rfc8289`, `cacm2012` and `ns2`.

use super::vars::{NEVER, recalled};
use super::{CodelParams, CodelVariant, CodelVars, Mark, Source};
use crate::time::{Duration, Instant};

/// When to drop next after a drop at `from`, the `count`-th of its episode: `from + interval /
/// sqrt(count)` (RFC 8289 §5.5), rounded down to the nanosecond. A count of 0 is taken as 1.
#[must_use]
pub fn control_law(from: Instant, interval: Duration, count: u32) -> Instant {
    // interval / sqrt(count) = sqrt(interval² / count): an integer root, equal on every platform.
    let square = u128::from(interval.as_nanos()) * u128::from(interval.as_nanos()) / u128::from(count.max(1));
    // The root is at most the interval, so it always fits.
    let spacing = u64::try_from(square.isqrt()).unwrap_or(u64::MAX);
    from + Duration::from_nanos(spacing)
}

/// The packet at the head of the queue, and whether it may be dropped.
struct HeadDecision {
    sojourn: Duration,
    ok_to_drop: bool,
}

pub(super) fn dequeue<S: Source>(
    vars: &mut CodelVars,
    now: Instant,
    params: &CodelParams,
    source: &mut S,
) -> bool {
    let Some(mut head) = judge_head(vars, now, params, source) else {
        vars.dropping = false;
        return false;
    };
    if vars.dropping {
        if !head.ok_to_drop {
            vars.dropping = false;
        }
        // A slow link may leave several drops due at once.
        while vars.dropping && now.as_nanos() >= vars.drop_next {
            // ns-2 counts a drop only if the packet behind it is above target too.
            let counts_first = !matches!(params.variant, CodelVariant::Ns2 | CodelVariant::Ns2CableLabs);
            if counts_first {
                vars.count = vars.count.wrapping_add(1);
            }
            if params.ecn && source.mark_head(Mark::Law) {
                if !counts_first {
                    vars.count = vars.count.wrapping_add(1);
                }
                // One mark per dequeue: the packet leaves, so there is no head to go on with.
                vars.drop_next = next_drop(vars, params.interval);
                break;
            }
            source.drop_head();
            head = match judge_head(vars, now, params, source) {
                Some(successor) => successor,
                None => {
                    vars.dropping = false;
                    return false;
                }
            };
            if !head.ok_to_drop {
                vars.dropping = false;
                break;
            }
            if !counts_first {
                vars.count = vars.count.wrapping_add(1);
            }
            vars.drop_next = next_drop(vars, params.interval);
        }
    } else if head.ok_to_drop {
        let delivered = if params.ecn && source.mark_head(Mark::Law) {
            // A marked packet is sent, so no successor has to be judged.
            Some(head)
        } else {
            source.drop_head();
            judge_head(vars, now, params, source)
        };
        // The phase begins even if the drop emptied the queue (RFC 8289 §5.5).
        enter(vars, now, params);
        // The successor is sent even if it is late: entering the phase drops one packet (RFC 8289
        // §5.5).
        let Some(successor) = delivered else { return false };
        head = successor;
    }
    if params.ce_threshold.is_some_and(|threshold| head.sojourn > threshold) {
        params.mark_late(source);
    }
    true
}

/// RFC 8289 §5.6 `dodequeue`, the packet left where it is.
#[inline]
fn judge_head<S: Source>(
    vars: &mut CodelVars,
    now: Instant,
    params: &CodelParams,
    source: &S,
) -> Option<HeadDecision> {
    let Some(head) = source.head() else {
        vars.first_above = NEVER;
        return None;
    };
    let sojourn = now.since(head.at);
    let ok_to_drop = judge(vars, now, params, sojourn, head.bytes, head.bytes_behind);
    Some(HeadDecision { sojourn, ok_to_drop })
}

/// Whether a packet of `bytes` may be dropped that was queued for `sojourn` and leaves `bytes_left`
/// behind.
#[inline]
pub(crate) fn judge(
    vars: &mut CodelVars,
    now: Instant,
    params: &CodelParams,
    sojourn: Duration,
    bytes: u32,
    bytes_left: u64,
) -> bool {
    // At most one packet left means that the queue does not stand: a drop would only idle the link.
    let one_packet = vars.one_packet(params, bytes);
    if params.variant.learns_packet_size() {
        vars.max_packet = one_packet;
    }
    if sojourn < params.target || bytes_left <= u64::from(one_packet) {
        vars.first_above = NEVER;
        false
    } else if vars.first_above == NEVER {
        vars.first_above = (now + wait(vars, now, params)).as_nanos();
        false
    } else {
        now.as_nanos() >= vars.first_above
    }
}

/// Starts a dropping phase at `now`.
pub(crate) fn enter(vars: &mut CodelVars, now: Instant, params: &CodelParams) {
    vars.dropping = true;
    vars.count = recalled_count(vars, now, params);
    vars.lastcount = vars.count;
    vars.drop_next = control_law(now, params.interval, vars.count).as_nanos();
}

/// Returns true if the next drop is due at `now`, and then schedules the one after it.
pub(crate) fn is_due(vars: &mut CodelVars, now: Instant, params: &CodelParams) -> bool {
    let due = now.as_nanos() >= vars.drop_next;
    if due {
        vars.count = vars.count.wrapping_add(1);
        vars.drop_next = next_drop(vars, params.interval);
    }
    due
}

/// One packet below target ends it.
pub(crate) fn leave(vars: &mut CodelVars) {
    vars.dropping = false;
}

/// The queue is empty.
pub(crate) fn emptied(vars: &mut CodelVars) {
    vars.first_above = NEVER;
    vars.dropping = false;
}

/// How long the queue must stay above target before dropping begins.
fn wait(vars: &CodelVars, now: Instant, params: &CodelParams) -> Duration {
    let recent = now.as_nanos().saturating_sub(vars.drop_next) < params.interval.saturating_mul(8).as_nanos();
    // Nichols' ns-2 code of May 2012 waits only for the current spacing of drops if the last phase
    // ended less than 8 intervals ago.
    if params.variant == CodelVariant::Ns2 && recent && vars.count > 1 {
        control_law(Instant::ZERO, params.interval, vars.count).since(Instant::ZERO)
    } else {
        params.interval
    }
}

/// Returns the first `count` of a dropping phase. A phase soon after another continues near the
/// last count.
fn recalled_count(vars: &CodelVars, now: Instant, params: &CodelParams) -> u32 {
    // `drop_next` still is the time that the last phase had scheduled (RFC 8289 §5.5). It can be in
    // the future.
    let since_last = now.as_nanos().saturating_sub(vars.drop_next);
    let within = |intervals| since_last < params.interval.saturating_mul(intervals).as_nanos();
    let count = recalled(vars, params, within);
    if params.variant == CodelVariant::Ns2 && params.recall.is_none() && count > 126 {
        // ns-2 codel.cc, unlike sfqcodel.cc and rule B as the drafts have it: above 126 the count
        // is scaled by 0.9844 instead. The factor applies to the count before the subtraction, and
        // the result is cut to an integer.
        return u32::try_from(u64::from(vars.count) * 9844 / 10_000).unwrap_or(count);
    }
    count
}

pub(super) fn next_drop(vars: &CodelVars, interval: Duration) -> u64 {
    // From the time that was due, not from now: the pace does not depend on how often the link asks
    // (RFC 8289 §5.5).
    control_law(Instant::from_nanos(vars.drop_next), interval, vars.count).as_nanos()
}
