use alloc::vec;

use super::config::Classes;
use super::queues::Set;
use super::*;
use crate::config::{Configure, Link, Settings, Value};
use crate::packet::{Ecn, TcpAck};
use crate::random::Xoshiro256PlusPlus;
use crate::time::{Duration, Rate};

#[derive(Clone, Copy, PartialEq, Debug)]
struct Frame {
    flow: u32,
    from: u32,
    bytes: u32,
    dscp: u8,
    ack: Option<TcpAck>,
}

impl Frame {
    const fn from_flow(flow: u32) -> Self {
        Self { flow, from: flow, bytes: 1514, dscp: 0, ack: None }
    }
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
    /// As it is: the tests choose sets and collisions.
    fn flow_hash(&self, _salt: u32) -> u32 {
        self.flow
    }
    fn source_hash(&self, _salt: u32) -> u32 {
        self.from
    }
    fn dscp(&self) -> u8 {
        self.dscp
    }
    fn clear_dscp(&mut self) {
        self.dscp = 0;
    }
    fn tcp_ack(&self) -> Option<TcpAck> {
        self.ack
    }
}

type TestCake = Cake<Frame, Xoshiro256PlusPlus>;

fn on() -> Value {
    Value::Flag(true)
}

fn flags(names: &[&'static str]) -> Settings {
    names.iter().fold(Settings::new(), |settings, name| settings.with(name, on()))
}

fn cake(settings: &Settings) -> TestCake {
    let config = CakeConfig::from_settings(settings, &Link::default()).expect("valid");
    Cake::new(config, 0, Xoshiro256PlusPlus::new(1))
}

fn put(queue: &mut TestCake, frame: Frame) {
    let now = queue.now;
    queue.enqueue(now, frame, &mut |_, _| ());
}

/// Serves for `span`, keeping every flow of `flows` at 20 packets, and counts the bytes of each.
fn serve(queue: &mut TestCake, flows: &[Frame], span: Duration) -> Vec<u64> {
    let mut sent = vec![0; flows.len()];
    let mut queued = vec![0_u32; flows.len()];
    let end = queue.now + span;
    let mut now = queue.now;
    while now < end {
        for (frame, count) in flows.iter().zip(&mut queued) {
            while *count < 20 {
                queue.enqueue(now, *frame, &mut |_, _| ());
                *count += 1;
            }
        }
        let position = |frame: Frame| flows.iter().position(|flow| flow.flow == frame.flow).expect("known");
        let mut lost = Vec::new();
        let next = queue.dequeue(now, &mut |frame, _| lost.push(frame));
        for frame in lost {
            queued[position(frame)] -= 1;
        }
        match next {
            Some(frame) => {
                sent[position(frame)] += u64::from(frame.bytes);
                queued[position(frame)] -= 1;
            }
            None => now = queue.next_event(now).expect("shaped"),
        }
    }
    sent
}

fn bandwidth(mbit: u64) -> Settings {
    Settings::new().with("bandwidth", Value::Rate(Rate::from_bps(mbit * 1_000_000)))
}

fn add(settings: &Settings, names: &[&'static str]) -> Settings {
    names.iter().fold(settings.clone(), |settings, name| settings.with(name, on()))
}

#[test]
fn the_shaper_sends_at_its_rate_without_a_burst() {
    let mut queue = cake(&add(&bandwidth(8), &["besteffort"]));
    // Idle for long: no credit.
    queue.dequeue(Instant::from_nanos(5_000_000_000), &mut |_, _| ());
    let sent = serve(&mut queue, &[Frame::from_flow(1)], Duration::from_secs(10));
    assert!(sent[0].abs_diff(10_000_000) <= 2 * 1514, "{sent:?}");
}

#[test]
fn overhead_and_cells_are_counted() {
    let atm = add(&bandwidth(8), &["besteffort", "atm"]).with("overhead", Value::Integer(40));
    let config = CakeConfig::from_settings(&atm, &Link::default()).expect("valid");
    // 1500 + 40 bytes are 33 cells.
    assert_eq!(config.on_the_link(1514), 33 * 53);
    let ptm = add(&bandwidth(8), &["besteffort", "ptm"]).with("mpu", Value::Integer(84));
    let config = CakeConfig::from_settings(&ptm, &Link::default()).expect("valid");
    // PTM adds a byte to each 64, and the part of 64 that is left gets one as well.
    assert_eq!((config.on_the_link(1514), config.on_the_link(60)), (1514 + 24, 84 + 2));
}

#[test]
fn voice_bulk_and_the_rest_share_as_diffserv4_says() {
    let mut queue = cake(&add(&bandwidth(16), &["diffserv4"]));
    let class = |flow, dscp| Frame { dscp, ..Frame::from_flow(flow) };
    let sent =
        serve(&mut queue, &[class(1, 0), class(2, 8), class(3, 38), class(4, 46)], Duration::from_secs(10));
    // All tins overloaded: voice has a quarter, video a half, bulk a sixteenth; best effort what is
    // left. 16 Mbit/s are 20 MB in 10 s.
    let share = |index: usize| sent[index] * 100 / 20_000_000;
    assert!((24..=26).contains(&share(3)), "{sent:?}");
    assert!((48..=51).contains(&share(2)), "{sent:?}");
    assert!((5..=7).contains(&share(1)), "{sent:?}");
    assert!(share(0) >= 16, "{sent:?}");
}

#[test]
fn codepoints_go_to_their_tins() {
    let tin = |classes: Classes, dscp| classes.of_dscp(dscp);
    for (dscp, three, four, eight) in
        [(0, 0, 0, 2), (1, 1, 1, 0), (8, 1, 1, 1), (46, 2, 3, 6), (48, 2, 3, 7), (34, 0, 2, 3), (16, 0, 2, 5)]
    {
        assert_eq!(tin(Classes::Diffserv3, dscp), three, "{dscp}");
        assert_eq!(tin(Classes::Diffserv4, dscp), four, "{dscp}");
        assert_eq!(tin(Classes::Diffserv8, dscp), eight, "{dscp}");
        assert_eq!(tin(Classes::BestEffort, dscp), 0);
    }
    assert_eq!(tin(Classes::Precedence, 46), 5);
}

#[test]
fn eight_flows_of_one_set_have_queues_of_their_own_and_the_ninth_collides() {
    let mut queue = cake(&flags(&["besteffort", "flows"]));
    for flow in 0..9 {
        // Equal modulo 1024, so all belong in queue 16.
        put(&mut queue, Frame::from_flow(16 + flow * 1024));
    }
    let used = |queue: &TestCake| queue.tins[0].flows.iter().filter(|flow| flow.set != Set::None).count();
    assert_eq!(used(&queue), 8);
    assert_eq!(queue.tins[0].flows.at(16).packets.len(), 2, "the ninth is where it belongs");
}

#[test]
fn hosts_share_alike_whatever_the_number_of_their_flows() {
    // Host 1 has six flows, host 2 has two.
    let flows: Vec<Frame> = (0..8)
        .map(|flow| Frame { from: if flow < 6 { 1 } else { 2 }, ..Frame::from_flow(flow * 10) })
        .collect();
    let shares = |mode: &'static str| {
        let mut queue = cake(&add(&bandwidth(10), &["besteffort", mode]));
        let sent = serve(&mut queue, &flows, Duration::from_secs(20));
        let of_first: u64 = sent[..6].iter().sum();
        of_first * 100 / sent.iter().sum::<u64>()
    };
    // Six of eight flows, and one of two hosts.
    assert!((72..=78).contains(&shares("flows")), "{}", shares("flows"));
    assert!((47..=53).contains(&shares("dual-srchost")), "{}", shares("dual-srchost"));
    // One destination for all: the busier host of each flow counts.
    let triple = shares("triple-isolate");
    assert!((47..=78).contains(&triple), "{triple}");
}

#[test]
fn a_sparse_flow_does_not_wait_for_bulk_flows() {
    let mut queue = cake(&add(&bandwidth(10), &["besteffort"]));
    let flows: Vec<Frame> = (0..10).map(|flow| Frame::from_flow(flow * 10)).collect();
    serve(&mut queue, &flows, Duration::from_secs(1));
    let sparse = Frame { bytes: 100, ..Frame::from_flow(7777) };
    put(&mut queue, sparse);
    let mut served = 0;
    loop {
        let now = queue.next_event(queue.now).unwrap_or(queue.now);
        match queue.dequeue(now, &mut |_, _| ()) {
            Some(frame) if frame == sparse => break,
            _ => served += 1,
        }
    }
    assert!(served <= 3, "{served}");
}

#[test]
fn when_the_memory_is_used_up_the_longest_queue_loses_its_oldest_packet() {
    // The packets of flow 5 take 10,045 bytes, so three full frames fit beside them.
    let limits = flags(&["besteffort"]).with("memlimit", Value::Bytes(15_140));
    let mut queue = cake(&limits.with("truesize", Value::Bytes(1)));
    let mut lost = Vec::new();
    for step in 0..10 {
        put(&mut queue, Frame { bytes: 1000 + step, ..Frame::from_flow(5) });
    }
    for _ in 0..4 {
        queue.enqueue(Instant::ZERO, Frame::from_flow(6), &mut |frame: Frame, why| {
            lost.push((frame.bytes, why))
        });
    }
    assert_eq!(lost, [(1000, DropReason::Overmemory)]);
    assert!(queue.tins[0].flows.at(5).cobalt.count() > 0, "COBALT is told");
}

#[test]
fn four_megabytes_of_memory_hold_1820_full_frames_as_in_linux() {
    let limit = |settings: Settings| settings.with("memlimit", Value::Bytes(4 << 20));
    let linux = limit(flags(&["besteffort"]));
    let paper = limit(flags(&["besteffort"])).with("variant", Value::Choice("paper"));
    let pages = limit(flags(&["besteffort"])).with("truesize", Value::Bytes(4352));
    // 4 MiB over 2304, 1514 and 4352 bytes.
    for (settings, packets) in [(&linux, 1820), (&paper, 2770), (&pages, 963)] {
        let mut queue = cake(settings);
        for _ in 0..3000 {
            queue.enqueue(Instant::ZERO, Frame { bytes: 1514, ..Frame::from_flow(5) }, &mut |_, _| ());
        }
        assert_eq!(queue.len(), packets);
    }
    // What is queued counts anew with another size.
    let mut queue = cake(&linux);
    for _ in 0..1820 {
        put(&mut queue, Frame { bytes: 1514, ..Frame::from_flow(5) });
    }
    let link = Link::default();
    queue.reconfigure(
        Instant::ZERO,
        CakeConfig::from_settings(&pages, &link).expect("valid"),
        &mut |_, _| (),
    );
    let mut lost = 0;
    queue.enqueue(Instant::ZERO, Frame::from_flow(6), &mut |_, _| lost += 1);
    assert_eq!(lost, 1821 - 963);
}

fn ack(number: u32) -> Frame {
    let ack = TcpAck { number, ecn: 0, sacked: 0, timestamps: (0, 0), pure: true };
    Frame { bytes: 66, ack: Some(ack), ..Frame::from_flow(3) }
}

fn acks_left(mode: &'static str, frames: &[Frame]) -> Vec<u32> {
    let mut queue = cake(&flags(&["besteffort", mode]));
    for frame in frames {
        put(&mut queue, *frame);
    }
    let next = || queue.dequeue(Instant::ZERO, &mut |_, _| ());
    core::iter::from_fn(next).filter_map(|frame| frame.ack).map(|ack| ack.number).collect()
}

#[test]
fn the_ack_filter_keeps_two_and_the_aggressive_one_keeps_one() {
    let frames: Vec<Frame> = (1..=6).map(|n| ack(n * 1000)).collect();
    assert_eq!(acks_left("ack-filter", &frames), [5000, 6000]);
    assert_eq!(acks_left("ack-filter-aggressive", &frames), [6000]);
}

#[test]
fn acks_that_say_something_of_their_own_are_kept() {
    let change = |frame: Frame, f: fn(&mut TcpAck)| {
        let mut frame = frame;
        if let Some(ack) = &mut frame.ack {
            f(ack);
        }
        frame
    };
    // Data, duplicates, other marks, more in SACK.
    let data = change(ack(1000), |ack| ack.pure = false);
    assert_eq!(acks_left("ack-filter-aggressive", &[data, ack(2000)]), [1000, 2000]);
    assert_eq!(acks_left("ack-filter-aggressive", &[ack(1000), ack(1000), ack(1000)]), [1000, 1000, 1000]);
    let marked = change(ack(1000), |ack| ack.ecn = 2);
    assert_eq!(acks_left("ack-filter-aggressive", &[marked, ack(2000)]), [1000, 2000]);
    let sack = change(ack(1000), |ack| ack.sacked = 1448);
    assert_eq!(acks_left("ack-filter-aggressive", &[sack, ack(1000)]), [1000, 1000]);
    let later = change(ack(2000), |ack| ack.sacked = 2896);
    assert_eq!(acks_left("ack-filter-aggressive", &[sack, later]), [2000]);
    assert_eq!(acks_left("ack-filter-aggressive", &[ack(u32::MAX - 5), ack(10)]), [10], "numbers wrap");
}

#[test]
fn flags_that_exclude_each_other_are_refused() {
    for pair in [["besteffort", "diffserv4"], ["flows", "hosts"], ["atm", "ptm"]] {
        assert!(CakeConfig::from_settings(&flags(&pair), &Link::default()).is_err(), "{pair:?}");
    }
}

#[test]
fn defaults_are_those_of_tc() {
    let config = CakeConfig::from_settings(&bandwidth(100), &Link::default()).expect("valid");
    let queue: TestCake = Cake::new(config, 0, Xoshiro256PlusPlus::new(1));
    let tin = &queue.tins[0];
    assert_eq!(
        (tin.cobalt.target, tin.cobalt.interval),
        (Duration::from_millis(5), Duration::from_millis(100))
    );
    // The memory is 4 x 12.5 MB/s x 100 ms.
    assert_eq!((queue.tins.len(), tin.flow_quantum, config.memory()), (3, 1514, 5_000_000));
    // 1 Mbit/s: a packet takes 12 ms, the target is one and a half of that.
    let slow: TestCake = cake(&add(&bandwidth(1), &["besteffort"]));
    // The quantum of a slow link is the least one.
    assert_eq!((slow.tins[0].flow_quantum, slow.tins[0].cobalt.target.as_nanos() / 100_000), (300, 181));
}

/// tc-cake(8): the tin is chosen first.
#[test]
fn washing_clears_the_code_point_behind_the_choice_of_the_tin() {
    for (words, left) in [(vec!["wash"], 0), (vec![], 46)] {
        let mut queue = cake(&flags(&words));
        let voice = Frame { dscp: 46, bytes: 200, ..Frame::from_flow(1) };
        put(&mut queue, voice);
        assert_eq!(queue.tins[2].backlog, 200, "voice");
        let sent = queue.dequeue(Instant::ZERO, &mut |_, _| ()).expect("queued");
        assert_eq!(sent.dscp, left);
    }
}

/// tc-cake(8): `raw` counts from the packet that the kernel reports, its Ethernet header included.
#[test]
fn overhead_counts_from_the_ip_packet_unless_raw() {
    let bytes = |settings: &Settings| {
        CakeConfig::from_settings(settings, &Link::default()).expect("valid").on_the_link(1514)
    };
    let overhead = || Settings::new().with("overhead", Value::Integer(38));
    assert_eq!(bytes(&Settings::new()), 1514);
    assert_eq!(bytes(&overhead()), 1500 + 38);
    assert_eq!(bytes(&overhead().with("raw", on())), 1514 + 38);
    assert_eq!(bytes(&Settings::new().with("overhead", Value::Signed(-14))), 1500 - 14);
    let below = Settings::new().with("overhead", Value::Signed(-65));
    assert!(CakeConfig::from_settings(&below, &Link::default()).is_err(), "tc-cake(8): -64 to 256");
}
