//! The command as it was typed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Arguments of the process, the name of the program first.
static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Keeps the arguments of the first command of this process.
pub(crate) fn keep(arguments: Vec<OsString>) {
    let _ = ARGUMENTS.set(arguments);
}

/// Returns the words of the command after the name of the program.
pub(crate) fn words() -> Vec<String> {
    let arguments = ARGUMENTS.get().map_or(&[][..], Vec::as_slice);
    arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Returns the program, so that a shell in another folder finds it.
pub(crate) fn program() -> PathBuf {
    let program = ARGUMENTS.get().and_then(|arguments| arguments.first()).map(PathBuf::from);
    let program = program.unwrap_or_else(|| PathBuf::from("goodqueue"));
    // A name without a folder was found in the search path.
    if program.components().count() > 1 { std::path::absolute(&program).unwrap_or(program) } else { program }
}

/// Returns a word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+%".contains(c);
    if word.chars().all(is_plain) && !word.is_empty() {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Returns the command as it was typed, for readers of a report. The report of merged shards is
/// that of one run.
pub(crate) fn command_line() -> String {
    let words = words();
    let quoted = words.iter().filter(|word| *word != "--merge").map(|word| quoted(word));
    // A program with disciplines of its own has a name of its own.
    let name = ARGUMENTS.get().and_then(|arguments| Path::new(arguments.first()?).file_stem());
    let name = name.map_or_else(|| "goodqueue".into(), |name| name.to_string_lossy().into_owned());
    std::iter::once(name).chain(quoted).collect::<Vec<_>>().join(" ")
}
