//! Stories of sparse flows, of bulk flows and of flows that do not respond.

use alloc::vec::Vec;

use super::*;
use crate::config::Value;
use crate::packet::story::Datagram;
use crate::random::Xoshiro256PlusPlus;

type Queue = CnqCodelAf<Datagram, Xoshiro256PlusPlus>;

fn cnq(settings: &Settings) -> Queue {
    let config = CnqCodelAfConfig::from_settings(settings, &Link::default()).unwrap();
    CnqCodelAf::new(config, 1, Xoshiro256PlusPlus::new(1))
}

const fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1_000)
}

fn put(queue: &mut Queue, micros: u64, flow: u32, ecn: Ecn, packets: u32) {
    for _ in 0..packets {
        queue.enqueue(at(micros), Datagram::new(1000, ecn).of_flow(flow), &mut |_, _| ());
    }
}

fn order(queue: &mut Queue) -> Vec<u32> {
    let next = || queue.dequeue(Instant::ZERO, &mut |_, _| ()).map(|packet| packet.flow);
    core::iter::from_fn(next).collect()
}

fn count(queue: &Queue, flow: u32) -> u32 {
    let number = queue.flow_of(&Datagram::new(1, Ecn::NotEct).of_flow(flow));
    queue.flows.known(number).map_or(0, |state| state.vars.count)
}

#[test]
fn the_first_packet_of_a_flow_overtakes_a_bulk_queue() {
    let mut queue = cnq(&Settings::new());
    put(&mut queue, 0, 1, Ecn::NotEct, 4);
    put(&mut queue, 0, 2, Ecn::NotEct, 2);
    assert_eq!((queue.sparse.len(), queue.dummies, queue.flows.active), (2, 2, 2));
    assert_eq!(order(&mut queue), [1, 2, 1, 1, 1, 2]);
    assert_eq!((queue.dummies, queue.flows.active), (0, 0));
}

#[test]
fn a_flow_is_sparse_again_only_after_its_dummy_left_the_bulk_queue() {
    let mut queue = cnq(&Settings::new());
    put(&mut queue, 0, 1, Ecn::NotEct, 3);
    put(&mut queue, 0, 2, Ecn::NotEct, 1);
    let next = |queue: &mut Queue| queue.dequeue(at(1), &mut |_, _| ()).map(|packet| packet.flow);
    assert_eq!([next(&mut queue), next(&mut queue)], [Some(1), Some(2)]);
    // Its dummy is behind two packets of flow 1.
    put(&mut queue, 1, 2, Ecn::NotEct, 1);
    assert_eq!(queue.sparse.len(), 0);
    assert_eq!([next(&mut queue), next(&mut queue), next(&mut queue)], [Some(1), Some(1), Some(2)]);
    put(&mut queue, 1, 2, Ecn::NotEct, 1);
    assert_eq!(queue.sparse.len(), 1);
}

#[test]
fn a_dummy_stays_in_an_otherwise_empty_queue() {
    let mut queue = cnq(&Settings::new());
    put(&mut queue, 0, 1, Ecn::NotEct, 1);
    assert_eq!(order(&mut queue), [1]);
    assert_eq!((queue.len(), queue.dummies), (0, 1));
    assert!(queue.dequeue(at(1), &mut |_, _| ()).is_none());
    // So every second packet of a lone flow is no sparse one.
    put(&mut queue, 2, 1, Ecn::NotEct, 1);
    assert_eq!((queue.sparse.len(), queue.bulk.len()), (0, 2));
    assert_eq!(order(&mut queue), [1]);
    assert_eq!((queue.dummies, queue.flows.active), (0, 0));
}

/// Two flows, of which the first has `share` packets for each of the other one, in a queue that
/// does not empty and is late from the beginning. Returns the signals that each got in 0.5 s.
fn signals(share: u32, sojourn: u64) -> [u64; 2] {
    let mut queue = cnq(&Settings::new());
    let mut marks = [0; 2];
    // A packet leaves every 100 us, and one comes; it finds as many as pass during the sojourn.
    let waiting = u32::try_from(sojourn / 100).unwrap();
    let mut arrivals = (0_u32..).map(|number| u32::from(number % (share + 1) == share));
    let mut offer = |queue: &mut Queue, time: u64, packets: u32| {
        for flow in arrivals.by_ref().take(packets as usize) {
            put(queue, time, flow, Ecn::Ect0, 1);
        }
    };
    offer(&mut queue, 0, waiting);
    for step in 0..5_000 {
        let time = sojourn + step * 100;
        let sent = queue.dequeue(at(time), &mut |_, _| ()).expect("it is never empty");
        if step >= u64::from(waiting) {
            marks[sent.flow as usize] += u64::from(sent.ecn == Ecn::Ce);
        }
        offer(&mut queue, time, 1);
    }
    marks
}

#[test]
fn flows_with_equal_shares_get_equally_many_signals_above_the_target_and_none_below() {
    let [first, second] = signals(1, 8_000);
    assert!(first > 3 && first.abs_diff(second) <= 1, "{first} and {second}");
    assert_eq!(signals(1, 4_000), [0, 0]);
}

#[test]
fn a_flow_with_more_than_its_share_is_signalled_although_the_queue_is_below_the_target() {
    // 4 ms times 3/4 times two flows are 6 ms, times 1/4 times two flows 2 ms.
    let [large, small] = signals(3, 4_000);
    assert!(large > 3, "{large}");
    assert_eq!(small, 0);
}

#[test]
fn a_flow_with_less_than_its_share_is_not_signalled_although_the_queue_is_above_the_target() {
    // 8 ms times 1/4 times two flows are 4 ms.
    let [large, small] = signals(3, 8_000);
    assert!(large > 3, "{large}");
    assert_eq!(small, 0);
}

#[test]
fn a_flow_alone_is_signalled_as_by_codel() {
    let mut queue = cnq(&Settings::new());
    put(&mut queue, 0, 1, Ecn::Ect0, 10_000);
    let mut marks = Vec::new();
    for step in 0..3_300 {
        let sent = queue.dequeue(at(10_000 + step * 100), &mut |_, _| ()).unwrap();
        if sent.ecn == Ecn::Ce {
            marks.push(step);
        }
    }
    // The first packet is sparse, and the second is the first one that is late. From the third on
    // the distances are 100/sqrt(2), 100/sqrt(3), 50, 44.7 ms and so on.
    assert_eq!(marks, [2, 708, 1_286, 1_786, 2_233, 2_641, 3_019]);
}

#[test]
fn the_last_packet_of_a_flow_is_not_dropped() {
    let mut queue = cnq(&Settings::new());
    for id in 0..5 {
        queue.enqueue(at(0), Datagram::new(1000, Ecn::NotEct).of_flow(1).numbered(id), &mut |_, _| ());
    }
    let mut lost = Vec::new();
    let mut sent = Vec::new();
    for step in 0..4 {
        let drops = &mut |packet: Datagram, _| lost.push(packet.id);
        sent.extend(queue.dequeue(at(1_000_000 + step * 1_000_000), drops).map(|packet| packet.id));
    }
    // The first packet is sparse, and the second begins the phase. A signal is due for all others.
    assert_eq!(sent, [0, 1, 4]);
    assert_eq!(lost, [2, 3]);
}

#[test]
fn the_count_of_an_idle_flow_decays_when_its_turn_comes() {
    let mut queue = cnq(&Settings::new());
    put(&mut queue, 0, 1, Ecn::Ect0, 10_000);
    for step in 0..10_000 {
        queue.dequeue(at(10_000 + step * 100), &mut |_, _| ());
    }
    assert!(count(&queue, 1) > 10);
    // Each packet of another flow lets one of 65,536 flows decay.
    for step in 0..65_536 {
        put(&mut queue, 60_000_000 + step, 2, Ecn::Ect0, 1);
        queue.dequeue(at(60_000_000 + step), &mut |_, _| ());
    }
    assert_eq!(count(&queue, 1), 0);
}

#[test]
fn blue_drops_packets_of_a_flow_that_ignores_marks() {
    let settings = Settings::new().with("limit", Value::Packets(1_000_000));
    let mut queue = cnq(&settings);
    let mut lost = [0; 2];
    // Flow 1 sends twice what the link can carry; flow 2 a hundredth of it.
    for step in 0..20_000_u64 {
        put(&mut queue, step * 100, 0, Ecn::Ect0, 2);
        if step % 100 == 0 {
            put(&mut queue, step * 100, 1, Ecn::Ect0, 1);
        }
        queue.dequeue(at(step * 100), &mut |packet: Datagram, why| {
            assert_eq!(why, DropReason::Congested);
            lost[packet.flow as usize] += 1;
        });
    }
    assert!(lost[0] > 1_000, "{lost:?}");
    assert_eq!(lost[1], 0);
}

#[test]
fn a_full_queue_drops_the_packet_that_arrives() {
    let mut queue = cnq(&Settings::new().with("limit", Value::Packets(3)));
    put(&mut queue, 0, 1, Ecn::NotEct, 3);
    put(&mut queue, 0, 2, Ecn::NotEct, 1);
    assert_eq!((queue.stats().dropped_before.packets, queue.overflows), (1, 1));
    assert_eq!(order(&mut queue), [1, 1, 1]);
}

#[test]
fn few_flows_need_little_memory_and_a_purge_gives_it_back() {
    let mut queue = cnq(&Settings::new());
    assert_eq!(queue.flows.pages(), 0);
    put(&mut queue, 0, 1, Ecn::NotEct, 100);
    put(&mut queue, 0, 2, Ecn::NotEct, 100);
    assert!(queue.flows.pages() <= 2);
    queue.purge(at(1), &mut |_, _| ());
    assert_eq!((queue.len(), queue.flows.pages(), queue.dummies), (0, 0, 0));
    assert_eq!(queue.stats().dropped_after.packets, 200);
}
