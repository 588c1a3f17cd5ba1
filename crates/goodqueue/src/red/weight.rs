//! The weight of a sample in the average queue length: how tc and ns-2 derive the weight, and how
//! the average decays.
//!
//! Only sums, products and quotients, so that every platform computes the same bits.

use crate::time::Duration;

/// The filter's weight as a power of two: the smallest shift at which a burst of `burst` packets
/// into an empty queue stays below `min`. `None` if there is none.
pub(crate) fn filter_shift(min: u32, burst: u32, avpkt: u32) -> Option<u32> {
    // The inequality is that of tc's `tc_red_eval_ewma()`.
    let excess = f64::from(burst) + 1.0 - f64::from(min) / f64::from(avpkt.max(1));
    if excess < 1.0 {
        return None;
    }
    let mut weight = 0.5;
    (1..32).find(|_| {
        let risen = (1.0 - power(1.0 - weight, u64::from(burst))) / weight;
        weight /= 2.0;
        excess <= risen
    })
}

/// The weight that ns-2 derives from the link: from rate and delay, from the rate, or ten times
/// that.
pub(super) fn automatic_weight(rule: &str, packets_per_second: f64, delay: Duration) -> f64 {
    one_minus_exp(match rule {
        "rate" => 1.0 / packets_per_second,
        "fast" => 10.0 / packets_per_second,
        _ => {
            let delay = delay.as_nanos() as f64 / 1e9;
            // ns-2.35 `initialize_params()` takes three times the delay of the link for a round
            // trip, and 100 ms at least; the average spans ten round trips.
            let rtt = (3.0 * (delay + 1.0 / packets_per_second)).max(0.1);
            1.0 / (10.0 * rtt * packets_per_second)
        }
    })
}

/// `1 - e^-x` for x > 0, by halving x until its power series is short.
pub(super) fn one_minus_exp(x: f64) -> f64 {
    let mut small = x;
    let mut halvings = 0;
    while small > 0.5 && halvings < 64 {
        small /= 2.0;
        halvings += 1;
    }
    // 1 - e^-x = x - x^2/2! + x^3/3! - ...
    let mut sum = 0.0;
    let mut term = small;
    // Of at most 0.5, the terms that are left out are far below the precision of `f64`.
    for n in 2..24_u32 {
        sum += term;
        term *= -small / f64::from(n);
    }
    for _ in 0..halvings {
        // 1 - (1 - s)^2
        sum = sum * (2.0 - sum);
    }
    sum
}

/// `base^exponent` by repeated squaring: the same bits on every platform, unlike a library's power.
pub(super) fn power(base: f64, mut exponent: u64) -> f64 {
    let mut square = base;
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    result
}
