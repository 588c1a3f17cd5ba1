//! Typed access to the tables of a document. Absent keys get their defaults; wrong values are
//! errors with their place.

use goodqueue::{Duration, Rate};
use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use goodqueue_tc::units;

use super::document::{Document, Node, Origin, Raw, Table};

/// One table of a document.
#[derive(Clone)]
pub(super) struct Reader<'d> {
    document: &'d Document,
    table: &'d Table,
    /// Name in messages: `[link]`, `the scenario`.
    name: String,
    origin: &'d Origin,
}

impl<'d> Reader<'d> {
    pub(super) fn root(document: &'d Document) -> Self {
        Self { document, table: document.root(), name: "the scenario".to_owned(), origin: &Origin::Program }
    }

    /// The table at `node`.
    pub(super) fn of(document: &'d Document, node: &'d Node, name: &str) -> Result<Self, Diagnostic> {
        match &node.raw {
            Raw::Table(table) => Ok(Self { document, table, name: name.to_owned(), origin: &node.origin }),
            _ => Err(document.at(Diagnostic::new(format!("{name} is {}, not a table", node.sort())), node)),
        }
    }

    /// The table under `key`; an empty one if it is absent.
    pub(super) fn table(&self, key: &str, name: &str) -> Result<Self, Diagnostic> {
        match self.node(key) {
            Some(node) => Self::of(self.document, node, name),
            None => Ok(Self { name: name.to_owned(), ..self.empty() }),
        }
    }

    /// A table without keys.
    pub(super) fn empty(&self) -> Self {
        Self { document: self.document, table: EMPTY, name: String::new(), origin: &Origin::Program }
    }

    /// Refuses keys that are not among `keys`.
    pub(super) fn only(&self, keys: &[&str]) -> Result<(), Diagnostic> {
        match self.table.iter().find(|entry| !keys.contains(&entry.key.as_str())) {
            None => Ok(()),
            Some(entry) => {
                let message =
                    Diagnostic::new(format!("{} has no key `{}`", self.name, shortened(&entry.key)));
                Err(self.document.place(message.one_of(&entry.key, keys), &entry.key_origin))
            }
        }
    }

    pub(super) fn document(&self) -> &'d Document {
        self.document
    }

    pub(super) fn node(&self, key: &str) -> Option<&'d Node> {
        self.table.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// `message` about the value of `key`; about the whole table if the value is a default.
    pub(super) fn error(&self, key: &str, message: Diagnostic) -> Diagnostic {
        let named = |message: Diagnostic| message.prefixed(&format!("`{key}`"));
        match self.node(key) {
            // A user of `--rate` need not know the key `down`.
            Some(node) if node.is_from_an_option() => self.document.at(message, node),
            Some(node) => self.document.at(named(message), node),
            None => self.document.place(named(message).widened(), self.origin),
        }
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'d str>, Diagnostic> {
        match self.node(key) {
            None => Ok(None),
            Some(Node { raw: Raw::Text(text), .. }) => Ok(Some(text)),
            Some(node) => Err(self.mismatch(key, node, "text in quotes")),
        }
    }

    pub(super) fn choice<'c>(
        &self,
        key: &str,
        default: &'c str,
        words: &[&'c str],
    ) -> Result<&'c str, Diagnostic> {
        let Some(given) = self.text(key)? else { return Ok(default) };
        words.iter().find(|word| **word == given).copied().ok_or_else(|| self.unknown(key, given, words))
    }

    /// `given` is none of the words that `key` may have.
    pub(super) fn unknown(&self, key: &str, given: &str, words: &[&str]) -> Diagnostic {
        let message = Diagnostic::new(format!("`{}` is unknown", shortened(given)));
        self.error(key, message.one_of(given, words))
    }

    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool, Diagnostic> {
        match self.node(key) {
            None => Ok(default),
            Some(Node { raw: Raw::Bool(value), .. }) => Ok(*value),
            Some(node) => Err(self.mismatch(key, node, "`true` or `false`")),
        }
    }

    pub(super) fn integer(&self, key: &str, default: u64, low: u64, high: u64) -> Result<u64, Diagnostic> {
        let allowed = || format!("a whole number from {low} to {high}");
        match self.node(key) {
            None => Ok(default),
            Some(node @ Node { raw: Raw::Integer(number), .. }) => u64::try_from(*number)
                .ok()
                .filter(|number| (low..=high).contains(number))
                .ok_or_else(|| self.mismatch(key, node, &allowed())),
            Some(node) => Err(self.mismatch(key, node, &allowed())),
        }
    }

    pub(super) fn small(&self, key: &str, default: u32, low: u32, high: u32) -> Result<u32, Diagnostic> {
        let number = self.integer(key, u64::from(default), u64::from(low), u64::from(high))?;
        Ok(u32::try_from(number).unwrap_or(high))
    }

    /// A number without a unit, whole or not.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, Diagnostic> {
        let Some(node) = self.node(key) else { return Ok(None) };
        let number = match &node.raw {
            Raw::Integer(number) => number.to_string().parse(),
            Raw::Other(text) => text.replace('_', "").parse::<f64>(),
            _ => return Err(self.mismatch(key, node, "a number, such as 1.5")),
        };
        match number {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(self.mismatch(key, node, "a number, such as 1.5")),
        }
    }

    pub(super) fn time(&self, key: &str) -> Result<Option<Duration>, Diagnostic> {
        let read = |node| self.measure(key, node, "a time in quotes, such as \"50ms\"", units::time);
        self.node(key).map(read).transpose()
    }

    pub(super) fn rate(&self, key: &str) -> Result<Option<Rate>, Diagnostic> {
        let read = |node| self.measure(key, node, "a rate in quotes, such as \"10mbit\"", units::rate);
        self.node(key).map(read).transpose()
    }

    pub(super) fn size(&self, key: &str) -> Result<Option<u64>, Diagnostic> {
        let read = |node| self.measure(key, node, "a size, such as 1500 (bytes) or \"360kb\"", units::size);
        self.node(key).map(read).transpose()
    }

    /// Reads `node`, a value of `key` with a unit.
    pub(super) fn measure<T>(
        &self,
        key: &str,
        node: &Node,
        allowed: &str,
        read: fn(&str) -> Result<T, Diagnostic>,
    ) -> Result<T, Diagnostic> {
        match measured(node) {
            Some(text) => read(&text).map_err(|error| self.error(key, error)),
            None => Err(self.mismatch(key, node, allowed)),
        }
    }

    /// `node`, the value of `key`, is of the wrong sort.
    pub(super) fn mismatch(&self, key: &str, node: &Node, allowed: &str) -> Diagnostic {
        self.error(key, Diagnostic::new(format!("{} is not possible", node.sort())).allowed(allowed))
    }
}

/// The text from which a time, rate or size is read; bare numbers too, for the unit's message.
pub(super) fn measured(node: &Node) -> Option<String> {
    match &node.raw {
        Raw::Text(text) | Raw::Other(text) => Some(text.clone()),
        Raw::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

static EMPTY: &Table = &Vec::new();
