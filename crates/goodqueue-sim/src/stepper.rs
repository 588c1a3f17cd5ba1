//! A run in steps: advance to a time, read what happened since the last step, change a discipline
//! or a congestion controller, and continue.
//!
//! This is the interface for agents and for everything else that decides while a run is on its way.
//! A run in steps without a change has the outcome of [`run`](crate::run), whatever the steps are.
//!
//! ```
//! use goodqueue::{AnyConfig, Duration, Instant, Link, Rate, Settings, config::Value};
//! use goodqueue_sim::{Capacity, Config, Direction, LinkConfig, Stepper};
//!
//! let rate = Rate::from_bps(10_000_000);
//! let codel = |target| {
//!     let settings = Settings::new().with("target", Value::Time(Duration::from_millis(target)));
//!     AnyConfig::from_settings("codel", &settings, &Link::default()).unwrap().unwrap()
//! };
//! let link = || LinkConfig::new(Capacity::Constant(rate), codel(5));
//! let mut stepper = Stepper::new(Config::new([link(), link()], Vec::new(), Duration::from_secs(1)))?;
//! stepper.advance(Instant::ZERO + Duration::from_millis(15))?;
//! let step = stepper.queue(Direction::Down);
//! assert_eq!((step.bin.packets, step.capacity.bits()), (0, 150_000.0));
//! stepper.reconfigure(Direction::Down, codel(20))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;

use goodqueue::{AnyConfig, ConfigError, Count, Direction, Duration, Instant, Qdisc as _, Stats};
use goodqueue_tcp::congestion::parameter::Value;

use crate::config::Config;
use crate::monitor::Bin;
use crate::outcome::{Outcome, RunError};
use crate::simulation::Simulation;
use crate::traffic::{AnySource, Source as _};
use crate::work::Work;

/// A run that its owner advances.
pub struct Stepper {
    simulation: Simulation<'static>,
    /// Counters and capacity of the two queues when they were last read.
    read: [(Stats, Work); 2],
}

/// What happened in one queue of the bottleneck since the last look.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct QueueStep {
    /// Packets that left, their sojourn times, drops, and the work of the link.
    pub bin: Bin,
    /// Packets that arrived.
    pub offered: Count,
    /// Packets that were marked.
    pub marked: Count,
    /// Packets that were dropped.
    pub dropped: Count,
    /// Work that the link could have done.
    pub capacity: Work,
    /// Bytes queued now.
    pub backlog: u64,
}

/// The state of a TCP sender, with counters since the connection began.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SenderView {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// Payload bytes that arrived in order.
    pub delivered: u64,
    /// Segments sent.
    pub sent: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

impl SenderView {
    /// Returns the state of a source's sender; `None` if the source is not a single TCP connection.
    pub(crate) fn of(source: &AnySource) -> Option<Self> {
        let AnySource::Tcp(tcp) = source else { return None };
        let (sender, tally) = (tcp.sender(), tcp.tally());
        Some(Self {
            cwnd: sender.cwnd(),
            in_flight: sender.in_flight(),
            srtt: sender.srtt().unwrap_or(Duration::ZERO),
            delivered: tally.delivered,
            sent: tally.sent,
            retransmits: tally.retransmits,
            timeouts: tally.timeouts,
        })
    }
}

impl Stepper {
    /// Returns the run at its beginning. It has no time series, and no end of its own.
    ///
    /// # Errors
    /// A TCP configuration is invalid.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let config = Config { series_step: None, ..config };
        let simulation = Simulation::new(Cow::Owned(config))?;
        Ok(Self { simulation, read: Default::default() })
    }

    /// Returns the same run with coarse histograms of sojourn times: one significant digit instead
    /// of three. Everything else stays. Thousands of such runs fit into memory, and some hundred
    /// into a cache.
    #[must_use]
    pub fn coarse(mut self) -> Self {
        for link in self.simulation.network.links_mut() {
            link.monitor.coarsen();
        }
        self
    }

    /// Returns the time up to which the run has advanced.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.simulation.now
    }

    /// Handles every event before `to`. A time in the past changes nothing.
    ///
    /// # Errors
    /// The run holds more than [`MAX_PACKETS`](crate::MAX_PACKETS).
    pub fn advance(&mut self, to: Instant) -> Result<(), RunError> {
        if to > self.simulation.now {
            self.simulation.run_until(to, None)?;
            self.simulation.now = to;
        }
        Ok(())
    }

    /// Returns what happened in a queue of the bottleneck since the last call for this direction.
    pub fn queue(&mut self, direction: Direction) -> QueueStep {
        let now = self.simulation.now;
        let link = &mut self.simulation.bottleneck()[direction.index()];
        let (progress, stats) = (link.progress(now), link.qdisc().stats());
        let backlog = link.qdisc().backlog();
        let bin = link.monitor.take_bin(progress);
        let (before, capacity) = &mut self.read[direction.index()];
        let step = QueueStep {
            bin,
            offered: stats.offered.minus(before.offered),
            marked: stats.marked.minus(before.marked),
            dropped: stats.dropped().minus(before.dropped()),
            capacity: progress.capacity.minus(*capacity),
            backlog,
        };
        (*before, *capacity) = (stats, progress.capacity);
        step
    }

    /// Gives a discipline of the bottleneck another configuration, as `tc qdisc change` does.
    ///
    /// # Errors
    /// The configuration is that of another discipline. Nothing has changed then.
    pub fn reconfigure(&mut self, direction: Direction, config: AnyConfig) -> Result<(), ConfigError> {
        let now = self.simulation.now;
        let present = self.simulation.bottleneck()[direction.index()].qdisc().kind().name;
        let given = config.kind().name;
        if given != present {
            return Err(ConfigError::new("qdisc", given, present));
        }
        let link = self.simulation.bottleneck_link(direction);
        self.simulation.network.reconfigure(now, link, config);
        Ok(())
    }

    /// Changes a parameter of the congestion controller of a TCP flow.
    ///
    /// # Errors
    /// The flow is not a single TCP connection, the controller has no such parameter, or the value
    /// is out of range. Nothing has changed then.
    pub fn set_parameter(
        &mut self,
        flow: usize,
        parameter: &'static str,
        value: Value,
    ) -> Result<(), ConfigError> {
        let Simulation { network, sources, now, .. } = &mut self.simulation;
        match sources.get_mut(flow) {
            Some(AnySource::Tcp(tcp)) => tcp.set_parameter(*now, parameter, value, network),
            _ => Err(ConfigError::new("flow", flow.to_string(), "the index of a TCP flow")),
        }
    }

    /// Returns the state of a flow's sender; `None` if the flow is not a single TCP connection.
    #[must_use]
    pub fn sender(&self, flow: usize) -> Option<SenderView> {
        SenderView::of(self.simulation.sources.get(flow)?)
    }

    /// Returns the number of packets that left the bottleneck's two queues since the start.
    pub fn packets(&mut self) -> u64 {
        self.simulation.bottleneck().iter().map(|link| link.qdisc().stats().dequeued.packets).sum()
    }

    /// Ends the warm-up: the outcome counts from here on.
    pub fn restart_measurement(&mut self) {
        self.simulation.restart_measurement();
    }

    /// Ends the run and returns its outcome.
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        self.simulation.end = self.simulation.now;
        self.simulation.finish()
    }
}
