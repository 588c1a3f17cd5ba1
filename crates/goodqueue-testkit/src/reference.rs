//! Slow, literal models of the published algorithms: vectors, real numbers and scans where the disciplines have lists,
//! integers and indices. They are written from the documents, not from the disciplines.

pub mod blue;
pub mod choke;
pub mod codel;
pub mod pie;
pub mod red;
pub mod sfq;

/// A packet as the models see it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Item {
    /// Its number.
    pub id: u64,
    /// Its length in bytes.
    pub len: u32,
    /// When it came, in ns.
    pub at: u64,
}

/// Bytes in a queue.
fn bytes(queue: &[Item]) -> f64 {
    queue.iter().map(|item| f64::from(item.len)).sum()
}
