//! Slow, literal models of the published algorithms: vectors, real numbers and scans where the
//! disciplines have lists, integers and indices. They are written from the documents, not from the
//! disciplines.

pub mod blue;
pub mod choke;
pub mod cnq_codel_af;
pub mod cobalt;
pub mod codel;
pub mod docsis;
pub mod drr;
pub mod dualpi2;
pub mod ets;
pub mod fq;
pub mod fq_codel;
pub mod hfsc;
pub mod hhf;
pub mod htb;
pub mod pie;
pub mod pie_draft00;
pub mod red;
pub mod sfb;
pub mod sfq;
pub mod sfq_codel;
pub mod tbf;

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
