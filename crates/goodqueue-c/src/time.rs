//! Times of C programs.

/// No time: nothing happens until the next call that changes something.
pub const GQ_NEVER: u64 = u64::MAX;
