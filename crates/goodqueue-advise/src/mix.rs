//! The traffic of a home, as parts of scenario files.

/// A traffic mix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix {
    /// Name for people.
    pub(crate) name: &'static str,
    /// The flows, in TOML.
    flows: &'static str,
}

impl Mix {
    /// Returns the flows, in TOML.
    pub(crate) const fn flows(&self) -> &'static str {
        self.flows
    }
}

/// The mix with which settings are searched: the load of speed tests that measure both directions.
pub(crate) const SEARCHED: Mix = Mix {
    name: "4 downloads and 4 uploads",
    flows: "
[[flows]]
count = 4
start_jitter = '100ms'

[[flows]]
direction = 'up'
count = 4
start_jitter = '100ms'

[[flows]]
kind = 'ping'
interval = '50ms'
",
};

/// The load of [`SEARCHED`] with ECN, which decides whether marks are better than drops.
pub(crate) const MARKED: Mix = Mix {
    name: "4 downloads and 4 uploads, with ECN",
    flows: "
[[flows]]
count = 4
start_jitter = '100ms'
ecn = true

[[flows]]
direction = 'up'
count = 4
start_jitter = '100ms'
ecn = true

[[flows]]
kind = 'ping'
interval = '50ms'
",
};

/// The mixes with which the advice is verified.
pub(crate) const VERIFIED: &[Mix] = &[
    SEARCHED,
    MARKED,
    Mix {
        name: "a call, and another device loads the line",
        flows: "
[[flows]]
client = 2
count = 2
start_jitter = '100ms'

[[flows]]
client = 2
direction = 'up'
start_jitter = '100ms'

[[flows]]
kind = 'voip'
direction = 'up'

[[flows]]
kind = 'voip'

[[flows]]
kind = 'ping'
interval = '50ms'
",
    },
    Mix {
        name: "an evening: video, downloads, web, call",
        flows: "
[[flows]]
count = 2
start_jitter = '100ms'

[[flows]]
kind = 'video'

[[flows]]
kind = 'web'

[[flows]]
kind = 'voip'
direction = 'up'

[[flows]]
kind = 'voip'

[[flows]]
kind = 'ping'
interval = '50ms'
",
    },
    Mix {
        name: "a backup: one upload, web pages",
        flows: "
[[flows]]
direction = 'up'
start_jitter = '1s'

[[flows]]
kind = 'web'

[[flows]]
kind = 'ping'
interval = '50ms'
",
    },
];
