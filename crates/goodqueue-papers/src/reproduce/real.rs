//! Runs of a real system, as a paper's folder keeps them: what was set up, and what each run found.
//!
//! The figures of a run have the same paths as those of a run here. A paper's measures and checks
//! therefore mean the same of both, with intervals over the repetitions of each.
//!
//! ```json
//! {
//!   "system": "Linux 3.14.1",
//!   "source": "what ran, and how",
//!   "set_ups": {"rrul 10/1": "how the experiment was set up"},
//!   "runs": [
//!     {"experiment": "rrul 10/1", "label": "codel", "seed": 1, "found": {"goodput": {"up": 7.1e5}}}
//!   ]
//! }
//! ```

use std::collections::{BTreeMap, BTreeSet};

use goodqueue_tc::diagnostic::Diagnostic;
use serde::Deserialize;
use serde_json::Value;

use super::expression::Cell;

/// Runs of a real system.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Recorded {
    /// Which system.
    pub(super) system: String,
    /// What each run found, by cell, in the order of the seeds.
    pub(super) cells: BTreeMap<Cell, Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    system: String,
    /// For readers of the file; nothing is computed from it.
    #[serde(rename = "source")]
    _source: String,
    set_ups: BTreeMap<String, String>,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    experiment: String,
    label: String,
    seed: u64,
    found: Value,
}

impl Recorded {
    /// Reads the text of a file; `name` stands for it in messages.
    pub(super) fn read(name: &str, text: &str) -> Result<Self, Diagnostic> {
        let mut file: File = serde_json::from_str(text).map_err(|error| {
            let problem = format!("this holds no runs of a real system: {error}");
            Diagnostic::new(problem).allowed(FORM).in_line(name, error.line().max(1))
        })?;
        let refuse = |problem: String| Err(Diagnostic::new(problem).allowed(FORM).in_file(name));
        file.runs.sort_by_key(|run| run.seed);
        let mut cells: BTreeMap<Cell, Vec<Value>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for Run { experiment, label, seed, found } in file.runs {
            let cell = Cell { label, experiment };
            if !file.set_ups.contains_key(&cell.experiment) {
                return refuse(format!("`set_ups` does not say how `{}` was set up", cell.experiment));
            }
            if !seen.insert((cell.clone(), seed)) {
                return refuse(format!("`{cell}` has two runs with the seed {seed}"));
            }
            cells.entry(cell).or_default().push(found);
        }
        Ok(Self { system: file.system, cells })
    }
}

const FORM: &str = "an object with `system`, `source`, `set_ups` and `runs`";

#[cfg(test)]
mod tests {
    use super::*;

    fn file(runs: &str) -> String {
        format!(r#"{{"system":"Linux","source":"","set_ups":{{"x":"four flows"}},"runs":[{runs}]}}"#)
    }

    #[test]
    fn runs_are_kept_by_cell_in_the_order_of_their_seeds() {
        let run =
            |seed| format!(r#"{{"experiment":"x","label":"codel","seed":{seed},"found":{{"rate":{seed}}}}}"#);
        let read = Recorded::read("r.json", &file(&format!("{},{}", run(2), run(1)))).unwrap();
        let cell = Cell { label: "codel".to_owned(), experiment: "x".to_owned() };
        let rates: Vec<f64> = read.cells[&cell].iter().filter_map(|found| found["rate"].as_f64()).collect();
        assert_eq!((read.system.as_str(), rates), ("Linux", vec![1.0, 2.0]));
        let twice = Recorded::read("r.json", &file(&format!("{},{}", run(1), run(1)))).unwrap_err();
        assert!(twice.to_string().contains("two runs with the seed 1"), "{twice}");
    }

    #[test]
    fn a_run_whose_set_up_is_not_described_is_refused() {
        let run = r#"{"experiment":"y","label":"codel","seed":1,"found":{}}"#;
        let refused = Recorded::read("r.json", &file(run)).unwrap_err().to_string();
        assert!(refused.contains("`set_ups` does not say how `y` was set up"), "{refused}");
        let refused = Recorded::read("r.json", "{\n\"system\": 3}").unwrap_err().to_string();
        assert!(refused.starts_with("r.json:2"), "{refused}");
    }
}
