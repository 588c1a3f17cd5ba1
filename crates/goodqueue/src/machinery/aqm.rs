//! An AQM on one first-in first-out queue: the algorithm as a trait, the queue ready-made.
//!
//! An [`Aqm`] is the parameters of an algorithm, and decides what happens to a packet from what it
//! sees ([`Seen`]). [`AqmQueue`] queues the packets, marks or drops as the algorithm says, and
//! counts. `examples/own-discipline` of the repository is a whole AQM with its parameter table.
//!
//! ```
//! use goodqueue::aqm::{Aqm, AqmQueue, Seen};
//! use goodqueue::config::{ConfigError, Configure, Kind, Link, Settings};
//! use goodqueue::random::Source;
//! use goodqueue::{Datagram, Duration, FlowKey, Instant, Qdisc, Verdict};
//!
//! /// Drops every packet that has waited for more than 20 ms.
//! #[derive(Clone, Debug)]
//! struct Deadline;
//!
//! impl Configure for Deadline {
//!     const KIND: Kind = Kind::new("deadline", "Drops packets that have waited for more than 20 ms");
//!     fn from_checked(_: &Settings, _: &Link) -> Result<Self, ConfigError> {
//!         Ok(Self)
//!     }
//!     fn to_settings(&self) -> Settings {
//!         Settings::new()
//!     }
//! }
//!
//! impl Aqm for Deadline {
//!     type State = ();
//!     fn on_dequeue(&self, _: &mut (), seen: &Seen, _: &mut Source) -> Verdict {
//!         if seen.sojourn > Duration::from_millis(20) { Verdict::Drop } else { Verdict::Pass }
//!     }
//! }
//!
//! let mut queue = AqmQueue::new(Deadline, Source::seeded(1));
//! let mut drops = |lost: Datagram<u32>, _| println!("lost {}", lost.content);
//! let flow = FlowKey::new("192.0.2.1:443".parse()?, "198.51.100.7:5000".parse()?, FlowKey::UDP);
//! let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
//! queue.enqueue(at(0), Datagram::new(flow, 1200, 1), &mut drops);
//! queue.enqueue(at(15), Datagram::new(flow, 1200, 2), &mut drops);
//! assert_eq!(queue.dequeue(at(30), &mut drops).map(|datagram| datagram.content), Some(2));
//! assert_eq!(queue.stats().dropped_after.packets, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::fmt::Debug;

use crate::config::{Build, Configure};
use crate::decision::{Decision, Evidence, FULL, LIMITS, Limit, Quantity, Question, Rule, rules};
use crate::gauge::{Observation, Observe};
use crate::nesting::{Inner, InnerConfig};
use crate::packet::{Ecn, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc};
use crate::queue::Fifo;
use crate::random::Source;
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::verdict::Verdict;

/// An active queue management algorithm for one first-in first-out queue. The implementing type is
/// its parameters.
///
/// Each method has a default, so an algorithm implements only the calls in which it decides.
pub trait Aqm: Configure {
    /// Everything that the algorithm remembers between packets; `()` if it remembers nothing. The
    /// story of a packet shows its fields.
    type State: Clone + Debug + Default;

    /// Decides about an arriving packet. The default lets it pass.
    fn on_enqueue(&self, state: &mut Self::State, seen: &Seen, random: &mut Source) -> Verdict {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = (state, seen, random);
        Verdict::Pass
    }

    /// Decides about the packet at the head of the queue, when the link takes a packet. After a
    /// drop it is asked about the next one. The default lets the packet pass.
    fn on_dequeue(&self, state: &mut Self::State, seen: &Seen, random: &mut Source) -> Verdict {
        let _ = (state, seen, random);
        Verdict::Pass
    }

    /// Returns the limit of the queue in packets. Packets that arrive at a full queue are dropped.
    /// The default is 1000, as the queue of an Ethernet device has in Linux.
    fn limit(&self) -> u32 {
        1000
    }

    /// Adds the rule that leads to the fate of a packet, and the numbers that the rule compares,
    /// for the story of the packet. The rule has its sentence with it
    /// ([`Rule::with_sentence`](crate::decision::Rule::with_sentence)). The default adds nothing:
    /// the story then says only that the algorithm marked or dropped the packet.
    fn evidence(&self, state: &Self::State, about: &Decision, evidence: &mut Evidence) {
        let _ = (state, about, evidence);
    }

    /// Adds values of the algorithm to the statistics. The default adds nothing.
    fn observe(&self, state: &Self::State, seen: &mut Observation) {
        let _ = (state, seen);
    }
}

/// What an [`Aqm`] sees when it decides about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Seen {
    /// Time of the decision.
    pub now: Instant,
    /// Time that the packet has spent in the queue; zero when it arrives.
    pub sojourn: Duration,
    /// Length of the packet in bytes.
    pub bytes: u32,
    /// ECN field of the packet.
    pub ecn: Ecn,
    /// Number of queued packets without this one.
    pub packets: usize,
    /// Number of queued bytes without this packet.
    pub backlog: u64,
}

/// A first-in first-out queue with an [`Aqm`].
///
/// [`Verdict::Mark`] drops a packet whose transport is not ECN-capable, as RFC 3168 §5 asks for.
#[derive(Clone, Debug)]
pub struct AqmQueue<P, A: Aqm> {
    aqm: A,
    state: A::State,
    random: Source,
    queue: Fifo<P>,
    /// Latest time seen.
    now: Instant,
    /// Drops and marks; the queue counts everything else.
    stats: Stats,
}

impl<P: Packet, A: Aqm> AqmQueue<P, A> {
    /// Returns an empty queue. The algorithm draws from `random`.
    #[must_use]
    pub fn new(aqm: A, random: Source) -> Self {
        let state = A::State::default();
        let queue = Fifo::default();
        Self { aqm, state, random, queue, now: Instant::ZERO, stats: Stats::default() }
    }

    /// Returns what the algorithm remembers.
    pub const fn state(&self) -> &A::State {
        &self.state
    }

    fn seen(&self, sojourn: Duration, packet: &P) -> Seen {
        let packets = self.queue.len();
        let backlog = self.queue.bytes();
        Seen { now: self.now, sojourn, bytes: packet.len(), ecn: packet.ecn(), packets, backlog }
    }

    /// Returns true if the packet goes on, after it was marked if the verdict says so.
    fn passes(&mut self, verdict: Verdict, packet: &mut P) -> bool {
        match verdict {
            Verdict::Pass => true,
            // Another queue marked it already.
            Verdict::Mark if packet.ecn() == Ecn::Ce => true,
            Verdict::Mark if packet.set_ce() => {
                self.stats.marked.add(packet.len());
                true
            }
            Verdict::Mark | Verdict::Drop => false,
        }
    }
}

impl<P: Packet, A: Aqm> Qdisc<P> for AqmQueue<P, A> {
    type Config = A;

    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut impl Drops<P>) {
        // Rule 1 of the contract: a time before the latest one counts as the latest.
        self.now = self.now.max(now);
        let fits = self.queue.len() < usize::try_from(self.aqm.limit()).unwrap_or(usize::MAX);
        let why = if fits { DropReason::Congested } else { DropReason::Overlimit };
        let seen = self.seen(Duration::ZERO, &packet);
        // The algorithm sees only packets that it decides about.
        if fits {
            let verdict = self.aqm.on_enqueue(&mut self.state, &seen, &mut self.random);
            if self.passes(verdict, &mut packet) {
                return self.queue.push_back(self.now, packet);
            }
        }
        self.stats.dropped_before.add(packet.len());
        drops.dropped(packet, why);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.now = self.now.max(now);
        while let Some(head) = self.queue.pop_front() {
            let mut packet = head.packet;
            let seen = self.seen(self.now.since(head.at), &packet);
            let verdict = self.aqm.on_dequeue(&mut self.state, &seen, &mut self.random);
            if self.passes(verdict, &mut packet) {
                return Some(packet);
            }
            self.stats.dropped_after.add(packet.len());
            drops.dropped(packet, DropReason::Congested);
        }
        None
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

    /// Changes the parameters. The queued packets and the state stay.
    fn reconfigure(&mut self, _now: Instant, config: A, _drops: &mut impl Drops<P>) {
        self.aqm = config;
    }

    fn config(&self) -> A {
        self.aqm.clone()
    }

    fn purge(&mut self, _now: Instant, drops: &mut impl Drops<P>) {
        while let Some(queued) = self.queue.pop_front() {
            self.stats.dropped_after.add(queued.packet.len());
            drops.dropped(queued.packet, DropReason::Purged);
        }
        self.state = A::State::default();
    }
}

impl<P: Packet, A: Aqm> Lookahead<P> for AqmQueue<P, A> {
    const RULES: &'static [&'static [Rule]] = &[RULES, LIMITS];

    /// The state of the algorithm: the values of [`Aqm::observe`], and all fields of
    /// [`Aqm::State`].
    fn evidence(&self, question: &Question<'_, P>) -> Evidence {
        let mut evidence = Evidence::from_kind(A::KIND.name);
        let about = &question.about;
        evidence.given("sojourn", Quantity::Span(about.sojourn()), "how long this packet had waited");
        evidence.fact("queued", Quantity::Packets(self.queue.len() as u64), "packets in the queue");
        evidence.fact("backlog", Quantity::Bytes(self.queue.bytes()), "bytes in the queue");
        let mut seen = Observation::default();
        self.aqm.observe(&self.state, &mut seen);
        for (name, gauge) in seen.gauges {
            evidence.fact(name, gauge.into(), "");
        }
        self.aqm.evidence(&self.state, about, &mut evidence);
        evidence.remember(&self.state, about.now);
        if about.is_signal() && about.is_end() && evidence.rules.is_empty() {
            evidence.rule(SIGNAL, A::KIND.reference, &[]);
        }
        let limit = Limit {
            held: Quantity::Packets(self.queue.len() as u64),
            allowed: Quantity::Packets(u64::from(self.aqm.limit())),
            rule: FULL,
            source: A::KIND.reference,
        };
        evidence.limit(about, DropReason::Overlimit, &limit);
        evidence
    }
}

impl<P: Packet, A: Aqm> Observe for AqmQueue<P, A> {
    fn observe(&self, _now: Instant, seen: &mut Observation) {
        self.aqm.observe(&self.state, seen);
    }
}

impl<P: Packet, A: Aqm> Build<P, Source> for AqmQueue<P, A> {
    fn build(config: A, _salt: u32, random: Source) -> Self {
        Self::new(config, random)
    }
}

impl<P: Packet, A: Aqm + InnerConfig> Inner<P> for AqmQueue<P, A> {}

rules! {
    /// Rules of an AQM on one queue.
    RULES;
    /// The algorithm marked or dropped the packet.
    SIGNAL: "aqm.signal" [];
}
