//! Values of an algorithm that an operator can read, beside the counters.
//!
//! `tc -s qdisc` prints, after the counters of every discipline, values of its own: CoDel's count,
//! PIE's probability, the tins of CAKE. [`Observe::observe`] adds them to an [`Observation`] under
//! the names that tc uses, with their units in their types. The reader decides how to print them.
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
//! let seen = Observation::from_qdisc(&queue, Instant::ZERO);
//! assert_eq!((seen.packets, seen.bytes), (1, 1514));
//! assert_eq!(seen.get("drop_overlimit"), Some(Gauge::Number(0)));
//! ```

use alloc::vec::Vec;

use crate::decision::Quantity;
use crate::qdisc::Qdisc;
use crate::stats::Stats;
use crate::time::{Duration, Instant};

/// A discipline whose algorithm has values to show.
pub trait Observe {
    /// Adds what only this discipline knows: its gauges, its parts, and the disciplines in it. The
    /// default adds nothing.
    fn observe(&self, now: Instant, seen: &mut Observation) {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = (now, seen);
    }
}

/// One value.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Gauge {
    /// A number of packets, bytes, flows or events.
    Number(u64),
    /// A number that may be negative.
    Signed(i64),
    /// A span of time.
    Time(Duration),
    /// How long something is overdue. tc prints it as a negative time.
    Overdue(Duration),
    /// A fraction of 1.
    Fraction(f64),
    /// True or false.
    Flag(bool),
}

/// Values and their names, in tc's order.
pub type Gauges = Vec<(&'static str, Gauge)>;

/// A part of a discipline that has values of its own but is no discipline: a tin of `cake`, a
/// class of `htb`.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Part {
    /// Number of the class. Tins count from 1.
    pub class: u32,
    /// Number of the parent class; 0 if there is none.
    pub parent: u32,
    /// Values of this part.
    pub gauges: Gauges,
}

/// Everything visible of a discipline at one instant.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Observation {
    /// Name of the discipline.
    pub kind: &'static str,
    /// Counters since the discipline was created.
    pub stats: Stats,
    /// Packets queued.
    pub packets: u64,
    /// Bytes queued.
    pub bytes: u64,
    /// How often a limit of rate or length was reached, as tc counts `overlimits`.
    pub overlimits: u64,
    /// Values of the algorithm: tc's extended statistics.
    pub gauges: Gauges,
    /// Tins or classes.
    pub parts: Vec<Part>,
    /// Key under which tc prints the parts; `None`: tc does not print them.
    pub parts_key: Option<&'static str>,
    /// Inner disciplines, each with the number of its class or band.
    pub children: Vec<(u32, Self)>,
}

impl Gauge {
    /// Returns tokens worth `nanos` nanoseconds. A negative number is a debt of tokens.
    #[must_use]
    pub const fn tokens(nanos: i64) -> Self {
        let span = Duration::from_nanos(nanos.unsigned_abs());
        if nanos < 0 { Self::Overdue(span) } else { Self::Time(span) }
    }
}

impl From<Gauge> for Quantity {
    fn from(gauge: Gauge) -> Self {
        match gauge {
            Gauge::Number(number) => Self::Number(number),
            // The only signed whole number of a quantity is in bytes.
            Gauge::Signed(number) => Self::Real(number as f64),
            Gauge::Time(span) => Self::Span(span),
            Gauge::Overdue(span) => Self::Ago(span),
            Gauge::Fraction(part) => Self::Fraction(part),
            Gauge::Flag(flag) => Self::Flag(flag),
        }
    }
}

impl Observation {
    /// Returns everything visible of `qdisc` at `now`.
    #[must_use]
    pub fn from_qdisc<P, Q: Qdisc<P> + Observe>(qdisc: &Q, now: Instant) -> Self {
        let mut seen = Self {
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

    /// Returns the value called `name`, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Gauge> {
        self.gauges.iter().find(|gauge| gauge.0 == name).map(|gauge| gauge.1)
    }
}
