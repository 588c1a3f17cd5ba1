//! The words of a packet's story, for a terminal and for a browser alike.

use std::fmt;

use goodqueue::decision::{Fate, Quantity};
use goodqueue::{DropReason, Instant};

use crate::witness::{StateValue, Story, Value};

impl Story {
    /// Returns the story in sentences.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let Self { number, length, known, arrival, departure, .. } = self;
        let mut told = Vec::new();
        let found = match arrival.packets {
            0 => "an empty queue".to_owned(),
            packets => format!("{} ({} bytes) queued", Quantity::Packets(packets), arrival.bytes),
        };
        let arrived = seconds(known.arrived);
        let what = if self.what.is_empty() { String::new() } else { format!("; {}", self.what) };
        told.push(format!("Packet {number} ({length} bytes{what}) arrived at {arrived}. It found {found}."));
        let ended = seconds(known.ended);
        let waited = known.ended.since(known.arrived);
        let when = match departure {
            None => "at once".to_owned(),
            Some(_) if waited.is_zero() => format!("at {ended}, without waiting"),
            Some(_) => format!("at {ended}, after {} in the queue", Quantity::Span(waited)),
        };
        told.push(match known.fate {
            Fate::Sent => format!("It was sent {when}, without a mark."),
            Fate::Marked => format!("It was sent {when}, with the mark CE: congestion experienced."),
            Fate::Dropped(why) => format!("It was dropped {when} ({}).", why.name()),
        });
        let scenes = [Some(arrival), departure.as_ref()];
        for level in scenes.iter().flatten().flat_map(|scene| scene.before.levels()) {
            for rule in &level.rules {
                told.push(format!("{}: {}", level.kind, sourced(&rule.text, rule.source)));
            }
        }
        let decision = self.decision();
        if let Fate::Dropped(why) = known.fate
            && told.len() == 2
        {
            told.push(sourced(reason(why), decision.before.reference));
        }
        let (before, all) = decision.drops;
        if all > 1 {
            told.push(format!("The same call dropped {all} packets; this was number {}.", before + 1));
        }
        told
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
        let (values, state) = (self.values(), self.state());
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

/// Returns a sentence and its source, if it has one.
fn sourced(sentence: &str, source: &str) -> String {
    if source.is_empty() { sentence.to_owned() } else { format!("{sentence} [{source}]") }
}

/// Writes a paragraph in lines of at most 80 characters.
fn fill(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let mut column = 0;
    for word in text.split(' ') {
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
        _ => "The discipline dropped it.",
    }
}
