//! Congestion controllers of ns-2 and libutp.

pub mod cubic_ns2;
pub mod ledbat_ns2;
pub mod ledbat_utp;
pub mod new_reno_ns2;
pub mod nice_ns2;
pub mod prague_05;
pub mod prague_515;
