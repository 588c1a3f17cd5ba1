//! The short table: what a person wants to know first, as wide as the terminal.

use comfy_table::{Cell, Table};
use goodqueue_scenario::metrics::{self, Column, Group, LOSS};
use goodqueue_scenario::results::Grade;

use super::line::{Line, align, plain_table, value, wrapped};
use crate::grade::of_mean;

/// Returns the table: grade, loaded ping, goodput and loss, then as many of the other columns of
/// the main table as fit `width`; and the columns that it has.
pub(super) fn short_table<'g>(
    lines: &[Line<'_>],
    groups: &'g [Group],
    width: usize,
) -> (Table, Vec<Column<'g>>) {
    let others = groups
        .iter()
        .filter(|group| group.table == metrics::Table::Main && !FIRST.contains(&group.title.as_str()))
        .filter(|group| lines.iter().flat_map(|line| &line.runs).any(|run| (group.applies)(run)))
        .flat_map(Group::columns)
        .filter(|column| has_values(lines, column));
    let mut columns = first_columns(lines, groups);
    let mut table = filled(lines, &columns);
    for column in others {
        columns.push(column);
        // Only a finished table knows its width: a cell may be wider than its heading.
        let wider = filled(lines, &columns);
        if wide(&wider) > width {
            // A narrower column behind it may still fit.
            columns.pop();
        } else {
            table = wider;
        }
    }
    (table, columns)
}

/// Returns the columns that every table has: loaded ping, goodput and loss.
pub(crate) fn first_columns<'g>(lines: &[Line<'_>], groups: &'g [Group]) -> Vec<Column<'g>> {
    FIRST
        .iter()
        .filter_map(|title| groups.iter().find(|group| group.title == *title))
        .flat_map(Group::columns)
        .filter(|column| has_values(lines, column))
        .collect()
}

fn filled(lines: &[Line<'_>], columns: &[Column<'_>]) -> Table {
    let mut table = plain_table();
    let headings = columns.iter().map(|column| column.heading.as_str());
    table.set_header(["\n\nqdisc", "\n\ngrade"].into_iter().chain(headings));
    for line in lines {
        let grade = of_mean(&line.runs).map_or("–", Grade::name);
        let cells = columns.iter().map(|column| line.cell(column));
        table.add_row([wrapped(&line.label(), NAME)].into_iter().chain([Cell::new(grade)]).chain(cells));
    }
    align(&mut table);
    table
}

fn wide(table: &Table) -> usize {
    table.trim_fmt().lines().map(|line| line.chars().count()).max().unwrap_or_default()
}

fn has_values(lines: &[Line<'_>], column: &Column<'_>) -> bool {
    let mut runs = lines.iter().flat_map(|line| &line.runs);
    runs.any(|run| column.parts.iter().any(|part| value(run, part.0, part.1).is_some()))
}

/// The first columns, as titles of the catalogue's groups.
const FIRST: &[&str] = &["Ping", "Goodput", LOSS];
/// Columns for the name of a discipline.
const NAME: usize = 30;
