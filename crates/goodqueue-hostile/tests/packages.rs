//! Every published crate is complete by itself.

use std::fs;
use std::path::{Component, Path, PathBuf};

#[test]
fn the_files_that_a_crate_embeds_lie_inside_it() {
    for folder in published() {
        let mut sources = vec![folder.join("build.rs")];
        collect(&folder.join("src"), &mut sources);
        for source in sources.iter().filter(|path| path.exists()) {
            let text = fs::read_to_string(source).expect("a text file");
            for embedded in embedded(&text) {
                let path = source.parent().expect("a folder").join(&embedded);
                let place = normal(&path);
                assert!(
                    place.starts_with(normal(&folder)),
                    "{} embeds {embedded}, which lies outside its crate",
                    source.display()
                );
            }
        }
        let build = fs::read_to_string(folder.join("build.rs")).unwrap_or_default();
        assert!(
            !build.contains("\"..") && !build.contains("../"),
            "{}/build.rs leaves its crate",
            folder.display()
        );
    }
}

#[test]
fn every_manifest_has_the_fields_that_a_registry_shows() {
    for folder in published() {
        let text = fs::read_to_string(folder.join("Cargo.toml")).expect("readable");
        let manifest: toml::Table = text.parse().expect("TOML");
        let package = &manifest["package"];
        for field in
            ["description", "documentation", "readme", "keywords", "categories", "license", "repository"]
        {
            assert!(package.get(field).is_some(), "{}: no {field}", folder.display());
        }
        let readme = folder.join(package["readme"].as_str().expect("a path"));
        assert!(readme.exists(), "{} does not exist", readme.display());
    }
}

/// The folders of the crates that are published.
fn published() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = fs::read_dir(crates).expect("readable");
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    folders.retain(|folder| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        !manifest.is_empty() && !manifest.contains("publish = false")
    });
    assert!(folders.len() > 5, "{folders:?}");
    folders
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The first literal of every `include!`, `include_str!` and `include_bytes!`.
fn embedded(source: &str) -> Vec<String> {
    let calls = ["include!(", "include_str!(", "include_bytes!("];
    let behind = calls.iter().flat_map(|call| source.split(call).skip(1));
    let literals = behind.filter_map(|rest| {
        let rest = rest.strip_prefix("concat!(").unwrap_or(rest);
        rest.strip_prefix('"')?.split_once('"')
    });
    literals.map(|(literal, _)| literal.to_owned()).collect()
}

/// The path without `..`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut all, part| {
        if part == Component::ParentDir {
            all.pop();
        } else {
            all.push(part);
        }
        all
    })
}
