//! The sources of each discipline.

use std::path::{Path, PathBuf};

use goodqueue::config::{Children, Kind, Parameter};
use goodqueue::registry::KINDS;

/// The sources of one module, which describes one discipline or several.
pub(crate) struct Source {
    /// The module's own file; more may be in a folder of the same name.
    file: PathBuf,
    /// The disciplines that it describes.
    pub(crate) kinds: Vec<&'static Kind>,
}

impl Source {
    /// Every module with a discipline.
    pub(crate) fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let files = rust_files(&folder).into_iter();
        let mut sources: Vec<Self> = files.map(|file| Self { file, kinds: Vec::new() }).collect();
        for kind in KINDS {
            let definition = format!("name: \"{}\",\n        summary:", kind.name);
            let own = sources.iter_mut().find(|source| {
                let texts =
                    source.files().into_iter().map(|file| std::fs::read_to_string(file).expect("readable"));
                let mut without_spaces = texts.map(|text| without_spaces(&text));
                // A name may be followed by another line break or indentation than `definition`
                // has.
                without_spaces.any(|text| text.contains(&self::without_spaces(&definition)))
            });
            own.unwrap_or_else(|| panic!("no source describes {}", kind.name)).kinds.push(kind);
        }
        sources.retain(|source| !source.kinds.is_empty());
        sources
    }

    /// Its files, tests left out.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files = rust_files(&self.file.with_extension(""));
        files.retain(|file| !file.ends_with("tests.rs"));
        files.push(self.file.clone());
        files
    }

    /// Name of the module.
    pub(crate) fn name(&self) -> String {
        self.file.file_stem().expect("a name").to_string_lossy().into_owned()
    }
}

/// The parameters of the classes of a discipline.
pub(crate) const fn of_classes(kind: &Kind) -> &'static [Parameter] {
    match kind.children {
        Children::Classes(parameters) => parameters,
        _ => &[],
    }
}

fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    files
}
