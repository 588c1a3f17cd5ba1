//! The clock of the timestamps option, and the coarser clock of Linux.

use goodqueue::{Duration, Instant};

/// Nanoseconds per tick of Linux's timestamps clock. Decisions that Linux makes by timestamps are
/// made in these ticks.
pub const TICK: u64 = 1_000_000;

/// The tick of Linux's clock at `instant`.
pub const fn ticks(instant: Instant) -> u64 {
    instant.as_nanos() / TICK
}

/// The number of ticks of Linux's clock that began between two moments, as a time.
pub fn ticks_between(earlier: Instant, later: Instant) -> Duration {
    Duration::from_nanos((ticks(later) - ticks(earlier)) * TICK)
}

/// The microseconds between two times that Linux keeps in whole microseconds
/// (`tcp_stamp_us_delta()`).
pub fn micros_between(earlier: Instant, later: Instant) -> u64 {
    (later.as_nanos() / 1000).saturating_sub(earlier.as_nanos() / 1000)
}

/// The tick in which, in the last 2^32 microseconds, the timestamps clock showed `stamp`.
pub fn tick_of(now: Instant, stamp: u32) -> u64 {
    ticks(sent_at(now, stamp))
}

/// How long ago, in the last 2^32 microseconds, the timestamps clock showed `stamp`: in whole
/// ticks, at least one.
pub fn ticks_since(now: Instant, stamp: u32) -> Duration {
    // Linux takes a round trip within one tick for one tick (`tcp_ack_update_rtt()`).
    let passed = ticks(now) - tick_of(now, stamp);
    Duration::from_nanos(passed.max(1) * TICK)
}

/// The time, in the last 2^32 microseconds, at which the timestamps clock showed `stamp`.
pub fn sent_at(now: Instant, stamp: u32) -> Instant {
    // Both readings are modulo 2^32, and so is their difference.
    now - Duration::from_micros(u64::from(timestamp(now).wrapping_sub(stamp)))
}

/// The clock of the timestamps option: microseconds modulo 2^32. RFC 7323 §5.4 asks for 1 ms to 1
/// s; controllers that watch delays need a finer clock.
#[expect(clippy::cast_possible_truncation, reason = "the option's clock wraps")]
pub const fn timestamp(now: Instant) -> u32 {
    (now.as_nanos() / 1000) as u32
}
