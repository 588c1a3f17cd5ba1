//! What the paper promises of any discipline with its rules, whatever the packets.

use std::collections::{BTreeMap, VecDeque};

use goodqueue::random::{Source, Xoshiro256PlusPlus};
use goodqueue::{Ecn, Instant, Qdisc as _};
use goodqueue_testkit::operation::TestPacket;
use goodqueue_testkit::reference::hfsc::{Class, Curve, Limit, Plan};
use proptest::prelude::*;

use super::{Draw, Queue, config};
use crate::harness::runner;

/// §4: the service of a class with a real-time curve. At each time there is a start of one of its
/// active periods from which on it got its curve. A packet that was on the link can delay it, and a
/// packet leaves as a whole.
#[test]
fn a_guarantee_is_late_by_a_packet_at_most() {
    let mut checks = 0_u64;
    for_each_case(|draw| {
        // The steepest slopes of all together do not exceed the link, so all guarantees are
        // possible at once.
        let share = LINK / 4;
        let rates = [share, share / 2, share / 7, share / 50];
        let curve = |draw: &mut Draw| {
            let d = draw.pick(&[0, 3_000, 20_000, 200_000]);
            Some(Curve { m1: draw.pick(&rates), d, m2: draw.pick(&rates) })
        };
        let classes: Vec<Class> = (1..=4).map(|number| leaf(number, curve(draw), None, None)).collect();
        // Two classes without a guarantee want everything.
        let hungry = (5..=6).map(|number| leaf(number, None, flat(LINK), None));
        let mut line = Line::new(&plan(classes.iter().copied().chain(hungry)));
        let mut bursts = Bursts::new(draw, &[1, 2, 3, 4]);
        while line.now < SPAN {
            bursts.arrive(draw, &mut line);
            line.fill(&[5, 6], draw);
            line.send();
            for class in &classes {
                let history = &line.classes[&class.number];
                if history.queued.is_empty() {
                    continue;
                }
                let Some(curve) = class.rt else { continue };
                let late = line.now.saturating_sub(time_on_link(LONGEST));
                let is_served = |start: &Start| {
                    let due = bytes_by(curve, late.saturating_sub(start.at));
                    (history.taken - start.taken + u64::from(LONGEST)) as f64 >= due
                };
                checks += 1;
                assert!(history.starts.iter().any(is_served), "{class:?} at {} ns", line.now);
            }
        }
    });
    assert!(checks > 10_000, "{checks}");
}

/// An upper limit holds from each time at which the class becomes active, for a class and for all
/// classes below it. Only a packet that leaves as a whole exceeds it.
#[test]
fn an_upper_limit_is_exceeded_by_a_packet_at_most() {
    let mut checks = 0_u64;
    for_each_case(|draw| {
        // Concave: of convex curves Linux keeps an older one that allows more.
        let rates = [LINK / 3, LINK / 10, LINK / 40];
        let curve = |draw: &mut Draw| {
            let m2 = draw.pick(&rates);
            let m1 = draw.pick(&[1, 2, 3]) * m2;
            Some(Curve { m1, d: draw.pick(&[0, 3_000, 20_000, 200_000]), m2 })
        };
        let limited = leaf(1, None, flat(LINK), curve(draw));
        let above = Class { number: 2, queue: None, ul: curve(draw), ..limited };
        let below = (3..=4).map(|number| Class { parent: 2, ..leaf(number, None, flat(LINK), None) });
        let mut line = Line::new(&plan([limited, above].into_iter().chain(below)));
        let mut bursts = Bursts::new(draw, &[1, 3, 4]);
        while line.now < SPAN {
            bursts.arrive(draw, &mut line);
            let at = line.now;
            line.send();
            for (class, leaves) in [(limited, vec![1]), (above, vec![3, 4])] {
                let Some(curve) = class.ul else { continue };
                let history = line.together(&leaves);
                for start in &history.starts {
                    let allowed = bytes_by(curve, at - start.at);
                    // The slope, the end of the first segment and the time of a byte are rounded to
                    // ticks of 64 ns, in which the fastest curve sends less than a byte.
                    let most = allowed + f64::from(LONGEST) + 3.0;
                    checks += 1;
                    assert!((history.taken - start.taken) as f64 <= most, "{class:?} at {at} ns");
                }
            }
        }
    });
    assert!(checks > 10_000, "{checks}");
}

/// §4: siblings that always have packets share by their curves. What they have sent differs by a
/// packet of each at most.
#[test]
fn the_shares_of_busy_siblings_differ_by_a_packet_of_each_at_most() {
    for_each_case(|draw| {
        let numbers = [1, 2, 3, 4];
        let rates = numbers.map(|_| draw.pick(&[LINK / 100, LINK / 9, LINK / 2, LINK]));
        let classes = numbers.iter().zip(rates).map(|(number, rate)| leaf(*number, None, flat(rate), None));
        let mut line = Line::new(&plan(classes));
        while line.now < SPAN {
            line.fill(&numbers, draw);
            line.send();
            for (one, one_rate) in numbers.iter().zip(rates) {
                for (other, other_rate) in numbers.iter().zip(rates) {
                    let time = |number: &u32, rate: u32| line.classes[number].taken as f64 / f64::from(rate);
                    let packet = |rate: u32| f64::from(LONGEST) / f64::from(rate);
                    let apart = (time(one, one_rate) - time(other, other_rate)).abs();
                    assert!(apart <= packet(one_rate) + packet(other_rate), "{one} and {other}: {apart} s");
                }
            }
        }
    });
}

fn for_each_case(mut case: impl FnMut(&mut Draw)) {
    let case = std::cell::RefCell::new(&mut case);
    let outcome = runner(20).run(&any::<u64>(), |seed| {
        (case.borrow_mut())(&mut Draw(Xoshiro256PlusPlus::new(seed)));
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

fn plan(classes: impl IntoIterator<Item = Class>) -> Plan {
    Plan { default: 0, classes: classes.into_iter().collect() }
}

fn leaf(number: u32, rt: Option<Curve>, ls: Option<Curve>, ul: Option<Curve>) -> Class {
    Class { number, parent: 0, rt, ls, ul, queue: Some(Limit::Packets(1_000)) }
}

fn flat(rate: u32) -> Option<Curve> {
    Some(Curve { m1: 0, d: 0, m2: rate })
}

/// Bytes of a curve after a time in ns.
pub(super) fn bytes_by(curve: Curve, nanos: u64) -> f64 {
    let time = nanos as f64 / 1e9;
    let length = f64::from(curve.d) / 1e6;
    f64::from(curve.m1) * time.min(length) + f64::from(curve.m2) * (time - length).max(0.0)
}

fn time_on_link(bytes: u32) -> u64 {
    u64::from(bytes) * 1_000_000_000 / u64::from(LINK)
}

/// The start of an active period, and the bytes that the link had taken by then.
#[derive(Clone, Copy, Debug)]
struct Start {
    at: u64,
    taken: u64,
}

/// A class seen from outside.
#[derive(Clone, Debug, Default)]
struct History {
    queued: VecDeque<u32>,
    /// Bytes that the link has taken.
    taken: u64,
    /// Each active period.
    starts: Vec<Start>,
}

/// A link that is never idle while the discipline gives packets.
struct Line {
    queue: Queue,
    now: u64,
    id: u64,
    classes: BTreeMap<u32, History>,
    /// Each time in which one of the leaves 3 and 4 has packets.
    joint: Vec<Start>,
}

impl Line {
    fn new(plan: &Plan) -> Self {
        let queue = Queue::new(config(plan), 0, Source::seeded(0));
        let classes = plan.classes.iter().map(|class| (class.number, History::default())).collect();
        Self { queue, now: 0, id: 0, classes, joint: Vec::new() }
    }

    fn offer(&mut self, class: u32, len: u32) {
        let at = Instant::from_nanos(self.now);
        let ecn = Ecn::NotEct;
        let packet = TestPacket { id: self.id, len, flow: 0, class: Some(class), came_with: ecn, ecn, at };
        self.id += 1;
        let mut dropped = false;
        let is_first_of_both = [3, 4].contains(&class) && self.together(&[3, 4]).queued.is_empty();
        self.queue.enqueue(at, packet, &mut |_, _| dropped = true);
        if dropped {
            return;
        }
        if is_first_of_both {
            self.joint.push(Start { at: self.now, taken: self.together(&[3, 4]).taken });
        }
        let now = self.now;
        let history = self.classes.get_mut(&class).expect("a class");
        if history.queued.is_empty() {
            history.starts.push(Start { at: now, taken: history.taken });
        }
        history.queued.push_back(len);
    }

    /// Keeps packets in these classes.
    fn fill(&mut self, numbers: &[u32], draw: &mut Draw) {
        for number in numbers {
            while self.classes[number].queued.len() < 2 {
                self.offer(*number, draw.pick(&LENGTHS));
            }
        }
    }

    /// Sends a packet, or waits until something changes.
    fn send(&mut self) {
        let at = Instant::from_nanos(self.now);
        let sent = self.queue.dequeue(at, &mut |_, _| panic!("a FIFO drops nothing that it has accepted"));
        let Some(packet) = sent else {
            let next = self.queue.next_event(at).map_or(u64::MAX, Instant::as_nanos);
            self.now = next.min(self.now + 1_000_000);
            return;
        };
        let history = self.classes.get_mut(&packet.class.expect("a class")).expect("a class");
        history.queued.pop_front();
        history.taken += u64::from(packet.len);
        self.now += time_on_link(packet.len);
    }

    /// The history of a leaf, or of the leaves 3 and 4 as one.
    fn together(&self, leaves: &[u32]) -> History {
        let parts = leaves.iter().map(|leaf| &self.classes[leaf]);
        let starts = if let [leaf] = leaves { self.classes[leaf].starts.clone() } else { self.joint.clone() };
        let queued = parts.clone().flat_map(|part| part.queued.iter().copied()).collect();
        let taken = parts.map(|part| part.taken).sum();
        History { queued, taken, starts }
    }
}

/// Bursts of packets at random times.
struct Bursts {
    /// When each class gets its next burst.
    next: Vec<(u32, u64)>,
}

impl Bursts {
    fn new(draw: &mut Draw, numbers: &[u32]) -> Self {
        Self { next: numbers.iter().map(|number| (*number, draw.below(20_000_000))).collect() }
    }

    fn arrive(&mut self, draw: &mut Draw, line: &mut Line) {
        for (number, at) in &mut self.next {
            if *at > line.now {
                continue;
            }
            for _ in 0..draw.pick(&[1_u32, 1, 3, 30]) {
                line.offer(*number, draw.pick(&LENGTHS));
            }
            *at = line.now + draw.below(40_000_000);
        }
    }
}

/// Bytes per second of the link.
const LINK: u32 = 1_250_000;
const LONGEST: u32 = 1514;
const LENGTHS: [u32; 4] = [LONGEST, LONGEST, 700, 64];
/// ns.
const SPAN: u64 = 2_000_000_000;
