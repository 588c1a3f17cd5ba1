//! Queue disciplines as plain values.
//!
//! A discipline is told the time and handed packets; it hands back packets and reports each drop with its reason. It
//! reads no clock, does no I/O, starts no thread and hides no random generator, so the same code runs in a simulator,
//! behind a TUN device, in a replay of what the Linux kernel did, and in a browser.
//!
//! ```
//! use goodqueue::{DropReason, Duration, Ecn, Instant, Packet, Qdisc};
//! use goodqueue::fifo::{Pfifo, PfifoConfig};
//!
//! struct Datagram(u32);
//! impl Packet for Datagram {
//!     fn len(&self) -> u32 { self.0 }
//!     fn ecn(&self) -> Ecn { Ecn::NotEct }
//!     fn set_ce(&mut self) -> bool { false }
//! }
//!
//! let mut queue = Pfifo::new(PfifoConfig::new(1).unwrap());
//! let mut lost = Vec::new();
//! let mut drops = |packet: Datagram, why: DropReason| lost.push((packet.0, why));
//! queue.enqueue(Instant::ZERO, Datagram(1500), &mut drops);
//! queue.enqueue(Instant::ZERO, Datagram(64), &mut drops);
//! let first = queue.dequeue(Instant::ZERO + Duration::from_millis(1), &mut drops).unwrap();
//! assert_eq!(first.0, 1500);
//! assert_eq!(lost, [(64, DropReason::Overlimit)]);
//! ```
//!
//! [`qdisc`] holds the contract in numbered rules. Each algorithm has one file; [`registry`] lists them all.

#![no_std]
#![forbid(unsafe_code)]
// A shadowed variable once delivered the wrong packet (mahimahi codel_packet_queue).
#![cfg_attr(not(test), warn(clippy::shadow_unrelated))]
#![deny(missing_docs)]

extern crate alloc;

pub mod blue;
pub mod cake;
pub mod choke;
pub mod cobalt;
pub mod codel;
pub mod codel_dt;
pub mod drr;
pub mod dualpi2;
pub mod fifo;
pub mod fq_codel;
pub mod fq_pie;
pub mod htb;
mod machinery;
pub mod netem;
pub mod pfifo_fast;
pub mod pie;
pub mod prio;
pub mod qfq;
pub mod red;
pub mod registry;
pub mod sfb;
pub mod sfq;
pub mod sfq_codel;
pub mod sfq_pie;
pub mod tbf;

use machinery::{bins, bucket, direction, head, jiffies, leaf, memory};
pub use machinery::{config, flow_queue, gauge, hash, nesting, packet, qdisc, queue, random, stats, time};

pub use config::{Build, ConfigError, Configure, Link, Settings};
pub use direction::Direction;
pub use packet::{Ecn, Flow, Packet, TcpAck};
pub use qdisc::{Count, DropReason, Drops, Lookahead, Qdisc, Stats};
pub use registry::{AnyConfig, AnyQdisc};
pub use time::{Duration, Instant, Rate};

/// The code in the README is tried too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
