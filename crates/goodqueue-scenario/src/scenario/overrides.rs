//! What the command line changes in a scenario.

use super::document::Document;
use crate::diagnostic::Diagnostic;

/// The options of `compare` and `run` that stand for keys of the scenario, as text as given.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Overrides {
    /// `--rate`: `link.down`.
    pub rate: Option<String>,
    /// `--up`: `link.up`.
    pub up: Option<String>,
    /// `--rtt`: `link.rtt`.
    pub rtt: Option<String>,
    /// `--trace-down`: `link.down.trace`, relative to the working directory.
    pub trace_down: Option<String>,
    /// `--trace-up`: `link.up.trace`, relative to the working directory.
    pub trace_up: Option<String>,
    /// `--flows`: replaces the traffic by so many TCP flows each way and a ping.
    pub flows: Option<String>,
    /// `--time`: `duration`.
    pub time: Option<String>,
    /// `--seed`: `seed`.
    pub seed: Option<String>,
    /// `--seeds`: `seeds`.
    pub seeds: Option<String>,
    /// `--qdisc`, each time it was given: replaces `qdiscs`.
    pub qdiscs: Vec<String>,
    /// `--set KEY=VALUE`, each time it was given; applied last.
    pub set: Vec<String>,
}

impl Document {
    /// Applies the options of the command line. A key that they set is no longer swept.
    ///
    /// # Errors
    /// Two options for the same key, or as [`Document::assign`].
    pub fn apply(&mut self, overrides: &Overrides) -> Result<(), Diagnostic> {
        for (rate, trace, names) in [
            (&overrides.rate, &overrides.trace_down, "--rate and --trace-down"),
            (&overrides.up, &overrides.trace_up, "--up and --trace-up"),
        ] {
            if rate.is_some() && trace.is_some() {
                return Err(Diagnostic::new(format!(
                    "{names} exclude each other: a trace is the rate of the link"
                ))
                .help("leave one of the two out"));
            }
        }
        for (argument, key, value) in [
            ("--rate", "link.down", &overrides.rate),
            ("--up", "link.up", &overrides.up),
            ("--rtt", "link.rtt", &overrides.rtt),
            ("--flows", "flows", &overrides.flows),
            ("--time", "duration", &overrides.time),
            ("--seed", "seed", &overrides.seed),
            ("--seeds", "seeds", &overrides.seeds),
        ] {
            if let Some(value) = value {
                self.set(argument, key, value)?;
            }
        }
        if let Some(path) = &overrides.trace_down {
            self.put_trace("--trace-down", "link.down", path)?;
        }
        if let Some(path) = &overrides.trace_up {
            self.put_trace("--trace-up", "link.up", path)?;
        }
        if !overrides.qdiscs.is_empty() {
            self.put_list("--qdisc", "qdiscs", &overrides.qdiscs)?;
        }
        overrides.set.iter().try_for_each(|assignment| self.assign("--set", assignment))
    }
}
