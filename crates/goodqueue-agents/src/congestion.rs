//! A congestion control as agent: the line, what is seen of it, and the environment.

mod environment;
mod line;
mod seen;

pub use environment::{CongestionEnvironment, CongestionSettings, SenderControl};
pub use line::{CongestionLine, CongestionRanges};
pub use seen::CongestionSeen;
