//! The tables: a row per discipline and a column per metric, in plain HTML that works without
//! JavaScript.

mod pairs;

use std::fmt::Write as _;

use goodqueue_scenario::metrics::{Better, Digits, LOSSES, PACKETS, SOJOURN, SOJOURN_IN, Table};
use goodqueue_scenario::number::decimals;
use goodqueue_scenario::results::Aggregate;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::scenario::Direction;

use crate::escape::{clip, html};
use crate::grade::Grades;
use crate::group::{Grouped, Point};
use crate::meaning::plain;
use crate::metric::{self, Spread, columns};
use crate::number::time;
use crate::style::Style;
use crate::swatch::swatch;
use crate::words;

/// Returns the tables of each sweep point. `summary` has the differences between disciplines.
pub(crate) fn tables(grouped: &Grouped<'_>, summary: &[Aggregate]) -> String {
    let columns = columns(grouped);
    let of_point = |point: &Point<'_>| -> String {
        let table = |which: Table| {
            let metrics: Vec<&metric::Column> =
                columns.iter().filter(|metric| metric.table() == which).collect();
            if metrics.is_empty() { String::new() } else { table(grouped, point, &metrics, which) }
        };
        Table::ALL.into_iter().map(table).collect::<String>() + &pairs::pairs(point, summary)
    };
    grouped.points.iter().enumerate().fold(String::new(), |mut out, (i, point)| {
        let title = if point.label.is_empty() {
            String::new()
        } else {
            format!("<h3>{}</h3>\n", html(&point.label))
        };
        let _ = write!(
            out,
            "<section class=\"point\" data-point=\"{i}\">\n{title}<p class=\"words\">{}, {}</p>\n{}</section>\n",
            html(&words::parameters(point)),
            html(&words::seeds(point)),
            of_point(point)
        );
        out
    })
}

fn table(grouped: &Grouped<'_>, point: &Point<'_>, metrics: &[&metric::Column], which: Table) -> String {
    let graded = which == Table::Main;
    let styles = Style::all(grouped);
    let mut shown: Vec<Column<'_>> = Vec::new();
    for metric in metrics {
        let starts = shown.last().is_none_or(|before| before.metric.title != metric.title);
        shown.push(Column::new(metric, starts, point, grouped.link));
    }
    let what = match which {
        Table::Main => "Metrics per discipline",
        Table::Losses => "Losses and shares per discipline",
        Table::Spikes => "Time above queue levels per discipline",
        Table::Queues => "Sojourn time outside the bottleneck per discipline",
        Table::Air => "Airtime per discipline",
    };
    let class = if graded { "" } else { " class=\"more\"" };
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{what}\">\n<table{class}>\n"
    );
    out += &head(grouped.link, &shown, graded);
    out += "<tbody>\n";
    for (d, runs) in point.runs.iter().enumerate() {
        // A point may lack a discipline that another point of the sweep has.
        let Some(first) = runs.first() else { continue };
        let _ = write!(
            out,
            "<tr><th scope=\"row\" title=\"{}\">{}{}</th>{}",
            html(&clip(&first.qdisc_resolved, 400)),
            swatch(styles[d]),
            html(&grouped.labels[d]),
            if graded { grade(runs) } else { String::new() }
        );
        for column in &shown {
            out += &column.cell(d);
        }
        out += "</tr>\n";
    }
    out += "</tbody>\n</table>\n</div>\n";
    out
}

fn head(link: Direction, columns: &[Column<'_>], graded: bool) -> String {
    let mut groups = String::from("<thead>\n<tr><th scope=\"col\" rowspan=\"2\">Discipline</th>");
    if graded {
        groups += "<th scope=\"col\" rowspan=\"2\" class=\"grade\">Grade</th>";
    }
    let mut names = String::from("<tr>");
    for (i, column) in columns.iter().enumerate() {
        let m = column.metric;
        if column.starts {
            let same: Vec<&metric::Column> =
                columns[i..].iter().map(|c| c.metric).take_while(|other| other.title == m.title).collect();
            let group = html(&m.title);
            let of = match m.title.as_str() {
                SOJOURN | LOSSES => format!("{group} {}", link.name()),
                PACKETS => format!("{group}, both links"),
                of if of.starts_with("Queue above") || of.starts_with(SOJOURN_IN) || of == "Mean queue" => {
                    format!("{group}, {}", link.name())
                }
                _ => group,
            };
            // A unit shared by all columns of a group appears above them; otherwise each column has
            // its own.
            let shared =
                if same.iter().all(|other| other.unit() == m.unit()) { unit(m) } else { String::new() };
            let _ = write!(
                groups,
                "<th scope=\"colgroup\" colspan=\"{}\" class=\"group\">{of}{shared}</th>",
                same.len()
            );
        }
        let alike = columns.iter().filter(|c| c.metric.title == m.title).all(|c| c.metric.unit() == m.unit());
        let _ = write!(
            names,
            "<th scope=\"col\"{} title=\"{}\">{}{}</th>",
            if column.starts { " class=\"group\"" } else { "" },
            html(&plain(m.doc())),
            html(m.name()),
            if alike { String::new() } else { unit(m) }
        );
    }
    format!("{groups}</tr>\n{names}</tr>\n</thead>\n")
}

fn unit(metric: &metric::Column) -> String {
    if metric.unit().is_empty() { String::new() } else { format!(", {}", metric.unit()) }
}

fn grade(runs: &[&Run]) -> String {
    let induced = Spread::from_values(runs.iter().map(|r| r.induced_latency_s.mean));
    match Grades::from_runs(runs) {
        Some(g) => {
            let why =
                induced.map_or(String::new(), |i| format!(" title=\"{} of induced latency\"", time(i.mean)));
            format!("<td class=\"grade\"><span class=\"{}\"{why}>{}</span></td>", g.class(), g.text())
        }
        None => "<td class=\"grade none\">–</td>".to_owned(),
    }
}

/// The values of a metric for all disciplines at a sweep point.
struct Column<'a> {
    metric: &'a metric::Column,
    starts: bool,
    values: Vec<Option<Spread>>,
    best: Option<String>,
}

impl<'a> Column<'a> {
    fn new(metric: &'a metric::Column, starts: bool, point: &Point<'_>, link: Direction) -> Self {
        let values: Vec<_> = point
            .runs
            .iter()
            .map(|runs| Spread::from_values(runs.iter().map(|r| metric.value(r, link))))
            .collect();
        let mut column = Self { metric, starts, values, best: None };
        column.best = column.best_shown();
        column
    }

    /// Returns the best value as displayed; `None` if all are displayed alike.
    fn best_shown(&self) -> Option<String> {
        let present = || self.values.iter().flatten().map(|s| s.mean);
        let best = match self.metric.better() {
            Better::High => present().reduce(f64::max)?,
            Better::Low => present().reduce(f64::min)?,
            Better::Neither => return None,
        };
        // Values that a reader sees as equal must not differ in their mark.
        let shown = self.show(best);
        present().any(|v| self.show(v) != shown).then_some(shown)
    }

    fn digits(&self, mean: f64) -> usize {
        match self.metric.digits() {
            Digits::AfterPoint(digits) => digits,
            // Zero has no significant digit, and would get three behind the point.
            Digits::Three if mean == 0.0 => 0,
            Digits::Three => decimals(mean, 3, 3),
        }
    }

    fn show(&self, mean: f64) -> String {
        format!("{mean:.*}", self.digits(mean))
    }

    fn cell(&self, discipline: usize) -> String {
        let group = if self.starts { " group" } else { "" };
        let Some(spread) = self.values[discipline] else {
            return format!("<td class=\"none{group}\">–</td>");
        };
        let shown = self.show(spread.mean);
        let best = if self.best.as_ref() == Some(&shown) { " best" } else { "" };
        // Equal values of all seeds, such as no drops, need no interval.
        let interval = spread.ci95.filter(|half| *half > 0.0).map_or(String::new(), |half| {
            format!(" <span class=\"ci\">± {half:.*}</span>", self.digits(spread.mean))
        });
        // The median of small values may look like their mean after rounding.
        let median = spread.median.map(|median| self.show(median)).filter(|median| *median != shown);
        let median =
            median.map_or(String::new(), |median| format!(" <span class=\"median\">median {median}</span>"));
        format!("<td class=\"n{group}{best}\">{shown}{interval}{median}</td>")
    }
}
