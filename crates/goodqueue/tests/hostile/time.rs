//! H20 to H27: clocks that stand still, jump, go back or come to their end.

use goodqueue::random::Source;
use goodqueue::registry::KINDS;
use goodqueue::{AnyConfig, AnyQdisc, Duration, Ecn, Instant, Qdisc, Settings};
use goodqueue_testkit::edge::trees;
use goodqueue_testkit::operation::{Operation, Step, TestPacket};

use crate::story::{Story, everywhere, in_every_variant, ms, nanos, roomy};

// H20
#[test]
fn a_clock_that_goes_back_counts_as_one_that_stands_still() {
    in_every_variant(|_, case| {
        for back in [nanos(1), Duration::from_secs(86_400)] {
            let mut true_clock = Story::of(case);
            let mut wrong_clock = Story::of(case);
            true_clock.waits(Duration::from_secs(100_000));
            wrong_clock.waits(Duration::from_secs(100_000));
            for round in 0..25 {
                for story in [&mut true_clock, &mut wrong_clock] {
                    story.offers_ect(round % 3, 1514);
                    story.waits(ms(u64::from(round % 9)));
                }
                let right = true_clock.does(&Operation::Dequeue);
                // The caller's clock is behind for two calls, and then right again.
                wrong_clock.does(&Operation::Dequeue);
                assert_eq!(true_clock.len(), wrong_clock.len(), "{}", case.name);
                wrong_clock.goes_back(back);
                true_clock.offers(7, 64);
                wrong_clock.offers(7, 64);
                let expected = true_clock.does(&Operation::Dequeue);
                let seen = wrong_clock.does(&Operation::Dequeue);
                let ids = |packet: Option<TestPacket>| packet.map(|packet| packet.id);
                assert_eq!(ids(expected.sent), ids(seen.sent), "{} after {right:?}", case.name);
                assert_eq!(expected.dropped.len(), seen.dropped.len(), "{}", case.name);
                wrong_clock.waits(back);
            }
        }
    });
}

// H21
#[test]
fn time_may_stand_still_for_ever() {
    let calls = if cfg!(debug_assertions) { 20_000 } else { 1_000_000 };
    for kind in KINDS {
        let mut queue = bare(roomy(kind));
        let mut dropped = 0_u64;
        for number in 0..calls {
            queue.enqueue(Instant::from_nanos(5), packet(number, 1514), &mut |_, _| dropped += 1);
            if number % 2 == 1 {
                for _ in 0..2 {
                    let _ = queue.dequeue(Instant::from_nanos(5), &mut |_, _| dropped += 1);
                }
            }
        }
        balanced(kind.name, &queue, calls, dropped);
    }
}

// H22
#[test]
fn the_first_call_may_come_at_the_beginning_at_the_end_and_just_before_it() {
    let before = |span| Instant::MAX - span;
    let firsts = [Instant::ZERO, before(ms(100)), before(ms(16)), before(nanos(1)), Instant::MAX];
    in_every_variant(|_, case| {
        for first in firsts {
            let mut story = Story::of(case);
            story.waits(first.since(Instant::ZERO));
            for round in 0..30 {
                story.offers_ect(round % 3, 1514);
                story.offers(round % 5, 40);
                story.sends();
                story.waits(ms(9));
            }
            story.purges();
            story.offers(1, 1514);
            story.sends();
            story.empties();
        }
    });
}

// H23: whatever was to be done in the meantime is caught up with boundedly, else this test does not
// end: 585 years are 10^12 updates of PIE's probability.
#[test]
fn after_585_years_a_full_queue_empties_and_every_call_ends() {
    let packets: u64 = if cfg!(debug_assertions) { 20_000 } else { 1_000_000 };
    for kind in KINDS {
        for gap in [Duration::from_secs(3_600), Duration::from_secs(86_400), Duration::MAX] {
            let mut queue = bare(roomy(kind));
            let mut dropped = 0_u64;
            let mut now = Instant::ZERO;
            for number in 0..packets {
                queue.enqueue(now, packet(number, 1514), &mut |_, _| dropped += 1);
            }
            now += gap;
            let held = queue.len();
            let mut calls = 0;
            while !queue.is_empty() && calls <= 2 * held {
                calls += 1;
                if queue.dequeue(now, &mut |_, _| dropped += 1).is_none() {
                    match queue.next_event(now) {
                        Some(event) if event < Instant::MAX => now = event,
                        Some(_) => break,
                        None => {}
                    }
                }
            }
            // A shaper may be asked before and after each wait; all others send or drop at every
            // call.
            assert!(calls <= 2 * held, "{}: {} of {held} packets left after {gap}", kind.name, queue.len());
            balanced(kind.name, &queue, packets, dropped);
        }
    }
}

// H24
#[test]
fn packets_that_all_came_at_once_and_left_a_nanosecond_below_the_target_are_not_dropped() {
    let mut told = 0;
    for kind in KINDS {
        let settings = roomy(kind).to_settings();
        let (Some(target), Some(_)) = (settings.time("target"), settings.time("interval")) else { continue };
        told += 1;
        for (beyond, name) in [(0, "below"), (1, "at"), (2, "above")] {
            let mut story = Story::roomy(kind);
            for _ in 0..100 {
                for _ in 0..6 {
                    story.offers(1, 1514);
                }
                story.waits(target.saturating_sub(nanos(1)) + nanos(beyond));
                while story.len() > 0 {
                    story.sends();
                }
            }
            assert!(
                beyond > 0 || story.dropped() == 0,
                "{}: {} of {} dropped {name} the target",
                kind.name,
                story.dropped(),
                story.offered()
            );
        }
    }
    assert!(told > 1);
}

// H25: Linux's CoDel counts in units of 1024 ns in 32 bits, PIE and RED in jiffies, tc in
// microseconds.
#[test]
fn clocks_of_32_bits_may_wrap() {
    // Wraps of 32 bits in units of 1 ns, 1024 ns, 1 us and 4 ms, and of 63 bits in ns.
    let wraps = [1_u64 << 32, 1 << 42, (1 << 32) * 1_000, 4_000_000 << 32, 1 << 63];
    in_every_variant(|_, case| {
        for wrap in wraps {
            let mut story = Story::of(case);
            story.waits(nanos(wrap).saturating_sub(ms(100)));
            for round in 0..30 {
                story.offers_ect(round % 3, 1514);
                story.offers(round % 3, 700);
                story.waits(ms(5));
                story.sends();
            }
            story.empties();
        }
    });
}

// H26 H27: a caller who never comes at the appointed time, and one who never waits for it.
#[test]
fn who_asks_all_the_time_gets_the_same_as_who_comes_at_the_appointed_time() {
    let mut shapers = 0;
    let mut compare = |name: &str, config: &AnyConfig| {
        // netem chooses the time of a bunch anew whenever it is asked, as Linux does.
        if has_bunches(&config.to_settings()) {
            return;
        }
        let fill = |queue: &mut AnyQdisc<TestPacket>| {
            for number in 0..5 {
                queue.enqueue(Instant::ZERO, packet(number, 1514), &mut |_, _| ());
            }
        };
        let mut patient = bare(config.clone());
        let mut busy = bare(config.clone());
        fill(&mut patient);
        fill(&mut busy);
        let mut now = Instant::ZERO;
        for _ in 0..20 {
            let mut lost = 0;
            let mut also_lost = 0;
            let one = patient.dequeue(now, &mut |_, _| lost += 1).map(|packet| packet.id);
            let other = busy.dequeue(now, &mut |_, _| also_lost += 1).map(|packet| packet.id);
            assert_eq!((one, lost), (other, also_lost), "{name} at {now:?}");
            if one.is_some() || lost > 0 || patient.is_empty() {
                continue;
            }
            let Some(event) = patient.next_event(now).filter(|event| *event < Instant::MAX) else { break };
            shapers += 1;
            assert!(event > now, "{name}: the next event is not ahead");
            let wait = event.since(now).as_nanos();
            for ask in [1, 2, wait / 3, wait / 2, wait - 1].into_iter().filter(|ask| *ask < wait) {
                let early = busy.dequeue(now + nanos(ask), &mut |_, _| ()).map(|packet| packet.id);
                assert_eq!(early, None, "{name}: sent {ask} ns after {now:?}, announced for {event:?}");
            }
            now = event;
        }
    };
    everywhere(|_, case| compare(&case.name, &case.config));
    for tree in trees(4) {
        compare(&tree.name, &tree.config);
    }
    assert!(shapers > 0, "there are shapers");
}

fn has_bunches(settings: &Settings) -> bool {
    let inner = settings.children().iter().filter_map(|child| child.qdisc.as_ref());
    ["slot", "slot distribution"].iter().any(|name| settings.get(name).is_some())
        || inner.into_iter().any(|(_, inside)| has_bunches(inside))
}

// H26
#[test]
fn a_caller_who_comes_once_an_hour_misses_nothing() {
    in_every_variant(|_, case| {
        let mut story = Story::of(case);
        for round in 0..50 {
            for flow in 0..5 {
                story.offers_ect(flow, 1514);
            }
            story.does(&Operation::Advance(Step::Forward(Duration::from_secs(3_600))));
            story.sends();
            if round % 10 == 9 {
                story.empties();
            }
        }
    });
}

pub(crate) fn bare(config: AnyConfig) -> AnyQdisc<TestPacket> {
    AnyQdisc::new(config, 1, Source::seeded(1))
}

pub(crate) fn packet(id: u64, len: u32) -> TestPacket {
    let flow = u32::try_from(id % 64).unwrap_or(0);
    TestPacket { id, len, flow, class: None, came_with: Ecn::NotEct, ecn: Ecn::NotEct, at: Instant::ZERO }
}

/// The identities of the counters, for queues that are not supervised because they are too long for
/// it.
pub(crate) fn balanced(name: &str, queue: &AnyQdisc<TestPacket>, offered: u64, dropped: u64) {
    let stats = queue.stats();
    assert_eq!(stats.offered.packets, offered, "{name}");
    assert_eq!(stats.dropped().packets, dropped, "{name}");
    assert_eq!(stats.enqueued.packets + stats.dropped_before.packets, offered, "{name}");
    let left = stats.dequeued.packets + stats.dropped_after.packets;
    assert_eq!(stats.enqueued.packets, queue.len() as u64 + left, "{name}");
    let bytes_left = stats.dequeued.bytes + stats.dropped_after.bytes;
    assert_eq!(stats.enqueued.bytes, queue.backlog() + bytes_left, "{name}");
}
