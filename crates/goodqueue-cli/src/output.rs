//! Output of results. An output file appears completely or not at all, and standard output may be
//! closed at any time.
//!
//! This is the only place that writes to standard output, and nothing that a terminal would obey
//! passes it: see [`goodqueue_tc::printable`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use goodqueue_scenario::export::Contents;
use goodqueue_scenario::files::{self, Existing, FileIdentity, StreamedFile};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::printable;
use serde::Serialize;

/// The destination of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// Standard output, given as `-`.
    Stdout,
    /// A file.
    File(PathBuf),
}

impl Target {
    /// Reads the value of an option.
    pub(crate) fn from_argument(argument: &Path) -> Self {
        if argument.as_os_str() == "-" { Self::Stdout } else { Self::File(argument.to_owned()) }
    }
}

/// The outputs of a command, checked before any work: each can be written, no two share a file, and
/// none replaces an input.
#[derive(Default, Debug)]
pub(crate) struct Outputs {
    /// The files in use.
    taken: BTreeMap<Place, Use>,
}

/// How a command uses a file.
#[derive(Debug)]
enum Use {
    Read,
    Written {
        /// The argument or key that names the output.
        argument: String,
        /// The name of the output in an error about a second one.
        who: String,
        /// The name of the file as given.
        path: PathBuf,
    },
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Place {
    Stdout,
    File(FileIdentity),
}

/// Whose output it is.
struct Owner<'a> {
    /// As an error about a later output of the same place names it.
    name: &'a str,
    /// What to do if the place is taken.
    advice: &'a str,
}

impl<'a> Owner<'a> {
    const fn option(argument: &'a str) -> Self {
        Self { name: argument, advice: APART }
    }
}

impl Outputs {
    /// Adds the output of an option: a file, or `-` for standard output.
    pub(crate) fn add(&mut self, argument: &str, target: &Path) -> Result<(), Diagnostic> {
        match Target::from_argument(target) {
            Target::Stdout => self.take(argument, &Owner::option(argument), target, Place::Stdout),
            Target::File(path) => {
                files::check_writable(&path).map_err(|error| unwritable(argument, &path, &error))?;
                self.reserve(argument, &path)
            }
        }
    }

    /// Adds a report, whose name must end with .html or .htm.
    pub(crate) fn add_report(&mut self, argument: &str, path: &Path) -> Result<(), Diagnostic> {
        let is_html =
            path.extension().is_some_and(|end| REPORT_ENDS.iter().any(|html| end.eq_ignore_ascii_case(html)));
        // The names of devices and FIFOs cannot be chosen.
        if !is_html && !FileIdentity::from_path(path).is_ok_and(|file| file.is_none()) {
            let path = path.display().to_string();
            return Err(Diagnostic::new(format!("a report is HTML, but `{path}` does not end with .html"))
                .allowed("a name that ends with .html or .htm")
                .help("a browser can print it as PDF")
                .in_argument(argument, &path));
        }
        // `-` never reaches this point, because it has no suffix.
        files::check_writable(path).map_err(|error| unwritable(argument, path, &error))?;
        self.reserve(argument, path)
    }

    /// Adds an output that a scenario names with `key`. The user did not type this name now, so
    /// only earlier results may be replaced.
    pub(crate) fn add_named_in_scenario(&mut self, key: &str, path: &Path) -> Result<(), Diagnostic> {
        let outside = |error| unwritable(key, path, &error);
        // The parent of a plain name is an empty path, which `canonicalize` would not find.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().map_err(outside)?;
        if !folder.starts_with(Path::new(".").canonicalize().map_err(outside)?) {
            let why = io::Error::other("a symbolic link leads out of the working directory");
            return Err(unwritable(key, path, &why));
        }
        check_result(key, path)?;
        files::check_writable(path).map_err(outside)?;
        self.reserve(key, path)
    }

    /// Adds the results of a scenario in the folder for results, which may not exist yet.
    pub(crate) fn add_results(&mut self, argument: &str, path: &Path) -> Result<(), Diagnostic> {
        check_result(argument, path)?;
        if path.parent().is_some_and(Path::is_dir) {
            files::check_writable(path).map_err(|error| unwritable(argument, path, &error))?;
        }
        let file = FileIdentity::from_path(path).map_err(|error| unwritable(argument, path, &error))?;
        let of_scenario = Owner {
            name: "another scenario",
            advice: "give each scenario a `name` of its own, and each output a file",
        };
        file.map_or(Ok(()), |file| self.take(argument, &of_scenario, path, Place::File(file)))
    }

    /// Adds an input. A file that cannot be read is an error where it is read.
    pub(crate) fn read(&mut self, path: &Path) -> Result<(), Diagnostic> {
        // Several arguments may read one file.
        let Ok(Some(file)) = FileIdentity::from_path(path) else { return Ok(()) };
        match self.taken.entry(Place::File(file)).or_insert(Use::Read) {
            Use::Read => Ok(()),
            Use::Written { argument, path, .. } => Err(replaces_input(argument, path)),
        }
    }

    /// Adds a file that is checked elsewhere.
    pub(crate) fn reserve(&mut self, argument: &str, path: &Path) -> Result<(), Diagnostic> {
        match FileIdentity::from_path(path) {
            Ok(Some(file)) => self.take(argument, &Owner::option(argument), path, Place::File(file)),
            // Several outputs may share a device.
            Ok(None) => Ok(()),
            Err(error) => Err(unwritable(argument, path, &error)),
        }
    }

    /// Takes a place for `owner`. If it is taken, the error gives the owner's advice.
    fn take(
        &mut self,
        argument: &str,
        owner: &Owner<'_>,
        path: &Path,
        place: Place,
    ) -> Result<(), Diagnostic> {
        match self.taken.get(&place) {
            Some(Use::Written { who: other, .. }) => {
                let shown = path.display().to_string();
                let what =
                    if place == Place::Stdout { "standard output".to_owned() } else { format!("`{shown}`") };
                let problem = format!("{what} is written by {other} already: one file cannot hold both");
                return Err(Diagnostic::new(problem).help(owner.advice).in_argument(argument, &shown));
            }
            Some(Use::Read) => return Err(replaces_input(argument, path)),
            None => {}
        }
        let output =
            Use::Written { argument: argument.to_owned(), who: owner.name.to_owned(), path: path.to_owned() };
        self.taken.insert(place, output);
        Ok(())
    }
}

/// Writes `contents` to a file that the user named, completely or not at all.
pub(crate) fn write_file(argument: &str, path: &Path, contents: &[u8]) -> Result<(), Diagnostic> {
    files::write_whole(path, contents, Existing::Used).map_err(|error| cannot_write(argument, path, &error))
}

/// Writes `contents` to a file whose name this program or a scenario chose. A symbolic link of this
/// name is replaced.
pub(crate) fn replace_file(argument: &str, path: &Path, contents: &[u8]) -> Result<(), Diagnostic> {
    files::write_whole(path, contents, Existing::Replaced)
        .map_err(|error| cannot_write(argument, path, &error))
}

/// Writes `value` as JSON, with a final newline, piece by piece.
pub(crate) fn write_json(argument: &str, target: &Path, value: &impl Serialize) -> Result<(), Diagnostic> {
    match Target::from_argument(target) {
        Target::Stdout => {
            // The serializer writes each bracket and each word by a call of its own.
            let mut stdout = PrintableJson(BufWriter::new(stdout().lock()));
            printed(json_to(&mut stdout, value).and_then(|()| stdout.flush()))
        }
        Target::File(path) => json_to_file(argument, &path, value, Existing::Used),
    }
}

/// As [`write_json`], for a name that this program or a scenario chose, see [`replace_file`].
pub(crate) fn replace_json(argument: &str, path: &Path, value: &impl Serialize) -> Result<(), Diagnostic> {
    json_to_file(argument, path, value, Existing::Replaced)
}

fn json_to_file(
    argument: &str,
    path: &Path,
    value: &impl Serialize,
    existing: Existing,
) -> Result<(), Diagnostic> {
    write_pieces(argument, path, existing, &mut |file| json_to(file, value))
}

/// Writes a file piece by piece, completely or not at all.
pub(crate) fn write_pieces(
    argument: &str,
    path: &Path,
    existing: Existing,
    contents: &mut Contents<'_>,
) -> Result<(), Diagnostic> {
    let mut write = || {
        let mut file = StreamedFile::create(path, existing)?;
        contents(&mut file)?;
        file.finish()
    };
    write().map_err(|error| cannot_write(argument, path, &error))
}

fn json_to(mut writer: impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut writer, value)?;
    writer.write_all(b"\n")
}

/// Passes JSON on with escapes for characters that a terminal would obey. Each call must have whole
/// characters, as the calls of a serializer have.
struct PrintableJson<W>(W);

impl<W: Write> Write for PrintableJson<W> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.0.write_all(printable::json(&String::from_utf8_lossy(piece)).as_bytes())?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Prints lines to standard output. A closed pipe (`| head`) is not an error.
pub(crate) fn print(text: &str) -> Result<(), Diagnostic> {
    write(&printable::lines(text))
}

/// Prints JSON, or lines of JSON, to standard output.
pub(crate) fn print_json(text: &str) -> Result<(), Diagnostic> {
    write(&printable::json(text))
}

/// Prints help: in colour on a terminal, unless words in it are not printable.
pub(crate) fn print_help(plain: &str, in_colour: &str) -> Result<(), Diagnostic> {
    let is_coloured = is_terminal()
        // An empty NO_COLOR does not count (no-color.org).
        && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty())
        // The text is borrowed where nothing in it had to be replaced. The coloured one cannot be
        // checked, because its colours are what a terminal obeys.
        && matches!(printable::lines(plain), Cow::Borrowed(_));
    if is_coloured { write(in_colour) } else { print(plain) }
}

/// Returns the width of the terminal; `None` if standard output is no terminal, so that files do
/// not depend on it.
pub(crate) fn width() -> Option<usize> {
    let size = is_terminal().then(terminal_size::terminal_size).flatten();
    size.map(|(width, _)| usize::from(width.0))
}

/// True if standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    stdout().is_terminal()
}

#[expect(clippy::disallowed_methods, reason = "the one door to standard output")]
fn stdout() -> io::Stdout {
    io::stdout()
}

fn write(text: &str) -> Result<(), Diagnostic> {
    let mut stdout = stdout().lock();
    printed(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// Returns the result of printing to standard output. A closed pipe is not an error.
fn printed(outcome: io::Result<()>) -> Result<(), Diagnostic> {
    match outcome {
        // A reader such as `head` may stop at any time.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Diagnostic::new(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Checks that a result would replace only an earlier result.
fn check_result(argument: &str, path: &Path) -> Result<(), Diagnostic> {
    files::check_result(path).map_err(|problem| {
        let path = path.display().to_string();
        Diagnostic::new(format!("`{path}` {problem}"))
            .allowed("a new file, or an earlier result of goodqueue, which is replaced")
            .help("move it away, or set another name for the results in the scenario")
            .in_argument(argument, &path)
    })
}

fn replaces_input(argument: &str, path: &Path) -> Diagnostic {
    let path = path.display().to_string();
    Diagnostic::new(format!("`{path}` is an input of this command, and the output would replace it"))
        .help(APART)
        .in_argument(argument, &path)
}

fn unwritable(argument: &str, path: &Path, why: &io::Error) -> Diagnostic {
    cannot_write(argument, path, why).help("choose a file in a folder that exists and can be written")
}

fn cannot_write(argument: &str, path: &Path, why: &io::Error) -> Diagnostic {
    let path = path.display().to_string();
    Diagnostic::new(format!("`{path}` cannot be written: {why}")).in_argument(argument, &path)
}

const APART: &str = "give each output a file of its own";
const REPORT_ENDS: &[&str] = &["html", "htm"];
