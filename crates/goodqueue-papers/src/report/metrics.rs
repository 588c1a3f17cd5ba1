//! Metrics of a paper, a row for each discipline in each experiment.

use std::fmt::Write as _;

use crate::reproduce::{MetricsTable, three_figures};

use goodqueue_report::page_parts::escape;

pub(super) fn metrics(of: &MetricsTable) -> String {
    let mut table =
        String::from("<div class=\"scroll\"><table class=\"claims\">\n<thead><tr><th>section<th>discipline");
    for (name, unit) in &of.metrics {
        let _ = write!(table, "<th class=\"n\">{}<br><small>{}</small>", escape(name), escape(unit));
    }
    table += "</thead>\n<tbody>\n";
    let mut last = "";
    for row in &of.measured {
        let first = if row.experiment == last { "" } else { row.experiment.as_str() };
        last = &row.experiment;
        let _ = write!(table, "<tr><td>{}<td>{}", escape(first), escape(&row.qdisc));
        for value in &row.values {
            let _ = write!(table, "<td class=\"n\">{}", value.map_or_else(|| "–".to_owned(), three_figures));
        }
        table.push('\n');
    }
    table + "</tbody></table></div>\n"
}
