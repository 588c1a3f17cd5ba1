//! A whole run that its owner plays: at any speed, with pauses, and with a report of every packet.
//!
//! The outcome is that of [`run`](crate::run), whatever the pauses are. In contrast, a
//! [`Stepper`](crate::Stepper) is for owners that change a run on its way.

use std::borrow::Cow;

use goodqueue::gauge::Observation;
use goodqueue::{ConfigError, Direction, Instant};

use crate::config::Config;
use crate::observer::{Elsewhere, Observer, Register, Visits};
use crate::outcome::{Outcome, RunError};
use crate::simulation::{Course, Simulation};
use crate::stepper::SenderView;
use crate::traffic::{RoundTrip, Source as _};

/// A run that its owner plays.
pub struct Playback {
    simulation: Simulation<'static>,
    course: Course,
    visits: Visits,
    elsewhere: Elsewhere,
}

impl Playback {
    /// Returns the run at its beginning.
    ///
    /// # Errors
    /// A TCP configuration is invalid.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let course = Course::of(&config);
        let mut simulation = Simulation::new(Cow::Owned(config))?;
        for link in simulation.network.links_mut() {
            link.notes = Some(Box::default());
        }
        if let Some(wifi) = simulation.network.wifi_mut() {
            wifi.note();
        }
        Ok(Self { simulation, course, visits: Visits::default(), elsewhere: Elsewhere::default() })
    }

    /// Returns the time up to which the run has been played.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.simulation.now
    }

    /// Returns true at the end of the run.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.simulation.now >= self.simulation.end
    }

    /// Plays up to `to`, or to the end if that is earlier. A time in the past changes nothing.
    ///
    /// # Errors
    /// The run holds more than [`MAX_PACKETS`](crate::MAX_PACKETS).
    pub fn advance(&mut self, to: Instant, observer: &mut dyn Observer) -> Result<(), RunError> {
        let mut register = Register::new(observer, &mut self.visits, &mut self.elsewhere);
        self.simulation.run_along(&mut self.course, to, Some(&mut register))
    }

    /// Returns everything visible of a discipline of the bottleneck.
    pub fn observe(&mut self, direction: Direction) -> Observation {
        let now = self.simulation.now;
        Observation::of(self.simulation.bottleneck()[direction.index()].qdisc(), now)
    }

    /// Returns the state of a flow's sender; `None` if the flow is not a single TCP connection.
    #[must_use]
    pub fn sender(&self, flow: usize) -> Option<SenderView> {
        SenderView::of(self.simulation.sources.get(flow)?)
    }

    /// Returns the payload bytes that a flow has delivered since the start.
    #[must_use]
    pub fn delivered(&self, flow: usize) -> u64 {
        self.simulation.sources.get(flow).map_or(0, |source| source.delivered())
    }

    /// Returns the payload bytes of a flow that have arrived since the start, each counted once.
    /// Bytes that wait for an earlier one are included, so no second has more of them than the line
    /// carries.
    #[must_use]
    pub fn received(&self, flow: usize) -> u64 {
        self.simulation.sources.get(flow).map_or(0, |source| source.received())
    }

    /// Returns the probes that a flow has sent since the start. Only pings send some.
    #[must_use]
    pub fn round_trips(&self, flow: usize) -> &[RoundTrip] {
        self.simulation.sources.get(flow).map_or(&[], |source| source.round_trips())
    }

    /// Ends the run and returns its outcome. A run that is not over is measured up to now.
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        self.simulation.end = self.simulation.now;
        self.simulation.finish()
    }
}
