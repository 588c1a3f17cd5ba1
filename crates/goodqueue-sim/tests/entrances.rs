//! Servers that attach to a path of several hops behind its first hop.

use std::sync::Arc;

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Rate};
use goodqueue_sim::traffic::{PingSettings, TcpSettings};
use goodqueue_sim::{Capacity, Config, Direction, FlowConfig, HopConfig, LinkConfig, Outcome, Traffic, run};
use goodqueue_tcp::AnyCongestionControl;

const RTT: Duration = Duration::from_millis(60);

fn link(mbit: u64) -> LinkConfig {
    let settings = Settings::new().with("limit", Value::Packets(50));
    let pfifo =
        AnyConfig::from_settings("pfifo", &settings, &Link::default()).expect("listed").expect("valid");
    LinkConfig::new(Capacity::Constant(Rate::from_bps(mbit * 1_000_000)), pfifo)
}

fn hop(mbit: u64) -> HopConfig {
    HopConfig { links: [link(mbit), link(mbit)], delay: Duration::from_millis(5) }
}

/// Runs flows over a hop of 100 Mbit/s, 5 ms of delay, the bottleneck of 10 Mbit/s, 5 ms of delay,
/// and a hop of 20 Mbit/s.
fn simulate(flows: Vec<FlowConfig>) -> Outcome {
    let mut config = Config::new([link(10), link(10)], flows, Duration::from_secs(10));
    config.before = vec![hop(100)];
    config.after = vec![hop(20)];
    run(&config).expect("valid")
}

fn bulk(direction: Direction, joins: u32) -> FlowConfig {
    let traffic = Traffic::Tcp(TcpSettings {
        direction,
        size: None,
        config: Arc::default(),
        congestion_control: AnyCongestionControl::by_name("cubic").expect("listed"),
        local_congestion: false,
    });
    FlowConfig { joins, ..FlowConfig::new(traffic, RTT) }
}

/// Returns the packets that left each hop's queues, down and up, in the order from the servers.
fn passed(outcome: &Outcome) -> Vec<[u64; 2]> {
    let all = [&outcome.hops[0], &outcome.links, &outcome.hops[1]];
    all.map(|links| [links[0].stats.dequeued.packets, links[1].stats.dequeued.packets]).to_vec()
}

#[test]
fn data_enters_and_acknowledgements_leave_where_the_server_is() {
    for joins in 0..3 {
        let outcome = simulate(vec![bulk(Direction::Down, joins)]);
        for (hop, [down, up]) in (0..).zip(passed(&outcome)) {
            // An ACK acknowledges two segments, so the bound is half of that for data.
            assert_eq!((down > 1000, up > 500), (hop >= joins, hop >= joins), "{joins}: {hop}");
            assert!(hop >= joins || (down, up) == (0, 0));
        }
        // The slowest link on the flow's way is full: 10 Mbit/s, or 20 Mbit/s behind the
        // bottleneck.
        let mbit = outcome.flows[0].tally.delivered * 8 / 10_000_000;
        let expected = if joins < 2 { 8..10 } else { 16..20 };
        assert!(expected.contains(&mbit), "{joins}: {mbit}");
    }
}

#[test]
fn uploads_to_such_a_server_leave_there_too() {
    let outcome = simulate(vec![bulk(Direction::Up, 1)]);
    assert_eq!(passed(&outcome)[0], [0, 0]);
    assert!(passed(&outcome)[1..].iter().all(|[down, up]| *down > 500 && *up > 1000));
}

#[test]
fn the_round_trip_time_is_the_same_wherever_a_server_joins() {
    let traffic = Traffic::Ping(PingSettings { interval: Duration::from_millis(100), bytes: 64, l4s: false });
    // An index beyond the last hop means the last hop.
    for joins in [0, 1, 2, 9] {
        let flow = FlowConfig { joins, ..FlowConfig::new(traffic.clone(), RTT) };
        let outcome = simulate(vec![flow]);
        let times: Vec<Duration> = outcome.flows[0].round_trips.iter().filter_map(|trip| trip.time).collect();
        // The serialization of 78 bytes, four or six times, takes less than 250 us.
        let most = RTT + Duration::from_micros(250);
        assert!(
            times.len() > 90 && times.iter().all(|time| *time > RTT && *time < most),
            "{joins}: {times:?}"
        );
    }
}

#[test]
fn who_joins_behind_the_first_queue_shares_only_what_follows() {
    let outcome = simulate(vec![bulk(Direction::Down, 0), bulk(Direction::Down, 2)]);
    let [through, behind] = [0, 1].map(|flow: usize| outcome.flows[flow].tally.delivered * 8 / 10_000_000);
    assert!(through + behind > 17 && through < 10 && behind > 8, "{through} {behind}");
}
