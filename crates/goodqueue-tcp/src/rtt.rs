//! Round-trip time and the retransmission timeout (RFC 6298), in nanoseconds.

use alloc::sync::Arc;

use goodqueue::Duration;

use crate::config::{Config, RtoRule};

/// Clock granularity G (RFC 6298 §2.3): one nanosecond here.
const GRANULARITY: u64 = 1;
/// What the RTO becomes once data flows, if the SYN timed out (RFC 6298 §5.7).
const AFTER_SYN_TIMEOUT: Duration = Duration::from_secs(3);

const MILLISECOND: u64 = 1_000_000;

#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
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

/// What the rule for the timeout keeps beside that.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Rfc6298,
    Libutp,
    Linux(Linux),
    Ns2(Ns2),
    Ns2Linux(Ns2),
}

/// What ns-2 keeps, in ticks: eight times the smoothed RTT, and four times its mean deviation.
#[derive(Clone, Copy, Debug)]
struct Ns2 {
    srtt: u64,
    rttvar: u64,
    /// By how much the timeout is multiplied.
    back_off: u32,
    /// What the last sample made of it, without bounds.
    unbounded: Duration,
}

/// When the back-off is beyond this, ns-2 takes the smoothed RTT for worthless.
const NS2_WORTHLESS: u32 = 8;

/// Variance by Linux's rule, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Linux {
    /// Mean deviation.
    mdev: u64,
    /// The largest of this round trip.
    mdev_max: u64,
    /// The round trip ends when this is acknowledged.
    round_end: u64,
}

impl RttEstimator {
    pub(crate) fn new(config: Arc<Config>) -> Self {
        Self {
            srtt: None,
            rttvar: Duration::ZERO,
            base: config.initial_rto,
            rto: config.initial_rto,
            min_rtt: Duration::MAX,
            rule: match config.rto_rule {
                RtoRule::Rfc6298 => Rule::Rfc6298,
                RtoRule::Libutp => Rule::Libutp,
                RtoRule::Linux | RtoRule::LinuxStamps => Rule::Linux(Linux::default()),
                RtoRule::Ns2 => Rule::Ns2(Ns2 { srtt: 0, rttvar: 0, back_off: 1, unbounded: Duration::ZERO }),
                RtoRule::Ns2Linux => {
                    Rule::Ns2Linux(Ns2 { srtt: 0, rttvar: 0, back_off: 1, unbounded: Duration::ZERO })
                }
            },
            config,
        }
    }

    /// Takes a sample from a segment that was sent once (Karn's algorithm, RFC 6298 §3) and undoes
    /// the back-off.
    #[inline]
    pub(crate) fn sample(&mut self, rtt: Duration) {
        self.take(rtt, 0, 0);
    }

    /// After the handshake's sample: earlier connections to the same host had this RTT and this
    /// mean deviation.
    pub(crate) fn remember(&mut self) {
        let known = self.config.remembered_rtt;
        let Some(srtt) = self.srtt else { return };
        let Rule::Linux(linux) = &mut self.rule else { return };
        if known > srtt {
            self.srtt = Some(known);
            linux.mdev = linux.mdev.max(self.config.remembered_rttvar.as_nanos());
            linux.mdev_max = linux.mdev.saturating_mul(4).max(self.config.min_rto.as_nanos());
            self.rttvar = Duration::from_nanos(linux.mdev_max);
            self.set_rto(known + self.rttvar);
        }
    }

    /// The same; `una` and `next` are SND.UNA and SND.NXT, which mark round trips.
    #[inline]
    pub(crate) fn take(&mut self, rtt: Duration, una: u64, next: u64) {
        self.min_rtt = self.min_rtt.min(rtt);
        let tick = self.config.tick.as_nanos();
        let r = if tick == 0 { rtt.as_nanos() } else { rtt.as_nanos().div_ceil(tick) * tick };
        match self.rule {
            Rule::Rfc6298 => self.take_rfc(r),
            Rule::Libutp => self.take_libutp(r / MILLISECOND),
            Rule::Linux(_) => self.take_linux(r, una, next),
            Rule::Ns2(_) => self.take_ns2(r, tick.max(1)),
            Rule::Ns2Linux(_) => self.take_ns2_linux(rtt.as_nanos(), tick.max(1)),
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
    fn take_libutp(&mut self, r: u64) {
        let (srtt, rttvar) = match self.srtt {
            None => (r, r / 2),
            Some(old) => {
                let (old, before) = (old.as_nanos() / MILLISECOND, self.rttvar.as_nanos() / MILLISECOND);
                let error = old.abs_diff(r);
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

    fn take_ns2(&mut self, r: u64, tick: u64) {
        let Rule::Ns2(ns2) = &mut self.rule else { return };
        let r = (r / tick).max(1);
        if ns2.srtt == 0 {
            ns2.srtt = r << 3;
            ns2.rttvar = r << 1;
        } else {
            let smoothed = ns2.srtt >> 3;
            ns2.srtt = (ns2.srtt + r).saturating_sub(smoothed).max(1);
            ns2.rttvar = (ns2.rttvar + r.abs_diff(smoothed)).saturating_sub(ns2.rttvar >> 2).max(1);
        }
        ns2.back_off = 1;
        self.srtt = Some(Duration::from_nanos((ns2.srtt >> 3) * tick));
        self.rttvar = Duration::from_nanos((ns2.rttvar >> 2) * tick);
        let rto = Duration::from_nanos((((ns2.rttvar << 3) + ns2.srtt) >> 3).saturating_mul(tick));
        ns2.unbounded = rto;
        self.set_rto(rto);
    }

    /// Samples are rounded to ticks, and do not end the back-off.
    fn take_ns2_linux(&mut self, r: u64, tick: u64) {
        let Rule::Ns2Linux(ns2) = &mut self.rule else { return };
        let r = (r + tick / 2) / tick;
        let r = r.max(1);
        if ns2.srtt == 0 {
            ns2.srtt = r << 3;
            ns2.rttvar = r << 1;
        } else {
            let smoothed = ns2.srtt >> 3;
            ns2.srtt = (ns2.srtt + r).saturating_sub(smoothed).max(1);
            let (error, mean) = (r.abs_diff(smoothed), ns2.rttvar >> 2);
            ns2.rttvar = match error.checked_sub(mean) {
                Some(more) => ns2.rttvar + if r < smoothed { more >> 3 } else { more },
                None => ns2.rttvar - (mean - error),
            };
        }
        self.srtt = Some(Duration::from_nanos((ns2.srtt >> 3) * tick));
        self.rttvar = Duration::from_nanos((ns2.rttvar >> 2) * tick);
        let rto = Duration::from_nanos((((ns2.rttvar << 3) + ns2.srtt) >> 3).saturating_mul(tick));
        let back_off = u64::from(ns2.back_off);
        self.set_rto(rto);
        self.rto = self.base.saturating_mul(back_off).min(self.config.max_rto);
    }

    fn take_linux(&mut self, r: u64, una: u64, next: u64) {
        let floor = self.config.min_rto.as_nanos();
        let Rule::Linux(linux) = &mut self.rule else { return };
        let (srtt, rttvar) = match self.srtt {
            None => {
                // All in units of four deviations: half the sample times four.
                linux.mdev = r / 2;
                let rttvar = r.saturating_mul(2).max(floor);
                linux.mdev_max = rttvar;
                linux.round_end = next;
                (r, rttvar)
            }
            Some(old) => {
                let old = old.as_nanos();
                let srtt = old - old / 8 + r / 8;
                let error = old.abs_diff(r);
                if r < old && error > linux.mdev {
                    // A shorter RTT raises the variance an eighth as fast.
                    linux.mdev += (error - linux.mdev) / 32;
                } else {
                    linux.mdev = linux.mdev - linux.mdev / 4 + error / 4;
                }
                linux.mdev_max = linux.mdev_max.max(linux.mdev.saturating_mul(4));
                let mut rttvar = self.rttvar.as_nanos().max(linux.mdev_max);
                if una > linux.round_end {
                    if linux.mdev_max < rttvar {
                        rttvar -= (rttvar - linux.mdev_max) / 4;
                    }
                    linux.round_end = next;
                    linux.mdev_max = floor;
                }
                (srtt, rttvar)
            }
        };
        self.srtt = Some(Duration::from_nanos(srtt));
        self.rttvar = Duration::from_nanos(rttvar);
        self.set_rto(Duration::from_nanos(srtt.saturating_add(rttvar)));
    }

    /// Least RTT seen; `MAX` before the first sample.
    pub(crate) fn min_rtt(&self) -> Duration {
        self.min_rtt
    }

    /// A sample that counts for the least RTT only.
    #[inline]
    pub(crate) fn note_least(&mut self, rtt: Duration) {
        self.min_rtt = self.min_rtt.min(rtt);
    }

    /// Doubles the RTO (RFC 6298 §5.5); it stays so until the next sample.
    pub(crate) fn back_off(&mut self) {
        self.rto = self.rto.saturating_mul(2).min(self.config.max_rto);
        if let Rule::Ns2(ns2) | Rule::Ns2Linux(ns2) = &mut self.rule {
            ns2.back_off = ns2.back_off.saturating_mul(2);
            if ns2.back_off > NS2_WORTHLESS {
                ns2.rttvar += ns2.srtt >> 3;
                ns2.srtt = 0;
            }
        }
    }

    /// The last doubling was for nothing: what it was for was not sent.
    pub(crate) fn take_back_off(&mut self) {
        self.rto = Duration::from_nanos(self.rto.as_nanos() / 2).max(self.base);
    }

    /// Data transmission begins after a SYN that timed out and gave no sample (RFC 6298 §5.7).
    pub(crate) fn restart_after_syn_timeout(&mut self) {
        if self.srtt.is_none() {
            self.set_rto(AFTER_SYN_TIMEOUT);
        }
    }

    /// Ends the back-off of the persist timer.
    pub(crate) fn clear_back_off(&mut self) {
        self.rto = self.base;
        if let Rule::Ns2Linux(ns2) = &mut self.rule {
            ns2.back_off = 1;
        }
    }

    /// What the timeout follows from without bounds and back-off, by ns-2's rule (`t_rtxcur_`).
    pub(crate) fn unbounded(&self) -> Duration {
        match &self.rule {
            Rule::Ns2(ns2) if self.srtt.is_some() => ns2.unbounded,
            _ => self.base,
        }
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    pub(crate) fn rto(&self) -> Duration {
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
        assert_eq!(rtt.rto(), Duration::from_millis(300));
        rtt.sample(Duration::from_millis(180));
        assert_eq!(rtt.srtt(), Some(Duration::from_millis(110)));
        assert_eq!(rtt.rto(), Duration::from_micros(110_000 + 4 * 57_500));
    }

    #[test]
    fn the_timeout_stays_between_its_bounds_and_backs_off_until_a_sample() {
        let mut rtt = RttEstimator::new(Config::default().into());
        rtt.sample(Duration::from_millis(1));
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        for _ in 0..40 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        rtt.sample(Duration::MAX);
        rtt.sample(Duration::ZERO);
        assert_eq!(rtt.rto(), Duration::from_secs(60));
    }
}
