//! An AQM as agent: the line, what is seen of it, and the environment.

mod environment;
mod line;
mod seen;

pub use environment::{AqmControl, AqmEnvironment, AqmSettings};
pub use line::{AqmLine, AqmRanges};
pub use seen::AqmSeen;
