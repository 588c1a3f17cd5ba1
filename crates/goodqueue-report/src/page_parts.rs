//! What other pages share with the report: its look, escaping and its policy.

pub use crate::escape::html as escape;
pub use crate::policy::policy;

/// The style sheet of the report.
pub const CSS: &str = concat!(include_str!("../assets/look.css"), include_str!("../assets/report.css"));
