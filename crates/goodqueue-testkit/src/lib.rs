//! Test instruments: recordings of the Linux kernel and their replay, operations and invariants, reference models.

pub mod kernel;
