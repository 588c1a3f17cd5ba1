//! The pings of all ping flows.

use goodqueue::Instant;
use goodqueue_sim::traffic::{PATIENCE, RoundTrip};
use goodqueue_sim::{Config, FlowConfig, FlowOutcome, Outcome, Traffic};

use super::delays::{Delays, in_seconds};
use crate::statistics::seconds;

/// Returns the ping flows and what was seen of them.
fn pings<'o>(
    config: &'o Config,
    outcome: &'o Outcome,
) -> impl Iterator<Item = (&'o FlowConfig, &'o FlowOutcome)> {
    config.flows.iter().zip(&outcome.flows).filter(|(flow, _)| matches!(flow.traffic, Traffic::Ping(_)))
}

/// Returns the round-trip times of one flow.
pub(super) fn of_flow(seen: &FlowOutcome) -> Delays {
    let mut times = Delays::from_exact(in_seconds(seen.round_trips.iter().map(|ping| ping.time)));
    if let Some(earlier) = &seen.earlier {
        times.add_earlier(earlier, 0.0);
    }
    times
}

/// Returns the round-trip times of all flows.
pub(super) fn round_trips(config: &Config, outcome: &Outcome) -> Delays {
    let all = pings(config, outcome).flat_map(|(_, seen)| &seen.round_trips);
    let mut times = Delays::from_exact(in_seconds(all.map(|ping| ping.time)));
    for earlier in pings(config, outcome).filter_map(|(_, seen)| seen.earlier.as_ref()) {
        times.add_earlier(earlier, 0.0);
    }
    times
}

/// Returns the round-trip times of all flows without the base round-trip times.
pub(super) fn induced(config: &Config, outcome: &Outcome) -> Delays {
    let base = |flow| seconds(config.base_rtt(flow));
    let all = pings(config, outcome).flat_map(|(flow, seen)| {
        let base = base(flow);
        let answered = seen.round_trips.iter().filter_map(|ping| ping.time);
        answered.map(move |time| (seconds(time) - base).max(0.0))
    });
    let mut delays = Delays::from_exact(all.collect());
    for (flow, seen) in pings(config, outcome) {
        if let Some(earlier) = &seen.earlier {
            delays.add_earlier(earlier, base(flow));
        }
    }
    delays
}

/// Returns how many pings were sent, and how many of them were lost.
pub(super) fn sent_and_lost(config: &Config, outcome: &Outcome) -> (u64, u64) {
    pings(config, outcome).fold((0, 0), |(sent, lost), (_, seen)| {
        let earlier = seen.earlier.as_ref().map(|earlier| earlier.losses).unwrap_or_default();
        let latest = seen.round_trips.iter().filter(|ping| is_lost(ping, config)).count();
        (sent + earlier.packets + seen.round_trips.len() as u64, lost + earlier.lost + latest as u64)
    })
}

/// Returns pings of all flows in the order of sending: all of them, or if there are very many, some
/// of each flow at equal distances.
pub(super) fn over_time(config: &Config, outcome: &Outcome) -> Vec<RoundTrip> {
    let mut all: Vec<RoundTrip> = Vec::new();
    for (_, seen) in pings(config, outcome) {
        match &seen.earlier {
            None => all.extend(&seen.round_trips),
            Some(earlier) => {
                all.extend(&earlier.thinned);
                // The latest pings are thinned like the earlier ones, so that all have equal
                // distances.
                let latest = (earlier.next..).zip(&seen.round_trips);
                all.extend(latest.filter(|(number, _)| number % earlier.stride == 0).map(|(_, ping)| ping));
            }
        }
    }
    all.sort_by_key(|ping| ping.sent_at);
    all
}

/// No answer, although there would have been 10 s for it before the run ended (those sent later may
/// be on their way).
fn is_lost(ping: &RoundTrip, config: &Config) -> bool {
    let end = Instant::ZERO + config.duration;
    ping.time.is_none() && end.since(ping.sent_at) > PATIENCE
}

/// Returns the responsiveness in round trips per minute: 60 s divided by the mean of these
/// round-trip times in seconds, of which the longest 5 % are trimmed
/// (draft-ietf-ippm-responsiveness).
///
/// The draft averages two values: the responsiveness of probes on connections of their own, and of
/// probes on the connections that make the load. Pings give the first one only. They have no
/// handshakes and no HTTP request, and the load is that of the scenario instead of a ramp.
pub(super) fn responsiveness(times: &Delays) -> Option<f64> {
    times.trimmed_mean(TRIMMED_AT).filter(|mean| *mean > 0.0).map(|mean| 60.0 / mean)
}

/// Share of the round-trip times that count; the draft's default.
const TRIMMED_AT: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responsiveness_ignores_the_slowest_twentieth_of_the_round_trips() {
        let of = |times: &[f64]| responsiveness(&Delays::from_exact(times.to_vec()));
        let mut times = vec![0.05; 19];
        times.push(5.0);
        // The slowest of twenty is the trimmed 5 %: 60 s / 50 ms are left.
        assert!((of(&times).unwrap() - 1200.0).abs() < 1e-9);
        assert!((of(&[0.1]).unwrap() - 600.0).abs() < 1e-9);
        assert_eq!((of(&[]), of(&[0.0])), (None, None));
    }
}
