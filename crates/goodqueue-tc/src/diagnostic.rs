//! What is said about bad input: where it stands, what was given, what is allowed, what to do next.
//!
//! All readers of this crate return a [`Diagnostic`]. A reader knows the text it was handed, not
//! where the text came from; its caller places the message with [`Diagnostic::in_argument`] or
//! [`Diagnostic::in_source`]. A place that is set stays: the innermost caller knows best.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::printable;
use crate::spelling;

/// One message about bad input. Its `Display` is the text for the user, in two to five lines
/// without a final newline.
#[derive(Clone, PartialEq, Eq, Debug)]
// The box keeps every `Result` with a message small.
pub struct Diagnostic(Box<Parts>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Parts {
    place: Place,
    /// Bytes of the text being read that the message is about.
    span: Option<Range<usize>>,
    problem: String,
    /// Lines below the problem that were made elsewhere.
    rendered: Vec<String>,
    allowed: Option<String>,
    help: Option<String>,
}

/// Where the bad input stands.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Place {
    Unknown,
    Argument { name: String, excerpt: Option<Excerpt> },
    Line { file: String, line: usize },
    File { file: String, excerpt: Option<Excerpt> },
}

/// The line of the input that is shown, and what of it is underlined.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Excerpt {
    line: usize,
    column: usize,
    width: usize,
    text: String,
}

/// A text with the name under which messages refer to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// Path of the file as the user wrote it.
    pub name: Arc<str>,
    /// All of its text.
    pub text: Arc<str>,
}

impl Diagnostic {
    /// Returns a message with `problem`: the given input and why it is wrong.
    pub fn new(problem: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            place: Place::Unknown,
            span: None,
            problem: problem.into(),
            rendered: Vec::new(),
            allowed: None,
            help: None,
        }))
    }

    /// A message that another process has rendered: its lines stay lines.
    #[must_use]
    pub fn rendered(text: &str) -> Self {
        let mut lines = text.lines().map(str::to_owned);
        let mut message = Self::new(lines.next().unwrap_or_default());
        message.0.rendered = lines.collect();
        message
    }

    /// Adds the allowed values.
    #[must_use]
    pub fn allowed(mut self, allowed: impl Into<String>) -> Self {
        self.0.allowed = Some(allowed.into());
        self
    }

    /// Adds what to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Adds the candidates that are allowed for `word`, and the nearest of them as advice.
    #[must_use]
    pub fn one_of(self, word: &str, candidates: &[&str]) -> Self {
        let message = self.allowed(candidates.join(", "));
        match nearest(word, candidates.iter().copied()).or_else(|| called_otherwise(word, candidates)) {
            Some(near) => message.help(format!("did you mean `{near}`?")),
            None => message,
        }
    }

    /// Puts the name of the parsed item before the problem.
    #[must_use]
    pub fn prefixed(mut self, what: &str) -> Self {
        self.0.problem = format!("{what}: {}", self.0.problem);
        self
    }

    /// Narrows the message to these bytes of the text being read, unless it is narrower already.
    #[must_use]
    pub fn at(mut self, span: Range<usize>) -> Self {
        self.0.span.get_or_insert(span);
        self
    }

    /// Forgets the position, because the parsed text differs from the caller's text.
    #[must_use]
    pub fn widened(mut self) -> Self {
        self.0.span = None;
        self
    }

    /// Tells that the text being read begins `offset` bytes into its caller's text.
    #[must_use]
    pub fn shifted(mut self, offset: usize) -> Self {
        self.0.span =
            self.0.span.map(|span| span.start.saturating_add(offset)..span.end.saturating_add(offset));
        self
    }

    /// Tells where in its caller's text the bytes are that the message is about, for a caller that
    /// put the text being read together from parts of its own.
    #[must_use]
    pub fn moved(mut self, place: impl FnOnce(Range<usize>) -> Range<usize>) -> Self {
        self.0.span = self.0.span.map(place);
        self
    }

    /// The text was the value of this argument of the command line, such as `--qdisc`.
    #[must_use]
    pub fn in_argument(mut self, name: &str, text: &str) -> Self {
        if self.0.place == Place::Unknown {
            let excerpt = self.0.span.as_ref().map(|span| Excerpt::new(text, span));
            self.0.place = Place::Argument { name: name.to_owned(), excerpt };
        }
        self
    }

    /// The text was this file; `whole` is underlined if the message was not narrowed.
    #[must_use]
    pub fn in_source(mut self, source: &Source, whole: Range<usize>) -> Self {
        if self.0.place == Place::Unknown {
            let span = self.0.span.clone().unwrap_or(whole);
            let excerpt = Excerpt::new(&source.text, &span);
            self.0.place = Place::File { file: source.name.to_string(), excerpt: Some(excerpt) };
        }
        self
    }

    /// The message is about this file as a whole.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        if self.0.place == Place::Unknown {
            self.0.place = Place::File { file: file.to_owned(), excerpt: None };
        }
        self
    }

    /// The message is about this line (from 1) of a file that is read line by line.
    #[must_use]
    pub fn in_line(mut self, file: &str, line: usize) -> Self {
        if self.0.place == Place::Unknown {
            self.0.place = Place::Line { file: file.to_owned(), line };
        }
        self
    }

    /// Returns the given input and why it is wrong, without place and advice.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.0.problem
    }

    /// Line and column (both from 1) of the bad input, where they are known.
    #[must_use]
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        match &self.0.place {
            Place::Argument { excerpt: Some(excerpt), .. } | Place::File { excerpt: Some(excerpt), .. } => {
                Some((excerpt.line, excerpt.column))
            }
            Place::Line { line, .. } => Some((*line, 1)),
            _ => None,
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let excerpt = match &self.0.place {
            Place::Unknown => None,
            Place::Argument { name, excerpt } => {
                write!(f, "{}: ", printable::line(name))?;
                excerpt.as_ref()
            }
            Place::Line { file, line } => {
                write!(f, "{}:{line}:1: ", printable::line(file))?;
                None
            }
            Place::File { file, excerpt: None } => {
                write!(f, "{}: ", printable::line(file))?;
                None
            }
            Place::File { file, excerpt: Some(excerpt) } => {
                write!(f, "{}:{}:{}: ", printable::line(file), excerpt.line, excerpt.column)?;
                Some(excerpt)
            }
        };
        f.write_str(&printable::line(&self.0.problem))?;
        for line in &self.0.rendered {
            write!(f, "\n{}", printable::line(line))?;
        }
        if let Some(excerpt) = excerpt {
            let number = match self.0.place {
                Place::File { .. } => excerpt.line.to_string(),
                _ => String::new(),
            };
            let (shown, indent, width) = excerpt.fitted();
            write!(f, "\n  {number} | {shown}")?;
            write!(f, "\n  {:margin$} | {:indent$}{}", "", "", "^".repeat(width), margin = number.len())?;
        }
        if let Some(allowed) = &self.0.allowed {
            write!(f, "\n  allowed: {}", printable::line(allowed))?;
        }
        if let Some(help) = &self.0.help {
            write!(f, "\n  help: {}", printable::line(help))?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

impl Excerpt {
    fn new(text: &str, span: &Range<usize>) -> Self {
        // A span that exceeds the text, or begins within a character, must not panic.
        let start = floor_char(text, span.start);
        let end = floor_char(text, span.end.max(start));
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        // Files of Windows end their lines with `\r\n`.
        let line_text = text[line_start..line_end].trim_end_matches('\r');
        let underlined = &text[start..end.min(line_end)];
        Self {
            line: before.matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            // An empty span, such as the end of the text, gets one caret.
            width: underlined.trim_end().chars().count().max(1),
            text: line_text.to_owned(),
        }
    }

    /// The line as it fits a terminal: its text, and start and length of the underlining within it.
    fn fitted(&self) -> (String, usize, usize) {
        // The word stands in the middle of the part that is shown.
        let skipped = if self.column > SHOWN { self.column - SHOWN / 2 } else { 0 };
        let length = self.text.chars().count();
        let mut shown: String = self.text.chars().skip(skipped).take(SHOWN).map(printable::shown).collect();
        let mut indent = (self.column - 1).saturating_sub(skipped);
        let width = self.width.min(SHOWN.saturating_sub(indent)).max(1);
        if skipped > 0 {
            shown.insert_str(0, "... ");
            indent += 4; // width of `... `
        }
        if skipped + SHOWN < length {
            shown.push_str(" ...");
        }
        (shown, indent, width)
    }
}

impl Source {
    /// A text called `name` in messages.
    #[must_use]
    pub fn new(name: &str, text: &str) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// The candidate that differs least from `word`, if it is near enough to be a misspelling of it.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST_WORD {
        return None;
    }
    let word = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (spelling::distance(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The candidate that other tools call `word`.
fn called_otherwise<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let ours = OTHER_WORDS.iter().filter(|(theirs, _)| *theirs == word).map(|(_, ours)| *ours);
    // A word may mean several keys: the first one that is allowed at this place counts.
    let mut known = ours.filter_map(|ours| candidates.iter().copied().find(|candidate| *candidate == ours));
    known.next()
}

/// "`word` is unknown" with the nearest candidate and all of them: `what` names the sort of thing.
#[must_use]
pub fn unknown(what: &str, word: &str, candidates: &[&str]) -> Diagnostic {
    Diagnostic::new(format!("{what} `{}` is unknown", shortened(word))).one_of(word, candidates)
}

/// A word of the input for use in a message: cut where it is too long to be read.
#[must_use]
pub fn shortened(word: &str) -> String {
    if word.chars().count() <= LONGEST_QUOTE {
        return word.to_owned();
    }
    let mut start: String = word.chars().take(LONGEST_QUOTE).collect();
    start.push_str("...");
    start
}

fn floor_char(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// Characters of an input line that are shown.
const SHOWN: usize = 100;
/// Longer words of the input are cut in messages.
const LONGEST_QUOTE: usize = 60;
/// Longer words are no misspellings, and the edit distance takes quadratic time.
const LONGEST_WORD: usize = 64;
/// What others (tc, netem, Mahimahi, Flent, ns-3) or newcomers call a thing, and how it is called
/// here.
const OTHER_WORDS: [(&str, &str); 24] = [
    ("type", "kind"),
    ("bandwidth", "down"),
    ("bandwidth", "rate"),
    ("bw", "down"),
    ("rate", "down"),
    ("download", "down"),
    ("downlink", "down"),
    ("upload", "up"),
    ("uplink", "up"),
    ("delay", "rtt"),
    ("latency", "rtt"),
    ("length", "duration"),
    ("time", "duration"),
    ("repetitions", "seeds"),
    ("runs", "seeds"),
    ("disciplines", "qdiscs"),
    ("queues", "qdiscs"),
    ("aqm", "qdiscs"),
    ("aqm", "qdisc"),
    ("queue", "qdisc"),
    ("congestion", "cc"),
    ("congestion_control", "cc"),
    ("traffic", "flows"),
    ("bulk", "tcp"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_about_a_file_shows_the_line_and_underlines_the_word() {
        let source = Source::new("load.toml", "name = \"x\"\ndurration = \"60s\"\n");
        let message = unknown("key", "durration", &["duration", "seed"]).in_source(&source, 11..20);
        insta::assert_snapshot!(message, @r#"
        load.toml:2:1: key `durration` is unknown
          2 | durration = "60s"
            | ^^^^^^^^^
          allowed: duration, seed
          help: did you mean `duration`?
        "#);
        assert_eq!(message.line_and_column(), Some((2, 1)));
    }

    #[test]
    fn a_message_about_an_argument_underlines_the_word_in_it() {
        let message = Diagnostic::new("`pfifi` is unknown").at(0..5).in_argument("--qdisc", "pfifi limit 3");
        insta::assert_snapshot!(message, @r"
        --qdisc: `pfifi` is unknown
           | pfifi limit 3
           | ^^^^^
        ");
    }

    #[test]
    fn the_innermost_place_is_kept() {
        let message = Diagnostic::new("empty").in_file("a.trace").in_argument("--trace-down", "a.trace");
        assert_eq!(message.to_string(), "a.trace: empty");
    }

    #[test]
    fn what_a_terminal_would_obey_does_not_reach_it() {
        let message = Diagnostic::new("`\u{1b}[2J` is \u{202e}unknown").in_file("a\nb");
        assert!(!message.to_string().contains(['\u{1b}', '\u{202e}', '\n']));
        let text = "pfifo \u{9b}31m\u{2066}";
        let message = Diagnostic::new("no").at(6..7).in_argument("--qdisc", text).to_string();
        assert!(!message.contains(['\u{9b}', '\u{2066}']), "{message}");
    }

    #[test]
    fn a_long_line_is_cut_around_the_word() {
        let text = format!("{} bad {}", "x".repeat(300), "y".repeat(300));
        let message = Diagnostic::new("no").at(301..304).in_argument("--set", &text).to_string();
        assert!(message.lines().all(|line| line.len() < 130), "{message}");
        let lines: Vec<&str> = message.lines().collect();
        let caret = lines[2].find('^').unwrap();
        assert_eq!(&lines[1][caret..caret + 3], "bad");
    }

    #[test]
    fn only_near_names_are_suggested() {
        assert_eq!(nearest("fqcodel", ["pie", "codel", "fq_codel"]), Some("fq_codel"));
        assert_eq!(nearest("FQ_CODEL", ["pie", "fq_codel"]), Some("fq_codel"));
        assert_eq!(nearest("bandwidth", ["pie", "fq_codel"]), None);
        assert_eq!(nearest(&"a".repeat(100_000), ["pie"]), None);
    }

    #[test]
    fn a_word_of_another_tool_is_translated() {
        let message =
            Diagnostic::new("no key `type`").one_of("type", &["kind", "label", "count"]).to_string();
        assert!(message.contains("did you mean `kind`?"), "{message}");
        let none = Diagnostic::new("no key `type`").one_of("type", &["label", "count"]).to_string();
        assert!(!none.contains("did you mean"), "{none}");
    }

    proptest! {
        #[test]
        fn no_text_and_no_span_make_a_message_panic(text in ".{0,80}", start in 0usize..200, length in 0usize..200) {
            let source = Source::new("f", &text);
            let message = Diagnostic::new("bad").at(start..start + length).in_source(&source, 0..1);
            prop_assert!(message.to_string().contains("bad"));
        }
    }
}
