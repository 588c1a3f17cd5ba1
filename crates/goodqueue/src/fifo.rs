//! First in, first out: `pfifo`, `bfifo` and `pfifo_head_drop`.
//!
//! # What it does
//! One queue, served in order of arrival. When a packet would exceed the limit (in packets, or in
//! bytes for `bfifo`), `pfifo` and `bfifo` drop the arriving packet and `pfifo_head_drop` drops the
//! oldest. FIFOs are the queues of most routers and the baseline for every other discipline.
//!
//! # Reference
//! tc-pfifo(8), tc-bfifo(8); Linux 6.1 `net/sched/sch_fifo.c`.
//!
//! # State
//! A ring of packets and the sum of their lengths.
//!
//! # Parameters
//! | name | meaning | unit | default | source of the default | range |
//! |---|---|---|---|---|---|
//! | pfifo: `limit` | packets that the queue holds | packets | 1000p | Linux sch_fifo: txqueuelen of Ethernet | 1 to 4294967295 |
//! | bfifo: `limit` | bytes that the queue holds | bytes | 1000 x MTU | Linux sch_fifo: txqueuelen x MTU | 1 to 4294967295 |
//! | pfifo_head_drop: `limit` | packets that the queue holds | packets | 1000p | Linux sch_fifo: txqueuelen of Ethernet | 1 to 4294967295 |
//!
//! # Deviations
//! A limit of 0 is an error. Linux accepts it, and then enqueues without limit or drops every
//! packet, depending on the version (CVE-2025-21702).
//!
//! # Cost
//! Constant per packet; at most one drop per call.
//!
//! # Example
//! ```
//! use goodqueue::fifo::BfifoConfig;
//! assert!(BfifoConfig::new(0).is_err());
//! assert_eq!(BfifoConfig::new(60_000).unwrap().limit(), 60_000);
//! ```

use core::marker::PhantomData;

use crate::config::{Build, ConfigError, Configure, Kind, Link, Parameter, Setting, Settings};
use crate::decision::{Evidence, FULL, Fate, LIMITS, Limit, Moment, Quantity, Question, Rule, rules};
use crate::gauge::Observe;
use crate::packet::Packet;
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::queue::Fifo;
use crate::shown::Show;
use crate::time::Instant;
use crate::typed::parameters;

/// `pfifo`: limit in packets, the arriving packet is dropped.
pub type Pfifo<P> = FifoQueue<P, CountsPackets>;
/// `bfifo`: limit in bytes, the arriving packet is dropped.
pub type Bfifo<P> = FifoQueue<P, CountsBytes>;
/// `pfifo_head_drop`: limit in packets, the oldest packet is dropped.
pub type PfifoHeadDrop<P> = FifoQueue<P, DropsHead>;

/// Configuration of [`Pfifo`].
pub type PfifoConfig = FifoConfig<CountsPackets>;
/// Configuration of [`Bfifo`].
pub type BfifoConfig = FifoConfig<CountsBytes>;
/// Configuration of [`PfifoHeadDrop`].
pub type PfifoHeadDropConfig = FifoConfig<DropsHead>;

/// A first-in first-out queue with a limit. `F` selects the unit of the limit and the dropped
/// packet.
#[derive(Clone, Debug)]
pub struct FifoQueue<P, F> {
    config: FifoConfig<F>,
    queue: Fifo<P>,
    /// Counters except those that the queue keeps.
    stats: Stats,
}

/// The limit of a [`FifoQueue`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FifoConfig<F> {
    limit: u32,
    flavour: PhantomData<F>,
}

/// Unit of the limit, and which packet is dropped at the limit.
pub trait Flavour: Clone + Copy {
    /// The discipline's description.
    const KIND: Kind;
    /// The parameter of the limit.
    const LIMIT: Parameter;
    /// The limit counts bytes, not packets.
    const BYTES: bool;
    /// The oldest packet is dropped, not the arriving one.
    const HEAD_DROP: bool;
}

/// Flavour of `pfifo`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountsPackets;
/// Flavour of `bfifo`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountsBytes;
/// Flavour of `pfifo_head_drop`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DropsHead;

impl<F: Flavour> FifoConfig<F> {
    /// A queue of at most `limit` packets or bytes.
    ///
    /// # Errors
    /// The limit is 0.
    pub fn new(limit: u32) -> Result<Self, ConfigError> {
        F::LIMIT.check(&limit.into_value(F::LIMIT.unit))?;
        Ok(Self { limit, flavour: PhantomData })
    }

    /// A queue of as many packets as an Ethernet device's has in Linux.
    pub(crate) const fn with_default_limit() -> Self {
        Self { limit: DEFAULT_PACKETS, flavour: PhantomData }
    }

    /// The limit, in the unit of the discipline.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    fn holds(&self, packets: usize, bytes: u64) -> bool {
        let limit = u64::from(self.limit);
        if F::BYTES { bytes <= limit } else { packets as u64 <= limit }
    }
}

impl<F: Flavour> Configure for FifoConfig<F> {
    const KIND: Kind = F::KIND;

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        let packets = DEFAULT_PACKETS;
        // An MTU of 0 would make a limit of 0, which is an error.
        let default = if F::BYTES { packets.saturating_mul(link.mtu.max(1)) } else { packets };
        Self::new(F::LIMIT.read_or(settings, default)?)
    }

    fn to_settings(&self) -> Settings {
        Settings::new().and(&F::LIMIT, self.limit)
    }
}

impl<F: Flavour> Show for FifoConfig<F> {}

parameters! {
    PACKETS of [] PfifoConfig;
    /// packets that the queue holds
    PACKET_LIMIT: packets "limit", with_limit {
        default: 1000,
        range: 1..=4_294_967_295,
        source: "Linux sch_fifo: txqueuelen of Ethernet",
    };
}

parameters! {
    PACKETS_AT_THE_HEAD of [] PfifoHeadDropConfig;
    PACKET_LIMIT: packets, with_limit;
}

parameters! {
    BYTES of [] BfifoConfig;
    /// bytes that the queue holds
    BYTE_LIMIT: bytes "limit", with_limit {
        derived: "1000 x MTU",
        range: 1..=4_294_967_295,
        source: "Linux sch_fifo: txqueuelen x MTU",
    };
}

impl<P: Packet, F: Flavour> FifoQueue<P, F> {
    /// An empty queue.
    #[must_use]
    pub fn new(config: FifoConfig<F>) -> Self {
        Self { config, queue: Fifo::default(), stats: Stats::default() }
    }
}

impl<P: Packet, F: Flavour, R> Build<P, R> for FifoQueue<P, F> {
    fn build(config: FifoConfig<F>, _salt: u32, _random: R) -> Self {
        Self::new(config)
    }
}

impl<P: Packet, F: Flavour> Qdisc<P> for FifoQueue<P, F> {
    type Config = FifoConfig<F>;

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        let bytes = packet.len();
        let admitted = self.config.holds(self.queue.len() + 1, self.queue.bytes() + u64::from(bytes));
        if !admitted {
            if !F::HEAD_DROP {
                self.stats.dropped_before.add(bytes);
                drops.dropped(packet, DropReason::Overlimit);
                return;
            }
            // As in Linux, one packet makes room for one, so after a lower limit the queue stays
            // above it.
            if let Some(oldest) = self.queue.pop_front() {
                self.stats.dropped_after.add(oldest.packet.len());
                drops.dropped(oldest.packet, DropReason::Overlimit);
            }
        }
        self.queue.push_back(now, packet);
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant, _drops: &mut impl Drops<P>) -> Option<P> {
        Some(self.queue.pop_front()?.packet)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn backlog(&self) -> u64 {
        self.queue.bytes()
    }

    fn stats(&self) -> Stats {
        self.queue.complete(self.stats)
    }

    /// As in Linux, queued packets stay. A lower limit applies to new packets.
    fn reconfigure(&mut self, _now: Instant, config: FifoConfig<F>, _drops: &mut impl Drops<P>) {
        self.config = config;
    }

    fn config(&self) -> FifoConfig<F> {
        self.config
    }

    fn purge(&mut self, _now: Instant, drops: &mut impl Drops<P>) {
        while let Some(queued) = self.queue.pop_front() {
            self.stats.dropped_after.add(queued.packet.len());
            drops.dropped(queued.packet, DropReason::Purged);
        }
    }
}

impl<P: Packet, F: Flavour> Lookahead<P> for FifoQueue<P, F> {
    const RULES: &'static [&'static [Rule]] = &[RULES, LIMITS];

    #[inline]
    fn next_len(&self) -> Option<u32> {
        self.queue.front().map(|queued| queued.packet.len())
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(F::KIND.name);
        let about = &question.about;
        let limit = u64::from(self.config.limit);
        let held = match F::BYTES {
            true => Quantity::Bytes(self.queue.bytes()),
            false => Quantity::Packets(self.queue.len() as u64),
        };
        let limit = if F::BYTES { Quantity::Bytes(limit) } else { Quantity::Packets(limit) };
        let rule = if F::HEAD_DROP { FULL_HEAD } else { FULL };
        let source = F::KIND.reference;
        evidence.fact("queued", held, "what the queue held");
        evidence.limit(about, DropReason::Overlimit, &Limit { held, allowed: limit, rule, source });
        if about.fate == Fate::Sent && about.moment == Moment::Departure {
            evidence.rule(IN_ORDER, source, &[]);
        }
        evidence
    }
}

impl<P: Packet, F: Flavour> Observe for FifoQueue<P, F> {}

impl Flavour for CountsPackets {
    const KIND: Kind = Kind {
        name: "pfifo",
        summary: "First in, first out; full at a number of packets, then drops what arrives",
        reference: "tc-pfifo(8)",
        variants: &[],
        children: crate::config::Children::None,
        parameters: PACKETS,
    };
    const LIMIT: Parameter = PACKET_LIMIT;
    const BYTES: bool = false;
    const HEAD_DROP: bool = false;
}

impl Flavour for CountsBytes {
    const KIND: Kind = Kind {
        name: "bfifo",
        summary: "First in, first out; full at a number of bytes, then drops what arrives",
        reference: "tc-bfifo(8)",
        variants: &[],
        children: crate::config::Children::None,
        parameters: BYTES,
    };
    const LIMIT: Parameter = BYTE_LIMIT;
    const BYTES: bool = true;
    const HEAD_DROP: bool = false;
}

impl Flavour for DropsHead {
    const KIND: Kind = Kind {
        name: "pfifo_head_drop",
        summary: "First in, first out; full at a number of packets, then drops the oldest",
        reference: "Linux sch_fifo.c",
        variants: &[],
        children: crate::config::Children::None,
        parameters: PACKETS_AT_THE_HEAD,
    };
    const LIMIT: Parameter = PACKET_LIMIT;
    const BYTES: bool = false;
    const HEAD_DROP: bool = true;
}

/// Linux: the transmit queue length of an Ethernet device.
#[expect(clippy::cast_possible_truncation, reason = "the limit has 32 bits")]
const DEFAULT_PACKETS: u32 = PACKET_LIMIT.default_number() as u32;

rules! {
    /// Rules of a FIFO.
    pub(crate) RULES;
    /// Packets leave in the order of their arrival.
    IN_ORDER: "fifo.in_order" [];
    /// A full queue drops its oldest packet.
    FULL_HEAD: "fifo.full_head" ["held", "allowed"];
}
