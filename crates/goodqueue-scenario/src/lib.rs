//! Scenario files, units, the tc grammar, runs and result tables.

#![forbid(unsafe_code)]

pub mod diagnostic;
pub mod recording;
pub mod results;
pub mod scenario;
pub mod sweep;
pub mod tc;
pub mod trace;
pub mod units;
