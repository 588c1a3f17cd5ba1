//! A command without papers and object stores, as this program is and a router may have it.

use std::process::{Command, Output};

fn goodqueue(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_own-traffic")).args(arguments).output().expect("started")
}

#[test]
fn it_says_how_to_get_what_needs_the_papers() {
    for arguments in [["reproduce", "jk"], ["validate", "--json"], ["list", "papers"], ["list", "claims"]] {
        let out = goodqueue(&arguments);
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("built without the papers") && said.contains("cargo install"), "{said}");
    }
    assert_eq!(goodqueue(&["list", "scenarios"]).status.code(), Some(0));
}

#[test]
fn help_completions_and_manual_pages_do_not_offer_it() {
    for arguments in
        [&["--help"] as &[_], &["list", "--help"], &["list"], &["schema"], &["man"], &["completions", "bash"]]
    {
        let out = goodqueue(arguments);
        let text = String::from_utf8_lossy(&out.stdout);
        assert_eq!(out.status.code(), Some(0), "{arguments:?}");
        for word in ["reproduce", "validate", "papers", "verdicts"] {
            assert!(!text.contains(word), "`{word}` is in the output of {arguments:?}:\n{text}");
        }
    }
}

#[test]
fn it_says_how_to_build_one_that_has_object_stores() {
    let out = goodqueue(&["run", "rrul", "--store", "s3://bucket/upload"]);
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(said.contains("built without the feature `object-store`"), "{said}");
    assert!(said.contains("cargo install --path crates/goodqueue-cli --features object-store"), "{said}");
}
