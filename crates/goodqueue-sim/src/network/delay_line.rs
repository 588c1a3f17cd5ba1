//! Delay lines: packets in flight that all have the same delay.

use std::collections::VecDeque;

use goodqueue::{Direction, Duration, Instant, Rate};

use crate::id::LinkId;
use crate::packet::Packet;

/// Packets in flight that all have the same delay. They arrive in the order in which they left, so
/// one event for the first of them is enough.
#[derive(Debug)]
pub(super) struct DelayLine {
    pub(super) delay: Duration,
    pub(super) packets: VecDeque<(Instant, Packet)>,
    pub(super) end: End,
    /// The host's access link in front of the line: its rate, and the time at which it becomes
    /// free.
    pub(super) host: Option<(Rate, Instant)>,
    pub(super) ticks: Option<Ticks>,
}

/// The clock of a delay emulator, which releases packets at its ticks only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    pub(crate) every: Duration,
    pub(crate) first: Duration,
}

impl Ticks {
    /// Returns the time at which the emulator releases a packet that arrives at `from`: the whole
    /// ticks of `delay`, counted from the last tick before.
    #[inline]
    fn end(self, from: Instant, delay: Duration) -> Instant {
        // A run without ticks has no `Ticks`, so this is never 0 (`Simulation::new`). The bound
        // only spares the division below a panic.
        let every = self.every.as_nanos().max(1);
        // Before the first tick `since` is 0, so a packet of that time counts from the first tick.
        let before = from.since(Instant::ZERO + self.first).as_nanos() / every;
        let ticks = before + delay.as_nanos() / every;
        // A delay below one tick ends at the tick before the packet, which is in the past.
        (Instant::ZERO + self.first + self.every.saturating_mul(ticks)).max(from)
    }
}

impl DelayLine {
    /// Returns the time at which the last bit of a packet sent at `now` is on the line.
    #[inline]
    pub(super) fn begin(&mut self, now: Instant, bytes: u32) -> Instant {
        // Without an access link a host sends in no time.
        let Some((rate, free_at)) = &mut self.host else { return now };
        // Rounded down, unlike the time on a link: `Wire` carries the fraction to the next packet,
        // an access link does not.
        *free_at = now.max(*free_at) + rate.serialization(bytes);
        *free_at
    }

    /// Returns the time at which a packet that is on the line from `from` reaches the end.
    #[inline]
    pub(super) fn arrival(&self, from: Instant) -> Instant {
        self.ticks.map_or(from + self.delay, |ticks| ticks.end(from, self.delay))
    }
}

/// The end of a delay line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum End {
    /// The host to which packets of this direction go.
    Host(Direction),
    /// The queue of a link.
    Link(LinkId),
    /// The WiFi channel, in this direction.
    Wifi(Direction),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulator_counts_whole_ticks_from_the_one_before_a_packet() {
        let micros = Duration::from_micros;
        let ticks = Ticks { every: micros(4000), first: micros(1000) };
        let end = |at: u64, delay: u64| {
            ticks.end(Instant::ZERO + micros(at), micros(delay)).since(Instant::ZERO).as_nanos() / 1000
        };
        // Ticks are at 1 ms, 5 ms, 9 ms and so on. A delay of 25 ms has six whole ticks.
        assert_eq!(end(5000, 25_000), 29_000, "at a tick: 24 ms");
        assert_eq!(end(8999, 25_000), 29_000, "just before the next one: 20");
        assert_eq!(end(9001, 25_000), 33_000);
        assert_eq!(end(6000, 3000), 6000, "a delay below one tick is no delay");
    }
}
