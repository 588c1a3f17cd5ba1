//! The lines of these tests.

use goodqueue::config::Link;
use goodqueue::{Duration, Rate};
use goodqueue_sim::{Capacity, Config, FlowConfig, LinkConfig, Traffic};

/// A line with a queue in the downward direction, and a long FIFO in the other one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) mbit: u64,
    pub(crate) rtt_ms: u64,
    /// Discipline in the grammar of `tc`.
    pub(crate) queue: &'static str,
}

impl Line {
    /// Returns a run with one flow for each `traffic`.
    pub(crate) fn config(&self, traffic: Vec<Traffic>, seconds: u64) -> Config {
        let rate = Rate::from_bps(self.mbit * 1_000_000);
        let link = |queue: &str| {
            let qdisc = goodqueue_tc::parse(queue, &Link { rate, ..Link::default() });
            LinkConfig::new(Capacity::Constant(rate), qdisc.unwrap_or_else(|error| panic!("{error}")))
        };
        let rtt = Duration::from_millis(self.rtt_ms);
        let flows = traffic.into_iter().map(|traffic| FlowConfig::new(traffic, rtt)).collect();
        // The way back is to lose no acknowledgements.
        Config::new([link(self.queue), link("pfifo limit 1000p")], flows, Duration::from_secs(seconds))
    }
}
