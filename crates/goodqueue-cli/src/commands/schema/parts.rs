//! The parts of schemas.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// Returns the schema of a type as it is written.
pub(super) fn of<T: JsonSchema>() -> Value {
    let schema: Schema =
        // As it is read, a field with a default would be optional. As it is written, it is always
        // there.
        SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    schema.to_value()
}

/// Returns the schema of a type whose values are words.
#[cfg(feature = "papers")]
pub(super) fn one_of<T: JsonSchema>(description: &str) -> Value {
    let mut schema = of::<T>();
    adopt(&mut json!({}), &mut schema);
    schema["description"] = json!(description);
    schema
}

/// Returns an object of which these keys are always there.
pub(super) fn object(description: &str, properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    json!({ "type": "object", "description": description, "required": required, "properties": properties })
}

/// Returns `object` with keys that may be absent.
pub(super) fn with_optional(mut object: Value, optional: Value) -> Value {
    if let (Some(Value::Object(all)), Value::Object(more)) = (object.get_mut("properties"), optional) {
        all.extend(more);
    }
    object
}

pub(super) fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

pub(super) fn count(description: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": description })
}

pub(super) fn number(description: &str) -> Value {
    json!({ "type": "number", "description": description })
}

pub(super) fn array(description: &str, items: Value) -> Value {
    json!({ "type": "array", "description": description, "items": items })
}

/// Moves the definitions of `inner` to the end of `outer`, where references find them.
pub(super) fn adopt(outer: &mut Value, inner: &mut Value) {
    if let Some(Value::Object(more)) = inner.as_object_mut().and_then(|fields| fields.remove("$defs")) {
        let definitions = outer.as_object_mut().map(|fields| fields.entry("$defs").or_insert(json!({})));
        if let Some(Value::Object(all)) = definitions {
            all.extend(more);
        }
    }
    if let Some(fields) = inner.as_object_mut() {
        // Only the root of a schema names its draft and has a title.
        fields.remove("$schema");
        fields.remove("title");
    }
}
