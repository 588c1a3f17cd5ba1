//! Test instruments: operations and invariants for any discipline, slow reference models,
//! recordings of the Linux kernel and their replay; an object store that can be made to fail.

pub mod check;
pub mod edge;
pub mod kernel;
pub mod link;
pub mod operation;
pub mod reference;
pub mod s3;
mod values;
