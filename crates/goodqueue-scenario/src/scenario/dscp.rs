//! `dscp`: how packets are marked, as a number or by the name of the code point.

use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use serde_json::json;

use super::document::{Node, Raw};
use super::form::{Form, Own};
use super::plain::whole;
use super::reader::Reader;

/// A code point by its name or number.
pub(super) const DSCP: Own<u8> = Own {
    read: read_dscp,
    write: |dscp| match CODE_POINTS.iter().find(|(_, code)| code == dscp) {
        Some((name, _)) => json!(name),
        None => json!(dscp),
    },
    schema: || json!({ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": MAX }, { "enum": names() }] }),
    quantity: None,
};

fn read_dscp(table: &Reader<'_>, key: &str, node: &Node) -> Result<u8, Diagnostic> {
    let Raw::Text(given) = &node.raw else {
        return whole(0..=MAX).read(table, key, node).map_err(|error| error.help(HELP));
    };
    let known = CODE_POINTS.iter().find(|(name, _)| name.eq_ignore_ascii_case(given.trim()));
    known.map(|(_, code)| *code).ok_or_else(|| {
        let message = Diagnostic::new(format!("there is no code point `{}`", shortened(given)));
        table.error(key, message.one_of(&given.to_ascii_uppercase(), &names()))
    })
}

fn names() -> Vec<&'static str> {
    CODE_POINTS.iter().map(|(name, _)| *name).collect()
}

const MAX: u64 = 63;
const HELP: &str = "or the name of a code point in quotes, such as \"EF\"";

/// RFC 2474 (class selectors), RFC 2597 (assured forwarding), RFC 3246 (EF), RFC 5865 (VA), RFC
/// 8622 (LE), RFC 9956 (NQB). The first name of a code point is the one written.
const CODE_POINTS: &[(&str, u8)] = &[
    ("CS0", 0),
    ("DF", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("NQB", 45),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];
