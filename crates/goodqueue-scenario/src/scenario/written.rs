//! Help for writing a resolved scenario as JSON.

use serde_json::{Value, json};

/// Sets `key` of `object` if there is a value.
pub(super) fn put_some(object: &mut Value, key: &str, value: Option<&String>) {
    if let Some(value) = value {
        object[key] = json!(value);
    }
}
