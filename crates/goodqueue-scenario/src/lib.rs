//! Scenario files, units, the tc grammar, runs and result tables.

#![forbid(unsafe_code)]

pub mod results;
