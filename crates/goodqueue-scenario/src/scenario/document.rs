//! A scenario as written: a tree of values that remember where they stand, before anything is
//! resolved.

mod depth;
mod label;
mod node;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use goodqueue::Disciplines;
use goodqueue_tc::diagnostic::{Diagnostic, Source, shortened};
use goodqueue_tc::input;
use toml::de::DeTable;

pub use depth::check_depth;
use label::label_of;
pub use label::label_of_line;
pub(crate) use label::{BOTH, label_of_lines};
pub(crate) use node::{Entry, KeyPlace, Node, Origin, Raw, Table};
use node::{read_json, read_table, read_word};

use super::files::Files;
use crate::extensions::Extensions;

/// A scenario file together with the changes from the command line. An empty document is the load
/// of `goodqueue compare` without arguments.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Document {
    source: Option<Source>,
    /// Path of the file that was read, if it was one.
    path: Option<PathBuf>,
    folder: PathBuf,
    root: Table,
    files: Files,
    extensions: Arc<Extensions>,
}

impl Document {
    /// Larger files are refused.
    pub const MAX_FILE_BYTES: usize = depth::MOST_BYTES;

    /// Reads the file at `path`, as [`parse`](Self::parse). Paths of traces are relative to its
    /// folder.
    ///
    /// # Errors
    /// The file cannot be read, is larger than [`Document::MAX_FILE_BYTES`], not UTF-8, or neither
    /// TOML nor JSON.
    pub fn load(path: &Path) -> Result<Self, Diagnostic> {
        let name = path.display().to_string();
        let cannot = |error: std::io::Error| match error.kind() {
            ErrorKind::FileTooLarge => too_large().in_file(&name),
            _ => Diagnostic::new(format!("the scenario cannot be read: {error}")).in_file(&name),
        };
        let bytes = input::bytes(path, Self::MAX_FILE_BYTES as u64).map_err(cannot)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            // The message names the line of the first byte that is not UTF-8.
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = valid.split(|byte| *byte == b'\n').count();
            Diagnostic::new("this is not UTF-8 text").help("save the file as UTF-8").in_line(&name, line)
        })?;
        let document = Self::parse(&name, &text, path.parent().unwrap_or(Path::new("")))?;
        Ok(Self { path: Some(path.to_owned()), ..document })
    }

    /// Reads a scenario from text: TOML, or the JSON of a scenario or of results. Messages call it
    /// `name`. Paths of traces are relative to `folder`.
    ///
    /// # Errors
    /// The text is larger than [`Document::MAX_FILE_BYTES`], or neither TOML nor JSON.
    pub fn parse(name: &str, text: &str, folder: &Path) -> Result<Self, Diagnostic> {
        // Checked although `load` limits files, because advice and papers pass texts of their own.
        if text.len() > Self::MAX_FILE_BYTES {
            return Err(too_large().in_file(name));
        }
        let source = Source::new(name, text);
        // Before the parser, which counts the dots of each key, and not those of tables inside each
        // other.
        check_depth(&source)?;
        // No TOML begins with a brace.
        let root = if text.trim_start().starts_with('{') { from_json(&source)? } else { from_toml(&source)? };
        Ok(Self { source: Some(source), folder: folder.to_owned(), root, ..Self::default() })
    }

    /// Reads a scenario that a result file holds (`scenario` in the JSON).
    ///
    /// # Errors
    /// `value` is not an object.
    pub fn from_json(value: &serde_json::Value) -> Result<Self, Diagnostic> {
        match read_json(value).raw {
            Raw::Table(root) => Ok(Self { root, ..Self::default() }),
            _ => Err(Diagnostic::new("the scenario is not an object")),
        }
    }

    /// Returns the same document, which may also name your own disciplines, TCP stacks, congestion
    /// controllers and traffic sources.
    #[must_use]
    pub fn with_extensions(mut self, extensions: impl Into<Arc<Extensions>>) -> Self {
        self.extensions = extensions.into();
        self
    }

    /// Sets `key` (dotted, entries of lists by number: `flows.0.count`) to `value`: TOML, or a bare
    /// word such as `1mbit`. `argument` is the argument of the command line that asked for it.
    ///
    /// # Errors
    /// The key leads through something that has no keys. Whether the key exists shows when the
    /// scenario is resolved.
    pub fn set(&mut self, argument: &str, key: &str, value: &str) -> Result<(), Diagnostic> {
        let origin = Origin::Argument { name: argument.into(), text: value.into(), start: 0 };
        self.put(key, read_word(value, &origin), &origin)
    }

    /// Applies an argument such as `--set link.up=1mbit`.
    ///
    /// # Errors
    /// No `=`, or as [`Document::set`].
    pub fn assign(&mut self, argument: &str, assignment: &str) -> Result<(), Diagnostic> {
        let Some((key, value)) = assignment.split_once('=') else {
            return Err(Diagnostic::new(format!("`{}` has no `=`", shortened(assignment)))
                .allowed("a key and its value, such as `link.up=1mbit`")
                .in_argument(argument, assignment));
        };
        let name: Arc<str> = argument.into();
        let text: Arc<str> = assignment.into();
        // The place of the value within the argument, for messages about it.
        let start = key.len() + 1 + (value.len() - value.trim_start().len());
        let of_value = Origin::Argument { name: Arc::clone(&name), text: Arc::clone(&text), start };
        // An error about the key underlines the whole argument, which begins with it.
        let of_key = Origin::Argument { name, text, start: 0 };
        self.put(key.trim(), read_word(value.trim(), &of_value), &of_key)
    }

    /// Sets `key` to a list of words, one for each time an argument such as `--qdisc` was given.
    pub(super) fn put_list(
        &mut self,
        argument: &str,
        key: &str,
        values: &[String],
    ) -> Result<(), Diagnostic> {
        let items = values
            .iter()
            .map(|value| {
                let origin =
                    Origin::Argument { name: argument.into(), text: value.as_str().into(), start: 0 };
                // Not tried as TOML, unlike the values of `--set`: an argument of `--qdisc` is
                // always a line.
                Node { raw: Raw::Text(value.clone()), origin }
            })
            .collect();
        let origin = Origin::Argument { name: argument.into(), text: "".into(), start: 0 };
        self.put(key, Node { raw: Raw::List(items), origin: origin.clone() }, &origin)
    }

    /// Adds disciplines (label, line) to the list of the scenario. Disciplines whose label is
    /// already listed are skipped, and a line is listed however its words are spaced.
    ///
    /// # Errors
    /// The list of the scenario is not a list of disciplines.
    pub fn add_qdiscs<'l>(
        &mut self,
        lines: impl Iterator<Item = (&'l str, &'l str)>,
    ) -> Result<(), Diagnostic> {
        if let Some(Node { raw: Raw::List(items), .. }) = entry_mut(&mut self.root, "qdiscs") {
            let text = |text: &str| Node { raw: Raw::Text(text.to_owned()), origin: Origin::Program };
            for (label, line) in lines {
                if items.iter().any(|item| label_of(item).as_deref() == Some(label)) {
                    continue;
                }
                let entry = |key: &str, value: &str| Entry {
                    key: key.to_owned(),
                    key_origin: Origin::Program,
                    node: text(value),
                };
                let both = vec![entry("label", label), entry("down", line), entry("up", line)];
                items.push(Node { raw: Raw::Table(both), origin: Origin::Program });
            }
            return Ok(());
        }
        let message = Diagnostic::new("the scenario lists no disciplines to which others could be added");
        Err(self.place(message, &Origin::Program))
    }

    /// Sets `key` to the table `{ trace = "path" }`.
    pub(super) fn put_trace(&mut self, argument: &str, key: &str, path: &str) -> Result<(), Diagnostic> {
        let origin = Origin::Argument { name: argument.into(), text: path.into(), start: 0 };
        let node = Node { raw: Raw::Text(path.to_owned()), origin: origin.clone() };
        let table = vec![Entry { key: "trace".to_owned(), key_origin: origin.clone(), node }];
        self.put(key, Node { raw: Raw::Table(table), origin: origin.clone() }, &origin)
    }

    /// Puts `node` under the dotted `key`, which was written at `key_origin`.
    pub(crate) fn put_from(&mut self, key: &str, node: Node, key_node: &KeyPlace) -> Result<(), Diagnostic> {
        self.put(key, node, &key_node.0)
    }

    fn put(&mut self, key: &str, node: Node, key_origin: &Origin) -> Result<(), Diagnostic> {
        let parts: Vec<&str> = key.split('.').collect();
        if parts.iter().any(|part| part.is_empty()) || parts.len() > DEEPEST {
            let message = Diagnostic::new(format!("`{}` is not a key", shortened(key)))
                .allowed("names separated by dots, such as `link.up` or `flows.0.count`");
            return Err(self.place(message, key_origin));
        }
        // `--set link.up=1mbit` means this one value, also in a scenario that sweeps `link.up`.
        if let Some(Node { raw: Raw::Table(sweep), .. }) = entry_mut(&mut self.root, "sweep") {
            remove(sweep, key);
        }
        let result = put_into(&mut self.root, &parts, node, key_origin);
        result.map_err(|error| self.place(error, key_origin))
    }

    pub(super) fn root(&self) -> &Table {
        &self.root
    }

    /// The entry `key` at the top, removed.
    pub(crate) fn take(&mut self, key: &str) -> Option<Node> {
        let index = self.root.iter().position(|entry| entry.key == key)?;
        // `swap_remove` would change the order of the keys, which JSON keeps.
        Some(self.root.remove(index).node)
    }

    /// Returns the same document, in which lines may also name your own disciplines.
    #[must_use]
    pub fn with_disciplines(mut self, disciplines: Disciplines) -> Self {
        let extensions = Arc::make_mut(&mut self.extensions);
        // The method takes its value, so an empty one stands in its place for a moment.
        *extensions = std::mem::take(extensions).with_disciplines(disciplines);
        self
    }

    /// Returns the extensions that it may name.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// The disciplines that its lines may name.
    pub(super) fn disciplines(&self) -> &Disciplines {
        self.extensions.disciplines()
    }

    /// The files that it names.
    pub(super) const fn files(&self) -> &Files {
        &self.files
    }

    /// The document as JSON, as it was written.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        self.root.iter().map(|entry| (entry.key.clone(), entry.node.to_json())).collect()
    }

    /// Returns true if `key` is set at the top: a value, or a table such as `wifi`.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.node(key).is_some()
    }

    /// The value of `key` at the top.
    pub(crate) fn node(&self, key: &str) -> Option<&Node> {
        entry(&self.root, key)
    }

    /// The value of `key` in the table `table` at the top.
    pub(super) fn below(&self, table: &str, key: &str) -> Option<&Node> {
        match self.node(table)? {
            Node { raw: Raw::Table(inner), .. } => entry(inner, key),
            _ => None,
        }
    }

    /// `message`, which is about the document as a whole.
    pub(crate) fn about(&self, message: Diagnostic) -> Diagnostic {
        self.place(message, &Origin::Program)
    }

    /// Returns the name and the text of the file that was read, if it was one, and its folder.
    #[must_use]
    pub fn written(&self) -> Option<(&str, &str, &Path)> {
        self.source.as_ref().map(|source| (&*source.name, &*source.text, &*self.folder))
    }

    /// Returns the files that were read so far: the scenario, and the traces, captures and tables
    /// of disciplines that its resolved points name.
    #[must_use]
    pub fn inputs(&self) -> Vec<PathBuf> {
        self.path.iter().cloned().chain(self.files.paths()).collect()
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Name of the file without its ending.
    pub(super) fn stem(&self) -> Option<&str> {
        Path::new(&*self.source.as_ref()?.name).file_stem()?.to_str()
    }

    /// `message`, which is about `node`, with its place.
    pub(crate) fn at(&self, message: Diagnostic, node: &Node) -> Diagnostic {
        let message = match (&node.raw, &node.origin, &self.source) {
            (Raw::Text(value), Origin::File(span), Some(source)) => {
                // Between simple quotes and without escapes, text and value agree letter by letter.
                let written = source.text.get(span.clone()).unwrap_or("");
                let inner = written.get(1..written.len().saturating_sub(1)).unwrap_or("");
                if inner == value { message.shifted(span.start + 1) } else { message.widened() }
            }
            (Raw::Text(value), Origin::Argument { text, start, .. }, _) => {
                // `--set` has spaces trimmed off. If more differs, the whole argument is
                // underlined.
                let verbatim = text.get(*start..).is_some_and(|rest| rest.trim_end() == value.trim_end());
                if verbatim { message.shifted(*start) } else { message.widened() }
            }
            _ => message.widened(),
        };
        self.place(message, &node.origin)
    }

    /// `message`, which is about a key or a table, with its place.
    pub(super) fn place(&self, message: Diagnostic, origin: &Origin) -> Diagnostic {
        match (origin, &self.source) {
            (Origin::File(span), Some(source)) => message.in_source(source, span.clone()),
            (Origin::Argument { name, text, .. }, _) => message.in_argument(name, text),
            (_, Some(source)) => message.in_file(&source.name),
            (_, None) => message,
        }
    }
}

fn from_toml(source: &Source) -> Result<Table, Diagnostic> {
    let table = DeTable::parse(&source.text).map_err(|error| {
        // An error without a place is shown at the beginning of the file.
        let span = error.span().unwrap_or(0..0);
        // The parser's message has several lines; a diagnostic has one.
        let problem = error.message().lines().collect::<Vec<_>>().join(", ");
        Diagnostic::new(format!("this is not TOML: {problem}")).in_source(source, span)
    })?;
    Ok(read_table(table.get_ref()))
}

/// Reads a scenario as results hold it, or that of whole results.
fn from_json(source: &Source) -> Result<Table, Diagnostic> {
    let read = serde_json::from_str::<serde_json::Value>(&source.text).map_err(|error| {
        let problem = error.to_string();
        // The place of the diagnostic names the line.
        let problem = problem.split(" at line ").next().unwrap_or_default();
        Diagnostic::new(format!("this is not JSON: {problem}")).in_line(&source.name, error.line())
    })?;
    let of_results = read.get("scenario");
    // The defaults in results are those of the first point, also where a swept key changes them.
    let is_swept = |scenario: &serde_json::Value| {
        scenario.get("sweep").and_then(serde_json::Value::as_object).is_some_and(|swept| !swept.is_empty())
    };
    if of_results.is_some_and(is_swept) {
        return Err(Diagnostic::new(
            "these are the results of a sweep, with the defaults of its first point",
        )
        .help("run the scenario file of the sweep")
        .in_file(&source.name));
    }
    match read_json(of_results.unwrap_or(&read)).raw {
        Raw::Table(root) => Ok(root),
        _ => Err(Diagnostic::new("the scenario is not an object").in_file(&source.name)),
    }
}

fn entry<'t>(table: &'t Table, key: &str) -> Option<&'t Node> {
    table.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
}

fn entry_mut<'t>(table: &'t mut Table, key: &str) -> Option<&'t mut Node> {
    table.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
}

/// Removes the dotted `key`, whether written as one or through tables. What the command line sets
/// is swept no more.
fn remove(table: &mut Table, key: &str) {
    table.retain(|entry| entry.key != key);
    for entry in table {
        let below = key.strip_prefix(entry.key.as_str()).and_then(|rest| rest.strip_prefix('.'));
        if let (Some(below), Raw::Table(inner)) = (below, &mut entry.node.raw) {
            remove(inner, below);
        }
    }
}

fn put_into(table: &mut Table, parts: &[&str], node: Node, origin: &Origin) -> Result<(), Diagnostic> {
    let Some((&part, rest)) = parts.split_first() else { return Ok(()) };
    let index = match table.iter().position(|entry| entry.key == part) {
        Some(index) => index,
        // A number is the place of an entry of a list, and only an existing list has entries.
        None if rest.first().is_some_and(|next| next.bytes().all(|byte| byte.is_ascii_digit())) => {
            return Err(Diagnostic::new(format!("`{part}` is not given, so it has no entry {}", rest[0]))
                .help(format!("give all of it, such as `{part}=[...]`, or write it in a scenario file")));
        }
        None => {
            let empty = Node { raw: Raw::Table(Vec::new()), origin: origin.clone() };
            table.push(Entry { key: part.to_owned(), key_origin: origin.clone(), node: empty });
            table.len() - 1
        }
    };
    put_below(&mut table[index].node, part, rest, node, origin)
}

fn put_below(
    target: &mut Node,
    name: &str,
    rest: &[&str],
    node: Node,
    origin: &Origin,
) -> Result<(), Diagnostic> {
    let Some((&part, below)) = rest.split_first() else {
        *target = node;
        return Ok(());
    };
    let sort = target.sort();
    match &mut target.raw {
        Raw::Table(table) => put_into(table, rest, node, origin),
        Raw::List(items) => {
            let count = items.len();
            match part.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                Some(item) => put_below(item, part, below, node, origin),
                None => Err(Diagnostic::new(format!("`{name}` has no entry `{}`", shortened(part)))
                    .allowed(format!("a number below {count}, the first entry being 0"))),
            }
        }
        _ => Err(Diagnostic::new(format!("`{name}` is {sort} and has no key `{}`", shortened(part)))),
    }
}

fn too_large() -> Diagnostic {
    Diagnostic::new(format!("the scenario is larger than {} MiB", Document::MAX_FILE_BYTES >> 20))
}

/// Parts of a dotted key; a scenario needs five. Reading a table recurses once per part, so the
/// limit also bounds the stack.
const DEEPEST: usize = 60;
