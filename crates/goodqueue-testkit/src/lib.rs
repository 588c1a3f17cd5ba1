//! Test instruments: operations and invariants for any discipline, slow reference models,
//! recordings of the Linux kernel and their replay.

pub mod check;
pub mod edge;
pub mod kernel;
pub mod operation;
pub mod reference;
mod values;
