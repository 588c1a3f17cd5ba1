//! Queue disciplines as plain values: CoDel, FQ-CoDel, CAKE, PIE, RED, SFQ and some twenty more.
//!
//! ```
//! use goodqueue::fq_codel::{FqCodel, FqCodelConfig};
//! use goodqueue::{Datagram, DropReason, Duration, FlowKey, Instant, Qdisc};
//!
//! let config = FqCodelConfig::default().with_target(Duration::from_millis(13))?;
//! let mut queue = FqCodel::new(config, 0x5EED); // a salt that no outsider can guess
//! let mut dropped = |lost: Datagram<Vec<u8>>, why: DropReason| println!("{why:?}: {lost:?}");
//! let flow = FlowKey::new("192.0.2.1:443".parse()?, "198.51.100.7:5000".parse()?, FlowKey::UDP);
//! let now = Instant::from_nanos(0); // of your own clock
//! queue.enqueue(now, Datagram::new(flow, 1200, vec![0; 1200]), &mut dropped);
//! let next = queue.dequeue(now, &mut dropped); // whenever the line takes a packet
//! assert_eq!(next.map(|datagram| datagram.bytes), Some(1200));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A discipline is told the time and given packets. It returns packets and reports each drop with
//! its reason. It reads no clock, does no I/O, starts no thread and has no hidden random generator,
//! so the same code runs in a VPN, a proxy, a game server, a simulator and a browser. The crate is
//! `no_std`, has no dependencies and no unsafe code. A variant `linux` decides as Linux 7.3
//! does, packet by packet.
//!
//! # Where to continue
//!
//! * **Embed a discipline.** [`Qdisc`] has ten methods; the module [`qdisc`] states its contract in
//!   eight rules. [`Datagram`] is a ready-made packet; your own type implements [`Packet`] and, for
//!   disciplines that separate flows, [`Flow`]. [`FlowKey`] hashes addresses and ports.
//! * **Configure it.** Every discipline has a typed configuration, such as
//!   [`FqCodelConfig`](fq_codel::FqCodelConfig): a value that exists is valid. Its module lists all
//!   parameters with defaults and sources.
//! * **Shape a line.** [`cake`], [`tbf`] and [`htb`] limit the rate; [`Qdisc::next_event`] says
//!   when to ask again. `examples/relay.rs` is a whole program around it.
//! * **Nest disciplines.** [`nesting`] explains parents such as [`prio`] and [`tbf`];
//!   `examples/nesting.rs` is a shaper with priority bands.
//! * **Keep your own queue.** [`codel::Controller`] and [`pie::Controller`] take a sojourn time or
//!   a backlog and answer [`Verdict::Pass`], `Mark` or `Drop`. `examples/shed.rs` is a server that
//!   sheds load with CoDel.
//! * **Choose at run time.** [`AnyQdisc`] is any discipline of the [`registry`], by its name in
//!   `tc` and untyped [`Settings`]. The crate `goodqueue-tc` parses whole `tc` lines.
//! * **Write your own.** An AQM on one queue is an [`aqm::Aqm`], any other discipline a [`Qdisc`].
//!   [`Disciplines`] makes it known to the simulator and the command line. A whole program is in
//!   the repository's folder `examples/own-discipline`.

#![no_std]
#![forbid(unsafe_code)]
// A shadowed variable once delivered the wrong packet (mahimahi codel_packet_queue).
#![cfg_attr(not(test), warn(clippy::shadow_unrelated))]
#![deny(missing_docs)]

extern crate alloc;

pub mod blue;
pub mod cake;
pub mod choke;
pub mod cnq_codel_af;
pub mod cobalt;
pub mod codel;
pub mod codel_dt;
mod disciplines;
pub mod docsis;
pub mod drr;
pub mod dualpi2;
pub mod ets;
pub mod fifo;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
pub mod hfsc;
pub mod hhf;
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

pub use machinery::{
    aqm, config, decision, flow_queue, gauge, hash, nesting, own, packet, qdisc, queue, random, shown, stats,
    time,
};
use machinery::{
    bins, bucket, direction, head, jiffies, largest, leaf, memory, parameter, quantity, reason, remembered,
    tc_version, typed, verdict, weights,
};

pub use config::{Build, ConfigError, Configure, Link, Settings};
pub use direction::Direction;
pub use disciplines::Disciplines;
pub use hash::FlowKey;
pub use machinery::datagram::Datagram;
pub use machinery::verdict::Verdict;
pub use packet::{Ecn, Flow, Packet, TcpAck};
pub use qdisc::{Count, DropReason, Drops, Lookahead, Qdisc, Stats};
pub use registry::{AnyConfig, AnyQdisc};
pub use time::{Duration, Instant, Rate};

/// The code in the README is tried too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
