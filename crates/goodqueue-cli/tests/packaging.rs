//! Packages contain what they name: the Debian package, and the container image. Builds from a
//! checkout say what they need.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use toml::Table;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Lays out the files of a package as `make dist` does, from this build.
fn layout(folder: &Path) {
    let program = env!("CARGO_BIN_EXE_goodqueue");
    let status = Command::new(root().join("packaging/layout")).arg(program).arg(folder).status().unwrap();
    assert!(status.success());
    // Only `make dist` knows for which system it lists the dependencies.
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    assert!(makefile.contains("> $(DIST)/goodqueue/THIRD-PARTY.txt"));
    fs::write(folder.join("THIRD-PARTY.txt"), "").unwrap();
}

/// Returns the number of files that this path means, whose last part may be `*.END`.
fn files(path: &Path) -> usize {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    match name.strip_prefix('*') {
        None => usize::from(path.is_file()),
        Some(end) => {
            let entries = fs::read_dir(path.parent().unwrap()).unwrap();
            entries
                .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(end))
                .count()
        }
    }
}

#[test]
fn every_file_that_the_debian_package_names_is_laid_out() {
    let folder = tempfile::tempdir().unwrap();
    layout(folder.path());
    let manifest: Table =
        fs::read_to_string(root().join("crates/goodqueue-cli/Cargo.toml")).unwrap().parse().unwrap();
    let deb = &manifest["package"]["metadata"]["deb"];
    let assets = deb["assets"].as_array().unwrap();
    assert!(assets.len() > 5);
    for asset in assets {
        let source = asset[0].as_str().unwrap();
        let laid_out = source.strip_prefix("../../target/dist/goodqueue/").unwrap();
        assert!(files(&folder.path().join(laid_out)) > 0, "`make dist` makes no {laid_out}");
    }
    let license = deb["license-file"][0].as_str().unwrap();
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(license).is_file(), "{license}");
}

#[test]
fn every_file_that_the_image_copies_is_laid_out() {
    let folder = tempfile::tempdir().unwrap();
    layout(folder.path());
    let text = fs::read_to_string(root().join("packaging/Dockerfile")).unwrap();
    let copied: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("COPY "))
        .flat_map(|words| words.split_whitespace().rev().skip(1))
        .collect();
    assert!(copied.contains(&"goodqueue"));
    for file in copied {
        assert_eq!(files(&folder.path().join(file)), 1, "`make dist` makes no {file}");
    }
}

#[test]
fn every_command_has_a_manual_page_and_completions() {
    let folder = tempfile::tempdir().unwrap();
    layout(folder.path());
    for command in ["compare", "run", "replay"] {
        let page = fs::read_to_string(folder.path().join(format!("man/goodqueue-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
        for shell in ["goodqueue.bash", "_goodqueue", "goodqueue.fish"] {
            let completions = fs::read_to_string(folder.path().join("completions").join(shell)).unwrap();
            assert!(completions.contains(command), "{shell}: {command}");
        }
    }
}

#[test]
fn make_demo_and_make_install_say_what_they_need_and_show_how_far_they_are() {
    let empty = tempfile::tempdir().unwrap();
    for goal in ["demo", "install"] {
        let output = Command::new("make")
            .args(["--dry-run", "--no-print-directory", goal])
            .current_dir(root())
            // As in a shell, where no other make is at work; and where nothing is compiled yet.
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL")
            .env("CARGO_TARGET_DIR", empty.path())
            .output()
            .unwrap();
        let commands = String::from_utf8(output.stdout).unwrap();
        let needs = commands.find("It needs Rust").unwrap_or_else(|| panic!("{goal}: {commands}"));
        let compiles = commands.find("cargo build --release").or(commands.find("cargo install")).unwrap();
        assert!(needs < compiles, "{goal}: {commands}");
        let line = commands[compiles..].lines().next().unwrap();
        assert!(!line.contains("--quiet") && line.contains("--locked"), "{goal}: {line}");
    }
}
