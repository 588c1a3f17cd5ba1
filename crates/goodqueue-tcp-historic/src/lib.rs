//! TCP stacks and congestion controllers that papers and testbeds used: those of ns-2, Linux 3.x
//! and libutp.
//!
//! They reproduce the decisions of the originals, including those that differ from the RFCs.
//! Recordings of the originals check them. Nothing here is known to [`goodqueue_tcp`], which calls
//! these stacks and controllers through a virtual table, as it calls yours.
//!
//! ```
//! use goodqueue_tcp::{Catalogue, Sender};
//!
//! let catalogue = goodqueue_tcp_historic::add_to(Catalogue::new());
//! let profile = catalogue.profile("ns2_sack1").expect("it was added");
//! let controller = catalogue.controller_in(profile, "newreno").expect("it was added");
//! assert_eq!(controller.about().name, "newreno_ns2");
//! let sender = Sender::new(profile.settings, controller)?;
//! # let _ = sender;
//! # Ok::<(), goodqueue::ConfigError>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]
// A shadowed variable once delivered the wrong packet (mahimahi codel_packet_queue).
#![cfg_attr(not(test), warn(clippy::shadow_unrelated))]
#![deny(missing_docs)]

extern crate alloc;

pub mod congestion;
mod least_window;
mod libutp;
mod linux3;
mod ns2;
mod ns2_full;
mod ns2_linux;

use goodqueue_tcp::Catalogue;

use congestion::cubic_ns2::CubicNs2;
use congestion::ledbat_ns2::LedbatNs2;
use congestion::ledbat_utp::LedbatUtp;
use congestion::new_reno_ns2::NewRenoNs2;
use congestion::nice_ns2::NiceNs2;
use congestion::prague_05::Prague05;
use congestion::prague_515::Prague515;

/// Returns `catalogue` with all stacks and controllers of this crate.
#[must_use]
pub fn add_to(catalogue: Catalogue) -> Catalogue {
    catalogue
        .with_stack::<linux3::Linux3>()
        .with_stack::<libutp::Libutp>()
        .with_stack::<ns2::Ns2>()
        .with_stack::<ns2_linux::Ns2Linux>()
        .with_stack::<ns2_full::Ns2Full>()
        .with_controller::<NewRenoNs2>()
        .with_controller::<CubicNs2>()
        .with_controller::<LedbatUtp>()
        .with_controller::<LedbatNs2>()
        .with_controller::<NiceNs2>()
        .with_controller::<Prague05>()
        .with_controller::<Prague515>()
}
