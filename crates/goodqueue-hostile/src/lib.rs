//! Hostile inputs: one function for each kind of input. The fuzz targets in `fuzz/`, the test of
//! the committed inputs in `fuzz/seeds` (on the stable toolchain) and the test of their mutations
//! all call it.
//!
//! Each function has its own file. It panics if something is wrong, and returns nothing otherwise.

#![forbid(unsafe_code)]

mod capture;
mod choices;
mod claims;
#[cfg(target_os = "linux")]
mod control_line;
mod link_operations;
#[cfg(target_os = "linux")]
mod live_packets;
pub mod mutation;
mod netem_table;
mod operations;
mod recording;
mod scenario;
mod seeds;
mod tc_line;
mod tcp_segments;
mod trace;
#[cfg(target_os = "linux")]
mod undo_file;
mod verdicts;
mod wasm_policy;

pub use capture::capture;
pub use claims::claims;
#[cfg(target_os = "linux")]
pub use control_line::control_line;
pub use link_operations::link_operations;
#[cfg(target_os = "linux")]
pub use live_packets::live_packets;
pub use netem_table::netem_table;
pub use operations::{operations, sorted_kinds};
pub use recording::recording;
pub use scenario::scenario;
pub use seeds::{inputs_of, seeds_of};
pub use tc_line::tc_line;
pub use tcp_segments::tcp_segments;
pub use trace::trace;
#[cfg(target_os = "linux")]
pub use undo_file::undo_file;
pub use verdicts::verdicts;
pub use wasm_policy::wasm_policy;

/// A kind of input.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name of its function, its fuzz target and its folder of inputs.
    pub name: &'static str,
    /// Longest input in bytes.
    pub longest: usize,
    /// Function that tests an input.
    pub run: fn(&[u8]),
}

/// Lists functions by name, with the longest input of each.
macro_rules! targets {
    ($($(#[$attribute:meta])* $name:ident: $longest:expr),+ $(,)?) => {
        /// All kinds of inputs.
        pub const TARGETS: &[Target] =
            &[$($(#[$attribute])* Target { name: stringify!($name), longest: $longest, run: $name }),+];
    };
}

targets! {
    operations: STORY,
    link_operations: STORY,
    tc_line: FILE,
    scenario: FILE,
    trace: FILE,
    recording: FILE,
    capture: FILE,
    claims: FILE,
    verdicts: FILE,
    netem_table: FILE,
    tcp_segments: STORY,
    wasm_policy: FILE,
    #[cfg(target_os = "linux")]
    control_line: FILE,
    #[cfg(target_os = "linux")]
    undo_file: FILE,
    #[cfg(target_os = "linux")]
    live_packets: FILE,
}

/// Exceeds every limit on nesting and names, and is read in a moment.
const FILE: usize = 256 << 10;
/// Every few bytes are an operation, after which everything is checked.
const STORY: usize = 1 << 10;
