//! When timers fire. A kernel's timer fires at a tick of the kernel's clock after the asked time.

use goodqueue::{Duration, Instant};

/// Length of a tick in nanoseconds: kernels run at 1000 Hz here.
const TICK: u64 = 1_000_000;
/// Tick at the start. Linux begins five minutes before 2^32 (`INITIAL_JIFFIES`), and the slots of
/// the wheel depend on it.
const FIRST_TICK: u64 = (1 << 32) - 300_000;
/// Slots of each level of the wheel.
const SLOTS: u64 = 64;
/// Power of two by which the slots of a level are wider than those of the level below.
const WIDER: u32 = 3;
/// Levels of the wheel.
const LEVELS: u32 = 8;

/// When a timer fires.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Timers {
    /// At the asked time.
    #[default]
    Exact,
    /// At the next millisecond (Linux up to 4.7).
    Ticks,
    /// At the end of a slot of the timer wheel that Linux has since 4.8: later than asked by up to
    /// 1 ms for waits below 63 ms, 8 ms below 0.5 s, 64 ms below 4 s, 0.5 s below 32 s.
    Wheel,
}

impl Timers {
    /// Returns when a timer fires that is set at `now` to wait for `wait`.
    #[must_use]
    #[inline]
    pub fn expiry(self, now: Instant, wait: Duration) -> Instant {
        if self == Self::Exact {
            return now + wait;
        }
        // Without a wait the timer would fire at the tick before, which has passed.
        let wait = wait.as_nanos().div_ceil(TICK).max(1);
        let due = (now.as_nanos() / TICK).saturating_add(wait);
        let due = if self == Self::Wheel { slot_end(due, wait) } else { due };
        Instant::from_nanos(due.saturating_mul(TICK))
    }

    /// Returns a lower bound of [`Self::expiry`], which takes less work.
    #[must_use]
    #[inline]
    pub fn least_expiry(self, now: Instant, wait: Duration) -> Instant {
        // Whole ticks from the last tick on end up to a tick before the asked time.
        let early = if self == Self::Ticks { TICK } else { 0 };
        now + wait - Duration::from_nanos(early)
    }
}

/// Returns the end of the slot of a timer that is due at the tick `due`, in `wait` ticks.
#[inline]
fn slot_end(due: u64, wait: u64) -> u64 {
    let mut level = 0;
    // A level ends one slot early, which leaves room for the slot added below (`LVL_START`).
    while level + 1 < LEVELS && wait >= (SLOTS - 1) << (level * WIDER) {
        level += 1;
    }
    // One slot later: the timer may have been set late in a tick, and the shift cuts off the rest,
    // but a timer must not fire early (`calc_index()`).
    let slot = (due.saturating_add(FIRST_TICK) >> (level * WIDER)) + 1;
    (slot << (level * WIDER)) - FIRST_TICK
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fires(timers: Timers, micros: u64, millis: u64) -> u64 {
        let now = Instant::from_nanos(micros * 1000);
        timers.expiry(now, Duration::from_millis(millis)).as_nanos() / 1000
    }

    #[test]
    fn no_timer_fires_before_the_bound() {
        for timers in [Timers::Exact, Timers::Ticks, Timers::Wheel] {
            for (now, wait) in [(0, 0), (999_999, 1), (670_185_000, 40_000_000), (1_500_000, 62_999_999)] {
                let now = Instant::from_nanos(now);
                let wait = Duration::from_nanos(wait);
                assert!(timers.expiry(now, wait) >= timers.least_expiry(now, wait), "{timers:?} {now:?}");
            }
        }
    }

    #[test]
    fn a_delayed_ack_goes_at_the_tick_after_the_last_of_its_forty() {
        assert_eq!(fires(Timers::Exact, 670_185, 40), 710_185);
        assert_eq!(fires(Timers::Ticks, 670_185, 40), 710_000);
        assert_eq!(fires(Timers::Wheel, 670_185, 40), 711_000, "as recorded of Linux 6.1.192");
    }

    #[test]
    fn longer_waits_end_at_wider_slots() {
        // Recorded: timeouts of 230 ms at 336, of 460 ms at 800, of 920 ms at 1760.
        assert_eq!(fires(Timers::Wheel, 102_400, 230), 336_000);
        assert_eq!(fires(Timers::Wheel, 336_000, 460), 800_000);
        assert_eq!(fires(Timers::Wheel, 800_000, 920), 1_760_000);
    }

    #[test]
    fn a_timer_is_off_by_less_than_two_ticks_or_a_seventh() {
        // On both sides of where the slots of the wheel become wider.
        for millis in [0, 1, 62, 63, 503, 504, 4031, 4032, 120_000, u64::MAX / 2_000_000] {
            let wait = Duration::from_millis(millis);
            let now = Instant::from_nanos(999_999);
            for timers in [Timers::Ticks, Timers::Wheel] {
                let late = timers.expiry(now, wait).as_nanos() as i128 - i128::from((now + wait).as_nanos());
                let allowed = -1_000_000..2_000_000 + i128::from(wait.as_nanos()) / 7;
                assert!(allowed.contains(&late), "{millis} {late}");
            }
        }
    }
}
