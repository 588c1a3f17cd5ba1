//! An AQM of your own, for programs and for tests.

mod ramp;

pub use ramp::Ramp;
