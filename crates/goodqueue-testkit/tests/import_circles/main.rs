//! No file of a crate imports from a file that imports from it, directly or through others.
//!
//! Descriptions and traits lie at the bottom, algorithms above them, registries on top. A circle of
//! imports means that its files can only be read and changed together.

mod modules;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use modules::Modules;

type Graph = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

#[test]
fn no_crate_has_a_circle_of_imports() {
    let mut problems = Vec::new();
    for folder in crates() {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let circles = circles_of(&folder);
        if !circles.is_empty() {
            problems.push(format!("{name}:\n{}", circles.join("\n")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_circle_through_a_child_a_re_export_and_an_inline_module_is_found() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("circles");
    std::fs::create_dir_all(folder.join("src/a")).expect("created");
    let write =
        |file: &str, text: &str| std::fs::write(folder.join("src").join(file), text).expect("written");
    write(
        "lib.rs",
        "mod a; mod b; mod c; pub use b::{B, B as Other};\n#[cfg(test)] mod tests { use super::*; }",
    );
    write("a.rs", "mod child; /* super::b */ fn f() -> &'static str { \"crate::c::C\" } pub struct A;");
    write("a/child.rs", "mod inline { use super::super::A; pub fn g(_: crate::Other) {} }");
    write("b.rs", "use crate::c::{self, C}; pub struct B;");
    write("c.rs", "pub struct C;");
    assert_eq!(circles_of(&folder), Vec::<String>::new());
    write("c.rs", "pub struct C(crate::a::A);");
    write("a.rs", "mod child; pub struct A(child::G);");
    let circles = circles_of(&folder);
    assert_eq!(circles, ["  a/child.rs -> a.rs -> a/child.rs (in all 4 files: a/child.rs a.rs b.rs c.rs)"]);
}

#[test]
fn a_circle_through_the_arguments_of_a_macro_is_found_and_one_of_tests_is_none() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("macros");
    std::fs::create_dir_all(folder.join("src")).expect("created");
    let write =
        |file: &str, text: &str| std::fs::write(folder.join("src").join(file), text).expect("written");
    write("lib.rs", "mod a; mod b;");
    write("a.rs", "pub const A: u8 = 1; fn f() { println!(\"{}\", [Vec::from(crate::b::B)].len()) }");
    write("b.rs", "pub const B: [u8; 1] = [1]; #[cfg(test)] mod tests { use crate::a::A; }");
    assert_eq!(circles_of(&folder), Vec::<String>::new());
    write("b.rs", "pub const B: [u8; 1] = [crate::a::A];");
    assert_eq!(circles_of(&folder), ["  a.rs -> b.rs -> a.rs (in all 2 files: a.rs b.rs)"]);
}

/// All crates of the workspace.
fn crates() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of crates");
    let entries = std::fs::read_dir(all).expect("readable");
    let mut crates: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    crates.retain(|folder| folder.join("src").exists());
    crates.sort();
    crates
}

/// One line for each set of files that import from each other: a shortest circle, and all of them.
fn circles_of(folder: &Path) -> Vec<String> {
    let src = folder.join("src");
    let root = ["lib.rs", "main.rs"].map(|file| src.join(file)).into_iter().find(|root| root.exists());
    let graph = Modules::read(&root.expect("a crate has a root")).imports();
    let shown = |file: &Path| file.strip_prefix(&src).unwrap_or(file).display().to_string();
    let mut done = BTreeSet::new();
    let mut lines = Vec::new();
    for file in graph.keys() {
        if done.contains(file) {
            continue;
        }
        let Some(circle) = way(&graph, file, file) else { continue };
        let reachable = |from: &Path, to: &Path| way(&graph, from, to).is_some();
        let all: Vec<&PathBuf> =
            graph.keys().filter(|other| reachable(file, other) && reachable(other, file)).collect();
        done.extend(all.iter().copied().cloned());
        let circle: Vec<String> = circle.iter().map(|file| shown(file)).collect();
        let names: Vec<String> = all.iter().map(|file| shown(file)).collect();
        lines.push(format!("  {} (in all {} files: {})", circle.join(" -> "), all.len(), names.join(" ")));
    }
    lines
}

/// A shortest way along imports from one file to another, both included.
fn way(graph: &Graph, from: &Path, to: &Path) -> Option<Vec<PathBuf>> {
    // Breadth first, so that the first way found is a shortest one.
    let mut ways = VecDeque::from([vec![from.to_owned()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in graph.get(way.last()?).into_iter().flatten() {
            let longer: Vec<PathBuf> = way.iter().chain([next]).cloned().collect();
            if next == to {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                ways.push_back(longer);
            }
        }
    }
    None
}
