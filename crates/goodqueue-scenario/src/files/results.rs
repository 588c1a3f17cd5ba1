//! Files that a name in a scenario may replace: earlier results of goodqueue.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use goodqueue_tc::input::Input;

/// Returns an error if a result at `path` would replace anything but an earlier result. The check
/// applies to names from a scenario, not to those of the command line.
///
/// # Errors
/// The error describes the existing file. It completes a sentence that begins with the path.
pub fn check_result(path: &Path) -> Result<(), String> {
    let unreadable = |error: io::Error| format!("cannot be read: {error}");
    let about = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        about => about.map_err(unreadable)?,
    };
    if about.is_symlink() {
        return Err("is a symbolic link".to_owned());
    }
    if !about.is_file() {
        return Err("is there already and is no file".to_owned());
    }
    let mut head = Vec::new();
    // Only the head is read, so the file may have any size.
    Input::open_regular(path, u64::MAX)
        .and_then(|file| file.take(HEAD).read_to_end(&mut head))
        .map_err(unreadable)?;
    if is_of_goodqueue(&String::from_utf8_lossy(&head)) {
        Ok(())
    } else {
        Err("is there already, and goodqueue did not write it".to_owned())
    }
}

/// True if a file begins like a result, whose first key is the version, or like a report.
fn is_of_goodqueue(head: &str) -> bool {
    let object = head.strip_prefix('{').map(str::trim_start);
    object.is_some_and(|keys| keys.starts_with("\"goodqueue\":"))
        || (head.starts_with("<!doctype html>") && head.contains(GENERATOR))
}

/// Mark of a report that goodqueue wrote.
const GENERATOR: &str = "<meta name=\"generator\" content=\"goodqueue\">";
/// Bytes to read: a report has its mark in the first lines.
const HEAD: u64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_earlier_results_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert_eq!(check_result(&path), Ok(()));
        for own in [
            "{\n  \"goodqueue\": \"0.1.0\",",
            "{\"goodqueue\":\"9\"}",
            &format!("<!doctype html>\n{GENERATOR}"),
        ] {
            fs::write(&path, own).unwrap();
            assert_eq!(check_result(&path), Ok(()), "{own}");
        }
        for foreign in ["", "{}", "{\"name\": \"goodqueue\"}", "<!doctype html>", "\0\u{7f}ELF"] {
            fs::write(&path, foreign).unwrap();
            assert!(check_result(&path).unwrap_err().contains("goodqueue did not write it"), "{foreign}");
        }
        assert!(check_result(folder.path()).unwrap_err().contains("no file"));
    }
}
