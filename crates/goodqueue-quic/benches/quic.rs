//! Speed of QUIC flows in the simulator: bottleneck packets per second of processor time.
//!
//! Prints a table and asserts nothing, because machines differ.

#![allow(missing_docs, clippy::cast_precision_loss)]

use goodqueue::config::{Link, Settings};
use goodqueue::{AnyConfig, Duration, Instant, Rate};
use goodqueue_quic::sim::QuicSettings;
use goodqueue_sim::traffic::{OwnSettings, TcpSettings};
use goodqueue_sim::{Capacity, Config, Direction, FlowConfig, LinkConfig, Traffic, run};
use goodqueue_tcp::AnyCongestionControl;

fn main() {
    println!("{:44} {:>10} {:>9} {:>9}", "simulation", "packets/s", "ns/packet", "packets");
    let quic = || OwnSettings::from_settings(QuicSettings::new(Direction::Down)).into();
    measure("4 QUIC, codel, 100 Mbit/s, 20 s", &four(quic));
    measure("4 TCP, codel, 100 Mbit/s, 20 s", &four(tcp));
}

fn tcp() -> Traffic {
    Traffic::Tcp(TcpSettings {
        direction: Direction::Down,
        size: None,
        config: goodqueue_tcp::Config::default().into(),
        congestion_control: AnyCongestionControl::by_name("cubic").expect("exists"),
        local_congestion: false,
    })
}

/// Four CUBIC downloads that start a millisecond apart.
fn four(traffic: impl Fn() -> Traffic) -> Config {
    let rate = Rate::from_bps(100_000_000);
    let link = |qdisc: &str| {
        let config = AnyConfig::from_settings(qdisc, &Settings::new(), &Link { rate, ..Link::default() });
        LinkConfig::new(Capacity::Constant(rate), config.expect("exists").expect("valid"))
    };
    let flow = |number| FlowConfig {
        start: Instant::ZERO + Duration::from_millis(number),
        ..FlowConfig::new(traffic(), Duration::from_millis(50))
    };
    Config::new([link("codel"), link("pfifo")], (0..4).map(flow).collect(), Duration::from_secs(20))
}

/// Prints the fastest of five runs.
fn measure(what: &str, config: &Config) {
    let runs = (0..5).map(|_| {
        let before = cpu_time::ThreadTime::now();
        let packets = run(config).expect("valid").bottleneck_packets;
        (before.elapsed().as_secs_f64(), packets)
    });
    // Other programs can only make a run slower.
    let Some((seconds, packets)) = runs.min_by(|a, b| a.0.total_cmp(&b.0)) else { return };
    let packets_per_second = packets as f64 / seconds;
    println!("{what:44} {packets_per_second:>10.0} {:>9.0} {packets:>9}", 1e9 / packets_per_second);
}
