//! Lines in tc's grammar.

use goodqueue::Link;
use goodqueue_tc as tc;

/// Reads a tc line. Either an error explains what is wrong, or writing the configuration and
/// reading it again gives the same one.
///
/// # Panics
/// If neither happens.
pub fn tc_line(bytes: &[u8]) {
    let line = String::from_utf8_lossy(bytes);
    let link = Link::default();
    match tc::parse(&line, &link) {
        Ok(config) => {
            let written = tc::to_tc(&config);
            let again = tc::parse(&written, &link).unwrap_or_else(|error| panic!("{written}: {error}"));
            assert_eq!(again, config, "{line:?} was written as {written:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
