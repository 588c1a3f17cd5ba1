//! Stories of RFC 8289 in simulated time.

use alloc::vec::Vec;

use super::*;
use crate::config::{Configure, Link, Settings, Value};
use crate::packet::Ecn;
use crate::packet::story::Datagram;
use crate::time::Duration;
use crate::time::Rate;

const MS: u64 = 1_000_000;

fn codel(variant: CodelVariant, ecn: bool) -> Codel<Datagram> {
    Codel::new(
        CodelConfig::new(u32::MAX, CodelParams { variant, ecn, ..CodelParams::new(1514) }).expect("valid"),
    )
}

fn fill(queue: &mut Codel<Datagram>, at: u64, ids: core::ops::Range<u64>, ecn: Ecn) {
    for id in ids {
        queue.enqueue(Instant::from_nanos(at), Datagram::new(1514, ecn).numbered(id), &mut no_drop);
    }
}

fn no_drop(packet: Datagram, why: DropReason) {
    panic!("{packet:?} dropped: {why:?}");
}

/// Dequeues at `at` and returns what was delivered and what was dropped.
fn step(queue: &mut Codel<Datagram>, at: u64) -> (Option<u64>, Vec<u64>) {
    let mut dropped = Vec::new();
    let mut drops = |packet: Datagram, why| {
        assert_eq!(why, DropReason::Congested);
        dropped.push(packet.id);
    };
    let delivered = queue.dequeue(Instant::from_nanos(at), &mut drops).map(|packet| packet.id);
    (delivered, dropped)
}

#[test]
fn the_first_drop_comes_one_interval_after_the_target_is_exceeded() {
    let mut queue = codel(CodelVariant::Rfc8289, false);
    fill(&mut queue, 0, 0..10, Ecn::NotEct);
    assert_eq!(step(&mut queue, 5 * MS - 1), (Some(0), [].into()), "1 ns below target");
    assert_eq!(step(&mut queue, 5 * MS), (Some(1), [].into()), "exactly target counts as above");
    assert_eq!(step(&mut queue, 105 * MS - 1), (Some(2), [].into()), "1 ns before the interval has passed");
    assert_eq!(
        step(&mut queue, 105 * MS),
        (Some(4), [3].into()),
        "the successor is delivered, never the victim"
    );
    assert_eq!(queue.vars().count(), 1);
    assert!(queue.vars().is_dropping());
}

#[test]
fn linux_waits_until_strictly_after_the_interval() {
    let mut queue = codel(CodelVariant::Linux, false);
    let tick = 1024;
    fill(&mut queue, 0, 0..10, Ecn::NotEct);
    // 5 ms are 4882 ticks, and 100 ms are 97656, both rounded down.
    assert_eq!(step(&mut queue, 4882 * tick), (Some(0), [].into()));
    assert_eq!(step(&mut queue, (4882 + 97656) * tick), (Some(1), [].into()));
    assert_eq!(step(&mut queue, (4882 + 97657) * tick), (Some(3), [2].into()));
}

#[test]
fn one_packet_below_target_restarts_the_wait() {
    let mut queue = codel(CodelVariant::Rfc8289, false);
    fill(&mut queue, 0, 0..3, Ecn::NotEct);
    assert_eq!(step(&mut queue, 50 * MS).0, Some(0));
    fill(&mut queue, 98 * MS, 3..10, Ecn::NotEct);
    assert_eq!(step(&mut queue, 99 * MS).0, Some(1));
    assert_eq!(step(&mut queue, 100 * MS).0, Some(2));
    assert_eq!(step(&mut queue, 101 * MS), (Some(3), [].into()), "queued for 3 ms only");
    assert_eq!(step(&mut queue, 160 * MS), (Some(4), [].into()));
    assert_eq!(step(&mut queue, 259 * MS), (Some(5), [].into()));
    assert_eq!(step(&mut queue, 260 * MS), (Some(7), [6].into()));
}

#[test]
fn the_last_packet_is_never_dropped_whatever_its_age() {
    for variant in EVERY {
        let mut queue = codel(variant, false);
        for second in 0..20 {
            fill(&mut queue, second * 1000 * MS, 0..1, Ecn::NotEct);
            assert_eq!(step(&mut queue, (second + 1) * 1000 * MS), (Some(0), [].into()), "{variant:?}");
        }
    }
}

const EVERY: [CodelVariant; 5] = [
    CodelVariant::Rfc8289,
    CodelVariant::Linux,
    CodelVariant::Linux61,
    CodelVariant::Cacm2012,
    CodelVariant::Ns2,
];

/// Drops until `horizon` after the first one, when every dequeue (each `gap`) finds an old packet
/// and many behind it.
fn drops_under_overload(variant: CodelVariant, gap: u64, horizon: u64) -> Vec<u64> {
    let mut queue = codel(variant, false);
    let mut times: Vec<u64> = Vec::new();
    let mut now = 0;
    while times.first().is_none_or(|first| now - first <= horizon) {
        now += gap;
        while queue.len() < 50 {
            queue.enqueue(
                Instant::from_nanos(now.saturating_sub(20 * MS)),
                Datagram::new(1514, Ecn::NotEct),
                &mut no_drop,
            );
        }
        // Packets are queued in the past: all of them have waited for longer than the target.
        queue.now = Instant::ZERO;
        let mut count = 0;
        queue.dequeue(Instant::from_nanos(now), &mut |_, _| count += 1);
        // The next packets arrive before this dequeue.
        queue.now = Instant::ZERO;
        for _ in 0..count {
            times.push(now);
        }
    }
    let first = times[0];
    times.retain(|time| time - first <= horizon);
    times
}

#[test]
fn under_constant_overload_drops_follow_the_closed_form() {
    // The law alone, from the first drop.
    let law = |seconds: u64| {
        let mut at = Instant::ZERO;
        let mut drops = 0_u32;
        while at.as_nanos() <= seconds * 1000 * MS {
            drops += 1;
            at = control_law(at, Duration::from_millis(100), drops);
        }
        drops
    };
    // The sum of 1/sqrt(n) is about 2 sqrt(n), so the number is about (seconds / 0.2)².
    assert_eq!([law(1), law(2), law(5), law(10), law(20), law(60)], [33, 115, 662, 2574, 10147, 90439]);
    // The discipline, asked every 50 us, drops the same number.
    let gap = 50_000;
    assert_eq!(drops_under_overload(CodelVariant::Rfc8289, gap, 1000 * MS + gap).len(), 33);
}

#[test]
fn linux_spaces_its_drops_by_its_own_integer_schedule() {
    let times = drops_under_overload(CodelVariant::Linux, 10_000, 520 * MS);
    let offsets: Vec<u64> = times.iter().map(|time| (time - times[0]) / 1000).collect();
    // The distances are 100 ms times the roots that `linux.rs` tests: 1, 0.5, 0.5625, 0.488 and so
    // on.
    let expected =
        [0, 99_998, 149_999, 206_248, 255_026, 299_177, 339_583, 377_100, 412_251, 445_432, 476_936, 506_994];
    assert_eq!(offsets.len(), expected.len());
    for (got, want) in offsets.iter().zip(expected) {
        // A dequeue each 10 us and ticks of 1 us make both the first drop and this one late.
        assert!(got.abs_diff(want) <= 20, "{offsets:?}");
    }
}

#[test]
fn a_stalled_dequeue_catches_up_with_its_schedule_in_one_call() {
    let mut queue = codel(CodelVariant::Rfc8289, false);
    fill(&mut queue, 0, 0..100, Ecn::NotEct);
    step(&mut queue, 5 * MS);
    assert_eq!(step(&mut queue, 105 * MS), (Some(2), [1].into()));
    // One second later: 32 drops of the schedule are due (33 by then with the first).
    let (delivered, dropped) = step(&mut queue, 1105 * MS);
    assert_eq!((delivered, dropped.len()), (Some(35), 32));
}

/// Ends an episode at count 10 and begins another `pause` after it; the count it begins with.
fn recalled(variant: CodelVariant, pause: u64) -> u32 {
    let mut queue = codel(variant, false);
    queue.vars.count = 10;
    queue.vars.lastcount = 1;
    queue.vars.drop_next = 10_000 * MS;
    let entry = 10_000 * MS + pause;
    // The first dequeue finds a packet above target, and the second one comes after a whole
    // interval.
    fill(&mut queue, entry - 200 * MS, 0..10, Ecn::NotEct);
    queue.now = Instant::ZERO;
    step(&mut queue, entry - 150 * MS);
    step(&mut queue, entry);
    queue.vars.count()
}

#[test]
fn a_new_episode_soon_after_the_last_goes_on_where_that_one_was() {
    assert_eq!(recalled(CodelVariant::Rfc8289, 1000 * MS), 9, "count - lastcount");
    assert_eq!(recalled(CodelVariant::Rfc8289, 1601 * MS), 1, "after 16 intervals: from the beginning");
    assert_eq!(recalled(CodelVariant::Cacm2012, 1000 * MS), 9, "count - 1");
    assert_eq!(recalled(CodelVariant::Cacm2012, 1601 * MS), 1);
    assert_eq!(recalled(CodelVariant::Ns2, 700 * MS), 8, "count - 2");
    assert_eq!(recalled(CodelVariant::Ns2, 801 * MS), 1, "after 8 intervals");
}

#[test]
fn an_ecn_capable_packet_is_marked_and_delivered_instead() {
    for variant in [CodelVariant::Rfc8289, CodelVariant::Linux] {
        let mut queue = codel(variant, true);
        fill(&mut queue, 0, 0..6, Ecn::Ect0);
        fill(&mut queue, 0, 6..12, Ecn::NotEct);
        step(&mut queue, 10 * MS);
        assert_eq!(step(&mut queue, 120 * MS), (Some(1), [].into()));
        assert_eq!(queue.stats().marked.packets, 1);
        for id in 2..6 {
            assert_eq!(step(&mut queue, 121 * MS), (Some(id), [].into()), "not due again yet");
        }
        assert_eq!(step(&mut queue, 230 * MS), (Some(7), [6].into()), "Not-ECT is dropped, never marked");
        assert_eq!(queue.stats().marked.packets, 1);
    }
}

#[test]
fn the_ce_threshold_marks_without_the_law() {
    let params = CodelParams { ce_threshold: Some(Duration::from_millis(2)), ..CodelParams::new(1514) };
    let mut queue = Codel::new(CodelConfig::new(100, params).expect("valid"));
    fill(&mut queue, 0, 0..3, Ecn::Ect0);
    let mut next = |at| queue.dequeue(Instant::from_nanos(at), &mut no_drop).map(|packet| packet.ecn);
    assert_eq!(next(2 * MS), Some(Ecn::Ect0), "exactly the threshold is not above it");
    assert_eq!(next(2 * MS + 1), Some(Ecn::Ce));
}

#[test]
fn a_ce_threshold_for_l4s_leaves_other_packets_alone() {
    for variant in [CodelVariant::Rfc8289, CodelVariant::Linux] {
        let params = CodelParams {
            ce_threshold: Some(Duration::from_millis(2)),
            ce_threshold_selector: Some(CeSelector::L4s),
            variant,
            ..CodelParams::new(1514)
        };
        let mut queue = Codel::new(CodelConfig::new(100, params).expect("valid"));
        for (id, ecn) in (0..).zip([Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::NotEct]) {
            fill(&mut queue, 0, id..id + 1, ecn);
        }
        let sent = [(); 4].map(|()| queue.dequeue(Instant::from_nanos(3 * MS), &mut no_drop).map(|p| p.ecn));
        assert_eq!(sent, [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::NotEct].map(Some));
    }
}

#[test]
fn time_that_goes_back_counts_as_standing_still() {
    let mut queue = codel(CodelVariant::Rfc8289, false);
    fill(&mut queue, 100 * MS, 0..3, Ecn::NotEct);
    fill(&mut queue, 0, 3..4, Ecn::NotEct);
    for id in 0..4 {
        assert_eq!(step(&mut queue, id * MS).0, Some(id));
    }
}

#[test]
fn a_limit_or_interval_of_zero_is_refused() {
    let params = CodelParams::new(1514);
    assert!(CodelConfig::new(0, params).is_err());
    assert!(CodelConfig::new(1, CodelParams { interval: Duration::ZERO, ..params }).is_err());
    let linux = CodelParams { variant: CodelVariant::Linux, ..params };
    let short = |variant| CodelParams { interval: Duration::from_nanos(1023), variant, ..params };
    assert!(CodelConfig::new(1, short(CodelVariant::Linux61)).is_err());
    assert!(CodelConfig::new(1, short(CodelVariant::Linux)).is_ok(), "drops are a tick apart at least");
    assert!(CodelConfig::new(1, CodelParams { interval: Duration::from_secs(2200), ..linux }).is_err());
}

#[test]
fn long_flows_at_ten_megabit_leave_the_queue_no_lower_than_the_target_for_long() {
    // An open-loop source 10 % above the link rate: after CoDel has found its drop rate, the delay
    // stays bounded.
    let link = Rate::from_bps(10_000_000);
    let mut queue = codel(CodelVariant::Rfc8289, false);
    let mut arrival = 0_u64;
    let mut departure = 0_u64;
    let mut worst = 0_u64;
    let gap = link.serialization(1514).as_nanos();
    for id in 0..40_000 {
        arrival += gap * 10 / 11;
        while departure <= arrival {
            let head = queue.queue.front().map(|queued| queued.at.as_nanos());
            if departure > 30_000 * MS {
                worst = worst.max(head.map_or(0, |at| departure.saturating_sub(at)));
            }
            queue.dequeue(Instant::from_nanos(departure), &mut |_, _| ());
            departure += gap;
        }
        queue.enqueue(
            Instant::from_nanos(arrival),
            Datagram::new(1514, Ecn::NotEct).numbered(id),
            &mut no_drop,
        );
    }
    assert!(worst < 1_500 * MS, "{worst}");
}

/// An episode of ten drops, a pause, and a new one: the count with which that begins.
fn count_after_pause(params: CodelParams, pause: u64) -> u32 {
    let mut queue = Codel::<Datagram>::new(CodelConfig::new(u32::MAX, params).unwrap());
    queue.vars.count = 10;
    queue.vars.lastcount = 1;
    let then = 10_000 * MS;
    let now = (10_000 + pause) * MS;
    queue.vars.drop_next = match params.variant {
        CodelVariant::Linux | CodelVariant::Linux61 => then >> 10,
        _ => then,
    };
    // The episode is over; packets have been above target for more than an interval.
    fill(&mut queue, now - 500 * MS, 0..10, Ecn::NotEct);
    queue.vars.first_above = match params.variant {
        CodelVariant::Linux | CodelVariant::Linux61 => (now - 200 * MS) >> 10,
        _ => now - 200 * MS,
    };
    assert_eq!(step(&mut queue, now).1, [0]);
    queue.vars().count()
}

#[test]
fn the_rule_of_recall_can_be_chosen_with_any_variant() {
    for variant in EVERY {
        let with = |recall| CodelParams { variant, recall: Some(recall), ..CodelParams::new(1514) };
        let counts = |recall| [700, 900, 1_500, 1_700].map(|pause| count_after_pause(with(recall), pause));
        assert_eq!(counts(Recall::A), [9, 9, 9, 1], "{variant:?}");
        assert_eq!(counts(Recall::B), [8, 1, 1, 1], "{variant:?}");
        assert_eq!(counts(Recall::C), [9, 9, 9, 1], "{variant:?}");
    }
    let own = |variant| CodelParams { variant, ..CodelParams::new(1514) }.recall();
    assert_eq!(own(CodelVariant::Cacm2012), Recall::A);
    assert_eq!(own(CodelVariant::Ns2), Recall::B);
    assert_eq!(own(CodelVariant::Linux), Recall::C);
}

#[test]
fn a_late_first_packet_is_dropped_only_if_the_queue_starts_as_in_ns2() {
    for variant in [CodelVariant::Rfc8289, CodelVariant::Linux, CodelVariant::Ns2] {
        for (startup, dropped) in [(None, 0), (Some(Startup::Zero), 0), (Some(Startup::Ns2), 1)] {
            let params = CodelParams { variant, startup, ..CodelParams::new(1514) };
            let mut queue = Codel::new(CodelConfig::new(100, params).unwrap());
            fill(&mut queue, MS, 0..10, Ecn::NotEct);
            assert_eq!(step(&mut queue, 7 * MS).1.len(), dropped, "{variant:?} {startup:?}");
            let mut early = Codel::new(CodelConfig::new(100, params).unwrap());
            fill(&mut early, MS, 0..10, Ecn::NotEct);
            assert_eq!(step(&mut early, MS), (Some(0), [].into()), "no delay");
            assert_eq!(step(&mut early, 7 * MS), (Some(1), [].into()), "the first packet was on time");
        }
    }
}

#[test]
fn recall_and_startup_are_read_and_written() {
    let settings = Settings::new().with("recall", Value::Choice("b")).with("startup", Value::Choice("ns2"));
    let config = CodelConfig::from_settings(&settings, &Link::default()).unwrap();
    assert_eq!((config.params.recall, config.params.startup), (Some(Recall::B), Some(Startup::Ns2)));
    assert_eq!(CodelConfig::from_settings(&config.to_settings(), &Link::default()), Ok(config));
}
