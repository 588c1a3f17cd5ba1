//! How good a call sounds: the E-model of ITU-T G.107, for G.711.
//!
//! The rating R starts at 93.2, the value of narrowband telephony with every other impairment at
//! its default. Delay and lost packets reduce it. R determines the mean opinion score, 1 (bad) to
//! 4.5. The part that depends on delay is the approximation of Cole and Rosenbluth (2001), the part
//! that depends on loss is G.107's, with the constants that G.113 gives for G.711.

/// The decoder fills the gaps of lost packets (G.711 Appendix I).
pub const CONCEALED: f64 = 25.1;
/// Robustness of plain G.711 against packet loss (`Bpl` of G.113 Appendix I).
pub const NOT_CONCEALED: f64 = 4.3;

/// R for a delay from mouth to ear in seconds and a share of packets lost at random, from 0 to 1.
///
/// ```
/// use goodqueue_scenario::emodel::{CONCEALED, mos, rating};
///
/// let call = rating(0.100, 0.01, CONCEALED);
/// assert!((call - 87.2).abs() < 0.05 && (mos(call) - 4.26).abs() < 0.005);
/// ```
#[must_use]
pub fn rating(delay_s: f64, loss: f64, robustness: f64) -> f64 {
    let delay_ms = delay_s * 1e3;
    let percent = loss * 1e2;
    // Cole and Rosenbluth's `Id`: a second line begins at 177.3 ms.
    let by_delay = 0.024 * delay_ms + 0.11 * (delay_ms - 177.3).max(0.0);
    // G.107's `Ie,eff` for `Ie` 0 and losses that are independent (`BurstR` 1).
    let by_loss = 95.0 * percent / (percent + robustness);
    93.2 - by_delay - by_loss
}

/// The mean opinion score of a rating.
#[must_use]
pub fn mos(rating: f64) -> f64 {
    // G.107 Annex B.
    if rating <= 0.0 {
        1.0
    } else if rating >= 100.0 {
        4.5
    } else {
        1.0 + 0.035 * rating + 7e-6 * rating * (rating - 60.0) * (100.0 - rating)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_and_scores_are_those_of_the_recommendation() {
        // Such as 100 ms and 1 % without concealment: 93.2 - 2.4 - 95 / 5.3 = 72.9.
        for (delay_ms, loss, robustness, r, score) in [
            (0.0, 0.0, NOT_CONCEALED, 93.2, 4.41),
            (150.0, 0.0, NOT_CONCEALED, 89.6, 4.33),
            (200.0, 0.0, NOT_CONCEALED, 85.9, 4.23),
            (300.0, 0.0, NOT_CONCEALED, 72.5, 3.71),
            (100.0, 0.01, NOT_CONCEALED, 72.9, 3.73),
            (100.0, 0.01, CONCEALED, 87.2, 4.26),
            (100.0, 0.05, NOT_CONCEALED, 39.7, 2.05),
            (100.0, 0.05, CONCEALED, 75.0, 3.82),
        ] {
            let rated = rating(delay_ms / 1e3, loss, robustness);
            assert!((rated - r).abs() <= 0.06, "{delay_ms} ms, {loss}: R {rated}, expected {r}");
            assert!((mos(rated) - score).abs() <= 0.006, "{delay_ms} ms, {loss}: {} {score}", mos(rated));
        }
    }

    #[test]
    fn the_score_stays_between_1_and_4_5() {
        let worst = mos(rating(10.0, 1.0, NOT_CONCEALED));
        assert!((worst - 1.0).abs() < 1e-12, "{worst}");
        // The cubic would give 4.2 here. No call is rated above 93.2.
        assert!((mos(120.0) - 4.5).abs() < 1e-12);
    }
}
