//! The disciplines against slow models written from the documents: the same decision about every packet, given the same
//! random draws.

use goodqueue::blue::{Blue, BlueConfig};
use goodqueue::choke::{Choke, ChokeConfig};
use goodqueue::codel::{Codel, CodelConfig, CodelParams};
use goodqueue::config::Value;
use goodqueue::pie::{Pie, PieConfig};
use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::red::{Red, RedConfig};
use goodqueue::sfq::{Sfq, SfqConfig};
use goodqueue::{Configure, DropReason, Duration, Ecn, Instant, Link, Qdisc, Settings};
use goodqueue_testkit::operation::TestPacket;
use goodqueue_testkit::reference::{self, Item};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

/// Packets arrive and are asked for after such times, in ns.
#[derive(Clone, Copy, Debug)]
enum Event {
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
    let pause = prop_oneof![8 => Just(0_u64), 1 => 1_u64..3_000_000_000];
    let step = (phase, pause).prop_map(|(mut events, pause)| {
        events.push(Event::Passes(pause));
        events
    });
    proptest::collection::vec(step, 1..8).prop_map(|phases| phases.concat())
}

/// What a model says.
trait Model {
    fn enqueue(&mut self, now: u64, flow: u32, item: Item) -> Vec<u64>;
    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>);
}

fn agree(
    mut queue: impl Qdisc<TestPacket>,
    mut model: impl Model,
    events: &[Event],
) -> Result<u64, TestCaseError> {
    let (mut now, mut id, mut drops) = (0, 0, 0);
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
                let ecn = Ecn::NotEct;
                let packet = TestPacket { id, len, flow, class: Some(flow + 1), came_with: ecn, ecn, at };
                queue.enqueue(at, packet, &mut sink);
                let theirs = model.enqueue(now, flow, Item { id, len, at: now });
                id += 1;
                (None, (theirs, None))
            }
            Event::Leaves => (queue.dequeue(at, &mut sink).map(|packet| packet.id), model.dequeue(now)),
        };
        drops += dropped.len() as u64;
        prop_assert_eq!((dropped, ours), theirs, "event {} at {} ns: {:?}", index, now, event);
    }
    Ok(drops)
}

fn runner(cases: u32) -> TestRunner {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

fn configured<C: Configure>(settings: &Settings) -> C {
    C::from_settings(settings, &Link::default()).expect("valid settings")
}

fn uniform_32(random: &mut Xoshiro256PlusPlus) -> f64 {
    f64::from(random.next_u32()) / 2_f64.powi(32)
}

fn uniform_64(random: &mut Xoshiro256PlusPlus) -> f64 {
    random.next_u64() as f64 / 2_f64.powi(64)
}

impl Model for reference::sfq::Sfq {
    fn enqueue(&mut self, _: u64, flow: u32, item: Item) -> Vec<u64> {
        self.enqueue(flow, item)
    }

    fn dequeue(&mut self, _: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.dequeue())
    }
}

struct Drawing<M>(M, Xoshiro256PlusPlus);

impl Model for Drawing<reference::pie::Pie> {
    fn enqueue(&mut self, now: u64, _: u32, item: Item) -> Vec<u64> {
        let dropped = self.0.enqueue(now, item, || uniform_64(&mut self.1));
        Vec::from_iter(dropped.then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.0.dequeue(now))
    }
}

impl Model for Drawing<reference::red::Red> {
    fn enqueue(&mut self, now: u64, _: u32, item: Item) -> Vec<u64> {
        let dropped = self.0.enqueue(now, item, || uniform_32(&mut self.1));
        Vec::from_iter(dropped.then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.0.dequeue(now))
    }
}

impl Model for Drawing<reference::blue::Blue> {
    fn enqueue(&mut self, now: u64, _: u32, item: Item) -> Vec<u64> {
        let dropped = self.0.enqueue(now, item, || uniform_32(&mut self.1));
        Vec::from_iter(dropped.then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.0.dequeue(now))
    }
}

impl Model for Drawing<reference::choke::Choke> {
    fn enqueue(&mut self, now: u64, flow: u32, item: Item) -> Vec<u64> {
        self.0.enqueue(now, flow, item, || uniform_32(&mut self.1))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.0.dequeue(now))
    }
}

impl Model for reference::codel::Codel {
    fn enqueue(&mut self, _: u64, _: u32, item: Item) -> Vec<u64> {
        self.enqueue(item);
        Vec::new()
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        self.dequeue(now)
    }
}

/// Runs `compare` over random events; it must have seen drops, or it has compared nothing.
fn differ_nowhere(cases: u32, compare: impl Fn(&[Event], u64) -> Result<u64, TestCaseError>) {
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

#[test]
fn sfq_serves_and_drops_as_its_model() {
    differ_nowhere(300, |events, seed| {
        // The seed picks the configuration.
        let pick = |shift: u32, choices: &[u64]| {
            choices[usize::from((seed >> shift).to_le_bytes()[0]) % choices.len()]
        };
        let settings = Settings::new()
            .with("limit", Value::Packets(pick(0, &[1, 2, 5, 20, 127])))
            .with("depth", Value::Packets(pick(8, &[1, 2, 10, 127])))
            .with("flows", Value::Integer(pick(16, &[1, 2, 4, 128])))
            .with("quantum", Value::Bytes(pick(24, &[1, 300, 1514, 3000, 65_536])))
            .with("headdrop", Value::Flag(pick(32, &[0, 1]) == 1));
        let config: SfqConfig = configured(&settings);
        let model = reference::sfq::Sfq {
            limit: config.limit() as usize,
            depth: config.depth() as usize,
            flows: config.flows() as usize,
            quantum: i64::from(config.quantum()),
            head_drop: settings.flag("headdrop") == Some(true),
            round: Vec::new(),
            clock: 0,
        };
        agree(Sfq::new(config, 0, Xoshiro256PlusPlus::new(seed)), model, events)
    });
}

#[test]
fn pie_drops_as_rfc_8033_says() {
    differ_nowhere(200, |events, seed| {
        let queue = Pie::new(configured::<PieConfig>(&Settings::new()), Xoshiro256PlusPlus::new(seed));
        let model = Drawing(reference::pie::Pie::new(1000), Xoshiro256PlusPlus::new(seed));
        agree(queue, model, events)
    });
}

#[test]
fn red_drops_as_floyd_and_jacobson_say() {
    differ_nowhere(200, |events, seed| {
        let gentle = seed & 1 == 1;
        let settings = Settings::new()
            .with("variant", Value::Choice("floyd1993"))
            .with("limit", Value::Bytes(1 << 31))
            .with("min", Value::Bytes(5_000))
            .with("max", Value::Bytes(15_000))
            .with("avpkt", Value::Bytes(1_000))
            .with("weight", Value::Probability(0.02))
            .with("probability", Value::Probability(0.1))
            .with("gentle", Value::Flag(gentle));
        let queue = Red::new(configured::<RedConfig>(&settings), Xoshiro256PlusPlus::new(seed));
        let model = reference::red::Red {
            weight: 0.02,
            min: 5.0,
            max: 15.0,
            max_p: 0.1,
            gentle,
            packet_time: 800_000.0,
            queue: Vec::new(),
            average: 0.0,
            count: -1,
            idle_since: 0,
        };
        agree(queue, Drawing(model, Xoshiro256PlusPlus::new(seed)), events)
    });
}

#[test]
fn blue_drops_as_feng_says() {
    differ_nowhere(200, |events, seed| {
        let threshold = (seed & 1 == 1).then_some(10);
        let mut settings = Settings::new()
            .with("limit", Value::Packets(30))
            .with("freeze_time", Value::Time(Duration::from_millis(10)));
        if let Some(threshold) = threshold {
            settings.set("threshold", Value::Packets(threshold));
        }
        let queue = Blue::new(configured::<BlueConfig>(&settings), Xoshiro256PlusPlus::new(seed));
        let model = reference::blue::Blue {
            limit: 30,
            freeze_time: 10_000_000,
            d1: 0.02,
            d2: 0.002,
            threshold: threshold.and_then(|packets| usize::try_from(packets).ok()),
            queue: Vec::new(),
            p_m: 0.0,
            last_update: None,
        };
        agree(queue, Drawing(model, Xoshiro256PlusPlus::new(seed)), events)
    });
}

#[test]
fn choke_drops_as_pan_says() {
    differ_nowhere(200, |events, seed| {
        let settings = Settings::new()
            .with("variant", Value::Choice("infocom2000"))
            .with("limit", Value::Packets(60))
            .with("min", Value::Packets(1))
            .with("max", Value::Packets(2))
            .with("probability", Value::Probability(0.1));
        let queue = Choke::new(configured::<ChokeConfig>(&settings), Xoshiro256PlusPlus::new(seed));
        let red = reference::red::Red {
            weight: 0.002,
            min: 1.0,
            max: 2.0,
            max_p: 0.1,
            gentle: false,
            packet_time: 800_000.0,
            queue: Vec::new(),
            average: 0.0,
            count: -1,
            idle_since: 0,
        };
        let model = reference::choke::Choke { limit: 60, red, flows: Vec::new() };
        agree(queue, Drawing(model, Xoshiro256PlusPlus::new(seed)), events)
    });
}

#[test]
fn codel_drops_as_rfc_8289_says() {
    differ_nowhere(200, |events, seed| {
        let mut params = CodelParams::new(1514);
        let ms = 5 << (seed % 3);
        (params.target, params.interval) = (Duration::from_millis(ms), Duration::from_millis(10 * ms));
        let queue = Codel::new(CodelConfig::new(100_000, params).unwrap());
        let model = reference::codel::Codel::new(ms * 1_000_000, 10 * ms * 1_000_000, 1514);
        agree(queue, model, events)
    });
}
