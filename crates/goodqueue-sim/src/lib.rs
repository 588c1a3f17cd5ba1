//! A deterministic packet-level simulator of a bottleneck: queue disciplines, links, TCP and other traffic.
//!
//! The network is a dumbbell with one bottleneck of two directions. Hosts send into it without delay of their own;
//! behind it every flow has its own propagation delay. Time is integer nanoseconds; events at the same instant happen in
//! the order in which they were scheduled; all randomness comes from the seed. Equal configurations give equal outcomes,
//! bit for bit, on every platform.

#![forbid(unsafe_code)]
// A shadowed variable once delivered the wrong packet (mahimahi codel_packet_queue).
#![cfg_attr(not(test), warn(clippy::shadow_unrelated))]

pub mod events;
pub mod link;
pub mod monitor;
pub mod network;
pub mod packet;
pub mod replay;
pub mod simulation;
pub mod traffic;

pub use link::{Capacity, LinkConfig, Opportunities};
pub use monitor::{Bin, LinkOutcome};
pub use packet::Direction;
pub use simulation::{Config, FlowConfig, FlowOutcome, Outcome, Series, Traffic, run, run_watched};
