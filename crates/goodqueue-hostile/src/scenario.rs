//! Scenario files.

use std::path::Path;

use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_scenario::sweep;

/// A scenario file: either a sentence says what is wrong, or its result form reads back as the same scenario.
///
/// # Panics
/// Neither.
pub fn scenario(bytes: &[u8]) {
    /// Commas: of a sweep with more of them there may be too many points to try here.
    const MOST: usize = 16;
    let text = String::from_utf8_lossy(bytes);
    let document = match Document::parse("fuzz.toml", &text, Path::new("/nonexistent")) {
        Ok(document) => document,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    match document.resolve(&Names::default()) {
        Ok(scenario) => {
            let json = scenario.to_json();
            let again = Document::from_json(&json).and_then(|read| read.resolve(&Names::default()));
            let again = again.unwrap_or_else(|error| panic!("{json}: {error}"));
            assert_eq!(again.to_json(), json, "of {text:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if text.matches(',').count() <= MOST {
        match sweep::expand(&document, &Names::default()) {
            Ok(points) => assert!(!points.is_empty()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
