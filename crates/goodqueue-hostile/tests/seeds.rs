//! Runs every committed fuzz input without a fuzzer, so that old finds stay fixed.

use goodqueue_hostile::{TARGETS, inputs_of, seeds_of};

#[test]
fn the_committed_inputs_of_every_target_find_nothing_any_more() {
    for target in TARGETS {
        for (name, bytes) in inputs_of(target.name) {
            // A failing test shows the last printed line, which names the input.
            println!("fuzz/seeds/{}/{name}", target.name);
            (target.run)(&bytes);
        }
    }
}

#[test]
fn every_target_has_its_binary_and_is_run_by_make_fuzz() {
    let fuzz = seeds_of("../..");
    let read = |path: &str| {
        let path = fuzz.join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
    };
    let makefile = read("Makefile");
    let manifest = read("fuzz/Cargo.toml");
    let listed = makefile.lines().find_map(|line| line.strip_prefix("FUZZ_TARGETS = ")).unwrap_or_default();
    for target in TARGETS {
        let name = target.name;
        let source = read(&format!("fuzz/fuzz_targets/{name}.rs"));
        assert!(source.contains(&format!("goodqueue_hostile::{name}(")), "{name} runs something else");
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "fuzz/Cargo.toml: {name}");
        assert!(listed.split_whitespace().any(|listed| listed == name), "Makefile: {name}");
    }
}
