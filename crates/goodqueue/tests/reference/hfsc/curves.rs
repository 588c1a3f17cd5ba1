//! The curves of the model beside the definition of the paper.

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue_testkit::reference::hfsc::{Curve, Function};
use proptest::prelude::*;

use super::Draw;
use super::guarantees::bytes_by;
use crate::harness::runner;

/// §4: the curve of a class is the least of all copies that started when the class became active.
#[test]
fn a_lowered_curve_is_the_least_of_its_copies() {
    let crossings = std::cell::Cell::new(0_u64);
    let outcome = runner(5_000).run(&any::<u64>(), |seed| {
        let mut draw = Draw(Xoshiro256PlusPlus::new(seed));
        let rates = [0, 12_500, 125_000, 1_000_000];
        let curve = Curve { m1: draw.pick(&rates), d: draw.pick(&[0, 500, 20_000]), m2: draw.pick(&rates) };
        let mut function = Function::starting(curve, 0, 0);
        let mut copies = vec![(0, 0)];
        let mut time = 0;
        let mut served = 0;
        for _ in 0..20 {
            time += draw.below(300_000);
            // The class may have got less than its curve, but not more: there the rule for convex
            // curves is that of Linux.
            let before = function.at(time);
            served = (served + draw.below(3_000)).min(before);
            function.lower(time, served);
            copies.push((time, served));
            prop_assert!(function.at(time) == served);
            let other = before.saturating_sub(served);
            crossings.set(crossings.get() + u64::from(other > 0 && curve.m1 > curve.m2));
            for _ in 0..5 {
                let later = time + draw.below(600_000);
                let copy = |(start, bytes): &(u64, u64)| {
                    *bytes as f64 + bytes_by(curve, (later - start) * NANOS_PER_TICK)
                };
                let least = copies.iter().map(copy).fold(f64::INFINITY, f64::min);
                // Each copy is rounded to whole bytes and ticks, and a tick has less than a byte at
                // the largest of these rates.
                let rounding = 2.0 * copies.len() as f64;
                let apart = (function.at(later) as f64 - least).abs();
                prop_assert!(apart <= rounding, "{:?} {:?}: {} bytes at {}", curve, copies, apart, later);
            }
        }
        Ok(())
    });
    if let Err(difference) = outcome {
        panic!("{difference}");
    }
    assert!(crossings.get() > 1_000, "{}", crossings.get());
}

#[test]
fn a_convex_curve_below_its_restarted_form_stays_where_the_two_cross() {
    // Nothing for 100 ms, which are 1,562,500 ticks, then a million bytes per second.
    let curve = Curve { m1: 0, d: 100_000, m2: 1_000_000 };
    let mut function = Function::starting(curve, 0, 0);
    // A packet has left a little early, and the class becomes active again at 60 ms.
    let now = 937_500;
    function.lower(now, 1_500);
    assert_eq!(function.at(now), 0);
    // At 200 ms the old curve has 100,000 bytes. The restarted one has 1500 and 40,000.
    assert_eq!(function.at(3_125_000), 100_000);
    assert_eq!(Function::starting(curve, now, 1_500).at(3_125_000), 41_500);
}

/// ns.
const NANOS_PER_TICK: u64 = 64;
