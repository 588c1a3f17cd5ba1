//! The limits of size and nesting. Code that descends into values recurses, so deeper ones would
//! end the stack.

use goodqueue_tc::diagnostic::{Diagnostic, Source};

/// Bytes of a scenario. The largest built-in one has 3 kB; the limit keeps a wrong file (a capture,
/// a device) from filling the memory.
pub(super) const MOST_BYTES: usize = 1 << 20;
/// Dots of a line, or between the outermost brackets, outside quotes.
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
    let mut open = 0usize;
    let mut dots = 0usize;
    let mut quote = None;
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate() {
        match (byte, quote) {
            // Outside brackets a line ends a dotted key; inside, the keys of an inline table nest
            // on.
            (b'\n', _) => {
                quote = None;
                dots = if open == 0 { 0 } else { dots };
            }
            (_, Some(b'#')) => {}
            (b'\\', Some(b'"')) => {
                // `continue` keeps this for the next byte.
                escaped = !escaped;
                continue;
            }
            (byte, Some(end)) if byte == end && !escaped => quote = None,
            (_, Some(_)) => {}
            // A comment counts as a quote that only the end of the line closes.
            (b'"' | b'\'' | b'#', None) => quote = Some(byte),
            (b'[' | b'{', None) => open += 1,
            (b']' | b'}', None) => open = open.saturating_sub(1),
            (b'.', None) => dots += 1,
            _ => {}
        }
        escaped = false;
        if dots > MOST_DOTS {
            return Some(index);
        }
    }
    None
}
