//! Writing results: an output file appears whole or not at all, and standard output may be closed at any time.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use goodqueue_scenario::diagnostic::Diagnostic;
use goodqueue_scenario::files;
use serde::Serialize;

/// Where a result goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// Standard output, given as `-`.
    Stdout,
    /// A file.
    File(PathBuf),
}

impl Target {
    /// What `argument` stands for.
    pub(crate) fn from_argument(argument: &Path) -> Self {
        if argument.as_os_str() == "-" { Self::Stdout } else { Self::File(argument.to_owned()) }
    }
}

/// Fails now, before any work, if `target` could not be written at the end.
pub(crate) fn check(argument: &str, target: &Path) -> Result<(), Diagnostic> {
    match Target::from_argument(target) {
        Target::Stdout => Ok(()),
        Target::File(path) => files::check_writable(&path).map_err(|error| {
            cannot_write(argument, &path, &error)
                .help("choose a file in a folder that exists and can be written")
        }),
    }
}

/// Writes `contents` to a file, whole or not at all.
pub(crate) fn write_file(argument: &str, path: &Path, contents: &[u8]) -> Result<(), Diagnostic> {
    files::write_whole(path, contents).map_err(|error| cannot_write(argument, path, &error))
}

/// Writes `value` as JSON, with a final newline.
pub(crate) fn write_json(argument: &str, target: &Path, value: &impl Serialize) -> Result<(), Diagnostic> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| Diagnostic::new(format!("the result cannot be written as JSON: {error}")))?;
    text.push(b'\n');
    match Target::from_argument(target) {
        Target::Stdout => print(&String::from_utf8_lossy(&text)),
        Target::File(path) => write_file(argument, &path, &text),
    }
}

/// Prints to standard output. That nobody reads it any more (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Diagnostic> {
    let mut stdout = io::stdout().lock();
    printed(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// What came of printing to standard output.
pub(crate) fn printed(outcome: io::Result<()>) -> Result<(), Diagnostic> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Diagnostic::new(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

fn cannot_write(argument: &str, path: &Path, why: &io::Error) -> Diagnostic {
    let path = path.display().to_string();
    Diagnostic::new(format!("`{path}` cannot be written: {why}")).in_argument(argument, &path)
}
