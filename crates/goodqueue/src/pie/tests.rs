//! Stories of RFC 8033 in simulated time.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::law::Allowance;
use super::rules::{LINUX, RFC8033};
use super::*;

impl<P: Packet, R: Random> Pie<P, R> {
    fn update_once(&mut self) {
        let backlog = self.held_bytes();
        self.vars.update(&self.config, backlog);
    }
}
use crate::config::{Configure, Link, Settings, Value};
use crate::decision::{Decision, Fate, Moment};
use crate::random::{Recorded, Xoshiro256PlusPlus};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Datagram(u32, Ecn);

impl Packet for Datagram {
    fn len(&self) -> u32 {
        self.0
    }
    fn ecn(&self) -> Ecn {
        self.1
    }
    fn set_ce(&mut self) -> bool {
        if self.1.is_capable() {
            self.1 = Ecn::Ce;
        }
        self.1.is_capable()
    }
}

const PLAIN: Datagram = Datagram(1514, Ecn::NotEct);
const CAPABLE: Datagram = Datagram(1514, Ecn::Ect0);
const ONE: u64 = RFC8033.one;

type Queue<R> = Pie<Datagram, R>;

fn rfc8033() -> Settings {
    variant("rfc8033")
}

fn pie_with<R: Random>(settings: Settings, random: R) -> Queue<R> {
    Pie::new(PieConfig::from_settings(&settings, &Link::default()).unwrap(), random)
}

fn pie(settings: Settings) -> Queue<Xoshiro256PlusPlus> {
    pie_with(settings, Xoshiro256PlusPlus::new(1))
}

/// A controller past its burst with ten packets queued, a delay of 30 ms and this probability.
fn congested<R: Random>(settings: Settings, random: R, probability: u64) -> Queue<R> {
    let mut queue = pie_with(settings, random);
    for _ in 0..10 {
        queue.queue.push_back(Instant::ZERO, PLAIN);
    }
    queue.vars =
        Vars { active: true, probability, burst: 0, delay: 30_000_000, old_delay: 30_000_000, ..queue.vars };
    queue.update_at = Instant::MAX;
    queue
}

fn offer<R: Random>(queue: &mut Queue<R>, packet: Datagram) -> Vec<DropReason> {
    let mut reasons = Vec::new();
    queue.enqueue(Instant::ZERO, packet, &mut |_: Datagram, why: DropReason| reasons.push(why));
    reasons
}

/// The probability after each of `updates` updates at a constant delay.
fn probabilities(queue: &mut Queue<Xoshiro256PlusPlus>, delay: Duration, updates: usize) -> Vec<u64> {
    queue.queue.push_back(Instant::ZERO, PLAIN);
    queue.vars.delay = delay.as_nanos();
    let step = |_| {
        queue.update_once();
        queue.vars.probability
    };
    (0..updates).map(step).collect()
}

#[test]
fn at_twice_the_target_the_probability_climbs_by_the_steps_of_rfc_8033() {
    let p = probabilities(&mut pie(rfc8033()), Duration::from_millis(30), 200);
    // (0.125 * 0.015 + 1.25 * 0.030) / 2048, then 0.125 * 0.015 / 128.
    assert_eq!(p[0], ONE / 1_000_000 * 39_375 / 2_048);
    assert_eq!(p[1] - p[0], ONE / 1_000_000 * 1_875 / 128);
    // The same recurrence in real numbers reaches the powers of ten at these updates.
    let reaches = |bound: u64| p.iter().position(|&p| p >= ONE / bound).map(|index| index + 1);
    assert_eq!(reaches(10_000), Some(7));
    assert_eq!(reaches(1_000), Some(23));
    assert_eq!(reaches(100), Some(62));
    assert_eq!(reaches(10), Some(158));
}

#[test]
fn from_ten_percent_on_an_update_adds_two_percent_at_most() {
    let config = congested(rfc8033(), Xoshiro256PlusPlus::new(1), 0).config;
    assert!(config.increment(ONE / 10, 400_000_000, 30_000_000) > i128::from(ONE / 20));
    let mut queue = congested(rfc8033(), Xoshiro256PlusPlus::new(1), ONE / 10);
    queue.vars.delay = 400_000_000;
    queue.update_once();
    assert_eq!(queue.vars.probability, ONE / 100 * 12);
}

#[test]
fn linux_adds_two_percent_more_above_250_ms() {
    let linux = || Settings::new().with("variant", Value::Choice("linux"));
    let after = |delay: Duration| {
        let mut queue = congested(linux(), Xoshiro256PlusPlus::new(1), LINUX.one / 2);
        let ticks = queue.config.ticks(delay);
        (queue.vars.delay, queue.vars.old_delay) = (ticks, ticks);
        queue.update_once();
        queue.vars.probability - LINUX.one / 2
    };
    let below = after(Duration::from_millis(250));
    // One tick later: Linux counts in 64 ns.
    let above = after(Duration::from_nanos(250_000_064));
    assert!((above - below).abs_diff(LINUX.one / 50) < LINUX.one / 1_000_000);
}

#[test]
fn the_probability_fades_by_two_percent_when_the_queue_is_gone() {
    let mut queue = pie(rfc8033().with("alpha", Value::Integer(0)));
    queue.vars.probability = ONE / 2;
    queue.update_once();
    assert_eq!(queue.vars.probability, ONE / 100 * 49);
}

#[test]
fn a_probability_of_one_tenth_drops_no_packet_before_the_ninth_and_no_later_than_the_85th() {
    let first_drop = |draw: u64| {
        let mut draws = Recorded::default();
        (0..200).for_each(|_| draws.push(draw));
        let mut queue = congested(rfc8033(), draws, ONE / 10);
        (1..=200).find(|_| !offer(&mut queue, PLAIN).is_empty())
    };
    assert_eq!(first_drop(0), Some(9), "accumulated 0.85 is reached at nine");
    assert_eq!(first_drop(u64::MAX), Some(85), "8.5 is reached at 85");
}

#[test]
fn a_burst_passes_for_150_ms() {
    let mut queue = pie(rfc8033());
    let ms = |n: u64| Instant::from_nanos(n * 1_000_000);
    let mut first = None;
    for now in 0..2_000 {
        let mut dropped = false;
        // Twenty packets come per ms, one leaves.
        for _ in 0..20 {
            queue.enqueue(ms(now), Datagram(100, Ecn::NotEct), &mut |_: Datagram, why: DropReason| {
                dropped |= why == DropReason::Congested;
            });
        }
        queue.dequeue(ms(now), &mut |_: Datagram, _: DropReason| {});
        if dropped {
            first = first.or(Some(now));
        }
    }
    assert!(first.is_some_and(|first| first >= 150), "{first:?}");
}

#[test]
fn small_delays_and_tiny_queues_are_safe() {
    // A probability below a fifth and a delay below half the target drop nothing (RFC 8033 §4.1).
    let mut queue = congested(rfc8033(), Recorded::default(), ONE / 5 - 1);
    queue.vars.old_delay = 7_499_999;
    assert_eq!((0..100).map(|_| offer(&mut queue, PLAIN).len()).sum::<usize>(), 0);
    queue.vars.old_delay = 7_500_000;
    assert!((0..100).any(|_| !offer(&mut queue, PLAIN).is_empty()), "half the target is not small");
    let mut tiny = congested(rfc8033(), Recorded::default(), ONE);
    // Two mean packets (RFC 8033 §4.1).
    while tiny.queue.bytes() > 2_048 {
        tiny.queue.pop_front();
    }
    assert!(offer(&mut tiny, Datagram(1, Ecn::NotEct)).is_empty());
}

#[test]
fn ecn_marks_up_to_ten_percent_and_drops_above() {
    let ecn = || rfc8033().with("ecn", Value::Flag(true));
    let mut low = congested(ecn(), Recorded::default(), ONE / 10);
    assert_eq!((0..9).map(|_| offer(&mut low, CAPABLE).len()).sum::<usize>(), 0);
    assert_eq!(low.stats.marked.packets, 1);
    assert_eq!((0..9).map(|_| offer(&mut low, Datagram(1514, Ecn::Ce)).len()).sum::<usize>(), 0);
    assert_eq!(low.stats.marked.packets, 1, "a packet that carries CE is not counted again");
    assert_eq!((0..9).flat_map(|_| offer(&mut low, PLAIN)).collect::<Vec<_>>(), [DropReason::Congested]);
    let mut high = congested(ecn(), Recorded::default(), ONE / 10 + 1);
    assert_eq!((0..9).flat_map(|_| offer(&mut high, CAPABLE)).collect::<Vec<_>>(), [DropReason::Congested]);
}

#[test]
fn with_onoff_control_begins_at_a_third_of_the_buffer_and_ends_with_the_queue() {
    let settings = rfc8033().with("onoff", Value::Flag(true)).with("limit", Value::Packets(30));
    let mut queue = pie(settings);
    (0..9).for_each(|_| assert!(offer(&mut queue, PLAIN).is_empty()));
    assert!(!queue.vars.active);
    offer(&mut queue, PLAIN);
    assert!(queue.vars.active);
    while queue.dequeue(Instant::ZERO, &mut |_: Datagram, _: DropReason| {}).is_some() {}
    queue.update(Instant::from_nanos(1_000_000_000));
    assert!(!queue.vars.active);
}

#[test]
fn updates_missed_in_a_silence_are_made_up_for_and_stay_in_phase() {
    let second = 1_000_000_000;
    let prepared = || congested(rfc8033(), Xoshiro256PlusPlus::new(1), ONE / 3);
    let mut often = prepared();
    let mut late = prepared();
    (often.update_at, late.update_at) = (Instant::ZERO, Instant::ZERO);
    late.update(Instant::ZERO);
    for now in 0..20_000 {
        often.update(Instant::from_nanos(now * second / 1_000));
    }
    late.update(Instant::from_nanos(20 * second - 1_000_000));
    assert_eq!((often.vars, often.update_at), (late.vars, late.update_at));
    // A day later at most 2048 more were made, and the clock has kept its phase.
    late.update(Instant::from_nanos(86_400 * second + 1));
    let at = late.update_at.as_nanos();
    assert!(at > 86_400 * second && at <= 86_400 * second + 15_000_000 + 1 && at % 15_000_000 == 0, "{at}");
}

#[test]
fn the_departure_rate_gives_the_delay_that_timestamps_give() {
    let delay = |estimated: bool| {
        let mut queue = pie(rfc8033().with("dq_rate_estimator", Value::Flag(estimated)));
        // 40 packets of 1000 bytes stand in the queue, one leaves and one comes per ms: 40 ms.
        for now in 0..400 {
            let at = Instant::from_nanos(now * 1_000_000);
            let mut ignore = |_: Datagram, _: DropReason| {};
            while queue.len() < 40 {
                queue.enqueue(at, Datagram(1000, Ecn::NotEct), &mut ignore);
                queue.vars.probability = 0;
            }
            queue.dequeue(at, &mut ignore);
        }
        queue.queue_delay().as_nanos() / 1_000_000
    };
    assert!(
        delay(false).abs_diff(40) <= 1 && delay(true).abs_diff(40) <= 3,
        "{} {}",
        delay(false),
        delay(true)
    );
}

#[test]
fn what_no_longer_fits_goes_oldest_first() {
    let mut queue = pie(rfc8033());
    (0..5).for_each(|n| assert!(offer(&mut queue, Datagram(n, Ecn::NotEct)).is_empty()));
    let smaller =
        PieConfig::from_settings(&rfc8033().with("limit", Value::Packets(2)), &Link::default()).unwrap();
    let mut lost = Vec::new();
    queue.reconfigure(Instant::ZERO, smaller, &mut |packet: Datagram, why: DropReason| {
        lost.push((packet.0, why))
    });
    assert_eq!(lost, [(0, DropReason::Overlimit), (1, DropReason::Overlimit), (2, DropReason::Overlimit)]);
    assert_eq!(offer(&mut queue, PLAIN), [DropReason::Overlimit]);
}

#[test]
fn bad_values_are_refused() {
    let refused = |name, value| {
        PieConfig::from_settings(&rfc8033().with(name, value), &Link::default()).unwrap_err().parameter
    };
    assert_eq!(refused("limit", Value::Packets(0)), "limit");
    assert_eq!(refused("tupdate", Value::Time(Duration::ZERO)), "tupdate");
    assert_eq!(refused("target", Value::Time(Duration::ZERO)), "target");
    assert_eq!(refused("alpha", Value::Integer(33)), "alpha");
    assert_eq!(refused("variant", Value::Choice("ns3")), "variant");
    let both = Settings::new().with("variant", Value::Choice("linux")).with("onoff", Value::Flag(true));
    assert!(PieConfig::from_settings(&both, &Link::default()).is_err());
}

fn variant(name: &'static str) -> Settings {
    Settings::new().with("variant", Value::Choice(name))
}

/// The probability after each of `updates` updates at a departure rate and backlog that mean this
/// delay.
fn estimated(queue: &mut Queue<Xoshiro256PlusPlus>, delay_ms: u64, updates: usize) -> Vec<u64> {
    // 250 kB/s.
    queue.vars.estimate = queue.config.averaged(0, 250_000, queue.config.ticks(Duration::from_secs(1)));
    let config = queue.config;
    let step = |_| {
        queue.vars.update(&config, 250 * delay_ms);
        queue.vars.probability
    };
    (0..updates).map(step).collect()
}

#[test]
fn the_draft_of_2013_climbs_in_three_levels() {
    let p = estimated(&mut pie(variant("draft00")), 40, 100);
    let near = |value: u64, micros: u64| value.abs_diff(ONE / 10_000_000 * micros) < ONE / 100_000_000;
    // An eighth of 0.125 x 0.02 + 1.25 x 0.04, and of the first term alone. An update later the
    // delay no longer changes.
    assert!(near(p[0], 65_625) && near(p[1] - p[0], 3_125), "{} {}", p[0], p[1]);
    // Half of 0.125 x 0.02, and all of it.
    assert!(near(p[20] - p[19], 12_500) && near(p[90] - p[89], 25_000));
    // As computed in real numbers.
    let reaches = |bound: u64| p.iter().position(|&p| p >= ONE / bound).map(|index| index + 1);
    assert_eq!((reaches(100), reaches(10)), (Some(12), Some(84)));
}

#[test]
fn what_the_parent_took_ahead_counts_as_a_packet_but_in_linux_of_2014_not_its_bytes() {
    for (name, bytes) in [("linux", 10 * 1514), ("linux314", 9 * 1514)] {
        let mut queue = congested(variant(name), Xoshiro256PlusPlus::new(1), 0);
        assert!(queue.dequeue(Instant::ZERO, &mut |_: Datagram, _| ()).is_some());
        queue.set_taken_ahead(Instant::ZERO, true);
        assert_eq!((queue.held(), queue.held_bytes()), (10, bytes), "{name}");
    }
}

#[test]
fn linux_of_2014_counts_in_32_bits() {
    let p = estimated(&mut pie(variant("linux314")), 40, 20);
    // Gains 2 * 274 >> 7 = 4 and 20 * 274 >> 7 = 42. The rate is 4 / 256 bytes per tick: 40 ms
    // appear as 640000 ticks. The target of 20 ms is 312,500 ticks of 64 ns.
    assert_eq!((p[0], p[1] - p[0]), (4 * (640_000 - 312_500) + 42 * 640_000, 4 * (640_000 - 312_500)));
    let mut fading = pie(variant("linux314"));
    let config = fading.config;
    fading.vars.probability = 60_000_000;
    fading.vars.update(&config, 0);
    // 60000000 - (17 * 312500 * ...) is left, then 98 times that modulo 2^32, over 100.
    let left = u64::try_from(60_000_000 + config.increment(60_000_000, 0, 0)).unwrap();
    assert_eq!(fading.vars.probability, ((left * 98) & 0xFFFF_FFFF) / 100);
    assert!(left * 98 > 0xFFFF_FFFF, "the product wraps");
    let seconds = |at: Instant| at.as_nanos() / 1_000_000;
    assert_eq!(seconds(config.first_update(Instant::ZERO)), 500, "HZ / 2");
    assert_eq!(seconds(config.next_update(Instant::from_nanos(500_000_000))), 530);
}

#[test]
fn updates_keep_their_times_however_late_the_first_packet_comes() {
    for tupdate in [1, 15, 100, 1_000, 5_000] {
        let settings = variant("linux").with("tupdate", Value::Time(Duration::from_millis(tupdate)));
        let config = pie(settings).config;
        let mut due = config.first_update(Instant::ZERO);
        for asked in (0..60_000).step_by(61).map(|millis| Instant::from_nanos(millis * 1_000_000)) {
            while due <= asked {
                due = config.next_update(due);
            }
            assert_eq!(
                config.first_update(asked),
                due,
                "first asked at {asked:?}, update every {tupdate} ms"
            );
        }
    }
}

/// Early drops in five seconds of 2 Mbit/s, offered 2.4 Mbit/s in packets of 1500 bytes.
fn at_two_mbit(settings: Settings) -> (usize, bool) {
    let mut queue = pie(settings.with("limit", Value::Packets(100)));
    let mut early = 0;
    let mut burst_was_spent = false;
    for step in 0..5_000_u64 {
        let now = Instant::from_nanos(step * 1_000_000);
        let mut drops = |_: Datagram, why: DropReason| early += usize::from(why == DropReason::Congested);
        if step % 5 == 0 {
            queue.enqueue(now, Datagram(1500, Ecn::NotEct), &mut drops);
        }
        if step % 6 == 0 {
            queue.dequeue(now, &mut drops);
        }
        burst_was_spent |= queue.vars.burst == 0;
    }
    (early, burst_was_spent)
}

#[test]
fn at_two_megabits_the_pie_of_ns2_is_a_fifo_unless_it_measures_fewer_packets_or_updates_less_often() {
    assert_eq!(at_two_mbit(variant("ns2")), (0, false), "ten packets take 54 ms, an update comes every 30");
    let fewer = variant("ns2").with("dq_threshold", Value::Bytes(7_500));
    let seldom = variant("ns2").with("tupdate", Value::Time(Duration::from_millis(60)));
    for (name, settings) in [("5 packets", fewer), ("60 ms", seldom)] {
        let (early, burst_was_spent) = at_two_mbit(settings);
        assert!(burst_was_spent && early > 20, "{name}: {early} early drops");
    }
    // With Linux's guard the first measurement may take its time.
    let (early, burst_was_spent) = at_two_mbit(variant("linux314"));
    assert!(burst_was_spent && early > 20, "{early} early drops");
}

#[test]
fn the_pie_of_ns2_of_2014_lets_a_burst_pass_when_it_comes_and_again_after_a_second_and_a_half_of_quiet() {
    let mut queue = pie(variant("ns2_2014"));
    let quiet_until = |queue: &mut Queue<_>, ms: u64| {
        queue.update(Instant::ZERO + Duration::from_millis(ms));
        queue.vars.allowance
    };
    assert_eq!(quiet_until(&mut queue, 3_000), Allowance::Due, "nothing has come");
    assert!(offer(&mut queue, PLAIN).is_empty());
    assert_eq!((queue.vars.allowance, queue.vars.burst), (Allowance::Armed, 100_000_000));
    queue.dequeue(Instant::ZERO, &mut |_, _| ());
    assert_eq!(quiet_until(&mut queue, 3_120), Allowance::Quiet(0), "four updates used it up");
    // 1.5 s later, or 50 updates of 30 ms.
    assert_eq!(quiet_until(&mut queue, 4_620), Allowance::Quiet(50));
    assert_eq!(quiet_until(&mut queue, 4_650), Allowance::Due);
    offer(&mut queue, PLAIN);
    assert_eq!(queue.vars.burst, 100_000_000);
}

#[test]
fn cable_modems_sleep_till_a_third_of_the_buffer_is_used_and_after_a_second_of_quiet() {
    let mut queue = pie(variant("docsis").with("limit", Value::Packets(60)));
    let mut ignore = |_: Datagram, _: DropReason| {};
    let ms = |n: u64| Instant::from_nanos(n * 1_000_000);
    (0..19).for_each(|_| queue.enqueue(ms(1), PLAIN, &mut ignore));
    assert!(!queue.vars.active);
    queue.enqueue(ms(1), PLAIN, &mut ignore);
    assert!(queue.vars.active && queue.vars.burst == 142_000_000);
    // 20 packets are 24 ms at 10 Mbit/s.
    queue.update(ms(17));
    assert_eq!(queue.queue_delay().as_nanos(), 20 * 1514 * 800);
    queue.update(ms(150));
    assert_eq!((queue.vars.probability, queue.vars.burst), (0, 0), "no climb while the burst lasts");
    queue.update(ms(400));
    assert!(queue.vars.probability > 0);
    while queue.dequeue(ms(400), &mut ignore).is_some() {}
    queue.update(ms(1_400));
    assert!(queue.vars.active && queue.vars.probability == 0);
    queue.update(ms(3_000));
    assert!(!queue.vars.active);
}

#[test]
fn cable_modems_drop_by_length_and_go_on_above_certainty() {
    let queue = congested(variant("docsis"), Recorded::default(), ONE / 10);
    assert_eq!(queue.config.of_packet(ONE / 10, 1024), ONE / 10);
    assert_eq!(queue.config.of_packet(ONE / 10, 64), ONE / 160);
    assert_eq!(queue.config.of_packet(ONE * 13, 64), ONE / 16 * 13);
    // PROB_LOW bounds what a packet can have (RFC 8034).
    assert_eq!(queue.config.of_packet(ONE * 13, 1514), ONE / 100 * 85);
    let mut high = congested(variant("docsis"), Recorded::default(), ONE * 2);
    let config = queue.config;
    for _ in 0..2_000 {
        high.vars.update(&config, 1_000_000_000);
    }
    assert_eq!(high.vars.probability, ONE / 100 * 1_360, "0.85 * 1024 / 64");
    // Low delays fade, though not zero: 2 ms.
    let mut low = congested(variant("docsis").with("alpha", Value::Integer(0)), Recorded::default(), ONE / 2);
    low.vars.delay = 2_000_000;
    low.vars.update(&low.config, 2_500);
    assert_eq!(low.vars.probability, ONE / 100 * 49);
}

#[test]
fn a_certain_drop_names_the_sum_of_the_probabilities_and_its_bound() {
    let mut queue = congested(rfc8033(), Recorded::default(), ONE / 4);
    queue.vars.accumulated = queue.config.rules().certain() - ONE / 8;
    let about = Decision {
        now: Instant::ZERO,
        arrived: Instant::ZERO,
        ended: Instant::ZERO,
        moment: Moment::Arrival,
        fate: Fate::Dropped(DropReason::Congested),
    };
    let evidence = queue.evidence(&Question { packet: &PLAIN, about });
    let [applied] = evidence.rules.as_slice() else { panic!("{evidence:?}") };
    assert_eq!(applied.rule.id, "pie.certain");
    assert_eq!(evidence.number(applied, "certain"), Some(Quantity::Real(8.5)));
    // 8.5 less an eighth and more a quarter.
    assert_eq!(evidence.number(applied, "sum"), Some(Quantity::Real(8.625)));
    assert!(applied.rule.numbers.iter().all(|name| evidence.number(applied, name).is_some()));
    assert!(queue.vars.congested(&queue.config, 15_140, 1_514, &mut queue.random), "the law agrees");
}

#[test]
fn every_variant_is_configured_by_itself() {
    let made = |name| PieConfig::from_settings(&variant(name), &Link::default()).unwrap();
    let values = |name| {
        let config = made(name);
        (
            config.target.to_string(),
            config.tupdate.to_string(),
            config.max_burst.to_string(),
            config.threshold,
        )
    };
    let of = |a: &str, b: &str, c: &str, threshold| (a.to_string(), b.to_string(), c.to_string(), threshold);
    assert_eq!(values("rfc8033"), of("15ms", "15ms", "150ms", 16_384));
    assert_eq!(values("linux"), of("15ms", "15ms", "150ms", 16_384));
    assert_eq!(values("draft00"), of("20ms", "30ms", "100ms", 10_000));
    assert_eq!(values("linux314"), of("20ms", "30ms", "100ms", 10_000));
    assert_eq!(values("ns2"), of("20ms", "30ms", "100ms", 15_000));
    assert_eq!(values("ns2_2014"), values("ns2"));
    assert_eq!(values("docsis"), of("10ms", "16ms", "142ms", 16_384));
    let refused = |name, flag| {
        let settings = variant(name).with("dq_rate_estimator", Value::Flag(flag));
        PieConfig::from_settings(&settings, &Link::default()).is_err()
    };
    assert!(refused("docsis", true) && refused("draft00", false) && !refused("ns2", true));
}

#[test]
fn a_purge_leaves_the_probability_and_the_delays_only_in_linux() {
    let kept = |name| {
        let mut queue = congested(variant(name), Recorded::default(), 1_000_000);
        (queue.vars.delay, queue.vars.old_delay, queue.vars.accumulated) = (7, 5, 3);
        queue.purge(Instant::ZERO, &mut |_, _| ());
        assert_eq!((queue.vars.accumulated, queue.len()), (0, 0), "{name}");
        [queue.vars.probability, queue.vars.delay, queue.vars.old_delay]
    };
    for name in ["linux", "linux314"] {
        assert_eq!(kept(name), [1_000_000, 7, 5], "{name}");
    }
    for name in ["rfc8033", "draft00", "docsis", "ns2"] {
        assert_eq!(kept(name), [0; 3], "{name}");
    }
}
