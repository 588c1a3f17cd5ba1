//! A figure of a paper: its form, its axes and the runs that it shows.

use std::collections::{BTreeMap, BTreeSet};

use goodqueue_tc::diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};

use super::factor::one;
use crate::reproduce::expression::{Cell, Expression, expand};

/// A picture in the paper's own form.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its number in the paper.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How it is drawn.
    pub form: FigureForm,
    /// The runs, as cells with braces; drawn in this order.
    #[serde(default)]
    pub cells: Vec<String>,
    /// What is drawn: a path of samples (CDF, box, medians), of a series, two or more for ellipses
    /// (x, then each y), or expressions (bars, parallel).
    #[serde(default)]
    pub of: Vec<String>,
    /// What the entries of `of` are, where there are several: a bar of each discipline, an axis, or
    /// a y of ellipses. Of stacked shares the names of the `[[flows]]`.
    #[serde(default)]
    pub names: Vec<String>,
    /// Names of the groups, in the order of the experiments; default: the experiments' titles.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Ranges of the values in the paper, one for each experiment, if each experiment is a panel of
    /// bars with its own axis. An empty range stands for that of the values, as of a table. `of`
    /// then has one expression for each panel, or one for all.
    #[serde(default)]
    pub panels: Vec<(f64, f64)>,
    /// Names of the axes, x and y; of boxes, medians and bars that of the values comes first.
    #[serde(default)]
    pub axes: [String; 2],
    /// Range of the first axis in the paper. What lies outside is drawn beside it.
    pub x: Option<(f64, f64)>,
    /// Range of the second axis in the paper; of parallel axes, of all of them.
    pub y: Option<(f64, f64)>,
    /// True if the axis of the values is logarithmic: x of a CDF, y of a series.
    #[serde(default)]
    pub log: bool,
    /// Rows of a timeline: names with years.
    #[serde(default)]
    pub events: BTreeMap<String, Vec<(String, u16)>>,
    /// Factor of the values, to get the unit that the axis names; of ellipses a factor of x.
    #[serde(default = "one")]
    pub scale: f64,
    /// Added to the values of samples, in that unit.
    #[serde(default)]
    pub plus: f64,
    /// True if a series is drawn as its integral over time: bits per second become bits.
    #[serde(default)]
    pub cumulative: bool,
    /// How far x is drawn, of a series in seconds, of a CDF in the unit of the axis; default: all.
    pub until: Option<f64>,
    /// What the paper has, in the units of the axes, by cell.
    #[serde(default)]
    pub paper: BTreeMap<String, Marks>,
}

/// What a paper has of one cell of a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Marks {
    /// A value (box, bars).
    Value(f64),
    /// Points of a line (CDF, series).
    Points(Vec<(f64, f64)>),
}

impl Marks {
    /// As points, a value as x with y = 0.
    #[must_use]
    pub fn points(&self) -> Vec<(f64, f64)> {
        match self {
            Self::Value(value) => vec![(*value, 0.0)],
            Self::Points(points) => points.clone(),
        }
    }
}

/// How a figure is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureForm {
    /// Distribution functions.
    Cdf,
    /// Boxes from quartile to quartile.
    Box,
    /// Bars up to the median, with the quartiles as error bars.
    Medians,
    /// One-sigma ellipses, the x axis reversed.
    Ellipse,
    /// Means over the repetitions, step by step.
    Series,
    /// Bars with the interval of the resampled values.
    Bars,
    /// Parallel coordinates: a line for each cell over several axes.
    Parallel,
    /// Shares of the flows over time, stacked, of the first repetition.
    Stacked,
    /// Years of algorithms; no runs.
    Timeline,
}

impl Figure {
    /// Its cells, braces expanded.
    ///
    /// # Errors
    /// One is not of the form `label@experiment`.
    pub fn expanded_cells(&self) -> Result<Vec<Cell>, Diagnostic> {
        let texts: Vec<Vec<String>> =
            self.cells.iter().map(|cells| expand(cells)).collect::<Result<_, _>>()?;
        texts
            .into_iter()
            .flatten()
            .map(|text| match text.split_once('@') {
                Some((label, experiment)) => {
                    Ok(Cell { label: label.trim().to_owned(), experiment: experiment.trim().to_owned() })
                }
                None => Err(Diagnostic::new(format!("`{text}` is no cell such as `codel@4+4`"))),
            })
            .collect()
    }

    /// The cells that its expressions name themselves, such as those that a value is divided by.
    pub(super) fn cells_in_expressions(&self) -> Result<BTreeSet<Cell>, Diagnostic> {
        let mut cells = BTreeSet::new();
        if matches!(self.form, FigureForm::Bars | FigureForm::Parallel) {
            for text in &self.of {
                Expression::parse(text)?.cells(&mut cells);
            }
        }
        Ok(cells)
    }
}
