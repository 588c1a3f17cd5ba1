//! Speed of the simulator: bottleneck packets and events per second and nanoseconds per packet, for
//! several numbers of flows and several rates.
//!
//! Prints a table and asserts nothing, because machines differ. With the argument `many` it
//! measures only ten thousand flows, with `crowd` only a hundred thousand, and the memory that they
//! need. `--json FILE` writes the rows to a file.

#![allow(missing_docs, clippy::cast_precision_loss)]

use std::sync::Arc;

use goodqueue::config::{Link, Settings};
use goodqueue::{AnyConfig, Duration, Instant, Rate};
use goodqueue_sim::traffic::{PackMimeSettings, TcpSettings};
use goodqueue_sim::{Capacity, Config, Direction, FlowConfig, LinkConfig, Traffic, run};
use goodqueue_tcp::{AnyCongestionControl, Catalogue, Profile};

fn main() {
    let mut table = Table::default();
    let rtt = Duration::from_millis(50);
    let is_asked = |part: &str| std::env::args().any(|argument| argument == part);
    if is_asked("many") {
        many_flows(&mut table, rtt);
    } else if is_asked("crowd") {
        crowd(&mut table, rtt);
    } else {
        every_load(&mut table, rtt);
    }
    let mut arguments = std::env::args().skip_while(|argument| argument != "--json").skip(1);
    if let Some(path) = arguments.next() {
        std::fs::write(&path, table.to_json()).expect("the file can be written");
    }
}

fn every_load(table: &mut Table, rtt: Duration) {
    memory();
    println!(
        "{:44} {:>10} {:>10} {:>9} {:>9}",
        "simulation", "packets/s", "events/s", "ns/packet", "packets"
    );
    for qdisc in ["pfifo", "codel", "pie", "red", "fq_codel", "sfq"] {
        table.measure(
            &format!("S1: 4 CUBIC, {qdisc}, 10 Mbit/s, 100 s"),
            &bulk(qdisc, 4, 10_000_000, rtt, 100_000),
        );
    }
    for profile in goodqueue_tcp_historic::add_to(Catalogue::new()).profiles() {
        table.measure(
            &format!("S1 with profile {}, codel", profile.name),
            &with_profile(profile, bulk("codel", 4, 10_000_000, rtt, 100_000)),
        );
    }
    for flows in [1, 10, 100, 1000] {
        table.measure(
            &format!("{flows} CUBIC, codel, 100 Mbit/s, 20 s"),
            &bulk("codel", flows, 100_000_000, rtt, 20_000),
        );
    }
    for (mbit, millis) in [(1, 200_000), (100, 20_000), (1_000, 4_000), (10_000, 1_000)] {
        table.measure(
            &format!("10 CUBIC, codel, {mbit} Mbit/s, {} s", millis / 1000),
            &bulk("codel", 10, mbit * 1_000_000, rtt, millis),
        );
    }
    many_flows(table, rtt);
    println!();
    for (connections, mbit) in [(100.0, 100), (1000.0, 100), (1000.0, 10)] {
        measure_real_time(
            &format!("PackMime, {connections} connections/s, codel, {mbit} Mbit/s"),
            &web(connections, mbit * 1_000_000, 30_000),
        );
    }
}

/// Compares the cost of a bottleneck packet for 10,000 flows with that for 10 flows, in two ways.
///
/// On the same link each of the 10,000 flows has a thousandth of the rate and retransmits one
/// packet in fourteen. This work costs time but adds no packet at the bottleneck. At the same rate
/// per flow, the flows have equal windows and losses. In both cases every flow has packets in
/// flight.
fn many_flows(table: &mut Table, rtt: Duration) {
    for qdisc in ["codel", "fq_codel"] {
        let mut cost = |flows, bps, millis| {
            let what = format!("{flows} CUBIC, {qdisc}, {} Mbit/s, {} s", bps / 1_000_000, millis / 1000);
            table.measure(&what, &bulk(qdisc, flows, bps, rtt, millis))
        };
        let many = cost(10_000, 10_000_000_000, 2_000);
        for (what, few) in [
            ("on the same link", cost(10, 10_000_000_000, 2_000)),
            ("at the same rate each", cost(10, 10_000_000, 400_000)),
        ] {
            println!("{:65} {:>8.1}x", format!("  cost per packet: 10,000 flows to 10 {what}"), many / few);
        }
    }
}

/// Compares the cost of a bottleneck packet for 100,000 flows of Linux's TCP, which have 100 kbit/s
/// each, with that for 10 flows on the same link. Prints the memory that the crowd needs.
fn crowd(table: &mut Table, rtt: Duration) {
    let linux = goodqueue_tcp::profiles().find(|profile| profile.name == "linux").expect("built in");
    let mut cost = |flows| {
        let what = format!("{flows} CUBIC of Linux, codel, 10000 Mbit/s, 2 s");
        table.measure(&what, &with_profile(linux, bulk("codel", flows, 10_000_000_000, rtt, 2_000)))
    };
    let few = cost(10);
    let many = cost(100_000);
    println!("  cost per packet: 100,000 flows to 10 on the same link {:>8.1}x", many / few);
    println!("  peak memory: {}", shown_peak());
}

/// Prints the peak memory of the process after one run of a minute, before anything else has run.
fn memory() {
    let outcome = run(&bulk("codel", 4, 10_000_000, Duration::from_millis(50), 60_000)).expect("valid");
    println!(
        "peak memory of a process that runs 4 CUBIC over codel, 10 Mbit/s, 60 s ({} packets): {}\n",
        outcome.bottleneck_packets,
        shown_peak()
    );
}

/// Returns the peak memory of this process in kibibytes, where the system tells it.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    peak.split_whitespace().next()?.parse().ok()
}

fn shown_peak() -> String {
    peak_kib().map_or_else(|| "not known here".to_owned(), |kib| format!("{kib} kB"))
}

/// Returns a run with a crowd of web users.
fn web(connections: f64, bps: u64, millis: u64) -> Config {
    let traffic = Traffic::PackMime(PackMimeSettings {
        direction: Direction::Down,
        rate: connections,
        persistent: true,
        max_open: 10_000,
        config: goodqueue_tcp::Config::default(),
        congestion_control: AnyCongestionControl::by_name("cubic").expect("exists"),
    });
    let flow = FlowConfig::new(traffic, Duration::from_millis(50));
    Config { flows: vec![flow], ..bulk("codel", 0, bps, Duration::ZERO, millis) }
}

/// Prints how much faster than real time the fastest of five runs is.
fn measure_real_time(what: &str, config: &Config) {
    let mut best = f64::MAX;
    let mut transfers = 0;
    for _ in 0..5 {
        let before = cpu_time::ThreadTime::now();
        let outcome = run(config).expect("valid");
        best = best.min(before.elapsed().as_secs_f64());
        transfers = outcome.flows[0].transfers.len();
    }
    let simulated = config.duration.as_nanos() as f64 / 1e9;
    println!("{what:52} {:>6.1}x real time, {transfers} transfers", simulated / best);
}

fn bulk(qdisc: &str, flows: u32, bps: u64, rtt: Duration, millis: u64) -> Config {
    let rate = Rate::from_bps(bps);
    let link = |qdisc: &str| {
        let config = AnyConfig::from_settings(qdisc, &Settings::new(), &Link { rate, ..Link::default() });
        LinkConfig::new(Capacity::Constant(rate), config.expect("exists").expect("valid"))
    };
    let tcp = Arc::new(goodqueue_tcp::Config::default());
    let flow = |number: u32| {
        let traffic = Traffic::Tcp(TcpSettings {
            direction: Direction::Down,
            size: None,
            config: Arc::clone(&tcp),
            congestion_control: AnyCongestionControl::by_name("cubic").expect("exists"),
            local_congestion: false,
        });
        // All flows start in the first tenth of the run, if possible a millisecond apart.
        let spacing = (millis * 100_000 / u64::from(flows.max(1))).min(1_000_000);
        let start = Instant::from_nanos(u64::from(number) * spacing);
        FlowConfig { start, ..FlowConfig::new(traffic, rtt) }
    };
    Config::new([link(qdisc), link("pfifo")], (0..flows).map(flow).collect(), Duration::from_millis(millis))
}

/// Returns the run with the settings of a TCP profile and its CUBIC.
fn with_profile(profile: &Profile, mut config: Config) -> Config {
    for flow in &mut config.flows {
        if let Traffic::Tcp(settings) = &mut flow.traffic {
            settings.config = Arc::new(profile.settings);
            settings.congestion_control = profile.controller("cubic").expect("every profile has one");
        }
    }
    config
}

/// The measured simulations.
#[derive(Default)]
struct Table {
    rows: Vec<Measured>,
}

/// One simulation, at its fastest.
struct Measured {
    simulation: String,
    packets_per_s: f64,
    ns_per_packet: f64,
}

impl Table {
    /// Prints and keeps the fastest of five runs, because other work of the machine only slows a
    /// run down. Returns nanoseconds per packet.
    fn measure(&mut self, what: &str, config: &Config) -> f64 {
        let mut best = f64::MAX;
        let mut seen = (0, 0);
        for _ in 0..5 {
            let before = cpu_time::ThreadTime::now();
            let outcome = run(config).expect("valid");
            best = best.min(before.elapsed().as_secs_f64());
            seen = (outcome.links[0].stats.dequeued.packets, outcome.events);
        }
        let (packets, events) = (seen.0 as f64, seen.1 as f64);
        let (packets_per_s, ns_per_packet) = (packets / best, best * 1e9 / packets);
        println!(
            "{what:44} {:>9.2}M {:>9.2}M {ns_per_packet:>9.0} {:>9}",
            packets_per_s / 1e6,
            events / best / 1e6,
            seen.0
        );
        self.rows.push(Measured { simulation: what.to_owned(), packets_per_s, ns_per_packet });
        ns_per_packet
    }

    /// The table as JSON, with the name of this machine's processor and the memory of this process.
    fn to_json(&self) -> String {
        let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
        let rows: Vec<String> = self.rows.iter().map(Measured::to_json).collect();
        format!(
            "{{\n  \"machine\": \"{}\",\n  \"peak_kib\": {},\n  \"runs\": [\n{}\n  ]\n}}\n",
            model.unwrap_or("unknown processor"),
            peak_kib().map_or_else(|| "null".to_owned(), |kib| kib.to_string()),
            rows.join(",\n")
        )
    }
}

impl Measured {
    fn to_json(&self) -> String {
        format!(
            "    {{ \"simulation\": \"{}\", \"packets_per_s\": {:.0}, \"ns_per_packet\": {:.1} }}",
            self.simulation, self.packets_per_s, self.ns_per_packet
        )
    }
}
