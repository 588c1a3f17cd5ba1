//! The words of a packet's story, for a terminal and for a browser alike.
//!
//! A discipline names the rule that decided, and the numbers that the rule compared. One table has
//! the sentence of each rule ([`sentence_of`]). A rule of a discipline of another crate has its
//! sentence with it.
//!
//! ```
//! use goodqueue::decision::{Evidence, Fate, Quantity, Rule};
//! use goodqueue::Duration;
//! use goodqueue_sim::words::in_words;
//!
//! const LATE: Rule = Rule::new("mine.late", &["waited"]).with_sentence("It was {verb} after {waited}.");
//! let mut evidence = Evidence::from_kind("mine");
//! evidence.rule(LATE, "", &[("waited", Quantity::Span(Duration::from_millis(7)))]);
//! assert_eq!(in_words(&evidence, &evidence.rules[0], Fate::Marked), "It was marked after 7 ms.");
//! ```

mod sentences;

use std::fmt;

use goodqueue::decision::{Applied, Evidence, Fate, Quantity, Rule};
use goodqueue::{DropReason, Instant};

pub use sentences::SENTENCES;

use crate::witness::{StateValue, Story, Value};

/// A rule that led to the fate of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RuleInWords {
    /// The discipline whose rule it is.
    pub kind: &'static str,
    /// The rule.
    pub rule: Rule,
    /// The rule in words, with the numbers that it compared.
    pub text: String,
    /// Section of the standard, or the paper.
    pub source: &'static str,
}

impl Story {
    /// Returns the rules that led to the fate, the deciding one last.
    #[must_use]
    pub fn rules(&self) -> Vec<RuleInWords> {
        let scenes = [Some(&self.arrival), self.departure.as_ref()];
        let levels = scenes.into_iter().flatten().flat_map(|scene| scene.before.levels());
        let of_level = |level: &Evidence| {
            let in_words = |applied: &Applied| RuleInWords {
                kind: level.kind,
                rule: applied.rule,
                text: in_words(level, applied, self.known.fate),
                source: applied.source,
            };
            level.rules.iter().map(in_words).collect::<Vec<_>>()
        };
        levels.flat_map(of_level).collect()
    }

    /// Returns the story in sentences.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let Self { number, length, known, arrival, departure, .. } = self;
        let mut sentences = Vec::new();
        let found = match arrival.packets {
            0 => "an empty queue".to_owned(),
            packets => format!("{} ({} bytes) queued", Quantity::Packets(packets), arrival.bytes),
        };
        let arrived = seconds(known.arrived);
        let what = if self.what.is_empty() { String::new() } else { format!("; {}", self.what) };
        sentences
            .push(format!("Packet {number} ({length} bytes{what}) arrived at {arrived}. It found {found}."));
        let ended = seconds(known.ended);
        let waited = known.ended.since(known.arrived);
        let when = match departure {
            None => "at once".to_owned(),
            Some(_) if waited.is_zero() => format!("at {ended}, without waiting"),
            Some(_) => format!("at {ended}, after {} in the queue", Quantity::Span(waited)),
        };
        sentences.push(match known.fate {
            Fate::Sent => format!("It was sent {when}, without a mark."),
            Fate::Marked => format!("It was sent {when}, with the mark CE: congestion experienced."),
            Fate::Dropped(why) => format!("It was dropped {when} ({}).", why.name()),
        });
        for rule in self.rules() {
            sentences.push(format!("{}: {}", rule.kind, sourced(&rule.text, rule.source)));
        }
        let decision = self.decision();
        if let Fate::Dropped(why) = known.fate
            // No rule has told why the packet was dropped.
            && sentences.len() == 2
        {
            sentences.push(sourced(reason(why), decision.before.reference));
        }
        let (before, all) = decision.drops;
        if all > 1 {
            sentences.push(format!("The same call dropped {all} packets; this was number {}.", before + 1));
        }
        sentences
    }
}

/// Writes the story as text: the sentences, and the values as a table.
impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fill(f, &self.qdisc)?;
        for sentence in self.sentences() {
            writeln!(f)?;
            fill(f, &sentence)?;
        }
        let values = self.values();
        let state = self.state();
        if values.is_empty() && state.is_empty() {
            return Ok(());
        }
        let of_state = |value: &StateValue| {
            let after = value.after.as_ref().map_or_else(String::new, ToString::to_string);
            [value.name.clone(), value.before.to_string(), after, format!("state of {}", value.kind)]
        };
        let shown = |value: &Value| {
            let after = value.after.map_or_else(String::new, |after| format!("{after}"));
            [value.name.to_owned(), format!("{}", value.before), after, value.doc.to_owned()]
        };
        let heading = ["state", "before", "after", ""].map(ToOwned::to_owned);
        let rows: Vec<_> = std::iter::once(heading)
            .chain(values.iter().map(shown))
            .chain(state.iter().map(of_state))
            .collect();
        // Columns, not bytes: names and values have letters such as µ.
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let [name, before, after] = [width(0), width(1), width(2)];
        writeln!(f)?;
        for row in &rows {
            let line = format!("{:name$}  {:>before$}  {:>after$}  {}", row[0], row[1], row[2], row[3]);
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Returns the sentence of a rule, with its numbers in braces. `None`: a rule of another crate that
/// has no sentence.
#[must_use]
pub fn sentence_of(rule: Rule) -> Option<&'static str> {
    let known = SENTENCES.iter().find(|known| known.0 == rule.id);
    rule.sentence.or(known.map(|known| known.1))
}

/// Returns a rule in words, with the numbers that it compared and the fate of the packet.
#[must_use]
pub fn in_words(evidence: &Evidence, applied: &Applied, fate: Fate) -> String {
    let Some(sentence) = sentence_of(applied.rule) else { return listed(evidence, applied) };
    let mut text = String::new();
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((place, behind)) = after.split_once('}') else { break };
        let (name, format) = place.split_once(':').unwrap_or((place, ""));
        text.push_str(before);
        match evidence.number(applied, name) {
            Some(number) => text.push_str(&written(number, format)),
            None if name == "verb" => text.push_str(verb(fate)),
            // Only a sentence of another crate can name a number that its rule lacks
            // (`tests/rules.rs`).
            None => text.push_str(place),
        }
        rest = behind;
    }
    text + rest
}

/// Returns the numbers of a rule that has no sentence.
fn listed(evidence: &Evidence, applied: &Applied) -> String {
    let shown = |name: &&str| evidence.number(applied, name).map(|number| format!("{name} = {number}"));
    let numbers: Vec<String> = applied.rule.numbers.iter().filter_map(shown).collect();
    match numbers.join(", ") {
        none if none.is_empty() => format!("The rule `{}` decided.", applied.rule.id),
        numbers => format!("The rule `{}` decided ({numbers}).", applied.rule.id),
    }
}

/// Writes a number with its unit (an empty format), without it (`n`), or with decimal places
/// (`.2`).
fn written(number: Quantity, format: &str) -> String {
    let places = format.strip_prefix('.').and_then(|places| places.parse::<usize>().ok());
    match (number, places) {
        (Quantity::Real(number), Some(places)) => format!("{number:.places$}"),
        (Quantity::Packets(number) | Quantity::Bytes(number), _) if format == "n" => number.to_string(),
        (Quantity::Credit(number), _) if format == "n" => number.to_string(),
        _ => number.to_string(),
    }
}

/// Returns the verb of a fate.
const fn verb(fate: Fate) -> &'static str {
    match fate {
        Fate::Sent => "sent",
        Fate::Marked => "marked",
        Fate::Dropped(_) => "dropped",
    }
}

/// Returns a sentence and its source, if it has one.
fn sourced(sentence: &str, source: &str) -> String {
    if source.is_empty() { sentence.to_owned() } else { format!("{sentence} [{source}]") }
}

/// Writes a paragraph in lines of at most 80 characters.
fn fill(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let mut column = 0;
    for word in text.split(' ') {
        // Columns, not bytes.
        let length = word.chars().count();
        if column > 0 && column + 1 + length > LINE {
            writeln!(f)?;
            column = 0;
        }
        if column > 0 {
            f.write_str(" ")?;
            column += 1;
        }
        f.write_str(word)?;
        column += length;
    }
    writeln!(f)
}

const LINE: usize = 80;

/// Returns a time in seconds to the microsecond, without needless zeros.
fn seconds(at: Instant) -> String {
    let micros = at.as_nanos() / 1_000;
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    format!("{} s", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Returns the reason of a drop in a sentence about the dropped packet.
const fn reason(why: DropReason) -> &'static str {
    match why {
        DropReason::Congested => "The AQM dropped it as a signal of congestion.",
        DropReason::Overlimit => "The queue had reached its limit.",
        DropReason::Overmemory => "The queue had used up its memory.",
        DropReason::FlowLimit => "Its flow had reached the limit of one flow.",
        DropReason::Oversize => "It was larger than the discipline can ever send.",
        DropReason::Purged => "The queue was emptied while it waited.",
        DropReason::Lost => "The emulated network lost it.",
        DropReason::Superseded => "It was an acknowledgement that a later one made redundant.",
        DropReason::BandLimit => "Its band had reached the limit of one band.",
        DropReason::Horizon => "Its sender asked for a departure too far in the future.",
        DropReason::NotEct => "It was to be marked, but is not ECN-capable.",
        // Reasons may be added.
        _ => "The discipline dropped it.",
    }
}
