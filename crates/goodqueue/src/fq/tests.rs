//! Stories of `fq` in simulated time.

use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::config::{Configure, Link, Settings, Value};
use crate::packet::story::Datagram;

fn fq(settings: &Settings) -> Fq<Datagram> {
    Fq::new(FqConfig::from_settings(settings, &Link::default()).expect("valid"), 1)
}

fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

fn packet(flow: u32) -> Datagram {
    Datagram::new(1514, Ecn::Ect0).of_flow(flow)
}

/// Enqueues packets at 0 and returns the reasons of drops.
fn put(queue: &mut Fq<Datagram>, packets: impl IntoIterator<Item = Datagram>) -> Vec<DropReason> {
    let mut reasons = Vec::new();
    for packet in packets {
        queue.enqueue(Instant::ZERO, packet, &mut |_, why| reasons.push(why));
    }
    reasons
}

/// Flows in the order in which they send at `now`.
fn order(queue: &mut Fq<Datagram>, now: Instant) -> Vec<u32> {
    core::iter::from_fn(|| queue.dequeue(now, &mut |_, _| ())).map(|packet| packet.flow).collect()
}

#[test]
fn flows_alternate_by_quanta_after_their_initial_quantum() {
    // The fast path takes the first eight.
    let settings = Settings::new().with("initial_quantum", Value::Bytes(3028));
    let mut queue = fq(&settings);
    put(&mut queue, (0..8).map(|_| packet(9)));
    put(&mut queue, (0..8).map(|n| packet(n / 4)));
    let sent = order(&mut queue, us(1));
    assert_eq!(sent[..8], [9; 8]);
    assert_eq!(sent[8..], [0, 0, 1, 1, 0, 0, 1, 1]);
}

#[test]
fn a_new_flow_has_its_initial_quantum_however_late_it_comes() {
    let settings = Settings::new()
        .with("initial_quantum", Value::Bytes(1514))
        .with("quantum", Value::Bytes(3028))
        .with("maxrate", Value::Rate(Rate::from_bps(1_000_000_000)));
    let mut queue = fq(&settings);
    let later = us(100_000);
    for flow in [0, 0, 1] {
        queue.enqueue(later, packet(flow), &mut |_, _| ());
    }
    let hash = queue.hash_of(&packet(0));
    let number = queue.flows.known(hash).expect("it has packets");
    assert_eq!(queue.flows.flow(number).map(|flow| flow.credit), Some(1514));
}

#[test]
fn an_idle_queue_sends_past_the_flows() {
    let mut queue = fq(&Settings::new());
    for at in 0..100 {
        queue.enqueue(us(at), packet(3), &mut |_, _| ());
        assert!(queue.dequeue(us(at), &mut |_, _| ()).is_some());
    }
    assert_eq!((queue.tally.fast_path, queue.flows.count()), (100, 0));
}

#[test]
fn a_packet_planned_within_the_offload_horizon_takes_the_fast_path() {
    let horizon = Settings::new().with("offload_horizon", Value::Time(Duration::from_millis(1)));
    for (planned, taken) in [(500, 1), (1_000, 1), (1_001, 0)] {
        let mut queue = fq(&horizon);
        put(&mut queue, [packet(0).not_before(us(planned))]);
        assert_eq!((queue.tally.fast_path, u64::from(queue.flows.count())), (taken, 1 - taken), "{planned}");
    }
}

#[test]
fn a_packet_planned_earlier_than_the_one_that_its_flow_waits_with_hastens_the_flow() {
    let mut queue = fq(&Settings::new());
    put(&mut queue, [packet(0).not_before(us(900))]);
    assert_eq!(order(&mut queue, us(1)), []);
    assert_eq!(queue.next_event(us(1)), Some(us(900 + 10)), "with the slack of the timer");
    put(&mut queue, [packet(0).not_before(us(300))]);
    assert_eq!(order(&mut queue, us(299)), []);
    assert_eq!(queue.next_event(us(299)), Some(us(300 + 10)));
    assert_eq!(order(&mut queue, us(300)), [0]);
    assert_eq!((order(&mut queue, us(899)), order(&mut queue, us(900))), (vec![], vec![0]));
    // A packet that may leave at once ends the wait at once. Flow 1 keeps the fast path closed.
    put(&mut queue, [packet(0).not_before(us(5_000))]);
    assert_eq!(order(&mut queue, us(1_000)), []);
    queue.enqueue(us(1_000), packet(1).not_before(us(1_500)), &mut |_, _| ());
    queue.enqueue(us(1_000), packet(0).not_before(us(1_000)), &mut |_, _| ());
    assert_eq!(order(&mut queue, us(1_000)), [0]);
    assert_eq!(order(&mut queue, us(1_500)), [1]);
    assert_eq!(order(&mut queue, us(5_000)), [0]);
}

#[test]
fn bands_share_the_link_by_weight() {
    let settings = Settings::new().with("weights", Value::Integer(60_000));
    let settings = settings.with("weights.second", Value::Integer(30_000));
    let mut queue = fq(&settings.with("weights.third", Value::Integer(30_000)));
    put(&mut queue, (0..8).map(|_| packet(9)));
    // Priorities 6, 0 and 1 go to the bands 0, 1 and 2.
    let of_band = |(flow, class)| vec![packet(flow).of_class(class); 100];
    let lost = put(&mut queue, [(0, 6), (1, 0), (2, 1)].into_iter().flat_map(of_band));
    assert_eq!(lost, []);
    // A new flow sends its initial quantum of ten packets as one of the first band.
    let sent: Vec<u32> = order(&mut queue, us(1)).into_iter().skip(8).collect();
    let count = |sent: &[u32], flow| sent.iter().filter(|sender| **sender == flow).count();
    assert_eq!([0, 1, 2].map(|flow| count(&sent[..30], flow)), [10; 3]);
    let shares = [0, 1, 2].map(|flow| count(&sent[30..150], flow));
    // The weights are 2 : 1 : 1, and 120 packets are counted.
    let expected = [60_usize, 30, 30];
    assert!(shares.iter().zip(expected).all(|(got, wanted)| got.abs_diff(wanted) <= 12), "{shares:?}");
}

#[test]
fn bands_and_flows_have_limits() {
    let settings = Settings::new().with("limit", Value::Packets(3)).with("flow_limit", Value::Packets(2));
    let mut queue = fq(&settings);
    put(&mut queue, (0..8).map(|_| packet(9)));
    let lost = put(&mut queue, [packet(0), packet(0), packet(0), packet(1), packet(2)]);
    assert_eq!(lost, [DropReason::FlowLimit, DropReason::BandLimit]);
    assert_eq!(put(&mut queue, [packet(2).of_class(1)]), [], "another band");
}

#[test]
fn a_flow_keeps_its_maxrate_and_the_queue_says_when_it_goes_on() {
    // 1514 bytes take 6.056 ms at 2 Mbit/s.
    let rate = || Settings::new().with("maxrate", Value::Rate(Rate::from_bps(2_000_000)));
    let mut queue =
        fq(&rate().with("initial_quantum", Value::Bytes(1514)).with("quantum", Value::Bytes(1514)));
    put(&mut queue, (0..3).map(|_| packet(0)));
    let mut sent = Vec::new();
    let mut now = Instant::ZERO;
    while queue.len() > 0 {
        if queue.dequeue(now, &mut |_, _| ()).is_some() {
            sent.push(now.as_nanos() / 1_000);
        } else {
            now = queue.next_event(now).expect("a flow waits");
        }
    }
    // The timer is late by 10 us, which the next gap makes good for.
    assert_eq!(sent, [0, 6_066, 12_122]);
    let mut free = fq(&rate().with("pacing", Value::Flag(false)));
    put(&mut free, (0..3).map(|_| packet(0)));
    assert_eq!(order(&mut free, Instant::ZERO).len(), 3);
}

#[test]
fn a_packet_departs_no_earlier_than_its_sender_asked() {
    let mut queue = fq(&Settings::new());
    put(&mut queue, [packet(0).not_before(us(5_000)), packet(1).not_before(us(3_000)), packet(2)]);
    assert_eq!(order(&mut queue, Instant::ZERO), [2]);
    assert_eq!(queue.next_event(Instant::ZERO), Some(us(3_010)), "10 us of slack");
    assert_eq!(order(&mut queue, us(2_999)), []);
    assert_eq!(order(&mut queue, us(3_000)), [1], "whoever asks in the meantime gets it");
    assert_eq!(order(&mut queue, us(5_010)), [0]);
}

#[test]
fn a_packet_planned_earlier_overtakes_those_of_its_flow() {
    let mut queue = fq(&Settings::new());
    let at = |id, micros| packet(0).numbered(id).not_before(us(micros));
    put(&mut queue, [at(0, 900), at(1, 300), at(2, 600), at(3, 300), at(4, 900)]);
    let sent: Vec<u64> =
        core::iter::from_fn(|| queue.dequeue(us(1_000), &mut |_, _| ())).map(|p| p.id).collect();
    assert_eq!(sent, [1, 3, 2, 0, 4]);
}

#[test]
fn a_departure_beyond_the_horizon_is_dropped_or_capped() {
    let horizon = Settings::new().with("horizon", Value::Time(Duration::from_millis(1)));
    let late = [packet(0).not_before(us(1_000)), packet(0).not_before(us(1_001))];
    assert_eq!(put(&mut fq(&horizon), late), [DropReason::Horizon]);
    let mut caps = fq(&horizon.with("horizon_cap", Value::Flag(true)));
    assert_eq!(put(&mut caps, late), []);
    assert_eq!(order(&mut caps, us(1_000)), [0, 0]);
}

#[test]
fn a_late_departure_is_marked() {
    let threshold = Settings::new().with("ce_threshold", Value::Time(Duration::from_millis(1)));
    let mut queue = fq(&threshold);
    put(&mut queue, (0..8).map(|_| packet(9)));
    put(&mut queue, [packet(0), packet(0)]);
    order(&mut queue, us(0));
    put(&mut queue, (0..8).map(|_| packet(9)));
    put(&mut queue, [packet(0), packet(0)]);
    let ecn: Vec<Ecn> =
        core::iter::from_fn(|| queue.dequeue(us(1_001), &mut |_, _| ())).map(|p| p.ecn).collect();
    assert_eq!(ecn[..8], [Ecn::Ect0; 8], "the fast path marks nothing");
    assert_eq!(ecn[8..], [Ecn::Ce; 2]);
}

#[test]
fn a_flow_whose_hash_stays_the_same_outlives_a_change_of_the_mask() {
    let masked = |mask| Settings::new().with("orphan_mask", Value::Integer(mask));
    let mut queue = fq(&masked(1023));
    let is_the_same = |flow: &u32| queue.hash_of(&packet(*flow)) == packet(*flow).flow_hash(1) & 2047;
    let same = (0..100).find(is_the_same).expect("half of all flows");
    let other = (0..100).find(|flow| !is_the_same(flow)).expect("half of all flows");
    let late = |flow| packet(flow).not_before(us(9_000));
    put(&mut queue, [late(same), late(other)]);
    let change = |queue: &mut Fq<Datagram>, mask| {
        let config = FqConfig::from_settings(&masked(mask), &Link::default()).expect("valid");
        queue.reconfigure(Instant::ZERO, config, &mut |_, _| ());
    };
    change(&mut queue, 2047);
    put(&mut queue, [late(same), late(other)]);
    assert_eq!(queue.flows.count(), 3);
    // With the first mask, packets of the other flow find its first queue again.
    change(&mut queue, 1023);
    put(&mut queue, [late(same), late(other)]);
    assert_eq!(queue.flows.count(), 3);
}

#[test]
fn a_purged_queue_starts_anew() {
    let mut queue = fq(&Settings::new());
    put(&mut queue, (0..12).map(packet));
    put(&mut queue, [packet(50).not_before(us(9_000))]);
    let mut purged = 0;
    queue.purge(us(1), &mut |_, why| purged += u32::from(why == DropReason::Purged));
    assert_eq!((purged, queue.len(), queue.backlog(), queue.next_event(us(1))), (13, 0, 0, None));
    put(&mut queue, (0..12).map(packet));
    assert_eq!(order(&mut queue, us(2)).len(), 12);
}
