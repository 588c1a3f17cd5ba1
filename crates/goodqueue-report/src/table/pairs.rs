//! The differences between disciplines as a table of the page.

use std::fmt::Write as _;

use goodqueue_scenario::metrics::catalogue;
use goodqueue_scenario::number::decimals;
use goodqueue_scenario::results::Aggregate;
use goodqueue_scenario::results::Run;
use goodqueue_tc::brief;

use crate::differences::Differences;
use crate::escape::{clip, html};
use crate::group::Point;

/// Returns the table of a point of the sweep; empty with one seed.
pub(super) fn pairs(point: &Point<'_>, summary: &[Aggregate]) -> String {
    let Some(first) = point.first() else { return String::new() };
    let runs: Vec<&Run> = point.runs.iter().flatten().copied().collect();
    let summary: Vec<&Aggregate> = summary.iter().filter(|one| one.sweep == first.sweep).collect();
    let groups = catalogue(&runs);
    let Some(differences) = Differences::new(&summary, &groups) else { return String::new() };
    let mut out = String::from(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Differences between disciplines\">\n\
         <table class=\"more\">\n<thead>\n<tr><th scope=\"col\">Difference over equal seeds</th>",
    );
    for column in &differences.columns {
        // The headings of the terminal have three lines. The one in the middle is the unit, which
        // follows below.
        let lines: Vec<&str> = column.heading.split('\n').collect();
        let name = [lines.first(), lines.last()].into_iter().flatten().copied().collect::<Vec<_>>().join(" ");
        let unit = column.parts[0].0.unit;
        let comma = if unit.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(out, "<th scope=\"col\">{}{comma}{unit}</th>", html(&name));
    }
    out += "</tr>\n</thead>\n<tbody>\n";
    for row in &differences.rows {
        let name = format!("{} − {}", clip(&brief(row.qdisc), 60), clip(&brief(row.from), 60));
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", html(&name));
        for (column, figure) in differences.columns.iter().zip(&row.figures) {
            let Some(figure) = figure else {
                out += "<td class=\"none\">–</td>";
                continue;
            };
            let scale = column.parts[0].0.scale();
            let mean = figure.mean * scale;
            let half = figure.ci95.unwrap_or_default() * scale;
            let digits = decimals(mean, 3, 3);
            let _ = write!(
                out,
                "<td class=\"n\">{mean:+.digits$} <span class=\"ci\">± {half:.digits$}</span></td>"
            );
        }
        out += "</tr>\n";
    }
    out += "</tbody>\n</table>\n</div>\n";
    out
}
