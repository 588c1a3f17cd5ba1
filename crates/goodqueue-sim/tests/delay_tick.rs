//! Delay emulators that release packets at their ticks only.

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Rate};
use goodqueue_sim::traffic::PingSettings;
use goodqueue_sim::{Capacity, Config, FlowConfig, HopConfig, LinkConfig, Traffic, run};

fn link() -> LinkConfig {
    let settings = Settings::new().with("limit", Value::Packets(50));
    let pfifo =
        AnyConfig::from_settings("pfifo", &settings, &Link::default()).expect("listed").expect("valid");
    LinkConfig::new(Capacity::Constant(Rate::from_bps(1_000_000_000)), pfifo)
}

const TICK: Duration = Duration::from_millis(4);

/// Returns the base round-trip time of a ping over fast links with an emulator behind them, and the
/// shortest of its round trips.
fn base_and_shortest(rtt: Duration, access_ms: u64, hop_ms: u64) -> [Duration; 2] {
    // The pings come at 400 times between two ticks, 10 us apart.
    let interval = Duration::from_micros(100_010);
    let traffic = Traffic::Ping(PingSettings { interval, bytes: 84, l4s: false });
    let flow = FlowConfig { access: Duration::from_millis(access_ms), ..FlowConfig::new(traffic, rtt) };
    let mut config = Config::new([link(), link()], vec![flow], Duration::from_secs(45));
    config.after = vec![HopConfig { links: [link(), link()], delay: Duration::from_millis(hop_ms) }];
    config.delay_tick = Some(TICK);
    let outcome = run(&config).expect("valid");
    let shortest = outcome.flows[0].round_trips.iter().filter_map(|trip| trip.time).min();
    [config.base_rtt(&config.flows[0]), shortest.expect("some were answered")]
}

#[test]
fn the_base_round_trip_is_the_shortest_that_a_ping_can_take() {
    let rtt = Duration::from_millis(50);
    // Delays below a tick, of several ticks, and of all of the round trip but a part of a tick.
    for (access_ms, hop_ms) in
        [(0, 0), (1, 0), (0, 3), (1, 1), (4, 0), (3, 3), (9, 6), (20, 0), (21, 0), (22, 0), (25, 0), (20, 9)]
    {
        let [base, shortest] = base_and_shortest(rtt, access_ms, hop_ms);
        // The serialization of 98 bytes, four times, takes 3 us.
        let most = base + Duration::from_micros(20);
        assert!(
            base <= shortest && shortest <= most,
            "access {access_ms} ms, hop {hop_ms} ms: base {base}, shortest {shortest}"
        );
    }
    // A packet that comes just before a tick, and an answer that comes 1 ms after one.
    assert_eq!(base_and_shortest(rtt, 1, 0)[0], Duration::from_millis(45));
    // Down has the larger half of an odd number of nanoseconds, here a whole tick more than up.
    for nanos in [47_999_999, 7_999_999] {
        let [base, shortest] = base_and_shortest(Duration::from_nanos(nanos), 0, 0);
        assert!(
            base <= shortest && shortest <= base + Duration::from_micros(20),
            "{nanos}: {base} {shortest}"
        );
    }
}
