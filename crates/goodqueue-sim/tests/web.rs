//! Web traffic: what theory says of it where the line is idle, and what must hold where it is not.

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Instant, Rate};
use goodqueue_sim::traffic::PackMimeSettings;
use goodqueue_sim::{Capacity, Config, FlowConfig, LinkConfig, Outcome, Traffic, run};
use goodqueue_tcp::AnyCongestionControl;

fn link(mbit: u64, limit: u64) -> LinkConfig {
    let settings = Settings::new().with("limit", Value::Packets(limit));
    let pfifo =
        AnyConfig::from_settings("pfifo", &settings, &Link::default()).expect("listed").expect("valid");
    LinkConfig::new(Capacity::Constant(Rate::from_bps(mbit * 1_000_000)), pfifo)
}

fn simulate(mbit: u64, flow: FlowConfig, seconds: u64) -> Outcome {
    let links = [link(mbit, 1000), link(mbit, 1000)];
    run(&Config::new(links, vec![flow], Duration::from_secs(seconds))).expect("valid")
}

fn crowd(rate: f64, persistent: bool, max_open: usize) -> FlowConfig {
    let traffic = Traffic::PackMime(PackMimeSettings {
        rate,
        persistent,
        max_open,
        config: goodqueue_tcp::Config::default(),
        congestion_control: AnyCongestionControl::by_name("cubic").expect("listed"),
    });
    FlowConfig::new(traffic, Duration::from_millis(50))
}

#[test]
fn a_crowd_on_an_idle_line_gets_all_that_it_asks_for() {
    for persistent in [false, true] {
        let outcome = simulate(1000, crowd(50.0, persistent, 10_000), 60);
        let flow = &outcome.flows[0];
        let done = flow.transfers.iter().filter(|transfer| transfer.ended_at.is_some());
        let bytes: u64 = done.clone().map(|transfer| transfer.bytes).sum();
        let in_time = |transfer: &&goodqueue_sim::traffic::Transfer| {
            // A handshake, a request and its answer, at most 100 ms of work at the server, and the queue that one large
            // download makes at 1 Gbit/s: 1000 packets, 12 ms.
            let time = transfer.ended_at.map(|end| end.since(transfer.begun_at)).unwrap_or_default();
            transfer.bytes < 10_000 && time > Duration::from_millis(50) && time < Duration::from_millis(213)
        };
        let small = done.clone().filter(|transfer| transfer.bytes < 10_000);
        let late: Vec<_> = small.filter(|transfer| !in_time(transfer)).collect();
        // One request in a thousand is larger than the initial window and needs a round trip more.
        assert!(late.len() < 8, "{late:?}");
        let begun = flow.transfers.len();
        assert!(begun > 2000 && done.count() + 40 > begun, "{begun}");
        assert!(bytes <= flow.tally.delivered && flow.tally.retransmits == 0);
    }
}

#[test]
fn the_same_crowd_comes_whatever_the_line() {
    let begun = |mbit| {
        let outcome = simulate(mbit, crowd(20.0, false, 10_000), 30);
        outcome.flows[0]
            .transfers
            .iter()
            .map(|transfer| (transfer.begun_at, transfer.bytes))
            .collect::<Vec<_>>()
    };
    assert_eq!(begun(1), begun(100));
}

#[test]
fn a_crowd_far_too_large_for_the_line_keeps_to_its_bound() {
    // 200 connections a second need some 25 Mbit/s; the line has 1. Whoever comes when 300 are open gets nothing.
    let outcome = simulate(1, crowd(200.0, true, 300), 30);
    let flow = &outcome.flows[0];
    let done = flow.transfers.iter().filter(|transfer| transfer.ended_at.is_some()).count();
    assert!(flow.transfers.len() > 3000 && done > 50 && done < flow.transfers.len() / 2, "{done}");
    // Of 300 connections, each sends a window of 10 segments at first: the line is busy all the time.
    assert!(outcome.links[0].sent.bytes > 30 * 125_000 * 9 / 10);
}

#[test]
fn a_crowd_that_is_stopped_sends_no_more() {
    let mut flow = crowd(100.0, true, 10_000);
    flow.stop = Some(Instant::from_nanos(3_000_000_000));
    let outcome = simulate(10, flow, 10);
    assert_eq!(outcome.in_flight.packets, 0);
    let latest = outcome.flows[0].transfers.iter().map(|transfer| transfer.begun_at).max();
    assert!(latest.is_some_and(|latest| latest <= Instant::from_nanos(3_000_000_000)));
}
