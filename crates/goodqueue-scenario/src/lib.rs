//! Scenario files, units, the tc grammar, runs and result tables.

#![forbid(unsafe_code)]

pub mod capture;
pub mod diagnostic;
pub mod emodel;
pub mod export;
pub mod files;
pub mod hash_key;
pub mod input;
pub mod library;
pub mod measure;
pub mod recording;
pub mod reproduce;
pub mod results;
pub mod run;
pub mod runs;
pub mod scenario;
pub mod shared;
pub mod store;
pub mod summary;
pub mod sweep;
pub mod tc;
pub mod trace;
pub mod units;
pub mod validate;
