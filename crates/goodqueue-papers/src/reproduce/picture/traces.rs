//! What is drawn of the cells of a figure.

use serde::Serialize;

use crate::reproduce::paper::FigureForm;

/// A figure, with what came out.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Picture {
    /// Its number in the paper.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Names of the axes, x and y.
    pub axes: [String; 2],
    /// How it is drawn.
    pub form: FigureForm,
    /// Names of parallel axes, or of what is drawn of each cell.
    pub names: Vec<String>,
    /// Range of the first axis in the paper.
    pub x: Option<(f64, f64)>,
    /// Range of the second axis in the paper; of parallel axes, of all of them.
    pub y: Option<(f64, f64)>,
    /// Ranges of the values in the paper, if each group is a panel with its own axis.
    pub panels: Vec<(f64, f64)>,
    /// True if the axis of the values is logarithmic.
    pub log: bool,
    /// The paper's words for the experiments that it shows.
    pub experiments: Vec<String>,
    /// Rows of a timeline: names with years.
    pub events: Vec<(String, Vec<(String, u16)>)>,
    /// One for each cell; for bars of several sorts one for each cell and sort; for stacked shares
    /// one for each flow of each cell.
    pub traces: Vec<Trace>,
}

/// What is drawn of one cell.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Trace {
    /// Its name: the discipline, and the experiment where there are several.
    pub name: String,
    /// The paper's name of the discipline; of stacked shares that of the flow's congestion control,
    /// of bars of several sorts the sort.
    pub label: String,
    /// The experiment, where there are several. Of stacked shares and of bars of several sorts the
    /// discipline.
    pub group: Option<String>,
    /// Its discipline is not among those of the paper.
    pub beyond: bool,
    /// What the paper has, where it says so: points of a line; for boxes and bars a value as x with
    /// y = 0.
    pub paper: Vec<(f64, f64)>,
    /// Points of a line; for a box least, quartile, median, quartile and greatest as x with y = 0;
    /// for bars low, value and high, for medians quartile, median and quartile likewise; for
    /// parallel axes number and value; for stacked shares time and upper edge in percent. Empty
    /// where no run has a sample.
    pub points: Vec<(f64, f64)>,
}

/// No more points than can be seen.
pub(super) fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let every = points.len().div_ceil(MOST_POINTS).max(1);
    // The last point stays, because a distribution must reach its end.
    let last = points.len().saturating_sub(1);
    points.into_iter().enumerate().filter(|(n, _)| n % every == 0 || *n == last).map(|(_, p)| p).collect()
}

const MOST_POINTS: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_points_are_thinned_and_both_ends_stay() {
        let points: Vec<(f64, f64)> = (0_u32..10_001).map(|n| (f64::from(n), 0.0)).collect();
        let thin = thinned(points);
        assert!(thin.len() <= MOST_POINTS + 1);
        assert!(thin[0].0.abs() < 1e-9 && (thin[thin.len() - 1].0 - 10_000.0).abs() < 1e-9);
    }
}
