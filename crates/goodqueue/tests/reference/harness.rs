//! Random operations on a discipline and on its model, which must decide alike.
//!
//! A hundred thousand operations and more for each pair; with `MODELS=50` in the environment fifty
//! times as many, as `make models` has it.

use goodqueue::random::{Random as _, Xoshiro256PlusPlus};
use goodqueue::{Configure, DropReason, Ecn, Instant, Link, Qdisc, Settings};
use goodqueue_testkit::operation::TestPacket;
use goodqueue_testkit::reference::Item;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;

/// Packets arrive and are asked for after such times, in ns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Arrives { len: u32, flow: u32 },
    Leaves,
    Passes(u64),
}

/// Phases of overload and of draining, with pauses now and then.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let len = select(vec![1514_u32, 1514, 1000, 40]);
    let arrival = (len, 0_u32..6).prop_map(|(len, flow)| Event::Arrives { len, flow });
    let phase = (1_u32..7, 20_usize..250).prop_flat_map(move |(arrivals, count)| {
        let event = prop_oneof![
            arrivals => arrival.clone(),
            3 => Just(Event::Leaves),
            8 => (1_u64..1_500_000).prop_map(Event::Passes),
        ];
        proptest::collection::vec(event, count)
    });
    with_pauses(phase, Event::Passes)
}

/// Up to seven phases. Now and then a pause of up to three seconds follows one; `passes` makes it.
pub(crate) fn with_pauses<E: Clone + std::fmt::Debug>(
    phase: impl Strategy<Value = Vec<E>>,
    passes: fn(u64) -> E,
) -> impl Strategy<Value = Vec<E>> {
    let pause = prop_oneof![8 => Just(0_u64), 1 => 1_u64..3_000_000_000];
    let step = (phase, pause).prop_map(move |step| {
        let mut events = step.0;
        events.push(passes(step.1));
        events
    });
    proptest::collection::vec(step, 1..8).prop_map(|phases| phases.concat())
}

/// What a model says.
pub(crate) trait Model {
    fn enqueue(&mut self, now: u64, flow: u32, item: Item) -> Vec<u64>;
    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>);

    /// What packets of a flow say of ECN.
    fn codepoint(&self, flow: u32) -> Ecn {
        let _ = flow;
        Ecn::NotEct
    }

    /// Whether a packet that was sent has been marked.
    fn has_marked(&self, id: u64) -> bool {
        let _ = id;
        false
    }
}

impl<M: Model> Model for &mut M {
    fn enqueue(&mut self, now: u64, flow: u32, item: Item) -> Vec<u64> {
        (**self).enqueue(now, flow, item)
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (**self).dequeue(now)
    }

    fn codepoint(&self, flow: u32) -> Ecn {
        (**self).codepoint(flow)
    }

    fn has_marked(&self, id: u64) -> bool {
        (**self).has_marked(id)
    }
}

pub(crate) fn agree(
    mut queue: impl Qdisc<TestPacket>,
    mut model: impl Model,
    events: &[Event],
) -> Result<u64, TestCaseError> {
    let mut now = 0;
    let mut id = 0;
    let mut drops = 0;
    for (index, event) in events.iter().enumerate() {
        let mut dropped = Vec::new();
        let mut sink = |lost: TestPacket, _: DropReason| dropped.push(lost.id);
        let at = Instant::from_nanos(now);
        let (ours, theirs) = match *event {
            Event::Passes(nanos) => {
                now += nanos;
                continue;
            }
            Event::Arrives { len, flow } => {
                let ecn = model.codepoint(flow);
                // The class, which counts from 1, names the queue: most models have no hash.
                let packet = TestPacket { id, len, flow, class: Some(flow + 1), came_with: ecn, ecn, at };
                queue.enqueue(at, packet, &mut sink);
                let theirs = model.enqueue(now, flow, Item { id, len, at: now });
                id += 1;
                (None, (theirs, None))
            }
            Event::Leaves => {
                let sent = queue.dequeue(at, &mut sink);
                let theirs = model.dequeue(now);
                if let Some(packet) = sent {
                    prop_assert_eq!(
                        packet.ecn == Ecn::Ce,
                        model.has_marked(packet.id),
                        "mark of {}",
                        packet.id
                    );
                }
                (sent.map(|packet| packet.id), theirs)
            }
        };
        drops += dropped.len() as u64;
        prop_assert_eq!((dropped, ours), theirs, "event {} at {} ns: {:?}", index, now, event);
    }
    Ok(drops)
}

pub(crate) fn runner(cases: u32) -> TestRunner {
    let times = std::env::var("MODELS").ok().and_then(|text| text.parse::<u32>().ok()).unwrap_or(1);
    let config = ProptestConfig {
        cases: cases.saturating_mul(times),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    TestRunner::new(config)
}

pub(crate) fn configured<C: Configure>(settings: &Settings) -> C {
    C::from_settings(settings, &Link::default()).expect("valid settings")
}

pub(crate) fn uniform_32(random: &mut Xoshiro256PlusPlus) -> f64 {
    f64::from(random.next_u32()) / 2_f64.powi(32)
}

pub(crate) fn uniform_64(random: &mut Xoshiro256PlusPlus) -> f64 {
    random.next_u64() as f64 / 2_f64.powi(64)
}

/// A model, and the generator from which it draws as the discipline does.
pub(crate) struct Drawing<M>(pub(crate) M, pub(crate) Xoshiro256PlusPlus);

/// Seed of the hashes in a discipline and its model.
pub(crate) const SALT: u32 = 7;

/// Runs `compare` over random events; it must have seen drops, or it has compared nothing.
pub(crate) fn differ_nowhere(cases: u32, compare: impl Fn(&[Event], u64) -> Result<u64, TestCaseError>) {
    let drops = std::cell::Cell::new(0);
    let outcome = runner(cases).run(&(events(), any::<u64>()), |(events, seed)| {
        drops.set(drops.get() + compare(&events, seed)?);
        Ok(())
    });
    if let Err(difference) = outcome {
        panic!("{difference}");
    }
    assert!(drops.get() > 100, "only {} drops were compared", drops.get());
}

/// One of `choices`, picked by a byte of `seed`.
pub(crate) fn pick<T: Copy>(seed: u64, byte: usize, choices: &[T]) -> T {
    choices[usize::from(seed.to_le_bytes()[byte]) % choices.len()]
}

/// A target and an interval of ten of them, in ns.
pub(crate) fn times(seed: u64) -> (u64, u64) {
    let target = pick(seed, 0, &[5_000_000, 10_000_000, 20_000_000]);
    (target, 10 * target)
}
