//! `hfsc` beside its model, and beside the guarantees of its paper.

use std::cell::Cell;

use goodqueue::config::{Child, Value};
use goodqueue::gauge::{Gauge, Observation};
use goodqueue::hfsc::{Hfsc, HfscConfig};
use goodqueue::random::{Random as _, Source, Xoshiro256PlusPlus};
use goodqueue::{AnyConfig, AnyQdisc, DropReason, Duration, Ecn, Instant, Qdisc as _, Rate, Settings};
use goodqueue_testkit::operation::TestPacket;
use goodqueue_testkit::reference::Item;
use goodqueue_testkit::reference::hfsc::{Class, Curve, Limit, Model, Plan, Shown};
use proptest::prelude::*;
use proptest::sample::select;

use crate::harness::{configured, runner, with_pauses};

type Queue = Hfsc<TestPacket, AnyQdisc<TestPacket>>;

mod curves;
mod guarantees;
mod recorded;

#[test]
fn hfsc_decides_as_its_paper_and_linux_say() {
    let seen = Seen::default();
    let outcome = runner(600).run(&(events(), any::<u64>()), |(events, seed)| agree(&events, seed, &seen));
    if let Err(difference) = outcome {
        panic!("{difference}");
    }
    // Each kind of decision was compared.
    let least = seen.counts().into_iter().min_by_key(|count| count.1);
    assert!(least.is_some_and(|(_, count)| count > 1_000), "{:?}", seen.counts());
}

/// What happens to a queue.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A packet arrives for a leaf, which is counted around.
    Arrives {
        len: u32,
        leaf: usize,
    },
    /// A packet arrives that may name no leaf.
    Strays {
        len: u32,
        class: Option<u32>,
    },
    Leaves,
    Passes(u64),
    /// The link waits for the next event that the discipline announces.
    Waits,
    /// The operator changes the classes, as a seed decides.
    Changes(u64),
    Purges,
}

/// Phases of overload and of draining, with pauses now and then.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let len = select(vec![1514_u32, 1514, 1000, 300, 40, 0]);
    let arrival = (len.clone(), 0_usize..8).prop_map(|(len, leaf)| Event::Arrives { len, leaf });
    let class = prop_oneof![(0..=NUMBERS).prop_map(Some), Just(None)];
    let stray = (len, class).prop_map(|(len, class)| Event::Strays { len, class });
    let phase = (1_u32..9, 1_u32..9, 20_usize..250).prop_flat_map(move |(arrivals, waits, count)| {
        let event = prop_oneof![
            20 * arrivals => arrival.clone(),
            3 => stray.clone(),
            80 => Just(Event::Leaves),
            20 * waits => Just(Event::Waits),
            80 => (0_u64..1_500_000).prop_map(Event::Passes),
            2 => any::<u64>().prop_map(Event::Changes),
            1 => Just(Event::Purges),
        ];
        proptest::collection::vec(event, count)
    });
    with_pauses(phase, Event::Passes)
}

/// How often each kind of decision was compared.
#[derive(Default)]
struct Seen {
    drops: Cell<u64>,
    /// Packets sent by a guarantee, and by a share.
    guaranteed: Cell<u64>,
    shared: Cell<u64>,
    /// Times that no class might send.
    overlimits: Cell<u64>,
    changes: Cell<u64>,
}

impl Seen {
    fn counts(&self) -> [(&'static str, u64); 5] {
        [
            ("drops", self.drops.get()),
            ("guaranteed", self.guaranteed.get()),
            ("shared", self.shared.get()),
            ("overlimits", self.overlimits.get()),
            ("changes", self.changes.get()),
        ]
    }
}

fn add(count: &Cell<u64>, more: u64) {
    count.set(count.get() + more);
}

/// Compares every decision of the discipline with that of the model, and what they show.
fn agree(events: &[Event], seed: u64, seen: &Seen) -> Result<(), TestCaseError> {
    let mut draw = Draw(Xoshiro256PlusPlus::new(seed));
    let mut plan = draw.plan();
    let mut queue = Queue::new(config(&plan), 0, Source::seeded(seed));
    let mut model = Model::new(&plan);
    let mut now = 0;
    let mut id = 0;
    for (index, event) in events.iter().enumerate() {
        let mut dropped = Vec::new();
        let mut sink = |lost: TestPacket, _: DropReason| dropped.push(lost.id);
        let at = Instant::from_nanos(now);
        let before = model.shown();
        let mut expected = Vec::new();
        match *event {
            Event::Passes(nanos) => now += nanos,
            // A rate of a few bits per second makes a class wait for days, which would leave no
            // time in 64 bits.
            Event::Waits => now = model.next_event(now).filter(|at| *at < now + DAY).unwrap_or(now),
            Event::Arrives { len, .. } | Event::Strays { len, .. } => {
                let class = class_of(event, &plan);
                let ecn = Ecn::NotEct;
                queue.enqueue(at, TestPacket { id, len, flow: 0, class, came_with: ecn, ecn, at }, &mut sink);
                expected = model.enqueue(now, class, Item { id, len, at: now });
                id += 1;
            }
            Event::Leaves => {
                let sent = queue.dequeue(at, &mut sink).map(|packet| packet.id);
                prop_assert_eq!(sent, model.dequeue(now), "event {} at {} ns, {:?}", index, now, plan);
                let guaranteed = |all: &[Shown]| all.iter().map(|class| class.guaranteed_work).sum::<u64>();
                let by_guarantee = guaranteed(&model.shown()) > guaranteed(&before);
                let count = if by_guarantee { &seen.guaranteed } else { &seen.shared };
                add(count, u64::from(sent.is_some()));
            }
            Event::Changes(seed) => {
                let old = plan.clone();
                Draw(Xoshiro256PlusPlus::new(seed)).change(&mut plan);
                queue.reconfigure(at, config(&plan), &mut sink);
                expected = model.reconfigure(now, &old, &plan);
                add(&seen.changes, 1);
            }
            Event::Purges => {
                queue.purge(at, &mut sink);
                expected = model.purge();
            }
        }
        if matches!(event, Event::Changes(_) | Event::Purges) {
            // No rule orders what is dropped at once.
            dropped.sort_unstable();
            expected.sort_unstable();
        }
        add(&seen.drops, dropped.len() as u64);
        prop_assert_eq!(dropped, expected, "event {} at {} ns: {:?}, {:?}", index, now, event, plan);
        let next = queue.next_event(Instant::from_nanos(now)).map(Instant::as_nanos);
        prop_assert_eq!(
            next,
            model.next_event(now),
            "event {} at {} ns: {:?}, {:?}",
            index,
            now,
            event,
            plan
        );
        let observed = Observation::from_qdisc(&queue, at);
        prop_assert_eq!(shown(&observed), model.shown(), "event {} at {} ns: {:?}", index, now, event);
        prop_assert_eq!(observed.overlimits, model.overlimits());
    }
    add(&seen.overlimits, model.overlimits());
    Ok(())
}

/// The class of an arriving packet.
fn class_of(event: &Event, plan: &Plan) -> Option<u32> {
    let leaves: Vec<u32> =
        plan.classes.iter().filter(|class| class.queue.is_some()).map(|class| class.number).collect();
    match *event {
        Event::Arrives { leaf, .. } => leaves.get(leaf.checked_rem(leaves.len())?).copied(),
        Event::Strays { class, .. } => class,
        _ => None,
    }
}

/// What the discipline shows of its classes.
fn shown(observed: &Observation) -> Vec<Shown> {
    let number = |gauges: &[(&str, Gauge)], name| match gauges.iter().find(|gauge| gauge.0 == name) {
        Some((_, Gauge::Number(number))) => *number,
        _ => panic!("no {name}"),
    };
    let class = |part: &goodqueue::gauge::Part| Shown {
        class: part.class,
        period: number(&part.gauges, "period"),
        work: number(&part.gauges, "work"),
        guaranteed_work: number(&part.gauges, "rtwork"),
    };
    observed.parts.iter().map(class).collect()
}

/// The discipline's configuration.
fn config(plan: &Plan) -> HfscConfig<AnyConfig> {
    let mut settings = Settings::new().with("default", Value::Class(plan.default));
    for class in &plan.classes {
        let curves = [(RT, class.rt), (LS, class.ls), (UL, class.ul)];
        let mut own = Settings::new();
        for (words, curve) in curves {
            let Some(Curve { m1, d, m2 }) = curve else { continue };
            let rate = |bytes: u32| Value::Rate(Rate::from_bps(8 * u64::from(bytes)));
            own.set(words[0], rate(m1));
            own.set(words[1], Value::Time(Duration::from_micros(u64::from(d))));
            own.set(words[2], rate(m2));
        }
        let limit = |value| Settings::new().with("limit", value);
        let qdisc = class.queue.map(|queue| match queue {
            Limit::Packets(most) => ("pfifo", limit(Value::Packets(u64::from(most)))),
            Limit::Bytes(most) => ("bfifo", limit(Value::Bytes(u64::from(most)))),
            Limit::OldestOf(most) => ("pfifo_head_drop", limit(Value::Packets(u64::from(most)))),
        });
        settings.add_child(Child { class: class.number, parent: class.parent, settings: own, qdisc });
    }
    configured(&settings)
}

/// Random classes.
struct Draw(Xoshiro256PlusPlus);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let index = self.below(choices.len() as u64);
        choices[usize::try_from(index).expect("an index")]
    }

    fn curve(&mut self) -> Curve {
        // A first segment that ends within a byte behind a packet of 1000 bytes.
        if self.one_in(6) {
            return Curve { m1: 187_500, d: 5_337, m2: self.pick(&RATES) };
        }
        let m1 = self.pick(&RATES);
        // Often a line, as in most configurations.
        let m2 = if self.one_in(3) { m1 } else { self.pick(&RATES) };
        let d = self.pick(&LENGTHS);
        // A curve without any slope is refused.
        if m1 == 0 && m2 == 0 { Curve { m1, d, m2: 125_000 } } else { Curve { m1, d, m2 } }
    }

    /// Each class has a guarantee or a share, and an upper limit only beside a share.
    fn curves(&mut self, class: &Class) -> Class {
        let rt = (!self.one_in(3)).then(|| self.curve());
        let ls = (rt.is_none() || !self.one_in(4)).then(|| self.curve());
        let ul = (ls.is_some() && self.one_in(3)).then(|| self.curve());
        Class { rt, ls, ul, ..*class }
    }

    fn queue(&mut self) -> Limit {
        match self.below(4) {
            0 => Limit::Bytes(self.pick(&[600, 3_028, 20_000])),
            1 => Limit::OldestOf(self.pick(&[1, 2, 7])),
            _ => Limit::Packets(self.pick(&[1, 2, 10, 30])),
        }
    }

    /// A class below one of those that exist, or below the root.
    fn add(&mut self, plan: &mut Plan) {
        let numbers = 1..=NUMBERS;
        let is_free = |number: &u32| plan.classes.iter().all(|class| class.number != *number);
        let free: Vec<u32> = numbers.filter(is_free).collect();
        if free.is_empty() {
            return;
        }
        let number = self.pick(&free);
        let above: Vec<u32> = plan.classes.iter().map(|class| class.number).chain([0, 0]).collect();
        let parent = self.pick(&above);
        let passive = Class { number, parent, rt: None, ls: None, ul: None, queue: None };
        let class = self.curves(&passive);
        plan.classes.push(class);
    }

    /// Classes without others below them are leaves.
    fn complete(&mut self, plan: &mut Plan) {
        plan.classes.sort_by_key(|class| class.number);
        let parents: Vec<u32> = plan.classes.iter().map(|class| class.parent).collect();
        for class in &mut plan.classes {
            let queue = class.queue.unwrap_or_else(|| self.queue());
            class.queue = (!parents.contains(&class.number)).then_some(queue);
        }
    }

    fn plan(&mut self) -> Plan {
        let default = u32::try_from(self.below(4)).expect("a small number");
        let mut plan = Plan { default, classes: Vec::new() };
        for _ in 0..self.below(u64::from(NUMBERS)) + u64::from(!self.one_in(8)) {
            self.add(&mut plan);
        }
        self.complete(&mut plan);
        plan
    }

    /// New curves for some classes, other queues, another class, or one less.
    fn change(&mut self, plan: &mut Plan) {
        for class in &mut plan.classes {
            if self.one_in(3) {
                let new = self.curves(class);
                // Mostly, a class keeps a curve of each kind that it had, and goes on.
                let keeps = !self.one_in(4);
                let kept = |new: Option<Curve>, old: Option<Curve>| if keeps { new.or(old) } else { new };
                let [rt, ls] = [kept(new.rt, class.rt), kept(new.ls, class.ls)];
                let ul = kept(new.ul, class.ul).filter(|_| ls.is_some());
                *class = Class { rt, ls, ul, ..*class };
            }
            if self.one_in(6) {
                class.queue = class.queue.map(|_| self.queue());
            }
        }
        if self.one_in(4) {
            self.add(plan);
            // A class that was a leaf may have become a parent.
            self.complete(plan);
        }
        if self.one_in(4) && !plan.classes.is_empty() {
            let numbers: Vec<u32> = plan.classes.iter().map(|class| class.number).collect();
            let gone = self.pick(&numbers);
            // Only a leaf can go alone.
            plan.classes.retain(|class| class.number != gone || class.queue.is_none());
        }
        if self.one_in(20) {
            plan.classes.clear();
        }
        self.complete(plan);
    }
}

/// Classes have numbers from 1 to this.
const NUMBERS: u32 = 8;
/// Bytes per second: nothing, a byte, slow and usual rates, and the largest one.
const RATES: [u32; 12] =
    [0, 1, 8_000, 12_500, 125_000, 125_000, 187_500, 416_667, 1_250_000, 1_250_000, 125_000_000, u32::MAX];
/// µs.
const LENGTHS: [u32; 7] = [0, 1, 500, 3_000, 10_000, 77_000, 1_000_000];
/// ns.
const DAY: u64 = 86_400_000_000_000;
const RT: [&str; 3] = ["rt m1", "rt d", "rt m2"];
const LS: [&str; 3] = ["ls m1", "ls d", "ls m2"];
const UL: [&str; 3] = ["ul m1", "ul d", "ul m2"];
