//! A congestion controller and a traffic source of your own, for programs and for tests.

mod aimd;
mod pulse;

pub use aimd::Aimd;
pub use pulse::Pulse;
