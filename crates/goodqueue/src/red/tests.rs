//! Configurations of `red` and what an operator sees of it. The algorithms' own stories stand
//! beside them.

use alloc::vec::Vec;

use super::*;
use crate::config::{ConfigError, Configure, Link, Settings, Value};
use crate::packet::story::Datagram;
use crate::random::Recorded;
use crate::time::Rate;

fn config(settings: &Settings, mbit: u64) -> Result<RedConfig, ConfigError> {
    RedConfig::from_settings(settings, &Link { rate: Rate::from_bps(mbit * 1_000_000), ..Link::default() })
}

fn bytes(pairs: &[(&'static str, u64)]) -> Settings {
    pairs.iter().fold(Settings::new(), |settings, &(name, value)| settings.with(name, Value::Bytes(value)))
}

#[test]
fn without_any_setting_the_link_rate_decides_as_in_the_2015_measurements() {
    let sizes = |mbit| config(&Settings::new(), mbit).map(|c| (c.min, c.max, c.burst)).unwrap();
    // 1 Mbit/s carries less than a frame in 10 ms, so one and two frames. Each burst is
    // (2 min + max) / 3000, rounded down.
    assert_eq!(sizes(1), (1_514, 3_028, 2));
    // What the rate carries in 10 and 30 ms.
    assert_eq!(sizes(10), (12_500, 37_500, 20));
    assert_eq!(sizes(100), (125_000, 375_000, 208));
    assert_eq!(config(&Settings::new(), 1).map(|c| c.limit), Ok(127 * 1_514));
    // Four times max, which at 1 Mbit/s is less than 127 frames.
    assert_eq!(config(&Settings::new(), 100).map(|c| c.limit), Ok(1_500_000));
    for rate in [0, 1, 1_000, 40_000_000_000, u64::MAX] {
        let link = Link { rate: Rate::from_bps(rate), ..Link::default() };
        for variant in ["linux", "floyd1993", "ns2"] {
            for adaptive in [false, true] {
                let settings = Settings::new()
                    .with("variant", Value::Choice(variant))
                    .with("adaptive", Value::Flag(adaptive));
                let made = RedConfig::from_settings(&settings, &link);
                assert!(made.is_ok(), "{variant} at {rate} bit/s: {made:?}");
                let _ = Algorithm::new(&made.unwrap());
            }
        }
    }
}

#[test]
fn sizes_are_completed_as_tc_does() {
    let sizes = |pairs: &[_]| config(&bytes(pairs), 10).map(|c| (c.limit, c.min, c.max, c.burst)).unwrap();
    // max = limit / 4, min = max / 3, and burst = (2 min + max) / 3000, all rounded down.
    assert_eq!(sizes(&[("limit", 200_000)]), (200_000, 16_666, 50_000, 27));
    assert_eq!(sizes(&[("limit", 400_000), ("min", 12_500)]), (400_000, 12_500, 37_500, 20));
    assert_eq!(sizes(&[("limit", 60_000), ("max", 30_000)]), (60_000, 10_000, 30_000, 16));
    assert_eq!(sizes(&[("min", 30_000)]).0, 360_000);
}

#[test]
fn adaptive_red_of_2001_sets_itself_up() {
    let settings =
        Settings::new().with("variant", Value::Choice("floyd1993")).with("adaptive", Value::Flag(true));
    let slow = config(&settings, 1).unwrap();
    assert_eq!((slow.min, slow.max), (5_000, 15_000), "five packets");
    let fast = config(&settings, 100).unwrap();
    assert_eq!((fast.min, fast.max), (31_250, 93_750), "half of what 5 ms carry");
    assert!(fast.gentle && (fast.probability - 0.1).abs() < 1e-12);
    assert!((fast.weight - 0.000_08).abs() < 1e-7, "1 - e^(-1/12500): {}", fast.weight);
}

#[test]
fn bad_values_are_refused() {
    let refused = |settings: Settings| config(&settings, 10).unwrap_err().parameter;
    assert_eq!(refused(bytes(&[("min", 3_000), ("max", 3_000)])), "max");
    assert_eq!(refused(bytes(&[("min", 5_000), ("max", 3_000)])), "max");
    // A quarter of 2 bytes leaves nothing to divide by three.
    assert_eq!(refused(bytes(&[("limit", 2)])), "min");
    for p in [0.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(Settings::new().with("probability", Value::Probability(p))), "probability");
    }
    assert_eq!(refused(Settings::new().with("nodrop", Value::Flag(true))), "nodrop");
    assert_eq!(refused(Settings::new().with("gentle", Value::Flag(true))), "gentle");
    assert_eq!(refused(Settings::new().with("weight", Value::Probability(0.1))), "weight");
    let too_short = bytes(&[("limit", 200_000), ("min", 20_000)]).with("burst", Value::Packets(3));
    assert_eq!(refused(too_short), "burst");
}

/// What becomes of packets while the average is above `max`.
fn above_max(flags: &[&'static str], ecn: Ecn) -> (Vec<DropReason>, u64) {
    let settings = bytes(&[("limit", 100_000_000), ("min", 3_000), ("max", 9_000)]);
    let settings = flags.iter().fold(settings, |settings, name| settings.with(name, Value::Flag(true)));
    let mut queue = Red::new(config(&settings, 10).unwrap(), Recorded::default());
    // Zero draws: signals come as early as they can.
    let mut ignore = |_: Datagram, _: DropReason| {};
    for _ in 0..200 {
        queue.enqueue(Instant::ZERO, Datagram::new(1_000, Ecn::Ect0), &mut ignore);
        queue.queue.push_back(Instant::ZERO, Datagram::new(1_000, Ecn::Ect0));
    }
    assert!(queue.average() > 9_000.0);
    let before = queue.stats.marked.packets;
    let mut reasons = Vec::new();
    queue.enqueue(Instant::ZERO, Datagram::new(1_000, ecn), &mut |_: Datagram, why: DropReason| {
        reasons.push(why)
    });
    (reasons, queue.stats.marked.packets - before)
}

#[test]
fn only_capable_packets_are_marked_and_harddrop_and_nodrop_mean_what_they_say() {
    let dropped = [DropReason::Congested].to_vec();
    assert_eq!(above_max(&[], Ecn::Ect0), (dropped.clone(), 0));
    assert_eq!(above_max(&["ecn"], Ecn::Ect0), (Vec::new(), 1));
    assert_eq!(above_max(&["ecn"], Ecn::Ce), (Vec::new(), 0), "it carries CE already");
    assert_eq!(above_max(&["ecn"], Ecn::NotEct), (dropped.clone(), 0));
    assert_eq!(above_max(&["ecn", "harddrop"], Ecn::Ect0), (dropped, 0));
    assert_eq!(above_max(&["ecn", "nodrop"], Ecn::NotEct), (Vec::new(), 0));
}

#[test]
fn presets_are_accepted_on_any_link_and_hold_what_their_papers_say() {
    for preset in crate::registry::PRESETS.iter().filter(|preset| preset.kind == "red") {
        for mbit in [1, 2, 1_000] {
            let made = config(&preset.with(&Settings::new()), mbit);
            assert!(made.is_ok(), "{}: {made:?}", preset.name);
        }
    }
    let harsh = crate::registry::find_preset("hred_aggressive").unwrap().with(&Settings::new());
    let harsh = config(&harsh, 2).unwrap();
    assert_eq!((harsh.min / harsh.avpkt, harsh.max / harsh.avpkt, harsh.limit / 1_500), (3, 40, 100));
    assert!((harsh.weight - 0.04).abs() < 1e-12 && (harsh.probability - 0.65).abs() < 1e-12);
}
