//! Access lines by kind: DSL, cable, fibre, LTE, satellites, WiFi.
//!
//! `goodqueue advise` models the lines of homes with the same table, so that a test of a transport
//! and the advice for a router assume the same line. [`LinkBuilder::preset`] makes a link of an
//! entry. The rate is yours: the table has what follows from the kind of the line, each number with
//! its source.
//!
//! [`LinkBuilder::preset`]: crate::LinkBuilder::preset

pub mod buffer;
pub mod encapsulation;
pub mod preset;
pub mod presets;
pub mod variation;

pub use buffer::{Buffer, Drops};
pub use encapsulation::{Encapsulation, Framing};
pub use preset::Preset;
pub use variation::Variation;
