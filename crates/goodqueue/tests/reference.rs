//! The disciplines against slow models written from the documents: the same decision about every
//! packet, given the same random draws.
//!
//! A hundred thousand operations and more for each pair; with `MODELS=50` in the environment fifty
//! times as many, as `make models` has it.

use goodqueue::blue::{Blue, BlueConfig};
use goodqueue::choke::{Choke, ChokeConfig};
use goodqueue::cobalt::{Cobalt, CobaltConfig};
use goodqueue::codel::{Codel, CodelConfig, CodelParams, CodelVariant, Startup};
use goodqueue::config::{Child, Value};
use goodqueue::docsis::{Docsis, DocsisConfig};
use goodqueue::drr::{Drr, DrrConfig};
use goodqueue::dualpi2::{DualPi2, DualPi2Config};
use goodqueue::fq::{Fq, FqConfig};
use goodqueue::fq_codel::{FqCodel, FqCodelConfig};
use goodqueue::htb::{Htb, HtbConfig};
use goodqueue::pie::{Pie, PieConfig};
use goodqueue::random::{Random, Source, Xoshiro256PlusPlus};
use goodqueue::red::{Red, RedConfig};
use goodqueue::sfb::{Sfb, SfbConfig};
use goodqueue::sfq::{Sfq, SfqConfig};
use goodqueue::sfq_codel::{SfqCodel, SfqCodelConfig};
use goodqueue::tbf::{Tbf, TbfConfig};
use goodqueue::{
    AnyConfig, AnyQdisc, Configure, DropReason, Duration, Ecn, Flow, Instant, Link, Qdisc, Rate, Settings,
};
use goodqueue_testkit::operation::TestPacket;
use goodqueue_testkit::reference::codel::{Author, Law};
use goodqueue_testkit::reference::dualpi2::Codepoint;
use goodqueue_testkit::reference::{self, Item};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;

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

fn agree(
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

fn runner(cases: u32) -> TestRunner {
    let times = std::env::var("MODELS").ok().and_then(|text| text.parse::<u32>().ok()).unwrap_or(1);
    let config = ProptestConfig {
        cases: cases.saturating_mul(times),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    TestRunner::new(config)
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

/// The draft's PIE has no `drop_early` of its own to draw for.
impl Model for Drawing<reference::pie_draft00::Pie> {
    fn enqueue(&mut self, now: u64, _: u32, item: Item) -> Vec<u64> {
        let dropped = self.0.enqueue(now, item, || uniform_64(&mut self.1));
        Vec::from_iter(dropped.then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.0.dequeue(now))
    }
}

impl Model for Drawing<reference::sfb::Sfb> {
    fn enqueue(&mut self, now: u64, flow: u32, item: Item) -> Vec<u64> {
        // The hash is the packet's own.
        let at = Instant::from_nanos(now);
        let ecn = Ecn::NotEct;
        let packet = TestPacket { id: 0, len: 0, flow, class: None, came_with: ecn, ecn, at };
        let dropped = self.0.enqueue(now, packet.flow_hash(SALT).max(1), item, || self.1.next_u32() & 0xffff);
        Vec::from_iter(dropped.then_some(item.id))
    }

    fn dequeue(&mut self, _: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.0.dequeue())
    }
}

const SALT: u32 = 7;

impl Model for Drawing<reference::cobalt::Cobalt> {
    fn enqueue(&mut self, now: u64, _: u32, item: Item) -> Vec<u64> {
        self.0.enqueue(now, item)
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        self.0.dequeue(now, || uniform_32(&mut self.1))
    }
}

impl Model for Drawing<reference::dualpi2::DualPi2> {
    fn enqueue(&mut self, now: u64, flow: u32, item: Item) -> Vec<u64> {
        let needs = match self.codepoint(flow) {
            Ecn::Ect1 => Codepoint::Ect1,
            Ecn::Ect0 => Codepoint::Ect0,
            _ => Codepoint::NotEct,
        };
        Vec::from_iter(self.0.enqueue(now, item, needs).then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        self.0.dequeue(now, || uniform_64(&mut self.1))
    }

    fn codepoint(&self, flow: u32) -> Ecn {
        [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct][flow as usize % 3]
    }

    fn has_marked(&self, id: u64) -> bool {
        self.0.marked.contains(&id)
    }
}

impl Model for Drawing<reference::docsis::Docsis> {
    fn enqueue(&mut self, now: u64, flow: u32, item: Item) -> Vec<u64> {
        // The hash is the packet's own.
        let ecn = self.codepoint(flow);
        let at = Instant::from_nanos(now);
        let packet = TestPacket { id: 0, len: 0, flow, class: None, came_with: ecn, ecn, at };
        let uflow = (ecn == Ecn::Ect1).then(|| packet.flow_hash(SALT));
        Vec::from_iter(self.0.enqueue(now, item, uflow, || uniform_64(&mut self.1)).then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.0.dequeue(now))
    }

    fn codepoint(&self, flow: u32) -> Ecn {
        [Ecn::Ect1, Ecn::Ect0, Ecn::Ect1][flow as usize % 3]
    }

    fn has_marked(&self, id: u64) -> bool {
        self.0.marked.contains(&id)
    }
}

impl Model for reference::fq_codel::FqCodel {
    fn enqueue(&mut self, _: u64, flow: u32, item: Item) -> Vec<u64> {
        self.enqueue(flow as usize, item)
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        self.dequeue(now)
    }
}

impl Model for reference::sfq_codel::SfqCodel {
    fn enqueue(&mut self, _: u64, flow: u32, item: Item) -> Vec<u64> {
        self.enqueue(flow as usize, item)
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        self.dequeue(now)
    }
}

impl Model for reference::drr::Drr {
    fn enqueue(&mut self, _: u64, flow: u32, item: Item) -> Vec<u64> {
        self.enqueue(flow as usize, item)
    }

    fn dequeue(&mut self, _: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.dequeue())
    }
}

impl Model for reference::tbf::Tbf {
    fn enqueue(&mut self, _: u64, _: u32, item: Item) -> Vec<u64> {
        Vec::from_iter(self.enqueue(item).then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.dequeue(now))
    }
}

impl Model for reference::htb::Htb {
    fn enqueue(&mut self, _: u64, _: u32, item: Item) -> Vec<u64> {
        Vec::from_iter(self.enqueue(item).then_some(item.id))
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), self.dequeue(now))
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
            look_at: None,
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
            look_at: None,
        };
        let model = reference::choke::Choke { limit: 60, red, flows: Vec::new() };
        agree(queue, Drawing(model, Xoshiro256PlusPlus::new(seed)), events)
    });
}

/// One of `choices`, picked by a byte of `seed`.
fn pick<T: Copy>(seed: u64, byte: usize, choices: &[T]) -> T {
    choices[usize::from(seed.to_le_bytes()[byte]) % choices.len()]
}

/// A target and an interval of ten of them, in ns.
fn times(seed: u64) -> (u64, u64) {
    let target = pick(seed, 0, &[5_000_000, 10_000_000, 20_000_000]);
    (target, 10 * target)
}

#[test]
fn codel_drops_as_rfc_8289_the_article_of_2012_and_ns_2_say() {
    let authors = [
        (Author::Rfc8289, CodelVariant::Rfc8289),
        (Author::Cacm2012, CodelVariant::Cacm2012),
        (Author::Ns2, CodelVariant::Ns2),
    ];
    for (author, variant) in authors {
        differ_nowhere(200, |events, seed| {
            let (target, interval) = times(seed);
            let params = CodelParams {
                target: Duration::from_nanos(target),
                interval: Duration::from_nanos(interval),
                variant,
                ..CodelParams::new(1514)
            };
            let queue = Codel::new(CodelConfig::new(100_000, params).unwrap());
            let law = Law::new(author, target, interval, 1514);
            agree(queue, reference::codel::Codel { law, queue: Vec::new() }, events)
        });
    }
}

impl Model for reference::fq::Fq {
    fn enqueue(&mut self, now: u64, flow: u32, item: Item) -> Vec<u64> {
        let priority = flow as usize + 1;
        let lost = reference::fq::Fq::enqueue(self, now, flow as usize, priority, item);
        if lost { vec![item.id] } else { Vec::new() }
    }

    fn dequeue(&mut self, now: u64) -> (Vec<u64>, Option<u64>) {
        (Vec::new(), reference::fq::Fq::dequeue(self, now))
    }
}

#[test]
fn fq_serves_paces_and_drops_as_linux_does() {
    differ_nowhere(200, |events, seed| {
        let limit = pick(seed, 1, &[10_u64, 40, 10_000]);
        let flow_limit = pick(seed, 2, &[4_u64, 20, 100]);
        let quantum = pick(seed, 3, &[300_u64, 1514, 3028]);
        let initial = pick(seed, 4, &[0_u64, 1514, 15_140]);
        let weights = pick(seed, 5, &[[16_384_u64; 3], [589_824, 196_608, 65_536], [20_000, 40_000, 16_384]]);
        let rate = pick(seed, 6, &[0_u64, 400_000, 2_000_000, 20_000_000]);
        let mut settings = Settings::new()
            .with("limit", Value::Packets(limit))
            .with("flow_limit", Value::Packets(flow_limit))
            .with("quantum", Value::Bytes(quantum))
            .with("initial_quantum", Value::Bytes(initial))
            .with("orphan_mask", Value::Integer(65_535))
            .with("weights", Value::Integer(weights[0]))
            .with("weights.second", Value::Integer(weights[1]))
            .with("weights.third", Value::Integer(weights[2]));
        if rate > 0 {
            settings = settings.with("maxrate", Value::Rate(Rate::from_bps(rate)));
        }
        let whole = |number: u64| usize::try_from(number).unwrap();
        let signed = |number: u64| i64::try_from(number).unwrap();
        let limits = (whole(limit), whole(flow_limit));
        let quanta = (signed(quantum), signed(initial));
        let model = reference::fq::Fq::new(6, limits, quanta, weights.map(signed), rate / 8);
        agree(Fq::new(configured::<FqConfig>(&settings), 0), model, events)
    });
}

#[test]
fn fq_codel_serves_and_drops_as_rfc_8290_says() {
    differ_nowhere(200, |events, seed| {
        let (target, interval) = times(seed);
        let limit = pick(seed, 1, &[10_u64, 40, 10_240]);
        let batch = pick(seed, 2, &[1_u64, 4, 64]);
        let quantum = pick(seed, 3, &[1_u64, 300, 1514, 4000]);
        let settings = Settings::new()
            .with("limit", Value::Packets(limit))
            .with("flows", Value::Integer(6))
            .with("quantum", Value::Bytes(quantum))
            .with("drop_batch", Value::Integer(batch))
            .with("target", Value::Time(Duration::from_nanos(target)))
            .with("interval", Value::Time(Duration::from_nanos(interval)));
        let law = Law::new(Author::Rfc8289, target, interval, 1514);
        let limit = usize::try_from(limit).unwrap();
        let batch = usize::try_from(batch).unwrap();
        let model = reference::fq_codel::FqCodel::new(limit, i64::try_from(quantum).unwrap(), batch, 6, &law);
        agree(FqCodel::new(configured::<FqCodelConfig>(&settings), 0), model, events)
    });
}

#[test]
fn sfq_codel_serves_and_drops_as_nichols_wrote_it() {
    differ_nowhere(200, |events, seed| {
        let (target, interval) = times(seed);
        let limit = pick(seed, 1, &[10_u64, 40, 1_000]);
        let settings = Settings::new()
            .with("limit", Value::Packets(limit))
            .with("flows", Value::Integer(6))
            .with("target", Value::Time(Duration::from_nanos(target)))
            .with("interval", Value::Time(Duration::from_nanos(interval)));
        let mut law = Law::new(Author::Ns2, target, interval, 1514);
        law.scales_large_counts = false;
        law.keeps_first_above = true;
        let model = reference::sfq_codel::SfqCodel::new(usize::try_from(limit).unwrap(), 6, &law);
        agree(SfqCodel::new(configured::<SfqCodelConfig>(&settings), 0), model, events)
    });
}

#[test]
fn ns_2_begins_above_target_if_asked_to() {
    differ_nowhere(100, |events, seed| {
        let (target, interval) = times(seed);
        let params = CodelParams {
            target: Duration::from_nanos(target),
            interval: Duration::from_nanos(interval),
            variant: CodelVariant::Ns2,
            startup: Some(Startup::Ns2),
            ..CodelParams::new(1514)
        };
        let queue = Codel::new(CodelConfig::new(100_000, params).unwrap());
        let law = Law::new(Author::Ns2, target, interval, 1514).above_target_for_long();
        agree(queue, reference::codel::Codel { law, queue: Vec::new() }, events)
    });
}

#[test]
fn pie_of_2013_drops_as_its_draft_says() {
    differ_nowhere(200, |events, seed| {
        let settings = Settings::new().with("variant", Value::Choice("draft00"));
        let queue = Pie::new(configured::<PieConfig>(&settings), Xoshiro256PlusPlus::new(seed));
        let model = Drawing(reference::pie_draft00::Pie::new(1000), Xoshiro256PlusPlus::new(seed));
        agree(queue, model, events)
    });
}

#[test]
fn adaptive_red_drops_as_floyd_gummadi_and_shenker_say() {
    differ_nowhere(200, |events, seed| {
        let settings = Settings::new()
            .with("variant", Value::Choice("floyd1993"))
            .with("adaptive", Value::Flag(true))
            .with("limit", Value::Bytes(1 << 31))
            .with("min", Value::Bytes(5_000))
            .with("max", Value::Bytes(15_000))
            .with("avpkt", Value::Bytes(1_000))
            .with("weight", Value::Probability(0.02))
            .with("gentle", Value::Flag(true));
        let queue = Red::new(configured::<RedConfig>(&settings), Xoshiro256PlusPlus::new(seed));
        let model = reference::red::Red {
            weight: 0.02,
            min: 5.0,
            max: 15.0,
            max_p: 0.1,
            gentle: true,
            packet_time: 800_000.0,
            queue: Vec::new(),
            average: 0.0,
            count: -1,
            idle_since: 0,
            look_at: Some(reference::red::LOOK_INTERVAL),
        };
        agree(queue, Drawing(model, Xoshiro256PlusPlus::new(seed)), events)
    });
}

#[test]
fn sfb_drops_as_feng_says() {
    differ_nowhere(200, |events, seed| {
        let (increment, decrement) = pick(seed, 0, &[(66_u32, 11_u32), (655, 65), (32_768, 6_553)]);
        let (max, target) = pick(seed, 1, &[(25_u32, 20_u32), (8, 6), (4, 2)]);
        let of = |part: u32| Value::Probability(f64::from(part) / 65_535.0);
        let settings = Settings::new()
            .with("limit", Value::Packets(60))
            .with("rehash", Value::Integer(0))
            .with("max", Value::Packets(u64::from(max)))
            .with("target", Value::Packets(u64::from(target)))
            .with("increment", of(increment))
            .with("decrement", of(decrement));
        let queue = Sfb::new(configured::<SfbConfig>(&settings), SALT, Xoshiro256PlusPlus::new(seed));
        let model = reference::sfb::Sfb::new(60, max, target, (increment, decrement), (10.0, 20.0));
        agree(queue, Drawing(model, Xoshiro256PlusPlus::new(seed)), events)
    });
}

#[test]
fn cobalt_drops_as_described() {
    differ_nowhere(200, |events, seed| {
        let limit = pick(seed, 0, &[10_u64, 40, 1_000]);
        let settings =
            Settings::new().with("variant", Value::Choice("paper")).with("limit", Value::Packets(limit));
        let queue = Cobalt::new(configured::<CobaltConfig>(&settings), Xoshiro256PlusPlus::new(seed));
        let model = reference::cobalt::Cobalt::new(usize::try_from(limit).unwrap());
        agree(queue, Drawing(model, Xoshiro256PlusPlus::new(seed)), events)
    });
}

#[test]
fn dualpi2_serves_marks_and_drops_as_rfc_9332_says() {
    differ_nowhere(200, |events, seed| {
        let limit = pick(seed, 0, &[30_u64, 10_000]);
        let settings = Settings::new().with("limit", Value::Packets(limit));
        let queue = DualPi2::new(configured::<DualPi2Config>(&settings), Xoshiro256PlusPlus::new(seed));
        let model = reference::dualpi2::DualPi2::new(usize::try_from(limit).unwrap(), 1514);
        agree(queue, Drawing(model, Xoshiro256PlusPlus::new(seed)), events)
    });
}

#[test]
fn docsis_marks_drops_and_moves_packets_as_the_documents_say() {
    let moved = std::cell::Cell::new(0);
    differ_nowhere(200, |events, seed| {
        let rate = pick(seed, 0, &[8_000_000_u64, 80_000_000]);
        let protects = pick(seed, 1, &[true, true, false]);
        let limit = pick(seed, 2, &[30_000_u64, 100_000, 1_000_000]);
        let score = pick(seed, 3, &[100_u64, 4_000]);
        let settings = Settings::new()
            .with("bandwidth", Value::Rate(Rate::from_bps(rate)))
            .with("classic_limit", Value::Bytes(limit))
            .with("critical_score", Value::Time(Duration::from_micros(score)))
            .with("qprotect", Value::Flag(protects));
        let mut model = reference::docsis::Docsis::new(rate as f64, limit as f64, 1514);
        model.protects = protects;
        model.critical_score = score as f64 * 1e3;
        let queue = Docsis::new(configured::<DocsisConfig>(&settings), SALT, Xoshiro256PlusPlus::new(seed));
        let mut drawing = Drawing(model, Xoshiro256PlusPlus::new(seed));
        let agreed = agree(queue, &mut drawing, events);
        moved.set(moved.get() + drawing.0.sanctioned.len());
        agreed
    });
    assert!(moved.get() > 100, "{} packets were moved", moved.get());
}

#[test]
fn drr_serves_as_shreedhar_and_varghese_say() {
    differ_nowhere(200, |events, seed| {
        let mut settings = Settings::new();
        let mut flows = Vec::new();
        for flow in 0..6_u32 {
            let quantum = pick(seed, flow as usize, &[1_u64, 300, 1514, 5_000]);
            let own = Settings::new().with("quantum", Value::Bytes(quantum));
            let limit = Settings::new().with("limit", Value::Packets(20));
            settings.add_child(Child {
                class: flow + 1,
                parent: 0,
                settings: own,
                qdisc: Some(("pfifo", limit)),
            });
            // As in Linux, less counts as 256.
            flows.push(reference::drr::Flow { quantum: quantum.max(256), ..Default::default() });
        }
        let queue = Drr::<_, AnyQdisc<TestPacket>>::new(
            configured::<DrrConfig<AnyConfig>>(&settings),
            0,
            Source::seeded(seed),
        );
        agree(queue, reference::drr::Drr { limit: 20, flows, active: Vec::new() }, events)
    });
}

#[test]
fn tbf_lets_go_what_its_buckets_hold() {
    differ_nowhere(200, |events, seed| {
        // Whole nanoseconds per byte, so that integers and real numbers agree.
        let rate = pick(seed, 0, &[8_000_000_u64, 4_000_000, 2_000_000]);
        let burst = pick(seed, 1, &[1_000_u32, 1514, 5_000, 20_000]);
        let peak = pick(seed, 2, &[None, Some((16_000_000_u64, 1514_u32))]);
        let mut settings = Settings::new()
            .with("rate", Value::Rate(Rate::from_bps(rate)))
            .with("burst", Value::Bytes(u64::from(burst)))
            .with("limit", Value::Bytes(30_000));
        if let Some((rate, most)) = peak {
            settings.set("peakrate", Value::Rate(Rate::from_bps(rate)));
            settings.set("mtu", Value::Bytes(u64::from(most)));
        }
        let per_nano = |bits: u64| bits as f64 / 8e9;
        let peak = peak.map(|(rate, most)| (per_nano(rate), f64::from(most)));
        let model = reference::tbf::Tbf {
            rate: per_nano(rate),
            burst: f64::from(burst),
            peak,
            limit: 30_000.0,
            queue: Vec::new(),
            tokens: (f64::from(burst), peak.map_or(0.0, |(_, most)| most)),
            filled_at: 0,
        };
        agree(
            Tbf::<_, AnyQdisc<TestPacket>>::new(
                configured::<TbfConfig<AnyConfig>>(&settings),
                0,
                Source::seeded(seed),
            ),
            model,
            events,
        )
    });
}

#[test]
fn htb_lends_along_a_chain_of_classes() {
    differ_nowhere(200, |events, seed| {
        // The leaf and the classes above it: rate and ceiling in ns per byte.
        let chain = pick(
            seed,
            0,
            &[
                [(4_000_u64, 1_000_u64), (2_000, 1_000), (1_000, 1_000)],
                [(8_000, 2_000), (4_000, 2_000), (1_000, 500)],
                [(1_000, 1_000), (2_000, 2_000), (4_000, 4_000)],
            ],
        );
        let burst = pick(seed, 1, &[1_600_u64, 16_000]);
        let mut settings = Settings::new().with("default", Value::Class(1));
        let mut classes = Vec::new();
        for (number, (rate, ceil)) in (1..).zip(chain) {
            let of = |nanos: u64| Value::Rate(Rate::from_bps(8_000_000_000 / nanos));
            let own = Settings::new()
                .with("rate", of(rate))
                .with("ceil", of(ceil))
                .with("burst", Value::Bytes(burst))
                .with("cburst", Value::Bytes(burst));
            let limit = Settings::new().with("limit", Value::Packets(20));
            let parent = if number < 3 { number + 1 } else { 0 };
            let qdisc = (number == 1).then_some(("pfifo", limit));
            settings.add_child(Child { class: number, parent, settings: own, qdisc });
            classes.push(reference::htb::Class::new((rate as f64, ceil as f64), burst as f64));
        }
        let queue = Htb::<_, AnyQdisc<TestPacket>>::new(
            configured::<HtbConfig<AnyConfig>>(&settings),
            0,
            Source::seeded(seed),
        );
        agree(queue, reference::htb::Htb { limit: 20, classes, queue: Vec::new() }, events)
    });
}
