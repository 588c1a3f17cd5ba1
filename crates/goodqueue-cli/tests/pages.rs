//! The pages that `goodqueue explain` prints lie in this crate, so that it builds from its package.
//! They are copies of the documentation at the top of the library's files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Run `make pages` after a change of that documentation.
#[test]
fn the_pages_are_those_of_the_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("pages");
    let expected = pages();
    if std::env::var_os("UPDATE").is_some_and(|update| update == "1") {
        fs::remove_dir_all(&folder).expect("removed");
        fs::create_dir_all(&folder).expect("created");
        for (name, page) in &expected {
            fs::write(folder.join(name), page).expect("written");
        }
    }
    let kept: BTreeMap<String, String> = files(&folder, "md")
        .into_iter()
        .map(|path| (name(&path), fs::read_to_string(&path).expect("a text file")))
        .collect();
    for name in expected.keys().chain(kept.keys()) {
        assert!(expected.get(name) == kept.get(name), "{name} is not up to date: run `make pages`");
    }
}

/// The text of each page by the name of its file.
fn pages() -> BTreeMap<String, String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages = BTreeMap::new();
    for file in files(&crates.join("goodqueue/src"), "rs") {
        let source = fs::read_to_string(&file).expect("a text file");
        // A large discipline has its table in a file of its own, in a folder of its name.
        let folder = file.with_extension("");
        let parts = if folder.is_dir() { files(&folder, "rs") } else { Vec::new() };
        let tables = parts.iter().map(|part| fs::read_to_string(part).expect("a text file"));
        let names: Vec<String> = tables.chain([source.clone()]).flat_map(|text| disciplines(&text)).collect();
        if !names.is_empty() {
            let page = format!("<!-- {} -->\n{}\n", names.join(" "), page(&source));
            pages.insert(name(&file.with_extension("md")), page);
        }
    }
    pages
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("readable");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_name().expect("a file").to_string_lossy().into_owned()
}

/// The inner documentation at the top of a file, without its comment marks.
fn page(source: &str) -> String {
    let lines = source.lines().take_while(|line| line.starts_with("//!"));
    let text: Vec<&str> = lines.map(|line| line.strip_prefix("//! ").unwrap_or("")).collect();
    text.join("\n")
}

/// The names of the disciplines that a file describes in its `Kind` tables.
fn disciplines(source: &str) -> Vec<String> {
    source
        .split("Kind = Kind {")
        .skip(1)
        .filter_map(|table| table.split_once("name: \"")?.1.split_once('"'))
        .map(|(name, _)| name.to_owned())
        .collect()
}
