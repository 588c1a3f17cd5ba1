//! Sweeps: a scenario for every combination of the values that `[sweep]` lists.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::scenario::{Document, KeyPlace, Names, Node, Raw, Scenario, Traces};

/// One point of a sweep: the swept keys with their values as written, and the scenario with them.
pub type Point = (BTreeMap<String, Value>, Scenario);

/// More points than this are refused.
pub const MAX_POINTS: usize = 100_000;

/// All points of the document's sweep, the first key varying slowest; one point without values if nothing is swept.
///
/// # Errors
/// A sweep that is not lists under keys, more than [`MAX_POINTS`] points, or a point that does not resolve.
pub fn expand(document: &Document, names: &Names<'_>) -> Result<Vec<Point>, Diagnostic> {
    let mut base = document.clone();
    let mut traces = Traces::new();
    let Some(sweep) = base.take("sweep") else {
        return Ok(vec![(BTreeMap::new(), base.resolve_with(names, &mut traces)?)]);
    };
    let axes = read_axes(document, &sweep)?;
    let count = axes.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.values.len()));
    let Some(count) = count.filter(|count| *count <= MAX_POINTS) else {
        let message =
            Diagnostic::new("the sweep has too many points").allowed(format!("at most {MAX_POINTS}"));
        return Err(document.at(message, &sweep));
    };
    (0..count)
        .map(|number| {
            let mut point = base.clone();
            let mut values = BTreeMap::new();
            let mut rest = number;
            for axis in axes.iter().rev() {
                let value = &axis.values[rest % axis.values.len()];
                rest /= axis.values.len();
                point.put_from(&axis.key, value.clone(), &axis.place)?;
                values.insert(axis.key.clone(), value.to_json());
            }
            Ok((values, point.resolve_with(names, &mut traces)?))
        })
        .collect()
}

/// A swept key and its values.
struct Axis<'d> {
    key: String,
    place: KeyPlace,
    values: &'d [Node],
}

fn read_axes<'d>(document: &Document, sweep: &'d Node) -> Result<Vec<Axis<'d>>, Diagnostic> {
    let form = "keys with lists of values, such as \"link.up\" = [\"1mbit\", \"10mbit\"]";
    let Raw::Table(_) = sweep.raw else {
        let message = Diagnostic::new(format!("[sweep] is {}, not a table", sweep.sort()));
        return Err(document.at(message.allowed(form), sweep));
    };
    let mut axes: Vec<Axis<'d>> = Vec::new();
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
        let overlaps = |axis: &Axis<'_>| {
            axis.key == key
                || axis.key.starts_with(&format!("{key}."))
                || key.starts_with(&format!("{}.", axis.key))
        };
        if let Some(earlier) = axes.iter().find(|axis| overlaps(axis)) {
            let message = Diagnostic::new(format!("`{key}` is swept together with `{}`", earlier.key));
            return Err(document.at(message.help("remove one of the two"), node));
        }
        axes.push(Axis { key, place, values });
    }
    Ok(axes)
}

#[cfg(test)]
mod tests;
