//! Round-trip time and the retransmission timeout (RFC 6298), in nanoseconds.

use goodqueue::Duration;

use crate::Config;

/// Clock granularity G (RFC 6298 §2.3): one nanosecond here.
const GRANULARITY: u64 = 1;
/// What the RTO becomes once data flows, if the SYN timed out (RFC 6298 §5.7).
const AFTER_SYN_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    /// None before the first sample.
    srtt: Option<Duration>,
    rttvar: Duration,
    /// RTO before back-off, clamped.
    base: Duration,
    /// RTO in force.
    rto: Duration,
    min_rto: Duration,
    max_rto: Duration,
}

impl RttEstimator {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            srtt: None,
            rttvar: Duration::ZERO,
            base: config.initial_rto,
            rto: config.initial_rto,
            min_rto: config.min_rto,
            max_rto: config.max_rto,
        }
    }

    /// Takes a sample from a segment that was sent once (Karn's algorithm, RFC 6298 §3) and undoes the back-off.
    #[inline]
    pub(crate) fn sample(&mut self, rtt: Duration) {
        let r = rtt.as_nanos();
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
        self.base = Duration::from_nanos(rto).clamp(self.min_rto, self.max_rto);
        self.rto = self.base;
    }

    /// Doubles the RTO (RFC 6298 §5.5); it stays so until the next sample.
    pub(crate) fn back_off(&mut self) {
        self.rto = self.rto.saturating_mul(2).min(self.max_rto);
    }

    /// Data transmission begins after a SYN that timed out and gave no sample (RFC 6298 §5.7).
    pub(crate) fn restart_after_syn_timeout(&mut self) {
        if self.srtt.is_none() {
            self.base = AFTER_SYN_TIMEOUT.clamp(self.min_rto, self.max_rto);
            self.rto = self.base;
        }
    }

    /// Ends the back-off of the persist timer.
    pub(crate) fn clear_back_off(&mut self) {
        self.rto = self.base;
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
        let mut rtt = RttEstimator::new(&Config { min_rto: Duration::from_millis(1), ..Config::default() });
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
        let mut rtt = RttEstimator::new(&Config::default());
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
