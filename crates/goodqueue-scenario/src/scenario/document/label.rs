//! Labels of the disciplines in `qdiscs`: how results call them.

use super::node::{Node, Raw};

/// Between the lines of the two directions.
pub(crate) const BOTH: &str = " / ";

/// Returns the label of a line. `pfifo` and ` pfifo ` are the same label.
#[must_use]
pub fn label_of_line(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the label of a table without one.
pub(crate) fn label_of_lines(down: &str, up: &str) -> String {
    if down == up { down.to_owned() } else { format!("{down}{BOTH}{up}") }
}

/// Returns the label of an entry of `qdiscs`; `None` for an entry that will be refused.
pub(super) fn label_of(node: &Node) -> Option<String> {
    let entries = match &node.raw {
        Raw::Text(line) => return Some(label_of_line(line)),
        Raw::Table(entries) => entries,
        _ => return None,
    };
    let text = |key: &str| match &entries.iter().find(|entry| entry.key == key)?.node.raw {
        Raw::Text(text) => Some(text.as_str()),
        _ => None,
    };
    let of_lines = || text("down").map(|down| label_of_lines(down, text("up").unwrap_or(down)));
    text("label").map(str::to_owned).or_else(of_lines)
}
