//! `dscp`: how packets are marked, as a number or by the name of the code point.

use goodqueue_tc::diagnostic::Diagnostic;

use super::document::{Node, Raw};
use super::reader::Reader;

/// The code point under `dscp`; 0, the default forwarding, if it is not there.
pub(super) fn read_dscp(table: &Reader<'_>) -> Result<u8, Diagnostic> {
    let Some(Node { raw: Raw::Text(given), .. }) = table.node("dscp") else {
        let number = table.small("dscp", 0, 0, MAX).map_err(|error| error.help(HELP))?;
        return Ok(u8::try_from(number).unwrap_or(0));
    };
    let known = CODE_POINTS.iter().find(|(name, _)| name.eq_ignore_ascii_case(given.trim()));
    known.map(|(_, code)| *code).ok_or_else(|| {
        let names: Vec<&str> = CODE_POINTS.iter().map(|(name, _)| *name).collect();
        let upper = given.to_ascii_uppercase();
        let message = Diagnostic::new(format!(
            "there is no code point `{}`",
            goodqueue_tc::diagnostic::shortened(given)
        ));
        table.error("dscp", message.one_of(&upper, &names))
    })
}

/// The name of a code point, or else its number.
pub(super) fn name(dscp: u8) -> serde_json::Value {
    match CODE_POINTS.iter().find(|(_, code)| *code == dscp) {
        Some((name, _)) => serde_json::json!(name),
        None => serde_json::json!(dscp),
    }
}

const MAX: u32 = 63;
const HELP: &str = "or the name of a code point in quotes, such as \"EF\"";

/// RFC 2474 (class selectors), RFC 2597 (assured forwarding), RFC 3246 (EF), RFC 5865 (VA), RFC
/// 8622 (LE). The first name of a code point is the one written.
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
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];
