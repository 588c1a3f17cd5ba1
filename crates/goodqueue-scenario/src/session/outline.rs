//! A scenario before its runs are created.

use goodqueue_tc::diagnostic::Diagnostic;

use crate::run::ScenarioRuns;
use crate::run::series::Steps;
use crate::scenario::{Document, Names, Scenario};
use crate::sweep::Sweep;

/// A scenario of which only the first point of the sweep is resolved. A caller looks at it before
/// it decides which time series it wants, or whether the scenario is too large.
#[derive(Debug)]
pub struct Outline {
    sweep: Sweep<'static>,
    first: Scenario,
}

impl Outline {
    /// Resolves the first point.
    ///
    /// # Errors
    /// It does not resolve, or the sweep is too large.
    pub fn new(document: &Document) -> Result<Self, Diagnostic> {
        let sweep = Sweep::new(document, &Names::default())?;
        let first = sweep.point(0)?.1;
        Ok(Self { sweep, first })
    }

    /// The resolved scenario; of a sweep, its first point.
    #[must_use]
    pub const fn scenario(&self) -> &Scenario {
        &self.first
    }

    /// The sweep.
    #[must_use]
    pub const fn sweep(&self) -> &Sweep<'static> {
        &self.sweep
    }

    /// Returns all runs, with these time series.
    ///
    /// # Errors
    /// As [`ScenarioRuns::with`].
    pub fn runs(self, steps: Steps) -> Result<ScenarioRuns<'static>, Diagnostic> {
        ScenarioRuns::with(self.sweep, steps)
    }
}
