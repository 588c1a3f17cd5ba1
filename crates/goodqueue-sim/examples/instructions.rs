//! Work for counting instructions per packet with valgrind. `make counts` runs each case with some
//! work and with twice as much. The difference contains neither start-up nor warm-up.
//!
//! * `instructions pairs KIND N`: N times one enqueue and one dequeue at 100 queued packets.
//! * `instructions simulation S1 N`: 4 CUBIC flows through codel at 10 Mbit/s for N seconds; prints
//!   the number of bottleneck packets.
//! * `instructions kinds`: prints the names of all disciplines.

use goodqueue::random::{Source, mix_64};
use goodqueue::registry::names;
use goodqueue::{AnyConfig, AnyQdisc, Duration, Ecn, Flow, Instant, Link, Packet, Qdisc, Rate, Settings};
use goodqueue_sim::traffic::TcpSettings;
use goodqueue_sim::{Capacity, Config, Direction, FlowConfig, LinkConfig, Traffic, run};
use goodqueue_tcp::AnyCongestionControl;

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

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["kinds"] => println!("{}", names().join("\n")),
        ["pairs", kind, count] => println!("{}", pairs(kind, count.parse().expect("a number"))),
        ["simulation", "S1", seconds] => println!("{}", simulation(seconds.parse().expect("a number"))),
        _ => eprintln!("instructions kinds | pairs KIND N | simulation S1 N"),
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
        now += Duration::from_nanos(121);
        queue.enqueue(now, Frame { flow: number % QUEUED }, &mut |_, _| ());
        let _ = queue.dequeue(now, &mut |_, _| ());
    }
    queue.stats().dequeued.packets
}

/// Returns the number of packets that left the bottleneck.
fn simulation(seconds: u64) -> u64 {
    let rate = Rate::from_bps(10_000_000);
    let link = |kind| LinkConfig::new(Capacity::Constant(rate), default_config(kind, rate));
    let flow = |number: u64| {
        let traffic = Traffic::Tcp(TcpSettings {
            direction: Direction::Down,
            size: None,
            config: goodqueue_tcp::Config::default().into(),
            congestion_control: AnyCongestionControl::by_name("cubic").expect("listed"),
            local_congestion: false,
        });
        let start = Instant::from_nanos(number * 1_000_000);
        FlowConfig { start, ..FlowConfig::new(traffic, Duration::from_millis(50)) }
    };
    let flows = (0..4).map(flow).collect();
    let outcome = run(&Config::new([link("codel"), link("pfifo")], flows, Duration::from_secs(seconds)));
    outcome.expect("valid").links[0].stats.dequeued.packets
}
