//! The configuration of a link.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use goodqueue::config::{ConfigError, Value};
use goodqueue::fifo::PfifoConfig;
use goodqueue::hash::mix_64;
use goodqueue::{AnyConfig, Datagram, Duration, Flow, Instant, Packet, Rate};

use crate::access::{Drops, Preset, Variation};
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
    /// How the rate changes around its mean. The seed decides, and may follow later.
    variation: Variation,
    qdisc: Queue,
    air: Air,
    framing: u32,
    seed: u64,
}

impl Default for LinkBuilder {
    fn default() -> Self {
        Self {
            capacity: Capacity::UNLIMITED,
            variation: Variation::Steady,
            qdisc: Queue::Default,
            air: Air::default(),
            framing: 0,
            seed: 0,
        }
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
        // A rate that is set does not vary like that of an earlier preset.
        Self { capacity, variation: Variation::Steady, ..self }
    }

    /// Sets rate, delay and buffer of one direction of an access line, such as
    /// [`VDSL`](crate::access::presets::VDSL), from the `rate` that people give.
    ///
    /// The delay is half of the round-trip time. The queue is the buffer of the modem; set another
    /// discipline for a modem that has one. Packets count with their Ethernet header: full packets
    /// take their time on the line, with its encapsulation, and small packets of ADSL less than
    /// their cells do. The rate of a line that varies follows from the seed, and stays what it is
    /// after ten minutes.
    ///
    /// ```
    /// use goodqueue::Datagram;
    /// use goodqueue_link::{Duplex, LinkBuilder, Units, access::presets::CABLE};
    ///
    /// let [down, up] = [40.mbit(), 10.mbit()].map(|rate| LinkBuilder::new().preset(&CABLE, rate));
    /// let line: Duplex<Datagram<Vec<u8>>> = Duplex::new(down.seed(1).build()?, up.seed(2).build()?);
    /// # Ok::<(), goodqueue::config::ConfigError>(())
    /// ```
    #[must_use]
    pub fn preset(self, preset: &Preset, rate: Rate) -> Self {
        Self {
            capacity: Capacity::Constant(preset.of_frames(rate)),
            variation: preset.variation,
            qdisc: Queue::Buffer(preset.buffer.drops, preset.buffer.bytes(rate)),
            ..self
        }
        .delay(Duration::from_nanos(preset.rtt.as_nanos() / 2))
    }

    /// Sets the queue discipline. A shaper such as `cake` or `tbf`, with or without children, may
    /// have a lower rate than the link.
    #[must_use]
    pub fn qdisc(self, qdisc: impl Into<AnyConfig>) -> Self {
        Self { qdisc: Queue::Chosen(Box::new(qdisc.into())), ..self }
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
        // netem has one model of loss at a time.
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
        // Mixed, so that the caller does not give another link the same seed.
        let seed = mix_64(self.seed ^ 1);
        self.seed(seed)
    }

    /// Returns the rate at the start, if the link has one.
    #[cfg(feature = "tc")]
    pub(crate) fn rate_now(&self) -> Option<Rate> {
        self.capacity.rate_at(Instant::ZERO).map(|now| now.0)
    }

    /// Sets delay and faults. Without a delay of its own, `air` keeps that of this builder.
    #[cfg(feature = "tc")]
    pub(crate) fn air(self, mut air: Air, has_delay: bool) -> Self {
        if !has_delay {
            air.delay = self.air.delay;
        }
        Self { air, ..self }
    }

    /// Returns the capacity with the rates that the seed gives.
    fn capacity_of_seed(&self) -> Capacity {
        match &self.capacity {
            Capacity::Constant(mean) if self.variation != Variation::Steady => {
                Capacity::Schedule(self.variation.schedule(*mean, VARIES_FOR_S, self.seed))
            }
            capacity => capacity.clone(),
        }
    }

    /// Returns the link.
    ///
    /// # Errors
    /// A probability, delay or limit is out of its range; the message names the range.
    pub fn build<P: Packet + Flow>(&self) -> Result<Link<P>, ConfigError> {
        let qdisc = match &self.qdisc {
            Queue::Default => PfifoConfig::new(DEFAULT_LIMIT)?.into(),
            Queue::Buffer(drops, bytes) => drops.qdisc(*bytes)?,
            Queue::Chosen(qdisc) => (**qdisc).clone(),
        };
        let config = LineConfig {
            capacity: self.capacity_of_seed(),
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

/// The queue of a link.
#[derive(Clone, Debug)]
enum Queue {
    /// None was chosen.
    Default,
    /// The buffer of a preset, with its bytes.
    Buffer(Drops, u64),
    /// A discipline.
    Chosen(Box<AnyConfig>),
}

/// Time for which the rate of a line varies, in seconds. A step of 100 ms needs 16 bytes.
const VARIES_FOR_S: f64 = 600.0;

/// Packets of the default queue: Linux's `txqueuelen`.
const DEFAULT_LIMIT: u32 = 1000;
