//! Work for counting instructions per packet with valgrind. `make counts` runs each case with some
//! work and with twice as much. The difference contains neither start-up nor warm-up.
//!
//! * `instructions pairs KIND N`: N times one enqueue and one dequeue at 100 queued packets.
//! * `instructions simulation NAME N`: one of [`LOADS`] for N steps; prints the number of
//!   bottleneck packets.
//! * `instructions loads`: prints the names of these loads.
//! * `instructions kinds`: prints the names of all disciplines.

use goodqueue::random::{Source, mix_64};
use goodqueue::registry::names;
use goodqueue::{AnyConfig, AnyQdisc, Duration, Ecn, Flow, Instant, Link, Packet, Qdisc, Rate, Settings};
use goodqueue_sim::traffic::TcpSettings;
use goodqueue_sim::{Capacity, Config, Direction, FlowConfig, LinkConfig, Traffic, run};
use goodqueue_tcp::profiles;

/// Packets queued while pairs are counted, one of each flow.
const QUEUED: u32 = 100;

struct Frame {
    flow: u32,
}

impl Packet for Frame {
    fn len(&self) -> u32 {
        1_514
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn set_ce(&mut self) -> bool {
        false
    }
}

impl Flow for Frame {
    fn flow_hash(&self, salt: u32) -> u32 {
        u32::try_from(mix_64(u64::from(salt) << 32 | u64::from(self.flow)) >> 32).unwrap_or(0)
    }
}

/// A load of CUBIC flows through one bottleneck.
struct Load {
    name: &'static str,
    profile: &'static str,
    qdisc: &'static str,
    flows: u64,
    mbit: u64,
    /// Time of one step.
    step: Duration,
}

/// S1 is 4 flows at 10 Mbit/s, with the queue and the TCP profile of the name. The last loads share
/// 1 Gbit/s.
const LOADS: &[Load] = &[
    Load { name: "S1_rfc", profile: "rfc", ..S1 },
    Load { name: "S1_linux", ..S1 },
    Load { name: "S1_linux_fq_codel", qdisc: "fq_codel", ..S1 },
    Load { name: "S1_linux_cake", qdisc: "cake", ..S1 },
    Load { name: "flows_10", flows: 10, ..MANY },
    Load { name: "flows_10000", flows: 10_000, ..MANY },
];

const S1: Load =
    Load { name: "", profile: "linux", qdisc: "codel", flows: 4, mbit: 10, step: Duration::from_secs(1) };

const MANY: Load = Load { mbit: 1_000, step: Duration::from_millis(100), ..S1 };

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["kinds"] => println!("{}", names().join("\n")),
        ["pairs", kind, count] => println!("{}", pairs(kind, count.parse().expect("a number"))),
        ["loads"] => LOADS.iter().for_each(|load| println!("{}", load.name)),
        ["simulation", name, steps] => {
            let load = LOADS.iter().find(|load| load.name == name).expect("one of `instructions loads`");
            println!("{}", load.run(steps.parse().expect("a number")));
        }
        _ => eprintln!("instructions kinds | pairs KIND N | loads | simulation NAME N"),
    }
}

fn default_config(kind: &str, rate: Rate) -> AnyConfig {
    let link = Link { rate, ..Link::default() };
    AnyConfig::from_settings(kind, &Settings::new(), &link).expect("listed").expect("valid")
}

/// Returns the number of packets sent.
fn pairs(kind: &str, count: u32) -> u64 {
    // The link is so fast that no packet waits long, so packets take the path without drops.
    let config = default_config(kind, Rate::from_bps(100_000_000_000));
    let mut queue = AnyQdisc::new(config, 1, Source::seeded(1));
    let mut now = Instant::ZERO;
    for flow in 0..QUEUED {
        queue.enqueue(now, Frame { flow }, &mut |_, _| ());
    }
    for number in 0..count {
        // The time of a frame on this link.
        now += Duration::from_nanos(121);
        queue.enqueue(now, Frame { flow: number % QUEUED }, &mut |_, _| ());
        let _ = queue.dequeue(now, &mut |_, _| ());
    }
    queue.stats().dequeued.packets
}

impl Load {
    /// Returns the number of packets that left the bottleneck.
    fn run(&self, steps: u64) -> u64 {
        let rate = Rate::from_bps(self.mbit * 1_000_000);
        let link = |kind| LinkConfig::new(Capacity::Constant(rate), default_config(kind, rate));
        let profile = profiles().find(|profile| profile.name == self.profile).expect("listed");
        let flow = |number: u64| {
            let traffic = Traffic::Tcp(TcpSettings {
                direction: Direction::Down,
                size: None,
                config: profile.settings.into(),
                congestion_control: profile.controller("cubic").expect("every profile has one"),
                local_congestion: false,
            });
            let start = Instant::from_nanos(number * 4_000_000 / self.flows);
            FlowConfig { start, ..FlowConfig::new(traffic, Duration::from_millis(50)) }
        };
        let flows = (0..self.flows).map(flow).collect();
        let duration = self.step.saturating_mul(steps);
        let outcome = run(&Config::new([link(self.qdisc), link("pfifo")], flows, duration));
        outcome.expect("valid").links[0].stats.dequeued.packets
    }
}
