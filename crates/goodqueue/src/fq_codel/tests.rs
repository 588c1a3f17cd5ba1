//! Stories of FQ-CoDel in simulated time.

use super::*;
use alloc::vec::Vec;

use crate::packet::Ecn;
use crate::time::Duration;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Of {
    flow: u32,
    bytes: u32,
}

impl Packet for Of {
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

impl Flow for Of {
    fn flow_hash(&self, _salt: u32) -> u32 {
        0
    }
    fn class(&self) -> Option<u32> {
        Some(self.flow + 1)
    }
}

fn fq_codel(settings: &Settings) -> FqCodel<Of> {
    FqCodel::new(FqCodelConfig::from_settings(settings, &Link::default()).expect("valid"), 0)
}

fn put(queue: &mut FqCodel<Of>, flow: u32, bytes: u32, packets: u32) -> u32 {
    let mut dropped = 0;
    for _ in 0..packets {
        queue.enqueue(Instant::ZERO, Of { flow, bytes }, &mut |_, _| dropped += 1);
    }
    dropped
}

fn order(queue: &mut FqCodel<Of>) -> Vec<u32> {
    core::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut |_, _| ())).map(|packet| packet.flow).collect()
}

#[test]
fn the_packet_that_is_upcoming_is_the_one_sent_after_the_next_flows_turn_begins() {
    let mut queue = fq_codel(&Settings::new());
    for flow in 0..3 {
        put(&mut queue, flow, 1514, 9);
    }
    // After their first packets the flows are old ones.
    let mut next = || queue.dequeue(Instant::ZERO, &mut |_, _| ()).zip(Some(queue.upcoming().copied()));
    let turns: Vec<_> = core::iter::from_fn(&mut next).take(9).collect();
    for (turn, (sent, _)) in turns.iter().enumerate().skip(4) {
        let (_, foreseen) = turns[turn - 1];
        assert_eq!(foreseen.flatten(), Some(*sent), "turn {turn}");
    }
}

#[test]
fn full_frames_of_two_flows_alternate() {
    let mut queue = fq_codel(&Settings::new());
    put(&mut queue, 0, 1514, 3);
    put(&mut queue, 1, 1514, 3);
    assert_eq!(order(&mut queue), [0, 1, 0, 1, 0, 1]);
}

#[test]
fn a_quantum_not_used_up_lets_a_second_packet_go() {
    let mut queue = fq_codel(&Settings::new());
    put(&mut queue, 0, 1500, 3);
    put(&mut queue, 1, 1500, 3);
    assert_eq!(order(&mut queue), [0, 0, 1, 1, 0, 1], "1514 - 1500 = 14 left: one more each, then 28");
}

#[test]
fn a_sparse_flow_overtakes_the_queue_of_a_bulk_flow() {
    let mut queue = fq_codel(&Settings::new());
    put(&mut queue, 0, 1514, 10);
    let mut first = || queue.dequeue(Instant::ZERO, &mut |_, _| ()).map(|packet| packet.flow);
    // The first packet uses up the quantum of a new flow, and the second is that of an old one.
    assert_eq!([first(), first()], [Some(0), Some(0)]);
    put(&mut queue, 1, 100, 1);
    assert_eq!(order(&mut queue)[..2], [1, 0]);
}

#[test]
fn shares_are_of_bytes_not_of_packets() {
    let mut queue = fq_codel(&Settings::new());
    put(&mut queue, 0, 1500, 1000);
    put(&mut queue, 1, 300, 5000);
    let mut bytes = [0_u32; 2];
    // Five small packets for each large one: 200 and 1000, so neither flow runs out.
    for _ in 0..1200 {
        let packet = queue.dequeue(Instant::ZERO, &mut |_, _| ()).expect("backlogged");
        bytes[packet.flow as usize] += packet.bytes;
    }
    // RFC 8290 (DRR): backlogged flows differ by at most a quantum and a packet.
    assert!(bytes[0].abs_diff(bytes[1]) <= 1514 + 1500, "{bytes:?}");
}

#[test]
fn an_overflow_takes_a_batch_from_the_head_of_the_fattest_flow() {
    let mut queue = fq_codel(&Settings::new());
    assert_eq!(put(&mut queue, 3, 1514, 10_240), 0);
    assert_eq!(put(&mut queue, 4, 64, 1), 64);
    assert_eq!(queue.queues.aqm(3).map(CodelVars::count), Some(64));
    // 10,240 and the arrival, less a batch of 64.
    assert_eq!((queue.len(), queue.stats().dropped_after.packets), (10_177, 64));
}

#[test]
fn an_overflow_drops_no_more_than_half_of_the_fattest_flow() {
    let mut queue = fq_codel(&Settings::new().with("limit", Value::Packets(10)));
    put(&mut queue, 0, 1000, 10);
    // Half of 10,000 bytes.
    assert_eq!(put(&mut queue, 1, 1000, 1), 5);
}

#[test]
fn a_router_with_four_megabytes_of_memory_holds_1820_full_frames_as_in_linux() {
    let limit = || Settings::new().with("memory_limit", Value::Bytes(4 << 20));
    let of = |variant| limit().with("variant", Value::Choice(variant)).with("drop_batch", Value::Integer(1));
    let pages = of("linux").with("truesize", Value::Bytes(4352));
    for (settings, large, small) in [
        // 4 MiB hold 1820 buffers of 2304 bytes, 4681 of 896 and 5461 of 768 (`memory.rs`).
        (of("linux"), 1820, 4681),
        (of("linux61"), 1820, 5461),
        // Bare lengths: 2770 times 1514 bytes; all the small packets fit.
        (of("rfc8290"), 2770, 10_000),
        (pages, 963, 963),
    ] {
        let held = |bytes| {
            let mut queue = fq_codel(&settings);
            put(&mut queue, 3, bytes, 10_000);
            queue.len()
        };
        assert_eq!((held(1514), held(64)), (large, small));
    }
}

#[test]
fn a_packet_larger_than_the_memory_limit_leaves_at_once_with_its_reason() {
    let mut queue = fq_codel(&Settings::new().with("memory_limit", Value::Bytes(1)));
    let mut reasons = Vec::new();
    queue.enqueue(Instant::ZERO, Of { flow: 0, bytes: 2 }, &mut |_, why| reasons.push(why));
    assert_eq!((reasons, queue.len()), ([DropReason::Overmemory].into(), 0));
    assert_eq!(order(&mut queue), []);
}

#[test]
fn a_drop_counts_against_each_limit_that_is_exceeded() {
    for variant in ["rfc8290", "linux"] {
        let counted = |memory: u64| {
            let settings = Settings::new()
                .with("limit", Value::Packets(10))
                .with("memory_limit", Value::Bytes(memory))
                .with("truesize", Value::Bytes(2304))
                .with("drop_batch", Value::Integer(1))
                .with("variant", Value::Choice(variant));
            let mut queue = fq_codel(&settings);
            assert_eq!(put(&mut queue, 0, 1514, 11), 1, "{variant}");
            queue.overflows
        };
        assert_eq!(counted(11 * 2304 - 1), [1, 1], "{variant}");
        assert_eq!(counted(11 * 2304), [1, 0], "{variant}");
    }
}

#[test]
fn a_flow_of_empty_packets_cannot_be_served_for_ever() {
    // Linux raises a quantum to 256 bytes.
    let rfc = Settings::new().with("variant", Value::Choice("rfc8290"));
    let mut queue = fq_codel(&rfc.with("quantum", Value::Bytes(3)));
    put(&mut queue, 0, 0, 10);
    put(&mut queue, 1, 3, 2);
    // Each empty packet is charged one byte, so a quantum of 3 sends three.
    assert_eq!(order(&mut queue)[..5], [0, 0, 0, 1, 0]);
}

#[test]
fn every_flow_has_its_own_codel() {
    let mut queue = fq_codel(&Settings::new());
    put(&mut queue, 0, 1514, 200);
    let late = |ms| Instant::ZERO + Duration::from_millis(ms);
    // Packets are late from 5 ms on, so the phase of flow 0 begins at 105 ms.
    for ms in 0..150 {
        queue.dequeue(late(ms), &mut |_, _| ());
    }
    let dropping = |flow| queue.queues.aqm(flow).is_some_and(CodelVars::is_dropping);
    assert_eq!([dropping(0), dropping(1)], [true, false]);
}
