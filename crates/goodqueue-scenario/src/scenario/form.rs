//! Forms: how the value of a key is read, written and described.

use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::document::Node;
use super::quantity::Quantity;
use super::reader::Reader;

/// How values of type `T` are written in a scenario.
pub(super) trait Shape<T> {
    /// Returns the value as it is written; `None`: the key is left out.
    fn write(&self, value: &T) -> Option<Value>;

    /// Returns the JSON schema of all values.
    fn schema(&self) -> Value;

    /// Returns the allowed values in words; nothing if the schema says all.
    fn range(&self) -> String {
        String::new()
    }

    /// Returns the quantity of bare numbers.
    fn quantity(&self) -> Option<Quantity> {
        None
    }
}

/// A shape that is read without the rest of the scenario.
pub(super) trait Form<T>: Shape<T> {
    /// Reads `node`, which is the value of `key` or its default.
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<T, Diagnostic>;

    /// Reads the value of `key`, if it is given.
    fn given(&self, table: &Reader<'_>, key: &str) -> Result<Option<T>, Diagnostic> {
        table.node(key).map(|node| self.read(table, key, node)).transpose()
    }
}

/// A form that one key has.
pub(super) struct Own<T> {
    pub(super) read: fn(&Reader<'_>, &str, &Node) -> Result<T, Diagnostic>,
    pub(super) write: fn(&T) -> Value,
    pub(super) schema: fn() -> Value,
    pub(super) quantity: Option<Quantity>,
}

impl<T> Form<T> for Own<T> {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<T, Diagnostic> {
        (self.read)(table, key, node)
    }
}

impl<T> Shape<T> for Own<T> {
    fn write(&self, value: &T) -> Option<Value> {
        Some((self.write)(value))
    }

    fn schema(&self) -> Value {
        (self.schema)()
    }

    fn quantity(&self) -> Option<Quantity> {
        self.quantity
    }
}

/// A shape of one key, whose table reads it.
pub(super) struct Context<T> {
    pub(super) write: fn(&T) -> Value,
    pub(super) schema: fn() -> Value,
    pub(super) quantity: Option<Quantity>,
}

impl<T> Shape<T> for Context<T> {
    fn write(&self, value: &T) -> Option<Value> {
        Some((self.write)(value))
    }

    fn schema(&self) -> Value {
        (self.schema)()
    }

    fn quantity(&self) -> Option<Quantity> {
        self.quantity
    }
}

/// A value that may be absent.
pub(super) struct Maybe<F>(pub(super) F);

impl<T, F: Form<T>> Form<Option<T>> for Maybe<F> {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<Option<T>, Diagnostic> {
        self.0.read(table, key, node).map(Some)
    }
}

impl<T, F: Shape<T>> Shape<Option<T>> for Maybe<F> {
    fn write(&self, value: &Option<T>) -> Option<Value> {
        value.as_ref().and_then(|value| self.0.write(value))
    }

    fn schema(&self) -> Value {
        self.0.schema()
    }

    fn range(&self) -> String {
        self.0.range()
    }

    fn quantity(&self) -> Option<Quantity> {
        self.0.quantity()
    }
}

/// A value that is not written if it is this one.
pub(super) struct Unless<T, F>(pub(super) T, pub(super) F);

impl<T: PartialEq, F: Form<T>> Form<T> for Unless<T, F> {
    fn read(&self, table: &Reader<'_>, key: &str, node: &Node) -> Result<T, Diagnostic> {
        self.1.read(table, key, node)
    }
}

impl<T: PartialEq, F: Shape<T>> Shape<T> for Unless<T, F> {
    fn write(&self, value: &T) -> Option<Value> {
        if *value == self.0 { None } else { self.1.write(value) }
    }

    fn schema(&self) -> Value {
        self.1.schema()
    }

    fn range(&self) -> String {
        self.1.range()
    }

    fn quantity(&self) -> Option<Quantity> {
        self.1.quantity()
    }
}

/// Returns the schema of a table with these keys and no others.
pub(super) fn object(properties: &Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}
