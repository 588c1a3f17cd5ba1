//! The engine of every link: a discipline, a capacity, and a path with losses and a propagation
//! delay, without a clock.
//!
//! [`Link`](crate::Link) is a line that keeps its own statistics and reports through return values.
//! A `Line` reports to a [`Watch`], for drivers that measure themselves.
//!
//! # Time
//! A line computes in the time of its packets. It takes each packet at the instant at which the
//! last bit of the previous one is out, however late it is called, and before it looks at packets
//! that arrived after that instant. A late call only delays the handing over of packets. It changes
//! no decision and does not accumulate, so a run is repeatable: the same arrivals have the same
//! fates at the same nanoseconds.
//!
//! Each packet takes the time of its bits, rounded down to the nanosecond, as on the link in front
//! of which the kernel's disciplines were recorded.
//!
//! A departure at the same instant as an arrival happens after the arrival. So [`Line::poll`] at
//! `now` leaves departures at `now` undecided, and [`Line::next_event`] is one nanosecond after
//! them.

mod change;
mod serve;

use goodqueue::random::Source;
use goodqueue::{AnyConfig, AnyQdisc, Duration, Flow, Instant, Packet, Qdisc, Stats};

use crate::capacity::Capacity;
use crate::flight::Flight;
use crate::watch::{Delays, Numbered, Watch};

/// Configuration of a line.
#[derive(Clone, Debug)]
pub struct LineConfig<D = Duration> {
    /// Capacity of the line.
    pub capacity: Capacity,
    /// Queue discipline in front of the line.
    pub qdisc: AnyConfig,
    /// Discipline that acts as the path behind the line, apart from its delay; a `netem` line for
    /// example.
    pub path: Option<AnyConfig>,
    /// Propagation delay of the path.
    pub delay: D,
    /// Bytes that the queue counts on top of each IP packet. Mahimahi traces do not count them.
    pub framing: u32,
    /// Salt of the discipline's hashes of flows.
    pub salt: u32,
    /// Seed of the discipline's and the path's random numbers.
    pub seed: u64,
}

impl<D> LineConfig<D> {
    /// Returns the most bytes of packets `P` that can propagate at a time; `None` without a limit.
    #[must_use]
    pub fn most_propagating<P>(&self) -> Option<u64>
    where
        D: Delays<P>,
    {
        most_propagating(&self.capacity, self.delay.longest())
    }
}

/// A running line for packets of type `P`.
#[derive(Debug)]
pub struct Line<P: Packet + Flow, D = Duration> {
    capacity: Capacity,
    qdisc: AnyQdisc<P>,
    path: Option<AnyQdisc<P>>,
    delay: D,
    framing: u32,
    salt: u32,
    seed: u64,
    /// Time at which the last bit of the current packet is out.
    busy_until: Instant,
    /// End of a gap in which the line sends nothing.
    closed_until: Instant,
    /// Time to ask the discipline for the next packet; `None` if only an arrival can change the
    /// answer.
    ask_at: Option<Instant>,
    /// Time to ask the path for the next packet.
    path_at: Option<Instant>,
    /// The packet that enters the path once its last bit is out, and that time.
    on_wire: Option<(Instant, P)>,
    /// Number of the trace's next opportunity.
    opportunity: u64,
    /// A packet that needs another opportunity, and the bytes that it still needs.
    unfinished: Option<(P, u32)>,
    flight: Flight<P>,
    /// Counters of earlier disciplines, see [`change`].
    counted: Stats,
    /// How much earlier than planned an arrival makes the line ask, see [`Line::with_timer_slack`].
    slack: Duration,
    /// Time of the latest event or call, apart from [`Line::catch_up`]: time never runs backwards.
    last: Instant,
}

impl<P: Packet + Flow + Numbered, D: Delays<P>> Line<P, D> {
    /// Returns an idle line that starts at time 0.
    #[must_use]
    pub fn from_config(config: LineConfig<D>) -> Self {
        let qdisc = AnyQdisc::new(config.qdisc.clone(), config.salt, Source::seeded(config.seed));
        Self::with_qdisc(config, qdisc)
    }

    /// Returns an idle line with this `qdisc` instead of the configured one, for a discipline that
    /// has a state already or draws recorded random numbers.
    #[must_use]
    pub fn with_qdisc(config: LineConfig<D>, qdisc: AnyQdisc<P>) -> Self {
        let path = config.path.map(|path| path_of(path, config.seed));
        Self {
            capacity: config.capacity,
            qdisc,
            path,
            delay: config.delay,
            framing: config.framing,
            salt: config.salt,
            seed: config.seed,
            busy_until: Instant::ZERO,
            closed_until: Instant::ZERO,
            ask_at: None,
            path_at: None,
            on_wire: None,
            opportunity: 0,
            unfinished: None,
            flight: Flight::new(),
            counted: Stats::default(),
            slack: Duration::ZERO,
            last: Instant::ZERO,
        }
    }

    /// Makes an arrival ask a discipline whose timer is due within its `timer_slack`, as Linux runs
    /// a timer with slack together with another timer that is due in the meantime.
    #[must_use]
    pub fn with_timer_slack(self) -> Self {
        // Disciplines without a late timer lack the setting.
        let slack = self.qdisc.config().to_settings().time("timer_slack").unwrap_or_default();
        Self { slack, ..self }
    }

    /// Takes an arriving packet. A time before that of an earlier call counts as equal to it.
    pub fn arrive(&mut self, now: Instant, packet: P, watch: &mut impl Watch<P>) {
        let now = self.advance(now);
        // A departure at this same instant happens after the arrival.
        self.run_until(now, watch);
        if !self.slack.is_zero()
            && self.busy_until <= now
            && self.ask_at.is_some_and(|at| at <= now + self.slack)
        {
            self.send_next(now, watch);
        }
        watch.arrived(now, &packet);
        self.qdisc.enqueue(now, packet, &mut |lost: P, why| watch.dropped(now, lost, why));
        watch.length_is(now, self.qdisc.len());
        self.begin(now, watch);
    }

    /// Processes everything that is due before `now`, and returns the next packet that has reached
    /// the other side, with the time of its arrival there.
    pub fn poll(&mut self, now: Instant, watch: &mut impl Watch<P>) -> Option<(Instant, P)> {
        let now = self.advance(now);
        self.run_until(now, watch);
        self.flight.take(now)
    }

    /// Returns the time at which [`Self::poll`] has something to do next. It is after the time of a
    /// `poll` that returned nothing.
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        // What is due at the end of time never happens.
        let step = self.next_step().filter(|&step| step < Instant::MAX);
        // A packet that arrives at the instant of a step comes before it, so a poll at that instant
        // leaves the step undecided.
        let decided = step.map(|step| step + Duration::from_nanos(1));
        [decided, self.flight.next()].into_iter().flatten().min()
    }

    /// Returns the time of the next arrival at the other side, of the packets that are on their way
    /// already.
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.flight.next()
    }

    /// Processes everything that is due before `now`, and hands over nothing.
    pub fn catch_up(&mut self, now: Instant, watch: &mut impl Watch<P>) {
        self.run_until(now, watch);
    }

    /// Returns the capacity.
    #[must_use]
    pub const fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    /// Returns the discipline.
    #[must_use]
    pub const fn qdisc(&self) -> &AnyQdisc<P> {
        &self.qdisc
    }

    /// Returns the discipline for inspection that changes its state, as a look at variables that a
    /// timer updates.
    pub const fn qdisc_mut(&mut self) -> &mut AnyQdisc<P> {
        &mut self.qdisc
    }

    /// Returns the salt of the discipline's hashes of flows.
    #[must_use]
    pub const fn salt(&self) -> u32 {
        self.salt
    }

    /// Returns the seed of the discipline's and the path's random numbers.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the counters of the discipline and of its predecessors.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.counted.plus(&self.qdisc.stats())
    }

    /// Returns the most bytes that can propagate at a time; `None` without a limit.
    #[must_use]
    pub fn most_propagating(&self) -> Option<u64> {
        most_propagating(&self.capacity, self.delay.longest())
    }

    /// Returns the number of packets that have left the queue and not yet reached the other side.
    /// Packets that a `netem` path holds are not among them.
    #[must_use]
    pub fn propagating(&self) -> usize {
        self.flight.len()
    }

    /// Returns the time that a call at `now` would have: at least that of every earlier call.
    pub(crate) fn latest(&self, now: Instant) -> Instant {
        self.last.max(now)
    }

    /// Returns the time of a call, which is never before an earlier one.
    pub(crate) fn advance(&mut self, now: Instant) -> Instant {
        self.last = self.latest(now);
        self.last
    }

    /// Processes everything that is due before `end`.
    fn run_until(&mut self, end: Instant, watch: &mut impl Watch<P>) {
        while let Some(due) = self.next_step().filter(|&due| due < end) {
            self.advance(due);
            self.run_step(due, watch);
        }
    }

    /// Returns the time of the next event, apart from propagation.
    fn next_step(&self) -> Option<Instant> {
        let wire = self.on_wire.as_ref().map(|on_wire| on_wire.0);
        [self.ask_at, wire, self.path_at].into_iter().flatten().min()
    }
}

/// Returns the discipline that acts as the path.
fn path_of<P: Packet + Flow>(config: AnyConfig, seed: u64) -> AnyQdisc<P> {
    // Losses on the path do not depend on the discipline's random numbers.
    AnyQdisc::new(config, 0, Source::seeded(seed ^ PATH_SEED))
}

fn most_propagating(capacity: &Capacity, longest: Duration) -> Option<u64> {
    if longest.is_zero() { Some(0) } else { capacity.most_within(longest) }
}

/// Keeps the path's random numbers apart from the discipline's. Any number except 0 would do.
const PATH_SEED: u64 = 0x70_61_74_68;
