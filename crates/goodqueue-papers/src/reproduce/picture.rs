//! What the figures of a paper show here, as numbers to be drawn.

mod stacked;
mod traces;

use goodqueue_tc::diagnostic::Diagnostic;

use super::evidence::Evidence;
use super::expression::{Cell, Expression};
use super::paper::{Figure, FigureForm, Marks, Paper};
use traces::thinned;
pub use traces::{Picture, Trace};

impl Figure {
    /// The figure as it comes out here. Cells that were not run are left out.
    ///
    /// # Errors
    /// An expression or a path that does not exist.
    pub fn picture(&self, paper: &Paper, evidence: &Evidence<'_>) -> Result<Picture, Diagnostic> {
        let error = |error: Diagnostic| error.prefixed(&format!("figure {} of {}", self.id, paper.name));
        let cells = paper.cells_of(self)?;
        let known: Vec<&Cell> = cells.iter().filter(|cell| evidence.repetitions(cell) > 0).collect();
        let traces = match self.form {
            FigureForm::Timeline => Vec::new(),
            FigureForm::Stacked => stacked::traces(self, paper, &known, evidence).map_err(error)?,
            _ => self.traces(paper, &known, evidence).map_err(error)?,
        };
        Ok(Picture {
            id: self.id.clone(),
            title: self.title.clone(),
            axes: self.axes.clone(),
            form: self.form,
            names: self.names.clone(),
            x: self.x,
            y: self.y,
            log: self.log,
            events: self.events.clone().into_iter().collect(),
            traces,
        })
    }

    fn traces(
        &self,
        paper: &Paper,
        cells: &[&Cell],
        evidence: &Evidence<'_>,
    ) -> Result<Vec<Trace>, Diagnostic> {
        let several = cells.iter().any(|cell| cell.experiment != cells[0].experiment);
        let sorts: &[String] = if self.form == FigureForm::Bars { &self.names } else { &[] };
        let mut traces = Vec::new();
        for sort in 0..sorts.len().max(1) {
            for cell in cells {
                let label = paper.name_of(&cell.label).to_owned();
                let experiment = || several.then(|| paper.title_of(&cell.experiment).to_owned());
                let group = sorts.get(sort).cloned().or_else(experiment);
                let name = group.as_ref().map_or_else(|| label.clone(), |group| format!("{label}, {group}"));
                let points = self.points(cell, sort, evidence)?;
                let beyond = paper.is_beyond(&cell.label);
                let of_paper = self.paper.get(&cell.to_string()).map_or_else(Vec::new, Marks::points);
                traces.push(Trace { name, label, group, beyond, paper: of_paper, points });
            }
        }
        Ok(traces)
    }

    fn points(
        &self,
        cell: &Cell,
        sort: usize,
        evidence: &Evidence<'_>,
    ) -> Result<Vec<(f64, f64)>, Diagnostic> {
        let of = |number: usize| {
            self.of.get(number).ok_or_else(|| Diagnostic::new(format!("`of` has no entry {number}")))
        };
        match self.form {
            FigureForm::Cdf => {
                let samples = evidence.samples_of(cell, of(0)?)?;
                let total: f64 = samples.iter().map(|sample| sample.1).sum();
                let mut below = 0.0;
                let points = samples.iter().map(|(value, count)| {
                    below += count;
                    (value * self.scale + self.plus, below / total)
                });
                Ok(thinned(points.take_while(|(x, _)| self.until.is_none_or(|until| *x <= until)).collect()))
            }
            FigureForm::Box | FigureForm::Medians => {
                let samples = evidence.samples_of(cell, of(0)?)?;
                let last = samples.len().saturating_sub(1);
                let at = |quarter: usize| {
                    samples.get(quarter * last / 4).map(|sample| (sample.0 * self.scale + self.plus, 0.0))
                };
                let quarters = if self.form == FigureForm::Box { 0..=4 } else { 1..=3 };
                Ok(quarters.filter_map(at).collect())
            }
            FigureForm::Series => {
                let (step_s, mean) = evidence.series_of(cell, of(0)?)?;
                let mean = if self.cumulative { integral(step_s, mean) } else { mean };
                let points = (0_u32..)
                    .zip(mean)
                    .filter_map(|(step, value)| Some((f64::from(step) * step_s, value? * self.scale)));
                Ok(points.take_while(|(at, _)| self.until.is_none_or(|until| *at <= until)).collect())
            }
            FigureForm::Bars => {
                let expression = Expression::In(Box::new(Expression::parse(of(sort)?)?), cell.clone());
                let measured = evidence.measure(&expression)?;
                if measured.value.is_nan() {
                    return Ok(Vec::new());
                }
                let (low, high) = measured.interval.unwrap_or((measured.value, measured.value));
                Ok([low, measured.value, high].map(|value| (value * self.scale, 0.0)).to_vec())
            }
            // A point for each repetition; whoever draws fits the ellipse.
            FigureForm::Ellipse => {
                let (x, y) = (evidence.in_order(cell, of(0)?)?, evidence.in_order(cell, of(1)?)?);
                Ok(x.into_iter().zip(y).map(|(x, y)| (x * 1e3, y / 1e6)).collect())
            }
            FigureForm::Parallel => {
                let mut points = Vec::new();
                for (number, of) in (0_u32..).zip(&self.of) {
                    let expression = Expression::In(Box::new(Expression::parse(of)?), cell.clone());
                    points.push((f64::from(number), evidence.measure(&expression)?.value));
                }
                Ok(points)
            }
            FigureForm::Stacked | FigureForm::Timeline => Ok(Vec::new()),
        }
    }
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
    use super::*;

    #[test]
    fn a_cumulative_series_grows_by_each_step() {
        let bits = integral(0.5, vec![Some(2.0), None, Some(4.0)]);
        assert_eq!(bits, [Some(1.0), Some(1.0), Some(3.0)]);
    }
}
