//! A TCP sender and receiver without sockets.
//!
//! One direction of data per connection: a [`Sender`] at one end, a [`Receiver`] at the other,
//! [`Segment`]s between them. Neither reads a clock, does I/O, allocates in steady state or draws a
//! random number: the same calls give the same segments on every platform.
//!
//! # How to drive it
//!
//! Both ends have the same three calls, in this order whenever something happens at time `now`:
//!
//! 1. [`on_segment`](Sender::on_segment) if a segment arrived (or [`open`](Sender::open),
//!    [`write`](Sender::write), [`close`](Sender::close) if the application acted);
//! 2. [`poll_transmit`](Sender::poll_transmit) until it returns `None`; this also runs the timers
//!    that are due;
//! 3. [`next_event`](Sender::next_event): call `poll_transmit` again at that time, unless something
//!    happens earlier.
//!
//! ```
//! use goodqueue::Instant;
//! use goodqueue_tcp::{AnyCongestionControl, Config, Receiver, Sender};
//!
//! let config = Config::default();
//! let cubic = AnyCongestionControl::by_name("cubic").expect("listed in the registry");
//! let mut sender = Sender::new(config, cubic)?;
//! let mut receiver = Receiver::new(config)?;
//! sender.write(10_000);
//! sender.close();
//! sender.open(Instant::ZERO);
//! let mut now = 0;
//! while !sender.is_finished() {
//!     now += 10_000_000; // 10 ms each way, nothing lost
//!     while let Some(segment) = sender.poll_transmit(Instant::from_nanos(now)) {
//!         receiver.on_segment(Instant::from_nanos(now), &segment);
//!     }
//!     while let Some(segment) = receiver.poll_transmit(Instant::from_nanos(now)) {
//!         sender.on_segment(Instant::from_nanos(now), &segment);
//!     }
//! }
//! assert_eq!(receiver.delivered(), 10_000);
//! # Ok::<(), goodqueue::ConfigError>(())
//! ```
//!
//! # What it implements
//!
//! Handshake with retransmission (RFC 9293, RFC 6298), initial window (RFC 6928), slow start and
//! congestion avoidance (RFC 5681), selective acknowledgements and recovery by them (RFC 2018, RFC
//! 2883, RFC 6675), recovery without them (RFC 6582), limited transmit (RFC 3042), Proportional
//! Rate Reduction (RFC 9937), the retransmission timer (RFC 6298), ECN (RFC 3168), its accurate
//! echo for DCTCP (RFC 8257), Accurate ECN ([`accecn`], RFC 9768), restart after idle (RFC 5681
//! §4.1), persist timer (RFC 9293 §3.8.6.1), loss detection by time and tail loss probes (RFC
//! 8985), undo of reductions that DSACK, timestamps or F-RTO show to be wrong (RFC 3708, RFC 4015,
//! RFC 5682), pacing, HyStart++ ([`hystart`], RFC 9406). [`registry`] lists the congestion
//! controllers, [`stacks()`] the stacks, and [`profiles()`] the settings of systems that used them.
//! A [`Catalogue`] adds those of other crates: [`congestion`] explains how to write a controller,
//! and [`stack`] how to write a stack.
//!
//! # What it does not
//!
//! There is no data from receiver to sender, no Nagle algorithm and no reset. A connection whose
//! peer is gone retries for ever. Sequence numbers are 64 bits wide and start at 0, so they never
//! wrap. Both ends agree on options beforehand: SACK, timestamps and window scale are not
//! negotiated; ECN is.

#![no_std]
#![forbid(unsafe_code)]
// A shadowed variable once delivered the wrong packet (mahimahi codel_packet_queue).
#![cfg_attr(not(test), warn(clippy::shadow_unrelated))]
#![deny(missing_docs)]

extern crate alloc;

pub mod accecn;
mod catalogue;
pub mod clock;
pub mod config;
pub mod congestion;
pub mod hystart;
pub mod intake;
pub mod machinery;
mod mechanism;
mod own_stack;
pub mod profile;
pub mod prr;
pub mod reassembly;
mod receive_buffer;
pub mod received;
pub mod receiver;
pub mod receiver_stack;
pub mod registry;
pub mod rtt;
pub mod scoreboard;
pub mod segment;
pub mod sender;
pub mod stack;
mod stack_info;
pub mod stacks;
pub mod timers;
mod wire;

pub use catalogue::Catalogue;
pub use config::{Config, DelayedAck};
pub use congestion::CongestionControl;
pub use congestion::bbr::Bbr;
pub use congestion::bbr3::Bbr3;
pub use congestion::compound::Compound;
pub use congestion::cubic::Cubic;
pub use congestion::cubic_linux::CubicLinux;
pub use congestion::dctcp::Dctcp;
pub use congestion::fixed::Fixed;
pub use congestion::ledbat::Ledbat;
pub use congestion::new_reno::NewReno;
pub use congestion::nice::Nice;
pub use congestion::prague::Prague;
pub use congestion::reno::Reno;
pub use congestion::tcp_lp::TcpLp;
pub use congestion::vegas::Vegas;
pub use hystart::HyStart;
pub use mechanism::Mechanism;
pub use profile::Profile;
pub use receiver::Receiver;
pub use registry::AnyCongestionControl;
pub use segment::{Flags, SackBlocks, Segment};
pub use sender::Sender;
pub use stack_info::{AckCarrier, EcnFeedback, Origin, SackOption, StackInfo, SynOptions};
pub use stacks::{profiles, stacks};
pub use timers::Timers;
