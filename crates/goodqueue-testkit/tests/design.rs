//! `docs/DESIGN.md` shows on which crates each crate is built.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The dependencies of each crate among those of the workspace.
type Crates = BTreeMap<String, BTreeSet<String>>;

#[test]
fn the_page_of_the_design_has_the_dependencies_of_the_manifests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/DESIGN.md")).expect("the page");
    let (_, block) = page.split_once("```\n").expect("the block of dependencies");
    let (block, _) = block.split_once("```").expect("its end");
    let row = |line: &str| {
        let (name, below) = line.split_once("->").expect("an arrow");
        (name.trim().to_owned(), below.split(',').map(|one| one.trim().to_owned()).collect())
    };
    let shown: Crates = block.lines().map(row).collect();
    assert_eq!(shown, direct(&manifests(&root)), "docs/DESIGN.md differs from the manifests");
}

/// Leaves out what another dependency depends on already.
fn direct(all: &Crates) -> Crates {
    let below = |name: &str| -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&String> = all.get(name).into_iter().flatten().collect();
        while let Some(next) = open.pop() {
            if found.insert(next.clone()) {
                open.extend(all.get(next).into_iter().flatten());
            }
        }
        found
    };
    all.iter()
        .filter(|(_, dependencies)| !dependencies.is_empty())
        .map(|(name, dependencies)| {
            let by_another = |one: &String| dependencies.iter().any(|other| below(other).contains(one));
            (name.clone(), dependencies.iter().filter(|one| !by_another(one)).cloned().collect())
        })
        .collect()
}

/// The crates that are no tests, with their dependencies.
fn manifests(root: &Path) -> Crates {
    let folders = std::fs::read_dir(root.join("crates")).expect("a folder").flatten();
    let folders = folders.map(|entry| entry.path()).chain([root.join("python")]);
    let mut all = Crates::new();
    for folder in folders {
        let Ok(manifest) = std::fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let mut table = "";
        let mut name = String::new();
        let mut dependencies = BTreeSet::new();
        for line in manifest.lines() {
            if line.starts_with('[') {
                table = line;
            } else if table == "[package]" && line.starts_with("name = ") {
                name = line.split('"').nth(1).expect("a name").to_owned();
            } else if table.ends_with("dependencies]")
                && !table.contains("dev-")
                && line.starts_with("goodqueue")
            {
                let end = line.find([' ', '.']).expect("a dependency");
                dependencies.insert(line[..end].to_owned());
            }
        }
        if !["goodqueue-testkit", "goodqueue-hostile"].contains(&&*name) {
            all.insert(name, dependencies);
        }
    }
    all
}
