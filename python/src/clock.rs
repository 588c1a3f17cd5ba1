//! Times that Python passes.

use goodqueue::Instant;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A clock that moves only by the arguments of methods, and never backwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    now: Instant,
}

impl Clock {
    /// A clock at 0.
    pub(crate) const START: Self = Self { now: Instant::ZERO };

    /// Returns the time.
    pub(crate) const fn now(&self) -> Instant {
        self.now
    }

    /// Moves the clock to `time` in seconds.
    ///
    /// # Errors
    /// The time is out of range, or before that of an earlier call.
    pub(crate) fn advance(&mut self, time: f64) -> PyResult<Instant> {
        let now = instant(time)?;
        if now < self.now {
            let before = seconds(self.now);
            return Err(PyValueError::new_err(format!(
                "time goes backwards, from {before} s to {time} s\n  help: pass times in order"
            )));
        }
        self.now = now;
        Ok(now)
    }
}

/// Returns the instant of a time in seconds.
///
/// # Errors
/// The time is out of range.
pub(crate) fn instant(time: f64) -> PyResult<Instant> {
    let nanos = time * 1e9;
    if !(nanos.is_finite() && (0.0..MOST_NANOS).contains(&nanos)) {
        return Err(PyValueError::new_err(format!(
            "a time of {time} s is not possible\n  allowed: 0 to 1e9 s"
        )));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    Ok(Instant::from_nanos(nanos.round() as u64))
}

/// Returns the seconds of an instant.
#[expect(clippy::cast_precision_loss, reason = "times of a lesson or a test")]
pub(crate) fn seconds(at: Instant) -> f64 {
    at.as_nanos() as f64 / 1e9
}

/// Largest time: 30 years, as text in the message above.
const MOST_NANOS: f64 = 1e18;
