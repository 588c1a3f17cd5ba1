//! Stories of RFC 9332 in simulated time.

use super::config::ONE;
use super::*;
use crate::config::{Configure, Link, Settings, Value};
use crate::packet::story::Datagram;
use alloc::string::ToString;
use alloc::vec::Vec;

use crate::random::Xoshiro256PlusPlus;

type Queue = DualPi2<Datagram, Xoshiro256PlusPlus>;

fn rfc9332() -> Settings {
    Settings::new().with("variant", Value::Choice("rfc9332"))
}

fn dualpi2(settings: &Settings) -> Queue {
    let config = DualPi2Config::from_settings(settings, &Link::default()).expect("valid");
    DualPi2::new(config, Xoshiro256PlusPlus::new(1))
}

fn ms(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

#[test]
fn linux_counts_buffers_in_memlimit_and_rfc9332_packet_bytes() {
    let lost = |variant| {
        let limits = rfc9332().with("memlimit", Value::Bytes(5 * 1514));
        let mut queue = dualpi2(&limits.with("variant", Value::Choice(variant)));
        let mut lost = Vec::new();
        for _ in 0..6 {
            queue.enqueue(Instant::ZERO, Datagram::new(1514, Ecn::NotEct), &mut |_, why| lost.push(why));
        }
        while queue.dequeue(Instant::ZERO, &mut |_, _| ()).is_some() {}
        assert_eq!(queue.memory.used(), 0);
        lost
    };
    // Three buffers of 2,304 bytes fit into 7,570.
    assert_eq!(lost("linux"), [DropReason::Overmemory; 3]);
    assert_eq!(lost("rfc9332"), [DropReason::Overmemory; 1]);
}

#[test]
fn the_default_of_memlimit_fits_into_the_32_bits_of_linux() {
    let made = |limit| {
        let settings = rfc9332().with("limit", Value::Packets(limit));
        dualpi2(&settings).config.to_settings().get("memlimit")
    };
    assert_eq!(made(1_418_417), Some(Value::Bytes(2 * 1514 * 1_418_417)));
    // Two frames for each would be 4,294,969,704 bytes.
    assert_eq!(made(1_418_418), Some(Value::Bytes(4_294_967_295)));
    assert_eq!(made(16_777_216), Some(Value::Bytes(4_294_967_295)));
}

/// Of 100,000 packets that find p' at `per_mille` thousandths: how many are sent with a mark,
/// and how many dropped.
fn fates(ecn: Ecn, per_mille: u64) -> (u64, u64) {
    // No update changes the probability during the test.
    let mut queue = dualpi2(&rfc9332().with("tupdate", Value::Time(Duration::from_secs(4_000))));
    queue.pi.probability = ONE / 1_000 * per_mille;
    let mut marked = 0;
    let mut dropped = 0;
    for _ in 0..3 {
        queue.enqueue(Instant::ZERO, Datagram::new(1514, ecn), &mut |_, _| ());
    }
    for _ in 0..100_000 {
        queue.enqueue(Instant::ZERO, Datagram::new(1514, ecn), &mut |_, _| ());
        let sent = queue.dequeue(Instant::ZERO, &mut |_, _| dropped += 1);
        marked += u64::from(sent.is_some_and(|frame| frame.ecn == Ecn::Ce));
        while queue.len() < 3 {
            queue.enqueue(Instant::ZERO, Datagram::new(1514, ecn), &mut |_, _| ());
        }
    }
    (marked, dropped)
}

#[test]
fn d1_classic_probability_is_the_square_and_that_of_l_twice_the_base() {
    let (marked, dropped) = fates(Ecn::NotEct, 100);
    // 0.1² of 100,000, and below 2 x 0.1 of them in L.
    assert!(marked == 0 && (900..1_100).contains(&dropped), "{dropped}");
    let (marked, dropped) = fates(Ecn::Ect0, 100);
    assert!(dropped == 0 && (900..1_100).contains(&marked), "{marked}");
    let (marked, dropped) = fates(Ecn::Ect1, 100);
    assert!(dropped == 0 && (19_500..20_500).contains(&marked), "{marked}");
}

#[test]
fn d2_l_packets_later_than_a_millisecond_are_marked() {
    for (variant, cases) in
        // The step of Linux is at 1 ms. The ramp goes from 0.8 to 1.2 ms (RFC 9332 §A.1).
        [("linux", [(1_000, false), (1_001, true)]), ("rfc9332", [(800, false), (1_201, true)])]
    {
        for (micros, expected) in cases {
            let mut queue = dualpi2(&rfc9332().with("variant", Value::Choice(variant)));
            for _ in 0..3 {
                queue.enqueue(Instant::ZERO, Datagram::new(1514, Ecn::Ect1), &mut |_, _| ());
            }
            let now = Instant::ZERO + Duration::from_micros(micros);
            let sent = queue.dequeue(now, &mut |_, _| ()).expect("queued");
            assert_eq!(sent.ecn == Ecn::Ce, expected, "{variant} {micros}");
        }
    }
}

#[test]
fn in_linux_the_step_may_count_packets_and_spare_a_short_queue() {
    let marked = |settings: Settings| {
        let mut queue = dualpi2(&settings.with("variant", Value::Choice("linux")));
        for _ in 0..6 {
            queue.enqueue(Instant::ZERO, Datagram::new(1514, Ecn::Ect1), &mut |_, _| ());
        }
        let late = ms(2);
        let next = || queue.dequeue(late, &mut |_, _| ()).map(|frame| frame.ecn == Ecn::Ce);
        core::iter::from_fn(next).collect::<Vec<bool>>()
    };
    let [yes, no] = [true, false];
    assert_eq!(marked(rfc9332()), [yes; 6]);
    // The packet that leaves no longer counts.
    let packets = rfc9332().with("step_thresh_packets", Value::Packets(2));
    assert_eq!(marked(packets), [yes, yes, yes, no, no, no]);
    let short = rfc9332().with("min_qlen_step", Value::Packets(2));
    assert_eq!(marked(short), [no, no, yes, yes, yes, yes]);
}

#[test]
fn in_linux_a_packet_that_cannot_be_marked_is_dropped_from_l() {
    let config = rfc9332().with("variant", Value::Choice("linux"));
    let mut queue = dualpi2(&config);
    for ecn in [Ecn::NotEct, Ecn::Ect1] {
        queue.enqueue(Instant::ZERO, Datagram::new(1514, ecn).of_class(1), &mut |_, _| ());
    }
    assert_eq!(queue.queues.low_latency.len(), 2, "the class decides");
    let mut reasons = Vec::new();
    let sent = queue.dequeue(ms(2), &mut |_, why| reasons.push(why)).expect("the other packet");
    assert_eq!((reasons, sent.ecn), ([DropReason::NotEct].into(), Ecn::Ce));
}

#[test]
fn in_linux_the_ecn_field_of_l4s_goes_before_the_class() {
    let queue = dualpi2(&rfc9332().with("variant", Value::Choice("linux")));
    let service = |ecn, class| queue.service(&Datagram::new(1514, ecn).of_class(class));
    for class in 0..4 {
        let by_class = [Service::Classic, Service::LowLatency, Service::Untouched, Service::Classic];
        assert_eq!(service(Ecn::NotEct, class), by_class[class as usize]);
        assert_eq!(service(Ecn::Ect0, class), by_class[class as usize]);
        assert_eq!(service(Ecn::Ect1, class), Service::LowLatency);
        assert_eq!(service(Ecn::Ce, class), Service::LowLatency);
    }
}

#[test]
fn the_updates_of_a_long_silence_are_those_of_its_single_periods() {
    for variant in ["linux", "rfc9332"] {
        // By this target the probability falls slowly: from 0.8 to 0.4 in these 70,000 updates.
        let slow = rfc9332()
            .with("variant", Value::Choice(variant))
            .with("target", Value::Time(Duration::from_micros(36)))
            .with("tupdate", Value::Time(Duration::from_millis(1)));
        let mut at_once = dualpi2(&slow);
        at_once.update(Instant::ZERO);
        at_once.pi = Pi { probability: at_once.config.one() / 5 * 4, last_delay: Duration::from_micros(9) };
        let mut singly = at_once.clone();
        (1..=70_000).for_each(|tick| singly.update(ms(tick)));
        at_once.update(ms(70_000));
        assert_eq!((at_once.pi, at_once.update_at), (singly.pi, singly.update_at), "{variant}");
        assert!((0.3..0.5).contains(&at_once.probability()), "{variant} {}", at_once.probability());
        at_once.update(ms(1_000_000));
        assert_eq!(at_once.pi.probability, 0, "{variant}");
    }
}

#[test]
fn the_expected_round_trip_time_sets_the_controller_as_in_tc() {
    let rtts = rfc9332()
        .with("max_rtt", Value::Time(Duration::from_millis(60)))
        .with("typical_rtt", Value::Time(Duration::from_millis(10)));
    for settings in [rtts, rfc9332().with("typical_rtt", Value::Time(Duration::from_millis(10)))] {
        let config = DualPi2Config::from_settings(&settings, &Link::default()).expect("valid");
        let ten = Duration::from_millis(10);
        // 0.1 x 10 ms / (60 ms)² = 0.278 and 0.3 / 60 ms = 5 per second, times 256.
        assert_eq!((config.target, config.tupdate, config.alpha, config.beta), (ten, ten, 71, 1280));
    }
}

#[test]
fn parameters_that_only_linux_has_are_refused_by_the_rfc() {
    for (name, value) in [
        ("any_ect", Value::Flag(true)),
        ("drop_enqueue", Value::Flag(true)),
        ("min_qlen_step", Value::Packets(1)),
        ("step_thresh_packets", Value::Packets(1)),
    ] {
        let settings = rfc9332().with(name, value);
        let refused = DualPi2Config::from_settings(&settings, &Link::default()).expect_err("needs linux");
        assert!(refused.to_string().contains("variant linux"), "{refused}");
        let linux = settings.with("variant", Value::Choice("linux"));
        assert!(DualPi2Config::from_settings(&linux, &Link::default()).is_ok(), "{name}");
    }
}

#[test]
fn d3_l_goes_first_and_c_keeps_a_tenth() {
    let mut queue = dualpi2(&rfc9332());
    for _ in 0..2_000 {
        queue.enqueue(Instant::ZERO, Datagram::new(1514, Ecn::Ect1), &mut |_, _| ());
        queue.enqueue(Instant::ZERO, Datagram::new(1514, Ecn::NotEct), &mut |_, _| ());
    }
    let order: Vec<Ecn> = (0..1_000)
        .filter_map(|_| queue.dequeue(Instant::ZERO, &mut |_, _| ()))
        .map(|frame| frame.ecn)
        .collect();
    // The credit begins at (10 - 90) frames, and each packet of L adds ten.
    assert!(order[..8].iter().all(|ecn| *ecn == Ecn::Ect1));
    let classic = order.iter().filter(|ecn| **ecn == Ecn::NotEct).count();
    assert!((95..=105).contains(&classic), "{classic}");
}

#[test]
fn d4_at_overload_both_queues_drop_or_overflow_as_asked() {
    for ecn in [Ecn::Ect0, Ecn::Ect1] {
        let (_, dropped) = fates(ecn, 700);
        // Of four queued the first two can be dropped: 0.49 + 0.24.
        assert!((72_000..74_000).contains(&dropped), "{ecn:?} {dropped}");
    }
    let overflow = rfc9332().with("overflow", Value::Flag(true)).with("limit", Value::Packets(500));
    let mut queue = dualpi2(&overflow);
    let mut lost = 0;
    for step in 0..20_000_u64 {
        let now = Instant::from_nanos(step * 500_000);
        queue.enqueue(now, Datagram::new(1514, Ecn::Ect0), &mut |_, why| {
            lost += u64::from(why == DropReason::Overlimit)
        });
        if step % 2 == 0 {
            queue.dequeue(now, &mut |_, why| assert_eq!(why, DropReason::Overlimit));
        }
    }
    // With a coupling of 2, half is where L marks every packet. Half of the 20,000 packets leave,
    // and 500 stay queued.
    assert!(queue.pi.probability <= ONE / 2 && lost > 9_000, "{} {lost}", queue.probability());
}

#[test]
fn d5_ect1_and_ce_go_to_l_and_the_rest_to_c() {
    let mut queue = dualpi2(&rfc9332());
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::Ce] {
        queue.enqueue(Instant::ZERO, Datagram::new(1514, ecn), &mut |_, _| ());
    }
    assert_eq!((queue.queues.classic.len(), queue.queues.low_latency.len()), (2, 3));
}

#[test]
fn d6_a_probability_of_zero_signals_nothing() {
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
        assert_eq!(fates(ecn, 0), (0, 0));
    }
}

#[test]
fn at_twice_the_target_the_base_probability_climbs_by_alpha_times_15_ms() {
    let mut queue = dualpi2(&rfc9332());
    queue.pi.last_delay = Duration::from_millis(30);
    queue.enqueue(ms(70), Datagram::new(1514, Ecn::NotEct), &mut |_, _| ());
    queue.pi = queue.updated(ms(100), queue.pi);
    // 0.16 per s x 15 ms = 0.0024 (41/256 is 0.16016).
    assert!((queue.probability() - 0.0024).abs() < 5e-6, "{}", queue.probability());
}

#[test]
fn the_classic_queue_of_a_deaf_flow_is_held_at_its_target() {
    let mut queue = dualpi2(&rfc9332());
    let mut waited = 0_u64;
    let mut sent = 0_u64;
    let mut arrived = 0_u64;
    for step in 0..300_000_u64 {
        let now = Instant::from_nanos(step * 100_000);
        // 10 % more than the link takes.
        if now.as_nanos() >= arrived {
            queue.enqueue(now, Datagram::new(1514, Ecn::NotEct), &mut |_, _| ());
            arrived += 1_100_000;
        }
        if step % 12 == 0
            && let Some(front) = queue.queues.classic.front().map(|queued| queued.at)
        {
            queue.dequeue(now, &mut |_, _| ());
            if step > 100_000 {
                waited += now.since(front).as_nanos();
                sent += 1;
            }
        }
    }
    let mean = waited / sent / 100_000;
    // The target is 15 ms.
    assert!((120..180).contains(&mean), "{mean} tenths of a millisecond");
}

#[test]
fn a_lower_limit_costs_classic_packets_first_and_no_credit() {
    for variant in ["linux", "rfc9332"] {
        let of_limit = |limit| {
            let settings = rfc9332().with("variant", Value::Choice(variant));
            settings.with("limit", Value::Packets(limit))
        };
        let mut queue = dualpi2(&of_limit(10));
        for ecn in [Ecn::Ect1, Ecn::NotEct, Ecn::Ect1, Ecn::NotEct, Ecn::Ect1] {
            queue.enqueue(Instant::ZERO, Datagram::new(1514, ecn), &mut |_, _| ());
        }
        let credit = queue.queues.credit;
        let config = DualPi2Config::from_settings(&of_limit(2), &Link::default()).expect("valid");
        let mut lost = Vec::new();
        queue.reconfigure(Instant::ZERO, config, &mut |packet: Datagram, why| lost.push((packet.ecn, why)));
        let full = DropReason::Overlimit;
        assert_eq!(lost, [(Ecn::NotEct, full), (Ecn::NotEct, full), (Ecn::Ect1, full)], "{variant}");
        assert_eq!((queue.len(), queue.queues.credit), (2, credit), "{variant}");
    }
}

#[test]
fn only_linux_waits_for_the_timer_that_was_set_before_a_change_of_tupdate() {
    for (variant, next) in [("linux", ms(1_000)), ("rfc9332", ms(15))] {
        let of_period = |millis| {
            let settings = rfc9332().with("variant", Value::Choice(variant));
            settings.with("tupdate", Value::Time(Duration::from_millis(millis)))
        };
        let mut queue = dualpi2(&of_period(1_000));
        let config = DualPi2Config::from_settings(&of_period(10), &Link::default()).expect("valid");
        queue.reconfigure(ms(5), config, &mut |_, _| ());
        assert_eq!(queue.update_at, next, "{variant}");
    }
}

#[test]
fn a_purge_forgets_the_probability_and_the_credit_and_in_linux_not_the_last_delay() {
    let kept = |variant| {
        let mut queue = dualpi2(&rfc9332().with("variant", Value::Choice(variant)));
        queue.pi = Pi { probability: 9, last_delay: Duration::from_millis(3) };
        queue.queues.credit = 12_345;
        queue.enqueue(Instant::ZERO, Datagram::new(1514, Ecn::NotEct), &mut |_, _| ());
        queue.purge(Instant::ZERO, &mut |_, _| ());
        assert_eq!(
            (queue.pi.probability, queue.queues.credit),
            (0, queue.config.first_credit()),
            "{variant}"
        );
        queue.pi.last_delay
    };
    assert_eq!(kept("linux"), Duration::from_millis(3));
    assert_eq!(kept("rfc9332"), Duration::ZERO);
}
