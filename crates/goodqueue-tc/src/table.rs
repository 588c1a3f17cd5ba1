//! Tables of distributions: the files that tc reads for `netem delay 20ms 5ms distribution NAME`.
//!
//! Whole numbers of 16 bits between spaces and line ends, in 8192nds of the jitter; lines that
//! begin with `#` are comments. A word with a `/`, or one that ends in `.dist`, is the path of such
//! a file; any other is looked for as tc does, as `NAME.dist` in the folder `TC_LIB_DIR` of the
//! environment or else in those where systems keep such files.

use std::env::consts::ARCH;
use std::io::{BufRead, BufReader, Error};
use std::path::PathBuf;

use goodqueue::config::{Settings, Table, Value};

use crate::diagnostic::{Diagnostic, shortened};
use crate::input::Input;

/// Returns the files in which the table `word` may be, in the order in which they are tried.
fn places(word: &str) -> Vec<PathBuf> {
    if word.contains('/') || word.ends_with(ENDING) {
        return vec![word.into()];
    }
    let folders: Vec<PathBuf> = match std::env::var_os("TC_LIB_DIR") {
        Some(folder) => vec![folder.into()],
        None => FOLDERS.map(|folder| folder.replace("ARCH", ARCH).into()).to_vec(),
    };
    folders.into_iter().map(|folder| folder.join(format!("{word}{ENDING}"))).collect()
}

/// Returns the files from which the tables of a discipline and of those in it were read.
#[must_use]
pub fn files_of(settings: &Settings) -> Vec<PathBuf> {
    let own = settings.iter().filter_map(|(_, value)| match value {
        Value::Table(table) => places(&table.name).into_iter().find(|path| path.exists()),
        _ => None,
    });
    let inner = settings.children().iter().filter_map(|child| child.qdisc.as_ref());
    own.chain(inner.flat_map(|(_, inner)| files_of(inner))).collect()
}

/// Returns the table that `word` of a line names, unless it is one of `words`.
pub(crate) fn read(word: &str, words: &[&str]) -> Result<Table, Diagnostic> {
    let places = places(word);
    let Some(path) = places.iter().find(|path| path.exists()) else {
        let tried: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        let message =
            format!("there is no table `{}`: {} cannot be opened", shortened(word), tried.join(", "));
        return Err(Diagnostic::new(message).help(HELP).one_of(word, words).allowed(written(words)));
    };
    let name = path.display().to_string();
    let file = Input::open(path, MOST_BYTES).map_err(|error| unreadable(&error).in_file(&name))?;
    let entries = entries(&name, BufReader::new(file))?;
    Ok(Table { name: word.into(), entries })
}

/// Reads the numbers of a table; `name` stands for its file in messages.
///
/// # Errors
/// It cannot be read, or a word in it is no number of 16 bits; the message says where.
pub fn entries(name: &str, reader: impl BufRead) -> Result<Vec<i16>, Diagnostic> {
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(reader.split(b'\n')) {
        let line = line.map_err(|error| unreadable(&error).in_file(name))?;
        // A byte that is not UTF-8 becomes part of a word that is no number.
        let text = String::from_utf8_lossy(&line);
        for entry in text.split_whitespace().filter(|_| !text.starts_with('#')) {
            entries.push(entry.parse().map_err(|_| {
                Diagnostic::new(format!("`{}` is no entry of a table", shortened(entry)))
                    .allowed(FORM)
                    .in_line(name, number)
            })?);
        }
    }
    Ok(entries)
}

fn unreadable(error: &Error) -> Diagnostic {
    Diagnostic::new(format!("the table cannot be read: {error}"))
}

/// Allowed words in place of a table.
pub(crate) fn written(words: &[&str]) -> String {
    format!(
        "{}, or a table: the path of its file, with a `/` or ending in `{ENDING}`, or the name of one that tc has",
        words.join(", ")
    )
}

const ENDING: &str = ".dist";
/// Where tc has its own; Debian names the machine.
const FOLDERS: [&str; 4] = ["/usr/lib/tc", "/usr/lib64/tc", "/usr/share/tc", "/usr/lib/ARCH-linux-gnu/tc"];
/// More than a table of 16,384 entries takes, the most that netem accepts.
const MOST_BYTES: u64 = 1 << 20;
const FORM: &str =
    "whole numbers from -32768 to 32767 between spaces, in 8192nds of the jitter; comments begin with `#`";
const HELP: &str = "tc's own tables come with iproute2: install it, set TC_LIB_DIR to the folder that has them, or give the path of the file";
