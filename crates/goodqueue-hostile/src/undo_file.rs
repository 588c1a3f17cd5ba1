//! Undo files.

use goodqueue_live::undo::Undo;

/// Reads an undo file. Either an error explains what is wrong with it, or it contains nothing but
/// an undo, and is written as it was read. Nothing is undone here.
///
/// # Panics
/// If one of these does not hold.
pub fn undo_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let undo = match Undo::parse(&text) {
        Ok(undo) => undo,
        Err((line, problem)) => {
            assert!(line <= text.lines().count().max(1), "line {line} of fewer");
            return assert!(!problem.is_empty());
        }
    };
    for (key, value) in undo.settings() {
        let parts: Vec<&str> = key.split('/').collect();
        let [family, conf, interface, setting] = parts.as_slice() else { panic!("{key} is set") };
        assert!(["ipv4", "ipv6"].contains(family) && *conf == "conf", "{key} is set");
        for name in [interface, setting] {
            assert!(!["", ".", ".."].contains(name), "{key} is set");
        }
        assert!(value.bytes().all(|byte| byte.is_ascii_digit()), "{key} is set to {value}");
    }
    let again = Undo::parse(&undo.text()).unwrap_or_else(|error| panic!("{}: {error:?}", undo.text()));
    assert_eq!(again.text(), undo.text(), "of {text:?}");
}
