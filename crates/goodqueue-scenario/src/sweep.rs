//! Sweeps: one scenario for every combination of the values in `[sweep]`. A point is resolved on
//! request.

use std::collections::{BTreeMap, BTreeSet};

use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::Value;

use crate::scenario::{Document, KeyPlace, Names, Node, Raw, Scenario};

/// One point of a sweep: the swept keys with their values as written, and the scenario with them.
pub type Point = (BTreeMap<String, Value>, Scenario);

/// More runs than this are refused: the results of all of them are held until the last one has
/// finished.
pub const MAX_RUNS: usize = 100_000;

/// The points of a document's sweep.
#[derive(Debug)]
pub struct Sweep<'n> {
    /// The document without its sweep.
    base: Document,
    axes: Vec<Axis>,
    count: usize,
    names: Names<'n>,
}

/// All points of the document's sweep, the first key varying slowest; one point without values if
/// nothing is swept.
///
/// # Errors
/// As [`Sweep::new`] and [`Sweep::point`].
pub fn expand(document: &Document, names: &Names<'_>) -> Result<Vec<Point>, Diagnostic> {
    Sweep::new(document, names)?.points().collect()
}

impl<'n> Sweep<'n> {
    /// The sweep of `document`; a single point without values if nothing is swept.
    ///
    /// # Errors
    /// A sweep that is not lists under keys, or one that makes more than [`MAX_RUNS`] runs.
    pub fn new(document: &Document, names: &Names<'n>) -> Result<Self, Diagnostic> {
        let mut base = document.clone();
        let swept = base.take("sweep");
        let axes = match &swept {
            Some(swept) => read_axes(document, swept)?,
            None => Vec::new(),
        };
        let runs = count_runs(&base, &axes);
        if runs > MAX_RUNS as u128 {
            let help = "sweep fewer values, list fewer disciplines, or lower `seeds`";
            // The product saturates at 2^128 - 1, which is 3.4 * 10^38.
            let shown = if runs == u128::MAX { "more than 10^38".to_owned() } else { runs.to_string() };
            let message = Diagnostic::new(format!("the scenario makes {shown} runs"))
                .allowed(format!("at most {MAX_RUNS}"))
                .help(help);
            return Err(match &swept {
                Some(swept) => document.at(message, swept),
                None => document.about(message),
            });
        }
        axes.iter().try_for_each(|axis| axis.check_distinct(document))?;
        // At most `MAX_RUNS`, counted in 128 bits above, so this product cannot overflow.
        let count = axes.iter().map(|axis| axis.values.len()).product();
        Ok(Self { base, axes, count, names: *names })
    }

    /// Number of points, at least one.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The point of this number; the first key varies slowest.
    ///
    /// # Errors
    /// It does not resolve.
    pub fn point(&self, number: usize) -> Result<Point, Diagnostic> {
        let (values, document) = self.document(number)?;
        Ok((values, document.resolve(&self.names)?))
    }

    /// Returns an error for each option of the command line that has no effect on the point of this
    /// number, `scenario`.
    ///
    /// # Errors
    /// It does not resolve.
    pub(crate) fn without_effect(
        &self,
        number: usize,
        scenario: &Scenario,
    ) -> Result<Vec<Diagnostic>, Diagnostic> {
        Ok(self.document(number)?.1.without_effect(scenario, &self.names))
    }

    /// All points in order, each resolved when its turn comes.
    pub fn points(&self) -> impl Iterator<Item = Result<Point, Diagnostic>> + '_ {
        (0..self.count).map(|number| self.point(number))
    }

    /// The values of each key that is swept, each once.
    #[must_use]
    pub fn values(&self) -> BTreeMap<&str, Vec<Value>> {
        let mut swept: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for axis in &self.axes {
            let values = swept.entry(&axis.key).or_default();
            for value in axis.values.iter().map(Node::to_json) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        swept
    }

    /// Returns the scenario as it was written, without what differs between the runs of a sweep
    /// that grows, and without texts and outputs.
    #[must_use]
    pub fn base_as_written(&self) -> Value {
        let mut base = self.base.to_json();
        if let Some(keys) = base.as_object_mut() {
            keys.retain(|key, _| !NOT_OF_BASE.contains(&key.as_str()));
            // Thresholds are measured in the run; the other outputs are files.
            if let Some(output) = keys.get_mut("output").and_then(Value::as_object_mut) {
                output.retain(|key, _| key == "spikes");
            }
            // A sweep with an empty table is the same as one without it.
            keys.retain(|key, value| key != "output" || value.as_object().is_some_and(|of| !of.is_empty()));
        }
        base
    }

    fn document(&self, number: usize) -> Result<(BTreeMap<String, Value>, Document), Diagnostic> {
        let mut point = self.base.clone();
        let mut values = BTreeMap::new();
        let mut rest = number;
        // The last key varies fastest, like the last digit of a number.
        for axis in self.axes.iter().rev() {
            let value = &axis.values[rest % axis.values.len()];
            rest /= axis.values.len();
            point.put_from(&axis.key, value.clone(), &axis.place)?;
            values.insert(axis.key.clone(), value.to_json());
        }
        Ok((values, point))
    }
}

/// Texts about the whole scenario.
const TEXTS: &[&str] = &["name", "title", "question", "expect", "source"];

/// Keys that may differ between shards of one sweep.
const NOT_OF_BASE: &[&str] = &["name", "title", "question", "expect", "source", "qdiscs", "seed", "seeds"];

/// A swept key and its values.
#[derive(Debug)]
struct Axis {
    key: String,
    place: KeyPlace,
    values: Vec<Node>,
}

impl Axis {
    /// Refuses a value that is listed twice: its runs would be the same twice, and count as two
    /// repetitions without any difference between them.
    fn check_distinct(&self, document: &Document) -> Result<(), Diagnostic> {
        let mut known = BTreeSet::new();
        let repeated = self.values.iter().find(|value| !known.insert(value.to_json().to_string()));
        repeated.map_or(Ok(()), |value| {
            let message = Diagnostic::new(format!("`{}` of [sweep] has a value twice", self.key));
            let help = "remove one of the two; `seeds` repeats every run with other random numbers";
            Err(document.at(message.help(help), value))
        })
    }
}

/// Runs of all points together, without resolving any of them.
fn count_runs(base: &Document, axes: &[Axis]) -> u128 {
    // A few lists in a file of 1 MiB multiply to more than 64 bits.
    let mut runs = 1u128;
    for (key, count) in [("seeds", seeds_of as fn(Option<&Node>) -> u128), ("qdiscs", disciplines_of)] {
        let of_key = match axes.iter().find(|axis| axis.key == key) {
            // Each value of this key makes another number of runs, so the numbers are added.
            Some(axis) => axis.values.iter().map(|value| count(Some(value))).fold(0, u128::saturating_add),
            None => count(base.node(key)),
        };
        runs = runs.saturating_mul(of_key);
    }
    let others = axes.iter().filter(|axis| !["seeds", "qdiscs"].contains(&axis.key.as_str()));
    others.fold(runs, |runs, axis| runs.saturating_mul(axis.values.len() as u128))
}

/// A value that is no number of seeds is refused when its point is resolved.
fn seeds_of(node: Option<&Node>) -> u128 {
    match node.map(|node| &node.raw) {
        Some(Raw::Integer(seeds)) => u128::try_from(*seeds).unwrap_or(1).max(1),
        _ => 1,
    }
}

fn disciplines_of(node: Option<&Node>) -> u128 {
    match node.map(|node| &node.raw) {
        // A list without disciplines is refused when its point is resolved.
        Some(Raw::List(disciplines)) => disciplines.len().max(1) as u128,
        Some(_) => 1,
        None => crate::scenario::DEFAULT_QDISCS.len() as u128,
    }
}

/// True for keys of which results hold one value for all points. Only the thresholds of `output`
/// change what a run measures.
fn describes_all_points(key: &str) -> bool {
    let top = key.split('.').next().unwrap_or_default();
    TEXTS.contains(&top) || (top == "output" && !key.starts_with("output.spikes"))
}

fn read_axes(document: &Document, sweep: &Node) -> Result<Vec<Axis>, Diagnostic> {
    let form = "keys with lists of values, such as \"link.up\" = [\"1mbit\", \"10mbit\"]";
    let Raw::Table(_) = sweep.raw else {
        let message = Diagnostic::new(format!("[sweep] is {}, not a table", sweep.sort()));
        return Err(document.at(message.allowed(form), sweep));
    };
    let mut axes: Vec<Axis> = Vec::new();
    for (key, place, node) in sweep.leaves() {
        let Raw::List(values) = &node.raw else {
            let message = Diagnostic::new(format!("`{key}` of [sweep] is {}, not a list", node.sort()));
            return Err(document.at(message.allowed(form), node));
        };
        if values.is_empty() {
            return Err(
                document.at(Diagnostic::new(format!("the values of `{key}` in [sweep] are none")), node)
            );
        }
        if key == "sweep" || key.starts_with("sweep.") {
            return Err(document.at(Diagnostic::new("a sweep cannot be swept"), node));
        }
        if describes_all_points(&key) {
            let message = Diagnostic::new(format!("`{key}` cannot be swept"))
                .help("all points of a sweep share it, as they share the files of results");
            return Err(document.at(message, node));
        }
        let overlaps = |axis: &Axis| {
            axis.key == key
                || axis.key.starts_with(&format!("{key}."))
                || key.starts_with(&format!("{}.", axis.key))
        };
        if let Some(earlier) = axes.iter().find(|axis| overlaps(axis)) {
            let message = Diagnostic::new(format!("`{key}` is swept together with `{}`", earlier.key));
            return Err(document.at(message.help("remove one of the two"), node));
        }
        axes.push(Axis { key, place, values: values.clone() });
    }
    Ok(axes)
}

#[cfg(test)]
mod tests;
