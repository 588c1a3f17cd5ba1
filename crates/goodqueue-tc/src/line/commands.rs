//! The commands of a shell script, as far as tc scripts need one: comments go, `for` loops and
//! variables are written out, and each word keeps its place in the text for messages.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::diagnostic::Diagnostic;

/// A command as words with all variables written out.
pub(super) type Command = Vec<Token>;

/// A word and its place in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Token {
    /// What it says.
    pub(super) text: String,
    /// Its bytes in the text.
    pub(super) place: Range<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Item {
    Word(Token),
    /// A line end, `;`, `&&` or `||`, with its place.
    End(Range<usize>),
}

/// The commands so far, with the values of the variables.
struct Expansion {
    /// The last one is not complete.
    commands: Vec<Command>,
    variables: BTreeMap<String, String>,
    /// Words and command ends so far. Those of a loop count in each round.
    words: usize,
    /// Bytes of all words and values so far.
    bytes: usize,
}

/// The commands of `text`.
pub(super) fn read(text: &str) -> Result<Vec<Command>, Diagnostic> {
    let items = cut(text);
    let variables = BTreeMap::new();
    let mut expansion = Expansion { commands: vec![Vec::new()], variables, words: 0, bytes: 0 };
    expansion.expand(&items, 0)?;
    let mut commands = expansion.commands;
    commands.retain(|command| !command.is_empty());
    Ok(commands)
}

/// Cuts `text` at spaces, separators and brackets.
fn cut(text: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut depth = 0_usize;
    let mut start = None;
    let mut comment = false;
    let word_ends = |items: &mut Vec<Item>, range: Range<usize>, depth: usize| {
        let word = &text[range.clone()];
        // A colon at the end of a word is a word of its own in brackets (`[1: pfifo]`). Elsewhere
        // it belongs to a handle (`8001:`).
        match word.strip_suffix(':').filter(|number| depth > 0 && !number.is_empty()) {
            Some(number) => {
                let colon = range.end - 1;
                items.push(Item::Word(Token { text: number.to_owned(), place: range.start..colon }));
                items.push(Item::Word(Token { text: ":".to_owned(), place: colon..range.end }));
            }
            None if word == "&&" || word == "||" => items.push(Item::End(range)),
            // A backslash at the end of a line joins the next line and is no word.
            None if word != "\\" => items.push(Item::Word(Token { text: word.to_owned(), place: range })),
            None => {}
        }
    };
    let mut after_backslash = false;
    // The line end behind the text ends its last word.
    for (index, character) in text.char_indices().chain([(text.len(), '\n')]) {
        let line_end = character == '\n' && !after_backslash;
        after_backslash = character == '\\';
        comment = match character {
            '\n' => false,
            // As in a shell, a `#` within a word begins no comment.
            '#' if start.is_none() => true,
            _ => comment,
        };
        let breaks = comment || character.is_whitespace() || matches!(character, ';' | '[' | ']');
        if !breaks {
            start.get_or_insert(index);
            continue;
        }
        if let Some(first) = start.take() {
            word_ends(&mut items, first..index, depth);
        }
        if comment {
            continue;
        }
        match character {
            '[' | ']' => {
                // The reader of trees refuses a `]` too many, with its place.
                depth = if character == '[' { depth + 1 } else { depth.saturating_sub(1) };
                items.push(Item::Word(Token { text: character.to_string(), place: index..index + 1 }));
            }
            ';' => items.push(Item::End(index..index + 1)),
            // Brackets may span lines.
            '\n' if line_end && depth == 0 => items.push(Item::End(index..index)),
            _ => {}
        }
    }
    items
}

impl Expansion {
    /// Writes out loops and variables.
    fn expand(&mut self, items: &[Item], depth: usize) -> Result<(), Diagnostic> {
        let mut rest = items;
        while let Some((item, after)) = rest.split_first() {
            let begins = self.commands.last().is_none_or(Vec::is_empty);
            rest = after;
            match item {
                Item::End(place) => {
                    self.count(1, place)?;
                    self.end_command();
                }
                Item::Word(word) if begins && word.text == "for" => {
                    rest = self.expand_loop(word, after, depth)?;
                }
                Item::Word(word) => {
                    self.count(1, &word.place)?;
                    let text = self.substituted(word)?;
                    if begins && let Some((name, value)) = assignment(&text) {
                        self.variables.insert(name.to_owned(), value.to_owned());
                        continue;
                    }
                    // A variable may hold several words.
                    for part in text.split_whitespace() {
                        self.push(Token { text: part.to_owned(), place: word.place.clone() })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// `for NAME in WORD...; do ...; done`: returns what stands behind it.
    fn expand_loop<'i>(
        &mut self,
        keyword: &Token,
        items: &'i [Item],
        depth: usize,
    ) -> Result<&'i [Item], Diagnostic> {
        let malformed = |what: &str| {
            Diagnostic::new(format!("the `for` loop {what}"))
                .at(keyword.place.clone())
                .allowed("for NAME in WORD...; do COMMAND; ...; done")
        };
        if depth >= DEEPEST_LOOP {
            return Err(malformed("is nested too deep"));
        }
        let [Item::Word(name), Item::Word(of), rest @ ..] = items else {
            return Err(malformed("names no variable"));
        };
        if of.text != "in" {
            return Err(malformed("has no `in`"));
        }
        let is_word = |item: &Item, text: &str| matches!(item, Item::Word(word) if word.text == text);
        let begin =
            rest.iter().position(|item| is_word(item, "do")).ok_or_else(|| malformed("has no `do`"))?;
        let list = &rest[..begin];
        let body = &rest[begin + 1..];
        // The `do` of this loop was found above.
        let mut open = 1_usize;
        let end = body.iter().position(|item| {
            open += usize::from(is_word(item, "do"));
            // No underflow: the search ends where this becomes 0.
            open -= usize::from(is_word(item, "done"));
            open == 0
        });
        let end = end.ok_or_else(|| malformed("has no `done`"))?;
        // The search for `done` takes time even if the loop has no round.
        self.count(begin + end, &keyword.place)?;
        let mut values = Vec::new();
        for item in list {
            if let Item::Word(word) = item {
                values.extend(self.substituted(word)?.split_whitespace().map(str::to_owned));
            }
        }
        for value in written_out(values) {
            self.count(1, &keyword.place)?;
            self.variables.insert(name.text.clone(), value);
            self.end_command();
            self.expand(&body[..end], depth + 1)?;
        }
        self.end_command();
        Ok(&body[end + 1..])
    }

    fn end_command(&mut self) {
        if self.commands.last().is_none_or(|command| !command.is_empty()) {
            self.commands.push(Vec::new());
        }
    }

    /// Adds a word to the last command.
    fn push(&mut self, word: Token) -> Result<(), Diagnostic> {
        if self.commands.len() > MOST_COMMANDS {
            return Err(Diagnostic::new(format!("the script has more than {MOST_COMMANDS} commands"))
                .at(word.place)
                .help("shorten the loops"));
        }
        if let Some(command) = self.commands.last_mut() {
            command.push(word);
        }
        Ok(())
    }

    fn count(&mut self, words: usize, place: &Range<usize>) -> Result<(), Diagnostic> {
        self.words += words;
        if self.words <= MOST_WORDS {
            return Ok(());
        }
        let message = format!("the script has more than {MOST_WORDS} words with its loops written out");
        Err(Diagnostic::new(message).at(place.clone()).help("shorten the loops"))
    }

    /// `word` with `$NAME` and `${NAME}` replaced, where they are known.
    fn substituted(&mut self, word: &Token) -> Result<String, Diagnostic> {
        let too_long = || {
            let most = MOST_BYTES >> 20;
            Diagnostic::new(format!("the script is longer than {most} MiB with its variables written out"))
                .at(word.place.clone())
                .help("shorten the values of the variables")
        };
        let mut result = String::new();
        let mut rest = word.text.as_str();
        while let Some((before, after)) = rest.split_once('$') {
            result.push_str(before);
            let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let bare = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            let (name, behind) = braced.unwrap_or_else(|| after.split_at(bare));
            match self.variables.get(name) {
                Some(value) => {
                    // Before the copy: one word may name a long value many times.
                    if self.bytes + result.len() + value.len() > MOST_BYTES {
                        return Err(too_long());
                    }
                    result.push_str(value);
                    rest = behind;
                }
                None => {
                    // An unknown variable stays as it is, so that `dev $DEV` keeps its value.
                    result.push('$');
                    rest = after;
                }
            }
        }
        result.push_str(rest);
        self.bytes += result.len();
        if self.bytes > MOST_BYTES {
            return Err(too_long());
        }
        // A shell removes the quotes of a word, too.
        Ok(result.trim_matches('"').to_owned())
    }
}

/// `{1..5}`, `{5..1}` and `$(seq 1 5)` written out.
fn written_out(words: Vec<String>) -> Vec<String> {
    let parts: Vec<&str> = words.iter().map(String::as_str).collect();
    // `cut` has split `$(seq 1 5)` at its spaces.
    let counted = match parts[..] {
        ["$(seq", last] => counted_up("1", last.trim_end_matches(')')),
        ["$(seq", first, last] => counted_up(first, last.trim_end_matches(')')),
        [one] => one
            .strip_prefix('{')
            .and_then(|inner| inner.strip_suffix('}'))
            .and_then(|inner| inner.split_once(".."))
            .and_then(|(first, last)| counted_either_way(first, last)),
        _ => None,
    };
    counted.unwrap_or(words)
}

/// The numbers from `first` to `last`; none if `last` is smaller, as `seq` prints them. `None` if
/// they are too many, or no numbers.
fn counted_up(first: &str, last: &str) -> Option<Vec<String>> {
    let first = first.parse::<u32>().ok()?;
    let last = last.parse::<u32>().ok()?;
    // The list of `{1..4000000000}` would take gigabytes before any command of it is counted.
    (last.saturating_sub(first) as usize <= MOST_COMMANDS)
        .then(|| (first..=last).map(|number| number.to_string()).collect())
}

/// As [`counted_up`]; a shell counts a list in braces down if `last` is smaller.
fn counted_either_way(first: &str, last: &str) -> Option<Vec<String>> {
    let mut down = counted_up(last, first)?;
    if down.is_empty() {
        return counted_up(first, last);
    }
    down.reverse();
    Some(down)
}

/// `NAME=value`.
fn assignment(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (name, value.trim_matches(['"', '\''])))
}

// Nested loops multiply, and a variable may double at each assignment: a short text could fill the
// memory.
const MOST_COMMANDS: usize = 100_000;
/// Twenty for each command: `tc class add dev eth0 parent 1: classid 1:1 drr` has ten.
const MOST_WORDS: usize = 20 * MOST_COMMANDS;
/// 160 bytes for each command.
const MOST_BYTES: usize = 16 << 20;
// `expand` calls itself for each level, and must not exhaust the stack.
const DEEPEST_LOOP: usize = 3;
