//! Stories of `choke` in simulated time.

use alloc::vec::Vec;

use super::*;
use crate::packet::story::Datagram;
use crate::random::Xoshiro256PlusPlus;

const fn of_flow(flow: u32) -> Datagram {
    Datagram::new(1000, Ecn::NotEct).of_flow(flow)
}

fn config(pairs: &[(&'static str, Value)]) -> Result<ChokeConfig, ConfigError> {
    let settings = pairs.iter().fold(Settings::new(), |all, (name, value)| all.with(name, value.clone()));
    ChokeConfig::from_settings(&settings, &Link::default())
}

fn packets(name: &'static str, n: u64) -> (&'static str, Value) {
    (name, Value::Packets(n))
}

fn queue(pairs: &[(&'static str, Value)]) -> Choke<Datagram, Xoshiro256PlusPlus> {
    Choke::new(config(pairs).unwrap(), Xoshiro256PlusPlus::new(5))
}

const VARIANTS: [(&str, Value); 2] =
    [("variant", Value::Choice("linux")), ("variant", Value::Choice("infocom2000"))];

#[test]
fn a_flow_alone_in_a_large_queue_loses_two_packets_with_every_arrival() {
    for variant in VARIANTS {
        let mut choke = queue(&[packets("limit", 1000), packets("min", 5), packets("max", 900), variant]);
        let mut lost = 0;
        let mut drops = |_: Datagram, why: DropReason| {
            assert_eq!(why, DropReason::Congested);
            lost += 1;
        };
        let mut below = 0;
        while choke.average() <= 5.0 {
            choke.enqueue(Instant::ZERO, of_flow(1), &mut drops);
            below += 1;
            assert!(below < 1_000);
        }
        let before = choke.len();
        for n in 1..=20 {
            choke.enqueue(Instant::ZERO, of_flow(1), &mut drops);
            assert_eq!(choke.len(), before - n, "the queue shrinks by one per arrival");
        }
        assert!(lost >= 40, "both packets of each pair are dropped");
    }
}

#[test]
fn a_flow_is_matched_as_often_as_it_has_packets_in_the_queue() {
    for variant in VARIANTS {
        let sizes = [packets("limit", 4000), packets("min", 5), packets("max", 3900), packets("burst", 10)];
        let mut choke = queue(&[&sizes[..], &[variant]].concat());
        let mut ignore = |_: Datagram, _: DropReason| {};
        // A quarter of the queue is flow 0, the rest are all different.
        for n in 0..1000 {
            choke.ring.push(Instant::ZERO, of_flow(if n % 4 == 0 { 0 } else { n }), usize::MAX);
        }
        let mut strangers = 1_000_000..;
        while choke.average() < 20.0 {
            choke.enqueue(Instant::ZERO, of_flow(strangers.next().unwrap()), &mut ignore);
        }
        let full = choke.clone();
        let mut hits = 0;
        for n in 0..4_000 {
            // The same queue each time, with other draws.
            let mut again = Choke { random: Xoshiro256PlusPlus::new(n), ..full.clone() };
            again.enqueue(Instant::ZERO, of_flow(0), &mut ignore);
            hits += again.matched() - full.matched();
        }
        // A quarter of 4000.
        assert!((900..1_100).contains(&hits), "{hits} of 4000");
    }
}

#[test]
fn two_packets_of_one_flow_die_even_if_they_could_be_marked() {
    let ecn = ("ecn", Value::Flag(true));
    let mut choke = queue(&[packets("limit", 100), packets("min", 1), packets("max", 2), ecn]);
    let capable = |flow| Datagram::new(1000, Ecn::Ect0).of_flow(flow);
    let mut lost = Vec::new();
    let mut drops = |packet: Datagram, _: DropReason| lost.push(packet.flow);
    for flow in 0..60 {
        choke.enqueue(Instant::ZERO, capable(flow), &mut drops);
    }
    assert!(choke.average() > 2.0 && choke.stats().marked.packets > 30 && choke.len() == 60);
    let mut arrivals = 0;
    while choke.matched() == 0 {
        arrivals += 1;
        choke.enqueue(Instant::ZERO, capable(7), &mut drops);
    }
    assert_eq!(lost, [7, 7], "after {arrivals}");
}

#[test]
fn holes_are_closed_before_they_exceed_the_ring() {
    let mut choke =
        queue(&[packets("limit", 100), packets("min", 2), packets("max", 99), packets("burst", 3)]);
    let mut ignore = |_: Datagram, _: DropReason| {};
    for n in 0..100_000_u32 {
        choke.enqueue(Instant::ZERO, of_flow(n % 3), &mut ignore);
        // The next power of two above the limit, less the place that stays free.
        assert!(choke.ring.places.len() <= 127 && choke.len() <= 100);
        assert!(choke.ring.places.front().is_none_or(Option::is_some), "the head is no hole");
    }
    assert!(choke.matched() > 10_000, "{}", choke.matched());
}

#[test]
fn an_unresponsive_flow_keeps_a_smaller_share_than_with_red() {
    // 1 Mbit/s: a flow sends 2 Mbit/s, ten others as much as would fill the link together.
    let mut choke = queue(&[packets("limit", 300), packets("min", 100), packets("max", 200)]);
    let mut ignore = |_: Datagram, _: DropReason| {};
    let mut of_udp = 0_u32;
    let mut sent = 0_u32;
    for step in 0..30_000_u32 {
        let now = Instant::from_nanos(u64::from(step) * 8_000_000);
        choke.enqueue(now, of_flow(0), &mut ignore);
        choke.enqueue(now, of_flow(0), &mut ignore);
        choke.enqueue(now, of_flow(1 + step % 10), &mut ignore);
        if let Some(packet) = choke.dequeue(now, &mut ignore) {
            sent += 1;
            of_udp += u32::from(packet.flow == 0);
        }
    }
    let share = f64::from(of_udp) / f64::from(sent);
    // In proportion to what they send it would be 2/3.
    assert!(share < 0.5, "{share}");
}

#[test]
fn sizes_are_completed_as_tc_does_and_bad_ones_refused() {
    let made = config(&[packets("limit", 200)]).unwrap();
    // max = limit / 4, min = max / 3, and burst = (2 min + max) / 3.
    assert_eq!((made.min, made.max, made.burst), (16, 50, 27));
    let refused = |pairs: &[_]| config(pairs).unwrap_err().parameter;
    assert_eq!(refused(&[packets("limit", 3)]), "limit");
    assert_eq!(refused(&[packets("limit", 100), packets("max", 101)]), "max");
    assert_eq!(refused(&[packets("min", 30), packets("max", 30)]), "min");
    assert_eq!(refused(&[packets("min", 30), packets("burst", 3)]), "burst");
    assert_eq!(refused(&[("probability", Value::Probability(f64::NAN))]), "probability");
    for limit in 4..200 {
        assert!(config(&[packets("limit", limit)]).is_ok(), "{limit}");
    }
}
