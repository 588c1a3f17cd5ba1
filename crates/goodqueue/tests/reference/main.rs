//! The disciplines against slow models written from the documents: the same decision about every
//! packet, given the same random draws.

mod harness;

mod blue;
mod choke;
mod cnq_codel_af;
mod cobalt;
mod codel;
mod docsis;
mod drr;
mod dualpi2;
mod ets;
mod fq;
mod fq_codel;
mod hfsc;
mod hhf;
mod htb;
mod pie;
mod red;
mod sfb;
mod sfq;
mod sfq_codel;
mod tbf;
