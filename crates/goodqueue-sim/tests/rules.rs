//! Every rule of every discipline has a sentence, and every number of a sentence is in the
//! evidence.

use std::collections::{BTreeMap, BTreeSet};

use goodqueue::config::{Child, Kind, Link, Settings, Value};
use goodqueue::decision::{Decision, Evidence, Fate, Moment, Question, Rule};
use goodqueue::random::Source;
use goodqueue::registry::{KINDS, rules};
use goodqueue::{
    AnyConfig, AnyQdisc, Duration, Ecn, Flow, Instant, Lookahead as _, Packet, Qdisc as _, Rate, TcpAck,
};
use goodqueue_sim::words::{SENTENCES, sentence_of};
use goodqueue_testkit::edge::{cases, trees};

/// Returns the names of the numbers in a sentence.
fn places(sentence: &str) -> BTreeSet<&str> {
    let places = sentence.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    let names = places.map(|(place, _)| place.split_once(':').map_or(place, |(name, _)| name));
    names.filter(|name| *name != "verb").collect()
}

/// Returns the rules of all disciplines of the registry.
fn all_rules() -> BTreeMap<&'static str, Rule> {
    let rules = KINDS.iter().flat_map(|kind| rules(kind.name)).copied().flatten();
    rules.map(|rule| (rule.id, *rule)).collect()
}

#[test]
fn every_rule_has_a_sentence_with_exactly_its_numbers() {
    for kind in KINDS {
        assert!(!rules(kind.name).is_empty(), "{} names no rule", kind.name);
    }
    for (id, rule) in all_rules() {
        let sentence = sentence_of(rule).unwrap_or_else(|| panic!("{id} has no sentence"));
        let numbers: BTreeSet<&str> = rule.numbers.iter().copied().collect();
        assert_eq!(places(sentence), numbers, "{id}: {sentence}");
        assert_eq!(rule.sentence, None, "{id}: its sentence belongs into the table");
    }
}

#[test]
fn every_sentence_belongs_to_a_rule_and_stands_once() {
    let known = all_rules();
    let mut seen = BTreeSet::new();
    for (id, _) in SENTENCES {
        assert!(seen.insert(id), "{id} has two sentences");
        // The only rule of a queue that is in no registry: `AqmQueue` holds the AQMs of other
        // crates.
        assert!(known.contains_key(id) || *id == "aqm.signal", "{id} is the rule of no discipline");
    }
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    number: usize,
    ecn: Ecn,
    earliest: Option<Instant>,
}

impl Packet for Frame {
    fn len(&self) -> u32 {
        [1514, 300, 1514, 64, 1514, 1514, 9000, 1514, 1514, 1][self.number % 10]
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ce(&mut self) -> bool {
        self.ecn.mark()
    }

    fn earliest_departure(&self) -> Option<Instant> {
        self.earliest
    }
}

impl Flow for Frame {
    fn flow_hash(&self, salt: u32) -> u32 {
        // Multiples of 2^32 divided by the golden ratio, which are far apart.
        [0, 0x9E37_79B9, 0x3C6E_F372, 0xDAA6_6D2B][self.number % 7 % 4] ^ salt
    }

    fn class(&self) -> Option<u32> {
        [None, Some(1), Some(2), None, Some(0)][self.number % 5]
    }

    fn tcp_ack(&self) -> Option<TcpAck> {
        let number = u32::try_from(self.number).unwrap_or(0);
        let ack = TcpAck { number, ecn: 0, sacked: 0, timestamps: (0, 0), pure: true };
        (self.number % 7 == 3).then_some(ack)
    }

    fn same_flow(&self, other: &Self) -> bool {
        self.number % 7 % 4 == other.number % 7 % 4
    }
}

fn frame(number: usize, now: Instant) -> Frame {
    let ecn = [Ecn::Ect0, Ecn::Ect0, Ecn::Ect1, Ecn::NotEct][number % 7 % 4];
    let earliest = match number % 50 {
        7 => Some(now + Duration::from_millis(30)),
        8 => Some(now + Duration::from_secs(100)), // beyond the horizon of fq, 10 s
        _ => None,
    };
    Frame { number, ecn, earliest }
}

/// Arrival, end and fate of a packet.
#[derive(Clone, Copy, Debug)]
struct Known {
    arrived: Instant,
    ended: Instant,
    moment: Moment,
    fate: Fate,
}

/// What a queue is asked before each call.
type Ask<'a> = &'a mut dyn FnMut(&AnyQdisc<Frame>, Instant, Moment, usize);

/// Fills a queue, lets it stand, and empties it. Returns the fates of the packets.
fn drive(config: &AnyConfig, ask: Ask<'_>) -> BTreeMap<usize, Known> {
    let mut queue = AnyQdisc::<Frame>::new(config.clone(), 7, Source::seeded(3));
    let mut fates = BTreeMap::new();
    let mut arrived = Vec::new();
    for step in 0..12_000_u64 {
        let now = Instant::from_nanos(step * 100_000);
        let mut ended = |packet: Frame, moment: Moment, fate: Fate, arrived: &[Instant]| {
            fates.insert(packet.number, Known { arrived: arrived[packet.number], ended: now, moment, fate });
        };
        let mut lost = Vec::new();
        if step % 7 == 0 && !(7_000..9_000).contains(&step) {
            let number = arrived.len();
            ask(&queue, now, Moment::Arrival, number);
            arrived.push(now);
            queue.enqueue(now, frame(number, now), &mut |packet, why| lost.push((packet, why)));
        }
        for (packet, why) in lost.drain(..) {
            ended(packet, Moment::Waiting, Fate::Dropped(why), &arrived);
        }
        if step % 12 == 0 || step > 8_000 && step % 3 == 0 {
            ask(&queue, now, Moment::Departure, arrived.len());
            let sent = queue.dequeue(now, &mut |packet, why| lost.push((packet, why)));
            if let Some(packet) = sent {
                let is_marked = packet.ecn == Ecn::Ce;
                ended(packet, Moment::Departure, if is_marked { Fate::Marked } else { Fate::Sent }, &arrived);
            }
        }
        for (packet, why) in lost {
            ended(packet, Moment::Departure, Fate::Dropped(why), &arrived);
        }
    }
    fates
}

/// Asks for the evidence of every packet, at its arrival and at its end.
fn examine(config: &AnyConfig, look: &mut dyn FnMut(&Evidence)) {
    let fates = drive(config, &mut |_, _, _, _| ());
    let mut by_end: BTreeMap<(Instant, bool), Vec<usize>> = BTreeMap::new();
    for (number, known) in &fates {
        by_end.entry((known.ended, known.moment == Moment::Departure)).or_default().push(*number);
    }
    drive(config, &mut |queue, now, moment, arriving| {
        let mut question = |number: usize, moment: Moment| {
            let Some(Known { arrived, ended, fate, .. }) = fates.get(&number).copied() else { return };
            let packet = frame(number, arrived);
            let about = Decision { now, arrived, ended, moment, fate };
            look(&queue.evidence(&Question { packet: &packet, about }));
        };
        if moment == Moment::Arrival {
            question(arriving, moment);
        }
        for number in by_end.get(&(now, moment == Moment::Departure)).into_iter().flatten() {
            if *number != arriving {
                question(*number, if moment == Moment::Arrival { Moment::Waiting } else { moment });
            }
        }
    });
}

/// Returns a class of htb below a class that is faster.
fn borrowing_classes() -> AnyConfig {
    let class = |class, parent, mbit: u64, qdisc| Child {
        class,
        parent,
        settings: Settings::new()
            .with("rate", Value::Rate(Rate::from_bps(mbit * 1_000_000)))
            .with("ceil", Value::Rate(Rate::from_bps(8_000_000))),
        qdisc,
    };
    let settings = Settings::new()
        .with("default", Value::Class(1))
        .with_child(class(9, 0, 8, None))
        .with_child(class(1, 9, 1, Some(("pfifo", Settings::new()))));
    AnyConfig::from_settings("htb", &settings, &Link::default()).expect("it exists").expect("valid")
}

/// Returns RED that lets packets without ECN stay.
fn red_without_drops() -> AnyConfig {
    let settings = Settings::new()
        .with("min", Value::Bytes(10_000))
        .with("max", Value::Bytes(200_000))
        .with("limit", Value::Bytes(600_000))
        .with("ecn", Value::Flag(true))
        .with("nodrop", Value::Flag(true));
    AnyConfig::from_settings("red", &settings, &Link::default()).expect("it exists").expect("valid")
}

/// Returns configurations of a discipline that together reach its rules.
fn configs(kind: &Kind) -> impl Iterator<Item = AnyConfig> {
    let special = match kind.name {
        "htb" => vec![borrowing_classes()],
        "red" => vec![red_without_drops()],
        // A slow parent lets COBALT begin a phase with a mark.
        "cobalt" => {
            let below = trees(2).into_iter().filter(|case| case.name == "qfq over cobalt");
            below.map(|case| case.config).collect()
        }
        _ => Vec::new(),
    };
    special.into_iter().chain(cases(kind).into_iter().map(|case| case.config))
}

/// No load reaches this rule within seconds: the tests of PIE set its state.
const UNREACHED: &str = "pie.certain";

#[test]
fn the_evidence_has_every_number_of_its_rules() {
    let with_numbers = all_rules().into_values().filter(|rule| !rule.numbers.is_empty());
    let mut unseen: BTreeSet<&str> = with_numbers.map(|rule| rule.id).collect();
    assert!(unseen.remove(UNREACHED));
    for kind in KINDS {
        let declared: BTreeSet<&str> =
            rules(kind.name).iter().copied().flatten().map(|rule| rule.id).collect();
        for (count, config) in configs(kind).enumerate() {
            if count > 0 && unseen.is_disjoint(&declared) {
                break;
            }
            examine(&config, &mut |evidence| {
                for level in evidence.levels() {
                    for applied in &level.rules {
                        let id = applied.rule.id;
                        assert!(level.kind != kind.name || declared.contains(id), "{}: {id}", kind.name);
                        for name in applied.rule.numbers {
                            assert!(
                                level.number(applied, name).is_some(),
                                "{}: {id} lacks {name}",
                                kind.name
                            );
                        }
                        unseen.remove(id);
                    }
                }
            });
        }
    }
    assert_eq!(unseen, BTreeSet::new());
}
