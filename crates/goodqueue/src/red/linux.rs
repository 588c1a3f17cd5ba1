//! Averaging and decision in the integers of Linux 6.1, on tables that tc would compute.

use alloc::boxed::Box;

use super::arrival::{Arrival, Signal, Spared};
use super::config::{RedConfig, TWO_TO_32};
use super::weight::filter_shift;
use crate::random::Random;
use crate::time::{Duration, Instant};

/// The average and its decisions; shared with `choke`, which counts packets.
#[derive(Clone, Debug)]
pub(crate) struct Linux {
    terms: Terms,
    /// max - min in bytes.
    span: u32,
    /// `adaptive` keeps the average between these, in bytes.
    target_min: u64,
    target_max: u64,
    /// Probability at `max`, 1 = 2^32.
    max_p: u32,
    decay: IdleDecay,
    queue: Average,
    idle_since: Option<Instant>,
}

/// What decisions are made by; `sfq` has one of it for all flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Terms {
    /// Thresholds and averages are bytes × 2^shift.
    shift: u32,
    min: u64,
    max: u64,
    /// By how much the probability grows per byte.
    slope: u32,
}

/// The average of one queue, and how far it is from the next signal.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Average {
    average: u64,
    /// Packets since the last signal; `None` outside of the thresholds.
    count: Option<u32>,
    /// The random number to reach.
    goal: u32,
}

/// Parameters of the law.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    /// Thresholds, in the unit of the samples.
    pub(crate) min: u32,
    pub(crate) max: u32,
    /// The filter's weight is 2^-shift.
    pub(crate) shift: u32,
    /// Bytes of that unit.
    pub(crate) unit: u32,
    /// Probability at `max`.
    pub(crate) probability: f64,
    /// Transmission time of a typical packet.
    pub(crate) packet_time: Duration,
}

/// By how many powers of two the average falls in an idle time.
#[derive(Clone, Debug)]
struct IdleDecay {
    table: Box<[u8; 256]>,
    /// A cell of the table is 2^cell microseconds.
    cell: u32,
}

impl Linux {
    pub(super) fn new(config: &RedConfig) -> Self {
        // A checked configuration always has a filter.
        let shift = filter_shift(config.min, config.burst, config.avpkt).unwrap_or(1);
        Self::from_law(&Law {
            min: config.min,
            max: config.max,
            shift,
            unit: 1,
            probability: config.probability,
            packet_time: config.packet_time(),
        })
    }

    pub(crate) fn from_law(law: &Law) -> Self {
        let shift = law.shift;
        let min = u64::from(law.min);
        // Equal thresholds must not divide by 0.
        let span = law.max.saturating_sub(law.min).max(1);
        // Linux `red_set_parms()` divides by 5 before it multiplies.
        let fifth = u64::from(span / 5);
        let max_p = law.max_p();
        Self {
            terms: Terms::from_law(law),
            span,
            target_min: min + 2 * fifth,
            target_max: min + 3 * fifth,
            max_p,
            decay: IdleDecay::new(law.packet_time, shift),
            queue: Average::default(),
            idle_since: None,
        }
    }

    /// Averages an arrival and returns true if the average stays below `min`. Otherwise changes
    /// nothing and returns false.
    #[inline]
    pub(super) fn spares(&mut self, queue: u64) -> bool {
        let next = self.queue.next(&self.terms, queue);
        let spares = self.idle_since.is_none() && next < self.terms.min;
        if spares {
            (self.queue.average, self.queue.count) = (next, None);
        }
        spares
    }

    pub(super) fn arrival(&mut self, arrival: &Arrival, random: &mut impl Random) -> Signal {
        self.sample(arrival.now, arrival.backlog);
        self.queue.signal(&self.terms, random)
    }

    /// Averages the queue length at an arrival.
    #[inline]
    pub(crate) fn sample(&mut self, now: Instant, queue: u64) {
        match self.idle_since.take() {
            // After an idle time the sample itself does not count: it would be zero.
            Some(since) => self.wake(now, since),
            None => self.queue.sample(&self.terms, queue),
        }
    }

    // Only the first packet after an idle time comes here.
    #[cold]
    fn wake(&mut self, now: Instant, since: Instant) {
        self.queue.average = self.decay.apply(self.queue.average, now.since(since).as_nanos() / 1_000);
    }

    /// Returns true above `min`; otherwise resets the count of packets.
    pub(crate) fn exceeds_min(&mut self) -> bool {
        // sch_choke drops only above a threshold, sch_red from it on.
        let exceeds = self.queue.average > self.terms.min;
        if !exceeds {
            self.queue.count = None;
        }
        exceeds
    }

    /// Returns true above `max`, and then resets the count of packets.
    pub(crate) fn exceeds_max(&mut self) -> bool {
        let exceeds = self.queue.average > self.terms.max;
        if exceeds {
            self.queue.count = None;
        }
        exceeds
    }

    /// Between the thresholds: whether this packet is the one to be dropped or marked.
    pub(crate) fn signals(&mut self, random: &mut impl Random) -> bool {
        self.queue.signals(&self.terms, random)
    }

    pub(crate) fn idle(&mut self, now: Instant) {
        self.idle_since.get_or_insert(now);
    }

    pub(super) fn adapt(&mut self, now: Instant) {
        // Only this look decays the average. The stored one waits for the next arrival, which
        // decays it by the whole idle time (Linux `red_adaptative_algo()`).
        let average = match self.idle_since {
            Some(since) => self.decay.apply(self.queue.average, now.since(since).as_nanos() / 1_000),
            None => self.queue.average,
        };
        let average = average >> self.terms.shift;
        // The steps and their bounds are those of Adaptive RED (Floyd, Gummadi and Shenker 2001).
        if average > self.target_max && self.max_p <= 50 * ONE_PERCENT {
            self.max_p += ONE_PERCENT.min(self.max_p / 4);
        } else if average < self.target_min && self.max_p >= ONE_PERCENT {
            // The division comes first, as in Linux, where the product would not fit in 32 bits.
            self.max_p = self.max_p / 10 * 9;
        }
        // The slope is rounded here, and truncated in `Terms`: `red_adaptative_algo()` and
        // `red_set_parms()` differ.
        let rounded = (u64::from(self.max_p) + u64::from(self.span / 2)) / u64::from(self.span);
        self.terms.slope = u32::try_from(rounded).unwrap_or(u32::MAX).max(1);
    }

    /// Packets since the last signal; `None` outside of the thresholds.
    pub(super) fn count(&self) -> Option<u64> {
        self.queue.count.map(u64::from)
    }

    pub(crate) fn average(&self) -> f64 {
        (self.queue.average >> self.terms.shift) as f64
    }

    /// The probability at the average, before spacing.
    pub(super) fn probability(&self) -> f64 {
        match self.queue.average {
            average if average < self.terms.min => 0.0,
            average if average >= self.terms.max => 1.0,
            average => {
                let excess = (average - self.terms.min) as f64 / (1_u64 << self.terms.shift.min(63)) as f64;
                (excess * f64::from(self.terms.slope) / TWO_TO_32).min(1.0)
            }
        }
    }

    pub(super) fn max_probability(&self) -> f64 {
        f64::from(self.max_p) / TWO_TO_32
    }

    pub(super) fn raw(&self) -> (u64, u64) {
        (u64::from(self.max_p), self.queue.average)
    }
}

impl Terms {
    pub(crate) fn from_law(law: &Law) -> Self {
        // As in the other constructor, equal thresholds must not divide by 0.
        let span = law.max.saturating_sub(law.min).max(1);
        let min = u64::from(law.min) << law.shift;
        let max = u64::from(law.max) << law.shift;
        // Random numbers are divided by the slope. Linux `red_set_parms()` raises 0 to 1, too.
        Self { shift: law.shift, min, max, slope: (law.max_p() / span).max(1) }
    }
}

impl Law {
    /// The probability at `max`, 1 = 2^32. That of tc's 1 does not fit in 32 bits and arrives as 0,
    /// "not given": then the kernel takes the largest one for which the slope is a power of two
    /// below 1 / (max - min).
    fn max_p(&self) -> u32 {
        if let Ok(fits) = u32::try_from(truncated(self.probability * TWO_TO_32)) {
            return fits;
        }
        let span = self.max.saturating_sub(self.min).max(1);
        let in_bytes = u64::from(span) * u64::from(self.unit);
        let shift = u64::BITS - in_bytes.leading_zeros();
        u32::MAX.checked_shr(shift).unwrap_or(0).saturating_mul(span)
    }
}

impl Average {
    /// Averages the queue length at an arrival.
    #[inline]
    pub(crate) fn sample(&mut self, terms: &Terms, queue: u64) {
        self.average = self.next(terms, queue);
    }

    #[inline]
    const fn next(&self, terms: &Terms, queue: u64) -> u64 {
        // `avg += W * (q - avg)` for an average that is scaled by 1/W (Linux
        // `red_calc_qavg_no_idle_time()`).
        self.average - (self.average >> terms.shift) + queue
    }

    /// Decides about an arriving packet.
    #[inline]
    pub(crate) fn signal(&mut self, terms: &Terms, random: &mut impl Random) -> Signal {
        if self.average < terms.min {
            self.count = None;
            return Signal::Spared(Spared::BelowMin);
        }
        if self.average >= terms.max {
            self.count = None;
            return Signal::Forced;
        }
        let is_first = self.count.is_none();
        match self.signals(terms, random) {
            true => Signal::Early,
            false if is_first => Signal::Spared(Spared::First),
            false => Signal::Spared(Spared::Missed),
        }
    }

    // Apart, so that a packet below `min` passes without a call.
    /// Between the thresholds: whether this packet is the one to be dropped or marked.
    #[inline(never)]
    fn signals(&mut self, terms: &Terms, random: &mut impl Random) -> bool {
        let Some(count) = self.count else {
            // The first packet between the thresholds is spared.
            self.count = Some(0);
            self.goal = random.next_u32() / terms.slope;
            return false;
        };
        let count = count.saturating_add(1);
        let excess = self.average.saturating_sub(terms.min) >> terms.shift;
        if excess.saturating_mul(u64::from(count)) < u64::from(self.goal) {
            self.count = Some(count);
            return false;
        }
        self.count = Some(0);
        // One number per signal, below 1 / slope: the packet whose count times the excess reaches
        // it is hit. Floyd and Jacobson 1993 give this form as the efficient one.
        self.goal = random.next_u32() / terms.slope;
        true
    }
}

impl IdleDecay {
    /// The table that tc hands to the kernel. tc counts in ticks of 64 ns but the kernel looks it
    /// up in microseconds: an idle average falls more slowly than tc means it to.
    fn new(packet_time: Duration, shift: u32) -> Self {
        let micros = packet_time.as_nanos() / 1_000;
        let ticks = truncated(micros as f64 * TICKS_PER_MICROSECOND).max(1) as f64;
        let per_tick = minus_log_of_one_minus(1.0 / f64::from(1_u32 << shift.min(31))) / ticks;
        let longest = f64::from(LARGEST_SHIFT) / per_tick;
        let mut cell = 0;
        // The smallest cells of which 512 span the whole fall, as in tc's
        // `tc_red_eval_idle_damping()`. The table has 256 of them.
        while cell < MAX_CELL && longest / ((1_u64 << cell) as f64) >= 512.0 {
            cell += 1;
        }
        let table = core::array::from_fn(|index| {
            let falls = ((index as u64) << cell) as f64 * per_tick;
            match index {
                // tc sets the last cell apart: it stands for every longer time.
                255 => LARGEST_SHIFT,
                _ => u8::try_from(truncated(falls).min(u64::from(LARGEST_SHIFT))).unwrap_or(LARGEST_SHIFT),
            }
        });
        Self { table: Box::new(table), cell }
    }

    fn apply(&self, average: u64, idle_micros: u64) -> u64 {
        // Linux `Scell_max`: the last cell of the table stands for every longer time.
        let idle = idle_micros.min(255 << self.cell);
        let index = usize::try_from(idle >> self.cell).unwrap_or(255);
        let shift = self.table.get(index).copied().unwrap_or(LARGEST_SHIFT);
        if shift > 0 {
            return average >> shift;
        }
        // Within the first cell the fall is linear, at most to a half.
        let fall = u64::try_from((u128::from(average) * u128::from(idle)) >> self.cell).unwrap_or(u64::MAX);
        if fall < average >> 1 { average - fall } else { average >> 1 }
    }
}

/// `-ln(1 - x)` for 0 < x <= 1/2, by its power series.
fn minus_log_of_one_minus(x: f64) -> f64 {
    let mut sum = 0.0;
    let mut term = x;
    // `core` has no logarithm. Each term is at most half of the one before, so these suffice for
    // `f64`.
    for n in 1..64_u32 {
        sum += term / f64::from(n);
        term *= x;
    }
    sum
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, as is wanted")]
fn truncated(value: f64) -> u64 {
    value as u64
}

/// Linux: `RED_ONE_PERCENT`, 2^32 / 100 rounded.
const ONE_PERCENT: u32 = 42_949_673;
/// tc's clock: /proc/net/psched says 64 ns per tick.
const TICKS_PER_MICROSECOND: f64 = 15.625;
/// tc: the average is gone after 31 halvings.
const LARGEST_SHIFT: u8 = 31;
/// tc gives up at 32; slow links need more.
const MAX_CELL: u32 = 48;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_of_the_2015_measurements_is_tcs() {
        // (min, burst, avpkt) -> Wlog at 10, 100 and 1 Mbit/s.
        assert_eq!(filter_shift(12_500, 20, 1000), Some(4));
        assert_eq!(filter_shift(125_000, 208, 1000), Some(7));
        assert_eq!(filter_shift(1514, 2, 1000), Some(1));
        assert_eq!(filter_shift(12_500, 11, 1000), None, "the burst must exceed min / avpkt");
    }

    #[test]
    fn the_logarithm_is_right_to_the_last_digits() {
        assert!((minus_log_of_one_minus(0.5) - core::f64::consts::LN_2).abs() < 1e-15);
        // ln(16/15).
        assert!((minus_log_of_one_minus(1.0 / 16.0) - 0.064_538_521_137_571_18).abs() < 1e-16);
    }
}
