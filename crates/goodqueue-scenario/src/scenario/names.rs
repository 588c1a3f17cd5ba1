//! The names that other crates define.

/// The names that others define: which may stand for `cc` and `profile`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Names<'a> {
    /// Congestion controls; `cubic`, or else the first, is the default.
    pub cc: &'a [&'a str],
    /// TCP profiles; `rfc`, or else the first, is the default.
    pub profiles: &'a [&'a str],
}

impl Default for Names<'_> {
    fn default() -> Self {
        Self { cc: CONGESTION_CONTROLS, profiles: PROFILES }
    }
}

/// Congestion controls known without asking `goodqueue-tcp`.
pub const CONGESTION_CONTROLS: &[&str] = &["newreno", "cubic"];

/// TCP profiles known without asking `goodqueue-tcp`.
pub const PROFILES: &[&str] = &[
    "rfc",
    "linux",
    "linux314",
    "linux32",
    "libutp",
    "ns2_sack1",
    "ns2_newreno",
    "ns2_linux",
    "ns2_fulltcp",
];
