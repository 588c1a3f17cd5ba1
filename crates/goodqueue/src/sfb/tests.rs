//! Stories of flows that yield and of flows that never do.

use super::*;
use crate::packet::story::Datagram;
use crate::random::Xoshiro256PlusPlus;

const fn of_flow(flow: u32) -> Datagram {
    Datagram::new(1000, Ecn::NotEct).of_flow(flow)
}

fn sfb(settings: &Settings) -> Sfb<Datagram, Xoshiro256PlusPlus> {
    let config = SfbConfig::from_settings(settings, &Link::default()).unwrap();
    Sfb::new(config, 1, Xoshiro256PlusPlus::new(1))
}

#[test]
fn a_flow_that_never_yields_is_certain_of_its_fate_after_993_arrivals_above_the_target() {
    // The kernel's own step of 66 / 65535.
    let steps = [("increment", 0.001_007), ("decrement", 0.0)];
    let settings =
        steps.iter().fold(Settings::new(), |all, &(name, p)| all.with(name, Value::Probability(p)));
    let mut queue = sfb(&settings);
    let mut ignore = |_: Datagram, _: DropReason| {};
    let mut arrivals = 0;
    while queue.len() < 20 {
        queue.enqueue(Instant::ZERO, of_flow(1), &mut ignore);
    }
    while queue.probability(&of_flow(1)) < 1.0 {
        queue.enqueue(Instant::ZERO, of_flow(1), &mut ignore);
        arrivals += 1;
    }
    // 65535 / 66 = 992.95.
    assert_eq!(arrivals, 993);
    // The default of `max`.
    assert!(queue.len() <= 25, "max is never exceeded");
    // From now on 20 packets pass, then none: each refusal starts the clock of the box anew.
    let mut passed = 0;
    for ms in 0..10_000 {
        let at = Instant::from_nanos(ms * 1_000_000);
        queue.dequeue(at, &mut ignore);
        let before = queue.len();
        queue.enqueue(at, of_flow(1), &mut ignore);
        passed += u32::from(queue.len() > before);
    }
    assert_eq!(passed, 20);
    // Who comes less often than the penalty rate is let in.
    for n in 1..=10 {
        let before = queue.len();
        // Five per second; the default penalty rate is ten.
        queue.enqueue(Instant::from_nanos(10_000_000_000 + n * 200_000_000), of_flow(1), &mut ignore);
        assert_eq!(queue.len(), before + 1);
    }
}

#[test]
fn the_other_flows_go_free() {
    let mut queue = sfb(&Settings::new());
    let mut lost_of_flood = 0;
    let mut lost_of_others = 0;
    for step in 0..50_000_u32 {
        let at = Instant::from_nanos(u64::from(step) * 800_000);
        let mut count = |packet: Datagram, _: DropReason| match packet.flow {
            0 => lost_of_flood += 1,
            _ => lost_of_others += 1,
        };
        // The flood alone sends at twice the rate of the link, twenty others together at half
        // of it.
        queue.enqueue(at, of_flow(0), &mut count);
        queue.enqueue(at, of_flow(0), &mut count);
        if step % 2 == 0 {
            queue.enqueue(at, of_flow(1 + step / 2 % 20), &mut count);
        }
        queue.dequeue(at, &mut count);
    }
    // 50,000 packets leave, and half of them are those of the others: the flood loses 75,000 of its
    // 100,000.
    assert!(lost_of_flood > 70_000 && lost_of_others < 250, "{lost_of_flood}, {lost_of_others} of 25000");
}

#[test]
fn the_hash_changes_with_time_and_packets_leave_the_bins_that_they_entered() {
    let settings = Settings::new().with("rehash", Value::Integer(100)).with("db", Value::Integer(20));
    let mut queue = sfb(&settings);
    let mut ignore = |_: Datagram, _: DropReason| {};
    let mut salts = alloc::vec![queue.salts];
    for ms in 0..1_000 {
        let at = Instant::from_nanos(ms * 1_000_000);
        queue.enqueue(at, of_flow(0), &mut ignore);
        if ms % 3 > 0 {
            queue.dequeue(at, &mut ignore);
        }
        if salts.last() != Some(&queue.salts) {
            salts.push(queue.salts);
        }
    }
    // The first pair and nine changes, since 101 ms and not 100 must pass.
    assert_eq!(salts.len(), 10, "every 101 ms");
    while queue.dequeue(Instant::from_nanos(1_000_000_000), &mut ignore).is_some() {}
    assert!(queue.bins.iter().flatten().all(|bin| bin.packets == 0));
}

#[test]
fn sizes_are_completed_as_tc_does() {
    let made = |pairs: &[(&'static str, u64)]| {
        let settings =
            pairs.iter().fold(Settings::new(), |all, &(name, n)| all.with(name, Value::Packets(n)));
        SfbConfig::from_settings(&settings, &Link::default()).map(|config| (config.max, config.target))
    };
    assert_eq!(made(&[]), Ok((25, 20)));
    // max = (5 target + 1) / 4 and target = (4 max + 3) / 5, rounded down.
    assert_eq!(made(&[("target", 10)]), Ok((12, 10)));
    assert_eq!(made(&[("max", 40)]), Ok((40, 32)));
    assert!(made(&[("max", 0)]).is_err());
    let wrong = Settings::new().with("increment", Value::Probability(f64::NAN));
    assert!(SfbConfig::from_settings(&wrong, &Link::default()).is_err());
}
