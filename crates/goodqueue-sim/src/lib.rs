//! A deterministic packet-level simulator of a bottleneck: queue disciplines, links, TCP and other
//! traffic.
//!
//! The network is a path with one bottleneck in each direction. Further links in series and a WiFi
//! channel are optional. Every flow has its own round-trip time.
//!
//! Time is integer nanoseconds. Events at the same instant happen in the order in which they were
//! scheduled. All randomness comes from the seed, so equal configurations give equal outcomes, bit
//! for bit, on every platform.

#![forbid(unsafe_code)]
// A shadowed variable once delivered the wrong packet (mahimahi's codel_packet_queue).
#![cfg_attr(not(test), warn(clippy::shadow_unrelated))]

pub mod ahead;
pub mod backlog;
pub mod collisions;
pub mod config;
mod delays;
pub mod driver;
pub mod events;
pub mod grants;
mod id;
pub mod link;
pub mod losses;
pub mod monitor;
pub mod network;
pub mod observer;
pub mod outcome;
pub mod packet;
pub mod pause;
mod room;
pub mod run;
mod simulation;
pub mod so_far;
pub mod story;
pub mod traffic;
pub mod transport;
pub mod wifi;
mod wire;
pub mod witness;
pub mod words;

pub use config::{Config, FlowConfig, HopConfig};
pub use driver::Driver;
pub use goodqueue::Direction;
pub use goodqueue_link::capacity::{Capacity, Opportunities, UNLIMITED};
pub use goodqueue_link::work::Work;
pub use grants::Grants;
pub use id::{ConnectionId, FlowId};
pub use link::LinkConfig;
pub use monitor::{Bin, LinkOutcome, Loaded};
pub use observer::Observer;
pub use outcome::{FlowOutcome, MAX_PACKETS, Outcome, RunError, Series, SharedQueue};
pub use pause::{Pause, PauseOutcome};
pub use run::{QueueStep, Run, run};
pub use so_far::{SenderView, SoFar};
pub use traffic::Traffic;
pub use transport::Transport;
