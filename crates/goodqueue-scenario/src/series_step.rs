//! The step of time series: how it is read, and which steps a run may have.

use goodqueue::Duration;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;

/// Reads a step as people give it, such as `100ms`.
///
/// # Errors
/// It is not a time, or it is shorter than any run may have.
pub fn parse(text: &str) -> Result<Duration, Diagnostic> {
    let step = units::time(text)?;
    if step < SHORTEST { Err(too_many(step, None)) } else { Ok(step) }
}

/// Refuses a step that would make more points than the results of a run may hold.
///
/// # Errors
/// The step is shorter than 1 ms, or a run of this duration has more than a million steps.
pub fn check(step: Duration, duration: Duration) -> Result<(), Diagnostic> {
    if step < SHORTEST || duration.as_nanos() / step.as_nanos() > MOST_POINTS {
        return Err(too_many(step, Some(duration)));
    }
    Ok(())
}

fn too_many(step: Duration, duration: Option<Duration>) -> Diagnostic {
    let over = duration.map(|duration| format!(" over {duration}")).unwrap_or_default();
    Diagnostic::new(format!("a time series in steps of {step}{over} would have too many points"))
        .allowed(format!("steps of {SHORTEST} or more, at most {MOST_POINTS} of them in a run"))
}

/// On most links a shorter step would contain at most one packet.
const SHORTEST: Duration = Duration::from_millis(1);
/// Steps of a run.
const MOST_POINTS: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::runs_of;
    use crate::scenario::{Document, Names};
    use crate::sweep::expand;

    #[test]
    fn a_step_that_would_fill_the_memory_is_refused() {
        for text in ["1ns", "0s", "999us"] {
            let refused = parse(text).unwrap_err().to_string();
            assert!(refused.contains("too many points"), "{refused}");
        }
        let ms = Duration::from_millis(1);
        let day = Duration::from_secs(86_400);
        // Just the million points that are allowed.
        assert!(check(ms, Duration::from_secs(1000)).is_ok());
        let refused = check(ms, day).unwrap_err().to_string();
        assert!(refused.contains("in steps of 1ms over 86400s would have too many points"), "{refused}");
        assert!(check(Duration::ZERO, day).is_err());
    }

    #[test]
    fn no_caller_gets_a_run_with_such_a_step() {
        let points = expand(&Document::default(), &Names::default()).unwrap();
        let refused = runs_of(&points, Some(Duration::from_nanos(1))).unwrap_err().to_string();
        assert!(refused.starts_with("`series`: a time series in steps of 1ns over 60s"), "{refused}");
        assert!(runs_of(&points, Some(Duration::from_millis(1))).is_ok());
    }
}
