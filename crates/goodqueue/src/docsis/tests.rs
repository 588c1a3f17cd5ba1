//! Stories of RFC 9957 and RFC 8034 in simulated time.

use alloc::vec::Vec;

use super::*;
use crate::config::{Configure, Link, Settings, Value};
use crate::packet::story::Datagram;
use crate::random::Xoshiro256PlusPlus;
use crate::time::Rate;

type Queue = Docsis<Datagram, Xoshiro256PlusPlus>;

/// A queue in front of a link of 40 Mbit/s, which sends 1500 bytes in 0.3 ms.
fn docsis(settings: &Settings) -> Queue {
    let link = Link { rate: Rate::from_bps(40_000_000), ..Link::default() };
    let config = DocsisConfig::from_settings(settings, &link).expect("valid");
    Docsis::new(config, 0, Xoshiro256PlusPlus::new(1))
}

fn micros(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

fn packet(flow: u32, ecn: Ecn) -> Datagram {
    Datagram::new(1500, ecn).of_flow(flow)
}

/// Sends packets of flow 1 at `percent` of the rate of the link, and one packet of flow 2 each 20
/// ms, all for the low-latency queue, for a second. Returns how many packets of each were moved.
fn moved(settings: &Settings, percent: u64) -> (u64, u64) {
    let mut queue = docsis(settings);
    let mut moved = (0, 0);
    let mut due = 0;
    for step in 0..10_000_u64 {
        let now = micros(step * 100);
        if step % 200 == 0 {
            let before = queue.sanctioned().packets;
            queue.enqueue(now, packet(2, Ecn::Ect1), &mut |_, _| ());
            moved.1 += queue.sanctioned().packets - before;
        }
        while due <= step * 100 * percent {
            let before = queue.sanctioned().packets;
            queue.enqueue(now, packet(1, Ecn::Ect1), &mut |_, _| ());
            moved.0 += queue.sanctioned().packets - before;
            // 300 us of the link for each packet at 100 percent.
            due += 300 * 100;
        }
        if step % 3 == 0 {
            queue.dequeue(now, &mut |_, _| ());
        }
    }
    moved
}

#[test]
fn a_flow_that_builds_the_queue_is_moved_and_a_sparse_flow_is_not() {
    let (bulk, sparse) = moved(&Settings::new(), 150);
    // The flow sends 5000 packets and the link could send 3333.
    assert!(bulk > 1_000 && sparse == 0, "{bulk} {sparse}");
}

#[test]
fn a_flow_below_the_rate_of_the_link_is_never_moved() {
    assert_eq!(moved(&Settings::new(), 90), (0, 0));
}

#[test]
fn nothing_is_moved_without_queue_protection() {
    assert_eq!(moved(&Settings::new().with("qprotect", Value::Flag(false)), 150), (0, 0));
}

#[test]
fn moved_packets_are_counted_in_packets_and_bytes_and_sent_by_the_classic_queue() {
    let mut queue = docsis(&Settings::new());
    for _ in 0..40 {
        queue.enqueue(Instant::ZERO, packet(1, Ecn::Ect1), &mut |_, _| ());
    }
    let Count { packets, bytes } = queue.sanctioned();
    // Four packets stay in L. With the fifth, L takes 1.5 ms, which is above the end of the ramp at
    // 1.32 ms, and the score is 6 ms.
    assert!(packets > 10 && bytes == packets * 1500, "{packets} {bytes}");
    assert_eq!(queue.classic.len() as u64, packets);
    let mut seen = Observation::default();
    queue.observe(Instant::ZERO, &mut seen);
    assert!(seen.gauges.contains(&("sanctioned", Gauge::Number(packets))));
    assert!(seen.gauges.contains(&("sanctioned-bytes", Gauge::Number(bytes))));
}

#[test]
fn a_score_ages_by_a_second_per_second() {
    let config = docsis(&Settings::new()).config;
    let mut protection = Protection::new();
    // A packet with a certain mark raises the score by 1500 / 2^19 s of 2^30 ns.
    let arriving = Arriving { flow: 7, bytes: 1500, delay: 0, native: 1 << 19 };
    let growth = 1500 * 2_048;
    assert_eq!(protection.score_with(&config, micros(0), arriving), growth);
    assert!(!protection.sanctions(&config, micros(0), arriving));
    assert_eq!(protection.score_with(&config, micros(1_000), arriving), 2 * growth - 1_000_000);
    assert_eq!(protection.score_with(&config, micros(9_000), arriving), growth, "it has expired");
}

#[test]
fn a_longer_queue_sanctions_flows_with_a_lower_score() {
    let config = docsis(&Settings::new()).config;
    let delay = config.critical_delay.as_nanos();
    let score = config.critical_score.as_nanos();
    assert!(!protection::is_critical(&config, delay, 2 * score), "the delay is not above the threshold");
    assert!(protection::is_critical(&config, 2 * delay, score / 2 + 1));
    assert!(!protection::is_critical(&config, 2 * delay, score / 2));
}

#[test]
fn a_flow_without_a_bucket_of_its_own_shares_the_last_one() {
    let config = docsis(&Settings::new()).config;
    let mut protection = Protection::new();
    let of = |flow| Arriving { flow, bytes: 1500, delay: 0, native: 1 << 19 };
    // All have the same ten bits at the end: buckets 1 and 0, and then the shared one.
    let flows = [1, 1 | 1 << 10, 1 | 2 << 10, 1 | 3 << 10];
    for flow in flows {
        protection.sanctions(&config, micros(0), of(flow));
    }
    let scores = flows.map(|flow| protection.score_with(&config, micros(0), of(flow)) / (1500 * 2_048));
    // Each flow has sent one packet and the question adds one; two flows share the last bucket.
    assert_eq!(scores, [2, 2, 3, 3]);
}

#[test]
fn marks_begin_where_the_link_takes_longer_for_two_frames_and_end_half_a_millisecond_later() {
    let ramp = |bps| {
        let link = Link { rate: Rate::from_bps(bps), ..Link::default() };
        DocsisConfig::from_settings(&Settings::new(), &link).expect("valid").ramp
    };
    // RFC 9957 §4.1: MINTH = MAXTH - RANGE on fast links.
    assert_eq!(ramp(1_000_000_000).start, 1_000_000 - 524_288);
    // FLOOR: 4000 bytes at 10 Mbit/s.
    assert_eq!(ramp(10_000_000).start, 3_200_000);
    assert_eq!(ramp(10_000_000).end(), Duration::from_nanos(3_200_000 + 524_288));
    assert_eq!(ramp(10_000_000).native(3_200_000 + 262_144), 262_144);
}

#[test]
fn marks_are_spread_evenly() {
    let mut queue = docsis(&Settings::new());
    let mut marks = Vec::new();
    for number in 0..9 {
        let mut arriving = packet(1, Ecn::Ect1);
        // Half of the ramp.
        queue.mark(&mut arriving, 1 << 18);
        if arriving.ecn == Ecn::Ce {
            marks.push(number);
        }
    }
    // Two halves are 1, and a mark needs more.
    assert_eq!(marks, [2, 4, 6, 8]);
}

#[test]
fn l_marks_with_twice_the_root_of_the_drop_probability_of_c() {
    let mut queue = docsis(&Settings::new());
    queue.aqm.probability = ONE / 100;
    let probability = queue.mark_probability(&queue.aqm, 0) as f64 / CERTAIN as f64;
    assert!((probability - 0.2).abs() < 1e-12, "{probability}");
    queue.aqm.probability = ONE;
    assert_eq!(queue.mark_probability(&queue.aqm, 0), CERTAIN);
}

#[test]
fn l_gets_230_of_256_bytes_while_both_queues_are_busy() {
    let settings = Settings::new()
        .with("classic_limit", Value::Bytes(10_000_000))
        .with("ll_limit", Value::Bytes(10_000_000))
        .with("qprotect", Value::Flag(false));
    let mut queue = docsis(&settings);
    for _ in 0..2_000 {
        queue.enqueue(Instant::ZERO, packet(1, Ecn::Ect1), &mut |_, _| ());
        queue.enqueue(Instant::ZERO, packet(2, Ecn::NotEct), &mut |_, _| ());
    }
    let sent = (0..2_000).filter_map(|_| queue.dequeue(Instant::ZERO, &mut |_, _| ()));
    let classic = sent.filter(|sent| sent.flow == 2).count();
    // 26 of 256 packets make 203 of 2000.
    assert!((190..=204).contains(&classic), "{classic}");
}

#[test]
fn ect1_and_ce_go_to_l_and_the_rest_to_c() {
    let mut queue = docsis(&Settings::new());
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        queue.enqueue(Instant::ZERO, packet(1, ecn), &mut |_, _| ());
    }
    assert_eq!((queue.classic.len(), queue.low_latency.len()), (2, 2));
}

#[test]
fn the_first_drop_of_a_burst_is_followed_by_142_ms_without_drops() {
    let mut queue = docsis(&Settings::new());
    let mut drops = Vec::new();
    for step in 0..20_000_u64 {
        let now = micros(step * 100);
        if step % 2 == 0 {
            queue.enqueue(now, packet(1, Ecn::NotEct), &mut |_, why| drops.push((step / 10, why)));
        }
        if step % 3 == 0 {
            queue.dequeue(now, &mut |_, _| ());
        }
    }
    let congested: Vec<u64> =
        drops.iter().filter(|(_, why)| *why == DropReason::Congested).map(|(millis, _)| *millis).collect();
    // The ninth update of 16 ms ends the 142 ms; it is at least eight periods after the drop.
    assert!(congested[1] - congested[0] >= 128, "{:?}", &congested[..3]);
    assert!(congested.len() > 20);
}
