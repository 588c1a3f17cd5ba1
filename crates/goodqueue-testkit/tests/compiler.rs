//! The sources compile with the compiler that the manifests state (`rust-version`).
//!
//! Tests run with a newer compiler, which accepts more. `make msrv` compiles with the stated one.

use std::path::{Path, PathBuf};

/// Stable since Rust 1.95.
#[test]
fn no_arm_of_a_match_binds_a_name_in_its_guard() {
    let mut found = Vec::new();
    for file in sources() {
        let text = std::fs::read_to_string(&file).expect("a source file");
        found.extend(guards(&text).into_iter().map(|guard| format!("{}: {guard}", file.display())));
    }
    assert!(found.is_empty(), "an older compiler refuses `if let` in a guard:\n{}", found.join("\n"));
}

#[test]
fn a_guard_that_binds_is_found_and_other_conditions_are_not() {
    assert_eq!(guards("A if let Some(b) = c => d,"), ["A if let Some(b) = c"]);
    assert_eq!(guards("_ if a\n  && let Some(b) = c =>\n{ d }").len(), 1);
    for other in
        ["A if b => c,", "if let Some(a) = b { c => d }", "x => { if let A = b { c } }", "// if let A =>"]
    {
        assert_eq!(guards(other), Vec::<String>::new(), "{other}");
    }
}

/// Returns the arms whose guards have a `let`. A guard has no braces, in contrast to the condition
/// of an `if`.
fn guards(text: &str) -> Vec<String> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let parts = code.split(['{', '}', ';']).flat_map(|part| {
        let mut arms: Vec<&str> = part.split("=>").collect();
        // What follows the last arrow is not the pattern of an arm.
        arms.pop();
        arms
    });
    let binds = |arm: &&str| arm.split_once(" if ").is_some_and(|(_, guard)| has_word(guard, "let"));
    parts.filter(binds).map(|arm| arm.trim().to_owned()).collect()
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|one| one == word)
}

/// All Rust files of the crates, the Python package and the examples, without this one, which
/// quotes such guards.
fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("crates"), root.join("python/src"), root.join("examples")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests/compiler.rs")
            {
                files.push(path);
            }
        }
    }
    files
}
