//! The runs of a scenario with real packets and the kernel's TCP.
//!
//! [`LiveSession`] makes the runs that a
//! [`Session`](goodqueue_scenario::session::Session) would simulate. Their results have the same
//! form, so tables, reports and exports need no code of their own. The other modules are for
//! bottlenecks that carry the packets of other programs: from a scenario to
//! [a bottleneck](bottleneck), from its counters to [statistics], and the
//! [requests](request_handler) of its clients.
//!
//! Everything here needs Linux. System calls are in `goodqueue-live`.

#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![cfg(target_os = "linux")]

pub mod bottleneck;
mod error;
mod execute;
mod measured;
pub mod order_reader;
mod plan;
pub mod recorder;
pub mod request_handler;
mod session;
pub mod statistics;

pub use error::diagnostic;
pub use session::{LiveFinished, LiveSession, LiveWatch};
