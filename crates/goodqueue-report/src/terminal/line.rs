//! The line of one discipline in a table, and numbers as text.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table};
use goodqueue_scenario::metrics::{Column, Digits, Metric};
use goodqueue_scenario::number::decimals;
use goodqueue_scenario::results::Estimate;
use goodqueue_scenario::results::Run;
use goodqueue_sim::Direction;
use goodqueue_tc::{brief, printable};

/// The line of one discipline: its runs, one for each seed.
#[derive(Default)]
pub(crate) struct Line<'r> {
    pub(crate) runs: Vec<&'r Run>,
}

pub(crate) fn lines<'r>(runs: &[&'r Run]) -> Vec<Line<'r>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for run in runs {
        match lines.iter_mut().find(|line| line.runs[0].qdisc == run.qdisc) {
            Some(line) => line.runs.push(run),
            None => lines.push(Line { runs: vec![run] }),
        }
    }
    lines
}

impl Line<'_> {
    /// The discipline.
    pub(super) fn name(&self) -> Cell {
        wrapped(&self.label(), WIDEST_NAME)
    }

    /// Its name as text.
    pub(crate) fn label(&self) -> String {
        brief(&self.runs[0].qdisc)
    }

    /// The numbers of a column, between slashes.
    pub(super) fn cell(&self, column: &Column<'_>) -> Cell {
        Cell::new(self.text(column))
    }

    /// The same as text.
    pub(crate) fn text(&self, column: &Column<'_>) -> String {
        let shown = column.parts.iter().map(|part| {
            let digits = digits_of(part.0);
            if part.0.interval {
                self.estimated(|run| value(run, part.0, part.1), |value| show(Some(value), digits))
            } else {
                show(self.mean(|run| value(run, part.0, part.1)), digits)
            }
        });
        shown.collect::<Vec<_>>().join("/")
    }

    /// Mean over the seeds, and with several seeds half the width of its 95 % confidence interval.
    pub(super) fn estimated(&self, of: impl Fn(&Run) -> Option<f64>, show: impl Fn(f64) -> String) -> String {
        let values: Option<Vec<f64>> = self.runs.iter().map(|run| of(run)).collect();
        match values.and_then(|values| Estimate::from_values(&values)) {
            Some(Estimate { mean, ci95: Some(half), .. }) => format!("{}±{}", show(mean), show(half)),
            Some(Estimate { mean, ci95: None, .. }) => show(mean),
            None => "–".to_owned(),
        }
    }

    /// Mean over the seeds; `None` if any run has no such figure.
    pub(crate) fn mean(&self, of: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> = self.runs.iter().map(|run| of(run)).collect();
        values.map(|values| values.iter().sum::<f64>() / count(values.len() as u64))
    }
}

/// A metric of a run in one direction.
pub(super) fn value(run: &Run, metric: &Metric, direction: Direction) -> Option<f64> {
    (metric.of)(run, direction)
}

/// A name in a table; a long line of tc's takes several of the table.
pub(super) fn wrapped(name: &str, widest: usize) -> Cell {
    let mut lines = vec![String::new()];
    for word in printable::line(name).split(' ') {
        match lines.last_mut().filter(|line| line.is_empty() || line.len() + word.len() < widest) {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => line.extend([" ", word]),
            None => lines.push(format!("  {word}")),
        }
    }
    Cell::new(lines.join("\n"))
}

/// Digits of a metric in the terminal.
pub(super) fn digits_of(metric: &Metric) -> Digits {
    metric.terminal.unwrap_or(Digits::Three)
}

/// A difference in the unit of its metric, with half the width of its confidence interval.
pub(super) fn difference(figure: Option<&Estimate>, metric: &Metric) -> String {
    let Some(figure) = figure else { return "–".to_owned() };
    let mean = figure.mean * metric.scale();
    let half = figure.ci95.unwrap_or_default() * metric.scale();
    let digits = match digits_of(metric) {
        Digits::AfterPoint(digits) => digits,
        Digits::Three => decimals(mean, 3, 2),
    };
    format!("{mean:+.digits$}±{half:.digits$}")
}

pub(super) fn show(value: Option<f64>, digits: Digits) -> String {
    match digits {
        Digits::Three => three_figures(value),
        Digits::AfterPoint(digits) => number(value, digits),
    }
}

pub(super) fn plain_table() -> Table {
    let mut table = Table::new();
    table
        .load_style(NOTHING.header_separator(LineStyle::none().fill('─').junction('─')))
        .set_content_arrangement(ContentArrangement::Disabled);
    table
}

/// Aligns all columns but the first to the right.
pub(super) fn align(table: &mut Table) {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
pub(super) const fn count(number: u64) -> f64 {
    number as f64
}

/// What a person can compare at a glance: 843, 84.3, 8.43, 0.84.
fn three_figures(value: Option<f64>) -> String {
    number(value, value.map_or(2, |value| decimals(value, 3, 2)))
}

pub(super) fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
}

/// Columns for the name of a discipline: the rest of the table has 100 at most.
pub(super) const WIDEST_NAME: usize = 42;
