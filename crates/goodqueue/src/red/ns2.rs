//! Averaging and decision of ns-2.35, in real numbers as there; only sums, products and quotients.

use super::arrival::{Arrival, Signal, Spared};
use super::config::{ADAPT_INTERVAL, RedConfig, TWO_TO_32};
use super::weight::power;
use crate::random::Random;
use crate::time::{Duration, Instant, Rate};

#[derive(Clone, Debug)]
pub(super) struct Ns2 {
    /// Thresholds, average and queue are in bytes (`byte_mode`) or in packets of `mean` bytes.
    min: f64,
    max: f64,
    max_p: f64,
    /// `max_p` falls to this, and rises to `top` (ns-2 `bottom_` and `top_`).
    bottom: f64,
    top: f64,
    /// From `max` on the probability is `rise * average + offset`: made once, not when `max_p`
    /// moves.
    rise: f64,
    offset: f64,
    weight: f64,
    gentle: bool,
    wait: bool,
    byte_mode: bool,
    adaptive: bool,
    mean: u32,
    bandwidth: Rate,
    average: f64,
    /// Packets and bytes since the last signal.
    count: u64,
    count_bytes: u64,
    /// The arrival before this one was between the thresholds, too.
    old: bool,
    idle_since: Option<Instant>,
    /// When `adaptive` last moved the probability.
    moved_at: Instant,
}

impl Ns2 {
    pub(super) fn new(config: &RedConfig) -> Self {
        let unit = if config.byte_mode { 1.0 } else { f64::from(config.avpkt) };
        let max = f64::from(config.max) / unit;
        let max_p = config.probability;
        let per_second = config.bandwidth.as_bps() as f64;
        Self {
            min: f64::from(config.min) / unit,
            max,
            max_p,
            // What ns-2.35 chooses for `bottom_` 0, and its default of `top_`.
            bottom: (80_000.0 / per_second).min(0.01),
            top: 0.5,
            rise: (1.0 - max_p) / max,
            // The line is `max_p` at `max` and 1 at twice `max`.
            offset: 2.0 * max_p - 1.0,
            weight: config.weight,
            gentle: config.gentle,
            wait: config.wait,
            byte_mode: config.byte_mode,
            adaptive: config.adaptive,
            mean: config.avpkt,
            bandwidth: config.bandwidth,
            average: 0.0,
            count: 0,
            count_bytes: 0,
            old: false,
            idle_since: None,
            moved_at: Instant::ZERO,
        }
    }

    pub(super) fn arrival(&mut self, arrival: &Arrival, random: &mut impl Random) -> Signal {
        let queue = if self.byte_mode { arrival.backlog } else { arrival.packets as u64 };
        // Unlike Linux, ns-2 adds the sample of this arrival also after an idle time: hence one
        // factor more.
        let missed = self.idle_since.take().map_or(0, |since| self.packets_in(arrival.now.since(since)));
        self.average =
            self.average * power(1.0 - self.weight, missed.saturating_add(1)) + self.weight * queue as f64;
        if self.adaptive && arrival.now > self.moved_at + ADAPT_INTERVAL {
            self.adapt(arrival.now);
        }
        // The packet counts before the decision, as in the pseudo-code of 1993. At a probability of
        // 0.1 the gaps are therefore 1 to 9 packets, not 1 to 10.
        self.count = self.count.saturating_add(1);
        self.count_bytes = self.count_bytes.saturating_add(u64::from(arrival.bytes));
        // ns-2 compares with 1 in either unit, so one byte in `byte_mode`.
        if self.average < self.min || queue <= 1 {
            self.old = false;
            let is_below = self.average < self.min;
            return Signal::Spared(if is_below { Spared::BelowMin } else { Spared::ShortQueue });
        }
        if !self.old {
            self.old = true;
            self.count = 1;
            self.count_bytes = u64::from(arrival.bytes);
            return Signal::Spared(Spared::First);
        }
        let rising = self.rising();
        // Never 0, as ns-2's uniform numbers.
        let drawn = (f64::from(random.next_u32()) + 0.5) / TWO_TO_32;
        if drawn > self.spaced(rising, arrival.bytes) {
            return Signal::Spared(Spared::Missed);
        }
        self.dropped();
        // ns-2.35 compares the probability before it is spaced (`v_prob1`).
        if rising < MOST_MARKS { Signal::Early } else { Signal::Unmarkable }
    }

    /// The probability at the average, before spacing.
    pub(super) fn probability(&self) -> f64 {
        if self.average < self.min { 0.0 } else { self.rising() }
    }

    /// The probability at an average from `min` on, before spacing.
    fn rising(&self) -> f64 {
        let p = if self.average < self.max {
            self.max_p * (self.average - self.min) / (self.max - self.min)
        } else if self.gentle {
            self.rise * self.average + self.offset
        } else {
            1.0
        };
        p.min(1.0)
    }

    fn spaced(&self, p: f64, bytes: u32) -> f64 {
        let mean = f64::from(self.mean);
        // ns-2 `modify_p()` cuts the quotient to an integer.
        let count = if self.byte_mode { self.count_bytes / u64::from(self.mean) } else { self.count };
        let passed = count as f64 * p;
        let spaced = match (self.wait, passed) {
            (true, passed) if passed < 1.0 => 0.0,
            (true, passed) if passed < 2.0 => p / (2.0 - passed),
            (false, passed) if passed < 1.0 => p / (1.0 - passed),
            _ => 1.0,
        };
        if self.byte_mode && spaced < 1.0 {
            (spaced * f64::from(bytes) / mean).min(1.0)
        } else {
            spaced.min(1.0)
        }
    }

    /// A packet was dropped, here or because the buffer was full.
    pub(super) fn dropped(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
    }

    pub(super) fn idle(&mut self, now: Instant) {
        self.idle_since.get_or_insert(now);
    }

    fn adapt(&mut self, now: Instant) {
        // ns-2.35 `updateMaxP()` keeps the average in the middle fifth between the thresholds.
        let part = 0.4 * (self.max - self.min);
        // Floyd, Gummadi & Shenker 2001: α is min(0.01, max_p / 4), and β is 0.9.
        if self.average < self.min + part && self.max_p > self.bottom {
            self.max_p *= 0.9;
        } else if self.average > self.max - part && self.max_p < self.top {
            self.max_p += (self.max_p / 4.0).min(0.01);
        } else {
            // The clock of changes stands still while there are none.
            return;
        }
        self.moved_at = now;
    }

    /// Packets of mean length that the link carries in `span`.
    fn packets_in(&self, span: Duration) -> u64 {
        let bits = u128::from(span.as_nanos()) * u128::from(self.bandwidth.as_bps()) / 1_000_000_000;
        u64::try_from(bits / (8 * u128::from(self.mean))).unwrap_or(u64::MAX)
    }

    /// Packets since the last signal.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn average(&self) -> f64 {
        if self.byte_mode { self.average } else { self.average * f64::from(self.mean) }
    }

    pub(super) fn max_probability(&self) -> f64 {
        self.max_p
    }
}

/// ns-2 `mark_p_`: with a larger probability packets are dropped, not marked.
const MOST_MARKS: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Configure, Link, Settings, Value};
    use crate::random::Xoshiro256PlusPlus;
    use alloc::vec::Vec;

    fn config(settings: Settings, bps: u64) -> RedConfig {
        let link = Link { rate: Rate::from_bps(bps), delay: Duration::from_millis(10), ..Link::default() };
        RedConfig::from_settings(&settings.with("variant", Value::Choice("ns2")), &link).unwrap()
    }

    fn packets(mean: u64, min: u64, max: u64) -> Settings {
        Settings::new()
            .with("bytemode", Value::Flag(false))
            .with("avpkt", Value::Bytes(mean))
            .with("min", Value::Bytes(min * mean))
            .with("max", Value::Bytes(max * mean))
    }

    const fn arrival(packets: usize) -> Arrival {
        Arrival { now: Instant::ZERO, backlog: packets as u64 * 1000, packets, bytes: 1000 }
    }

    #[test]
    fn it_sets_itself_up_from_the_link_as_the_table_says() {
        // Rate, weight, thresholds in bytes; mean 500 bytes, delay 10 ms.
        let table = [
            (128_000, 0.024_936, 2_500, 7_500),
            (256_000, 0.015_504, 2_500, 7_500),
            (512_000, 0.007_782, 2_500, 7_500),
            (1_500_000, 0.002_663, 2_500, 7_500),
            (3_000_000, 0.001_332, 2_500, 7_500),
            // From here on half of what the link carries in 5 ms is more than five packets.
            (10_000_000, 0.000_400, 3_125, 9_375),
            (45_000_000, 0.000_088_9, 14_063, 42_188),
            (100_000_000, 0.000_040_0, 31_250, 93_750),
        ];
        for (bps, weight, min, max) in table {
            let made = config(Settings::new(), bps);
            assert_eq!((made.min, made.max), (min, max), "{bps}");
            assert!((made.weight - weight).abs() < 5e-7, "{bps}: {}", made.weight);
            assert!(made.gentle && made.wait && made.byte_mode && made.limit == 25_000);
        }
        let other = |rule| config(Settings::new().with("autoweight", Value::Choice(rule)), 1_500_000).weight;
        assert!((other("rate") - 0.002_663).abs() < 5e-7, "1 - e^(-1/375): {}", other("rate"));
        assert!((other("fast") - 0.026_314).abs() < 5e-7, "1 - e^(-10/375): {}", other("fast"));
    }

    /// Gaps between signals with the average held where the probability is 0.1.
    fn gaps(wait: bool) -> Vec<u32> {
        let settings = packets(1000, 5, 15)
            .with("wait", Value::Flag(wait))
            .with("weight", Value::Probability(0.002))
            .with("probability", Value::Probability(0.2));
        let mut red = Ns2::new(&config(settings, 10_000_000));
        let mut random = Xoshiro256PlusPlus::new(3);
        let mut gaps = Vec::new();
        let mut since = 0;
        red.average = 10.0;
        for _ in 0..60_000 {
            since += 1;
            if !matches!(red.arrival(&arrival(10), &mut random), Signal::Spared(_)) {
                gaps.push(since);
                since = 0;
            }
        }
        gaps.remove(0);
        gaps
    }

    #[test]
    fn waiting_moves_the_gaps_from_1_to_9_to_10_to_19() {
        for (wait, low, high) in [(false, 1, 9), (true, 10, 19)] {
            let gaps = gaps(wait);
            assert!(gaps.iter().all(|gap| (low..=high).contains(gap)), "{wait}");
            let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
            assert!((mean - f64::from(low + high) / 2.0).abs() < 0.1, "{wait}: {mean}");
            for value in low..=high {
                let share = gaps.iter().filter(|&&gap| gap == value).count() as f64 / gaps.len() as f64;
                assert!((share - 1.0 / f64::from(high - low + 1)).abs() < 0.02, "{value}: {share}");
            }
        }
    }

    #[test]
    fn a_byte_counts_three_times_as_much_in_a_packet_of_three_mean_sizes() {
        let mut red = Ns2::new(&config(Settings::new().with("wait", Value::Flag(false)), 1_500_000));
        let p = |of: &Ns2, bytes| of.spaced(0.05, bytes);
        assert!((p(&red, 1500) - 0.15).abs() < 1e-12 && (p(&red, 40) - 0.004).abs() < 1e-12);
        red.count_bytes = 5_499;
        assert!((p(&red, 500) - 0.1).abs() < 1e-12, "ten whole packets have passed");
    }

    #[test]
    fn the_average_follows_a_step_and_decays_when_idle() {
        let mut red =
            Ns2::new(&config(packets(1000, 50, 150).with("weight", Value::Probability(0.002)), 10_000_000));
        let mut random = Xoshiro256PlusPlus::new(1);
        for _ in 0..500 {
            red.arrival(&arrival(4), &mut random);
        }
        // 1 - 0.998^500 = 0.6325.
        assert!((red.average - 0.632_5 * 4.0).abs() < 4e-4, "{}", red.average);
        red.average = 10.0;
        red.idle(Instant::ZERO);
        // 500 packet times of 800 us, then the sample of the empty queue.
        let late = Arrival { now: Instant::from_nanos(500 * 800_000), ..arrival(0) };
        red.arrival(&late, &mut random);
        // 10 * 0.998^500 = 3.675.
        assert!((red.average - 3.675 * 0.998).abs() < 5e-4, "{}", red.average);
    }

    #[test]
    fn gentle_is_55_percent_half_way_to_twice_max_and_does_not_follow_max_p() {
        let mut red = Ns2::new(&config(packets(1000, 5, 15), 10_000_000));
        red.average = 22.5;
        assert!((red.probability() - 0.55).abs() < 1e-12);
        red.max_p = 0.3;
        assert!((red.probability() - 0.55).abs() < 1e-12);
        red.average = 31.0;
        assert!((red.probability() - 1.0).abs() < 1e-12);
        red.gentle = false;
        red.average = 15.0;
        assert!((red.probability() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn nobody_is_dropped_behind_at_most_one_packet_nor_first_behind_more() {
        let mut red = Ns2::new(&config(packets(1000, 5, 15).with("wait", Value::Flag(false)), 10_000_000));
        let mut random = Xoshiro256PlusPlus::new(1);
        for found in [0, 1] {
            for _ in 0..1_000 {
                red.average = 40.0;
                assert_eq!(red.arrival(&arrival(found), &mut random), Signal::Spared(Spared::ShortQueue));
            }
        }
        red.average = 40.0;
        assert_eq!(
            red.arrival(&arrival(2), &mut random),
            Signal::Spared(Spared::First),
            "the first is spared"
        );
        red.average = 40.0;
        assert_eq!(red.arrival(&arrival(2), &mut random), Signal::Unmarkable);
    }

    #[test]
    fn the_average_of_harsh_red_crosses_its_threshold_after_few_arrivals() {
        let crossing = |weight, queue: fn(usize) -> usize, threshold: f64| {
            let settings = packets(1500, 3, 40).with("weight", Value::Probability(weight));
            let mut red = Ns2::new(&config(settings, 2_000_000));
            let mut random = Xoshiro256PlusPlus::new(1);
            (1..)
                .find(|&n| {
                    red.arrival(&arrival(queue(n)), &mut random);
                    red.average >= threshold
                })
                .unwrap()
        };
        // A constant queue crosses 3 at the smallest n with queue * (1 - (1 - weight)^n) >= 3.
        for (weight, arrivals, up, over) in [(0.02, [18, 9, 4], 19, 81), (0.04, [9, 4, 2], 14, 64)] {
            let constant =
                [crossing(weight, |_| 10, 3.0), crossing(weight, |_| 20, 3.0), crossing(weight, |_| 40, 3.0)];
            assert_eq!(constant, arrivals);
            assert_eq!(crossing(weight, |n| n - 1, 3.0), up, "a queue that grows by one per arrival");
            assert_eq!(crossing(weight, |n| n - 1, 40.0), over);
        }
    }

    #[test]
    fn adaptive_moves_at_arrivals_and_at_once_after_a_quiet_time() {
        let settings = packets(1000, 5, 15).with("adaptive", Value::Flag(true));
        let mut red = Ns2::new(&config(settings.with("weight", Value::Probability(1e-9)), 10_000_000));
        let mut random = Xoshiro256PlusPlus::new(1);
        let mut at = |of: &mut Ns2, ms: u64, average: f64| {
            of.average = average;
            of.arrival(&Arrival { now: Instant::from_nanos(ms * 1_000_000), ..arrival(10) }, &mut random);
            of.max_p
        };
        assert!((at(&mut red, 500, 14.0) - 0.1).abs() < 1e-12, "the interval must have passed");
        assert!((at(&mut red, 501, 14.0) - 0.11).abs() < 1e-12);
        assert!((at(&mut red, 900, 14.0) - 0.11).abs() < 1e-12);
        assert!((at(&mut red, 2_000, 10.0) - 0.11).abs() < 1e-12, "within the band");
        assert!((at(&mut red, 2_001, 14.0) - 0.12).abs() < 1e-12, "no new interval began");
        assert!((at(&mut red, 2_600, 6.0) - 0.108).abs() < 1e-12);
        for half_second in 6..50 {
            at(&mut red, half_second * 510, 6.0);
        }
        assert!(red.max_p < 0.008 && red.max_p > 0.007, "80000 / 10^7 is the bottom: {}", red.max_p);
    }
}
