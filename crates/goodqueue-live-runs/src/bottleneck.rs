//! From a scenario to a live bottleneck for the packets of other programs.

use std::sync::Arc;

use goodqueue::{AnyConfig, Duration, Instant};
use goodqueue_link::capacity::Capacity;
use goodqueue_live::bottleneck::{BottleneckConfig, DEFAULT_MEMORY};
use goodqueue_live::link::{Delay, LinkConfig};
use goodqueue_scenario::scenario::{LinkRate, QdiscChoice, Scenario};

/// Returns the bottleneck of a scenario under one of its disciplines.
#[must_use]
pub fn from_scenario(scenario: &Scenario, choice: &QdiscChoice, seed: u64) -> BottleneckConfig {
    let link = &scenario.link;
    let up = Duration::from_nanos(link.rtt.as_nanos() / 2);
    // The way down gets the odd nanosecond, so that both together are the round-trip time.
    let down = link.rtt.saturating_sub(up);
    let config = |rate: &LinkRate, qdisc: &AnyConfig, delay| LinkConfig {
        capacity: capacity(rate),
        qdisc: qdisc.clone(),
        path: None,
        delay: Delay::from_base(delay),
        framing: link.framing,
        salt: 0,
        seed,
    };
    BottleneckConfig {
        links: [
            config(&link.down.rate, &choice.down.config, down),
            config(&link.up.rate, &choice.up.config, up),
        ],
        memory: DEFAULT_MEMORY,
        batch: None,
        couple: true,
    }
}

fn capacity(rate: &LinkRate) -> Capacity {
    match rate {
        LinkRate::Unlimited => Capacity::UNLIMITED,
        LinkRate::Fixed(rate) => Capacity::Constant(*rate),
        LinkRate::Schedule(steps) => {
            Capacity::Schedule(steps.iter().map(|step| (Instant::ZERO + step.0, step.1)).collect())
        }
        LinkRate::Trace { trace, .. } => Capacity::Trace(Arc::clone(trace.opportunities())),
    }
}
