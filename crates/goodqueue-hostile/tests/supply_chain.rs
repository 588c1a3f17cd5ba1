//! Sources of the dependencies, checked on every machine: the part of `make supply-chain` that
//! needs neither cargo-deny nor a network. And that the other part cannot be left out unseen.

use std::path::Path;
use std::process::Command;

use toml::{Table, Value};

fn read(path: &str) -> Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    text.parse().unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

fn text<'t>(of: &'t Table, key: &str) -> Option<&'t str> {
    of.get(key).and_then(Value::as_str)
}

#[test]
fn every_dependency_is_locked_to_the_registry_with_a_checksum() {
    let lock = read("Cargo.lock");
    let packages = lock["package"].as_array().expect("a list");
    let mut of_registry = 0;
    for package in packages.iter().filter_map(Value::as_table) {
        let name = text(package, "name").unwrap_or_default();
        let Some(source) = text(package, "source") else {
            assert!(name.starts_with("goodqueue"), "{name} comes from a folder");
            continue;
        };
        assert_eq!(source, "registry+https://github.com/rust-lang/crates.io-index", "{name}");
        let checksum = text(package, "checksum").unwrap_or_default();
        assert!(checksum.len() == 64 && checksum.bytes().all(|c| c.is_ascii_hexdigit()), "{name}");
        of_registry += 1;
    }
    assert!(of_registry > 100, "{of_registry} dependencies are too few to be all");
}

#[test]
fn who_embeds_the_library_gets_no_other_crate() {
    let manifest = read("crates/goodqueue/Cargo.toml");
    assert!(manifest["dependencies"].as_table().is_some_and(Table::is_empty));
    assert!(!manifest.contains_key("build-dependencies") && !manifest.contains_key("target"));
}

#[test]
fn continuous_integration_fails_where_licences_cannot_be_checked() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/supply-chain");
    // A Python that cannot install anything, and a PATH without cargo-deny.
    let output = Command::new(script)
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("supply-chain"))
        .envs([("CI", "true"), ("PYTHON", "false"), ("PATH", "/usr/bin:/bin")])
        .output()
        .expect("a shell");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("cargo-deny could not be installed"));
}
