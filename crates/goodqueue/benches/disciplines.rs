//! Nanoseconds for one enqueue and one dequeue of each discipline, beside a bare ring buffer's, at 1, 100 and 10,000
//! queued packets. Prints a table; asserts nothing, for machines differ. The ratio is what to look at: both are measured
//! in the same run, in turns.

#![allow(missing_docs, clippy::cast_precision_loss, clippy::disallowed_methods)]

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant as Clock;

use goodqueue::config::{Link, Settings, Value};
use goodqueue::random::{Random, Source, mix_64};
use goodqueue::registry::KINDS;
use goodqueue::{AnyConfig, AnyQdisc, Duration, Ecn, Flow, Instant, Packet, Qdisc, Rate};

/// As large as the simulator's packet.
#[derive(Clone, Copy)]
struct Frame {
    flow: u32,
    bytes: u32,
    _rest: [u64; 9],
}

impl Packet for Frame {
    fn len(&self) -> u32 {
        self.bytes
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
        u32::try_from(mix_64((u64::from(salt) << 32) | u64::from(self.flow)) >> 32).unwrap_or(0)
    }
}

const PAIRS: u32 = 200_000;
const ROUNDS: usize = 7;
const DEPTHS: [u32; 3] = [1, 100, 10_000];

fn main() {
    println!(
        "ns per enqueue + dequeue, 100 flows, 1514-byte frames, and the ratio to the ring buffer of the same run"
    );
    println!("{:16} {:>18} {:>18} {:>18}", "", "1 queued", "100 queued", "10,000 queued");
    let ring = DEPTHS.map(|depth| fastest(|| time_ring(depth)));
    println!("{:16} {}", "ring buffer", ring.map(|nanos| format!("{nanos:11.1} ns     ")).join(" "));
    for kind in KINDS {
        let cells = DEPTHS.map(|depth| {
            let (mut discipline, mut bare) = (f64::MAX, f64::MAX);
            for _ in 0..ROUNDS {
                bare = bare.min(time_ring(depth));
                discipline = discipline.min(time_qdisc(kind.name, depth));
            }
            format!("{discipline:7.1} ns ({:4.1}x)", discipline / bare)
        });
        println!("{:16} {}", kind.name, cells.join("  "));
    }
    println!("\nfq_codel, 1,024 flows, 10,000 queued: ns per packet that arrives");
    let calm = fastest(|| time_overload(1, 64));
    println!("{:28} {calm:7.1} ns", "no overload");
    for (batch, name) in [(64, "10x overload"), (1, "10x overload, drop batch 1")] {
        let loaded = fastest(|| time_overload(10, batch));
        println!("{name:28} {loaded:7.1} ns ({:4.1}x)", loaded / calm);
    }
}

fn fastest(mut measure: impl FnMut() -> f64) -> f64 {
    (0..ROUNDS).map(|_| measure()).fold(f64::MAX, f64::min)
}

fn frame(number: u32) -> Frame {
    Frame { flow: number % 100, bytes: 1514, _rest: [u64::from(number); 9] }
}

fn time_ring(depth: u32) -> f64 {
    let mut ring: VecDeque<(Instant, Frame)> = VecDeque::new();
    for number in 0..depth {
        ring.push_back((Instant::ZERO, frame(number)));
    }
    let start = Clock::now();
    for number in 0..PAIRS {
        ring.push_back((Instant::from_nanos(u64::from(number)), frame(number)));
        black_box(ring.pop_front());
    }
    per_pair(start)
}

fn time_qdisc(name: &str, depth: u32) -> f64 {
    // Room for all, and a standing queue that stays below every target: the cost of the path that packets take.
    let mut settings = Settings::new();
    match name {
        "bfifo" => settings.set("limit", Value::Bytes(100_000_000)),
        "red" => settings.set("limit", Value::Bytes(100_000_000)),
        "sfq" => {
            settings.set("limit", Value::Packets(12_000));
            settings.set("depth", Value::Packets(127));
        }
        _ => settings.set("limit", Value::Packets(100_000)),
    }
    let rate = Rate::from_bps(100_000_000_000);
    let config = AnyConfig::from_settings(name, &settings, &Link { rate, ..Link::default() })
        .expect("listed")
        .expect("valid");
    let mut qdisc = AnyQdisc::new(config, 1, Source::seeded(1));
    let (mut now, mut lost) = (Instant::ZERO, 0_u64);
    for number in 0..depth {
        qdisc.enqueue(now, frame(number), &mut |_, _| lost += 1);
    }
    let start = Clock::now();
    for number in 0..PAIRS {
        now += Duration::from_nanos(121);
        qdisc.enqueue(now, frame(number), &mut |_, _| lost += 1);
        black_box(qdisc.dequeue(now, &mut |_, _| lost += 1));
    }
    black_box(lost);
    per_pair(start)
}

/// `fq_codel` with 1,024 flows and 10,000 packets queued, one packet sent for each `load` that arrive: with `limit` out
/// of reach or, under overload, reached by nearly every arrival. Nanoseconds per packet that arrives.
fn time_overload(load: u32, batch: u64) -> f64 {
    let settings = Settings::new()
        .with("limit", Value::Packets(if load == 1 { 100_000 } else { 10_000 }))
        .with("drop_batch", Value::Integer(batch));
    let config = AnyConfig::from_settings("fq_codel", &settings, &Link::default());
    let mut qdisc = AnyQdisc::new(config.expect("listed").expect("valid"), 1, Source::seeded(1));
    let mut random = Source::seeded(2);
    let (mut now, mut lost) = (Instant::ZERO, 0_u64);
    let mut next = || Frame { flow: random.below(1_024), ..frame(0) };
    for _ in 0..10_000 {
        qdisc.enqueue(now, next(), &mut |_, _| lost += 1);
    }
    let start = Clock::now();
    for number in 0..PAIRS {
        now += Duration::from_nanos(121);
        qdisc.enqueue(now, next(), &mut |_, _| lost += 1);
        if number % load == 0 {
            black_box(qdisc.dequeue(now, &mut |_, _| lost += 1));
        }
    }
    black_box(lost);
    per_pair(start)
}

fn per_pair(start: Clock) -> f64 {
    start.elapsed().as_nanos() as f64 / f64::from(PAIRS)
}
