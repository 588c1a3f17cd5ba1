//! The pings of all ping flows.

use goodqueue::{Duration, Instant};
use goodqueue_sim::traffic::RoundTrip;
use goodqueue_sim::{Config, Outcome};

use crate::statistics::seconds;

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
