//! The experiments of a paper, and the scenarios that they stand for.

use std::collections::BTreeMap;

use goodqueue::Duration;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;
use serde::Deserialize;

/// Runs that claims are about.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// How cells call it.
    pub name: String,
    /// The paper's words for it; default: its name.
    pub title: Option<String>,
    /// File in the paper's folder.
    pub scenario: String,
    /// Keys of the scenario that are different here.
    #[serde(default)]
    pub(super) set: BTreeMap<String, toml::Value>,
    /// Keys with several values each; every combination is run, and all of them are the
    /// experiment's repetitions.
    #[serde(default)]
    pub(super) vary: BTreeMap<String, Vec<toml::Value>>,
    /// The same for claims that are undecided, if these vary more.
    #[serde(default)]
    pub(super) full_vary: BTreeMap<String, Vec<toml::Value>>,
    #[serde(default)]
    pub(super) quick: BTreeMap<String, toml::Value>,
    #[serde(default)]
    pub(super) full: BTreeMap<String, toml::Value>,
    #[serde(default)]
    pub(super) series: Option<String>,
    /// Packets in the queue down; the longest time above each is measured.
    #[serde(default)]
    pub spikes: Vec<u64>,
    /// True if the packets of initial windows in the longest queue down are counted.
    #[serde(default)]
    pub initial_windows: bool,
}

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// Enough to see whether most claims hold, in minutes.
    Quick,
    /// The durations of the paper, and this many times its repetitions.
    Full(u32),
}

impl Effort {
    /// Multiples of the paper's repetitions for claims that are still undecided, in this order.
    /// Each further judgement may err again, on at most 5 % of the claims: with the first one,
    /// together on at most 15 %.
    pub const UNTIL_DECIDED: [u32; 2] = [1, 2];
}

impl Experiment {
    /// Every combination of the values that it varies; a single empty one if it varies nothing.
    pub(super) fn combinations(
        &self,
        effort: Effort,
    ) -> Result<Vec<Vec<(&String, &toml::Value)>>, Diagnostic> {
        let varied = match effort {
            Effort::Full(_) if !self.full_vary.is_empty() => &self.full_vary,
            _ => &self.vary,
        };
        let mut all = vec![Vec::new()];
        for (key, values) in varied {
            let count = all.len().saturating_mul(values.len());
            // A key without values would leave the experiment without a run, and its claims without
            // evidence.
            if count == 0 || count > MOST_COMBINATIONS {
                return Err(Diagnostic::new(format!("`vary` of {} makes {count} combinations", self.name))
                    .allowed(format!("1 to {MOST_COMBINATIONS}")));
            }
            let mut longer = Vec::with_capacity(count);
            for begun in &all {
                longer.extend(values.iter().map(|value| [begun.as_slice(), &[(key, value)]].concat()));
            }
            all = longer;
        }
        Ok(all)
    }

    /// Step of the time series that are kept, if any are.
    ///
    /// # Errors
    /// It is not a time.
    pub fn series_step(&self) -> Result<Option<Duration>, Diagnostic> {
        self.series.as_deref().map(units::time).transpose()
    }
}

/// More are a slip of the pen.
const MOST_COMBINATIONS: usize = 10_000;
