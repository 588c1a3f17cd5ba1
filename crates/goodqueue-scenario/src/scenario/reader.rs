//! Typed access to the tables of a document. Absent keys get their defaults; wrong values are
//! errors with their place.

use goodqueue::Duration;
use goodqueue_tc::diagnostic::{Diagnostic, shortened};

use super::document::{Document, Node, Origin, Raw, Table};

/// One table of a document.
#[derive(Clone)]
pub(super) struct Reader<'d> {
    document: &'d Document,
    table: &'d Table,
    /// Table that has the keys that `table` lacks.
    below: &'d Table,
    /// Name in messages: `[link]`, `the scenario`.
    name: String,
    origin: &'d Origin,
}

impl<'d> Reader<'d> {
    pub(super) fn root(document: &'d Document) -> Self {
        Self {
            document,
            table: document.root(),
            below: EMPTY,
            name: "the scenario".to_owned(),
            origin: &Origin::Program,
        }
    }

    /// The table at `node`.
    pub(super) fn of_table(document: &'d Document, node: &'d Node, name: &str) -> Result<Self, Diagnostic> {
        match &node.raw {
            Raw::Table(table) => {
                Ok(Self { document, table, below: EMPTY, name: name.to_owned(), origin: &node.origin })
            }
            _ => Err(document.at(Diagnostic::new(format!("{name} is {}, not a table", node.sort())), node)),
        }
    }

    /// The table under `key`; an empty one if it is absent.
    pub(super) fn table(&self, key: &str, name: &str) -> Result<Self, Diagnostic> {
        match self.node(key) {
            Some(node) => Self::of_table(self.document, node, name),
            None => Ok(Self { name: name.to_owned(), ..self.empty() }),
        }
    }

    /// A table without keys.
    pub(super) fn empty(&self) -> Self {
        Self {
            document: self.document,
            table: EMPTY,
            below: EMPTY,
            name: String::new(),
            origin: &Origin::Program,
        }
    }

    /// Refuses keys that are not among `keys`.
    pub(super) fn only(&self, keys: &[&str]) -> Result<(), Diagnostic> {
        // `below` has keys of another table, which checks them itself.
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
        // Its own keys come first, so they win over those of the table above.
        self.table.iter().chain(self.below).find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// This table, and the keys of `other` that it lacks.
    pub(super) fn above(self, other: &Self) -> Self {
        Self { below: other.table, ..self }
    }

    /// `message` about the value of `key`; about the whole table if the value is a default.
    pub(super) fn error(&self, key: &str, message: Diagnostic) -> Diagnostic {
        let named = |message: Diagnostic| message.prefixed(&format!("`{key}`"));
        match self.node(key) {
            // A user of `--rate` need not know the key `down`.
            Some(node) if node.is_from_an_option() => self.document.at(message, node),
            Some(node) => self.document.at(named(message), node),
            // A position would be one in the default, which is in no file.
            None => self.document.place(named(message).widened(), self.origin),
        }
    }

    /// As [`error`](Self::error), where a run longer than `least` would do. The error is about the
    /// duration if the command line gave it: the file with `key` may be one that comes with
    /// goodqueue.
    pub(super) fn too_late(&self, key: &str, message: Diagnostic, least: Duration) -> Diagnostic {
        match self.document.node("duration") {
            Some(node) if node.is_from_an_argument() => {
                let message = message.allowed(format!("a duration above {least} for this scenario"));
                self.document.at(message.help("choose a longer run"), node)
            }
            _ => self.error(key, message),
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
