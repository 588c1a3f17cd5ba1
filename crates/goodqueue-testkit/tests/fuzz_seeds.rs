//! Every committed fuzz input once more, without a fuzzer: inputs that once found something stay found.

use goodqueue_testkit::fuzz::{TARGETS, seeds_of};

#[test]
fn the_committed_inputs_of_every_target_find_nothing_any_more() {
    for target in TARGETS {
        let folder = seeds_of(target.name);
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
        paths.sort();
        assert!(!paths.is_empty(), "{folder:?} holds no input");
        for path in paths {
            let bytes = std::fs::read(&path).expect("readable");
            // A failing test shows what was printed last: this is how the input is known.
            println!("{}", path.display());
            (target.run)(&bytes);
        }
    }
}

#[test]
fn every_target_has_its_binary() {
    for target in TARGETS {
        let source = seeds_of("..").join("fuzz_targets").join(format!("{}.rs", target.name));
        let text = std::fs::read_to_string(&source).unwrap_or_else(|error| panic!("{source:?}: {error}"));
        assert!(text.contains(&format!("fuzz::{}(", target.name)), "{source:?} runs something else");
    }
}
