//! The kind of a flow as a word of JSON.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::FlowKind;

#[expect(clippy::derivable_impls, reason = "the list of all kinds also writes an enum without a default")]
impl Default for FlowKind {
    fn default() -> Self {
        Self::Tcp
    }
}

impl fmt::Display for FlowKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for FlowKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for FlowKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer).map(|name| Self::named(&name))
    }
}

impl JsonSchema for FlowKind {
    fn schema_name() -> Cow<'static, str> {
        "FlowKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Kind of traffic of a flow.",
            "anyOf": [
                { "enum": Self::NAMES },
                { "type": "string", "description": "Name of a traffic source of another crate." },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_written_and_read_as_its_name() {
        for name in FlowKind::NAMES.iter().copied().chain(["pulse"]) {
            let kind = FlowKind::named(name);
            assert_eq!(matches!(kind, FlowKind::Own(_)), name == "pulse");
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<FlowKind>(&json).unwrap(), kind);
        }
    }
}
