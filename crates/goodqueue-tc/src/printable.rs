//! Text of unknown origin for terminals and scripts: what a terminal shows, and nothing that it
//! obeys.
//!
//! Labels, names of files and values come from scenarios and recordings that others wrote. Control
//! characters in them could move the cursor, rename the window or write lines of their own.
//! Bidirectional controls could make a line look like another one.

use std::borrow::Cow;

/// Returns true if a terminal shows this character, or leaves a gap for it, and does nothing else.
/// False for control characters (C0, DEL and C1), bidirectional controls, and the separators of
/// lines and paragraphs.
#[must_use]
pub fn is_printable(character: char) -> bool {
    let is_bidirectional = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    !(character.is_control() || is_bidirectional || matches!(character, '\u{2028}' | '\u{2029}'))
}

/// Returns `text` as one line: a space for each tab, and � for each other character that is not
/// printable.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    cleaned(text, |_| false)
}

/// Returns `text`, which may have several lines and tabs, with � for each other character that is
/// not printable.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    cleaned(text, |character| matches!(character, '\n' | '\t'))
}

/// Returns JSON with the same contents, in which escapes stand for characters that are not
/// printable.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    // Outside of strings, JSON contains none of them but line ends and tabs.
    let stays = |character: char| is_printable(character) || matches!(character, '\n' | '\r' | '\t');
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let escaped = |character: char| match stays(character) {
        true => character.to_string(),
        // Those that are not printable are below U+10000: one escape of four digits is enough.
        false => format!("\\u{:04x}", u32::from(character)),
    };
    Cow::Owned(text.chars().map(escaped).collect())
}

/// Returns one character as [`line`] shows it.
pub(crate) fn shown(character: char) -> char {
    match character {
        '\t' => ' ',
        character if is_printable(character) => character,
        _ => char::REPLACEMENT_CHARACTER,
    }
}

fn cleaned(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().all(|character| stays(character) || is_printable(character)) {
        return Cow::Borrowed(text);
    }
    let one = |character: char| if stays(character) { character } else { shown(character) };
    Cow::Owned(text.chars().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind that must not reach a terminal.
    const OBEYED: &[char] = &[
        '\0', '\u{7}', '\u{1b}', '\r', '\u{7f}', '\u{80}', '\u{9b}', '\u{9d}', '\u{61c}', '\u{200e}',
        '\u{200f}', '\u{202a}', '\u{202e}', '\u{2028}', '\u{2029}', '\u{2066}', '\u{2069}',
    ];

    #[test]
    fn what_a_terminal_would_obey_is_replaced() {
        for &character in OBEYED {
            let text = format!("a{character}b");
            assert!(!is_printable(character), "{character:?}");
            assert_eq!(line(&text), "a\u{fffd}b", "{character:?}");
            assert_eq!(lines(&text), "a\u{fffd}b", "{character:?}");
        }
        assert_eq!(line("a\tb\nc"), "a b\u{fffd}c");
        assert_eq!(lines("a\tb\nc"), "a\tb\nc");
    }

    #[test]
    fn text_of_every_script_stays() {
        for text in ["fq_codel target 5ms", "µs – 50 %", "מחסום", "محطة", "瓶颈", "🚦", ""] {
            assert!(matches!(line(text), Cow::Borrowed(same) if same == text), "{text}");
            assert!(matches!(json(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn json_keeps_its_contents() {
        let text = "{\n\t\"a\": \"\u{9b}31m \u{202e}\"\r\n}";
        assert_eq!(json(text), "{\n\t\"a\": \"\\u009b31m \\u202e\"\r\n}");
    }
}
