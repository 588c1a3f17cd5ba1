//! Queue disciplines of `goodqueue` in front of real packets, so that real programs run behind a
//! bottleneck.
//!
//! ```text
//!   client's namespace                  this process                    server's namespace
//!   program -- kernel -- TUN device === qdisc, rate, delay === TUN device -- kernel -- program
//! ```
//!
//! [`bottleneck`] carries the packets. [`link`] is one direction of it and has no clock.
//! [`namespace`] creates the networks that programs run in, and [`shell`] runs a program there.
//! [`shape`] puts a bottleneck between two interfaces of the host.
//!
//! This is the only crate of the project with system calls, and the only one with unsafe code. A
//! comment at each unsafe block says why it is sound.

#![deny(unsafe_code)]
#![deny(missing_docs)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod buffer;
pub mod checksum;
pub mod clock;
pub mod error;
pub mod flows;
pub mod link;
pub mod meter;
pub mod observer;
pub mod packet;

#[cfg(target_os = "linux")]
pub mod between_packets;
#[cfg(target_os = "linux")]
pub mod bottleneck;
#[cfg(target_os = "linux")]
mod builtin;
#[cfg(target_os = "linux")]
mod clients;
#[cfg(target_os = "linux")]
pub mod control;
#[cfg(target_os = "linux")]
pub mod device;
#[cfg(target_os = "linux")]
pub mod gso;
#[cfg(target_os = "linux")]
pub mod interface;
#[cfg(target_os = "linux")]
mod interface_name;
#[cfg(target_os = "linux")]
pub mod mailbox;
#[cfg(target_os = "linux")]
pub mod namespace;
#[cfg(target_os = "linux")]
mod nat;
#[cfg(target_os = "linux")]
pub mod netlink;
#[cfg(target_os = "linux")]
mod nftables;
#[cfg(target_os = "linux")]
pub mod orders;
#[cfg(target_os = "linux")]
pub mod pcap;
#[cfg(target_os = "linux")]
pub mod process;
#[cfg(target_os = "linux")]
pub mod requirements;
#[cfg(target_os = "linux")]
pub mod session;
#[cfg(target_os = "linux")]
mod settings;
#[cfg(target_os = "linux")]
pub mod shape;
#[cfg(target_os = "linux")]
pub mod shell;
#[cfg(target_os = "linux")]
pub mod sink;
#[cfg(target_os = "linux")]
pub mod socket;
#[cfg(target_os = "linux")]
mod takeover;
#[cfg(target_os = "linux")]
pub mod traffic;
#[cfg(target_os = "linux")]
pub mod tun;
#[cfg(target_os = "linux")]
pub mod undo;

pub use error::LiveError;
