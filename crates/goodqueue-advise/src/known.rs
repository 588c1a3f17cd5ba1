//! When the values of runs are known well enough.

use goodqueue_scenario::results::Run;

/// Values of a run in blocks of [`BLOCK_S`] seconds, without the warm-up.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Blocks {
    /// Mean ping, of the blocks in which one was answered.
    ping_s: Vec<f64>,
    /// Goodput of TCP in bit/s, towards the home and the Internet.
    goodput_bps: [Vec<f64>; 2],
}

impl Blocks {
    /// Adds the blocks of a run that has series.
    pub(crate) fn add(&mut self, run: &Run, warmup_s: f64) {
        let Some(series) = &run.series else { return };
        let end_of_run = warmup_s + run.duration_s;
        let starts = (0_u32..).map(|number| warmup_s + f64::from(number) * BLOCK_S);
        for start in starts.take_while(|start| start + BLOCK_S <= end_of_run) {
            let end = start + BLOCK_S;
            let inside = |at: f64| at >= start && at < end;
            let pings = series.pings.iter().filter(|(at, _)| inside(*at)).filter_map(|(_, time)| *time);
            self.ping_s.extend(mean(pings));
            for (side, direction) in ["down", "up"].into_iter().enumerate() {
                let flows = series.goodput_bps.iter().filter(|flow| {
                    run.flows.get(flow.id as usize).is_some_and(|of| of.direction == direction)
                });
                let sum: f64 = flows
                    .filter_map(|flow| {
                        let steps = (0_u32..).zip(&flow.values);
                        mean(
                            steps
                                .filter(|(step, _)| inside(f64::from(*step) * series.step_s))
                                .map(|(_, bps)| *bps),
                        )
                    })
                    .sum();
                self.goodput_bps[side].push(sum);
            }
        }
    }

    /// True if the mean ping is known well enough, with a confidence of 95 %.
    pub(crate) fn knows_latency(&self, added_s: f64, wanted: Known) -> bool {
        uncertainty(&self.ping_s) <= (added_s * wanted.latency_share).max(wanted.latency_s)
    }

    /// True if the goodput is known well enough, with a confidence of 95 %.
    pub(crate) fn knows_goodput(&self, rates_bps: [f64; 2], wanted: Known) -> bool {
        (0..2).all(|side| uncertainty(&self.goodput_bps[side]) <= rates_bps[side] * wanted.goodput_share)
    }
}

/// How well values have to be known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Share of the added latency.
    latency_share: f64,
    /// Latency in seconds that is enough, however small the share.
    latency_s: f64,
    /// Share of the rate of the line.
    goodput_share: f64,
}

impl Known {
    /// For the values that are promised.
    pub(crate) const PROMISED: Self = Self { latency_share: 0.1, latency_s: 0.002, goodput_share: 0.03 };
    /// For the values of today, which people know themselves.
    pub(crate) const COMPARED: Self = Self { latency_share: 0.2, latency_s: 0.005, goodput_share: 0.1 };
}

/// Returns half of the interval in which the mean of these values is with a confidence of 95 %. It
/// is infinite for fewer than two values.
fn uncertainty(values: &[f64]) -> f64 {
    let (Some(mean), true) = (mean(values.iter().copied()), values.len() > 1) else { return f64::INFINITY };
    #[expect(clippy::cast_precision_loss, reason = "a few values")]
    let count = values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    NORMAL_95 * (variance / count).sqrt()
}

/// Returns the mean; `None` without values.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    (count > 0.0).then(|| sum / count)
}

/// Length of a block: longer than the round trips of a path, so that blocks hardly depend on each
/// other.
const BLOCK_S: f64 = 5.0;
/// Quantile of the normal distribution.
const NORMAL_95: f64 = 1.96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_blocks_are_known_and_few_or_scattered_ones_are_not() {
        let of = |ping_s: &[f64]| Blocks { ping_s: ping_s.to_vec(), ..Blocks::default() };
        assert!(of(&[0.050; 6]).knows_latency(0.020, Known::PROMISED));
        assert!(!of(&[0.050]).knows_latency(0.020, Known::PROMISED));
        assert!(!of(&[0.020, 0.120, 0.040, 0.190]).knows_latency(0.070, Known::PROMISED));
        let many: Vec<f64> = [0.045, 0.055].repeat(60);
        assert!(
            of(&many).knows_latency(0.020, Known::PROMISED)
                && !of(&many[..4]).knows_latency(0.020, Known::PROMISED)
        );
    }
}
