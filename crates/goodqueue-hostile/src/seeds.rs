//! The committed inputs of the fuzz targets.

use std::path::{Path, PathBuf};

/// Returns the folder of a target's committed inputs.
#[must_use]
pub fn seeds_of(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target)
}

/// Returns a target's committed inputs, by name.
///
/// # Panics
/// If they cannot be read, or there are none.
#[must_use]
pub fn inputs_of(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = seeds_of(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut inputs: Vec<(String, Vec<u8>)> = entries
        .map(|entry| {
            let entry = entry.unwrap_or_else(|error| panic!("{folder:?}: {error}"));
            let bytes = std::fs::read(entry.path()).unwrap_or_else(|error| panic!("{entry:?}: {error}"));
            (entry.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    // Mutants depend on the order, which a folder does not have.
    inputs.sort();
    assert!(!inputs.is_empty(), "{folder:?} holds no input");
    inputs
}
