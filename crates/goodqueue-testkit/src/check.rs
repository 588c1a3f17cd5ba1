//! A queue under supervision: every operation is followed by a check of what must always hold.
//!
//! The invariants have numbers: I1 identities of the counters, I2 each packet leaves once, I3
//! limits, I4 order within a flow, I5 an empty queue gives nothing and another one something, I7
//! the backlog is the sum of what is queued, I9 the next event lies ahead, I10 no more drops than
//! there were packets, I12 ECN, I13 no packet from the future, I14 the configuration reads back,
//! I15 a copy behaves as its original.

use std::collections::BTreeMap;

use goodqueue::random::Source;
use goodqueue::{
    AnyConfig, AnyQdisc, Count, DropReason, Ecn, Instant, Link, Packet, Qdisc, Settings,
    config::{Children, Value},
};

use crate::operation::{Operation, TestPacket};

/// A queue, a copy of it once one was made, and what must be known to check them.
#[derive(Clone, Debug)]
pub struct Checked {
    qdisc: AnyQdisc<TestPacket>,
    twin: Option<AnyQdisc<TestPacket>>,
    now: Instant,
    latest: Instant,
    next_id: u64,
    queued: BTreeMap<u64, TestPacket>,
    /// Their bytes.
    held: u64,
    /// What the configuration says that the checks after each operation ask for.
    known: Known,
    /// Who chooses a class for each packet may reorder a flow between classes.
    last_of_flow: BTreeMap<(u32, Option<u32>, usize, u8), u64>,
    /// The first packet after each change of a discipline with classes, or of `cake`: a flow may be
    /// in another class or queue from then on.
    epochs: Vec<u64>,
    offered: Count,
    dequeued: Count,
    dropped: Count,
    marked: MarksSeen,
    operations: u64,
}

/// Of a configuration, found once after each change.
#[derive(Clone, Debug)]
struct Known {
    /// Of packets and of bytes, with their names, and what may be held: more than a limit only what
    /// was there when the limit was lowered.
    limits: Vec<(&'static str, Value, u64)>,
    /// The `memory_limit` of Linux's `fq_codel` and the packets that there were last: an arrival
    /// beyond it makes one batch of `drop_batch` drops, which may not suffice.
    batched: Option<(u64, usize)>,
    reorders: bool,
    /// `dualpi2` is somewhere in the tree: it has two queues, between which the ECN field chooses.
    dual: bool,
    /// After how many operations the counters are compared: where thousands of classes add up to
    /// them, not after each.
    counted_each: u64,
}

impl Known {
    fn from_qdisc(qdisc: &AnyQdisc<TestPacket>) -> Self {
        let config = qdisc.config();
        let settings = config.to_settings();
        // The parameter decides, not the name: another crate may have a copy of `fq_codel`.
        let variant = settings.choice("variant");
        let by_batches = settings.get(DROP_BATCH).is_some() && matches!(variant, Some("linux" | "linux61"));
        let batched = match settings.get(MEMORY_LIMIT) {
            Some(Value::Bytes(limit)) if by_batches => Some((limit, qdisc.len())),
            _ => None,
        };
        // Linux's fq_pie counts arrivals beyond its memory limit, but drops none of them.
        let only_counts = config.kind().name == "fq_pie" && variant == Some("linux");
        // Before the first check anything may be held: the limit may have been lowered.
        let limit = |name| settings.get(name).map(|value| (name, value, u64::MAX));
        let memory = (batched.is_none() && !only_counts).then_some(MEMORY_LIMIT);
        // The `limit` of `fq` is one of each band.
        let packets = (config.kind().name != "fq").then_some("limit");
        let strict = packets.into_iter().chain(memory);
        Self {
            limits: strict.filter_map(limit).collect(),
            batched,
            // The fast path of `fq` may overtake packets of a flow that waits, as in Linux. Queue
            // protection and `hhf` move packets of a flow to another queue.
            reorders: reorders(&settings)
                || ["fq", "docsis", "hhf"].iter().any(|kind| holds(kind, config.kind().name, &settings)),
            dual: holds("dualpi2", config.kind().name, &settings),
            counted_each: if classes(config.kind().name, &settings) > MANY_CLASSES { 64 } else { 1 },
        }
    }
}

/// Packets that came without CE and left with it.
#[derive(Clone, Copy, Default, Debug)]
struct MarksSeen {
    sent: u64,
    dropped: u64,
}

/// What an operation made of packets.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Outcome {
    /// The packet sent.
    pub sent: Option<TestPacket>,
    /// Those dropped, in order.
    pub dropped: Vec<(TestPacket, DropReason)>,
}

impl Checked {
    /// Supervises an empty queue with this configuration.
    #[must_use]
    pub fn new(config: AnyConfig, seed: u64) -> Self {
        let qdisc = AnyQdisc::new(config, 1, Source::seeded(seed));
        Self {
            known: Known::from_qdisc(&qdisc),
            qdisc,
            twin: None,
            now: Instant::ZERO,
            latest: Instant::ZERO,
            next_id: 0,
            queued: BTreeMap::new(),
            held: 0,
            last_of_flow: BTreeMap::new(),
            epochs: Vec::new(),
            offered: Count::default(),
            dequeued: Count::default(),
            dropped: Count::default(),
            marked: MarksSeen::default(),
            operations: 0,
        }
    }

    /// The queue.
    #[must_use]
    pub fn qdisc(&self) -> &AnyQdisc<TestPacket> {
        &self.qdisc
    }

    /// Does `operation` and checks everything.
    ///
    /// # Errors
    /// The invariant that does not hold.
    pub fn apply(&mut self, operation: &Operation) -> Result<Outcome, String> {
        let before = self.queued.len();
        self.operations += 1;
        let packet = match operation {
            Operation::Advance(step) => {
                self.now = step.from(self.now);
                None
            }
            Operation::Snapshot => {
                self.twin = Some(self.qdisc.clone());
                None
            }
            Operation::Restore => {
                if let Some(twin) = self.twin.take() {
                    self.qdisc = twin;
                }
                None
            }
            Operation::Enqueue { len, flow, class, ecn } => Some(self.offer(*len, *flow, *class, *ecn)),
            _ => None,
        };
        // Only a call tells the queue the time.
        let touches = !matches!(operation, Operation::Advance(_) | Operation::Snapshot | Operation::Restore);
        // Packets from the next number on may be put elsewhere than their predecessors.
        if let Operation::Reconfigure(config) = operation
            && (config.kind().children != Children::None || MOVES_FLOWS.contains(&config.kind().name))
        {
            self.epochs.push(self.next_id);
        }
        if touches {
            self.latest = self.latest.max(self.now);
        }
        let outcome = perform(&mut self.qdisc, self.now, operation, packet);
        if matches!(operation, Operation::Reconfigure(_) | Operation::Restore) {
            self.known = Known::from_qdisc(&self.qdisc);
        }
        if let Some(twin) = &mut self.twin {
            let theirs = perform(twin, self.now, operation, packet);
            ensure(theirs == outcome, || format!("I15: the copy does {theirs:?}, the original {outcome:?}"))?;
            let counts = (twin.len(), twin.backlog());
            let ours = (self.qdisc.len(), self.qdisc.backlog());
            ensure(counts == ours, || format!("I15: the copy has {counts:?}, the original {ours:?}"))?;
            if self.operations.is_multiple_of(self.known.counted_each) {
                let theirs = twin.stats();
                let ours = self.qdisc.stats();
                ensure(theirs == ours, || format!("I15: the copy counts {theirs:?}, the original {ours:?}"))?;
            }
        }
        self.settle(operation, &outcome, before)?;
        self.check(operation)?;
        Ok(outcome)
    }

    /// Takes out everything that is queued, as a link would, with time for shapers to let go;
    /// checks that nothing stays.
    ///
    /// # Errors
    /// The invariant that does not hold.
    pub fn drain(&mut self) -> Result<(), String> {
        // A queue that gives nothing would be asked without end.
        let bound = 10 * self.queued.len() + 10;
        for _ in 0..bound {
            if self.queued.is_empty() || self.waits_at_the_end_of_time() {
                break;
            }
            self.now = self.qdisc.next_event(self.latest).unwrap_or(self.now);
            self.apply(&Operation::Dequeue)?;
        }
        if self.waits_at_the_end_of_time() {
            return Ok(());
        }
        ensure(self.queued.is_empty(), || format!("I5: {} packets never leave", self.queued.len()))?;
        self.check_counters()?;
        let marked = self.qdisc.stats().marked.packets;
        let seen = self.marked;
        // A packet that is marked and then dropped may count as marked or not.
        ensure((seen.sent..=seen.sent + seen.dropped).contains(&marked), || {
            format!("I12: {marked} counted as marked, {seen:?} seen")
        })
    }

    /// A shaper that waits for a time that cannot be named.
    fn waits_at_the_end_of_time(&self) -> bool {
        self.latest == Instant::MAX && self.qdisc.next_event(self.latest).is_some()
    }

    fn offer(&mut self, len: u32, flow: u32, class: Option<u32>, ecn: Ecn) -> TestPacket {
        let at = self.latest.max(self.now);
        let packet = TestPacket { id: self.next_id, len, flow, class, came_with: ecn, ecn, at };
        self.next_id += 1;
        self.offered.add(len);
        self.queued.insert(packet.id, packet);
        self.held += u64::from(len);
        packet
    }

    /// Books what left and checks each packet.
    fn settle(&mut self, operation: &Operation, outcome: &Outcome, before: usize) -> Result<(), String> {
        let offered = usize::from(matches!(operation, Operation::Enqueue { .. }));
        ensure(outcome.dropped.len() <= before + offered, || "I10: more drops than packets".to_owned())?;
        for (packet, _) in &outcome.dropped {
            self.leaves(packet)?;
            self.dropped.add(packet.len);
            self.marked.dropped += u64::from(packet.ecn != packet.came_with);
        }
        if let Some(packet) = &outcome.sent {
            self.leaves(packet)?;
            self.dequeued.add(packet.len);
            self.marked.sent += u64::from(packet.ecn != packet.came_with);
            let epoch = self.epochs.partition_point(|&first| first <= packet.id);
            // Each of the two queues keeps its own order.
            let ecn = if self.known.dual { packet.came_with.bits() } else { 0 };
            let flow = (packet.flow, packet.class, epoch, ecn);
            let last = self.last_of_flow.insert(flow, packet.id);
            let orderly = last.is_none_or(|last| last < packet.id);
            ensure(orderly || self.known.reorders, || {
                format!("I4: {} of flow {} leaves after {last:?}", packet.id, packet.flow)
            })?;
        }
        let idle =
            matches!(operation, Operation::Dequeue) && outcome.sent.is_none() && outcome.dropped.is_empty();
        let waits = self.qdisc.next_event(self.latest).is_some();
        ensure(!idle || before == 0 || waits, || format!("I5: {before} packets queued, none sent or dropped"))
    }

    fn leaves(&mut self, packet: &TestPacket) -> Result<(), String> {
        let known = self.queued.remove(&packet.id);
        let known = known.ok_or_else(|| format!("I2: packet {} leaves again", packet.id))?;
        self.held -= u64::from(known.len);
        let ecn = match known.ecn {
            Ecn::NotEct | Ecn::Ce => packet.ecn == known.ecn,
            capable => packet.ecn == capable || packet.ecn == Ecn::Ce,
        };
        ensure(ecn, || format!("I12: {:?} became {:?}", known.ecn, packet.ecn))?;
        ensure(TestPacket { ecn: known.ecn, ..*packet } == known, || {
            format!("I2: {known:?} became {packet:?}")
        })?;
        ensure(packet.at <= self.latest, || format!("I13: {packet:?} leaves at {:?}", self.latest))
    }

    fn check(&mut self, operation: &Operation) -> Result<(), String> {
        let len = self.qdisc.len();
        let backlog = self.qdisc.backlog();
        let held = self.held;
        ensure(len == self.queued.len(), || format!("I5: len is {len}, {} are queued", self.queued.len()))?;
        ensure(self.qdisc.is_empty() == self.queued.is_empty(), || "I5: is_empty is wrong".to_owned())?;
        ensure(backlog == held, || format!("I7: backlog is {backlog}, {held} bytes are queued"))?;
        if self.operations.is_multiple_of(self.known.counted_each) {
            self.check_counters()?;
        }
        self.check_limits()?;
        if let Some(event) = self.qdisc.next_event(self.latest) {
            let fits = event > self.latest || self.latest == Instant::MAX;
            ensure(fits, || format!("I9: next event {event:?}, now {:?}", self.latest))?;
        }
        if let Operation::Reconfigure(config) = operation {
            let given = config.to_settings();
            let now = self.qdisc.config().to_settings();
            for (name, value) in given.iter().filter(|(name, _)| !FIXED.contains(name)) {
                let force = now.get(name);
                ensure(force.as_ref() == Some(&value), || {
                    format!("I14: {name} {force:?} in force, {value} was given")
                })?;
            }
        }
        Ok(())
    }

    fn check_counters(&self) -> Result<(), String> {
        let stats = self.qdisc.stats();
        let queued = Count { packets: self.qdisc.len() as u64, bytes: self.qdisc.backlog() };
        let identities = [
            ("offered", stats.offered, self.offered),
            ("dequeued", stats.dequeued, self.dequeued),
            ("dropped", stats.dropped(), self.dropped),
            ("enqueued + dropped before", stats.enqueued.plus(stats.dropped_before), self.offered),
            ("after enqueue", queued.plus(stats.dequeued).plus(stats.dropped_after), stats.enqueued),
        ];
        for (name, ours, theirs) in identities {
            ensure(ours == theirs, || format!("I1: {name}: {ours:?}, should be {theirs:?}"))?;
        }
        Ok(())
    }

    fn check_limits(&mut self) -> Result<(), String> {
        for (name, limit, most) in &mut self.known.limits {
            let (held, limit) = match *limit {
                Value::Packets(limit) => (self.qdisc.len() as u64, limit),
                Value::Bytes(limit) => (self.qdisc.backlog(), limit),
                _ => continue,
            };
            ensure(held <= *most, || format!("I3: {held} held, {name} is {limit}, {most} were held"))?;
            // What exceeds a lowered limit may leave, but not come back.
            *most = held.max(limit);
        }
        let backlog = self.qdisc.backlog();
        let len = self.qdisc.len();
        if let Some((limit, before)) = &mut self.known.batched {
            ensure(backlog <= *limit || len <= *before, || {
                format!("I3: {backlog} bytes held, {MEMORY_LIMIT} is {limit}, {len} packets after {before}")
            })?;
            *before = len;
        }
        Ok(())
    }
}

/// Checks that writing `config` as settings and reading them gives it again (I14).
///
/// # Errors
/// It does not.
pub fn round_trip(config: &AnyConfig, link: &Link) -> Result<(), String> {
    let settings = config.to_settings();
    let again = AnyConfig::from_settings(config.kind().name, &settings, link);
    ensure(again.as_ref() == Some(&Ok(config.clone())), || {
        format!("I14: {config:?} as {settings:?} is {again:?}")
    })
}

fn perform(
    qdisc: &mut AnyQdisc<TestPacket>,
    now: Instant,
    operation: &Operation,
    packet: Option<TestPacket>,
) -> Outcome {
    let mut dropped = Vec::new();
    let mut sink = |lost: TestPacket, why: DropReason| dropped.push((lost, why));
    let sent = match (operation, packet) {
        (Operation::Enqueue { .. }, Some(offered)) => {
            qdisc.enqueue(now, offered, &mut sink);
            None
        }
        (Operation::Dequeue, _) => qdisc.dequeue(now, &mut sink),
        (Operation::Reconfigure(config), _) => {
            qdisc.reconfigure(now, config.clone(), &mut sink);
            None
        }
        (Operation::Purge, _) => {
            qdisc.purge(now, &mut sink);
            None
        }
        _ => None,
    };
    debug_assert!(sent.is_none_or(|p| p.len() == p.len));
    Outcome { sent, dropped }
}

/// True if the discipline called `name`, or one inside it, is called `wanted`.
fn holds(wanted: &str, name: &str, settings: &Settings) -> bool {
    let inner = settings.children().iter().filter_map(|child| child.qdisc.as_ref());
    name == wanted || inner.into_iter().any(|(name, settings)| holds(wanted, name, settings))
}

/// The most classes without a discipline of their own that `drr` or `qfq` in the tree has.
fn classes(name: &str, settings: &Settings) -> u64 {
    let own = match settings.get("flows") {
        Some(Value::Integer(flows)) if name == "drr" || name == "qfq" => flows,
        _ => 0,
    };
    let inner = settings.children().iter().filter_map(|child| child.qdisc.as_ref());
    inner.map(|(name, settings)| classes(name, settings)).fold(own, u64::max)
}

/// Beyond these, adding up the classes' counters takes longer than all else.
const MANY_CLASSES: u64 = 256;

/// What a discipline need not change while packets are queued (Linux fq_codel does not).
const FIXED: [&str; 1] = ["flows"];

/// Whether somewhere in the tree a network is emulated that reorders.
fn reorders(settings: &Settings) -> bool {
    settings.get(REORDERING).is_some()
        || settings
            .children()
            .iter()
            .filter_map(|child| child.qdisc.as_ref())
            .any(|(_, inner)| reorders(inner))
}

/// Disciplines without classes that may put later packets of a flow into another queue after a
/// change.
const MOVES_FLOWS: &[&str] = &["cake", "docsis", "dualpi2", "fq"];
const MEMORY_LIMIT: &str = "memory_limit";
const DROP_BATCH: &str = "drop_batch";
/// The parameter that netem alone has.
const REORDERING: &str = "delay.jitter";

fn ensure(holds: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text()) }
}
