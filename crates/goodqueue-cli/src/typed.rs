//! The command as it was typed.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use goodqueue_tc::printable;

/// Arguments of the process, the name of the program first.
static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Keeps the arguments of the first command of this process.
pub(crate) fn keep(arguments: Vec<OsString>) {
    let _ = ARGUMENTS.set(arguments);
}

/// Returns the words of the command after the name of the program.
pub(crate) fn words() -> Vec<String> {
    given().iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Returns the words of the command after the name of the program, for a script.
///
/// # Errors
/// A word that a script cannot contain, see [`for_script`].
pub(crate) fn words_for_script() -> Result<Vec<String>, Diagnostic> {
    given().iter().map(|word| for_script("an argument", word)).collect()
}

/// Returns text that a generated script may contain, if it consists of printable characters. A line
/// end in the name of a folder would end the comment in which it stands, and the rest of the name
/// would be a command.
///
/// # Errors
/// The text contains other characters, or bytes that are no text. `what` names it.
pub(crate) fn for_script(what: &str, text: &OsStr) -> Result<String, Diagnostic> {
    let problem = match text.to_str() {
        Some(plain) if plain.chars().all(printable::is_printable) => return Ok(plain.to_owned()),
        Some(_) => "control characters, which could become commands of their own",
        None => "bytes that are not UTF-8",
    };
    let shown: String = text.to_string_lossy().escape_debug().collect();
    Err(Diagnostic::new(format!("the script would contain {what} with {problem}: `{}`", shortened(&shown)))
        .allowed("printable characters, on one line")
        .help("rename the file or folder, or write the value without these characters"))
}

/// Returns the arguments after the name of the program.
fn given() -> &'static [OsString] {
    ARGUMENTS.get().and_then(|arguments| arguments.get(1..)).unwrap_or_default()
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
    // A shell drops an empty word without quotation marks.
    if word.chars().all(is_plain) && !word.is_empty() {
        word.to_owned()
    } else {
        // Nothing between single quotation marks is special, but they cannot contain one
        // (POSIX.1-2017 XCU 2.2.2). So the text is closed, the mark escaped, and the text opened
        // again.
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
