//! Text in columns that fit the terminal.

/// Formats rows of cells, a line each, with the columns aligned. Those of `right` are aligned to
/// the right. A line that is longer than `width` ends with an ellipsis.
pub(crate) fn rows(rows: &[Vec<String>], right: &[usize], width: Option<usize>) -> String {
    // `{:width$}` pads by characters, so a length in bytes would be too long beyond ASCII.
    let letters = |cell: &str| cell.chars().count();
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| letters(cell)).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..count).map(widest).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if right.contains(&column) { format!("{cell:>width$}") } else { format!("{cell:width$}") }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        text.push_str(&cut(line.trim_end(), width.unwrap_or(usize::MAX)));
        text.push('\n');
    }
    text
}

/// Shortens a line to `width` characters, of which the last is then an ellipsis.
fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    // The ellipsis takes one column.
    let kept: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Wraps a paragraph at `width` columns, of which `indent` belong to other text or, after the first
/// line, to an indent.
pub(crate) fn wrapped(text: &str, indent: usize, width: Option<usize>) -> String {
    // The lower bound also keeps `width - indent` from an underflow.
    let width = width.unwrap_or(PLAIN_WIDTH).max(indent + NARROWEST_TEXT);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let fits = |line: &&mut String| line.chars().count() + 1 + word.chars().count() <= width - indent;
        match lines.last_mut().filter(fits) {
            Some(line) => line.extend([" ", word]),
            None => lines.push(word.to_owned()),
        }
    }
    format!("{}\n", lines.join(&format!("\n{}", " ".repeat(indent))))
}

/// Columns of text in a file.
const PLAIN_WIDTH: usize = 100;
/// Columns that a paragraph has in any terminal.
const NARROWEST_TEXT: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_aligned_and_cut_at_the_width_of_the_terminal() {
        let cells = |row: [&str; 3]| row.map(str::to_owned).to_vec();
        let all = [cells(["jk-1", "9", "the delay of all packets"]), cells(["rfc7928", "10", "short"])];
        assert_eq!(
            rows(&all, &[1], Some(24)),
            "jk-1      9  the delay…\nrfc7928  10  short\n",
            "the terminal has 24 columns"
        );
        assert!(rows(&all, &[1], None).contains("the delay of all packets"), "a file has the whole text");
    }

    #[test]
    fn a_paragraph_is_wrapped_between_words_with_an_indent() {
        let text = wrapped("paper: \"the queue stays short at every load\"", 4, Some(28));
        assert_eq!(text, "paper: \"the queue stays\n    short at every load\"\n");
    }
}
