//! Averaging and decision as published, in real numbers; only sums, products and quotients, so that
//! every platform agrees.

use super::arrival::{Arrival, Signal, Spared};
use super::config::{RedConfig, TWO_TO_32};
use super::weight::power;
use crate::random::Random;
use crate::time::{Duration, Instant};

/// The average and its decisions; shared with `choke`.
#[derive(Clone, Debug)]
pub(crate) struct Floyd1993 {
    /// Thresholds and average in packets, or in bytes.
    min: f64,
    max: f64,
    max_p: f64,
    weight: f64,
    gentle: bool,
    byte_mode: bool,
    avpkt: f64,
    mtu: f64,
    /// Transmission time of a typical packet, in ns.
    packet_time: u64,
    average: f64,
    /// Packets since the last signal; -1 below `min`.
    count: f64,
    idle_since: Option<Instant>,
}

impl Floyd1993 {
    pub(super) fn new(config: &RedConfig) -> Self {
        let avpkt = f64::from(config.avpkt);
        let unit = if config.byte_mode { 1.0 } else { avpkt };
        Self {
            min: f64::from(config.min) / unit,
            max: f64::from(config.max) / unit,
            max_p: config.probability,
            weight: config.weight,
            gentle: config.gentle,
            byte_mode: config.byte_mode,
            avpkt,
            mtu: f64::from(config.mtu),
            packet_time: config.packet_time().as_nanos().max(1),
            average: 0.0,
            count: -1.0,
            idle_since: None,
        }
    }

    /// RED that counts packets: thresholds, weight, largest probability, transmission time of a
    /// typical packet.
    pub(crate) fn of_packets(thresholds: [u32; 2], weight: f64, max_p: f64, packet_time: Duration) -> Self {
        let [min, max] = thresholds.map(f64::from);
        Self {
            min,
            max,
            max_p,
            weight,
            gentle: false,
            byte_mode: false,
            avpkt: 1.0,
            mtu: 1.0,
            packet_time: packet_time.as_nanos().max(1),
            average: 0.0,
            count: -1.0,
            idle_since: None,
        }
    }

    pub(super) fn arrival(&mut self, arrival: &Arrival, random: &mut impl Random) -> Signal {
        self.sample(arrival);
        if self.is_below_min() {
            return Signal::Spared(Spared::BelowMin);
        }
        self.signal(arrival.bytes, random)
    }

    /// Averages the queue length at an arrival.
    pub(crate) fn sample(&mut self, arrival: &Arrival) {
        if arrival.packets > 0 {
            let queue = if self.byte_mode { arrival.backlog as f64 } else { arrival.packets as f64 };
            self.average += self.weight * (queue - self.average);
        } else {
            self.average = self.decayed(arrival.now);
            // If this packet is dropped the queue stays empty, and idles on from here.
            self.idle_since = Some(arrival.now);
        }
    }

    /// Returns true below `min`, and then resets the count of packets.
    pub(crate) fn is_below_min(&mut self) -> bool {
        let below = self.average < self.min;
        if below {
            self.count = -1.0;
        }
        below
    }

    /// Decides about a packet of `bytes` while the average is at `min` or above.
    pub(crate) fn signal(&mut self, bytes: u32, random: &mut impl Random) -> Signal {
        let Some(rising) = self.rising() else {
            self.count = 0.0;
            return Signal::Forced;
        };
        // The packet counts before the decision, as in the pseudo-code of 1993. Its text counts
        // only the packets before it.
        self.count += 1.0;
        let probability = self.spaced(rising, bytes);
        if f64::from(random.next_u32()) / TWO_TO_32 < probability {
            self.count = 0.0;
            return Signal::Early;
        }
        Signal::Spared(Spared::Missed)
    }

    /// The probability at an average from `min` on; `None`: every packet is dropped.
    #[inline]
    fn rising(&self) -> Option<f64> {
        if self.average < self.max {
            Some(self.max_p * (self.average - self.min) / (self.max - self.min))
        } else if self.gentle && self.average < 2.0 * self.max {
            Some(self.max_p + (1.0 - self.max_p) * (self.average - self.max) / self.max)
        } else {
            None
        }
    }

    /// The probability at the average, before spacing.
    pub(super) fn probability(&self) -> f64 {
        if self.average < self.min { 0.0 } else { self.rising().unwrap_or(1.0) }
    }

    /// The probability that spaces signals evenly: certain once `1 / p` packets have passed.
    fn spaced(&self, rising: f64, bytes: u32) -> f64 {
        let p = if self.byte_mode { (rising * f64::from(bytes) / self.mtu).min(1.0) } else { rising };
        let passed = self.count * p;
        if passed < 1.0 { p / (1.0 - passed) } else { 1.0 }
    }

    pub(crate) fn idle(&mut self, now: Instant) {
        self.idle_since = Some(now);
    }

    pub(super) fn adapt(&mut self, now: Instant, is_idle: bool) {
        let average = if is_idle { self.decayed(now) } else { self.average };
        let span = self.max - self.min;
        // Adaptive RED (Floyd, Gummadi and Shenker 2001): the average stays in the middle fifth.
        if average > self.min + 0.6 * span && self.max_p <= 0.5 {
            self.max_p += (self.max_p / 4.0).min(0.01);
        } else if average < self.min + 0.4 * span && self.max_p >= 0.01 {
            self.max_p *= 0.9;
        }
    }

    /// The average as if small packets had found the queue empty all the time since it is.
    fn decayed(&self, now: Instant) -> f64 {
        let Some(since) = self.idle_since else { return self.average };
        self.average * power(1.0 - self.weight, now.since(since).as_nanos() / self.packet_time)
    }

    /// Packets since the last signal; `None` below `min`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number from -1 on")]
    pub(super) fn count(&self) -> Option<u64> {
        (self.count >= 0.0).then_some(self.count as u64)
    }

    pub(crate) fn average(&self) -> f64 {
        if self.byte_mode { self.average } else { self.average * self.avpkt }
    }

    pub(super) fn max_probability(&self) -> f64 {
        self.max_p
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Configure, Link, Settings, Value};
    use crate::random::Xoshiro256PlusPlus;
    use crate::red::weight::one_minus_exp;
    use alloc::vec::Vec;

    fn with(settings: Settings) -> Floyd1993 {
        let settings = settings.with("variant", Value::Choice("floyd1993"));
        let config = RedConfig::from_settings(&settings, &Link::default()).unwrap();
        Floyd1993::new(&config)
    }

    fn arrival(packets: usize) -> Arrival {
        Arrival { now: Instant::ZERO, backlog: packets as u64 * 1000, packets, bytes: 1000 }
    }

    #[test]
    fn signals_are_spaced_evenly_between_one_packet_and_the_inverse_of_the_probability() {
        // Constant p = 0.1, count incremented before use: uniform on 1..9, mean 5.
        let mut red = with(Settings::new().with("probability", Value::Probability(0.2)));
        let mut random = Xoshiro256PlusPlus::new(1);
        let mut gaps = Vec::new();
        let mut since = 0_u32;
        red.average = 10.0;
        for _ in 0..45_000 {
            since += 1;
            if red.arrival(&arrival(10), &mut random) == Signal::Early {
                gaps.push(since);
                since = 0;
            }
        }
        assert!(gaps.iter().skip(1).all(|gap| (1..=9).contains(gap)));
        let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
        assert!((mean - 5.0).abs() < 0.1, "{mean}");
        for gap in 1..=9 {
            let share = gaps.iter().filter(|&&g| g == gap).count() as f64 / gaps.len() as f64;
            assert!((share - 1.0 / 9.0).abs() < 0.02, "{gap}: {share}");
        }
    }

    #[test]
    fn the_average_reaches_sixty_three_percent_of_a_step_in_five_hundred_packets() {
        let mut red = with(Settings::new());
        let mut random = Xoshiro256PlusPlus::new(1);
        for _ in 0..500 {
            red.arrival(&arrival(4), &mut random);
        }
        // 1 - 0.998^500 = 0.6325.
        assert!((red.average - 0.632_5 * 4.0).abs() < 4e-4, "{}", red.average);
    }

    #[test]
    fn the_average_of_ten_packets_decays_to_3_675_in_500_packet_times() {
        let mut red = with(Settings::new());
        red.average = 10.0;
        red.idle(Instant::ZERO);
        let decayed = red.decayed(Instant::from_nanos(500 * red.packet_time));
        assert!((decayed - 3.675).abs() < 5e-4, "{decayed}");
    }

    #[test]
    fn gentle_reaches_55_percent_half_way_to_twice_max() {
        let gentle = Settings::new().with("gentle", Value::Flag(true));
        let mut red = with(gentle.with("probability", Value::Probability(0.1)));
        red.average = 1.5 * red.max;
        let p = red.max_p + (1.0 - red.max_p) * (red.average - red.max) / red.max;
        assert!((p - 0.55).abs() < 1e-12);
        red.average = 2.0 * red.max;
        assert_eq!(red.arrival(&arrival(30), &mut Xoshiro256PlusPlus::new(1)), Signal::Forced);
    }

    #[test]
    fn adaptive_adds_a_hundredth_above_the_band_and_takes_a_tenth_below_it() {
        let mut red = with(Settings::new().with("adaptive", Value::Flag(true)));
        red.average = red.max;
        red.adapt(Instant::ZERO, false);
        red.adapt(Instant::ZERO, false);
        assert!((red.max_p - 0.12).abs() < 1e-12);
        red.max_p = 0.02;
        red.adapt(Instant::ZERO, false);
        red.adapt(Instant::ZERO, false);
        assert!((red.max_p - 0.031_25).abs() < 1e-12, "+.005, +.00625");
        red.max_p = 0.1;
        red.average = 0.0;
        for _ in 0..50 {
            red.adapt(Instant::ZERO, false);
        }
        let floor = (0..22).fold(0.1, |p, _| p * 0.9);
        assert!((red.max_p - floor).abs() < 1e-12 && red.max_p < 0.01, "22 steps, then none");
    }

    #[test]
    fn the_exponential_is_right_near_and_far() {
        for (x, value) in [(0.0004, 0.000_399_920_010_665), (1.0, 0.632_120_558_828_558), (40.0, 1.0)] {
            assert!((one_minus_exp(x) - value).abs() < 1e-14, "{x}");
        }
    }
}
