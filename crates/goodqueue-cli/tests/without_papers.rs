//! The command without its papers, as a router or a container may have it.

#![cfg(not(feature = "papers"))]

use std::process::{Command, Output};

fn goodqueue(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_goodqueue")).args(arguments).output().unwrap()
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
