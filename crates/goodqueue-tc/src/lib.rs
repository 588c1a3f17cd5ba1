//! Queue disciplines in tc's own grammar.
//!
//! [`parse`] reads a line such as `fq_codel limit 10240p target 5ms ecn` into a configuration of
//! `goodqueue`; [`to_tc`] writes a configuration as a line. Errors are
//! [`Diagnostic`](diagnostic::Diagnostic)s: what is wrong where, what is allowed, and what to do
//! next. [`replay`] feeds fixed arrivals to a discipline.
//!
//! Without features this crate depends on `goodqueue` alone.

#![forbid(unsafe_code)]

pub mod diagnostic;
pub mod input;
#[cfg(feature = "recordings")]
pub mod judge;
mod line;
pub mod printable;
#[cfg(feature = "recordings")]
pub mod recording;
pub mod replay;
mod spelling;
#[cfg(feature = "statistics")]
mod statistics;
pub mod table;
pub mod units;

pub use line::{brief, is_line, parse, parse_among, parse_as, remarks, to_tc};
#[cfg(feature = "statistics")]
pub use statistics::{statistics, statistics_of};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
