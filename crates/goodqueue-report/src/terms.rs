//! The terms below the page: each column of its tables in one line.

use std::fmt::Write as _;

use crate::escape::html;
use crate::group::Grouped;
use crate::meaning::{grades, plain};
use crate::metric::{Column, columns};

/// Returns the terms as the items of a list, in the order of the tables.
pub(crate) fn terms(grouped: &Grouped<'_>) -> String {
    let mut out = format!("<dt>Grade</dt><dd>{}.</dd>\n", html(&sentence(&grades())));
    let mut last = String::new();
    for column in columns(grouped) {
        let title = titled(&column);
        let name = column.name().to_owned();
        // Queues and stations have the same columns each.
        let term = format!("{title}, {name}");
        if out.contains(&format!("<dt>{}</dt>", html(&term))) {
            continue;
        }
        let meaning = plain(column.doc());
        // "its 95th percentile" follows the metric that it is about.
        let meaning = match (meaning.strip_prefix("its "), title == last) {
            (Some(rest), true) => format!("The {rest} of the same"),
            _ => sentence(&meaning),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "<dt>{}</dt><dd>{}.</dd>", html(&term), html(&meaning));
        last = title;
    }
    out
}

fn titled(column: &Column) -> String {
    if column.unit().is_empty() {
        column.title.clone()
    } else {
        format!("{} [{}]", column.title, column.unit())
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::run;

    #[test]
    fn each_column_of_the_tables_is_explained_once() {
        let runs = [run("pie", 1, None), run("codel", 1, None)];
        let grouped = Grouped::new(&runs);
        let terms = terms(&grouped);
        for column in columns(&grouped) {
            let term = html(&format!("{}, {}", titled(&column), column.name()));
            assert_eq!(terms.matches(&format!("<dt>{term}</dt>")).count(), 1, "{term}");
        }
        assert!(terms.contains("A+ below 5 ms"));
        assert!(terms.contains("The 95th percentile of the same"), "{terms}");
    }
}
