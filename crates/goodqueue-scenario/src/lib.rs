//! Scenario files, parameter sweeps, runs, measurement, result tables and exports.
//!
//! [`request`] has a scenario with its changes, [`session`] makes the runs, and [`results`] has
//! their values. [`simulate()`] is the shortest way. Below them, [`scenario`] reads scenario files,
//! [`sweep`] lists the points of a sweep, [`run`] describes each run, and [`measure`] turns the
//! counts of the simulator into results. [`store`] keeps results, and [`export`] writes them for
//! other programs.

#![forbid(unsafe_code)]

pub mod capture;
pub mod choice;
pub mod claim;
pub mod elsewhere;
pub mod emodel;
mod estimate;
pub mod export;
pub mod extensions;
pub mod files;
pub mod hash_key;
pub mod library;
pub mod measure;
pub mod metrics;
pub mod number;
#[cfg(feature = "object-store")]
pub mod objects;
pub mod request;
pub mod results;
pub mod run;
pub mod scenario;
pub mod series_step;
pub mod session;
pub mod shard;
pub mod shared;
mod simulate;
mod statistics;
pub mod store;
pub mod summary;
pub mod sweep;
pub mod trace;

pub use extensions::Extensions;
pub use simulate::simulate;
