//! One flow over one bottleneck, as a table to compare with recordings of real stacks: every 20 ms
//! the window, the smoothed RTT, the threshold, and how many segments were retransmitted.
//!
//! `cargo run --release -p goodqueue-tcp --example single_flow [profile] [cc] [pfifo N | codel N]
//! [seconds] [rtt ms]`

use std::collections::VecDeque;
use std::env::args;

use goodqueue::config::{Settings, Value};
use goodqueue::random::Source;
use goodqueue::{AnyConfig, AnyQdisc, DropReason, Duration, Ecn, Flow, Instant, Link, Packet, Qdisc, Rate};
use goodqueue_tcp::{Config, Profile, Receiver, Segment, Sender};

const RATE: Rate = Rate::from_bps(10_000_000);
// An Ethernet header.
const FRAMING: u32 = 14;

#[derive(Clone, Copy, Debug)]
struct Wire(Segment, u32);

impl Packet for Wire {
    fn len(&self) -> u32 {
        self.1
    }
    fn ecn(&self) -> Ecn {
        self.0.ecn
    }
    fn set_ce(&mut self) -> bool {
        if self.0.ecn.is_capable() {
            self.0.ecn = Ecn::Ce;
        }
        self.0.ecn == Ecn::Ce
    }
}

impl Flow for Wire {
    fn flow_hash(&self, _salt: u32) -> u32 {
        0
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let word = |index: usize, default: &str| args().nth(index).unwrap_or_else(|| default.to_owned());
    let profile = Profile::by_name(&word(1, "linux")).ok_or("no such profile")?;
    let cc = word(2, "cubic");
    let controller = profile.controller(&cc).ok_or("no such controller")?;
    let kind = word(3, "pfifo");
    let limit: u32 = word(4, "60").parse()?;
    let seconds: u64 = word(5, "30").parse()?;
    let delay = Duration::from_millis(word(6, "50").parse::<u64>()? / 2);
    let ecn = args().nth(7).is_some();
    let config = discipline(&kind, limit, ecn)?;
    let mut queue: AnyQdisc<Wire> = AnyQdisc::new(config, 0, Source::seeded(0));

    let mut tcp = profile.settings;
    tcp.ecn |= ecn;
    tcp = tcp.suited_to(controller.about().needs);
    let mut sender = Sender::new(tcp, controller)?;
    let mut receiver = Receiver::new(tcp)?;
    sender.write(u64::MAX);
    sender.open(Instant::ZERO);

    let mut data: VecDeque<(Instant, Segment)> = VecDeque::new();
    let mut acks: VecDeque<(Instant, Segment)> = VecDeque::new();
    let mut on_link: Option<(Instant, Segment)> = None;
    let mut drops = 0;
    let mut now = Instant::ZERO;
    let end = Instant::ZERO + Duration::from_secs(seconds);
    let mut report = Instant::ZERO + Duration::from_millis(20);
    let step = Duration::from_millis(20);
    println!("t_s cwnd srtt_us unacked ssthresh retrans drops delivered timeouts");
    while now < end {
        while let Some(segment) = sender.poll_transmit(now) {
            let bytes = segment.wire_len(&tcp) + FRAMING;
            queue.enqueue(now, Wire(segment, bytes), &mut |_: Wire, _: DropReason| drops += 1);
        }
        while let Some(segment) = receiver.poll_transmit(now) {
            acks.push_back((now + delay, segment));
        }
        if on_link.is_none() {
            let next = queue.dequeue(now, &mut |_: Wire, _: DropReason| drops += 1);
            on_link = next.map(|wire| (now + RATE.serialization(wire.1), wire.0));
        }
        let times = [
            sender.next_event(),
            receiver.next_event(),
            on_link.map(|entry| entry.0),
            data.front().map(|entry| entry.0),
            acks.front().map(|entry| entry.0),
        ];
        let next = times.into_iter().flatten().fold(end, Instant::min).max(now);
        while report <= next {
            print_state(report, &tcp, &sender, &receiver, drops);
            report += step;
        }
        now = next;
        if on_link.is_some_and(|entry| entry.0 <= now) {
            if let Some((_, segment)) = on_link.take() {
                data.push_back((now + delay, segment));
            }
        } else if data.front().is_some_and(|entry| entry.0 <= now) {
            data.pop_front().inspect(|entry| receiver.on_segment(now, &entry.1));
        } else if acks.front().is_some_and(|entry| entry.0 <= now) {
            acks.pop_front().inspect(|entry| sender.on_segment(now, &entry.1));
        }
    }
    Ok(())
}

/// Returns the configuration of the bottleneck's discipline.
fn discipline(kind: &str, limit: u32, ecn: bool) -> Result<AnyConfig, Box<dyn std::error::Error>> {
    let mut settings = Settings::new();
    settings.set("limit", Value::Packets(limit.into()));
    if kind == "codel" {
        settings.set("variant", Value::Choice("linux"));
    }
    if ecn {
        settings.set("target", Value::Time(Duration::from_millis(100)));
        settings.set("interval", Value::Time(Duration::from_secs(1)));
        settings.set("ce_threshold", Value::Time(Duration::from_millis(5)));
    }
    let link = Link { rate: RATE, mtu: 1514, delay: Duration::ZERO };
    Ok(AnyConfig::from_settings(kind, &settings, &link).ok_or("no such discipline")??)
}

/// Prints one line with the state of the connection.
fn print_state(now: Instant, tcp: &Config, sender: &Sender, receiver: &Receiver, drops: u32) {
    let ssthresh = sender.ssthresh() / u64::from(tcp.payload());
    println!(
        "{:.2} {} {} {} {} {} {} {} {}",
        now.as_nanos() as f64 / 1e9,
        sender.cwnd() as f64 / f64::from(tcp.payload()),
        sender.srtt().map_or(0, |srtt| srtt.as_nanos() / 1000),
        sender.in_flight() / u64::from(tcp.payload()),
        // Linux prints this number for a threshold that is not set (`TCP_INFINITE_SSTHRESH`).
        ssthresh.min(0x7fff_ffff),
        sender.stats().retransmits,
        drops,
        receiver.delivered(),
        sender.stats().timeouts,
    );
}
