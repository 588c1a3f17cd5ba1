//! The file of a real system.
//!
//! ```json
//! {
//!   "system": "Linux 3.14.1",
//!   "source": "what ran, and how",
//!   "set_ups": {"rrul 10/1": "how the experiment was set up"},
//!   "figures": {"latency": {"codel@rrul 10/1": 0.0778}},
//!   "runs": [
//!     {"experiment": "rrul 10/1", "label": "codel", "seed": 1, "found": {"goodput": {"up": 7.1e5}}}
//!   ],
//!   "tables": [
//!     {"experiment": "3Mbps", "label": "CoDel", "columns": ["bottleneck.down.utilization"],
//!      "rows": [[0, 1, [0.98]], [0, 2, [0.97]], [1, 1, [0.99]], [1, 2, [0.99]]]}
//!   ]
//! }
//! ```
//!
//! `"instead": {"flows.0.delivery_rate_bps": "flows.0.goodput_bps"}` lets the second figure of each
//! table count where the first was not recorded. The claims then say which figure it is.
//!
//! A row of a table is a run: the load, counted from 0 in the order in which the experiment varies
//! its loads, the seed, and the figures at the paths of the columns; `null` where a run has none.

use std::collections::BTreeMap;

use goodqueue_tc::diagnostic::Diagnostic;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::expression::Cell;

/// What a file has to be.
pub(super) const FORM: &str =
    "an object with `system`, `source`, `set_ups`, and `figures`, `runs` or `tables`";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) system: String,
    /// For readers of the file; nothing is computed from it.
    #[serde(rename = "source")]
    _source: String,
    pub(super) set_ups: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) figures: BTreeMap<String, BTreeMap<String, f64>>,
    #[serde(default)]
    runs: Vec<WholeRun>,
    #[serde(default)]
    tables: Vec<Table>,
    /// Paths of figures that were not recorded, and of those that count in their place.
    #[serde(default)]
    instead: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WholeRun {
    experiment: String,
    label: String,
    seed: u64,
    found: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    experiment: String,
    label: String,
    columns: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row(usize, u64, Vec<Option<f64>>);

/// A run of a real system.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) cell: Cell,
    /// Which of the loads that the experiment varies.
    pub(super) load: usize,
    pub(super) seed: u64,
    pub(super) found: Value,
}

impl File {
    /// Reads the text of a file; `name` stands for it in messages.
    pub(super) fn read(name: &str, text: &str) -> Result<Self, Diagnostic> {
        serde_json::from_str(text).map_err(|error| {
            let problem = format!("this holds nothing of a real system: {error}");
            // serde_json gives line 0 to an error without a place.
            Diagnostic::new(problem).allowed(FORM).in_line(name, error.line().max(1))
        })
    }

    /// All runs, by the cell that they belong to.
    pub(super) fn by_cell(&self) -> Result<BTreeMap<Cell, Vec<Run>>, String> {
        let mut cells: BTreeMap<Cell, Vec<Run>> = BTreeMap::new();
        for WholeRun { experiment, label, seed, found } in &self.runs {
            let cell = Cell { label: label.clone(), experiment: experiment.clone() };
            let run = Run { cell: cell.clone(), load: 0, seed: *seed, found: found.clone() };
            cells.entry(cell).or_default().push(run);
        }
        for table in &self.tables {
            let cell = Cell { label: table.label.clone(), experiment: table.experiment.clone() };
            check_columns(&cell, &table.columns)?;
            for Row(load, seed, figures) in &table.rows {
                let columns = table.columns.len();
                if figures.len() != columns {
                    let found = figures.len();
                    return Err(format!("a row of `{cell}` has {found} figures for {columns} columns"));
                }
                let mut found = Value::Object(Map::new());
                for (path, figure) in table.columns.iter().zip(figures) {
                    put(&mut found, path, figure.map_or(Value::Null, Value::from));
                }
                for (missing, recorded) in &self.instead {
                    let place = table.columns.iter().position(|column| column == recorded);
                    if let Some(figure) = place.and_then(|place| figures[place])
                        && !table.columns.contains(missing)
                    {
                        put(&mut found, missing, Value::from(figure));
                    }
                }
                let run = Run { cell: cell.clone(), load: *load, seed: *seed, found };
                cells.entry(cell.clone()).or_default().push(run);
            }
        }
        Ok(cells)
    }
}

/// Refuses paths of columns that exclude each other: a figure has no parts.
fn check_columns(cell: &Cell, columns: &[String]) -> Result<(), String> {
    let mut paths: Vec<Vec<&str>> = columns.iter().map(|path| path.split('.').collect()).collect();
    // In this order a path comes directly before those inside it.
    paths.sort();
    for pair in paths.windows(2) {
        let [outer, inner] = [0, 1].map(|place: usize| pair[place].join("."));
        if outer == inner {
            return Err(format!("a table has the column `{inner}` of `{cell}` twice: leave one of them out"));
        }
        if pair[1].starts_with(&pair[0]) {
            return Err(format!(
                "the column `{outer}` of `{cell}` has parts, because there is a column `{inner}`: rename one of them"
            ));
        }
    }
    Ok(())
}

/// Puts a figure at its path.
fn put(found: &mut Value, path: &str, figure: Value) {
    // No path is inside another one (`check_columns`), so that no place on the way is a number.
    // Indexing a mutable object by a missing name inserts it, and turns `null` into an object.
    let place = path.split('.').fold(found, |place, part| &mut place[part]);
    *place = figure;
}
