//! Lists the pages of the folder `pages` by the disciplines that their first lines name.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let manifest = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let folder = manifest.join("pages");
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(&folder).expect("the pages lie in this crate");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    // The order of `read_dir` depends on the file system.
    files.sort();
    let mut table = String::from("&[\n");
    for file in files {
        let text = fs::read_to_string(&file).expect("a text file");
        let (names, page) = text
            .strip_prefix("<!-- ")
            .and_then(|text| text.split_once(" -->\n"))
            .expect("a page begins with the names of its disciplines");
        let page = page.strip_suffix('\n').unwrap_or(page);
        for name in names.split(' ') {
            // Writing to a string cannot fail.
            let _ = writeln!(table, "    ({name:?}, {page:?}),");
        }
    }
    table.push(']');
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(Path::new(&out).join("pages.rs"), table).expect("cargo's folder can be written");
}
