//! Programs in C and C++ with the static library.

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn a_transfer_in_c_fills_a_large_buffer_and_leaves_the_queue_of_fq_codel_short() {
    let said = run("cc", &["-std=c99", "-Wall", "-Wextra", "-Werror"], "transfer.c");
    assert!(said.contains("fq_codel ecn"), "{said}");
}

#[test]
fn an_emulated_network_of_libwebrtc_takes_the_disciplines() {
    if Command::new("c++").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "the tests need a compiler for C++");
        println!("SKIPPED: there is no compiler for C++");
        return;
    }
    let said = run("c++", &["-std=c++17", "-Wall", "-Wextra", "-Werror"], "network_queue.cc");
    assert!(said.contains("dualpi2"), "{said}");
}

/// Compiles an example, runs it, and returns what it prints.
fn run(compiler: &str, options: &[&str], example: &str) -> String {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("program");
    let compiled = Command::new(compiler)
        .args(options)
        .arg("-I")
        .arg(crate_folder.join("include"))
        .arg(crate_folder.join("examples").join(example))
        .arg(library())
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .output()
        .expect("a compiler");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(program).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// Returns the static library, which Cargo builds beside the tests, under a name with a checksum.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let beside = std::fs::read_dir(test.parent().expect("a folder")).expect("readable").flatten();
    let built = beside.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("libgoodqueue_c-") && name.ends_with(".a")
    });
    // Those of earlier builds may still be there.
    let newest = built.max_by_key(|entry| entry.metadata().and_then(|about| about.modified()).ok());
    newest.expect("the static library").path()
}
