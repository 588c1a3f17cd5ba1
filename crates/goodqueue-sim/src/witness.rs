//! A witness of one packet: the queue that the packet found, its fate, and the rule that decided.
//!
//! A [`Witness`] stands between a driver and its queue in a second run of the same arrivals. The
//! first run found the packet and the time of its fate. The witness then asks the discipline for
//! its [`Evidence`] before and after that decision. The data path of every other run knows nothing
//! of it.
//!
//! A [`Story`] is plain values. The module [`words`](crate::words) writes it in sentences.
//!
//! ```
//! use goodqueue::decision::Fate;
//! use goodqueue::fifo::{Pfifo, PfifoConfig};
//! use goodqueue::{Datagram, DropReason, FlowKey, Instant};
//! use goodqueue_sim::witness::{Known, Witness};
//!
//! let flow = FlowKey::new("192.0.2.1:443".parse()?, "198.51.100.7:5000".parse()?, FlowKey::UDP);
//! let mut queue = Pfifo::new(PfifoConfig::new(1)?);
//! let at = Instant::from_nanos(7_000_000);
//! let known = Known { arrived: at, ended: at, fate: Fate::Dropped(DropReason::Overlimit) };
//! let mut witness = Witness::new(known, |packet: &Datagram<u32>| packet.content == 2);
//! for number in 1..=2 {
//!     witness.enqueue(&mut queue, at, Datagram::new(flow, 1200, number), &mut |_, _| ());
//! }
//! let story = witness.story(2, "pfifo limit 1p", "").expect("the packet came");
//! assert_eq!(
//!     story.sentences()[0],
//!     "Packet 2 (1200 bytes) arrived at 0.007 s. It found 1 packet (1200 bytes) queued."
//! );
//! assert_eq!(story.sentences()[1], "It was dropped at once (overlimit).");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use goodqueue::decision::{Decision, Evidence, Fate, Moment, Quantity, Question, Recalled, Remembered};
use goodqueue::{DropReason, Drops, Duration, Ecn, Instant, Lookahead, Packet, Qdisc, Stats};

/// What the first run found out about the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known {
    /// Time of arrival.
    pub arrived: Instant,
    /// Time at which the packet was sent or dropped.
    pub ended: Instant,
    /// Fate of the packet.
    pub fate: Fate,
}

/// Watches one packet on its way through a queue.
pub struct Witness<P> {
    known: Known,
    is_it: Box<dyn Fn(&P) -> bool + Send + Sync>,
    /// The packet as it arrived.
    packet: Option<P>,
    arrival: Option<Scene>,
    decision: Option<Scene>,
    is_over: bool,
}

/// A queue at one moment, before and after the discipline was called.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Scene {
    /// The call.
    pub moment: Moment,
    /// Time of the call.
    pub at: Instant,
    /// Packets queued before the call.
    pub packets: u64,
    /// Bytes queued before the call.
    pub bytes: u64,
    /// Evidence before the call.
    pub before: Evidence,
    /// Evidence after the call.
    pub after: Evidence,
    /// Packets that the call dropped before this one, and all packets that it dropped.
    pub drops: (u32, u32),
}

/// The story of one packet.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Story {
    /// Number of the packet.
    pub number: u64,
    /// The discipline, as the user wrote it.
    pub qdisc: String,
    /// The packet in a few words; may be empty.
    pub what: String,
    /// Length in bytes.
    pub length: u32,
    /// ECN field at arrival.
    pub ecn: Ecn,
    /// Arrival and fate.
    pub known: Known,
    /// The queue when the packet arrived.
    pub arrival: Scene,
    /// The queue when the packet's fate was decided, unless that was at arrival.
    pub departure: Option<Scene>,
}

/// A value around the decision.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Value {
    /// The discipline that has the value.
    pub kind: &'static str,
    /// Name of the value in the standard or the code.
    pub name: &'static str,
    /// The value before the decision.
    pub before: Quantity,
    /// The value after the decision, if there is still one.
    pub after: Option<Quantity>,
    /// Meaning in a few words.
    pub doc: &'static str,
}

/// A field of an algorithm's state around the decision.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct StateValue {
    /// The discipline that has the state.
    pub kind: &'static str,
    /// Name of the field.
    pub name: String,
    /// The value before the decision.
    pub before: Recalled,
    /// The value after the decision, if there is still one.
    pub after: Option<Recalled>,
}

impl<P> fmt::Debug for Witness<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Witness").field("known", &self.known).finish_non_exhaustive()
    }
}

impl<P: Packet + Clone> Witness<P> {
    /// Watches the packet for which `is_it` is true. Times are those that the discipline is given.
    #[must_use]
    pub fn new(known: Known, is_it: impl Fn(&P) -> bool + Send + Sync + 'static) -> Self {
        Self { known, is_it: Box::new(is_it), packet: None, arrival: None, decision: None, is_over: false }
    }

    /// Returns true once the packet's fate is decided.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Calls `qdisc.enqueue`.
    pub fn enqueue<Q: Lookahead<P>>(
        &mut self,
        qdisc: &mut Q,
        now: Instant,
        packet: P,
        drops: &mut impl Drops<P>,
    ) {
        // Only the first such packet: packets that are equal in everything that identifies them may
        // be confused.
        let arrives = self.packet.is_none() && (self.is_it)(&packet);
        if arrives {
            self.packet = Some(packet.clone());
            self.arrival = self.scene(qdisc, now, Moment::Arrival);
        } else {
            // The arrival of another packet may drop the watched one.
            self.look(qdisc, now, Moment::Waiting);
        }
        let counted = self.count(drops, |mut sink| qdisc.enqueue(now, packet, &mut sink));
        if arrives {
            let evidence = self.evidence(qdisc, now, Moment::Arrival);
            if let (Some(scene), Some(evidence)) = (&mut self.arrival, evidence) {
                scene.after = evidence;
                scene.drops = counted.unwrap_or_default();
            }
            self.is_over = counted.is_some();
        } else {
            self.end(qdisc, counted);
        }
    }

    /// Calls `qdisc.dequeue`.
    pub fn dequeue<Q: Lookahead<P>>(
        &mut self,
        qdisc: &mut Q,
        now: Instant,
        drops: &mut impl Drops<P>,
    ) -> Option<P> {
        self.look(qdisc, now, Moment::Departure);
        let mut sent = None;
        let counted = self.count(drops, |mut sink| sent = qdisc.dequeue(now, &mut sink));
        let leaves = sent.as_ref().filter(|packet| self.packet.is_some() && (self.is_it)(packet));
        // A packet that is sent is none of the drops.
        self.end(qdisc, counted.or(leaves.map(|_| (0, 0))));
        sent
    }

    /// Calls `qdisc.reconfigure`.
    pub fn reconfigure<Q: Lookahead<P>>(
        &mut self,
        qdisc: &mut Q,
        now: Instant,
        config: Q::Config,
        drops: &mut impl Drops<P>,
    ) {
        // A lower limit drops packets at once.
        self.look(qdisc, now, Moment::Waiting);
        let counted = self.count(drops, |mut sink| qdisc.reconfigure(now, config, &mut sink));
        self.end(qdisc, counted);
    }

    /// Calls the discipline. Returns, if it dropped the packet, how many it dropped before and in
    /// all.
    fn count(
        &self,
        drops: &mut impl Drops<P>,
        call: impl FnOnce(&mut dyn FnMut(P, DropReason)),
    ) -> Option<(u32, u32)> {
        let mut all = 0_u32;
        let mut before = None;
        call(&mut |lost: P, why| {
            if before.is_none() && self.packet.is_some() && !self.is_over && (self.is_it)(&lost) {
                before = Some(all);
            }
            all = all.saturating_add(1);
            drops.dropped(lost, why);
        });
        before.map(|before| (before, all))
    }

    /// Looks at the queue before a call that may decide.
    fn look<Q: Lookahead<P>>(&mut self, qdisc: &Q, now: Instant, moment: Moment) {
        if !self.is_over && now == self.known.ended {
            // Several calls may come at this instant. The last look is that before the call which
            // decided.
            self.decision = self.scene(qdisc, now, moment);
        }
    }

    /// Looks at the queue after the call that decided.
    fn end<Q: Lookahead<P>>(&mut self, qdisc: &Q, counted: Option<(u32, u32)>) {
        let Some(drops) = counted.filter(|_| !self.is_over) else { return };
        self.is_over = true;
        let Some(mut scene) = self.decision.take() else { return };
        if let Some(evidence) = self.evidence(qdisc, scene.at, scene.moment) {
            (scene.after, scene.drops) = (evidence, drops);
        }
        self.decision = Some(scene);
    }

    fn scene<Q: Lookahead<P>>(&self, qdisc: &Q, now: Instant, moment: Moment) -> Option<Scene> {
        let before = self.evidence(qdisc, now, moment)?;
        let packets = qdisc.len() as u64;
        let bytes = qdisc.backlog();
        // Replaced after the call, if that call decides.
        let after = before.clone();
        Some(Scene { moment, at: now, packets, bytes, before, after, drops: (0, 0) })
    }

    fn evidence<Q: Lookahead<P>>(&self, qdisc: &Q, now: Instant, moment: Moment) -> Option<Evidence> {
        let Known { arrived, ended, fate } = self.known;
        let about = Decision { now, arrived, ended, moment, fate };
        let packet = self.packet.as_ref()?;
        Some(qdisc.evidence(&Question { packet, about }))
    }

    /// Returns the story of packet `number` in the discipline `qdisc`; `None` if the packet never
    /// came. `what` describes the packet in a few words, such as its direction and flow.
    #[must_use]
    pub fn story(self, number: u64, qdisc: &str, what: &str) -> Option<Story> {
        let packet = self.packet?;
        let arrival = self.arrival?;
        let qdisc = qdisc.to_owned();
        let what = what.to_owned();
        let length = packet.len();
        let ecn = packet.ecn();
        let known = self.known;
        let departure = self.decision;
        Some(Story { number, qdisc, what, length, ecn, known, arrival, departure })
    }
}

impl Story {
    /// Returns the scene in which the packet's fate was decided. An AQM that signals congestion to
    /// arriving packets decides at arrival, also about a packet that it sends later.
    #[must_use]
    pub fn decision(&self) -> &Scene {
        let decides = |scene: &Scene| scene.before.levels().any(|level| !level.rules.is_empty());
        match &self.departure {
            Some(departure) if decides(departure) || !decides(&self.arrival) => departure,
            _ => &self.arrival,
        }
    }

    /// Returns the state that the deciding rule looked at, before and after the decision.
    #[must_use]
    pub fn values(&self) -> Vec<Value> {
        let scene = self.decision();
        let later = |kind: &str, name: &str| {
            let level = scene.after.levels().find(|level| level.kind == kind)?;
            level.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value)
        };
        let of_level = |level: &Evidence| {
            let kind = level.kind;
            let value = |fact: &goodqueue::decision::Fact| {
                // A decision changes neither parameters nor the values of the packet.
                let after = later(kind, fact.name).filter(|_| !fact.is_given);
                Value { kind, name: fact.name, before: fact.value, after, doc: fact.doc }
            };
            level.facts.iter().map(value).collect::<Vec<_>>()
        };
        scene.before.levels().flat_map(of_level).collect()
    }

    /// Returns the state of algorithms of other crates at the deciding rule, before and after the
    /// decision.
    #[must_use]
    pub fn state(&self) -> Vec<StateValue> {
        let scene = self.decision();
        let later = |kind: &str, name: &str| {
            let level = scene.after.levels().find(|level| level.kind == kind)?;
            level.state.iter().find(|field| field.name == name).map(|field| field.value.clone())
        };
        let of_level = |level: &Evidence| {
            let value = |field: &Remembered| StateValue {
                kind: level.kind,
                name: field.name.clone(),
                before: field.value.clone(),
                after: later(level.kind, &field.name),
            };
            level.state.iter().map(value).collect::<Vec<_>>()
        };
        scene.before.levels().flat_map(of_level).collect()
    }

    /// Returns how long the packet was queued.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.known.ended.since(self.known.arrived)
    }
}

/// A discipline with a witness, for drivers that are generic over [`Qdisc`].
#[derive(Debug)]
pub struct Watched<P, Q> {
    /// The discipline.
    pub qdisc: Q,
    /// The witness.
    pub witness: Witness<P>,
}

impl<P: Packet + Clone, Q: Lookahead<P>> Qdisc<P> for Watched<P, Q> {
    type Config = Q::Config;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.witness.enqueue(&mut self.qdisc, now, packet, drops);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.witness.dequeue(&mut self.qdisc, now, drops)
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

    fn reconfigure(&mut self, now: Instant, config: Q::Config, drops: &mut impl Drops<P>) {
        self.witness.reconfigure(&mut self.qdisc, now, config, drops);
    }

    fn config(&self) -> Q::Config {
        self.qdisc.config()
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.qdisc.purge(now, drops);
    }
}
