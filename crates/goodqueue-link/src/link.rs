//! A link for opaque packets.

use alloc::boxed::Box;
use alloc::string::String;

use goodqueue::config::ConfigError;
use goodqueue::{AnyConfig, AnyQdisc, Duration, Flow, Instant, Packet, Rate};

use crate::air::{Air, LOSS};
use crate::capacity::Capacity;
use crate::event::Event;
use crate::line::Line;
use crate::observe::{Observed, Observer};
use crate::statistics::{Log, Statistics};
use crate::tagged::{Arrival, Queued, Tagged};

/// One direction of a bottleneck: a queue discipline, a rate, and a path with delay and faults.
///
/// The link has no clock. [`Self::send`] and [`Self::poll`] are told the time, and
/// [`Self::next_event`] says when to poll next. A test in virtual time sets its clock to the
/// earliest `next_event` of everything it drives:
///
/// ```
/// use goodqueue::{Datagram, FlowKey, Instant};
/// use goodqueue_link::{Event, Link, Units};
///
/// let mut link = Link::builder().rate(8.mbit()).delay(25.ms()).build()?;
/// let flow = FlowKey::new("192.0.2.1:443".parse()?, "198.51.100.7:5000".parse()?, FlowKey::UDP);
/// link.send(Instant::ZERO, Datagram::new(flow, 1000, "first"));
/// link.send(Instant::ZERO, Datagram::new(flow, 1000, "second"));
///
/// let mut arrivals = Vec::new();
/// while let Some(now) = link.next_event() {
///     while let Some(event) = link.poll(now) {
///         if let Event::Arrived { at, packet } = event {
///             arrivals.push((at.as_nanos() / 1_000_000, packet.content));
///         }
///     }
/// }
/// assert_eq!(arrivals, [(26, "first"), (27, "second")]);
/// assert!(link.stats().sojourn.p99() < 2.ms());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Time
/// The link computes in the time of its packets: a late call changes no decision, see
/// [`line`](crate::line). A time before that of an earlier call counts as equal to it. At one
/// instant, packets arrive before the link takes one from the queue.
///
/// # Memory
/// The discipline bounds the queue. Packets on their way are bounded by rate and delay if `poll` is
/// called until it returns nothing; without a rate, by what was sent. Of drops and losses that
/// nobody collects, the oldest beyond 65,536 are forgotten; the statistics still count them.
#[derive(Debug)]
pub struct Link<P: Packet + Flow> {
    line: Line<Queued<P>>,
    log: Log<P>,
    air: Air,
    arrivals: u64,
}

impl<P: Packet + Flow> Link<P> {
    #[cfg(feature = "recordings")]
    pub(crate) const fn line(&self) -> &Line<Queued<P>> {
        &self.line
    }

    pub(crate) fn with_line(line: Line<Queued<P>>, air: Air) -> Self {
        Self { line, log: Log::new(), air, arrivals: 0 }
    }

    /// Offers a packet to the queue at `now`.
    pub fn send(&mut self, now: Instant, packet: P) {
        // The line takes a time in the past for the present, and the sojourn time counts from it.
        let arrival = Arrival { at: self.line.latest(now), number: self.arrivals };
        let packet = Tagged { tag: arrival, packet };
        self.arrivals += 1;
        self.line.arrive(now, packet, &mut self.log);
    }

    /// Returns the next event until `now`, in order of time; `None` if there is none left.
    pub fn poll(&mut self, now: Instant) -> Option<Event<P>> {
        let now = self.line.advance(now);
        // Everything until `now` has to be decided before the earliest event is known.
        self.line.catch_up(now, &mut self.log);
        let next = self.line.next_arrival();
        if self.log.gone.front().is_some_and(|gone| next.is_none_or(|next| gone.at() <= next)) {
            return self.log.gone.pop_front();
        }
        let (at, queued) = self.line.poll(now, &mut self.log)?;
        self.log.arrived.add(queued.len());
        Some(Event::Arrived { at, packet: queued.packet })
    }

    /// Returns the time at which [`Self::poll`] has something to do next. It is always after the
    /// time of a `poll` that returned nothing. `None`: nothing happens until a packet is sent or
    /// the link is changed.
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        let gone = self.log.gone.front().map(Event::at);
        [gone, self.line.next_event()].into_iter().flatten().min()
    }

    /// Changes the rate. The packet in transmission keeps the old rate.
    pub fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.set_capacity(now, Capacity::Constant(rate));
    }

    /// Changes the capacity. The packet in transmission keeps the old rate.
    pub fn set_capacity(&mut self, now: Instant, capacity: Capacity) {
        self.line.set_capacity(now, capacity, &mut self.log);
    }

    /// Changes the delay of packets that begin to be sent from now on. They overtake earlier
    /// packets if the new delay is shorter.
    ///
    /// # Errors
    /// The delay of a path with jitter or reordering is above 1,000,000 s. Nothing changes then.
    pub fn set_delay(&mut self, now: Instant, delay: Duration) -> Result<(), ConfigError> {
        let mut air = self.air.clone();
        air.delay = delay;
        self.set_air(now, air)
    }

    /// Changes the probability, from 0 to 1, with which the path loses a packet. It replaces losses
    /// in bursts.
    ///
    /// # Errors
    /// The probability is out of its range. Nothing changes then.
    pub fn set_loss(&mut self, now: Instant, probability: f64) -> Result<(), ConfigError> {
        let mut air = self.air.clone();
        air.replace(LOSS, &[(LOSS, probability)]);
        self.set_air(now, air)
    }

    fn set_air(&mut self, now: Instant, air: Air) -> Result<(), ConfigError> {
        // The only step that can fail comes first.
        if let Some(netem) = air.netem()? {
            self.line.set_path(now, netem, &mut self.log);
        }
        self.line.set_delay(now, air.common_delay(), &mut self.log);
        self.air = air;
        Ok(())
    }

    /// Sends nothing from `now` until `until`, as a radio does during a hand-over. The packet in
    /// transmission still leaves, and packets on their way still arrive.
    pub fn gap(&mut self, now: Instant, until: Instant) {
        self.line.close_until(now, until, &mut self.log);
    }

    /// Replaces the discipline or its configuration. Queued packets stay queued unless the new one
    /// refuses them.
    pub fn set_qdisc(&mut self, now: Instant, qdisc: impl Into<AnyConfig>) {
        self.line.reconfigure(now, qdisc.into(), &mut self.log);
    }

    /// Reports every packet to `observer` from now on, instead of an earlier observer.
    pub fn observe(&mut self, observer: impl Observer<P> + Send + Sync + 'static) {
        self.log.observed = Observed::with_observer(Box::new(observer));
    }

    /// Ends the observation. Returns why its result is incomplete, such as a full disk; `None` if
    /// it is complete or nobody observed.
    pub fn stop_observing(&mut self) -> Option<String> {
        self.log.observed.end()
    }

    /// Returns the discipline: its length, backlog, configuration and counters.
    #[must_use]
    pub const fn qdisc(&self) -> &AnyQdisc<Queued<P>> {
        self.line.qdisc()
    }

    /// Returns the capacity.
    #[must_use]
    pub const fn capacity(&self) -> &Capacity {
        self.line.capacity()
    }

    /// Returns the measurements.
    #[must_use]
    pub fn stats(&self) -> Statistics<'_> {
        self.log.statistics(self.line.stats())
    }

    /// Forgets the measurements until now, for example after a warm-up. The counters of the
    /// discipline continue.
    pub fn restart_stats(&mut self) {
        self.log.restart();
    }
}
