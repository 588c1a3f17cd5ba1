//! Nanoseconds for one enqueue and one dequeue of each discipline, compared with a bare ring
//! buffer.
//!
//! Prints tables and asserts nothing, because machines differ. The ratio is the useful result:
//! discipline and ring buffer are measured alternately in the same run.
//!
//! The ring buffer does the minimum of a queue. It is a `VecDeque<(Instant, Frame)>` that stores a
//! packet with its time if fewer than a limit are present, and returns the oldest. It counts
//! neither bytes nor packets. The same loop drives ring and discipline. It passes a frame copied
//! from a list and reads the returned frame in place, so only the work of the queue is measured.
//! Frames are as large as the simulator's packets and belong to 1,024 flows in turn. The link is so
//! fast that no frame waits long.
//!
//! Each discipline is measured as its own type, inlined into the loop, and as [`AnyQdisc`], which
//! is chosen at run time and costs a call. Each is compared with a ring buffer of the same kind,
//! inlined or behind a call.
//!
//! `cargo bench -p goodqueue --bench disciplines -- codel pie` measures only these two disciplines.
//! `-- cake --flows=256` uses fewer flows: the state of 1,024 flows does not fit into the
//! first-level cache, and two fifths of cake's sets then have more than eight flows. Without
//! `--flows`, `cake` is measured with fewer flows in addition.

#![allow(missing_docs, clippy::cast_precision_loss, clippy::disallowed_methods)]

use std::collections::VecDeque;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Instant as Clock;

use goodqueue::config::{Link, Settings, Value};
use goodqueue::random::{Random, Source, mix_64};
use goodqueue::registry::{Chosen, KINDS};
use goodqueue::{AnyConfig, AnyQdisc, DropReason, Duration, Ecn, Flow, Instant, Packet, Qdisc, Rate};

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

/// The interface of a measured queue.
trait Queue {
    fn enqueue(&mut self, now: Instant, frame: Frame, lost: &mut u64);
    fn dequeue(&mut self, now: Instant, lost: &mut u64) -> Option<Frame>;
}

/// The bare ring buffer.
struct Ring {
    frames: VecDeque<(Instant, Frame)>,
    limit: usize,
}

impl Queue for Ring {
    #[inline]
    fn enqueue(&mut self, now: Instant, frame: Frame, lost: &mut u64) {
        if self.frames.len() < self.limit {
            self.frames.push_back((now, frame));
        } else {
            *lost += 1;
        }
    }

    #[inline]
    fn dequeue(&mut self, _: Instant, _: &mut u64) -> Option<Frame> {
        self.frames.pop_front().map(|(_, frame)| frame)
    }
}

/// A queue behind a call.
struct Called<Q>(Q);

impl<Q: Queue> Queue for Called<Q> {
    #[inline(never)]
    fn enqueue(&mut self, now: Instant, frame: Frame, lost: &mut u64) {
        self.0.enqueue(now, frame, lost);
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Instant, lost: &mut u64) -> Option<Frame> {
        self.0.dequeue(now, lost)
    }
}

struct Discipline<Q>(Q);

impl<Q: Qdisc<Frame>> Queue for Discipline<Q> {
    #[inline]
    fn enqueue(&mut self, now: Instant, frame: Frame, lost: &mut u64) {
        self.0.enqueue(now, frame, &mut |_: Frame, _: DropReason| *lost += 1);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, lost: &mut u64) -> Option<Frame> {
        self.0.dequeue(now, &mut |_: Frame, _: DropReason| *lost += 1)
    }
}

const PAIRS: u32 = 20_480; // a multiple of `FLOWS`
const ROUNDS: usize = 40;
/// Enough arrivals for the longest flows of an overload to become equally long.
const ARRIVALS: u32 = 200_000;
const FLOWS: u32 = 1_024;
const DEPTHS: [u32; 3] = [1, 100, 10_000];

fn main() {
    let (options, wanted): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with('-'));
    let asked = options.iter().find_map(|option| option.strip_prefix("--flows="));
    let asked = asked.map(|flows| flows.parse::<NonZeroU32>().expect("--flows=1 or more").get());
    let flows = asked.unwrap_or(FLOWS);
    let frames = frames_of(flows);
    println!(
        "ns per enqueue + dequeue, {flows} flows, 1514-byte frames of {} bytes in memory,",
        size_of::<Frame>()
    );
    println!("and the ratio to a ring buffer of the same run\n");
    println!("{:16} {:>17}   {:>17}   {:>35}", "", "its own type", "AnyQdisc", "AnyQdisc");
    println!(
        "{:16} {:>17}   {:>17}   {:>17} {:>17}",
        "", "100 queued", "100 queued", "1 queued", "10,000 queued"
    );
    let inline = fastest(|| time(ring(), 100, &frames));
    let called = DEPTHS.map(|depth| fastest(|| time(Called(ring()), depth, &frames)));
    let cell = |nanos: f64| format!("{nanos:7.1} ns        ");
    println!(
        "{:16} {}   {}   {} {}",
        "ring buffer",
        cell(inline),
        cell(called[1]),
        cell(called[0]),
        cell(called[2])
    );
    for kind in KINDS.iter().filter(|kind| wanted.is_empty() || wanted.iter().any(|name| name == kind.name)) {
        println!("{:16} {}", kind.name, row(kind.name, &frames));
        if kind.name == "cake" && asked.is_none() {
            for fewer in [256, 16] {
                println!("{:16} {}", format!("  {fewer} flows"), row(kind.name, &frames_of(fewer)));
            }
        }
    }
    if wanted.is_empty() || wanted.iter().any(|name| name == "fq_codel") {
        overloads();
    }
}

/// Formats the row of a discipline.
fn row(name: &str, frames: &[Frame]) -> String {
    let own = beside(|| time(ring(), 100, frames), || time_own_type(name, frames).unwrap_or(f64::NAN));
    let [one, hundred, many] = DEPTHS.map(|depth| {
        let any = || time(Discipline(any(name)), depth, frames);
        beside(|| time(Called(ring()), depth, frames), any)
    });
    format!("{own}   {hundred}   {one} {many}")
}

/// Formats the time of a discipline and its ratio to that of the ring buffer.
fn beside(mut ring: impl FnMut() -> f64, mut discipline: impl FnMut() -> f64) -> String {
    let (mut bare, mut nanos) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        bare = bare.min(ring());
        nanos = nanos.min(discipline());
    }
    format!("{nanos:7.1} ns {:5.1}x", nanos / bare)
}

fn fastest(mut measure: impl FnMut() -> f64) -> f64 {
    (0..ROUNDS).map(|_| measure()).fold(f64::MAX, f64::min)
}

/// Returns frames of this number of flows in turn.
fn frames_of(flows: u32) -> Vec<Frame> {
    (0..FLOWS).map(|number| frame(number % flows)).collect()
}

fn frame(number: u32) -> Frame {
    Frame { flow: number, bytes: 1514, _rest: [u64::from(number); 9] }
}

fn ring() -> Ring {
    Ring { frames: VecDeque::new(), limit: black_box(100_000) }
}

/// Measures the nanoseconds per pair with `depth` frames queued.
#[inline(never)]
fn time(mut queue: impl Queue, depth: u32, frames: &[Frame]) -> f64 {
    let (mut now, mut lost) = (Instant::ZERO, 0);
    for frame in frames.iter().cycle().take(depth as usize) {
        queue.enqueue(now, *frame, &mut lost);
    }
    let start = Clock::now();
    for _ in 0..PAIRS / FLOWS {
        for frame in frames {
            // 1514 bytes take 121 ns at 100 Gbit/s.
            now += Duration::from_nanos(121);
            queue.enqueue(now, *frame, &mut lost);
            black_box(&queue.dequeue(now, &mut lost));
        }
    }
    let pairs = PAIRS / FLOWS * FLOWS;
    let nanos = start.elapsed().as_nanos() as f64 / f64::from(pairs);
    black_box(lost);
    nanos
}

fn link() -> Link {
    Link { rate: Rate::from_bps(100_000_000_000), ..Link::default() }
}

/// Returns the discipline with room for all frames and targets above the standing queue, so that no
/// frame is dropped. `limit` counts packets or bytes; a discipline without it has its defaults.
fn any(name: &str) -> AnyQdisc<Frame> {
    let limit = |value| Settings::new().with("limit", value);
    let roomy = match name {
        "sfq" => {
            let deep = limit(Value::Packets(12_000)).with("depth", Value::Packets(127));
            vec![deep.with("flows", Value::Integer(u64::from(FLOWS)))]
        }
        _ => vec![limit(Value::Packets(100_000)), limit(Value::Bytes(100_000_000)), Settings::new()],
    };
    let accepted =
        |settings| AnyConfig::from_settings(name, &settings, &link()).expect("a discipline of the list").ok();
    AnyQdisc::new(roomy.into_iter().find_map(accepted).expect("valid"), 1, Source::seeded(1))
}

/// Measures the nanoseconds per pair with 100 frames queued, for the discipline of this name as its
/// own type.
fn time_own_type(name: &str, frames: &[Frame]) -> Option<f64> {
    macro_rules! time_one_of {
        ($($arm:ident)+) => {
            match any(name).chosen() {
                $(Chosen::$arm(qdisc) => Some(time(Discipline(qdisc.clone()), 100, frames)),)+
                // The list below lacks this discipline, so only this column has no value.
                _ => None,
            }
        };
    }
    time_one_of!(
        Codel CodelDt FqCodel Fq FqPie Cobalt CnqCodelAf Cake DualPi2 Docsis SfqCodel SfqPie Pfifo Bfifo PfifoHeadDrop
        Sfq Hhf Pie Red Sfb Blue Choke PfifoFast Prio Ets Drr Tbf Htb Hfsc Qfq Netem
    )
}

/// Prints the cost of `fq_codel` when it is offered ten times the rate of the link.
fn overloads() {
    println!("\nfq_codel, 1,024 flows, 10,000 queued: ns per packet that arrives");
    let calm = fastest(|| time_overload(1, 64));
    println!("{:28} {calm:7.1} ns", "no overload");
    for (batch, name) in [(64, "10x overload"), (1, "10x overload, drop batch 1")] {
        let loaded = fastest(|| time_overload(10, batch));
        println!("{name:28} {loaded:7.1} ns ({:4.1}x)", loaded / calm);
    }
}

/// Measures the nanoseconds per arriving packet of `fq_codel` with 1,024 flows and 10,000 packets
/// queued. One packet is sent for each `load` that arrive. Under overload nearly every arrival
/// reaches `limit`.
fn time_overload(load: u32, batch: u64) -> f64 {
    let settings = Settings::new()
        .with("limit", Value::Packets(if load == 1 { 100_000 } else { 10_000 }))
        .with("drop_batch", Value::Integer(batch));
    let config = AnyConfig::from_settings("fq_codel", &settings, &Link::default());
    let mut qdisc = AnyQdisc::new(config.expect("listed").expect("valid"), 1, Source::seeded(1));
    let mut random = Source::seeded(2);
    let (mut now, mut lost) = (Instant::ZERO, 0_u64);
    let mut next = || Frame { flow: random.below(FLOWS), ..frame(0) };
    for _ in 0..10_000 {
        qdisc.enqueue(now, next(), &mut |_, _| lost += 1);
    }
    let start = Clock::now();
    for number in 0..ARRIVALS {
        now += Duration::from_nanos(121);
        qdisc.enqueue(now, next(), &mut |_, _| lost += 1);
        if number % load == 0 {
            black_box(&qdisc.dequeue(now, &mut |_, _| lost += 1));
        }
    }
    black_box(lost);
    start.elapsed().as_nanos() as f64 / f64::from(ARRIVALS)
}
