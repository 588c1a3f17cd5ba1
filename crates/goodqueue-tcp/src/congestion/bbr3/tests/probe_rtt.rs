//! The search for the least RTT.

use super::path::{DEEP, MSS, Path, mbit, ms};
use crate::congestion::bbr3::state::State;

#[test]
fn a_flow_that_keeps_a_queue_measures_the_least_rtt_every_five_seconds() {
    let mut path = Path::bulk(mbit(10.0), DEEP);
    let first = path.until(|path| path.state() == State::ProbeRtt);
    assert!(first.as_nanos() > 5_000_000_000);
    assert!((path.bbr().cwnd_gain() - 0.5).abs() < 1e-9);
    path.until(|path| path.bbr().rtt.round_done || path.state() != State::ProbeRtt);
    assert!(path.pipe() <= path.bbr().probe_rtt_cwnd() + 2 * MSS);
    let end = path.until(|path| path.state() != State::ProbeRtt);
    assert!(matches!(path.state(), State::ProbeBw(_)));
    assert!(end.since(first) >= ms(200) && end.since(first) < ms(500), "{:?}", end.since(first));
    let next = path.until(|path| path.state() == State::ProbeRtt);
    assert!(next.since(end) >= ms(5000), "{:?}", next.since(end));
}

#[test]
fn a_pause_of_the_application_replaces_the_search() {
    let mut path = Path::bulk(mbit(10.0), DEEP);
    path.run(ms(4000));
    path.take_back();
    path.run(ms(7000));
    assert_eq!(path.pipe(), 0, "it is idle");
    path.writes = Some(MSS);
    for _ in 0..40 {
        path.run(ms(50));
        assert!(path.state() != State::ProbeRtt, "idleness emptied the queue well enough");
    }
}

#[test]
fn a_search_during_startup_returns_to_startup() {
    // The application has little to send, so Startup lasts.
    let mut path = Path::limited(mbit(100.0), DEEP, MSS);
    path.run(ms(1000));
    // The path becomes longer for a while, so that the least RTT grows old.
    path.bunch = ms(100);
    path.until(|path| path.state() == State::ProbeRtt);
    assert!(!path.bbr().full.is_reached());
    path.until(|path| path.state() != State::ProbeRtt);
    assert_eq!(path.state(), State::Startup);
}
