//! Disciplines of other crates among those of this one: [`AnyConfig::Own`] and [`Chosen::Own`].
//!
//! [`AnyQdisc`] is generic over the packets, and a discipline of another crate is known at run time
//! only. Such a discipline therefore queues [`StandIn`]s. The packets wait beside it until their
//! stand-ins come out. [`Disciplines`](crate::Disciplines) is the list of such disciplines.
//!
//! [`AnyConfig::Own`]: crate::AnyConfig::Own
//! [`Chosen::Own`]: crate::registry::Chosen::Own
//! [`AnyQdisc`]: crate::AnyQdisc

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt::{self, Debug};
use core::marker::PhantomData;

use crate::config::{Build, ConfigError, Configure, Kind, Link, Owner, Settings};
use crate::decision::{Evidence, Question};
use crate::gauge::{Observation, Observe};
use crate::hash::mix_64;
use crate::packet::{Ecn, Flow, Packet, TcpAck};
use crate::qdisc::{DropReason, Drops, Lookahead, NextLen, Qdisc};
use crate::random::Source;
use crate::stats::Stats;
use crate::time::Instant;

/// What a discipline of another crate implements so that [`Disciplines`](crate::Disciplines) can
/// hold it. Every type with these traits is one.
pub trait Registrable:
    Qdisc<StandIn, Config: Configure + Debug + Send + Sync + 'static>
    + Lookahead<StandIn>
    + Observe
    + Build<StandIn, Source>
    + Clone
    + Debug
    + Send
    + Sync
    + 'static
{
}

impl<Q> Registrable for Q where
    Q: Qdisc<StandIn, Config: Configure + Debug + Send + Sync + 'static>
        + Lookahead<StandIn>
        + Observe
        + Build<StandIn, Source>
        + Clone
        + Debug
        + Send
        + Sync
        + 'static
{
}

/// What a discipline of another crate queues in place of a packet. It has the packet's length, ECN
/// field and flow.
#[derive(Clone, Debug)]
pub struct StandIn {
    /// Place of the packet in [`Waiting`].
    slot: usize,
    len: u32,
    truesize: Option<u32>,
    earliest: Option<Instant>,
    ecn: Ecn,
    dscp: u8,
    priority: u8,
    /// Salt of the discipline, with which `hashes` are made.
    salt: u32,
    /// Hashes of the flow, its source and its destination.
    hashes: [u32; 3],
    class: Option<u32>,
    mark: u32,
    nodes: Option<(u32, u32)>,
    tcp_ack: Option<TcpAck>,
}

impl StandIn {
    fn from_packet(packet: &(impl Packet + Flow), slot: usize, salt: u32) -> Self {
        Self {
            slot,
            len: packet.len(),
            truesize: packet.truesize(),
            earliest: packet.earliest_departure(),
            ecn: packet.ecn(),
            dscp: packet.dscp(),
            priority: packet.priority(),
            salt,
            // All three, because the packet itself is out of reach once the discipline asks.
            hashes: [packet.flow_hash(salt), packet.source_hash(salt), packet.destination_hash(salt)],
            class: packet.class(),
            mark: packet.mark(),
            nodes: packet.nodes(),
            tcp_ack: packet.tcp_ack(),
        }
    }

    /// Returns a hash for `salt`: the packet's own one if it is the discipline's salt, else one
    /// derived from it.
    fn hash(&self, index: usize, salt: u32) -> u32 {
        let own = self.hashes.get(index).copied().unwrap_or(0);
        if salt == self.salt {
            return own;
        }
        u32::try_from(mix_64(u64::from(own) << 32 | u64::from(salt)) >> 32).unwrap_or(own)
    }

    /// Carries out on the packet what the discipline did to its stand-in.
    fn write_to(&self, packet: &mut (impl Packet + Flow)) {
        if self.ecn == Ecn::Ce && packet.ecn() != Ecn::Ce {
            packet.set_ce();
        }
        // A discipline can clear a code point, but not set one.
        if self.dscp == 0 && packet.dscp() != 0 {
            packet.clear_dscp();
        }
    }
}

impl Packet for StandIn {
    fn len(&self) -> u32 {
        self.len
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ce(&mut self) -> bool {
        self.ecn.mark()
    }

    fn truesize(&self) -> Option<u32> {
        self.truesize
    }

    fn earliest_departure(&self) -> Option<Instant> {
        self.earliest
    }
}

impl Flow for StandIn {
    fn flow_hash(&self, salt: u32) -> u32 {
        self.hash(0, salt)
    }

    fn source_hash(&self, salt: u32) -> u32 {
        self.hash(1, salt)
    }

    fn destination_hash(&self, salt: u32) -> u32 {
        self.hash(2, salt)
    }

    fn class(&self) -> Option<u32> {
        self.class
    }

    fn mark(&self) -> u32 {
        self.mark
    }

    fn nodes(&self) -> Option<(u32, u32)> {
        self.nodes
    }

    fn dscp(&self) -> u8 {
        self.dscp
    }

    fn clear_dscp(&mut self) {
        self.dscp = 0;
    }

    fn priority(&self) -> u8 {
        self.priority
    }

    fn tcp_ack(&self) -> Option<TcpAck> {
        self.tcp_ack
    }
}

/// The configuration of a discipline of another crate.
#[derive(Clone)]
pub struct OwnConfig {
    owner: Owner,
    typed: SharedConfig,
}

impl OwnConfig {
    /// Returns the configuration of the discipline `owner` with `settings`.
    ///
    /// # Errors
    /// The discipline refuses a setting.
    pub fn new(owner: Owner, settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        match owner.maker.downcast_ref::<Maker>() {
            Some(maker) => Ok(Self { owner, typed: (maker.configure)(settings, link)? }),
            None => Err(ConfigError::new("qdisc", owner.kind.name, "a discipline of `Disciplines`")),
        }
    }

    /// Returns the description of the discipline.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        *self.owner.kind
    }

    /// Returns every parameter with the value in force.
    #[must_use]
    pub fn to_settings(&self) -> Settings {
        self.typed.to_settings().with_owner(self.owner)
    }
}

impl PartialEq for OwnConfig {
    fn eq(&self, other: &Self) -> bool {
        // The typed configurations have no common type to compare.
        self.to_settings() == other.to_settings()
    }
}

impl Debug for OwnConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.typed.fmt(f)
    }
}

/// A discipline of another crate, which queues packets of type `P`.
#[derive(Clone, Debug)]
pub struct OwnQdisc<P> {
    owner: Owner,
    qdisc: Box<dyn ErasedQdisc>,
    waiting: Waiting<P>,
    salt: u32,
}

impl<P: Packet + Flow> OwnQdisc<P> {
    /// Returns an empty queue. Flows are hashed with `salt`, and `random` gives random numbers.
    #[must_use]
    pub fn new(config: OwnConfig, salt: u32, random: Source) -> Self {
        let qdisc = config.typed.build(salt, random);
        Self { owner: config.owner, qdisc, waiting: Waiting::default(), salt }
    }

    /// Returns the description of the discipline.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        *self.owner.kind
    }

    /// Returns true if `config` is one of this discipline.
    #[must_use]
    pub fn is_of(&self, config: &OwnConfig) -> bool {
        self.owner == config.owner
    }

    /// Returns the discipline itself, if it is a `Q`.
    #[must_use]
    pub fn downcast_ref<Q: Registrable>(&self) -> Option<&Q> {
        self.qdisc.as_any().downcast_ref()
    }
}

impl<P: Packet + Flow> Qdisc<P> for OwnQdisc<P> {
    type Config = OwnConfig;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        let salt = self.salt;
        let stand_in = self.waiting.add(packet, |packet, slot| StandIn::from_packet(packet, slot, salt));
        self.qdisc.enqueue(now, stand_in, &mut |lost, why| self.waiting.lose(&lost, why, drops));
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        let next = self.qdisc.dequeue(now, &mut |lost, why| self.waiting.lose(&lost, why, drops));
        self.waiting.take(&next?)
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        self.qdisc.next_event(now)
    }

    fn len(&self) -> usize {
        self.qdisc.len()
    }

    fn backlog(&self) -> u64 {
        self.qdisc.backlog()
    }

    fn stats(&self) -> Stats {
        self.qdisc.stats()
    }

    fn reconfigure(&mut self, now: Instant, config: OwnConfig, drops: &mut impl Drops<P>) {
        let lose = &mut |lost: StandIn, why| self.waiting.lose(&lost, why, drops);
        self.qdisc.reconfigure(now, config.typed.as_any(), lose);
    }

    fn config(&self) -> OwnConfig {
        OwnConfig { owner: self.owner, typed: self.qdisc.config() }
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.qdisc.purge(now, &mut |lost, why| self.waiting.lose(&lost, why, drops));
    }
}

impl<P: Packet + Flow> Lookahead<P> for OwnQdisc<P> {
    fn next_len(&self) -> Option<u32> {
        self.qdisc.next_len()
    }

    fn look_ahead(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<NextLen> {
        self.qdisc.look_ahead(now, &mut |lost, why| self.waiting.lose(&lost, why, drops))
    }

    fn set_taken_ahead(&mut self, now: Instant, taken: bool) {
        self.qdisc.set_taken_ahead(now, taken);
    }

    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        // Nobody takes the packet of this stand-in, so it needs no slot.
        let packet = &StandIn::from_packet(question.packet, usize::MAX, self.salt);
        self.qdisc.evidence(&Question { packet, about: question.about })
    }
}

impl<P> Observe for OwnQdisc<P> {
    fn observe(&self, now: Instant, seen: &mut Observation) {
        self.qdisc.observe(now, seen);
    }
}

/// Packets whose stand-ins are queued.
#[derive(Clone, Debug)]
struct Waiting<P> {
    packets: Vec<Option<P>>,
    free: Vec<usize>,
}

impl<P> Default for Waiting<P> {
    fn default() -> Self {
        Self { packets: Vec::new(), free: Vec::new() }
    }
}

impl<P: Packet + Flow> Waiting<P> {
    /// Keeps a packet and returns its stand-in.
    fn add(&mut self, packet: P, stand_in: impl FnOnce(&P, usize) -> StandIn) -> StandIn {
        // The slot freed last is likely to be in the cache.
        let slot = self.free.pop().unwrap_or(self.packets.len());
        let stand_in = stand_in(&packet, slot);
        match self.packets.get_mut(slot) {
            Some(place) => *place = Some(packet),
            None => self.packets.push(Some(packet)),
        }
        stand_in
    }

    /// Returns the packet of a stand-in; `None` if the discipline gave out a stand-in twice.
    fn take(&mut self, stand_in: &StandIn) -> Option<P> {
        let mut packet = self.packets.get_mut(stand_in.slot)?.take()?;
        self.free.push(stand_in.slot);
        stand_in.write_to(&mut packet);
        Some(packet)
    }

    fn lose(&mut self, stand_in: &StandIn, why: DropReason, drops: &mut impl Drops<P>) {
        if let Some(packet) = self.take(stand_in) {
            drops.dropped(packet, why);
        }
    }
}

/// A configuration whose type only its discipline knows.
type SharedConfig = Arc<dyn ErasedConfig>;

/// Receives the stand-ins of dropped packets.
type Lose<'a> = dyn FnMut(StandIn, DropReason) + 'a;

/// Builds the configuration of one discipline.
struct Maker {
    configure: fn(&Settings, &Link) -> Result<SharedConfig, ConfigError>,
}

/// Returns the entry of `Q` for the settings of its configurations.
pub(crate) const fn owner<Q: Registrable>() -> Owner {
    Owner { kind: Typed::<Q>::KIND, maker: Typed::<Q>::MAKER }
}

/// The configuration of a `Q`.
struct Typed<Q: Qdisc<StandIn>> {
    config: Q::Config,
    // A function type, so that the configuration owns no `Q` and passes between threads whatever
    // `Q` is.
    of: PhantomData<fn() -> Q>,
}

impl<Q: Registrable> Typed<Q> {
    const KIND: &'static Kind = &<Q::Config as Configure>::KIND;
    const MAKER: &'static Maker = &Maker { configure: Self::configure };

    fn configure(settings: &Settings, link: &Link) -> Result<SharedConfig, ConfigError> {
        Ok(Self::shared(<Q::Config as Configure>::from_settings(settings, link)?))
    }

    fn shared(config: Q::Config) -> SharedConfig {
        Arc::new(Self { config, of: PhantomData })
    }
}

impl<Q: Registrable> Debug for Typed<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}

trait ErasedConfig: Debug + Send + Sync {
    fn to_settings(&self) -> Settings;
    fn build(&self, salt: u32, random: Source) -> Box<dyn ErasedQdisc>;
    /// Returns the typed configuration.
    fn as_any(&self) -> &dyn Any;
}

impl<Q: Registrable> ErasedConfig for Typed<Q> {
    fn to_settings(&self) -> Settings {
        Configure::to_settings(&self.config)
    }

    fn build(&self, salt: u32, random: Source) -> Box<dyn ErasedQdisc> {
        Box::new(Q::build(self.config.clone(), salt, random))
    }

    fn as_any(&self) -> &dyn Any {
        &self.config
    }
}

/// [`Qdisc`] and [`Lookahead`] without generic methods.
trait ErasedQdisc: Debug + Send + Sync {
    fn enqueue(&mut self, now: Instant, stand_in: StandIn, lose: &mut Lose<'_>);
    fn dequeue(&mut self, now: Instant, lose: &mut Lose<'_>) -> Option<StandIn>;
    fn next_event(&self, now: Instant) -> Option<Instant>;
    fn len(&self) -> usize;
    fn backlog(&self) -> u64;
    fn stats(&self) -> Stats;
    /// Takes the typed configuration of this discipline; ignores that of another one.
    fn reconfigure(&mut self, now: Instant, config: &dyn Any, lose: &mut Lose<'_>);
    fn config(&self) -> SharedConfig;
    fn purge(&mut self, now: Instant, lose: &mut Lose<'_>);
    fn next_len(&self) -> Option<u32>;
    fn look_ahead(&mut self, now: Instant, lose: &mut Lose<'_>) -> Option<NextLen>;
    fn set_taken_ahead(&mut self, now: Instant, taken: bool);
    fn evidence(&self, question: &Question<'_, StandIn>) -> Evidence;
    fn observe(&self, now: Instant, seen: &mut Observation);
    fn clone_box(&self) -> Box<dyn ErasedQdisc>;
    fn as_any(&self) -> &dyn Any;
}

impl<Q: Registrable> ErasedQdisc for Q {
    fn enqueue(&mut self, now: Instant, stand_in: StandIn, mut lose: &mut Lose<'_>) {
        Qdisc::enqueue(self, now, stand_in, &mut lose);
    }

    fn dequeue(&mut self, now: Instant, mut lose: &mut Lose<'_>) -> Option<StandIn> {
        Qdisc::dequeue(self, now, &mut lose)
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        Qdisc::next_event(self, now)
    }

    fn len(&self) -> usize {
        Qdisc::len(self)
    }

    fn backlog(&self) -> u64 {
        Qdisc::backlog(self)
    }

    fn stats(&self) -> Stats {
        Qdisc::stats(self)
    }

    fn reconfigure(&mut self, now: Instant, config: &dyn Any, mut lose: &mut Lose<'_>) {
        if let Some(config) = config.downcast_ref::<Q::Config>() {
            Qdisc::reconfigure(self, now, config.clone(), &mut lose);
        }
    }

    fn config(&self) -> SharedConfig {
        Typed::<Q>::shared(Qdisc::config(self))
    }

    fn purge(&mut self, now: Instant, mut lose: &mut Lose<'_>) {
        Qdisc::purge(self, now, &mut lose);
    }

    fn next_len(&self) -> Option<u32> {
        Lookahead::next_len(self)
    }

    fn look_ahead(&mut self, now: Instant, mut lose: &mut Lose<'_>) -> Option<NextLen> {
        Lookahead::look_ahead(self, now, &mut lose)
    }

    fn set_taken_ahead(&mut self, now: Instant, taken: bool) {
        Lookahead::set_taken_ahead(self, now, taken);
    }

    fn evidence(&self, question: &Question<'_, StandIn>) -> Evidence {
        Lookahead::evidence(self, question)
    }

    fn observe(&self, now: Instant, seen: &mut Observation) {
        Observe::observe(self, now, seen);
    }

    fn clone_box(&self) -> Box<dyn ErasedQdisc> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Clone for Box<dyn ErasedQdisc> {
    fn clone(&self) -> Self {
        self.as_ref().clone_box()
    }
}
