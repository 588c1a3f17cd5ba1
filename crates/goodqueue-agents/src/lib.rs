//! Lines for learning agents, and scored problems for queue disciplines that programs write.
//!
//! An [`Environment`] is one simulated line that an agent controls: it [begins](Environment::begin)
//! with a seed, and each [step](Environment::step) applies an action and simulates one control
//! interval. [`Lines`] steps many lines in threads. A [`Problem`] scores a policy on fixed training
//! lines and on held-out lines.
//!
//! There is no clock and no I/O. Seed and actions determine every result, byte for byte, on every
//! machine.
//!
//! ```
//! use goodqueue_agents::{AqmEnvironment, AqmSettings, Environment};
//!
//! let mut line = AqmEnvironment::new(AqmSettings::default());
//! line.begin(1)?;
//! let mut reward = 0.0;
//! for _ in 0..200 {
//!     // Drop or mark 1 % of the packets: the probability is the square of the action.
//!     reward += line.step(0.1)?.reward;
//! }
//! assert!(reward > 0.0);
//! # Ok::<(), goodqueue_tc::diagnostic::Diagnostic>(())
//! ```

#![forbid(unsafe_code)]

pub mod aqm;
pub mod congestion;
pub mod draw;
pub mod environment;
pub mod lines;
pub mod policy;
pub mod problem;
pub mod reward;
pub mod score;
pub mod signal;
pub mod wasm;

pub use aqm::{AqmControl, AqmEnvironment, AqmRanges, AqmSeen, AqmSettings};
pub use congestion::{
    CongestionEnvironment, CongestionRanges, CongestionSeen, CongestionSettings, SenderControl,
};
pub use draw::Split;
pub use environment::{Channel, Environment, Step};
pub use lines::Lines;
pub use policy::{Policy, PolicyMaker};
pub use problem::{Candidate, Panels, Problem};
pub use score::{LineScore, Panel, Score};
pub use wasm::WasmPolicy;
