//! The format as a whole: its page, its JSON schema, and the quantities of its keys.

use serde_json::{Value, json};

use super::drawn;
use super::ends;
use super::flows::FlowGroup;
use super::hops::Hop;
use super::keys::{Key, Table, merged};
use super::link::{BottleneckLink, Line};
use super::output::Output;
use super::quantity::Quantity;
use super::resolved::Scenario;
use super::tcp::{self, Tcp};
use super::traffic::Traffic;
use super::wifi::{Wifi, WifiStation};

/// Returns the page about scenario files in Markdown, with every key and its default.
#[must_use]
pub fn page() -> String {
    let sections = [("{scenario}", scenario()), ("{link ends}", link_ends()), ("{kinds}", kinds())];
    sections.into_iter().fold(PAGE.to_owned(), |page, (place, text)| page.replace(place, text.trim_end()))
}

/// Returns the JSON schema (draft 2020-12) of scenario files.
#[must_use]
pub fn schema() -> Value {
    let mut properties = merged(&[&Scenario::TABLE]);
    properties["sweep"] = json!({
        "type": "object",
        "description": "Runs every combination of the values in lists under dotted keys, such as \"link.up\"; the first key varies slowest.",
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "description": "A scenario file. Every key is optional.",
        "properties": properties,
        "additionalProperties": false,
    })
}

impl Quantity {
    /// Returns the quantity of the values of a dotted key, such as `link.rtt` or `flows.0.rate`.
    /// `None`: they have no unit (counts, probabilities) or bytes, which are bare numbers in files,
    /// too.
    #[must_use]
    pub fn of_key(key: &str) -> Option<Self> {
        // A number is the place of an entry in a list, whose key is in front of it.
        let name = key.rsplit('.').find(|part| !part.bytes().all(|byte| byte.is_ascii_digit()))?;
        tables()
            .flat_map(|table| table.keys())
            .filter(|key| key.name == name)
            .find_map(|key| (key.quantity)())
    }

    /// True if a table with this key has values of the quantity that the table itself is for: the
    /// first parameters of distributions, as in `think = { exponential = "5s" }`.
    #[must_use]
    pub fn is_inherited(key: &str) -> bool {
        drawn::is_distribution(key)
    }
}

/// All tables of a scenario.
fn tables() -> impl Iterator<Item = &'static Table> {
    let named = [
        &Scenario::TABLE,
        &Line::TABLE,
        &BottleneckLink::TABLE,
        &Hop::TABLE,
        &Wifi::TABLE,
        &WifiStation::TABLE,
        &Tcp::TABLE,
        &FlowGroup::TABLE,
        &Output::TABLE,
    ];
    let kinds = Traffic::TABLES.iter().map(|(_, table)| *table);
    named.into_iter().chain(ends::TABLES).chain(tcp::TABLES).chain(kinds)
}

/// The tables of a scenario by their keys, each with its heading.
fn headed(key: &str) -> Option<(&'static str, &'static [&'static Table])> {
    Some(match key {
        "line" => ("[line]", &[&Line::TABLE]),
        "link" => ("[link]", &[&BottleneckLink::TABLE]),
        "hops" => ("[[hops]]", &[&Hop::TABLE]),
        "wifi" => ("[wifi]", &[&Wifi::TABLE, &WifiStation::TABLE]),
        "tcp" => ("[tcp]", &[&Tcp::TABLE]),
        "flows" => ("[[flows]]", &[&FlowGroup::TABLE]),
        "output" => ("[output]", &[&Output::TABLE]),
        _ => return None,
    })
}

fn scenario() -> String {
    let mut text = String::new();
    for key in Scenario::TABLE.keys() {
        let Some((heading, tables)) = headed(key.name) else {
            add_key(&mut text, key);
            continue;
        };
        text.push('\n');
        add(&mut text, heading, &key.description());
        if key.name == "flows" {
            add(&mut text, "kind = \"tcp\"", "Kind of traffic, see below.");
        }
        tables.iter().flat_map(|table| table.keys()).for_each(|key| add_key(&mut text, key));
        if key.name == "tcp" {
            let about = "Parameters of a congestion control, in a table of its name; `goodqueue list tcps` shows them.";
            add(&mut text, "ledbat = { target = \"100ms\", gain = 1 }", about);
        }
    }
    text
}

fn link_ends() -> String {
    let mut text = String::new();
    for table in ends::TABLES {
        add_table(&mut text, &format!("# {}", table.about()), table);
    }
    text
}

fn kinds() -> String {
    let mut text = String::new();
    for (kind, table) in Traffic::TABLES {
        let mut heading = String::new();
        add(&mut heading, &format!("kind = \"{kind}\""), &table.about());
        add_table(&mut text, heading.trim_end(), table);
    }
    text
}

fn add_table(text: &mut String, heading: &str, table: &Table) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(heading);
    text.push('\n');
    table.keys().for_each(|key| add_key(text, key));
}

fn add_key(text: &mut String, key: &Key) {
    add(text, &format!("{} = {}", key.name, key.example), &key.description());
}

/// Adds a line of TOML with a comment that continues below itself.
fn add(text: &mut String, toml: &str, comment: &str) {
    let mut line = toml.to_owned();
    if line.len() > LONG {
        text.push_str(&line);
        text.push('\n');
        line.clear();
    }
    // Two spaces part a comment from TOML that reaches beyond its column.
    let mut start = if line.len() < COMMENTS { COMMENTS } else { line.len() + 2 };
    line.extend(std::iter::repeat_n(' ', start - line.len()));
    line.push('#');
    for word in comment.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            start = COMMENTS;
            line = format!("{}#", " ".repeat(start));
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

const PAGE: &str = include_str!("format.md");
/// Column of the comments.
const COMMENTS: usize = 27;
/// A line of TOML above this length has its comment below.
const LONG: usize = 60;
const WIDTH: usize = 100;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use goodqueue_tc::units;

    use super::*;
    use crate::scenario::document::{Document, Node, Raw};
    use crate::scenario::names::Names;

    #[test]
    fn examples_with_units_belong_to_keys_with_quantities() {
        for key in tables().flat_map(|table| table.keys()) {
            let Raw::Text(text) = Node::of_text(key.example).raw else { continue };
            let expected = match (units::time(&text), units::rate(&text)) {
                (Ok(_), _) => Some(Quantity::Time),
                (_, Ok(_)) => Some(Quantity::Rate),
                _ => continue,
            };
            assert_eq!((key.quantity)(), expected, "{} = {text:?}", key.name);
        }
    }

    /// Returns the resolved scenario of this text as JSON.
    fn resolved(text: &str) -> Value {
        let document = Document::parse("keys.toml", text, Path::new("")).unwrap();
        document.resolve(&Names::default()).unwrap_or_else(|error| panic!("{text}\n{error}")).to_json()
    }

    #[test]
    fn the_example_of_a_key_is_its_default_unless_its_meaning_states_another() {
        // A plain table, and the keys that it may have.
        let mut plain: Vec<(String, &Table)> = vec![(String::new(), &Scenario::TABLE)];
        for key in Scenario::TABLE.keys() {
            let Some((heading, inside)) = headed(key.name) else { continue };
            let rates = if key.name == "line" { "down = \"16mbit\"\n" } else { "" };
            plain.extend(inside.iter().map(|table| (format!("{heading}\n{rates}"), *table)));
        }
        // A capture needs a file, and QUIC its feature.
        let resolves =
            |kind: &str| kind != "capture" && (!kind.starts_with("quic") || cfg!(feature = "quic"));
        for (kind, table) in Traffic::TABLES.iter().filter(|(kind, _)| resolves(kind)) {
            let mut text = format!("[[flows]]\nkind = \"{kind}\"\n");
            let required = table.keys().filter(|key| key.is_required() || key.name == "connections");
            required.for_each(|key| text.push_str(&format!("{} = {}\n", key.name, key.example)));
            plain.push((text, table));
        }
        let mut tried = 0;
        for (text, table) in plain {
            let usual = resolved(&text);
            for key in table.keys() {
                let is_known = text.contains(&format!("\n{} = ", key.name)) || headed(key.name).is_some();
                // One rate of a link is the default of the other.
                let is_free =
                    ["title", "question", "expect", "source", "remembers", "down"].contains(&key.name);
                if is_known || is_free {
                    continue;
                }
                let told = resolved(&format!("{text}{} = {}\n", key.name, key.example));
                let states_another = key.meaning.contains("Default:") || key.name == "stations";
                assert!(states_another || told == usual, "{text}{} = {}", key.name, key.example);
                tried += 1;
            }
        }
        assert!(tried > 80, "{tried}");
    }

    #[test]
    fn a_key_is_known_by_its_last_name() {
        for key in ["rtt", "link.rtt", "sweep.link.rtt", "flows.0.rtt", "flows.0.on", "tcp.delayed_ack"] {
            assert_eq!(Quantity::of_key(key), Some(Quantity::Time), "{key}");
        }
        for key in ["link.up", "link.down.rate", "hops.0.down", "flows.0.ladder.2"] {
            assert_eq!(Quantity::of_key(key), Some(Quantity::Rate), "{key}");
        }
        for key in ["flows", "flows.0", "flows.0.count", "flows.0.size", "wifi.error", "", "0"] {
            assert_eq!(Quantity::of_key(key), None, "{key}");
        }
        for key in
            ["access", "buffer", "delay", "interval", "longest", "repeat", "rttvar", "series", "timeout"]
        {
            assert_eq!(Quantity::of_key(key), Some(Quantity::Time), "{key}");
        }
    }

    #[test]
    fn every_key_says_what_it_is_for_in_a_sentence() {
        for key in tables().flat_map(|table| table.keys()) {
            let meaning = key.meaning.trim();
            assert!(meaning.starts_with(char::is_uppercase) && meaning.ends_with(['.', '?']), "{}", key.name);
        }
    }
}
