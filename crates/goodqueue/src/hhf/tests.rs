//! Stories of heavy hitters and of the flows beside them.

use alloc::vec::Vec;

use super::*;
use crate::config::Value;
use crate::packet::Ecn;
use crate::packet::story::Datagram;

const fn of_flow(flow: u32, bytes: u32) -> Datagram {
    Datagram::new(bytes, Ecn::NotEct).of_flow(flow)
}

fn hhf(settings: &Settings) -> Hhf<Datagram> {
    Hhf::new(HhfConfig::from_settings(settings, &Link::default()).unwrap(), 1)
}

/// Puts packets of 1000 bytes in, all at `millis`, and returns the flows of dropped packets.
fn put(queue: &mut Hhf<Datagram>, millis: u64, flow: u32, packets: u32) -> Vec<u32> {
    let mut dropped = Vec::new();
    for _ in 0..packets {
        let at = Instant::from_nanos(millis * 1_000_000);
        queue.enqueue(at, of_flow(flow, 1000), &mut |lost: Datagram, _| dropped.push(lost.flow));
    }
    dropped
}

fn order(queue: &mut Hhf<Datagram>) -> Vec<u32> {
    let next = || queue.dequeue(Instant::ZERO, &mut |_, _| ()).map(|packet| packet.flow);
    core::iter::from_fn(next).collect()
}

fn heavy(queue: &Hhf<Datagram>) -> usize {
    queue.queue(HEAVY).packets.len()
}

#[test]
fn a_flow_is_a_heavy_hitter_from_the_packet_on_that_exceeds_admit_bytes() {
    let mut queue = hhf(&Settings::new());
    // 131 packets of 1000 bytes are fewer than 131,072 bytes.
    put(&mut queue, 0, 1, 131);
    assert_eq!((heavy(&queue), queue.filter.tally.added), (0, 0));
    put(&mut queue, 0, 1, 2);
    assert_eq!((heavy(&queue), queue.filter.tally.added), (2, 1));
}

#[test]
fn a_flow_that_sends_less_than_the_threshold_per_reset_is_never_a_heavy_hitter() {
    let mut queue = hhf(&Settings::new());
    // 25 Mbit/s, a little less than 131,072 bytes in 41 ms: the counters are cleared when more than
    // 40 ms have passed.
    for millis in 0..2_000 {
        put(&mut queue, millis, 1, 3);
        while queue.dequeue(Instant::from_nanos(millis * 1_000_000), &mut |_, _| ()).is_some() {}
    }
    assert_eq!(queue.filter.tally.added, 0);
    // 32 Mbit/s.
    for millis in 2_000..2_100 {
        put(&mut queue, millis, 1, 4);
    }
    assert_eq!(queue.filter.tally.added, 1);
}

#[test]
fn a_heavy_hitter_is_forgotten_after_a_second_of_silence() {
    let mut queue = hhf(&Settings::new());
    put(&mut queue, 0, 1, 132);
    assert_eq!(heavy(&queue), 1);
    put(&mut queue, 1_000, 1, 1);
    assert_eq!(heavy(&queue), 2, "a second is not more than a second");
    put(&mut queue, 2_001, 1, 1);
    assert_eq!(heavy(&queue), 2);
}

#[test]
fn a_small_flow_overtakes_the_queue_of_heavy_hitters() {
    let mut queue = hhf(&Settings::new().with("admit_bytes", Value::Bytes(500)));
    put(&mut queue, 0, 1, 4);
    assert_eq!(heavy(&queue), 4);
    // No packet of the other flow is above the threshold.
    queue.enqueue(Instant::ZERO, of_flow(2, 100), &mut |_, _| ());
    assert_eq!(order(&mut queue), [2, 1, 1, 1, 1]);
}

#[test]
fn two_busy_queues_share_the_link_in_the_ratio_of_their_weights() {
    let settings = Settings::new()
        .with("admit_bytes", Value::Bytes(2_000))
        .with("non_hh_weight", Value::Integer(3))
        .with("quantum", Value::Bytes(1_000));
    let mut queue = hhf(&settings);
    put(&mut queue, 0, 0, 100);
    // Two packets of each flow are not above the threshold.
    for flow in 1..=100 {
        put(&mut queue, 0, flow, 1);
    }
    let first: Vec<u32> = order(&mut queue).into_iter().take(80).collect();
    let of_heavy = first.iter().filter(|flow| **flow == 0).count();
    assert!((18..=24).contains(&of_heavy), "{of_heavy} of 80: {first:?}");
}

#[test]
fn a_full_queue_drops_the_oldest_packet_of_the_heavy_hitters() {
    let settings = Settings::new().with("admit_bytes", Value::Bytes(2_000)).with("limit", Value::Packets(5));
    let mut queue = hhf(&settings);
    assert_eq!(put(&mut queue, 0, 1, 2), []);
    assert_eq!(put(&mut queue, 0, 2, 1), []);
    assert_eq!(put(&mut queue, 0, 1, 2), []);
    assert_eq!(put(&mut queue, 0, 3, 2), [1, 1]);
    // No heavy hitter has a packet left.
    assert_eq!(put(&mut queue, 0, 4, 1), [1]);
    assert_eq!(order(&mut queue), [1, 2, 3, 3, 4]);
    assert_eq!(queue.stats().dropped_after.packets, 3);
}

#[test]
fn a_full_table_admits_no_heavy_hitter() {
    let settings = Settings::new().with("admit_bytes", Value::Bytes(500)).with("hh_limit", Value::Integer(1));
    let mut queue = hhf(&settings);
    put(&mut queue, 0, 1, 1);
    put(&mut queue, 0, 2, 1);
    let Tally { refused, added, entries } = queue.filter.tally;
    assert_eq!((refused, added, entries, heavy(&queue)), (1, 1, 1, 1));
}

#[test]
fn a_packet_of_millions_of_quanta_takes_few_steps() {
    let settings = Settings::new().with("quantum", Value::Bytes(256)).with("admit_bytes", Value::Bytes(1));
    let mut queue = hhf(&settings);
    for flow in 0..3 {
        queue.enqueue(Instant::ZERO, of_flow(flow, u32::MAX), &mut |_, _| ());
    }
    // The counters of another flow wrap around with such a packet, so it may be in either queue.
    assert_eq!(order(&mut queue).len(), 3);
}

#[test]
fn what_the_evidence_foretells_happens() {
    let settings = Settings::new()
        .with("admit_bytes", Value::Bytes(3_000))
        .with("hh_limit", Value::Integer(2))
        .with("evict_timeout", Value::Time(Duration::from_millis(3)))
        .with("reset_timeout", Value::Time(Duration::from_millis(5)));
    let HhfConfig { thresholds, .. } = HhfConfig::from_settings(&settings, &Link::default()).unwrap();
    let mut filter = Filter::new(0);
    let mut seen = [0; 4];
    for step in 0..4_000_u32 {
        let now = u64::from(step / 6);
        // Flows whose entries share a list of the table.
        let hash = (step.wrapping_mul(0x9E37_79B9) >> 29) << 10 | 3;
        let foretold = filter.preview(now, hash, 1000, &thresholds);
        assert_eq!(filter.classify(now, hash, 1000, &thresholds), foretold, "step {step}");
        let kind = match foretold {
            Finding::Known => 0,
            Finding::Added { .. } => 1,
            Finding::Refused { .. } => 2,
            Finding::Small { .. } => 3,
        };
        seen[kind] += 1;
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}
