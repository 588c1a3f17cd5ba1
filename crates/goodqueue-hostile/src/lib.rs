//! Hostile inputs: what is done with the bytes of each kind, by the fuzz targets in `fuzz/`, by the test that tries the
//! committed inputs in `fuzz/seeds` on the stable toolchain, and by the one that tries mutations of them.
//!
//! Each kind is one function in one file. It panics if something is wrong, and else returns nothing.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

mod capture;
mod choices;
mod claims;
#[cfg(target_os = "linux")]
mod control_line;
#[cfg(target_os = "linux")]
mod live_packets;
pub mod mutation;
mod netem_table;
mod operations;
mod recording;
mod scenario;
mod tc_line;
mod tcp_segments;
mod trace;
#[cfg(target_os = "linux")]
mod undo_file;
mod verdicts;

pub use capture::capture;
pub use claims::claims;
#[cfg(target_os = "linux")]
pub use control_line::control_line;
#[cfg(target_os = "linux")]
pub use live_packets::live_packets;
pub use netem_table::netem_table;
pub use operations::{operations, sorted_kinds};
pub use recording::recording;
pub use scenario::scenario;
pub use tc_line::tc_line;
pub use tcp_segments::tcp_segments;
pub use trace::trace;
#[cfg(target_os = "linux")]
pub use undo_file::undo_file;
pub use verdicts::verdicts;

/// A kind of input.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of its function, its fuzz target and its folder of inputs.
    pub name: &'static str,
    /// Bytes of an input that are tried, at most.
    pub longest: usize,
    /// What is done with an input.
    pub run: fn(&[u8]),
}

/// Lists functions by their names, with the longest input of each.
macro_rules! targets {
    ($($(#[$attribute:meta])* $name:ident: $longest:expr),+ $(,)?) => {
        /// Every kind.
        pub const TARGETS: &[Target] =
            &[$($(#[$attribute])* Target { name: stringify!($name), longest: $longest, run: $name }),+];
    };
}

targets! {
    operations: STORY,
    tc_line: FILE,
    scenario: FILE,
    trace: FILE,
    recording: FILE,
    capture: FILE,
    claims: FILE,
    verdicts: FILE,
    netem_table: FILE,
    tcp_segments: STORY,
    #[cfg(target_os = "linux")]
    control_line: FILE,
    #[cfg(target_os = "linux")]
    undo_file: FILE,
    #[cfg(target_os = "linux")]
    live_packets: FILE,
}

/// More than any limit of nesting or of names, and read in a moment.
const FILE: usize = 256 << 10;
/// Each few bytes are a step, after which everything is checked.
const STORY: usize = 1 << 10;

/// Where the committed inputs of a target are.
#[must_use]
pub fn seeds_of(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target)
}

/// The committed inputs of a target, by name.
///
/// # Panics
/// They cannot be read, or there is none.
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
    inputs.sort();
    assert!(!inputs.is_empty(), "{folder:?} holds no input");
    inputs
}
