//! A line for a congestion control: a bottleneck with a FIFO, one download, and datagrams that
//! come and go.

use std::sync::Arc;

use goodqueue::random::Random as _;
use goodqueue::{Direction, Duration, Instant, Link, Rate};
use goodqueue_sim::traffic::{Distribution, OnOffSettings, TcpSettings};
use goodqueue_sim::{Capacity, Config, FlowConfig, LinkConfig, Traffic};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tcp::{AnyCongestionControl, Catalogue, Profile};

use crate::draw::{Split, log_uniform, rate, scaled, time, unit, whole};

/// The ranges from which a line is drawn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CongestionRanges {
    /// Rate of the link. Default: 2 to 64 Mbit/s, each ratio equally likely.
    pub rate: [Rate; 2],
    /// Base round-trip time. Default: 10 to 160 ms, each ratio equally likely.
    pub rtt: [Duration; 2],
    /// Buffer in products of rate and round-trip time, at least four packets. Default: 0.25 to 4,
    /// each ratio equally likely.
    pub buffer: [f64; 2],
    /// Rate of the datagrams while they are sent, as a share of the link's rate. Bursts and
    /// silences have exponential lengths with a mean of 2 s. Default: 0 to 0.5.
    pub cross: [f64; 2],
}

impl Default for CongestionRanges {
    fn default() -> Self {
        Self {
            rate: [Rate::from_bps(2_000_000), Rate::from_bps(64_000_000)],
            rtt: [Duration::from_millis(10), Duration::from_millis(160)],
            buffer: [0.25, 4.0],
            cross: [0.0, 0.5],
        }
    }
}

/// A line that was drawn.
#[derive(Clone, Debug)]
pub struct CongestionLine {
    /// Rate of the link in both directions.
    pub rate: Rate,
    /// Base round-trip time.
    pub rtt: Duration,
    /// Packets that the buffer holds.
    pub buffer: u64,
    /// Rate of the datagrams within a burst.
    pub cross: Rate,
    seed: u64,
}

/// Length of a full packet with its link header in bytes.
const PACKET: f64 = 1514.0;
/// Length of a datagram in bytes.
const DATAGRAM: u32 = 1200;
/// Mean length of a burst and of a silence, in seconds.
const BURST: f64 = 2.0;
/// Fewest packets that a buffer holds.
const LEAST_BUFFER: u64 = 4;
/// Length of an ECN-free queue for ACKs in packets.
const ACKS: u64 = 1000;

/// Index of the agent's flow.
pub(crate) const AGENT: usize = 0;

impl CongestionLine {
    /// Draws the line of a seed.
    ///
    /// # Errors
    /// A range is empty or reaches beyond what can be simulated.
    #[expect(clippy::cast_precision_loss, reason = "rates and times are far below 2^53")]
    pub fn draw(ranges: &CongestionRanges, split: Split, seed: u64) -> Result<Self, Diagnostic> {
        ranges.check()?;
        let random = &mut split.generator(seed);
        let rate = rate(random, ranges.rate);
        let rtt = time(random, ranges.rtt);
        let product = rate.as_bps() as f64 / 8.0 * (rtt.as_nanos() as f64 / 1e9) / PACKET;
        let buffer = whole(product * log_uniform(random, ranges.buffer)).max(LEAST_BUFFER);
        let [low, high] = ranges.cross;
        let share = low + (high - low) * unit(random);
        let cross = Rate::from_bps(whole(rate.as_bps() as f64 * share));
        Ok(Self { rate, rtt, buffer, cross, seed: random.next_u64() })
    }

    /// Returns the run with this congestion control.
    ///
    /// # Errors
    /// Linux's TCP has no such congestion control.
    pub fn config(&self, control: &str) -> Result<Config, Diagnostic> {
        let fifo = |packets: u64| {
            let line = goodqueue_tc::parse(&format!("pfifo limit {packets}"), &Link::default())?;
            Ok::<_, Diagnostic>(LinkConfig::new(Capacity::Constant(self.rate), line))
        };
        let (settings, congestion_control) = linux(control)?;
        let download = Traffic::Tcp(TcpSettings {
            direction: Direction::Down,
            size: None,
            config: Arc::new(settings),
            congestion_control,
            local_congestion: false,
        });
        let cross = Traffic::OnOff(OnOffSettings {
            direction: Direction::Down,
            rate: self.cross,
            bytes: DATAGRAM,
            on: Distribution::Exponential(BURST),
            off: Distribution::Exponential(BURST),
            ecn: false,
        });
        let start = Instant::ZERO + scaled(Duration::from_secs(1), 1.0);
        let flows = vec![
            FlowConfig::new(download, self.rtt),
            FlowConfig { start, ..FlowConfig::new(cross, self.rtt) },
        ];
        let links = [fifo(self.buffer)?, fifo(ACKS)?];
        // The environment ends the run, as for an AQM.
        Ok(Config { seed: self.seed, ..Config::new(links, flows, Duration::MAX) })
    }
}

/// Returns the settings of Linux's TCP with a congestion control.
fn linux(control: &str) -> Result<(goodqueue_tcp::Config, AnyCongestionControl), Diagnostic> {
    let profile = Profile::by_name("linux").ok_or_else(|| Diagnostic::new("there is no profile `linux`"))?;
    let catalogue = goodqueue_tcp_historic::add_to(Catalogue::new());
    let Some(found) = catalogue.controller_in(profile, control) else {
        let names: Vec<&str> = catalogue.controllers().map(|about| about.name).collect();
        return Err(goodqueue_tc::diagnostic::unknown("congestion control", control, &names));
    };
    Ok((profile.settings.suited_to(found.about().needs), found))
}

impl CongestionRanges {
    fn check(&self) -> Result<(), Diagnostic> {
        let refuse = |name: &str, given: String, allowed: &str| {
            Err(Diagnostic::new(format!("`{name}` from {given} is not possible")).allowed(allowed))
        };
        let [low, high] = self.rate.map(Rate::as_bps);
        if low < 100_000 || high < low || high > 10_000_000_000 {
            return refuse("rate", format!("{low} to {high}"), "100kbit to 10gbit, the lower bound first");
        }
        let [low, high] = self.rtt;
        if low < Duration::from_millis(1) || high < low || high > Duration::from_secs(10) {
            return refuse("rtt", format!("{low} to {high}"), "1ms to 10s, the lower bound first");
        }
        let [low, high] = self.buffer;
        // Negated, so that NaN is refused too.
        if !(low > 0.0 && low <= high && high <= 100.0) {
            return refuse("buffer", format!("{low} to {high}"), "above 0 to 100, the lower bound first");
        }
        let [low, high] = self.cross;
        if !(low >= 0.0 && low <= high && high <= 0.95) {
            return refuse("cross", format!("{low} to {high}"), "0 to 0.95, the lower bound first");
        }
        Ok(())
    }
}
