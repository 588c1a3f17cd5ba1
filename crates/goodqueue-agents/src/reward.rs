//! The reward of a control interval.
//!
//! ```text
//! reward = utilization × D / (D + delay),   D = 20 ms
//! ```
//!
//! The reward is 1 on a full link without a queue, and 0 on an idle link. A delay of 20 ms halves
//! it. Only the four basic operations occur, so every machine computes the same bits.

/// The delay that halves the reward, in seconds.
pub const HALVING_DELAY: f64 = 0.020;

/// Returns the reward for a share of the link that was used and a delay in seconds.
#[must_use]
pub fn reward(utilization: f64, delay: f64) -> f64 {
    utilization * HALVING_DELAY / (HALVING_DELAY + delay)
}

/// Returns a quantity of unlimited size as a number from 0 to 1: `half` becomes 0.5.
#[must_use]
pub(crate) fn squashed(quantity: f64, half: f64) -> f64 {
    quantity / (quantity + half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_link_without_a_queue_has_the_reward_1_and_20_ms_halve_it() {
        assert!((reward(1.0, 0.0) - 1.0).abs() < 1e-12);
        assert!((reward(1.0, 0.020) - 0.5).abs() < 1e-12);
        assert!(reward(0.0, 0.0).abs() < 1e-12);
    }
}
