//! Stories of fairness in simulated time.

use alloc::vec::Vec;

use super::*;
use crate::config::{Configure, Link, Settings, Value};
use crate::packet::Ecn;
use crate::random::Xoshiro256PlusPlus;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Datagram {
    id: u32,
    flow: u32,
    len: u32,
}

impl Packet for Datagram {
    fn len(&self) -> u32 {
        self.len
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) -> bool {
        false
    }
}

impl Flow for Datagram {
    fn flow_hash(&self, salt: u32) -> u32 {
        (self.flow ^ salt).wrapping_mul(0x9E37_79B1) >> 7
    }
}

type Queue = Sfq<Datagram, Xoshiro256PlusPlus>;

fn sfq(settings: &Settings) -> Queue {
    let config = SfqConfig::from_settings(settings, &Link::default()).unwrap();
    Sfq::new(config, 0, Xoshiro256PlusPlus::new(1))
}

fn offer(queue: &mut Queue, at: u64, id: u32, flow: u32) -> Vec<u32> {
    let mut lost = Vec::new();
    let packet = Datagram { id, flow, len: 1514 };
    queue.enqueue(Instant::from_nanos(at), packet, &mut |p: Datagram, _: DropReason| lost.push(p.id));
    lost
}

fn take(queue: &mut Queue, at: u64) -> Option<Datagram> {
    queue.dequeue(Instant::from_nanos(at), &mut |p: Datagram, why: DropReason| panic!("{p:?} {why:?}"))
}

#[test]
fn one_flow_keeps_127_of_128_packets() {
    let mut queue = sfq(&Settings::new());
    for id in 0..127 {
        assert!(offer(&mut queue, 0, id, 1).is_empty());
    }
    assert_eq!(offer(&mut queue, 0, 127, 1), [127], "the flow's own limit: what arrives is dropped");
}

#[test]
fn the_longest_flow_pays_for_another_ones_packet() {
    let mut queue = sfq(&Settings::new());
    (0..100).for_each(|id| assert!(offer(&mut queue, 0, id, 1).is_empty()));
    // These fill the default limit of 127.
    (100..127).for_each(|id| assert!(offer(&mut queue, 0, id, 2).is_empty()));
    assert_eq!(offer(&mut queue, 0, 127, 2), [99], "its youngest");
}

#[test]
fn full_frames_of_two_flows_alternate() {
    let mut queue = sfq(&Settings::new());
    (0..10).for_each(|id| assert!(offer(&mut queue, 0, id, 1).is_empty()));
    (10..20).for_each(|id| assert!(offer(&mut queue, 0, id, 2).is_empty()));
    let flows: Vec<u32> = core::iter::from_fn(|| take(&mut queue, 0)).map(|p| p.flow).collect();
    assert!(flows.chunks(2).all(|pair| pair == [1, 2]), "{flows:?}");
}

#[test]
fn a_packet_much_longer_than_the_quantum_gets_its_turn_without_a_long_search() {
    let settings = Settings::new().with("quantum", Value::Bytes(1));
    let mut queue = sfq(&settings);
    let mut ignore = |_: Datagram, _: DropReason| {};
    for id in 0..20 {
        let packet = Datagram { id, flow: id % 4, len: u32::MAX };
        queue.enqueue(Instant::ZERO, packet, &mut ignore);
    }
    let flows: Vec<u32> = core::iter::from_fn(|| take(&mut queue, 0)).map(|p| p.flow).collect();
    assert!(flows.chunks(4).all(|round| round == [0, 1, 2, 3]), "{flows:?}");
}

#[test]
fn perturbing_averages_the_packets_that_move() {
    let settings = Settings::new()
        .with("perturb", Value::Time(Duration::from_secs(10)))
        .with("redflowlimit", Value::Bytes(200_000));
    let mut queue = sfq(&settings);
    for id in 0..10 {
        assert!(offer(&mut queue, 0, id, 1).is_empty());
    }
    // Only with RED, which `redflowlimit` switches on, do queues have averages.
    let averages = |queue: &Queue| -> Vec<Average> { queue.slots.iter().map(|slot| slot.average).collect() };
    let before = averages(&queue);
    assert_ne!(before, [Average::default()]);
    let salt = queue.salt;
    queue.advance(Instant::from_nanos(10_000_000_000), &mut |_, _| ());
    assert_ne!(queue.salt, salt);
    // The flow has lost no packet, so the samples are those of the arrivals.
    assert_eq!(averages(&queue), before);
}

#[test]
fn perturbing_changes_buckets_but_not_the_order_within_a_flow() {
    let second = 1_000_000_000;
    let settings = Settings::new().with("perturb", Value::Time(Duration::from_secs(10)));
    let mut queue = sfq(&settings);
    for id in 0..100 {
        assert!(offer(&mut queue, 0, id, id % 7).is_empty());
    }
    let salt = queue.salt;
    take(&mut queue, 10 * second - 1);
    assert_eq!(queue.salt, salt);
    let mut last = [None; 7];
    // One of the 100 has left above.
    let mut left = 99;
    while let Some(packet) = take(&mut queue, 35 * second) {
        left -= 1;
        let flow = &mut last[packet.flow as usize];
        assert!(flow.is_none_or(|before| before < packet.id));
        *flow = Some(packet.id);
    }
    assert_eq!(left, 0);
    assert_ne!(queue.salt, salt);
    assert_eq!(
        queue.perturb_at,
        Some(Instant::from_nanos(40 * second)),
        "three periods, one change, same phase"
    );
}

#[test]
fn a_zero_length_packet_does_not_get_unlimited_service() {
    let mut queue = sfq(&Settings::new().with("quantum", Value::Bytes(10)));
    let mut ignore = |_: Datagram, _: DropReason| {};
    for id in 0..40 {
        queue.enqueue(Instant::ZERO, Datagram { id, flow: 1, len: 0 }, &mut ignore);
    }
    queue.enqueue(Instant::ZERO, Datagram { id: 40, flow: 2, len: 1 }, &mut ignore);
    let position = core::iter::from_fn(|| take(&mut queue, 0)).position(|p| p.flow == 2);
    // Each packet without a length is charged a byte, so a quantum of 10 sends ten.
    assert_eq!(position, Some(10));
}

#[test]
fn every_combination_of_the_smallest_settings_is_safe() {
    // The kernel had two out-of-bounds writes here (CVE-2024-57996, CVE-2025-37752).
    let two = [1_u64, 2];
    for (limit, depth) in two.iter().flat_map(|&a| two.map(|b| (a, b))) {
        for (flows, divisor) in two.iter().flat_map(|&a| two.map(|b| (a, b))) {
            for head_drop in [false, true] {
                let settings = Settings::new()
                    .with("limit", Value::Packets(limit))
                    .with("depth", Value::Packets(depth))
                    .with("flows", Value::Integer(flows))
                    .with("divisor", Value::Integer(divisor))
                    .with("headdrop", Value::Flag(head_drop));
                let mut queue = sfq(&settings);
                // Five flows reach every queue of two, and keep all of them full.
                let bound = limit.min(depth * flows.min(divisor));
                let lost: usize = (0..50).map(|id| offer(&mut queue, 0, id, id % 5).len()).sum();
                assert_eq!((lost as u64, queue.len() as u64), (50 - bound, bound), "{settings:?}");
                assert_eq!(core::iter::from_fn(|| take(&mut queue, 0)).count() as u64, bound);
            }
        }
    }
}

#[test]
fn bad_values_are_refused() {
    let refused = |name, value| {
        SfqConfig::from_settings(&Settings::new().with(name, value), &Link::default()).unwrap_err().parameter
    };
    assert_eq!(refused("limit", Value::Packets(0)), "limit");
    // 1000 is no power of two, and 128 packets are more than a queue can have.
    assert_eq!(refused("divisor", Value::Integer(1000)), "divisor");
    assert_eq!(refused("depth", Value::Packets(128)), "depth");
    assert_eq!(refused("quantum", Value::Bytes(0)), "quantum");
    assert_eq!(refused("perturb", Value::Time(Duration::MAX)), "perturb");
}

#[test]
fn in_the_paper_a_turn_is_a_packet_whatever_its_length() {
    let order = |variant| {
        let mut queue = sfq(&Settings::new().with("variant", Value::Choice(variant)));
        for id in 0..8 {
            let (flow, len) = if id % 2 == 0 { (1, 1514) } else { (2, 500) };
            queue.enqueue(Instant::ZERO, Datagram { id, flow, len }, &mut |_: Datagram, _: DropReason| ());
        }
        core::iter::from_fn(|| take(&mut queue, 0)).map(|packet| packet.flow).collect::<Vec<u32>>()
    };
    assert_eq!(order("mckenney1990"), [1, 2, 1, 2, 1, 2, 1, 2]);
    // Three packets of 500 bytes leave 14 of the 1514, and so a fourth one is sent.
    assert_eq!(order("linux")[..5], [1, 2, 2, 2, 2]);
}

#[test]
fn ns2s_hash_keeps_ten_flows_between_nodes_in_a_row_apart() {
    struct Between(u32);
    impl Packet for Between {
        fn len(&self) -> u32 {
            1500
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn set_ce(&mut self) -> bool {
            false
        }
    }
    impl Flow for Between {
        fn flow_hash(&self, _salt: u32) -> u32 {
            0
        }
        fn nodes(&self) -> Option<(u32, u32)> {
            Some((2 * self.0 + 2, 2 * self.0 + 3))
        }
    }
    let settings = Settings::new()
        .with("variant", Value::Choice("ns2"))
        .with("limit", Value::Packets(40))
        .with("divisor", Value::Integer(16));
    let config = SfqConfig::from_settings(&settings, &Link::default()).unwrap();
    let queue = Sfq::<Between, _>::new(config, 0, Xoshiro256PlusPlus::new(1));
    let mut buckets: Vec<u32> = (0..10).map(|flow| queue.bucket(&Between(flow))).collect();
    // The sums of the nodes are 5, 9 and 13. Below 16, the hash is the sum less 1.
    assert_eq!(buckets[..3], [4, 8, 12]);
    buckets.sort_unstable();
    buckets.dedup();
    assert_eq!(buckets.len(), 10);
}
