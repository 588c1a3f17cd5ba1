//! Experiments of papers and measurements of real systems, run again and compared.
//!
//! [`reproduce`] runs the experiments of papers and checks their claims. [`validate`] compares
//! single flows and whole loads with recorded runs of Linux, ns-2 and ns-3. Both embed their data:
//! this crate needs no files at run time. [`report`] writes reproductions as one HTML file.

#![forbid(unsafe_code)]

pub mod report;
pub mod reproduce;
pub mod validate;
