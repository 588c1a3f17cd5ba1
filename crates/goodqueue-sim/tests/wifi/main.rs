//! The WiFi model compared with theory: closed formulas, and fixed points where no closed formula
//! exists.

mod aggregates;
mod airtime;
mod channel;
mod conservation;
mod contention;
mod drivers;
mod formulas;
mod path;
mod throughput;
