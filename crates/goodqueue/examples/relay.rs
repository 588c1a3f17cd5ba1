//! A discipline in a program of your own: a relay forwards datagrams over a slow line. One sender
//! floods it with twice what the line carries. What happens to another sender's call, behind a
//! token bucket with a FIFO and behind CAKE?
//!
//! ```sh
//! cargo run --package goodqueue --example relay
//! ```
//!
//! The relay sleeps until a datagram arrives or until [`Qdisc::next_event`]. Here both are times of
//! a simulated clock. In a real program a socket and a timer wake it up, and nothing else differs.

use goodqueue::cake::CakeConfig;
use goodqueue::random::Source;
use goodqueue::tbf::TbfConfig;
use goodqueue::{
    AnyConfig, AnyQdisc, ConfigError, Datagram, DropReason, Duration, FlowKey, Instant, Qdisc, Rate,
};

/// The content of each datagram is its time of arrival.
type Packet = Datagram<Instant>;

/// What happened to the datagrams of one sender.
#[derive(Default)]
struct Seen {
    passed: u32,
    dropped: u32,
    longest: Duration,
}

const LINE: Rate = Rate::from_bps(10_000_000);
/// UDP ports of the two senders.
const FLOOD: u16 = 7_000;
const CALL: u16 = 7_001;

fn main() -> Result<(), ConfigError> {
    let fifo = TbfConfig::<AnyConfig>::default().with_rate(LINE)?.with_burst(3_000)?.with_limit(150_000)?;
    relay(fifo.into());
    relay(CakeConfig::default().with_bandwidth(LINE)?.into());
    Ok(())
}

/// Runs the relay for ten seconds with this discipline.
fn relay(config: AnyConfig) {
    let kind = config.kind().name;
    // The salt and the seed come from the system's random generator in a real program.
    let mut queue: AnyQdisc<Packet> = AnyQdisc::new(config, 7, Source::seeded(7));
    let mut seen = [Seen::default(), Seen::default()];
    let mut arrivals = arrivals().peekable();
    let mut now = Instant::ZERO;
    loop {
        // Sleep until the next event.
        let timer = queue.next_event(now);
        let socket = arrivals.peek().map(|datagram| datagram.content);
        let Some(next) = [timer, socket].into_iter().flatten().min() else { break };
        now = next;

        let mut lost = |datagram: Packet, _: DropReason| seen[sender(&datagram)].dropped += 1;
        while let Some(datagram) = arrivals.next_if(|datagram| datagram.content <= now) {
            queue.enqueue(now, datagram, &mut lost);
        }
        let mut sent = Vec::new();
        while let Some(datagram) = queue.dequeue(now, &mut lost) {
            sent.push(datagram);
        }
        // A real relay sends them here.
        for datagram in sent {
            let seen = &mut seen[sender(&datagram)];
            seen.passed += 1;
            seen.longest = seen.longest.max(now.since(datagram.content));
        }
    }
    println!("{kind}");
    for (name, seen) in ["flood", "call"].iter().zip(&seen) {
        let longest_ms = seen.longest.as_nanos() / 1_000_000;
        println!(
            "  {name:5}  passed {:5}, dropped {:5}, waited {longest_ms} ms at most",
            seen.passed, seen.dropped
        );
    }
    assert_eq!(
        queue.stats().offered.packets,
        u64::from(seen.iter().map(|seen| seen.passed + seen.dropped).sum::<u32>())
    );
}

/// Returns 0 for the flood and 1 for the call.
fn sender(datagram: &Packet) -> usize {
    usize::from(datagram.key == key(CALL))
}

fn key(port: u16) -> FlowKey {
    FlowKey::new(([192, 0, 2, 1], port).into(), ([198, 51, 100, 7], 9_000).into(), FlowKey::UDP)
}

/// Returns ten seconds of arrivals: 1,500 bytes every 600 µs (20 Mbit/s), and 50 voice packets per
/// second.
fn arrivals() -> impl Iterator<Item = Packet> {
    let each = |port, bytes, micros: u64, phase: u64| {
        (0..10_000_000 / micros).map(move |number| {
            let came = Instant::ZERO + Duration::from_micros(phase + number * micros);
            Datagram::new(key(port), bytes, came)
        })
    };
    let mut all: Vec<Packet> = each(FLOOD, 1_500, 600, 0).chain(each(CALL, 214, 20_000, 300)).collect();
    all.sort_by_key(|datagram| datagram.content);
    all.into_iter()
}
