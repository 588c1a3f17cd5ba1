//! Values as written, with their places: the tree of a scenario before anything is resolved.

use std::ops::Range;
use std::sync::Arc;

use goodqueue_tc::diagnostic::shortened;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::depth::{MOST_BYTES, too_deep};

/// A table: its entries in the order in which they were written.
pub(crate) type Table = Vec<Entry>;

/// A key and its value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Entry {
    pub(in crate::scenario) key: String,
    pub(in crate::scenario) key_origin: Origin,
    pub(in crate::scenario) node: Node,
}

/// A value and its place.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Node {
    pub(crate) raw: Raw,
    pub(in crate::scenario) origin: Origin,
}

/// A value as TOML knows it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Raw {
    Text(String),
    Integer(i128),
    /// Floats and dates are kept as written: messages quote them.
    Other(String),
    Bool(bool),
    List(Vec<Node>),
    Table(Table),
}

/// Where a key or value was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// Bytes of the scenario file.
    File(Range<usize>),
    /// An argument of the command line, with its text and where in it the value begins.
    Argument { name: Arc<str>, text: Arc<str>, start: usize },
    /// Made by the program.
    Program,
}

impl Node {
    /// True if an option of the command line that stands for one key gave it; `--set` names the key
    /// itself.
    pub(in crate::scenario) fn is_from_an_option(&self) -> bool {
        matches!(&self.origin, Origin::Argument { name, .. } if &**name != "--set")
    }

    /// True if the command line gave it, with an option of its own or with `--set`.
    pub(in crate::scenario) const fn is_from_an_argument(&self) -> bool {
        matches!(&self.origin, Origin::Argument { .. })
    }
}

/// The place of a key, for modules that only pass it on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeyPlace(pub(in crate::scenario) Origin);

impl Node {
    /// A value of the program, as it is written in a file.
    pub(in crate::scenario) fn of_text(text: &str) -> Self {
        read_word(text, &Origin::Program)
    }

    /// Returns the sort of the value, for messages.
    pub(crate) fn sort(&self) -> String {
        match &self.raw {
            Raw::Text(text) => format!("the text `{}`", shortened(text)),
            Raw::Integer(number) => format!("the number {number}"),
            Raw::Other(text) => format!("`{}`", shortened(text)),
            Raw::Bool(value) => format!("`{value}`"),
            Raw::List(_) => "a list".to_owned(),
            Raw::Table(_) => "a table".to_owned(),
        }
    }

    /// The value as JSON, as it was written.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.raw {
            Raw::Text(text) | Raw::Other(text) => serde_json::Value::from(text.as_str()),
            // JSON numbers above 64 bits are not portable, so larger ones become text.
            Raw::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => serde_json::Value::from(number),
                (_, Ok(number)) => serde_json::Value::from(number),
                _ => serde_json::Value::from(number.to_string()),
            },
            Raw::Bool(value) => serde_json::Value::from(*value),
            Raw::List(items) => items.iter().map(Self::to_json).collect(),
            Raw::Table(entries) => {
                entries.iter().map(|entry| (entry.key.clone(), entry.node.to_json())).collect()
            }
        }
    }

    /// The entries of a table as dotted keys with their places, down to what is no table.
    pub(crate) fn leaves(&self) -> Vec<(String, KeyPlace, &Self)> {
        let Raw::Table(entries) = &self.raw else { return Vec::new() };
        let mut leaves = Vec::new();
        for entry in entries {
            if matches!(entry.node.raw, Raw::Table(_)) {
                for (key, place, node) in entry.node.leaves() {
                    leaves.push((format!("{}.{key}", entry.key), place, node));
                }
            } else {
                leaves.push((entry.key.clone(), KeyPlace(entry.key_origin.clone()), &entry.node));
            }
        }
        leaves
    }
}

/// A value of the command line: TOML if it is, else a word. A date is a word: no key takes one.
pub(super) fn read_word(text: &str, origin: &Origin) -> Node {
    // A bare word such as `1mbit` is no TOML. It is tried second, so that `true` and `[1, 2]` keep
    // their types.
    let shallow = text.len() <= MOST_BYTES && too_deep(text).is_none();
    // Deep text is not parsed at all: dropping the value would end the stack, too.
    let parsed = if shallow { DeValue::parse(text).ok() } else { None };
    let raw = match parsed {
        Some(value) if !is_word(value.get_ref()) => read_value(&value).raw,
        _ => Raw::Text(text.to_owned()),
    };
    // The parser's places are relative to this text, which is no file.
    let mut node = Node { raw, origin: origin.clone() };
    stamp(&mut node, origin);
    node
}

/// True for values that a person does not mean as TOML: dates, and `0b`, which the parser takes for
/// the beginning of a binary number.
fn is_word(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::Datetime(_) => true,
        DeValue::Integer(number) => number.as_str().is_empty(),
        _ => false,
    }
}

/// Everything inside a value of the command line has the place of that value.
fn stamp(node: &mut Node, origin: &Origin) {
    node.origin = origin.clone();
    match &mut node.raw {
        Raw::List(items) => items.iter_mut().for_each(|item| stamp(item, origin)),
        Raw::Table(entries) => entries.iter_mut().for_each(|entry| {
            entry.key_origin = origin.clone();
            stamp(&mut entry.node, origin);
        }),
        _ => {}
    }
}

pub(super) fn read_table(table: &DeTable<'_>) -> Table {
    let mut entries: Vec<(usize, Entry)> = table
        .iter()
        .map(|(key, value)| {
            let entry = Entry {
                key: key.get_ref().to_string(),
                key_origin: Origin::File(key.span()),
                node: read_value(value),
            };
            (key.span().start, entry)
        })
        .collect();
    // The parser sorts keys by name. The order in the file decides, for example, the order of a
    // sweep's axes.
    entries.sort_by_key(|(start, _)| *start);
    entries.into_iter().map(|(_, entry)| entry).collect()
}

pub(super) fn read_value(value: &Spanned<DeValue<'_>>) -> Node {
    let raw = match value.get_ref() {
        DeValue::String(text) => Raw::Text(text.to_string()),
        // A number above 64 bits is kept, so that the range check can quote it.
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(integer) => Raw::Integer(integer),
            // Above 128 bits the digits are kept as they were written.
            Err(_) => Raw::Other(number.as_str().to_owned()),
        },
        DeValue::Float(number) => Raw::Other(number.as_str().to_owned()),
        DeValue::Boolean(value) => Raw::Bool(*value),
        DeValue::Datetime(moment) => Raw::Other(moment.to_string()),
        DeValue::Array(items) => Raw::List(items.iter().map(read_value).collect()),
        DeValue::Table(table) => Raw::Table(read_table(table)),
    };
    Node { raw, origin: Origin::File(value.span()) }
}

pub(super) fn read_json(value: &serde_json::Value) -> Node {
    let raw = match value {
        // TOML has no such value, so every key refuses it and quotes the word.
        serde_json::Value::Null => Raw::Other("null".to_owned()),
        serde_json::Value::Bool(value) => Raw::Bool(*value),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Raw::Integer(i128::from(number)),
            (_, Some(number)) => Raw::Integer(i128::from(number)),
            _ => Raw::Other(number.to_string()),
        },
        serde_json::Value::String(text) => Raw::Text(text.clone()),
        serde_json::Value::Array(items) => Raw::List(items.iter().map(read_json).collect()),
        // `serde_json` keeps the order of the entries (feature `preserve_order`), which decides the
        // order of a sweep's axes.
        serde_json::Value::Object(entries) => Raw::Table(
            entries
                .iter()
                .map(|(key, entry)| Entry {
                    key: key.clone(),
                    key_origin: Origin::Program,
                    node: read_json(entry),
                })
                .collect(),
        ),
    };
    Node { raw, origin: Origin::Program }
}
