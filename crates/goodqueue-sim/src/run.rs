//! A run: its owner advances it, looks at it, changes it on its way, and ends it.
//!
//! [`run`] is the shortest use. A run that nobody changes has the same outcome however it is
//! advanced, with or without an observer.
//!
//! ```
//! use goodqueue::{AnyConfig, Duration, Instant, Link, Rate, Settings, config::Value};
//! use goodqueue_sim::{Capacity, Config, Direction, LinkConfig, Run};
//!
//! let rate = Rate::from_bps(10_000_000);
//! let codel = |target| {
//!     let settings = Settings::new().with("target", Value::Time(Duration::from_millis(target)));
//!     AnyConfig::from_settings("codel", &settings, &Link::default()).unwrap().unwrap()
//! };
//! let link = || LinkConfig::new(Capacity::Constant(rate), codel(5));
//! let mut run = Run::owned(Config::new([link(), link()], Vec::new(), Duration::from_secs(1)))?;
//! run.advance(Instant::ZERO + Duration::from_millis(15), None)?;
//! let step = run.queue(Direction::Down);
//! assert_eq!((step.bin.packets, step.capacity.bits()), (0, 150_000.0));
//! run.reconfigure(Direction::Down, codel(20))?;
//! let outcome = run.to_end(|_| true, None)?;
//! assert_eq!(outcome.end, Instant::ZERO + Duration::from_secs(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;

use goodqueue::gauge::Observation;
use goodqueue::{AnyConfig, ConfigError, Count, Direction, Duration, Instant, Qdisc as _, Stats};
use goodqueue_tcp::congestion::parameter::Value;

use crate::config::Config;
use crate::monitor::Bin;
use crate::observer::{Notes, Observer, OtherQueues, Register, Visits};
use crate::outcome::{Outcome, RunError};
use crate::packet::Packet;
use crate::simulation::{Milestones, Simulation};
use crate::so_far::SoFar;
use crate::traffic::AnySource;
use crate::witness::Witness;
use goodqueue_link::work::Work;

/// Runs `config` to its end.
///
/// # Errors
/// A TCP configuration is invalid, or the run holds more than
/// [`MAX_PACKETS`](crate::MAX_PACKETS).
pub fn run(config: &Config) -> Result<Outcome, RunError> {
    Run::new(config)?.to_end(|_| true, None)
}

/// A run on its way.
pub struct Run<'c> {
    simulation: Simulation<'c>,
    milestones: Milestones,
    visits: Visits,
    other_queues: OtherQueues,
    /// Counters and capacity of the two queues of the bottleneck when they were last read.
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

impl<'c> Run<'c> {
    /// Returns the run of a configuration at its beginning.
    ///
    /// # Errors
    /// A TCP configuration is invalid.
    pub fn new(config: &'c Config) -> Result<Self, RunError> {
        Self::begin(Cow::Borrowed(config))
    }

    /// Returns the run of a configuration at its beginning, and keeps the configuration.
    ///
    /// # Errors
    /// A TCP configuration is invalid.
    pub fn owned(config: Config) -> Result<Run<'static>, RunError> {
        Run::begin(Cow::Owned(config))
    }

    /// Returns a run whose owner ends it: without the duration, the warm-up and the time series of
    /// the configuration.
    ///
    /// # Errors
    /// A TCP configuration is invalid.
    pub fn open_ended(config: Config) -> Result<Run<'static>, RunError> {
        // Steps of a series would be kept for as long as the owner lets the run go on, and a
        // warm-up would discard counts of the owner.
        let config = Config { series_step: None, warmup: Duration::ZERO, ..config };
        let mut run = Run::begin(Cow::Owned(config))?;
        run.simulation.end = Instant::MAX;
        Ok(run)
    }

    fn begin(config: Cow<'c, Config>) -> Result<Self, RunError> {
        let milestones = Milestones::new(&config);
        Ok(Self {
            simulation: Simulation::new(config)?,
            milestones,
            visits: Visits::default(),
            other_queues: OtherQueues::default(),
            read: Default::default(),
        })
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

    /// Returns the same run, whose observer sees the packets of all hops and of the WiFi channel,
    /// not only those of the bottleneck.
    #[must_use]
    pub fn observed_everywhere(mut self) -> Self {
        for link in self.simulation.network.links_mut() {
            link.notes = Some(Box::default());
        }
        if let Some(wifi) = self.simulation.network.wifi_mut() {
            wifi.note();
        }
        self
    }

    /// Returns the same run with a witness beside the queue of a direction of the bottleneck.
    #[must_use]
    pub(crate) fn witnessed(mut self, direction: Direction, witness: Witness<Packet>) -> Self {
        let link = &mut self.simulation.bottleneck()[direction.index()];
        link.notes = Some(Box::new(Notes { witness: Some(witness), ..Notes::default() }));
        self
    }

    /// Returns the witness of a direction, if there was one.
    pub(crate) fn take_witness(&mut self, direction: Direction) -> Option<Witness<Packet>> {
        let link = &mut self.simulation.bottleneck()[direction.index()];
        link.notes.take().and_then(|notes| notes.witness)
    }

    /// Returns the time up to which the run has advanced.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.simulation.now
    }

    /// Returns true at the end of the run.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.simulation.now >= self.simulation.end
    }

    /// Handles every event before `to`, or before the end if that is earlier. A time in the past
    /// changes nothing. The observer sees the packets of the bottleneck that arrive after the first
    /// call with an observer.
    ///
    /// # Errors
    /// The run holds more than [`MAX_PACKETS`](crate::MAX_PACKETS).
    pub fn advance(&mut self, to: Instant, observer: Option<&mut dyn Observer>) -> Result<(), RunError> {
        let Some(observer) = observer else {
            return self.simulation.run_along(&mut self.milestones, to, None);
        };
        self.note_bottleneck();
        let mut register = Register::new(observer, &mut self.visits, &mut self.other_queues);
        self.simulation.run_along(&mut self.milestones, to, Some(&mut register))
    }

    /// Runs to the end, and returns the outcome. `watch` sees what the run has counted, some
    /// hundred times per run and at its end. The run ends early when `watch` returns false or the
    /// observer wants no further reports; the outcome is then that of the time until there. At the
    /// end the observer hears of the packets that are still queued.
    ///
    /// # Errors
    /// The run holds more than [`MAX_PACKETS`](crate::MAX_PACKETS).
    pub fn to_end(
        mut self,
        watch: impl FnMut(SoFar<'_>) -> bool,
        observer: Option<&mut dyn Observer>,
    ) -> Result<Outcome, RunError> {
        self.go_to_end(watch, observer)?;
        Ok(self.simulation.finish())
    }

    pub(crate) fn go_to_end(
        &mut self,
        watch: impl FnMut(SoFar<'_>) -> bool,
        observer: Option<&mut dyn Observer>,
    ) -> Result<(), RunError> {
        let Some(observer) = observer else {
            return self.simulation.run(&mut self.milestones, watch, None);
        };
        self.note_bottleneck();
        let mut register = Register::new(observer, &mut self.visits, &mut self.other_queues);
        self.simulation.run(&mut self.milestones, watch, Some(&mut register))?;
        std::mem::take(&mut self.visits).finish(self.simulation.end, observer);
        Ok(())
    }

    fn note_bottleneck(&mut self) {
        for link in self.simulation.bottleneck() {
            // A witness is in these notes, and stays.
            link.notes.get_or_insert_default();
        }
    }

    /// Returns what the flows have counted so far.
    #[must_use]
    pub fn so_far(&self) -> SoFar<'_> {
        SoFar::new(self.simulation.now, &self.simulation.sources)
    }

    /// Returns everything visible of a discipline of the bottleneck.
    pub fn observe(&mut self, direction: Direction) -> Observation {
        let now = self.simulation.now;
        Observation::from_qdisc(self.simulation.bottleneck()[direction.index()].qdisc(), now)
    }

    /// Returns what happened in a queue of the bottleneck since the last call for this direction.
    /// In a run with a time series, the series takes the packets first.
    pub fn queue(&mut self, direction: Direction) -> QueueStep {
        let now = self.simulation.now;
        let link = &mut self.simulation.bottleneck()[direction.index()];
        let progress = link.progress(now);
        let stats = link.qdisc().stats();
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
        // A configuration of another discipline cannot be applied to the packets queued, so the
        // kind is checked first.
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

    /// Returns the number of packets that left the bottleneck's two queues since the start.
    pub fn packets(&mut self) -> u64 {
        self.simulation.bottleneck().iter().map(|link| link.qdisc().stats().dequeued.packets).sum()
    }

    /// Ends the warm-up: the outcome counts from here on.
    pub fn restart_measurement(&mut self) {
        self.simulation.restart_measurement();
    }

    /// Ends the run and returns its outcome, measured up to now.
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        // Everything measured over time ends here, and not at the configured end.
        self.simulation.end = self.simulation.now;
        self.simulation.finish()
    }
}
