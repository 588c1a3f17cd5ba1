//! H41 to H47: load and attack.

use goodqueue::registry::KINDS;
use goodqueue::{Duration, Ecn, Instant, Qdisc, Settings, config::Value};
use goodqueue_testkit::edge::accepted;
use goodqueue_testkit::operation::TestPacket;

use crate::story::{Story, ms, roomy};
use crate::time::{balanced, bare, packet};

fn of_flow(id: u64, flow: u32, len: u32) -> TestPacket {
    TestPacket { flow, ..packet(id, len) }
}

// H41
#[test]
fn a_tenfold_overload_of_a_thousand_flows_is_only_lost_packets() {
    for kind in KINDS {
        let mut queue = bare(goodqueue_testkit::edge::default_config(kind));
        let mut now = Instant::ZERO;
        let mut dropped = 0;
        let mut most_in_one_call = 0;
        let arrivals: u64 = 20_000;
        for number in 0..arrivals {
            let flow = u32::try_from(number % 1_024).unwrap_or(0);
            let before = dropped;
            queue.enqueue(now, of_flow(number, flow, 1514), &mut |_, _| dropped += 1);
            most_in_one_call = most_in_one_call.max(dropped - before);
            // A tenth of the time that 1514 bytes take at 10 Mbit/s.
            now += Duration::from_nanos(121_120);
            if number % 10 == 0 {
                let _ = queue.dequeue(now, &mut |_, _| dropped += 1);
            }
        }
        balanced(kind.name, &queue, arrivals, dropped);
        // RFC 8290 §4.1 allows batches of 64; nobody needs more to make room for one.
        assert!(most_in_one_call <= 65, "{}: {most_in_one_call} drops for one arrival", kind.name);
    }
}

// H42
#[test]
fn a_flood_of_flows_of_one_packet_does_not_starve_an_old_flow() {
    for kind in KINDS {
        let mut queue = bare(roomy(kind));
        let mut now = Instant::ZERO;
        for number in 0..50 {
            queue.enqueue(now, of_flow(number, 0, 1514), &mut |_, _| ());
        }
        let mut served = 0;
        let mut lost = 0;
        for number in 0..8_000 {
            let flow = 1 + u32::try_from(number).unwrap_or(0);
            let mut drops = |packet: TestPacket, _| lost += u32::from(packet.flow == 0);
            queue.enqueue(now, of_flow(50 + number, flow, 1514), &mut drops);
            now += Duration::from_nanos(1_211);
            if let Some(event) = queue.next_event(now) {
                now = now.max(event);
            }
            served += u32::from(queue.dequeue(now, &mut drops).is_some_and(|packet| packet.flow == 0));
        }
        assert!(served + lost > 0, "{}: 8,000 others were served first", kind.name);
    }
}

// H43
#[test]
fn all_flows_in_one_bucket_are_one_flow_and_nothing_worse() {
    for kind in KINDS {
        let mut story = Story::with_defaults(kind);
        for number in 0..300_u32 {
            story.offers(7, 1514);
            if number % 3 == 0 {
                story.waits(ms(4));
                story.sends();
            }
        }
        story.empties();
    }
}

// H44
#[test]
fn the_fattest_flow_is_the_one_with_the_most_bytes_not_the_most_packets() {
    let mut told = 0;
    for kind in KINDS.iter().filter(|kind| kind.parameters.iter().any(|p| p.name == "drop_batch")) {
        let settings =
            Settings::new().with("limit", Value::Packets(1_000)).with("drop_batch", Value::Integer(1));
        let Some(config) = accepted(kind, &settings) else { continue };
        told += 1;
        let mut queue = bare(config);
        let mut victims = [0_u32; 2];
        let mut offer = |number: u64, flow: u32, len: u32| {
            queue.enqueue(Instant::ZERO, of_flow(number, flow, len), &mut |packet: TestPacket, _| {
                victims[packet.flow as usize] += 1;
            });
        };
        for number in 0..950 {
            offer(number, 0, 1);
        }
        for number in 950..1_100 {
            offer(number, 1, 1514);
        }
        // 950 small packets and 50 large ones fill the limit. Each of the other 100 costs one
        // packet of the flow with more bytes.
        assert_eq!(victims, [0, 100], "{}", kind.name);
    }
    assert!(told > 0);
}

// H45 H46
#[test]
fn flows_just_below_a_quantum_and_flows_in_turns_leave_room_for_a_bulk_flow() {
    for kind in KINDS.iter().filter(|kind| kind.parameters.iter().any(|p| p.name == "quantum")) {
        for sparse in [2_u32, 40] {
            let mut queue = bare(roomy(kind));
            let mut now = Instant::ZERO;
            let mut number = 0;
            let mut bulk = 0;
            let mut drops = 0;
            for _ in 0..60 {
                queue.enqueue(now, of_flow(number, 0, 1514), &mut |_, _| drops += 1);
                number += 1;
            }
            for round in 0..40 {
                // Each of the others comes with a little less than it may send in a round, and
                // empties again.
                for flow in 1..=sparse {
                    queue.enqueue(now, of_flow(number, flow, 1_400 + round), &mut |_, _| drops += 1);
                    number += 1;
                }
                for _ in 0..=sparse {
                    now += Duration::from_nanos(1_211_200);
                    let sent = queue.dequeue(now, &mut |_, _| drops += 1);
                    bulk += u32::from(sent.is_some_and(|packet| packet.flow == 0));
                }
            }
            assert!(bulk >= 20, "{}: a bulk flow sent {bulk} packets beside {sparse} others", kind.name);
        }
    }
}

// H47
#[test]
fn marks_alone_do_not_stop_a_flood_of_ecn_capable_packets_so_packets_are_dropped() {
    for kind in KINDS {
        let mut queue = bare(goodqueue_testkit::edge::default_config(kind));
        let mut now = Instant::ZERO;
        let mut dropped = 0;
        for number in 0..40_000 {
            let packet = TestPacket { ecn: Ecn::Ect0, came_with: Ecn::Ect0, ..of_flow(number, 7, 1514) };
            queue.enqueue(now, packet, &mut |_, _| dropped += 1);
            // A tenth of the time that 1514 bytes take at 10 Mbit/s.
            now += Duration::from_nanos(121_120);
            if number % 10 == 0 {
                let _ = queue.dequeue(now, &mut |_, _| dropped += 1);
            }
        }
        assert!(dropped > 10_000, "{}: {dropped} dropped, {} queued", kind.name, queue.len());
        balanced(kind.name, &queue, 40_000, dropped);
    }
}
