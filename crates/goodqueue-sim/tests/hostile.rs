//! Hostile inputs at the level of a run. Those of the disciplines are in
//! `crates/goodqueue/tests/hostile`, those of TCP in `crates/goodqueue-tcp/tests/tcp/hostile.rs`.
//! The numbers H29 to H65 count the hostile inputs of all crates.

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Instant, Rate};
use goodqueue_sim::events::EventQueue;
use goodqueue_sim::traffic::{CbrSettings, PingSettings, TcpSettings};
use goodqueue_sim::{Capacity, Config, Direction, FlowConfig, LinkConfig, Outcome, Traffic, run};
use goodqueue_tcp::AnyCongestionControl;

fn link(capacity: Capacity) -> LinkConfig {
    let made = AnyConfig::from_settings("codel", &Settings::new(), &Link::default());
    LinkConfig::new(capacity, made.expect("listed").expect("valid"))
}

fn constant(bps: u64) -> LinkConfig {
    link(Capacity::Constant(Rate::from_bps(bps)))
}

fn simulate(down: LinkConfig, flows: Vec<FlowConfig>, duration: Duration) -> Outcome {
    run(&Config::new([down, constant(10_000_000)], flows, duration)).expect("valid")
}

fn flow(traffic: Traffic, rtt: Duration) -> FlowConfig {
    FlowConfig::new(traffic, rtt)
}

fn download(size: Option<u64>) -> Traffic {
    Traffic::Tcp(TcpSettings {
        direction: Direction::Down,
        size,
        config: goodqueue_tcp::Config::default().into(),
        congestion_control: AnyCongestionControl::by_name("cubic").expect("listed"),
        local_congestion: false,
    })
}

fn ping(interval: Duration) -> Traffic {
    Traffic::Ping(PingSettings { interval, bytes: 84, l4s: false })
}

// H29
#[test]
fn small_packets_back_to_back_do_not_drift_from_their_bits() {
    // 64 bytes at 400 Gbit/s take 1.28 ns. Rounding each packet down would lose 280 us of 1.28 ms
    // over a million packets.
    let bytes = 64 - 14;
    let load = Traffic::Cbr(CbrSettings {
        direction: Direction::Down,
        rate: Rate::from_bps(800_000_000_000),
        bytes,
        ecn: false,
        l4s: false,
    });
    let queue = AnyConfig::from_settings(
        "pfifo",
        &Settings::new().with("limit", Value::Packets(100)),
        &Link::default(),
    );
    let capacity = Capacity::Constant(Rate::from_bps(400_000_000_000));
    let down = LinkConfig::new(capacity, queue.expect("listed").expect("valid"));
    let outcome = simulate(down, vec![flow(load, Duration::ZERO)], Duration::from_micros(1280));
    let sent = outcome.links[0].stats.dequeued.packets;
    assert!(sent.abs_diff(1_000_000) <= 1, "{sent} packets in the time of a million");
}

// H29
#[test]
fn packets_of_gigabytes_take_the_time_of_their_bits() {
    let load = Traffic::Cbr(CbrSettings {
        direction: Direction::Down,
        rate: Rate::from_bps(100_000_000_000),
        bytes: 2_400_000_000,
        ecn: false,
        l4s: false,
    });
    let fast = constant(100_000_000_000);
    let outcome = simulate(fast, vec![flow(load, Duration::ZERO)], Duration::from_secs(2));
    // A packet takes 192 ms.
    let sent = outcome.links[0].stats.dequeued.packets;
    assert!(sent.abs_diff(2000 / 192) <= 1, "{sent} packets in 2 s");
}

// H30
#[test]
fn two_events_at_one_instant_happen_in_the_order_in_which_they_were_scheduled() {
    let at = Instant::from_nanos(5);
    for (first, second) in [(1, 2), (2, 1)] {
        let mut events = EventQueue::default();
        events.push(Instant::from_nanos(9), 7);
        events.push(at, first);
        events.push(at, second);
        events.push(Instant::ZERO, 8);
        let order: Vec<u32> = std::iter::from_fn(|| events.pop()).map(|(_, what)| what).collect();
        assert_eq!(order, [8, first, second, 7]);
    }
}

// H59
#[test]
fn a_link_that_stops_with_packets_in_flight_and_comes_back_delivers_the_transfer() {
    let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
    let rate = Rate::from_bps(10_000_000);
    let blocked = Rate::from_bps(0);
    // Two outages; the second begins before the first retransmission has got through.
    let schedule = vec![(at(0), rate), (at(1), blocked), (at(4), rate), (at(5), blocked), (at(9), rate)];
    let size = 4_000_000;
    let transfer = flow(download(Some(size)), Duration::from_millis(50));
    let outcome = simulate(link(Capacity::Schedule(schedule)), vec![transfer], Duration::from_secs(60));
    assert_eq!(outcome.flows[0].tally.delivered, size);
    assert!(outcome.flows[0].tally.completed_at.is_some_and(|end| end > at(9)));
}

// H63 H64
#[test]
fn a_run_of_nothing_ends_and_has_no_numbers_to_show() {
    for duration in [Duration::ZERO, Duration::from_nanos(1), Duration::from_secs(3_600)] {
        let outcome = simulate(constant(10_000_000), Vec::new(), duration);
        assert_eq!((outcome.bottleneck_packets, outcome.flows.len()), (0, 0));
    }
    let late = FlowConfig { start: Instant::MAX, ..flow(ping(Duration::from_secs(1)), Duration::ZERO) };
    assert_eq!(simulate(constant(10_000_000), vec![late], Duration::from_secs(1)).bottleneck_packets, 0);
}

// H64
#[test]
fn twenty_thousand_flows_that_all_start_at_once_are_all_heard() {
    let flows = vec![flow(ping(Duration::from_secs(60)), Duration::from_millis(10)); 20_000];
    let outcome = simulate(constant(10_000_000_000), flows, Duration::from_secs(5));
    assert_eq!(outcome.flows.len(), 20_000);
    let offered: u64 = outcome.flows.iter().map(|flow| flow.fates[1].sent).sum();
    assert!(offered >= 20_000, "{offered} packets offered");
}

// H65
#[test]
fn round_trips_of_nothing_and_of_an_hour_are_round_trips() {
    for (rtt, delivered) in [(Duration::ZERO, true), (Duration::from_secs(3_600), false)] {
        let transfer = flow(download(Some(100_000)), rtt);
        let outcome = simulate(constant(10_000_000), vec![transfer], Duration::from_secs(600));
        assert_eq!(outcome.flows[0].tally.delivered == 100_000, delivered, "round trip {rtt}");
    }
}

// H14 H65
#[test]
fn a_link_of_one_bit_per_second_carries_a_ping_in_its_time() {
    let echo = flow(ping(Duration::from_secs(100_000)), Duration::from_millis(1));
    let outcome = simulate(constant(1), vec![echo], Duration::from_secs(10_000));
    // 98 bytes take 784 seconds.
    let probe = outcome.flows[0].round_trips.first().expect("one came back");
    assert_eq!(outcome.flows[0].round_trips.len(), 1, "{probe:?}");
}
