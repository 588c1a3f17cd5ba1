//! What a page asks for.

use std::path::Path;

use goodqueue_scenario::library;
use goodqueue_scenario::run::series::Steps;
use goodqueue_scenario::runs::Runs;
use goodqueue_scenario::scenario::{Document, Names, Overrides};
use goodqueue_scenario::sweep::Sweep;
use goodqueue_tc::diagnostic::Diagnostic;
use serde::Deserialize;

/// A scenario, and changes to it: the arguments of `goodqueue compare`.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Name of a scenario that comes with goodqueue.
    pub builtin: Option<String>,
    /// Text of a scenario file, if no built-in one is named.
    pub toml: Option<String>,
    /// `--rate`.
    pub rate: Option<String>,
    /// `--up`.
    pub up: Option<String>,
    /// `--rtt`.
    pub rtt: Option<String>,
    /// `--flows`.
    pub flows: Option<String>,
    /// `--time`.
    pub time: Option<String>,
    /// `--seed`.
    pub seed: Option<String>,
    /// `--qdisc`, each time it is given.
    pub qdiscs: Vec<String>,
    /// `--set`, each time it is given.
    pub set: Vec<String>,
}

/// Name of a scenario whose text came with the request, in messages.
const GIVEN: &str = "scenario.toml";

impl Request {
    /// Reads a request from JSON.
    ///
    /// # Errors
    /// It is not JSON, or has an unknown key.
    pub fn parse(json: &str) -> Result<Self, Diagnostic> {
        serde_json::from_str(json)
            .map_err(|error| Diagnostic::new(format!("the request cannot be read: {error}")))
    }

    /// Returns the runs that the command would make.
    ///
    /// # Errors
    /// What the command prints.
    pub fn runs(&self) -> Result<Runs<'static>, Diagnostic> {
        Self::runs_of(self.sweep()?)
    }

    /// Returns the points of the scenario with its changes. None of them is resolved yet.
    ///
    /// # Errors
    /// What the command prints.
    pub(crate) fn sweep(&self) -> Result<Sweep<'static>, Diagnostic> {
        let mut document = match (&self.builtin, &self.toml) {
            (Some(name), _) => library::load_builtin(name)?,
            (None, Some(text)) => Document::parse(GIVEN, text, Path::new(""))?,
            (None, None) => Document::default(),
        };
        document.apply(&Overrides {
            rate: self.rate.clone(),
            up: self.up.clone(),
            rtt: self.rtt.clone(),
            flows: self.flows.clone(),
            time: self.time.clone(),
            seed: self.seed.clone(),
            qdiscs: self.qdiscs.clone(),
            set: self.set.clone(),
            ..Overrides::default()
        })?;
        Sweep::new(&document, &Names::default())
    }

    /// Returns the runs of a sweep.
    ///
    /// # Errors
    /// What the command prints.
    pub(crate) fn runs_of(sweep: Sweep<'static>) -> Result<Runs<'static>, Diagnostic> {
        let asked = sweep.point(0)?.1.output.series;
        Runs::with(sweep, Steps::Given(asked))
    }
}
