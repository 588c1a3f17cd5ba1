//! The differences between disciplines as a table of the terminal.

use comfy_table::{Cell, Table};
use goodqueue_tc::brief;

use super::line::{WIDEST_NAME, align, difference, plain_table, wrapped};
use crate::differences::Differences;

pub(super) fn pairs(differences: &Differences<'_>) -> Table {
    let mut table = plain_table();
    let headings = differences.columns.iter().map(|column| column.heading.as_str());
    table.set_header(
        ["difference over equal\nseeds, with its 95 %\nconfidence interval"].into_iter().chain(headings),
    );
    for row in &differences.rows {
        let name = wrapped(&format!("{} − {}", brief(row.qdisc), brief(row.from)), WIDEST_NAME);
        let cells = differences.columns.iter().zip(&row.figures);
        let cells = cells.map(|(column, figure)| Cell::new(difference(figure.as_ref(), column.parts[0].0)));
        table.add_row([name].into_iter().chain(cells));
    }
    align(&mut table);
    table
}
