//! The names that `goodqueue-tcp` defines.

use std::sync::LazyLock;

/// The names that `cc` and `profile` may have. The default is all that `goodqueue-tcp` lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Names<'a> {
    /// Congestion controls; `cubic`, or else the first, is the default.
    pub cc: &'a [&'a str],
    /// TCP profiles; `rfc`, or else the first, is the default.
    pub profiles: &'a [&'a str],
}

impl Default for Names<'_> {
    fn default() -> Self {
        static CONTROLS: LazyLock<Vec<&str>> = LazyLock::new(|| goodqueue_tcp::registry::names().collect());
        static PROFILES: LazyLock<Vec<&str>> =
            LazyLock::new(|| goodqueue_tcp::profiles().map(|profile| profile.name).collect());
        Self { cc: &CONTROLS, profiles: &PROFILES }
    }
}
