//! The points of one cell, form by form.

use goodqueue_tc::diagnostic::Diagnostic;

use super::traces::thinned;
use crate::reproduce::evidence::Evidence;
use crate::reproduce::expression::{Cell, Expression};
use crate::reproduce::paper::{Figure, FigureForm};

type Points = Result<Vec<(f64, f64)>, Diagnostic>;

/// Returns what is drawn of a cell. `number` selects among several entries of `of`: that of a bar,
/// or the y of an ellipse.
pub(super) fn points_of(figure: &Figure, cell: &Cell, number: usize, evidence: &Evidence<'_>) -> Points {
    match figure.form {
        FigureForm::Cdf => distribution(figure, &evidence.samples_of(cell, path(figure, 0)?)?),
        FigureForm::Box => quartiles(figure, cell, evidence, &[0, 1, 2, 3, 4]),
        FigureForm::Medians => quartiles(figure, cell, evidence, &[1, 2, 3]),
        FigureForm::Series => series(figure, cell, evidence),
        FigureForm::Bars => bar(figure, cell, number, evidence),
        FigureForm::Ellipse => repetitions(figure, cell, number, evidence),
        FigureForm::Parallel => coordinates(figure, cell, evidence),
        FigureForm::Stacked | FigureForm::Timeline => Ok(Vec::new()),
    }
}

fn path(figure: &Figure, number: usize) -> Result<&str, Diagnostic> {
    let entry = figure.of.get(number).map(String::as_str);
    entry.ok_or_else(|| Diagnostic::new(format!("`of` has no entry {number}")))
}

fn distribution(figure: &Figure, samples: &[(f64, f64)]) -> Points {
    let total: f64 = samples.iter().map(|sample| sample.1).sum();
    let mut below = 0.0;
    let points = samples.iter().map(|(value, count)| {
        below += count;
        (value * figure.scale + figure.plus, below / total)
    });
    Ok(thinned(points.take_while(|(x, _)| figure.until.is_none_or(|until| *x <= until)).collect()))
}

fn quartiles(figure: &Figure, cell: &Cell, evidence: &Evidence<'_>, quarters: &[usize]) -> Points {
    let samples = evidence.samples_of(cell, path(figure, 0)?)?;
    let last = samples.len().saturating_sub(1);
    let at = |quarter: &usize| samples.get(quarter * last / 4);
    Ok(quarters.iter().filter_map(at).map(|sample| (sample.0 * figure.scale + figure.plus, 0.0)).collect())
}

fn series(figure: &Figure, cell: &Cell, evidence: &Evidence<'_>) -> Points {
    let (step_s, mean) = evidence.series_of(cell, path(figure, 0)?)?;
    let mean = if figure.cumulative { integral(step_s, mean) } else { mean };
    // A mean holds from the start of its step on; an integral is complete at the end.
    let points = (u32::from(figure.cumulative)..)
        .zip(mean)
        .filter_map(|(step, value)| Some((f64::from(step) * step_s, value? * figure.scale)));
    Ok(points.take_while(|(at, _)| figure.until.is_none_or(|until| *at <= until)).collect())
}

/// The low end of the interval, the value and the high end.
fn bar(figure: &Figure, cell: &Cell, number: usize, evidence: &Evidence<'_>) -> Points {
    // A single expression is that of all panels.
    let entry = if figure.of.len() == 1 { 0 } else { number };
    let expression = Expression::In(Box::new(Expression::parse(path(figure, entry)?)?), cell.clone());
    let measured = evidence.measure(&expression)?;
    // A figure without a sample has no bar.
    if measured.value.is_nan() {
        return Ok(Vec::new());
    }
    let (low, high) = measured.interval.unwrap_or((measured.value, measured.value));
    Ok([low, measured.value, high].map(|value| (value * figure.scale, 0.0)).to_vec())
}

/// A point for each repetition; whoever draws fits the ellipse.
fn repetitions(figure: &Figure, cell: &Cell, number: usize, evidence: &Evidence<'_>) -> Points {
    let x = evidence.in_order(cell, path(figure, 0)?)?;
    let y = evidence.in_order(cell, path(figure, 1 + number)?)?;
    // The axes of ellipses are in milliseconds and Mbit/s.
    Ok(x.into_iter().zip(y).map(|(x, y)| (x * 1e3 * figure.scale, y / 1e6)).collect())
}

fn coordinates(figure: &Figure, cell: &Cell, evidence: &Evidence<'_>) -> Points {
    let mut points = Vec::new();
    for (number, of) in (0_u32..).zip(&figure.of) {
        let expression = Expression::In(Box::new(Expression::parse(of)?), cell.clone());
        points.push((f64::from(number), evidence.measure(&expression)?.value));
    }
    Ok(points)
}

/// The integral of a series over time, up to the end of each step; a step without a value adds
/// nothing.
fn integral(step_s: f64, series: Vec<Option<f64>>) -> Vec<Option<f64>> {
    let add = |sum: &mut f64, value: Option<f64>| {
        *sum += value.unwrap_or(0.0) * step_s;
        Some(Some(*sum))
    };
    series.into_iter().scan(0.0, add).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::rc::Rc;

    use goodqueue_scenario::results::ScenarioRecord;
    use serde_json::json;

    use super::*;
    use crate::reproduce::tree::Tree;

    /// Returns the points of a series of 2, nothing and 4, in steps of half a second.
    fn drawn(more: &str) -> Vec<(f64, f64)> {
        let text = format!("id = \"\"\ntitle = \"\"\nform = \"series\"\nof = [\"series.x\"]\n{more}");
        let figure: Figure = toml::from_str(&text).unwrap();
        let cell = Cell { label: "codel".to_owned(), experiment: "far".to_owned() };
        let measures = BTreeMap::new();
        let mut evidence = Evidence::new(&measures);
        let run = Tree::new(&json!({ "series": { "step_s": 0.5, "x": [2.0, null, 4.0] } }));
        evidence.add(cell.clone(), ScenarioRecord::from_json(json!({ "seeds": 1 })), vec![Rc::new(run)]);
        points_of(&figure, &cell, 0, &evidence).unwrap()
    }

    #[test]
    fn a_cumulative_series_has_its_values_at_the_ends_of_the_steps() {
        assert_eq!(drawn("cumulative = true"), [(0.5, 1.0), (1.0, 1.0), (1.5, 3.0)]);
        assert_eq!(drawn("cumulative = true\nuntil = 1.0"), [(0.5, 1.0), (1.0, 1.0)]);
        // All other values are means, which hold from the start of their step.
        assert_eq!(drawn(""), [(0.0, 2.0), (1.0, 4.0)]);
    }

    #[test]
    fn a_cumulative_series_grows_by_each_step() {
        let bits = integral(0.5, vec![Some(2.0), None, Some(4.0)]);
        assert_eq!(bits, [Some(1.0), Some(1.0), Some(3.0)]);
    }
}
