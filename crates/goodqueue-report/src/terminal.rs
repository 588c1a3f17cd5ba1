//! Results as text: the tables that `compare` and `run` print.
//!
//! Each discipline has a line. The columns are the metrics of the catalogue that these runs have.

mod across;
mod best;
mod explained;
mod headline;
pub(crate) mod line;
mod medians;
mod pairs;
pub(crate) mod short;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::{Cell, Table};
use goodqueue_scenario::metrics::{self, Column, Group, catalogue};
use goodqueue_scenario::results::{Grade, RateRecord, Results, Run, ScenarioRecord};
use goodqueue_scenario::scenario::Direction;
use goodqueue_scenario::{elsewhere, shared};
use goodqueue_tc::{brief, printable};

use crate::differences::Differences;
use crate::grade::of_mean;
pub use across::across;
pub use explained::explained;
pub use headline::{headline, headline_of_sweep};
use line::{Line, align, count, lines, number, plain_table, value};
use short::short_table;

/// How much the tables show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// The most important metrics, in lines of this many columns.
    Short(usize),
    /// All metrics.
    Wide,
}

/// Returns what a command prints about results: if `metric` names a key of the catalogue, this
/// metric across the sweep ([`across`]); otherwise the [`tables`]. The short view of a sweep with
/// several points is one metric too, the wide one has the tables of each point.
#[must_use]
pub fn overview(results: &Results, metric: Option<&str>, view: View) -> String {
    let is_swept = results.runs.windows(2).any(|pair| pair[0].sweep != pair[1].sweep);
    match (metric, view, is_swept) {
        (None, View::Wide, _) => return tables(results, view),
        (None, View::Short(_), false) => return tables(results, view) + MORE,
        // One metric across the sweep.
        (Some(_), ..) | (None, View::Short(_), true) => {}
    }
    let runs: Vec<&Run> = results.runs.iter().collect();
    let remarks = shared::remarks(&runs).into_iter().chain(elsewhere::remarks(&runs));
    remarks.fold(across(results, metric), |text, remark| format!("{text}{}\n", printable::line(&remark)))
}

/// Returns the tables of all runs: for each point of a sweep, one line for each discipline with the
/// means over its seeds.
///
/// ```
/// use goodqueue_report::terminal;
/// use goodqueue_scenario::scenario::{Document, Overrides};
///
/// let mut document = Document::default();
/// document.apply(&Overrides {
///     rate: Some("20mbit".into()),
///     time: Some("2s".into()),
///     qdiscs: vec!["codel".into(), "fq_codel target 13ms".into()],
///     ..Overrides::default()
/// })?;
/// let results = goodqueue_scenario::simulate(&document)?;
/// let tables = terminal::tables(&results, terminal::View::Short(80));
/// assert!(tables.contains("fq_codel target 13ms"));
/// # Ok::<(), goodqueue_tc::diagnostic::Diagnostic>(())
/// ```
#[must_use]
pub fn tables(results: &Results, view: View) -> String {
    let mut text = String::new();
    let mut groups: Vec<(&BTreeMap<String, serde_json::Value>, Vec<&Run>)> = Vec::new();
    for run in &results.runs {
        match groups.iter_mut().find(|group| *group.0 == run.sweep) {
            Some(group) => group.1.push(run),
            None => groups.push((&run.sweep, vec![run])),
        }
    }
    for (sweep, runs) in groups {
        if !sweep.is_empty() {
            let point: Vec<String> = sweep
                .iter()
                .map(|(key, value)| format!("{} = {}", printable::line(key), plain(value)))
                .collect();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\n{}", point.join(", "));
        }
        let lines = lines(&runs);
        let groups = catalogue(&runs);
        let (main, columns) = match view {
            View::Short(width) => short_table(&lines, &groups, width),
            View::Wide => {
                let columns = main_columns(&lines, &groups);
                (main_table(&lines, &columns), columns)
            }
        };
        let _ = writeln!(text, "{}", main.trim_fmt());
        if let Some(sentence) = best::best(&lines) {
            let _ = writeln!(text, "\n{sentence}");
        }
        if view == View::Wide {
            for more in more_tables(&lines, &groups) {
                let _ = writeln!(text, "\n{}", more.trim_fmt());
            }
            let summary: Vec<_> = results.summary.iter().filter(|one| one.sweep == *sweep).collect();
            if let Some(differences) = Differences::new(&summary, &groups) {
                let _ = writeln!(text, "\n{}", pairs::pairs(&differences).trim_fmt());
            }
        }
        text.push_str(&medians::remarks(&lines, &columns));
        let shared = lines.iter().flat_map(|line| shared::remarks(&line.runs));
        for remark in shared.chain(elsewhere::remarks(&runs)) {
            let _ = writeln!(text, "{}", printable::line(&remark));
        }
        if ends_blocked(&results.scenario) {
            for line in &lines {
                let left = line.mean(|run| Some(count(run.engine.in_flight_packets)));
                let _ = writeln!(
                    text,
                    "{}: the line was blocked when the run ended; {} packets were queued or on their way",
                    brief(&line.runs[0].qdisc),
                    number(left, 0)
                );
            }
        }
    }
    text
}

/// Returns a table of the differences between live and simulated runs of the same scenario: for
/// each discipline, the means over seeds.
#[must_use]
pub fn differences(simulated: &[Run], live: &[Run]) -> String {
    let runs: Vec<&Run> = simulated.iter().chain(live).collect();
    let groups = catalogue(&runs);
    // Not every mix has calls, pages or transfers.
    let columns: Vec<Column<'_>> = groups
        .iter()
        .flat_map(|group| group.columns())
        .flat_map(|column| column.compared().collect::<Vec<_>>())
        .filter(|column| runs.iter().any(|run| value(run, column.parts[0].0, column.parts[0].1).is_some()))
        .collect();
    let mut table = plain_table();
    table.set_header(
        ["\n\nlive less simulated"]
            .into_iter()
            .map(str::to_owned)
            .chain(columns.iter().map(|column| column.heading.clone())),
    );
    let lines =
        simulated.iter().zip(live).fold(Vec::<(Line<'_>, Line<'_>)>::new(), |mut lines, (one, other)| {
            let same = |line: &&mut (Line<'_>, Line<'_>)| {
                line.0.runs[0].qdisc == one.qdisc && line.0.runs[0].sweep == one.sweep
            };
            match lines.iter_mut().find(same) {
                Some(line) => {
                    line.0.runs.push(one);
                    line.1.runs.push(other);
                }
                None => lines.push((Line { runs: vec![one] }, Line { runs: vec![other] })),
            }
            lines
        });
    for (simulated, live) in &lines {
        let mut cells = vec![simulated.name()];
        cells.extend(columns.iter().map(|column| {
            let mean = |line: &Line<'_>| line.mean(|run| value(run, column.parts[0].0, column.parts[0].1));
            Cell::new(match (mean(simulated), mean(live)) {
                // Nothing is a percentage of zero.
                (Some(one), Some(other)) if one > 0.0 => {
                    format!("{:+.2} ({:+.0} %)", other - one, (other - one) / one * 100.0)
                }
                (Some(one), Some(other)) => format!("{:+.2}", other - one),
                _ => "–".to_owned(),
            })
        }));
        table.add_row(cells);
    }
    align(&mut table);
    format!("{}\n", table.trim_fmt())
}

/// True if a link has a rate of 0 from some instant on for ever.
fn ends_blocked(scenario: &ScenarioRecord) -> bool {
    let rates = scenario.links().flat_map(|link| Direction::BOTH.map(|direction| link.rate(direction)));
    rates.flatten().any(|rate| rate == RateRecord::Schedule { ends_blocked: true })
}

fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| printable::line(text).into_owned())
}

/// The columns of the main metrics: those that the traffic of these runs has.
fn main_columns<'g>(lines: &[Line<'_>], groups: &'g [Group]) -> Vec<Column<'g>> {
    let applies = |group: &Group| lines.iter().flat_map(|line| &line.runs).any(|run| (group.applies)(run));
    let main = groups.iter().filter(|group| group.table == metrics::Table::Main && applies(group));
    let columns = main.flat_map(|group| group.columns().into_iter().map(move |column| (group, column)));
    columns
        .filter(|(group, column)| !group.hides_zeros || !is_zero(lines, column))
        .map(|(_, column)| column)
        .collect()
}

/// The table of the main metrics.
fn main_table(lines: &[Line<'_>], columns: &[Column<'_>]) -> Table {
    let mut table = plain_table();
    let headings = columns.iter().map(|column| column.heading.as_str());
    // Headings have three lines, and a single word stands in the last one.
    table.set_header(["\n\nqdisc"].into_iter().chain(headings).chain(["\n\ngrade"]));
    for line in lines {
        let grade = of_mean(&line.runs).map_or("–", Grade::name);
        let cells = columns.iter().map(|column| line.cell(column));
        table.add_row([line.name()].into_iter().chain(cells).chain([Cell::new(grade)]));
    }
    align(&mut table);
    table
}

/// True if the column has the value 0, or none, in every run.
fn is_zero(lines: &[Line<'_>], column: &Column<'_>) -> bool {
    let mut runs = lines.iter().flat_map(|line| &line.runs);
    runs.all(|run| column.parts.iter().all(|part| value(run, part.0, part.1).unwrap_or(0.0) == 0.0))
}

/// The tables below the first: losses, spikes, other queues, airtime. Their width fits a screen.
fn more_tables(lines: &[Line<'_>], groups: &[Group]) -> Vec<Table> {
    let runs = || lines.iter().flat_map(|line| &line.runs);
    let says = |column: &Column<'_>| {
        lines
            .iter()
            .any(|line| column.parts.iter().any(|part| line.mean(|run| value(run, part.0, part.1)).is_some()))
    };
    let of_theme = |theme| {
        let groups = groups.iter().filter(move |group| group.table == theme);
        let groups = groups.filter(|group| runs().any(|run| (group.applies)(run)));
        let columns: Vec<Column<'_>> = groups.flat_map(|group| group.columns()).filter(says).collect();
        columns.chunks(MOST_COLUMNS).map(|columns| table(lines, columns)).collect::<Vec<_>>()
    };
    metrics::Table::ALL
        .into_iter()
        .filter(|theme| *theme != metrics::Table::Main)
        .flat_map(of_theme)
        .collect()
}

fn table(lines: &[Line<'_>], columns: &[Column<'_>]) -> Table {
    let mut table = plain_table();
    let headings = columns.iter().map(|column| column.heading.as_str());
    table.set_header(["\n\nqdisc"].into_iter().chain(headings));
    for line in lines {
        table.add_row([line.name()].into_iter().chain(columns.iter().map(|column| line.cell(column))));
    }
    align(&mut table);
    table
}

/// What the short table leaves out.
const MORE: &str = "\nAll metrics: --wide. What they mean: --explain-columns.\n";

/// Columns of the tables below the first.
const MOST_COLUMNS: usize = 6;
