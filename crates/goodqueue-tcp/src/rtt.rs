//! Round-trip time and the retransmission timeout (RFC 6298), in nanoseconds.

use alloc::sync::Arc;

use goodqueue::{Duration, Instant};

use crate::clock::{TICK, ticks};
use crate::config::{Config, RtoRule};

/// Clock granularity G (RFC 6298 §2.3): one nanosecond here.
const GRANULARITY: u64 = 1;
/// RTO at the start of data transmission, if the SYN timed out (RFC 6298 §5.7).
const AFTER_SYN_TIMEOUT: Duration = Duration::from_secs(3);

const MILLISECOND: u64 = 1_000_000;

/// Round-trip times of a connection, and its retransmission timeout.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// None before the first sample.
    srtt: Option<Duration>,
    rttvar: Duration,
    /// RTO before back-off, clamped.
    base: Duration,
    /// RTO in force.
    rto: Duration,
    /// Least RTT seen.
    min_rtt: Duration,
    rule: Rule,
    config: Arc<Config>,
}

/// The rule for the timeout, with its own state.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Rfc6298,
    WholeMilliseconds,
    PeakDeviation(Deviation),
    PeakTicks(PeakTicks),
    Ticks(Ticks),
    StampedTicks(Ticks),
}

/// Estimates in whole ticks.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    /// Eight times the smoothed RTT; 0 before the first sample.
    srtt: u64,
    /// Four times the mean deviation.
    rttvar: u64,
    /// Factor of the timeout.
    back_off: u32,
    /// Timeout after the last sample, without bounds.
    unbounded: Duration,
}

impl Default for Ticks {
    fn default() -> Self {
        Self { srtt: 0, rttvar: 0, back_off: 1, unbounded: Duration::ZERO }
    }
}

/// Beyond this back-off the smoothed RTT is discarded (ns-2).
const WORTHLESS: u32 = 8;

/// Mean deviations of round trips, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Deviation {
    /// Mean deviation.
    mean: u64,
    /// Four times the largest mean deviation of this round trip.
    peak: u64,
    /// Sequence number whose acknowledgement ends the round trip.
    round_end: u64,
}

/// The same in ticks of Linux's clock, as whole numbers.
#[derive(Clone, Copy, Debug, Default)]
struct PeakTicks {
    /// Eight times the smoothed RTT; 0 before the first sample.
    srtt: u64,
    /// Four times the mean deviation.
    deviation: u64,
    /// Largest `deviation` of this round trip.
    peak: u64,
    /// What the timeout adds to the smoothed RTT.
    rttvar: u64,
    /// Sequence number whose acknowledgement ends the round trip.
    round_end: u64,
}

impl RttEstimator {
    /// Returns an estimator without samples.
    pub fn new(config: Arc<Config>) -> Self {
        Self {
            srtt: None,
            rttvar: Duration::ZERO,
            base: config.initial_rto,
            rto: config.initial_rto,
            min_rtt: Duration::MAX,
            rule: match config.rto_rule {
                RtoRule::Rfc6298 => Rule::Rfc6298,
                RtoRule::WholeMilliseconds => Rule::WholeMilliseconds,
                RtoRule::PeakDeviation => Rule::PeakDeviation(Deviation::default()),
                RtoRule::PeakTicks => Rule::PeakTicks(PeakTicks::default()),
                RtoRule::Ticks => Rule::Ticks(Ticks::default()),
                RtoRule::StampedTicks => Rule::StampedTicks(Ticks::default()),
            },
            config,
        }
    }

    /// Takes a sample from a segment that was sent once (Karn's algorithm, RFC 6298 §3) and undoes
    /// the back-off.
    #[inline]
    pub fn sample(&mut self, rtt: Duration) {
        self.take(rtt, 0, 0);
    }

    /// After the handshake's sample: earlier connections to the same host had this RTT and this
    /// mean deviation.
    pub fn remember(&mut self) {
        let known = self.config.remembered_rtt;
        let Some(srtt) = self.srtt else { return };
        if known <= srtt {
            return;
        }
        let known_deviation = self.config.remembered_rttvar.as_nanos();
        let floor = self.config.min_rto.as_nanos();
        match &mut self.rule {
            Rule::PeakDeviation(deviation) => {
                deviation.mean = deviation.mean.max(known_deviation);
                deviation.peak = deviation.mean.saturating_mul(4).max(floor);
                self.rttvar = Duration::from_nanos(deviation.peak);
            }
            Rule::PeakTicks(ticks) => {
                ticks.srtt = known.as_nanos() / TICK * 8;
                ticks.deviation = ticks.deviation.max(known_deviation.saturating_mul(4) / TICK);
                ticks.peak = ticks.deviation.max(floor / TICK);
                ticks.rttvar = ticks.peak;
                self.rttvar = Duration::from_nanos(ticks.rttvar * TICK);
            }
            _ => return,
        }
        self.srtt = Some(known);
        self.set_rto(known + self.rttvar);
    }

    /// The same; `una` and `next` are SND.UNA and SND.NXT, which mark round trips.
    #[inline(always)]
    pub fn take(&mut self, rtt: Duration, una: u64, next: u64) {
        self.min_rtt = self.min_rtt.min(rtt);
        let tick = self.config.tick.as_nanos();
        let r = if tick == 0 { rtt.as_nanos() } else { rtt.as_nanos().div_ceil(tick) * tick };
        match self.rule {
            Rule::Rfc6298 => self.take_rfc(r),
            Rule::WholeMilliseconds => self.take_milliseconds(r / MILLISECOND),
            Rule::PeakDeviation(_) => self.take_peak(r, una, next),
            Rule::PeakTicks(_) => self.take_peak_ticks(rtt.as_nanos() / TICK, una, next),
            Rule::Ticks(_) => self.take_ticks(r, tick.max(1)),
            Rule::StampedTicks(_) => self.take_stamped_ticks(rtt.as_nanos(), tick.max(1)),
        }
    }

    /// The same for a segment that was sent at `sent` and answered at `now`. Estimates in ticks
    /// count the ticks that began between.
    #[inline(always)]
    pub fn take_between(&mut self, sent: Instant, now: Instant, una: u64, next: u64) {
        if let Rule::PeakTicks(_) = self.rule {
            self.min_rtt = self.min_rtt.min(now.since(sent));
            self.take_peak_ticks(ticks(now) - ticks(sent), una, next);
        } else {
            self.take(now.since(sent), una, next);
        }
    }

    #[inline]
    fn take_rfc(&mut self, r: u64) {
        let (srtt, rttvar) = match self.srtt {
            // §2.2
            None => (r, r / 2),
            // §2.3, alpha 1/8, beta 1/4, with the old SRTT in RTTVAR
            Some(old) => {
                let srtt = old.as_nanos();
                let rttvar = self.rttvar.as_nanos();
                (srtt - srtt / 8 + r / 8, rttvar - rttvar / 4 + srtt.abs_diff(r) / 4)
            }
        };
        self.srtt = Some(Duration::from_nanos(srtt));
        self.rttvar = Duration::from_nanos(rttvar);
        let rto = srtt.saturating_add(rttvar.saturating_mul(4).max(GRANULARITY));
        self.set_rto(Duration::from_nanos(rto));
    }

    /// RFC 6298's in whole milliseconds, which are rounded down at each step.
    fn take_milliseconds(&mut self, r: u64) {
        let (srtt, rttvar) = match self.srtt {
            None => (r, r / 2),
            Some(old) => {
                let old = old.as_nanos() / MILLISECOND;
                let before = self.rttvar.as_nanos() / MILLISECOND;
                let error = old.abs_diff(r);
                // The division of C rounds towards zero, so a fall and a rise of the variance are
                // both rounded down in size.
                let less = before.saturating_sub(error) / 4;
                (old - old / 8 + r / 8, before - less + error.saturating_sub(before) / 4)
            }
        };
        self.srtt = Some(Duration::from_millis(srtt));
        self.rttvar = Duration::from_millis(rttvar);
        self.set_rto(Duration::from_millis(srtt.saturating_add(rttvar.saturating_mul(4))));
    }

    /// A timeout follows from a sample, within its bounds.
    #[inline]
    fn set_rto(&mut self, rto: Duration) {
        self.base = rto.clamp(self.config.min_rto, self.config.max_rto);
        self.rto = self.base;
    }

    fn take_ticks(&mut self, r: u64, tick: u64) {
        let Rule::Ticks(ticks) = &mut self.rule else { return };
        let r = (r / tick).max(1);
        if ticks.srtt == 0 {
            ticks.srtt = r << 3;
            ticks.rttvar = r << 1;
        } else {
            let smoothed = ticks.srtt >> 3;
            // At least 1, because 0 means that there is no sample (ns-2 `rtt_update()`).
            // Never 0, which stands for no sample.
            ticks.srtt = (ticks.srtt + r).saturating_sub(smoothed).max(1);
            ticks.rttvar = (ticks.rttvar + r.abs_diff(smoothed)).saturating_sub(ticks.rttvar >> 2).max(1);
        }
        ticks.back_off = 1;
        self.srtt = Some(Duration::from_nanos((ticks.srtt >> 3) * tick));
        self.rttvar = Duration::from_nanos((ticks.rttvar >> 2) * tick);
        // In eighths of a tick: the RTT and four times the deviation, whose unit is a quarter of a
        // tick.
        let rto = Duration::from_nanos((((ticks.rttvar << 3) + ticks.srtt) >> 3).saturating_mul(tick));
        ticks.unbounded = rto;
        self.set_rto(rto);
    }

    /// Samples are rounded to ticks, and do not end the back-off.
    fn take_stamped_ticks(&mut self, r: u64, tick: u64) {
        let Rule::StampedTicks(ticks) = &mut self.rule else { return };
        // ns-2 rounds to the nearest tick if it has timestamps, and counts ticks otherwise.
        let r = (r + tick / 2) / tick;
        let r = r.max(1);
        if ticks.srtt == 0 {
            ticks.srtt = r << 3;
            ticks.rttvar = r << 1;
        } else {
            let smoothed = ticks.srtt >> 3;
            ticks.srtt = (ticks.srtt + r).saturating_sub(smoothed).max(1);
            let error = r.abs_diff(smoothed);
            let mean = ticks.rttvar >> 2;
            ticks.rttvar = match error.checked_sub(mean) {
                Some(more) => ticks.rttvar + if r < smoothed { more >> 3 } else { more },
                None => ticks.rttvar - (mean - error),
            };
        }
        self.srtt = Some(Duration::from_nanos((ticks.srtt >> 3) * tick));
        self.rttvar = Duration::from_nanos((ticks.rttvar >> 2) * tick);
        let rto = Duration::from_nanos((((ticks.rttvar << 3) + ticks.srtt) >> 3).saturating_mul(tick));
        let back_off = u64::from(ticks.back_off);
        self.set_rto(rto);
        self.rto = self.base.saturating_mul(back_off).min(self.config.max_rto);
    }

    #[inline]
    fn take_peak(&mut self, r: u64, una: u64, next: u64) {
        let floor = self.config.min_rto.as_nanos();
        let Rule::PeakDeviation(deviation) = &mut self.rule else { return };
        let (srtt, rttvar) = match self.srtt {
            None => {
                // All in units of four deviations: half the sample times four.
                deviation.mean = r / 2;
                let rttvar = r.saturating_mul(2).max(floor);
                deviation.peak = rttvar;
                deviation.round_end = next;
                (r, rttvar)
            }
            Some(old) => {
                let old = old.as_nanos();
                let srtt = old - old / 8 + r / 8;
                let error = old.abs_diff(r);
                if r < old && error > deviation.mean {
                    // A shorter RTT raises the deviation an eighth as fast, because it is no reason
                    // for a longer timeout (Linux `tcp_rtt_estimator()`, after Eifel).
                    deviation.mean += (error - deviation.mean) / 32;
                } else {
                    deviation.mean = deviation.mean - deviation.mean / 4 + error / 4;
                }
                deviation.peak = deviation.peak.max(deviation.mean.saturating_mul(4));
                let mut rttvar = self.rttvar.as_nanos().max(deviation.peak);
                if una > deviation.round_end {
                    if deviation.peak < rttvar {
                        rttvar -= (rttvar - deviation.peak) / 4;
                    }
                    deviation.round_end = next;
                    deviation.peak = floor;
                }
                (srtt, rttvar)
            }
        };
        self.srtt = Some(Duration::from_nanos(srtt));
        self.rttvar = Duration::from_nanos(rttvar);
        self.set_rto(Duration::from_nanos(srtt.saturating_add(rttvar)));
    }

    /// As [`take_peak`](Self::take_peak), in ticks. Linux shifts eight times the smoothed RTT by
    /// three bits, which drops up to seven eighths of a tick: the mean settles that much above the
    /// samples.
    #[cold]
    fn take_peak_ticks(&mut self, r: u64, una: u64, next: u64) {
        let floor = self.config.min_rto.as_nanos() / TICK;
        let Rule::PeakTicks(ticks) = &mut self.rule else { return };
        // A round trip below a tick counts as one (`tcp_rtt_estimator()`).
        let r = r.max(1);
        if ticks.srtt == 0 {
            ticks.srtt = r << 3;
            ticks.deviation = r << 1;
            ticks.peak = ticks.deviation.max(floor);
            ticks.rttvar = ticks.peak;
            ticks.round_end = next;
        } else {
            let smoothed = ticks.srtt >> 3;
            ticks.srtt = ticks.srtt - smoothed + r;
            let error = r.abs_diff(smoothed);
            let mean = ticks.deviation >> 2;
            ticks.deviation = match error.checked_sub(mean) {
                // A shorter RTT raises the deviation an eighth as fast (after Eifel).
                Some(more) => ticks.deviation + if r < smoothed { more >> 3 } else { more },
                None => ticks.deviation - (mean - error),
            };
            ticks.peak = ticks.peak.max(ticks.deviation);
            ticks.rttvar = ticks.rttvar.max(ticks.peak);
            if una > ticks.round_end {
                ticks.rttvar -= (ticks.rttvar - ticks.peak) >> 2;
                ticks.round_end = next;
                ticks.peak = floor;
            }
        }
        let rto = ((ticks.srtt >> 3) + ticks.rttvar).saturating_mul(TICK);
        self.srtt = Some(Duration::from_nanos(ticks.srtt.saturating_mul(TICK) / 8));
        self.rttvar = Duration::from_nanos(ticks.rttvar.saturating_mul(TICK));
        self.set_rto(Duration::from_nanos(rto));
    }

    /// Least RTT seen; `MAX` before the first sample.
    pub fn min_rtt(&self) -> Duration {
        self.min_rtt
    }

    /// A sample that counts for the least RTT only.
    #[inline]
    pub fn note_least(&mut self, rtt: Duration) {
        self.min_rtt = self.min_rtt.min(rtt);
    }

    /// Doubles the RTO (RFC 6298 §5.5); it stays so until the next sample.
    pub fn back_off(&mut self) {
        // RFC 6298 §2.5 allows an upper bound.
        self.rto = self.rto.saturating_mul(2).min(self.config.max_rto);
        if let Rule::Ticks(ticks) | Rule::StampedTicks(ticks) = &mut self.rule {
            ticks.back_off = ticks.back_off.saturating_mul(2);
            if ticks.back_off > WORTHLESS {
                // The RTT may have changed, so the next sample counts as the first. Its old value
                // moves into the deviation, so that the timeout stays long (ns-2 `rtt_backoff()`).
                ticks.rttvar += ticks.srtt >> 3;
                ticks.srtt = 0;
            }
        }
    }

    /// Takes the last doubling back, since its retransmission was not sent.
    pub fn take_back_off(&mut self) {
        self.rto = Duration::from_nanos(self.rto.as_nanos() / 2).max(self.base);
    }

    /// Data transmission begins after a SYN that timed out and gave no sample (RFC 6298 §5.7).
    pub fn restart_after_syn_timeout(&mut self) {
        if self.srtt.is_none() {
            self.set_rto(AFTER_SYN_TIMEOUT);
        }
    }

    /// Ends the back-off of the persist timer.
    pub fn clear_back_off(&mut self) {
        self.rto = self.base;
        if let Rule::StampedTicks(ticks) = &mut self.rule {
            ticks.back_off = 1;
        }
    }

    /// Returns the timeout without bounds and back-off, by ns-2's rule (`t_rtxcur_`).
    pub fn unbounded(&self) -> Duration {
        match &self.rule {
            Rule::Ticks(ticks) if self.srtt.is_some() => ticks.unbounded,
            _ => self.base,
        }
    }

    /// Returns the smoothed RTT; `None` before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// Returns the retransmission timeout, back-off included.
    pub fn rto(&self) -> Duration {
        self.rto
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_sets_srtt_and_half_of_it_as_variance() {
        let mut rtt =
            RttEstimator::new(Config { min_rto: Duration::from_millis(1), ..Config::default() }.into());
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        rtt.sample(Duration::from_millis(100));
        assert_eq!(rtt.srtt(), Some(Duration::from_millis(100)));
        // 100 ms, and four times a variance of 50 ms.
        assert_eq!(rtt.rto(), Duration::from_millis(300));
        rtt.sample(Duration::from_millis(180));
        assert_eq!(rtt.srtt(), Some(Duration::from_millis(110)));
        // 3/4 of 50 ms, and 1/4 of the 80 ms between the sample and SRTT.
        assert_eq!(rtt.rto(), Duration::from_micros(110_000 + 4 * 57_500));
    }

    fn in_peak_ticks() -> RttEstimator {
        let config =
            Config { rto_rule: RtoRule::PeakTicks, min_rto: Duration::from_millis(200), ..Config::default() };
        RttEstimator::new(config.into())
    }

    #[test]
    fn in_ticks_the_smoothed_rtt_settles_up_to_seven_eighths_of_a_tick_above_shorter_samples() {
        let mut rtt = in_peak_ticks();
        rtt.sample(Duration::from_millis(50));
        assert_eq!(rtt.rto(), Duration::from_millis(250));
        rtt.sample(Duration::from_millis(52));
        assert_eq!(rtt.srtt(), Some(Duration::from_micros(50_250)));
        for (millis, settled) in [(60, 60_000), (70, 70_000), (60, 60_875)] {
            for _ in 0..200 {
                rtt.sample(Duration::from_millis(millis));
            }
            assert_eq!(rtt.srtt(), Some(Duration::from_micros(settled)), "{millis}");
        }
        // The deviation has fallen, so the timeout is the whole tick and the least deviation.
        assert_eq!(rtt.rto(), Duration::from_millis(260));
    }

    #[test]
    fn in_ticks_a_round_trip_has_the_ticks_that_began_in_it() {
        let micros = |count: u64| Instant::from_nanos(count * 1000);
        for (sent, answered, ticks) in [(900, 51_000, 51), (100, 50_900, 50), (999, 1001, 1), (0, 999, 1)] {
            let mut rtt = in_peak_ticks();
            rtt.take_between(micros(sent), micros(answered), 0, 0);
            assert_eq!(rtt.srtt(), Some(Duration::from_millis(ticks)), "{sent} to {answered}");
        }
    }

    #[test]
    fn the_timeout_stays_between_its_bounds_and_backs_off_until_a_sample() {
        let mut rtt = RttEstimator::new(Config::default().into());
        rtt.sample(Duration::from_millis(1));
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        // 40 doublings would exceed 64 bits of nanoseconds.
        for _ in 0..40 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        // The estimates must not overflow.
        rtt.sample(Duration::MAX);
        rtt.sample(Duration::ZERO);
        assert_eq!(rtt.rto(), Duration::from_secs(60));
    }
}
