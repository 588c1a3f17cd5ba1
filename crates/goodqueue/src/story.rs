//! The story of one packet: what it found, what happened to it, and the rule that decided.
//!
//! A [`Witness`] stands between a driver and its queue in a second run of the same arrivals. The
//! first run tells which packet is meant and when its fate was decided; the witness then asks the
//! discipline for its [`Account`] before and after that decision. The data path of every other run
//! knows nothing of it.
//!
//! A [`Story`] is plain values. [`Story::sentences`] and [`Story::values`] put it into words, for a
//! terminal and for a browser alike.
//!
//! ```
//! use goodqueue::account::Fate;
//! use goodqueue::fifo::{Pfifo, PfifoConfig};
//! use goodqueue::story::{Known, Witness};
//! use goodqueue::{Datagram, DropReason, FlowKey, Instant};
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

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::account::{Account, Decision, Fate, Moment, Quantity, Question, Recalled, Remembered, readable};
use crate::packet::{Ecn, Packet};
use crate::qdisc::{DropReason, Drops, Lookahead, Qdisc, Stats};
use crate::time::{Duration, Instant};

/// What the first run has told about the packet.
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
    /// Account before the call.
    pub before: Account,
    /// Account after the call.
    pub after: Account,
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
        let arrives = self.packet.is_none() && (self.is_it)(&packet);
        if arrives {
            self.packet = Some(packet.clone());
            self.arrival = self.scene(qdisc, now, Moment::Arrival);
        } else {
            self.look(qdisc, now, Moment::Waiting);
        }
        let counted = self.count(drops, |mut sink| qdisc.enqueue(now, packet, &mut sink));
        if arrives {
            let account = self.account(qdisc, now, Moment::Arrival);
            if let (Some(scene), Some(account)) = (&mut self.arrival, account) {
                scene.after = account;
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
        let (mut all, mut before) = (0_u32, None);
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
            self.decision = self.scene(qdisc, now, moment);
        }
    }

    /// Looks at the queue after the call that decided.
    fn end<Q: Lookahead<P>>(&mut self, qdisc: &Q, counted: Option<(u32, u32)>) {
        let Some(drops) = counted.filter(|_| !self.is_over) else { return };
        self.is_over = true;
        let Some(mut scene) = self.decision.take() else { return };
        if let Some(account) = self.account(qdisc, scene.at, scene.moment) {
            (scene.after, scene.drops) = (account, drops);
        }
        self.decision = Some(scene);
    }

    fn scene<Q: Lookahead<P>>(&self, qdisc: &Q, now: Instant, moment: Moment) -> Option<Scene> {
        let before = self.account(qdisc, now, moment)?;
        let (packets, bytes, after) = (qdisc.len() as u64, qdisc.backlog(), before.clone());
        Some(Scene { moment, at: now, packets, bytes, before, after, drops: (0, 0) })
    }

    fn account<Q: Lookahead<P>>(&self, qdisc: &Q, now: Instant, moment: Moment) -> Option<Account> {
        let Known { arrived, ended, fate } = self.known;
        let about = Decision { now, arrived, ended, moment, fate };
        let packet = self.packet.as_ref()?;
        Some(qdisc.account(&Question { packet, about }))
    }

    /// Returns the story of packet `number` in the discipline `qdisc`; `None` if the packet never
    /// came. `what` describes the packet in a few words, such as its direction and flow.
    #[must_use]
    pub fn story(self, number: u64, qdisc: &str, what: &str) -> Option<Story> {
        let (packet, arrival) = (self.packet?, self.arrival?);
        let (qdisc, what) = (qdisc.to_owned(), what.to_owned());
        let (length, ecn) = (packet.len(), packet.ecn());
        let (known, departure) = (self.known, self.decision);
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

    /// Returns the story in sentences.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let Self { number, length, known, arrival, departure, .. } = self;
        let mut told = Vec::new();
        let found = match arrival.packets {
            0 => "an empty queue".to_owned(),
            packets => format!("{} ({} bytes) queued", Quantity::Packets(packets), arrival.bytes),
        };
        let arrived = seconds(known.arrived);
        let what = if self.what.is_empty() { String::new() } else { format!("; {}", self.what) };
        told.push(format!("Packet {number} ({length} bytes{what}) arrived at {arrived}. It found {found}."));
        let ended = seconds(known.ended);
        let waited = known.ended.since(known.arrived);
        let when = match departure {
            None => "at once".to_owned(),
            Some(_) if waited.is_zero() => format!("at {ended}, without waiting"),
            Some(_) => format!("at {ended}, after {} in the queue", readable(waited)),
        };
        told.push(match known.fate {
            Fate::Sent => format!("It was sent {when}, without a mark."),
            Fate::Marked => format!("It was sent {when}, with the mark CE: congestion experienced."),
            Fate::Dropped(why) => format!("It was dropped {when} ({}).", why.name()),
        });
        let scenes = [Some(arrival), departure.as_ref()];
        for level in scenes.iter().flatten().flat_map(|scene| scene.before.levels()) {
            for rule in &level.rules {
                told.push(format!("{}: {}", level.kind, sourced(&rule.text, rule.source)));
            }
        }
        let decision = self.decision();
        if let Fate::Dropped(why) = known.fate
            && told.len() == 2
        {
            told.push(sourced(why.sentence(), decision.before.reference));
        }
        let (before, all) = decision.drops;
        if all > 1 {
            told.push(format!("The same call dropped {all} packets; this was number {}.", before + 1));
        }
        told
    }

    /// Returns the state that the deciding rule looked at, before and after the decision.
    #[must_use]
    pub fn values(&self) -> Vec<Value> {
        let scene = self.decision();
        let later = |kind: &str, name: &str| {
            let level = scene.after.levels().find(|level| level.kind == kind)?;
            level.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value)
        };
        let of_level = |level: &Account| {
            let kind = level.kind;
            let value = |fact: &crate::account::Fact| {
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
        let of_level = |level: &Account| {
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

/// Writes the story as text: the sentences, and the values as a table.
impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fill(f, &self.qdisc)?;
        for sentence in self.sentences() {
            writeln!(f)?;
            fill(f, &sentence)?;
        }
        let (values, state) = (self.values(), self.state());
        if values.is_empty() && state.is_empty() {
            return Ok(());
        }
        let of_state = |value: &StateValue| {
            let after = value.after.as_ref().map_or_else(String::new, ToString::to_string);
            [value.name.clone(), value.before.to_string(), after, format!("state of {}", value.kind)]
        };
        let shown = |value: &Value| {
            let after = value.after.map_or_else(String::new, |after| format!("{after}"));
            [value.name.to_owned(), format!("{}", value.before), after, value.doc.to_owned()]
        };
        let heading = ["state", "before", "after", ""].map(ToOwned::to_owned);
        let rows: Vec<_> = core::iter::once(heading)
            .chain(values.iter().map(shown))
            .chain(state.iter().map(of_state))
            .collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let [name, before, after] = [width(0), width(1), width(2)];
        writeln!(f)?;
        for row in &rows {
            let line = format!("{:name$}  {:>before$}  {:>after$}  {}", row[0], row[1], row[2], row[3]);
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Returns a sentence and its source, if it has one.
fn sourced(sentence: &str, source: &str) -> String {
    if source.is_empty() { sentence.to_owned() } else { format!("{sentence} [{source}]") }
}

/// Writes a paragraph in lines of at most 80 characters.
fn fill(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let mut column = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > LINE {
            writeln!(f)?;
            column = 0;
        }
        if column > 0 {
            f.write_str(" ")?;
            column += 1;
        }
        f.write_str(word)?;
        column += length;
    }
    writeln!(f)
}

const LINE: usize = 80;

/// Returns a time in seconds to the microsecond, without needless zeros.
fn seconds(at: Instant) -> String {
    let micros = at.as_nanos() / 1_000;
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    format!("{} s", text.trim_end_matches('0').trim_end_matches('.'))
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
