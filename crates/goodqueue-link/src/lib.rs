//! A bottleneck for the tests of a transport, in virtual time.
//!
//! A [`Link`] is one direction of a bottleneck: a queue discipline of `goodqueue` that decides as
//! the Linux kernel does, a rate, a schedule of rates or a recorded trace, and a path with delay,
//! losses, reordering and duplicates. It carries packets of any type and has no clock:
//! [`Link::send`], [`Link::poll`] and [`Link::next_event`] are its interface. [`Duplex`] is a line
//! with two directions, [`Path`] puts links in series, and at a [`Shared`] link several connections
//! meet.
//!
//! A packet is any type with [`Packet`](goodqueue::Packet) and [`Flow`](goodqueue::Flow);
//! [`Datagram`](goodqueue::Datagram) is ready-made.
//!
//! ```
//! # #[cfg(feature = "tc")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use goodqueue::Datagram;
//! use goodqueue_link::{Link, LinkBuilder};
//!
//! let builder: LinkBuilder = "20mbit delay 25ms loss 0.1% [fq_codel ecn]".parse()?;
//! let link: Link<Datagram<Vec<u8>>> = builder.seed(7).build()?;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "tc"))]
//! # fn main() {}
//! ```
//!
//! # Features
//! | feature | adds |
//! |---|---|
//! | `tc` | links and disciplines as text, with errors that underline the word; needs the standard library and Rust 1.88 |
//! | `std` | seeds from environment variables (`seed`), captures for Wireshark (`capture`), qlog (`qlog`) |
//! | `recordings` | `Link::record`, which writes recordings for `goodqueue replay`; includes `tc` and `std` |
//!
//! Without features the crate is `no_std` with `alloc`, and depends on `goodqueue` alone.

#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

pub mod access;
mod air;
pub mod builder;
pub mod capacity;
#[cfg(feature = "std")]
pub mod capture;
pub mod duplex;
pub mod ethernet;
pub mod event;
mod flight;
pub mod lab;
pub mod line;
pub mod link;
#[cfg(feature = "std")]
mod numbers;
pub mod observe;
pub mod path;
pub mod pcapng;
#[cfg(feature = "std")]
pub mod qlog;
pub mod quantiles;
#[cfg(feature = "recordings")]
mod record;
#[cfg(feature = "std")]
pub mod seed;
pub mod shared;
pub mod statistics;
pub mod tagged;
#[cfg(feature = "tc")]
mod text;
pub mod units;
pub mod watch;
pub mod work;

pub use builder::LinkBuilder;
pub use duplex::Duplex;
pub use event::Event;
pub use lab::{Lab, Peer};
pub use link::Link;
pub use path::Path;
pub use shared::Shared;
pub use units::Units;

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
