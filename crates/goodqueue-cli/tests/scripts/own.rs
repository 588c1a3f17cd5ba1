//! A program of one's own, begun with `goodqueue new-aqm`.

use super::*;

#[test]
fn a_new_program_has_the_name_and_tells_what_to_run() {
    let folder = folder();
    let output = goodqueue(folder.path(), &["new-aqm", "my_aqm"]);
    assert!(output.status.success(), "{}", said(&output));
    let told = String::from_utf8_lossy(&output.stdout);
    for line in ["cd my_aqm", "cargo test", "cargo run --release -- compare --qdisc my_aqm --qdisc codel"] {
        assert!(told.contains(line), "{told}");
    }
    let read = |path: &str| std::fs::read_to_string(folder.path().join("my_aqm").join(path)).unwrap();
    assert!(read("Cargo.toml").contains("goodqueue-cli = { version = \"0."), "{}", read("Cargo.toml"));
    assert!(read("src/main.rs").contains("with_aqm::<MyAqm>()"));
    assert!(read("src/my_aqm.rs").contains("impl Aqm for MyAqm"));
}

#[test]
fn the_crates_of_a_checkout_are_used_within_it_or_on_request() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let folder = folder();
    let own = folder.path().join("own");
    let args = ["new-aqm", "my_aqm", "--out", own.to_str().unwrap()];
    let output = goodqueue(&checkout.join("docs"), &args);
    assert!(output.status.success(), "{}", said(&output));
    let manifest = std::fs::read_to_string(own.join("Cargo.toml")).unwrap();
    let path = format!("goodqueue-cli = {{ path = \"{}/crates/goodqueue-cli\", ", checkout.display());
    assert!(manifest.contains(&path), "{manifest}");
    let output = goodqueue(folder.path(), &["new-aqm", "my_aqm", "--path", checkout.to_str().unwrap()]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(std::fs::read_to_string(folder.path().join("my_aqm/Cargo.toml")).unwrap(), manifest);
    let output = goodqueue(folder.path(), &["new-aqm", "other", "--path", "."]);
    assert!(said(&output).contains("not a checkout of goodqueue"), "{}", said(&output));
    assert!(!folder.path().join("other").exists());
}

#[test]
fn nothing_is_overwritten() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("my_aqm")).unwrap();
    let output = goodqueue(folder.path(), &["new-aqm", "my_aqm"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("this folder exists"), "{}", said(&output));
    assert_eq!(std::fs::read_dir(folder.path().join("my_aqm")).unwrap().count(), 0);
    for name in ["fq_codel", "match", "My-Aqm"] {
        assert_eq!(goodqueue(folder.path(), &["new-aqm", name]).status.code(), Some(2), "{name}");
        assert!(!folder.path().join(name).exists());
    }
}
