//! The pings of all ping flows.

use goodqueue::{Duration, Instant};
use goodqueue_sim::traffic::RoundTrip;
use goodqueue_sim::{Config, Outcome};

use crate::statistics::{exact_summary, nearest_rank, seconds};

/// All pings of all ping flows, and the base round-trip time in seconds of each.
pub(super) fn pings(config: &Config, outcome: &Outcome) -> (Vec<RoundTrip>, Vec<f64>) {
    config
        .flows
        .iter()
        .zip(&outcome.flows)
        .flat_map(|(flow, result)| {
            result.round_trips.iter().map(|ping| (*ping, seconds(config.base_rtt(flow))))
        })
        .unzip()
}

pub(super) fn answered(pings: &[RoundTrip]) -> Vec<f64> {
    pings.iter().filter_map(|ping| ping.time).map(seconds).collect()
}

/// No answer, although there would have been 10 s for it before the run ended (those sent later may
/// be on their way).
pub(super) fn is_lost(ping: &RoundTrip, config: &Config) -> bool {
    let end = Instant::ZERO + config.duration;
    ping.time.is_none() && end.since(ping.sent_at) > Duration::from_secs(10).min(config.duration)
}

/// Returns the responsiveness in round trips per minute: 60 s divided by the mean of these
/// round-trip times in seconds, of which the longest 5 % are trimmed
/// (draft-ietf-ippm-responsiveness).
///
/// The draft averages two values: the responsiveness of probes on connections of their own, and of
/// probes on the connections that make the load. Pings give the first one only. They have no
/// handshakes and no HTTP request, and the load is that of the scenario instead of a ramp.
pub(super) fn responsiveness(times: &[f64]) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.truncate(nearest_rank(TRIMMED_AT, sorted.len()) + 1);
    exact_summary(&sorted).mean.filter(|mean| *mean > 0.0).map(|mean| 60.0 / mean)
}

/// Share of the round-trip times that count; the draft's default.
const TRIMMED_AT: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responsiveness_ignores_the_slowest_twentieth_of_the_round_trips() {
        let mut times = vec![0.05; 19];
        times.push(5.0);
        assert!((responsiveness(&times).unwrap() - 1200.0).abs() < 1e-9);
        assert!((responsiveness(&[0.1]).unwrap() - 600.0).abs() < 1e-9);
        assert_eq!((responsiveness(&[]), responsiveness(&[0.0])), (None, None));
    }
}
