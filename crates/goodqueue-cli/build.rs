//! Copies documentation into the command: the scenario format, and the page of each discipline,
//! from the top of its source file. That file is the only place where the text is written, and the
//! page of a new discipline is found automatically.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let manifest = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let sources = manifest.join("../goodqueue/src");
    println!("cargo::rerun-if-changed={}", sources.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&sources)
        .expect("the library's sources are beside the command's")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    let mut table = String::from("&[\n");
    for file in files {
        let source = fs::read_to_string(&file).expect("a text file");
        let page = page(&source);
        // A large discipline has its parameter table in config.rs in its own folder.
        let tables = fs::read_to_string(file.with_extension("").join("config.rs")).unwrap_or_default();
        for name in disciplines(&source).into_iter().chain(disciplines(&tables)) {
            // Writing to a string cannot fail.
            let _ = writeln!(table, "    ({name:?}, {page:?}),");
        }
    }
    table.push(']');
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(Path::new(&out).join("pages.rs"), table).expect("cargo's folder can be written");
    let format = manifest.join("../goodqueue-scenario/src/scenario.rs");
    println!("cargo::rerun-if-changed={}", format.display());
    let source = fs::read_to_string(&format).expect("the scenario crate's sources are beside the command's");
    fs::write(Path::new(&out).join("scenario.md"), scenario_page(&page(&source)))
        .expect("cargo's folder can be written");
}

/// Returns the section on the format of scenario files as a page. Links into the documentation of
/// the library become plain text.
fn scenario_page(documentation: &str) -> String {
    let section = documentation.split("# The format\n").nth(1).expect("scenario.rs tells the format");
    let section = section.split("\n# ").next().unwrap_or(section);
    let plain = section.replace("[`", "`").replace("`]", "`").replace("`crate::", "`goodqueue_scenario::");
    format!("# Scenario files\n{}\n", plain.trim_end())
}

/// Returns the inner documentation at the top of a file, without comment markers.
fn page(source: &str) -> String {
    let lines = source.lines().take_while(|line| line.starts_with("//!"));
    let text: Vec<&str> = lines.map(|line| line.strip_prefix("//! ").unwrap_or("")).collect();
    text.join("\n")
}

/// Returns the names of the disciplines that a file describes in its `Kind` tables.
fn disciplines(source: &str) -> Vec<String> {
    source
        .split("Kind = Kind {")
        .skip(1)
        .filter_map(|table| table.split_once("name: \"")?.1.split_once('"'))
        .map(|(name, _)| name.to_owned())
        .collect()
}
