//! The key `ecn` of TCP flows: which feedback of congestion marks both ends negotiate.

use std::fmt;

use serde_json::json;

use super::document::Raw;
use super::form::Own;

/// Which feedback of congestion marks the ends negotiate.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum EcnMode {
    /// None.
    #[default]
    Off,
    /// ECN (RFC 3168).
    Classic,
    /// Accurate ECN (RFC 9768).
    Accurate,
}

impl EcnMode {
    pub(super) fn from_config(settings: &goodqueue_tcp::Config) -> Self {
        match (settings.ecn, settings.accecn) {
            (false, _) => Self::Off,
            (true, false) => Self::Classic,
            (true, true) => Self::Accurate,
        }
    }
}

impl fmt::Display for EcnMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Classic => "on",
            Self::Accurate => ACCURATE,
        })
    }
}

/// `true`, `false`, or the word for Accurate ECN.
pub(super) const ECN: Own<EcnMode> = Own {
    read: |table, key, node| match &node.raw {
        Raw::Bool(false) => Ok(EcnMode::Off),
        Raw::Bool(true) => Ok(EcnMode::Classic),
        Raw::Text(word) if word == ACCURATE => Ok(EcnMode::Accurate),
        _ => Err(table.mismatch(key, node, "`true`, `false` or \"accecn\"")),
    },
    write: |mode| match mode {
        EcnMode::Off => json!(false),
        EcnMode::Classic => json!(true),
        EcnMode::Accurate => json!(ACCURATE),
    },
    schema: || json!({ "enum": [false, true, ACCURATE] }),
    quantity: None,
};
const ACCURATE: &str = "accecn";
