//! H31 to H39: numbers that are too large, too small, or nothing.

use goodqueue::config::{Unit, Value};
use goodqueue::registry::KINDS;
use goodqueue::{Duration, Instant, Qdisc, Rate};
use goodqueue_testkit::edge::{accepted, only};

use crate::story::{Story, everywhere, ms, roomy, with_each};
use crate::time::{balanced, bare, packet};

// H31: drops at an overflow push CoDel's count by up to `drop_batch`; the law must recover from
// every jump.
#[test]
fn jumps_of_the_drop_count_by_1_3_64_and_a_million_leave_a_working_queue() {
    for jump in [1, 3, 64, 1_000_000] {
        for kind in KINDS {
            let Some(parameter) = kind.parameters.iter().find(|p| p.name == "drop_batch") else { continue };
            let settings = only(parameter, Value::Integer(jump)).with("limit", Value::Packets(2_000));
            let Some(config) = accepted(kind, &settings) else { continue };
            let mut story = Story::new(format!("{} drop_batch {jump}", kind.name), config);
            for _ in 0..5 {
                for _ in 0..60 {
                    story.offers(1, 1514);
                    story.waits(ms(4));
                    story.sends();
                }
                story.waits(ms(120));
                for _ in 0..2_100 / 5 {
                    story.offers(1, 1514);
                }
            }
            // Light load again: the law has nothing to do, whatever its count was.
            story.waits(Duration::from_secs(10));
            story.empties();
            let before = story.dropped();
            for _ in 0..50 {
                story.offers(1, 1514);
                story.sends();
                story.waits(ms(2));
            }
            assert_eq!(story.dropped(), before, "{} drops without a queue", story.name);
        }
    }
}

// H33
#[test]
fn a_backlog_beyond_4_gib_is_counted_right() {
    let mut told = 0;
    for kind in KINDS {
        let mut story = Story::roomy(kind);
        for flow in 0..20 {
            story.offers(flow % 4, u32::MAX);
            story.offers(flow % 4, 1 << 24);
        }
        told += u32::from(story.queue.qdisc().backlog() > 1 << 34);
        for _ in 0..50 {
            story.sends();
            story.waits(ms(20));
        }
        story.empties();
    }
    assert!(told > 2, "only {told} disciplines have room for 16 GiB");
}

// H34
#[test]
fn a_flow_of_empty_packets_does_not_keep_another_flow_waiting_for_ever() {
    let turns = KINDS.iter().filter(|kind| kind.parameters.iter().any(|p| p.name == "quantum"));
    // In `hhf` all flows that send little share a FIFO.
    for kind in turns.filter(|kind| kind.name != "hhf") {
        let mut queue = bare(roomy(kind));
        for number in 0..8_000 {
            let mut empty = packet(number, 0);
            empty.flow = 1;
            queue.enqueue(Instant::ZERO, empty, &mut |_, _| ());
        }
        let held = queue.len();
        let mut ordinary = packet(8_000, 1514);
        ordinary.flow = 2;
        queue.enqueue(Instant::ZERO, ordinary, &mut |_, _| ());
        let mut before = 0;
        while queue.dequeue(Instant::ZERO, &mut |_, _| ()).is_some_and(|sent| sent.len == 0) {
            before += 1;
        }
        // Charged one byte each, a quantum of empty packets goes first, and not one more.
        assert!(before <= 1_514.min(held), "{}: {before} empty packets first", kind.name);
    }
}

// H34 H35: with a quantum of one byte a packet of 4 GiB is four thousand million rounds away; who
// goes through them one by one does not finish this test in a lifetime.
#[test]
fn no_dequeue_goes_round_by_round_to_a_packet_of_many_quanta() {
    let mut told = 0;
    for kind in KINDS {
        let Some(quantum) = kind.parameters.iter().find(|p| p.name == "quantum") else { continue };
        let one = match quantum.unit {
            Unit::Bytes => Value::Bytes(1),
            _ => Value::Integer(1),
        };
        let Some(config) = accepted(kind, &only(quantum, one)) else { continue };
        told += 1;
        for len in [65_536, 262_144, u32::MAX] {
            let mut queue = bare(config.clone());
            let mut now = Instant::ZERO;
            let mut dropped = 0;
            let mut offered = 0;
            for number in 0..100_u32 {
                for len in [len, 1514, 0, len] {
                    let mut big = packet(offered, len);
                    big.flow = number;
                    queue.enqueue(now, big, &mut |_, _| dropped += 1);
                    offered += 1;
                }
            }
            for _ in 0..1_000 {
                let _ = queue.dequeue(now, &mut |_, _| dropped += 1);
                now += Duration::from_nanos(700);
                queue.enqueue(now, packet(offered, len), &mut |_, _| dropped += 1);
                offered += 1;
            }
            balanced(kind.name, &queue, offered, dropped);
        }
    }
    assert!(told > 2, "{told} disciplines have a quantum");
}

// H35
#[test]
fn the_largest_quantum_and_the_largest_packets_overflow_nothing() {
    let largest = [(1 << 31) - 1, 1 << 30, u64::from(u32::MAX)].map(Value::Bytes);
    let told = with_each("quantum", &largest, |_, case| {
        let mut story = Story::of(case);
        for flow in 0..40 {
            story.offers(flow % 4, u32::MAX);
            story.offers(flow % 4, 0);
            story.sends();
            story.waits(ms(1));
        }
        story.empties();
    });
    assert!(told > 2);
}

// H37
#[test]
fn a_loss_of_nothing_loses_nothing_and_a_loss_of_everything_everything() {
    let chance = |p| [Value::Probability(p)];
    for name in ["loss", "drop"] {
        with_each(name, &chance(0.0), |_, case| {
            let mut story = Story::of(case);
            for number in 0..500 {
                story.offers(number % 3, 1514);
                story.sends();
                story.waits(ms(2));
            }
            assert_eq!(story.dropped(), 0, "{}", case.name);
        });
        with_each(name, &chance(1.0), |_, case| {
            let mut story = Story::of(case);
            for number in 0..500 {
                story.offers(number % 3, 1514);
            }
            assert_eq!((story.len(), story.dropped()), (0, 500), "{}", case.name);
        });
    }
}

// H36 H37 H38: averages and probabilities, for as long as a probability can accumulate.
#[test]
fn a_probability_held_at_its_end_for_long_does_not_overflow() {
    for kind in KINDS {
        let mut queue = bare(roomy(kind));
        let mut now = Instant::ZERO;
        let mut dropped = 0;
        let mut offered = 0;
        for round in 0..10_000_u64 {
            for _ in 0..3 {
                queue.enqueue(now, packet(offered, 1514), &mut |_, _| dropped += 1);
                offered += 1;
            }
            now += ms(1);
            // Full for long, then empty for long, twice.
            let sends = if round / 2_500 % 2 == 0 { 1 } else { 200 };
            for _ in 0..sends {
                if queue.dequeue(now, &mut |_, _| dropped += 1).is_none() {
                    break;
                }
            }
        }
        balanced(kind.name, &queue, offered, dropped);
    }
}

// H39
#[test]
fn statistics_never_go_back() {
    everywhere(|_, case| {
        let mut story = Story::of(case);
        let mut before = story.queue.qdisc().stats();
        for round in 0..60_u32 {
            story.offers_ect(round % 4, 1514);
            story.waits(ms(3));
            match round % 20 {
                19 => drop(story.purges()),
                13 => drop(story.becomes(&case.config)),
                _ if round % 2 == 0 => drop(story.sends()),
                _ => {}
            }
            let after = story.queue.qdisc().stats();
            let pairs = [
                (before.offered, after.offered),
                (before.enqueued, after.enqueued),
                (before.dequeued, after.dequeued),
                (before.dropped_before, after.dropped_before),
                (before.dropped_after, after.dropped_after),
                (before.marked, after.marked),
            ];
            for (old, new) in pairs {
                assert!(old.packets <= new.packets && old.bytes <= new.bytes, "{}", case.name);
            }
            before = after;
        }
    });
}

// H14 H29: no rate loses its remainder for ever.
#[test]
fn serialization_is_exact_for_every_rate_that_a_nanosecond_can_show() {
    for (bps, bytes, expected) in [
        // 1.28 ns, rounded down.
        (400_000_000_000, 64, 1),
        (400_000_000_000, 6_400, 128),
        (1, 1, 8_000_000_000),
        // 3.4 x 10^19 ns are more than 64 bits hold.
        (1, u32::MAX, u64::MAX),
        // 1.86 ns, rounded down.
        (u64::MAX, u32::MAX, 1),
    ] {
        let span = Rate::from_bps(bps).serialization(bytes).as_nanos();
        assert_eq!(span, expected, "{bytes} bytes at {bps} bit/s");
    }
}
