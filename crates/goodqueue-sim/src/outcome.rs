//! The result of a run.

use core::fmt;

use goodqueue::{ConfigError, Count, Direction, Duration, Instant};

use crate::collisions::Collisions;
use crate::id::FlowId;
use crate::losses::FlowLosses;
use crate::monitor::{Bin, LinkOutcome};
use crate::network::Fates;
use crate::traffic::{Earlier, OneWay, Playback, RoundTrip, Tally, Transfer};
use crate::wifi::WifiOutcome;

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Measured time: without the warm-up, and up to the time at which the run was stopped.
    pub measured: Duration,
    /// Time at which the run ended: the configured one, or an earlier one at which it was stopped.
    pub end: Instant,
    /// The two queues of the bottleneck: down, up.
    pub links: [LinkOutcome; 2],
    /// The queues of the other hops; those before the bottleneck come first.
    pub hops: Vec<[LinkOutcome; 2]>,
    /// The WiFi channel, if the run has one.
    pub wifi: Option<WifiOutcome>,
    /// The flows, in the order of the configuration.
    pub flows: Vec<FlowOutcome>,
    /// Time series, if requested. They begin at time 0, before the warm-up ends.
    pub series: Option<Series>,
    /// Events handled in the whole run.
    pub events: u64,
    /// Packets that left the bottleneck's two queues in the whole run.
    pub bottleneck_packets: u64,
    /// Packets queued or in flight at the end of the run.
    pub in_flight: Count,
    /// Share of the bulk TCP flows that lose packets in the same congestion period, as a mean over
    /// the periods: down, up.
    ///
    /// A period begins with a drop and lasts for the longest round-trip time of these flows. `None`
    /// if there was no period, or fewer than two such flows.
    pub synchronization: [Option<f64>; 2],
    /// Probes whose packets shared a queue with another flow during the measured time.
    pub shared_queues: Vec<SharedQueue>,
}

/// A probe that shared a hashed queue with another flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedQueue {
    /// Index of the probe's flow.
    pub flow: FlowId,
    /// Index in [`Outcome::hops`]; `None` for the bottleneck.
    pub hop: Option<usize>,
    /// Direction of the queue.
    pub direction: Direction,
    /// The collisions that the probe's packets had there.
    pub collisions: Collisions,
}

/// The result of one flow.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// Counters for the measured time; `completed_at` is an absolute time.
    pub tally: Tally,
    /// Fates of the flow's packets in the measured time: down, up.
    pub fates: [Fates; 2],
    /// Drops in the direction of the flow's data in the measured time; `None` if they were not
    /// watched.
    pub losses: Option<FlowLosses>,
    /// Absolute time at which the receiver got the first byte; known for single TCP connections
    /// only.
    pub first_delivery: Option<Instant>,
    /// Part of the measured time during which the flow was active.
    pub active: Duration,
    /// Mean over this time of the delivery rate that the sender reported, in bytes per second; of
    /// TCP connections [that measure it](goodqueue_tcp::Config::reports_rate).
    pub delivery_rate: Option<u64>,
    /// Probes sent in the measured time. If there are very many, the latest ones.
    pub round_trips: Vec<RoundTrip>,
    /// One-way delays of the packets sent in the measured time, for flows that measure them. If
    /// there are very many, the latest ones.
    pub one_way: Vec<OneWay>,
    /// The probes, or packets, before the latest ones.
    pub earlier: Option<Box<Earlier>>,
    /// Transfers begun in the measured time.
    pub transfers: Vec<Transfer>,
    /// Playback of an adaptive video, from the start of the run.
    pub playback: Option<Playback>,
}

/// Time series with one value per step.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Length of a step.
    pub step: Duration,
    /// The two queues of the bottleneck: down, up.
    pub queues: [Vec<Bin>; 2],
    /// Payload bytes delivered in each step, per flow.
    pub delivered: Vec<Vec<u64>>,
}

/// The reason why a run has no outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunError {
    /// A TCP configuration is invalid.
    Config(ConfigError),
    /// More than [`MAX_PACKETS`] are queued or in flight at this time.
    TooManyPackets(Instant),
    /// Probes have more packets than the memory for their delays allows.
    TooManyProbes {
        /// Flows whose delays would have to be summed up.
        flows: usize,
        /// Packets of all probes.
        samples: u64,
        /// Flows whose delays can be summed up.
        most: usize,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::TooManyPackets(at) => write!(
                f,
                "at {} more than {MAX_PACKETS} packets are queued or on their way, which is the most that a run holds",
                at.since(Instant::ZERO)
            ),
            Self::TooManyProbes { flows, samples, most } => write!(
                f,
                "the run has {samples} packets of pings and calls, too many to keep each delay; at most {most} flows can \
                 have histograms instead, and {flows} would need one"
            ),
        }
    }
}

impl core::error::Error for RunError {}

impl From<ConfigError> for RunError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

/// Largest number of packets that the queues and delays of a run hold together.
///
/// Queues take memory as packets arrive, whatever their limits are, so this number bounds the
/// memory of a run. Linux would need 9 GB for as many full frames of 2,304 bytes.
pub const MAX_PACKETS: u64 = 4_000_000;
