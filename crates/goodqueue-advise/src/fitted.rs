//! Buffers that explain the pings that somebody measured.

use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;

use crate::advice::added;
use crate::mix::SPEED_TEST;
use crate::model::{Model, Router};
use crate::question::Measurement;
use crate::simulated::Simulator;
use crate::span::Span;

/// Returns the line with the buffers with which its ping under load is the measured one. Both
/// buffers keep their ratio. `None` if the observer cancels.
///
/// # Errors
/// No buffer gives this ping.
pub(crate) fn fitted<'q>(
    model: &Model<'q>,
    measured: Measurement,
    simulator: &Simulator<'_>,
) -> Result<Option<Model<'q>>, Diagnostic> {
    #[expect(clippy::cast_precision_loss, reason = "a round-trip time")]
    let wanted = (measured.loaded.as_nanos() - measured.idle.as_nanos()) as f64 / 1e9;
    let compared = model.lasting(Span::compared(model.question));
    // Coarse, then fine. The latency grows with the buffer.
    let (mut low, mut high): (f64, f64) = (SMALLEST, LARGEST);
    for round in 0..ROUNDS {
        let ratio = (high / low).powf(1.0 / f64::from(POINTS - 1));
        let factors: Vec<f64> = (0..POINTS).map(|point| low * ratio.powf(f64::from(point))).collect();
        let documents = factors
            .iter()
            .map(|factor| compared.scaled(*factor).scenario(&SPEED_TEST, &[Router::unmanaged()], 1))
            .collect::<Result<Vec<_>, _>>()?;
        let Some(runs) = simulator.runs(&documents, [0.0, 0.0])? else { return Ok(None) };
        let latencies: Vec<f64> = runs.iter().map(added).collect();
        let Some(first_above) = latencies.iter().position(|latency| *latency >= wanted) else {
            return Err(Diagnostic::new(format!(
                "no buffer of this line makes pings take {}",
                units::show_time(measured.loaded)
            ))
            .help("check the rates: pings as long as this belong to a slower line"));
        };
        if round + 1 == ROUNDS || first_above == 0 {
            low = factors[first_above.saturating_sub(1)];
            high = factors[first_above];
            let (below, above) = (latencies[first_above.saturating_sub(1)], latencies[first_above]);
            let share =
                if above > below { ((wanted - below) / (above - below)).clamp(0.0, 1.0) } else { 0.0 };
            return Ok(Some(model.scaled(low + (high - low) * share)));
        }
        (low, high) = (factors[first_above - 1], factors[first_above]);
    }
    Ok(Some(model.scaled(high)))
}

/// Factors of the buffers of the kind of line.
const SMALLEST: f64 = 1.0 / 64.0;
const LARGEST: f64 = 64.0;
/// Buffers tried in a round.
const POINTS: i32 = 6;
const ROUNDS: usize = 3;
