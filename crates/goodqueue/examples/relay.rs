//! A discipline in a program of your own: a relay passes datagrams on over a slow line, first through a token bucket with a
//! plain FIFO, then through CAKE. A stranger floods it with twice what the line carries; what becomes of the call?
//!
//! ```sh
//! cargo run --package goodqueue --example relay
//! ```
//!
//! The relay sleeps until a datagram comes or the discipline says that there is something to do. Here both are times of a
//! made-up clock; in a real program they are what a socket and a timer wake it up with, and nothing else is different.

use goodqueue::config::Value;
use goodqueue::random::{Source, mix_64};
use goodqueue::{
    AnyConfig, AnyQdisc, DropReason, Duration, Ecn, Flow, Instant, Link, Packet, Qdisc, Rate, Settings,
};

/// What came in through a socket.
struct Datagram {
    /// Whatever tells one sender from another: addresses and ports, say.
    sender: u64,
    /// Two bits of the TOS byte, from `IP_RECVTOS`.
    ecn: Ecn,
    payload: Vec<u8>,
    came: Instant,
}

impl Packet for Datagram {
    fn len(&self) -> u32 {
        // With the headers of UDP, IP and Ethernet, as the line counts it.
        u32::try_from(self.payload.len() + 8 + 20 + 14).unwrap_or(u32::MAX)
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ce(&mut self) -> bool {
        self.ecn.mark()
    }
}

impl Flow for Datagram {
    fn flow_hash(&self, salt: u32) -> u32 {
        // Any hash that nobody outside can predict will do.
        u32::try_from(mix_64(self.sender ^ u64::from(salt) << 32) >> 32).unwrap_or(0)
    }
}

/// What a sender got through.
#[derive(Default)]
struct Seen {
    passed: u32,
    dropped: u32,
    longest: Duration,
}

const LINE: Rate = Rate::from_bps(10_000_000);
const FLOOD: u64 = 0;
const CALL: u64 = 1;

fn main() {
    let fifo = Settings::new()
        .with("rate", Value::Rate(LINE))
        .with("burst", Value::Bytes(3_000))
        .with("limit", Value::Bytes(150_000));
    relay("tbf", &fifo);
    relay("cake", &Settings::new().with("bandwidth", Value::Rate(LINE)));
}

/// Ten seconds of a relay with this discipline.
fn relay(kind: &str, settings: &Settings) {
    let config = AnyConfig::from_settings(kind, settings, &Link::default())
        .expect("the discipline exists")
        .expect("the settings are valid");
    // The salt and the seed come from the system's generator in a real program.
    let mut queue: AnyQdisc<Datagram> = AnyQdisc::new(config, 7, Source::seeded(7));
    let mut seen = [Seen::default(), Seen::default()];
    let mut arrivals = arrivals().peekable();
    let mut now = Instant::ZERO;
    loop {
        // Sleep until something is to be done.
        let timer = queue.next_event(now);
        let socket = arrivals.peek().map(|datagram| datagram.came);
        let Some(next) = [timer, socket].into_iter().flatten().min() else { break };
        now = next;

        let mut lost =
            |datagram: Datagram, _: DropReason| seen[usize::from(datagram.sender == CALL)].dropped += 1;
        while let Some(datagram) = arrivals.next_if(|datagram| datagram.came <= now) {
            queue.enqueue(now, datagram, &mut lost);
        }
        let mut sent = Vec::new();
        while let Some(datagram) = queue.dequeue(now, &mut lost) {
            sent.push(datagram);
        }
        // Here they would go out by another socket.
        for datagram in sent {
            let seen = &mut seen[usize::from(datagram.sender == CALL)];
            seen.passed += 1;
            seen.longest = seen.longest.max(now.since(datagram.came));
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

/// For ten seconds: 1458 bytes every 600 µs (20 Mbit/s), and 50 packets of voice a second.
fn arrivals() -> impl Iterator<Item = Datagram> {
    let each = |sender, bytes, micros: u64, phase: u64| {
        (0..10_000_000 / micros).map(move |number| Datagram {
            sender,
            ecn: Ecn::NotEct,
            payload: vec![0; bytes],
            came: Instant::ZERO + Duration::from_micros(phase + number * micros),
        })
    };
    let mut all: Vec<Datagram> = each(FLOOD, 1_458, 600, 0).chain(each(CALL, 172, 20_000, 300)).collect();
    all.sort_by_key(|datagram| datagram.came);
    all.into_iter()
}
