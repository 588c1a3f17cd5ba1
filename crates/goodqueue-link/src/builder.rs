//! The configuration of a link.

use alloc::sync::Arc;
use alloc::vec::Vec;

use goodqueue::config::{ConfigError, Value};
use goodqueue::fifo::PfifoConfig;
use goodqueue::hash::mix_64;
use goodqueue::{AnyConfig, Datagram, Duration, Flow, Instant, Packet, Rate};

use crate::air::{Air, LOSS};
use crate::capacity::{Capacity, Opportunities};
use crate::line::{Line, LineConfig};
use crate::link::Link;

/// Configures a [`Link`] step by step.
///
/// Without any step it is a link of unlimited rate without delay, whose queue is a FIFO of 1000
/// packets. Values out of range are refused by [`Self::build`].
#[derive(Clone, Debug)]
pub struct LinkBuilder {
    capacity: Capacity,
    qdisc: Option<AnyConfig>,
    air: Air,
    framing: u32,
    seed: u64,
}

impl Default for LinkBuilder {
    fn default() -> Self {
        Self { capacity: Capacity::UNLIMITED, qdisc: None, air: Air::default(), framing: 0, seed: 0 }
    }
}

impl LinkBuilder {
    /// Returns a link without limit, delay or faults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a constant rate. Rate 0 blocks the link until [`Link::set_rate`].
    #[must_use]
    pub fn rate(self, rate: Rate) -> Self {
        self.capacity(Capacity::Constant(rate))
    }

    /// Sets rates, each from its instant on. The first one also holds before its instant. They are
    /// sorted by time.
    #[must_use]
    pub fn schedule(self, mut rates: Vec<(Instant, Rate)>) -> Self {
        rates.sort_by_key(|change| change.0);
        self.capacity(Capacity::Schedule(rates))
    }

    /// Sends at the opportunities of a recorded link, which repeat for ever.
    #[must_use]
    pub fn trace(self, opportunities: Opportunities) -> Self {
        self.capacity(Capacity::Trace(Arc::new(opportunities)))
    }

    /// Sets the capacity.
    #[must_use]
    pub fn capacity(self, capacity: Capacity) -> Self {
        Self { capacity, ..self }
    }

    /// Sets the queue discipline. A shaper such as `cake` or `tbf`, with or without children, may
    /// have a lower rate than the link.
    #[must_use]
    pub fn qdisc(self, qdisc: impl Into<AnyConfig>) -> Self {
        Self { qdisc: Some(qdisc.into()), ..self }
    }

    /// Sets the propagation delay, one way.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.air.delay = delay;
        self
    }

    /// Varies the delay of each packet by up to `jitter` in both directions, uniformly and
    /// independently. As with `netem`, packets overtake each other. A link that varies its rate is
    /// often nearer to a real one than jitter is.
    #[must_use]
    pub fn jitter(mut self, jitter: Duration) -> Self {
        self.air.set("delay.jitter", Value::Time(jitter));
        self
    }

    /// Loses packets behind the queue at random, with this probability from 0 to 1.
    #[must_use]
    pub fn loss(mut self, probability: f64) -> Self {
        self.air.replace(LOSS, &[(LOSS, probability)]);
        self
    }

    /// Loses packets behind the queue in bursts (Gilbert–Elliott). `begin` and `end` are the
    /// probabilities per packet that a burst begins and ends; all packets of a burst are lost.
    #[must_use]
    pub fn loss_in_bursts(mut self, begin: f64, end: f64) -> Self {
        self.air.replace(LOSS, &[("loss gemodel", begin), ("loss gemodel.r", end)]);
        self
    }

    /// Lets packets skip the delay with this probability from 0 to 1. Needs a delay.
    #[must_use]
    pub fn reorder(mut self, probability: f64) -> Self {
        self.air.replace("reorder", &[("reorder", probability)]);
        self
    }

    /// Duplicates packets behind the queue with this probability from 0 to 1. Packets must
    /// implement [`Packet::duplicate`].
    #[must_use]
    pub fn duplicate(mut self, probability: f64) -> Self {
        self.air.replace("duplicate", &[("duplicate", probability)]);
        self
    }

    /// Says how many bytes of each packet's length are link headers, which Mahimahi's traces do not
    /// count.
    #[must_use]
    pub fn framing(self, bytes: u32) -> Self {
        Self { framing: bytes, ..self }
    }

    /// Seeds losses and random disciplines. Links of one experiment need different seeds.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets another seed, which depends on this one: for the opposite direction.
    pub(crate) fn with_other_seed(self) -> Self {
        let seed = mix_64(self.seed ^ 1);
        self.seed(seed)
    }

    /// Returns the rate at the start, if the link has one.
    #[cfg(feature = "tc")]
    pub(crate) fn rate_now(&self) -> Option<Rate> {
        self.capacity.rate_at(Instant::ZERO).map(|now| now.0)
    }

    #[cfg(feature = "tc")]
    pub(crate) fn air(self, air: Air) -> Self {
        Self { air, ..self }
    }

    /// Returns the link.
    ///
    /// # Errors
    /// A probability, delay or limit is out of its range; the message names the range.
    pub fn build<P: Packet + Flow>(&self) -> Result<Link<P>, ConfigError> {
        let qdisc = match &self.qdisc {
            Some(qdisc) => qdisc.clone(),
            None => PfifoConfig::new(DEFAULT_LIMIT)?.into(),
        };
        let config = LineConfig {
            capacity: self.capacity.clone(),
            qdisc,
            path: self.air.netem()?,
            delay: self.air.common_delay(),
            framing: self.framing,
            // Another seed makes other flows share a queue.
            salt: u32::try_from(mix_64(self.seed) >> 32).unwrap_or(0),
            seed: self.seed,
        };
        Ok(Link::with_line(Line::from_config(config), self.air.clone()))
    }
}

/// A builder belongs to no type of packets; [`Link::builder`] has to name one.
impl Link<Datagram<()>> {
    /// Returns the builder of a link.
    #[must_use]
    pub fn builder() -> LinkBuilder {
        LinkBuilder::new()
    }
}

/// Packets of the default queue: Linux's `txqueuelen`.
const DEFAULT_LIMIT: u32 = 1000;
