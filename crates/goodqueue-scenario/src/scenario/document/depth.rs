//! The limits of size and nesting. Code that descends into values recurses, so deeper ones would
//! end the stack.

use goodqueue_tc::diagnostic::{Diagnostic, Source};

/// Bytes of a scenario. The largest built-in one has 3 kB; the limit keeps a wrong file (a capture,
/// a device) from filling the memory.
pub(super) const MOST_BYTES: usize = 1 << 20;
/// Most dots in front of a value and of all brackets around it, without those in quotes.
const MOST_DOTS: usize = 500;

/// Refuses TOML whose keys or values nest too deeply.
pub fn check_depth(source: &Source) -> Result<(), Diagnostic> {
    let Some(start) = too_deep(&source.text) else { return Ok(()) };
    let message = Diagnostic::new(format!("keys or values are nested deeper than {MOST_DOTS}"));
    Err(message.in_source(source, start..start + 1))
}

/// Where dotted keys nest so deeply that whoever descends runs out of stack: the parser allows 80
/// inline tables inside each other, each under a key of 79 dots.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    // Dots in front of each open bracket.
    let mut open = Vec::new();
    let mut dots = 0usize;
    // The parser skips this mark. With it, a string at the very beginning would look like a word.
    let mut rest = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).as_bytes();
    while let Some(&first) = rest.first() {
        match first {
            // Outside brackets a line ends a dotted key; inside, the keys of an inline table nest
            // on.
            b'\n' if open.is_empty() => dots = 0,
            b'[' | b'{' => open.push(dots),
            // Text that is not TOML may close more than it has opened.
            b']' | b'}' => _ = open.pop(),
            // What follows does not nest into what was before it: a list may have any number of
            // decimal numbers.
            b',' => dots = open.last().copied().unwrap_or(dots),
            b'.' => dots += 1,
            _ => {}
        }
        // Our choice, far below the 6,320 levels of the parser and far above what a scenario needs.
        if dots > MOST_DOTS {
            return Some(text.len() - rest.len());
        }
        rest = rest.get(token(rest, first)..).unwrap_or_default();
    }
    None
}

/// Bytes of the token at the beginning of `text`. The cuts are those of the parser, also in text
/// that is not TOML: it reads on behind an error, and dots that it sees must be counted.
fn token(text: &[u8], first: u8) -> usize {
    let until = |ends: &[u8]| text.iter().position(|byte| ends.contains(byte)).unwrap_or(text.len());
    match first {
        b'#' => until(b"\r\n"),
        b'"' | b'\'' if text.starts_with(&[first; 3]) => long_string(text, first),
        b'"' | b'\'' => string(text, first),
        // Within a word a quote begins no string.
        _ => until(MARKS).max(1),
    }
}

/// Bytes of the string of one line at the beginning of `text`.
fn string(text: &[u8], quote: u8) -> usize {
    let mut escaped = false;
    for (index, &byte) in text.iter().enumerate().skip(1) {
        match byte {
            b'\n' => return index,
            _ if escaped => escaped = false,
            b'\\' if quote == b'"' => escaped = true,
            _ if byte == quote => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// Bytes of the multi-line string at the beginning of `text`.
fn long_string(text: &[u8], quote: u8) -> usize {
    let mut escaped = false;
    let mut quotes = 0;
    for (index, &byte) in text.iter().enumerate().skip(3) {
        quotes = if byte == quote && !escaped { quotes + 1 } else { 0 };
        escaped = byte == b'\\' && quote == b'"' && !escaped;
        if quotes == 3 {
            // Up to two quotes before the last three belong to the string (TOML 1.0, "String").
            let more = text.iter().skip(index + 1).take(2).take_while(|&&next| next == quote);
            return index + 1 + more.count();
        }
    }
    text.len()
}

/// Bytes that end a word of the parser.
const MARKS: &[u8] = b".=,[]{} \t#\r\n";
const BYTE_ORDER_MARK: char = '\u{feff}';

#[cfg(test)]
mod tests {
    use super::*;

    /// 80 inline tables inside each other, each under a key of 79 dots, behind these tokens.
    fn deep(between: &str) -> String {
        let key = format!("k{}", ".k".repeat(79));
        let open = format!("{{ {between}{key} = ").repeat(79);
        format!("x = {open}1{}", "}".repeat(79))
    }

    #[test]
    fn dots_behind_any_string_are_counted() {
        let valid = [
            "",
            "a = \"\"\"\n\"\"\", ",
            "a = \'\'\'\n\'\'\', ",
            // One and two quotes before the end, and escaped quotes.
            "a = \"\"\" \"\"\"\", ",
            "a = \"\"\" \"\"\"\"\", ",
            "a = \"\"\" \\\"\"\"\", ",
            "a = \"\"\" \\\\\"\"\", ",
            "a = \'\'\' \\\'\'\', ",
            "a = \"\\\"\", ",
            "a = \'\\\', ",
            "a = \"\", ",
            "a = \'\', ",
            "a = 1, # it\'s\n ",
        ];
        for between in valid {
            let text = deep(between);
            assert!(too_deep(&text).is_some(), "{between}");
            assert_eq!(text.as_bytes().get(too_deep(&text).unwrap_or(0)), Some(&b'.'), "{between}");
        }
        // The parser reads on behind these errors.
        for between in ["a = b\", ", "a = \"b\n, ", "a = \'b\n, ", "a = \"b\\\n, "] {
            assert!(too_deep(&deep(between)).is_some(), "{between}");
        }
        let marked = format!("\u{feff}\"\"\" ''' \"\"\" = 1\n{}", deep(""));
        assert!(too_deep(&marked).is_some(), "a string begins behind a byte order mark");
    }

    #[test]
    fn dots_in_strings_and_comments_are_no_keys() {
        let dots = ".".repeat(2 * MOST_DOTS);
        for text in [
            format!("a = \"{dots}\""),
            format!("a = \'{dots}\' # {dots}"),
            format!("a = \"\"\"{dots}\n\"{dots}\\\"\"\"{dots}\"\"\"\""),
            format!("a = \'\'\'{dots}\n\'{dots}\'\'\'"),
            format!("# it\'s\n# {dots}\n"),
        ] {
            assert_eq!(too_deep(&text), None, "{text}");
        }
        let list = "1.5, ".repeat(2 * MOST_DOTS);
        assert_eq!(too_deep(&format!("a = [{list}]\nb = {{ c = [{list}] }}")), None);
        let line = "a.b.c = 1.5\n";
        assert_eq!(too_deep(&line.repeat(MOST_DOTS)), None, "each line begins anew");
    }
}
