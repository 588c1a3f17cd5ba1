//! The clock by which Linux runs periodic work, for the variants that behave as Linux does.
//!
//! A jiffy is 1 ms (HZ = 1000). A kernel timer never fires early: one for less than 63 jiffies
//! ahead fires a jiffy late, a longer one at the next multiple of 8, 64, ... jiffies, since the
//! wheel that holds it has eight times coarser cogs from level to level (Linux
//! `kernel/time/timer.c` since 4.8).

use crate::time::{Duration, Instant};

const NANOS: u64 = 1_000_000;

/// When a timer fires that is set at `now` for `span` later.
pub(crate) fn fires(now: Instant, span: Duration) -> Instant {
    let ahead = span.as_nanos().div_ceil(NANOS);
    let expires = (now.as_nanos() / NANOS).saturating_add(ahead).saturating_add(AT_BOOT);
    let mut shift = 0;
    // `LVL_START`: of the 64 cogs of a level, the last one is left for rounding up.
    while shift < MAX_SHIFT && ahead >= 63 << shift {
        shift += 3;
    }
    // The next cog, so that the timer never fires early.
    let cogs = (expires >> shift).saturating_add(1);
    Instant::from_nanos((cogs << shift).saturating_sub(AT_BOOT).saturating_mul(NANOS))
}

/// The same on the timer wheel before Linux 4.8, which fires exactly at the requested jiffy.
pub(crate) fn fires_on_time(now: Instant, span: Duration) -> Instant {
    // A timer for the current jiffy fires at the next one.
    let ahead = span.as_nanos().div_ceil(NANOS).max(1);
    Instant::from_nanos((now.as_nanos() / NANOS).saturating_add(ahead).saturating_mul(NANOS))
}

/// Initial value of the kernel's count of jiffies: five minutes before 32 bits wrap. It is no
/// multiple of 64, so the coarser wheels are not aligned with the start of the clock.
const AT_BOOT: u64 = u32::MAX as u64 + 1 - 300_000;
/// The coarsest of the nine levels.
const MAX_SHIFT: u32 = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_late_by_the_coarseness_of_their_level() {
        let fired =
            |at: u64, span: u64| fires(Instant::from_nanos(at), Duration::from_nanos(span)).as_nanos();
        assert_eq!(fired(504 * NANOS, 15 * NANOS), 520 * NANOS, "16 ms period");
        assert_eq!(fired(504 * NANOS + 1, 14 * NANOS + 1), 520 * NANOS);
        // From 63 to 503 ms ahead, a cog is 8 ms.
        assert_eq!(fired(0, 500 * NANOS), 504 * NANOS);
        assert_eq!(fired(504 * NANOS, 500 * NANOS), 1008 * NANOS);
        assert_eq!(
            fired(504 * NANOS, 1_000 * NANOS),
            1_568 * NANOS,
            "cogs of 64 ms began 32 ms before the clock"
        );
        assert_eq!(fired(1_568 * NANOS, 1_000 * NANOS), 2_592 * NANOS);
        assert!(fired(u64::MAX, u64::MAX) >= u64::MAX - NANOS);
    }
}
