//! What a discipline tells an operator about its algorithm, beside its counters.
//!
//! `tc -s qdisc` prints, behind what every discipline counts, figures of its own: CoDel's count, PIE's probability, the
//! tins of CAKE. [`Qdisc::observe`] gives them, under the names that tc uses, with their units in
//! their types; how they are written down is the reader's business.
//!
//! ```
//! use goodqueue::gauge::{Gauge, Observation};
//! use goodqueue::{AnyConfig, AnyQdisc, Ecn, Flow, Instant, Link, Packet, Qdisc, Settings, random::Source};
//!
//! struct Datagram;
//! impl Packet for Datagram {
//!     fn len(&self) -> u32 { 1514 }
//!     fn ecn(&self) -> Ecn { Ecn::NotEct }
//!     fn set_ce(&mut self) -> bool { false }
//! }
//! impl Flow for Datagram {
//!     fn flow_hash(&self, _salt: u32) -> u32 { 0 }
//! }
//!
//! let config = AnyConfig::from_settings("codel", &Settings::new(), &Link::default()).unwrap().unwrap();
//! let mut queue = AnyQdisc::new(config, 0, Source::seeded(1));
//! queue.enqueue(Instant::ZERO, Datagram, &mut |_, _| ());
//! let seen = Observation::of(&queue, Instant::ZERO);
//! assert_eq!((seen.packets, seen.bytes), (1, 1514));
//! assert_eq!(seen.get("drop_overlimit"), Some(Gauge::Number(0)));
//! ```

use alloc::vec::Vec;

use crate::qdisc::{Qdisc, Stats};
use crate::registry::AnyQdisc;
use crate::time::{Duration, Instant};
use crate::{Flow, Packet};

/// One figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Gauge {
    /// A number of packets, bytes, flows or events.
    Number(u64),
    /// A number that may be below zero.
    Signed(i64),
    /// A span of time.
    Time(Duration),
    /// For how long something is overdue: tc prints it as a negative time.
    Overdue(Duration),
    /// A fraction of 1.
    Fraction(f64),
    /// True or false.
    Flag(bool),
}

/// Figures and their names, in tc's order.
pub type Gauges = Vec<(&'static str, Gauge)>;

/// A part of a discipline that has figures of its own but is no discipline: a tin of `cake`, a class of `htb`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Part {
    /// Number of the class; of a tin, its place from 1 on.
    pub class: u32,
    /// Number of the class that it is below; 0: none.
    pub parent: u32,
    /// Its figures.
    pub gauges: Gauges,
}

/// What there is to be seen of a discipline at one instant.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Observation {
    /// Name of the discipline.
    pub kind: &'static str,
    /// What it has done so far.
    pub stats: Stats,
    /// Packets queued.
    pub packets: u64,
    /// Bytes queued.
    pub bytes: u64,
    /// How often a limit of rate or length was met, as tc counts `overlimits`.
    pub overlimits: u64,
    /// Figures of its algorithm: tc's extended statistics.
    pub gauges: Gauges,
    /// Its tins or classes.
    pub parts: Vec<Part>,
    /// The disciplines in it, each with the number of the class or band that it is in.
    pub children: Vec<(u32, Self)>,
}

impl Gauge {
    /// Tokens of so many nanoseconds, or a debt of tokens.
    #[must_use]
    pub const fn tokens(nanos: i64) -> Self {
        let span = Duration::from_nanos(nanos.unsigned_abs());
        if nanos < 0 { Self::Overdue(span) } else { Self::Time(span) }
    }
}

impl Observation {
    /// What there is to be seen of `qdisc` at `now`.
    #[must_use]
    pub fn of<P: Packet + Flow>(qdisc: &AnyQdisc<P>, now: Instant) -> Self {
        let mut seen = Self {
            kind: qdisc.kind().name,
            stats: qdisc.stats(),
            packets: qdisc.len() as u64,
            bytes: qdisc.backlog(),
            ..Self::default()
        };
        qdisc.observe(now, &mut seen);
        seen
    }

    /// Adds a number.
    pub fn number(&mut self, name: &'static str, value: u64) {
        self.gauges.push((name, Gauge::Number(value)));
    }

    /// Adds a span of time.
    pub fn time(&mut self, name: &'static str, value: Duration) {
        self.gauges.push((name, Gauge::Time(value)));
    }

    /// Adds a fraction.
    pub fn fraction(&mut self, name: &'static str, value: f64) {
        self.gauges.push((name, Gauge::Fraction(value)));
    }

    /// The figure called `name`, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Gauge> {
        self.gauges.iter().find(|gauge| gauge.0 == name).map(|gauge| gauge.1)
    }
}
