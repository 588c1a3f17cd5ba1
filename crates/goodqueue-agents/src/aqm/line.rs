//! A line for an AQM: a bottleneck with downloads and a ping.

use std::sync::Arc;

use goodqueue::fifo::PfifoConfig;
use goodqueue::random::Random as _;
use goodqueue::{AnyConfig, Direction, Duration, Instant, Rate};
use goodqueue_sim::traffic::{PingSettings, TcpSettings};
use goodqueue_sim::{Capacity, Config, FlowConfig, LinkConfig, Traffic};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tcp::Profile;

use crate::draw::{Split, count, log_uniform, rate, scaled, time, unit};

/// The ranges from which a line is drawn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AqmRanges {
    /// Rate of the link. Default: 2 to 64 Mbit/s, each ratio equally likely.
    pub rate: [Rate; 2],
    /// Base round-trip time of the line. Each flow has 0.75 to 1.25 times this. Default: 10 to
    /// 160 ms, each ratio equally likely.
    pub rtt: [Duration; 2],
    /// Number of downloads. Half of them, at least one, start in the first second and stay. The
    /// others start and stop at random times. Default: 1 to 8.
    pub flows: [u32; 2],
    /// Share of lines whose downloads use ECN. Default: 0.5.
    pub ecn: f64,
}

impl Default for AqmRanges {
    fn default() -> Self {
        Self {
            rate: [Rate::from_bps(2_000_000), Rate::from_bps(64_000_000)],
            rtt: [Duration::from_millis(10), Duration::from_millis(160)],
            flows: [1, 8],
            ecn: 0.5,
        }
    }
}

/// A line that was drawn.
#[derive(Clone, Debug)]
pub struct AqmLine {
    /// Rate of the link in both directions.
    pub rate: Rate,
    /// Base round-trip time of the line, which the ping has.
    pub rtt: Duration,
    /// Number of downloads.
    pub flows: u32,
    /// True if the downloads use ECN.
    pub ecn: bool,
    /// The downloads, and then the ping.
    traffic: Vec<FlowConfig>,
    seed: u64,
}

/// Time between two pings.
const PING_INTERVAL: Duration = Duration::from_millis(100);
/// Time within which the permanent downloads start.
const START: f64 = 1.0;

impl AqmLine {
    /// Draws the line of a seed. `duration` bounds the times at which downloads start and stop.
    ///
    /// # Errors
    /// A range is empty or reaches beyond what can be simulated.
    pub fn draw(ranges: &AqmRanges, split: Split, seed: u64, duration: Duration) -> Result<Self, Diagnostic> {
        ranges.check()?;
        let random = &mut split.generator(seed);
        let rate = rate(random, ranges.rate);
        let rtt = time(random, ranges.rtt);
        let flows = count(random, ranges.flows);
        let ecn = unit(random) < ranges.ecn;
        // Rounded up, so that a line with one download is never empty.
        let permanent = flows.div_ceil(2);
        let mut traffic = Vec::new();
        for number in 0..flows {
            let own_rtt = scaled(rtt, log_uniform(random, [0.75, 1.25]));
            // Each download takes two draws, though a permanent one needs only the first.
            let times = [unit(random), unit(random)];
            let flow = FlowConfig::new(download(ecn)?, own_rtt);
            traffic.push(if number < permanent {
                let start = scaled(Duration::from_secs(1), times[0] * START);
                FlowConfig { start: Instant::ZERO + start, ..flow }
            } else {
                let [start, stop] =
                    // Both times are drawn alike, so either may be the earlier one.
                    [times[0].min(times[1]), times[0].max(times[1])].map(|share| scaled(duration, share));
                FlowConfig { start: Instant::ZERO + start, stop: Some(Instant::ZERO + stop), ..flow }
            });
        }
        let ping = PingSettings { interval: PING_INTERVAL, bytes: 64, l4s: false };
        traffic.push(FlowConfig::new(Traffic::Ping(ping), rtt));
        Ok(Self { rate, rtt, flows, ecn, traffic, seed: random.next_u64() })
    }

    /// Returns the run with this discipline in front of the link.
    #[must_use]
    pub fn config(&self, qdisc: AnyConfig) -> Config {
        let link = |qdisc| LinkConfig::new(Capacity::Constant(self.rate), qdisc);
        let links = [link(qdisc), link(AnyConfig::from(PfifoConfig::default()))];
        // The environment ends the run (`Run::open_ended`), so the configuration has no end.
        Config { seed: self.seed, ..Config::new(links, self.traffic.clone(), Duration::MAX) }
    }
}

impl AqmRanges {
    /// Checks that lines can be drawn.
    fn check(&self) -> Result<(), Diagnostic> {
        let [low, high] = self.rate.map(Rate::as_bps);
        if !(LEAST_RATE..=MOST_RATE).contains(&low) || !(low..=MOST_RATE).contains(&high) {
            return Err(range("rate", low, high, "100kbit to 10gbit, the lower bound first"));
        }
        let [low, high] = self.rtt;
        if low < Duration::from_millis(1) || high < low || high > Duration::from_secs(10) {
            return Err(range("rtt", low, high, "1ms to 10s, the lower bound first"));
        }
        let [low, high] = self.flows;
        if low < 1 || high < low || high > MOST_FLOWS {
            return Err(range("flows", low, high, "1 to 1000, the lower bound first"));
        }
        if (0.0..=1.0).contains(&self.ecn) {
            return Ok(());
        }
        Err(Diagnostic::new(format!("a share of ECN lines of {} is not possible", self.ecn))
            .allowed("0 to 1"))
    }
}

/// Least and greatest rate in bits per second.
const LEAST_RATE: u64 = 100_000;
const MOST_RATE: u64 = 10_000_000_000;
/// Greatest number of flows.
const MOST_FLOWS: u32 = 1000;

fn range(
    name: &str,
    low: impl core::fmt::Display,
    high: impl core::fmt::Display,
    allowed: &str,
) -> Diagnostic {
    Diagnostic::new(format!("`{name}` from {low} to {high} is not possible")).allowed(allowed)
}

/// A download with Linux's TCP and CUBIC.
fn download(ecn: bool) -> Result<Traffic, Diagnostic> {
    let profile = Profile::by_name("linux").ok_or_else(|| Diagnostic::new("there is no profile `linux`"))?;
    let cubic = profile.controller("cubic").ok_or_else(|| Diagnostic::new("there is no `cubic`"))?;
    Ok(Traffic::Tcp(TcpSettings {
        direction: Direction::Down,
        size: None,
        config: Arc::new(goodqueue_tcp::Config { ecn, ..profile.settings }),
        congestion_control: cubic,
        local_congestion: false,
    }))
}
