//! Tables of keys. Each key is declared once.
//!
//! The declaration of a key has its meaning, its name, its type, an example and the form of its
//! values. Reading, messages, the JSON of a resolved scenario, the page about the format and the
//! JSON schema follow from it.

use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::document::Node;
use super::form;
use super::quantity::Quantity;
use super::reader::Reader;

/// The keys of a table.
pub(super) struct Table {
    /// What the table describes.
    pub(super) about: &'static str,
    /// The keys that only this table declares.
    pub(super) own: &'static [Key],
    /// Tables whose keys belong to this one too.
    pub(super) shared: &'static [&'static Table],
}

/// One key of a table.
#[derive(Clone, Copy)]
pub(super) struct Key {
    pub(super) name: &'static str,
    /// A value as in a file: the default, unless `rule` says otherwise.
    pub(super) example: &'static str,
    /// The rule for an absent value; nothing: the example is the default.
    pub(super) rule: &'static str,
    /// What the key is for.
    pub(super) meaning: &'static str,
    /// The allowed values in words; nothing if the schema says all.
    pub(super) range: fn() -> String,
    /// The JSON schema of its values.
    pub(super) schema: fn() -> Value,
    /// The quantity of bare numbers.
    pub(super) quantity: fn() -> Option<Quantity>,
}

impl Table {
    /// Returns all keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.own.iter().chain(self.shared.iter().flat_map(|table| table.own))
    }

    /// Returns the table at `node`, the value of `key` in `outer`, which has no other keys.
    pub(super) fn inside<'d>(
        &self,
        outer: &Reader<'d>,
        key: &str,
        node: &'d Node,
    ) -> Result<Reader<'d>, Diagnostic> {
        let inner = Reader::of_table(outer.document(), node, &format!("`{key}`"))?;
        inner.only(&self.names())?;
        Ok(inner)
    }

    /// Returns what the table describes, in one line.
    pub(super) fn about(&self) -> String {
        self.about.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Returns the names of all keys.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys().map(|key| key.name).collect()
    }

    /// Returns the names of the keys that a table must have.
    pub(super) fn required(&self) -> Vec<&'static str> {
        self.keys().filter(|key| key.is_required()).map(|key| key.name).collect()
    }

    /// Returns the JSON schema of a table with these keys and no others.
    pub(super) fn schema(&self) -> Value {
        form::object(&merged(&[self]), &self.required())
    }
}

/// Returns the schemas of all keys of `tables` by their names.
pub(super) fn merged(tables: &[&Table]) -> Value {
    let keys = tables.iter().flat_map(|table| table.keys());
    Value::Object(keys.map(|key| (key.name.to_owned(), key.schema())).collect())
}

impl Key {
    /// True if a table must have the key.
    pub(super) fn is_required(&self) -> bool {
        self.rule == "required"
    }

    /// Returns what the key is for, with the allowed values.
    pub(super) fn description(&self) -> String {
        let mut text = self.meaning.trim().to_owned();
        if self.is_required() {
            text.push_str(" Required.");
        }
        let range = (self.range)();
        if !range.is_empty() {
            text.push_str(&format!(" Allowed: {range}."));
        }
        text
    }

    /// Returns the JSON schema of the values.
    pub(super) fn schema(&self) -> Value {
        let mut schema = (self.schema)();
        schema["description"] = json!(self.description());
        if self.rule.is_empty() {
            schema["default"] = Node::of_text(self.example).to_json();
        }
        schema
    }
}

/// Returns an object with the keys that `write` adds.
pub(super) fn written(write: impl FnOnce(&mut Value)) -> Value {
    let mut object = json!({});
    write(&mut object);
    object
}

/// Declares the keys of a table, and the struct that holds their values.
///
/// An entry has the meaning of a key as its doc comment, its name, the type of its field, an
/// example as it is written in a file, and the form of its values:
///
/// ```text
/// keys! {
///     /// A voice call.
///     pub struct Voip(table, around: &FlowContext<'_>) {
///         /// Time between packets (RFC 3551).
///         interval: Duration = "20ms", time("a packet each {} is not possible", LEAST..=MOST);
///         /// IP bytes of a packet. Default: 64 kbit/s of voice and 40 bytes of headers.
///         packet: u32 = 200, SIZE => or(usual(interval));
///     }
/// }
/// ```
///
/// The example is the value of an absent key, unless a rule follows:
///
/// * `or(value)`: the value is computed. It may refer to the keys above.
/// * `none`: the field is `None`.
/// * `required("a rate")`: a message names what is missing.
/// * `from(value)`: the value is computed, and the form only writes and describes.
///
/// `shared` has tables that several tables have in common: each is a field, and its keys stand
/// among those of this table. `also` has keys without a field, and `with` fields without a key.
/// `first` has statements before the keys are read, and `then` statements after it. Both may use
/// `table` and `around`. What `then` declares under the name of a field is its value.
///
/// `write` puts the values into an object in the order of the declarations.
macro_rules! keys {
    (
        $(#[doc = $about:literal])+
        $(#[derive($($derive:ident),+)])?
        $vis:vis struct $name:ident($table:ident, $around:ident: $context:ty) {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $example:tt, $form:expr $(=> $rule:ident $(($($argument:tt)*))?)?;
            )*
        }
        $(shared { $($(#[doc = $shared_doc:literal])+ $shared:ident: $shared_type:ty;)* })?
        $(also {
            $(
                $(#[doc = $also_doc:literal])+
                $also:ident: $also_type:ty = $also_example:tt, $also_form:expr
                    $(=> $also_rule:ident $(($($also_argument:tt)*))?)?;
            )*
        })?
        $(with { $($(#[doc = $extra_doc:literal])+ $extra:ident: $extra_type:ty;)* })?
        $(first { $($first:tt)* })?
        $(then { $($then:tt)* })?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, PartialEq, Debug $($(, $derive)+)?)]
        $vis struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)*
            $($($(#[doc = $shared_doc])+ pub $shared: $shared_type,)*)?
            $($($(#[doc = $extra_doc])+ pub $extra: $extra_type,)*)?
        }

        impl $name {
            /// The keys.
            pub(super) const TABLE: $crate::scenario::keys::Table =
                $crate::scenario::keys::Table {
                    about: concat!($($about, "\n"),+),
                    own: &[
                        $($crate::scenario::keys::keys!(
                            @key [$($doc)+] $field [$type] $example [$form] [$($rule)?]
                        ),)*
                        $($($crate::scenario::keys::keys!(
                            @key [$($also_doc)+] $also [$also_type] $also_example [$also_form] [$($also_rule)?]
                        ),)*)?
                    ],
                    shared: &[$($(&<$shared_type>::TABLE,)*)?],
                };

            /// Reads the keys; absent keys get their defaults.
            pub(super) fn read(
                $table: &$crate::scenario::reader::Reader<'_>,
                $around: $context,
            ) -> Result<Self, goodqueue_tc::diagnostic::Diagnostic> {
                $($($first)*)?
                $(let $field: $type = $crate::scenario::keys::keys!(
                    @read $table $field [$type] $example [$form] $($rule [$($($argument)*)?])?
                );)*
                $($(let $shared = <$shared_type>::read($table, $around)?;)*)?
                $($(let $also: $also_type = $crate::scenario::keys::keys!(
                    @read $table $also [$also_type] $also_example [$also_form] $($also_rule [$($($also_argument)*)?])?
                );)*)?
                $($($then)*)?
                Ok(Self { $($field,)* $($($shared,)*)? $($($extra,)*)? })
            }

            /// Adds the values to an object.
            pub(super) fn write(&self, object: &mut serde_json::Value) {
                $(if let Some(value) = $crate::scenario::form::Shape::<$type>::write(&$form, &self.$field) {
                    object[stringify!($field)] = value;
                })*
                $($(self.$shared.write(object);)*)?
            }
        }
    };
    (@key [$($doc:literal)+] $key:ident [$type:ty] $example:tt [$form:expr] [$($rule:ident)?]) => {
        $crate::scenario::keys::Key {
            name: stringify!($key),
            example: stringify!($example),
            rule: concat!($(stringify!($rule))?),
            meaning: concat!($($doc),+),
            range: || $crate::scenario::form::Shape::<$type>::range(&$form),
            schema: || $crate::scenario::form::Shape::<$type>::schema(&$form),
            quantity: || $crate::scenario::form::Shape::<$type>::quantity(&$form),
        }
    };
    (@read $table:ident $key:ident [$type:ty] $example:tt [$form:expr]) => {{
        // Parsed once for all tables that lack the key.
        static DEFAULT: std::sync::LazyLock<$crate::scenario::document::Node> =
            std::sync::LazyLock::new(|| $crate::scenario::document::Node::of_text(stringify!($example)));
        let node = $table.node(stringify!($key)).unwrap_or(&DEFAULT);
        $crate::scenario::form::Form::<$type>::read(&$form, $table, stringify!($key), node)?
    }};
    (@read $table:ident $key:ident [$type:ty] $example:tt [$form:expr] or [$default:expr]) => {
        match $table.node(stringify!($key)) {
            Some(node) => $crate::scenario::form::Form::<$type>::read(&$form, $table, stringify!($key), node)?,
            None => $default,
        }
    };
    (@read $table:ident $key:ident [$type:ty] $example:tt [$form:expr] none []) => {
        $crate::scenario::keys::keys!(@read $table $key [$type] $example [$form] or [None])
    };
    (@read $table:ident $key:ident [$type:ty] $example:tt [$form:expr] required [$what:expr]) => {
        $crate::scenario::keys::keys!(@read $table $key [$type] $example [$form] or [{
            let message = goodqueue_tc::diagnostic::Diagnostic::new($what);
            let example = concat!("such as ", stringify!($key), " = ", stringify!($example));
            return Err($table.error(stringify!($key), message.allowed(example)));
        }])
    };
    (@read $table:ident $key:ident [$type:ty] $example:tt [$form:expr] from [$value:expr]) => { $value };
}
pub(super) use keys;
