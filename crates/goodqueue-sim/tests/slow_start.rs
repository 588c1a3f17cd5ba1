//! The losses of slow start at a deep queue.

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Rate};
use goodqueue_sim::traffic::TcpSettings;
use goodqueue_sim::{Capacity, Config, Direction, FlowConfig, LinkConfig, Outcome, Traffic, run};
use goodqueue_tcp::{AnyCongestionControl, HyStart};

/// Runs one CUBIC flow for three seconds on 20 Mbit/s and 40 ms, with a FIFO of 400 packets: six
/// times the capacity of the path.
fn one_cubic_flow(hystart: HyStart) -> Outcome {
    let settings = Settings::new().with("limit", Value::Packets(400));
    let fifo =
        AnyConfig::from_settings("pfifo", &settings, &Link::default()).expect("listed").expect("valid");
    let link = || LinkConfig::new(Capacity::Constant(Rate::from_bps(20_000_000)), fifo.clone());
    let config = goodqueue_tcp::Config { hystart, ..goodqueue_tcp::Config::default() };
    let traffic = Traffic::Tcp(TcpSettings {
        direction: Direction::Down,
        size: None,
        config: config.into(),
        congestion_control: AnyCongestionControl::by_name("cubic").expect("listed"),
        local_congestion: false,
    });
    let flows = vec![FlowConfig::new(traffic, Duration::from_millis(40))];
    run(&Config::new([link(), link()], flows, Duration::from_secs(3))).expect("valid")
}

#[test]
fn hystart_plus_plus_spares_a_deep_queue_the_losses_of_slow_start() {
    let dropped = |outcome: &Outcome| outcome.links[0].stats.dropped().packets;
    let sent = |outcome: &Outcome| outcome.links[0].sent;
    let without = one_cubic_flow(HyStart::Own);
    let with = one_cubic_flow(HyStart::Rfc9406);
    assert!(dropped(&without) > 200, "{}: slow start goes on into a full queue", dropped(&without));
    assert_eq!(dropped(&with), 0);
    assert!(sent(&with) >= sent(&without), "{:?} and {:?}", sent(&with), sent(&without));
}
