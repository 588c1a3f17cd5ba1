//! Stories of single packets: what decided about them, in words and values.

use goodqueue::aqm::{Aqm, AqmQueue, Seen};
use goodqueue::config::{ConfigError, Configure, Kind, Link, Settings, Value};
use goodqueue::decision::{Decision, Evidence, Fate, Moment, Quantity, Rule};
use goodqueue::random::Source;
use goodqueue::registry::KINDS;
use goodqueue::{
    AnyConfig, AnyQdisc, DropReason, Duration, Ecn, Flow, Instant, Packet, Qdisc, Rate, Verdict,
};
use goodqueue_sim::witness::{Known, Story, Watched, Witness};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Frame {
    number: u64,
    flow: u32,
    ecn: Ecn,
}

impl Packet for Frame {
    fn len(&self) -> u32 {
        1514
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ce(&mut self) -> bool {
        self.ecn.mark()
    }
}

impl Flow for Frame {
    fn flow_hash(&self, salt: u32) -> u32 {
        self.flow.wrapping_mul(0x9E37_79B9) ^ salt
    }
}

/// A packet arrives every 0.7 ms in three flows, and one leaves every 1.2 ms, for ten seconds.
fn drive(queue: &mut impl Qdisc<Frame>, ecn: Ecn) -> Vec<(Frame, Instant, Instant, Fate)> {
    let at = |micros: u64| Instant::from_nanos(micros * 1_000);
    let mut fates = Vec::new();
    let mut arrived = Vec::new();
    for step in 0..100_000_u64 {
        let now = at(step * 100);
        let mut lost = Vec::new();
        if step % 7 == 0 {
            let number = step / 7;
            arrived.push(now);
            let flow = u32::try_from(number % 3).unwrap_or(0);
            queue.enqueue(now, Frame { number, flow, ecn }, &mut |packet, why| lost.push((packet, why)));
        }
        if step % 12 == 0
            && let Some(sent) = queue.dequeue(now, &mut |packet, why| lost.push((packet, why)))
        {
            let fate = if sent.ecn == Ecn::Ce { Fate::Marked } else { Fate::Sent };
            fates.push((sent, now, fate));
        }
        fates.extend(lost.into_iter().map(|(packet, why)| (packet, now, Fate::Dropped(why))));
    }
    let came = |packet: &Frame| arrived[usize::try_from(packet.number).unwrap_or(0)];
    fates.into_iter().map(|(packet, now, fate)| (packet, came(&packet), now, fate)).collect()
}

fn queue(kind: &str, settings: &Settings) -> AnyQdisc<Frame> {
    let link = Link { rate: Rate::from_bps(10_000_000), ..Link::default() };
    let config = AnyConfig::from_settings(kind, settings, &link).expect("it exists").expect("valid");
    AnyQdisc::new(config, 7, Source::seeded(3))
}

/// Returns the story of the first packet with a fate for which `is_it` is true, if there is one.
fn story(kind: &str, settings: &Settings, ecn: Ecn, is_it: impl Fn(Fate) -> bool) -> Option<Story> {
    let fates = drive(&mut queue(kind, settings), ecn);
    let (packet, arrived, ended, fate) = fates.into_iter().find(|&(.., fate)| is_it(fate))?;
    let number = packet.number;
    let witness = Witness::new(Known { arrived, ended, fate }, move |other: &Frame| other.number == number);
    let mut watched = Watched { qdisc: queue(kind, settings), witness };
    drive(&mut watched, ecn);
    watched.witness.story(number, kind, "")
}

fn is_signal(fate: Fate) -> bool {
    matches!(fate, Fate::Marked | Fate::Dropped(DropReason::Congested))
}

#[test]
fn every_discipline_tells_the_story_of_its_first_drop_with_a_source() {
    for kind in KINDS {
        let short = Settings::new();
        let Some(story) = story(kind.name, &short, Ecn::NotEct, |fate| matches!(fate, Fate::Dropped(_)))
        else {
            continue;
        };
        let told = story.sentences();
        assert!(told[0].starts_with("Packet "), "{}: {told:?}", kind.name);
        assert!(told[1].starts_with("It was dropped"), "{}: {told:?}", kind.name);
        assert!(told.len() >= 3 && told[2].ends_with(']'), "{} gives no rule: {told:?}", kind.name);
        assert_eq!(story.arrival.moment, Moment::Arrival);
    }
}

#[test]
fn every_aqm_explains_a_signal_with_the_state_that_its_rule_looks_at() {
    for (kind, names) in [
        ("codel", &["sojourn", "target", "first_above", "count", "drop_next"][..]),
        ("codel_dt", &["above", "count", "drop_next"]),
        ("fq_codel", &["flow", "deficit", "list", "first_above", "count", "drop_next"]),
        ("sfq_codel", &["bin", "sojourn", "count", "drop_next"]),
        ("cobalt", &["sojourn", "count", "drop_next", "blue_prob"]),
        ("cnq_codel_af", &["flow_packets", "bulk_flows", "weighted", "target", "count", "drop_next"]),
        ("cake", &["tin", "flow", "deficit", "set", "sojourn", "drop_next", "blue_prob"]),
        ("pie", &["probability", "error", "change", "alpha", "beta", "scaling", "burst_allowance"]),
        ("fq_pie", &["flow", "deficit", "probability", "burst_allowance", "accumulated"]),
        ("sfq_pie", &["bin", "probability", "burst_allowance"]),
        ("red", &["average", "min", "max", "probability", "count"]),
        ("choke", &["average", "min", "max"]),
        ("sfb", &["shortest_bin", "probability", "target", "tokens"]),
        ("blue", &["probability"]),
        ("dualpi2", &["p'", "p_CL = k p'", "k", "credit"]),
        ("docsis", &["p_C", "delay_c", "target", "accumulated", "burst"]),
    ] {
        let story = story(kind, &Settings::new(), Ecn::NotEct, is_signal).expect(kind);
        let values = story.values();
        for name in names {
            assert!(values.iter().any(|value| value.name == *name), "{kind} does not show {name}");
        }
        let rules = |evidence: &Evidence| evidence.levels().any(|level| !level.rules.is_empty());
        assert!(rules(&story.decision().before), "{kind}: {:?}", story.sentences());
        assert!(!story.to_string().contains("The AQM dropped it"), "{kind}: the rule is named\n{story}");
    }
}

#[test]
fn a_packet_that_codel_marks_is_explained_like_one_that_it_drops() {
    let ecn = Settings::new().with("ecn", Value::Flag(true));
    let story = story("codel", &ecn, Ecn::Ect0, is_signal).expect("a mark");
    assert_eq!(story.known.fate, Fate::Marked);
    let told = story.sentences();
    assert!(told[1].contains("with the mark CE"), "{told:?}");
    assert!(told[2].contains("a dropping phase began, and the packet was marked"), "{told:?}");
    let dropping = |evidence: &Evidence| evidence.get("dropping");
    let scene = story.decision();
    assert_eq!(dropping(&scene.before), Some(Quantity::Flag(false)));
    assert_eq!(dropping(&scene.after), Some(Quantity::Flag(true)));
}

#[test]
fn a_packet_that_was_only_sent_is_told_why_it_was_spared() {
    let sent = |kind: &str| {
        let story = story(kind, &Settings::new(), Ecn::NotEct, |fate| fate == Fate::Sent).expect(kind);
        story.sentences().join("\n")
    };
    assert!(sent("codel").contains("less than the target of 5 ms"), "{}", sent("codel"));
    assert!(sent("pie").contains("A burst allowance of 150 ms was left"), "{}", sent("pie"));
    assert!(sent("fq_codel").contains("new flows are served first"), "{}", sent("fq_codel"));
    assert!(sent("red").contains("below the lower threshold"), "{}", sent("red"));
    assert!(sent("pfifo").contains("in the order in which they arrived"), "{}", sent("pfifo"));
}

#[test]
fn an_overflow_of_fq_codel_names_the_fattest_flow_and_the_place_in_the_batch() {
    // With a target of a minute CoDel drops nothing before the queue is full.
    let small = Settings::new()
        .with("limit", Value::Packets(20))
        .with("target", Value::Time(Duration::from_secs(60)));
    let told =
        story("fq_codel", &small, Ecn::NotEct, |fate| matches!(fate, Fate::Dropped(_))).expect("a drop");
    assert_eq!(told.decision().moment, Moment::Waiting);
    let text = told.sentences().join("\n");
    assert!(text.contains("The queue held 20 packets; the limit is 20 packets"), "{text}");
    assert!(text.contains("The queue with the most bytes"), "{text}");
    assert!(text.contains("this was number 1"), "{text}");
    assert_eq!(text.matches("the limit is").count(), 1, "said where it happened only: {text}");
}

#[test]
fn the_parent_and_the_discipline_in_it_both_tell_their_part() {
    let child = goodqueue::config::Child {
        class: 1,
        parent: 0,
        settings: Settings::new(),
        qdisc: Some(("codel", Settings::new())),
    };
    let shaper = Settings::new().with("rate", Value::Rate(Rate::from_bps(8_000_000))).with_child(child);
    let story = story("tbf", &shaper, Ecn::NotEct, is_signal).expect("a drop");
    let kinds: Vec<&str> = story.decision().before.levels().map(|level| level.kind).collect();
    assert_eq!(kinds, ["tbf", "codel"]);
    assert!(story.values().iter().any(|value| value.name == "tokens"));
}

#[test]
fn a_scheduler_tells_why_the_turn_came() {
    let sent = |kind: &str, settings: &Settings| {
        story(kind, settings, Ecn::NotEct, |fate| fate == Fate::Sent).expect(kind).sentences().join("\n")
    };
    let none = Settings::new();
    assert!(sent("drr", &none).contains("Its class had a deficit of"), "{}", sent("drr", &none));
    assert!(sent("drr", &none).contains("tc-drr(8), ALGORITHM"), "{}", sent("drr", &none));
    assert!(sent("qfq", &none).contains("aggregate"), "{}", sent("qfq", &none));
    let class = goodqueue::config::Child {
        class: 1,
        parent: 0,
        settings: Settings::new().with("rate", Value::Rate(Rate::from_bps(50_000_000))),
        qdisc: Some(("pfifo", Settings::new())),
    };
    let htb = Settings::new().with("default", Value::Class(1)).with_child(class);
    assert!(sent("htb", &htb).contains("it sent at its own rate"), "{}", sent("htb", &htb));
}

#[test]
fn sfb_tells_a_draw_from_a_full_bin_and_from_the_penalty_box() {
    let dropped = |settings: &Settings, why| {
        let story = story("sfb", settings, Ecn::NotEct, |fate| fate == Fate::Dropped(why)).expect("a drop");
        story.sentences().join("\n")
    };
    let draw = dropped(&Settings::new(), DropReason::Congested);
    assert!(draw.contains("a draw with it hit the packet"), "{draw}");
    // Without an increment the probabilities stay 0, and only a full bin drops.
    let full = dropped(&Settings::new().with("increment", Value::Probability(0.0)), DropReason::FlowLimit);
    assert!(full.contains("the limit is 25 packets. Each of its bins was that long"), "{full}");
    // One step makes the probabilities 1, so the flows count as unresponsive.
    let steep = Settings::new().with("increment", Value::Probability(1.0));
    let penalty = dropped(&steep, DropReason::Congested);
    assert!(penalty.contains("The penalty box had no token left"), "{penalty}");
}

#[test]
fn a_witness_changes_no_decision() {
    for kind in KINDS {
        let plain = drive(&mut queue(kind.name, &Settings::new()), Ecn::Ect0);
        let known = Known { arrived: Instant::ZERO, ended: Instant::ZERO, fate: Fate::Sent };
        let witness = Witness::new(known, |frame: &Frame| frame.number == 100);
        let mut watched = Watched { qdisc: queue(kind.name, &Settings::new()), witness };
        assert!(drive(&mut watched, Ecn::Ect0) == plain, "{}", kind.name);
    }
}

/// An AQM of another crate: marks every tenth packet, and tells nothing about itself.
#[derive(Clone, Debug)]
struct EveryTenth;

#[derive(Clone, Default, Debug)]
#[expect(dead_code, reason = "the story reads the fields from the text of `Debug`")]
struct Remembered {
    since_signal: u32,
    last_signal: Option<Instant>,
    phase: Phase,
}

#[derive(Clone, Copy, Default, Debug)]
enum Phase {
    #[default]
    Counting,
}

impl Configure for EveryTenth {
    const KIND: Kind = Kind::new("every_tenth", "Marks every tenth packet");

    fn from_checked(_: &Settings, _: &Link) -> Result<Self, ConfigError> {
        Ok(Self)
    }

    fn to_settings(&self) -> Settings {
        Settings::new()
    }
}

impl Aqm for EveryTenth {
    type State = Remembered;

    fn on_dequeue(&self, state: &mut Remembered, seen: &Seen, _: &mut Source) -> Verdict {
        state.since_signal += 1;
        if state.since_signal < 10 {
            return Verdict::Pass;
        }
        *state = Remembered { last_signal: Some(seen.now), ..Remembered::default() };
        Verdict::Mark
    }
}

#[test]
fn the_state_of_an_aqm_of_another_crate_is_told_without_code_of_its_own() {
    let queue = || AqmQueue::new(EveryTenth, Source::seeded(1));
    let fates = drive(&mut queue(), Ecn::NotEct);
    let signals = fates.into_iter().filter(|&(.., fate)| is_signal(fate));
    // The second one, so that the state has an earlier signal.
    let (packet, arrived, ended, fate) = signals.into_iter().nth(1).expect("the second signal");
    let number = packet.number;
    let witness = Witness::new(Known { arrived, ended, fate }, move |other: &Frame| other.number == number);
    let mut watched = Watched { qdisc: queue(), witness };
    drive(&mut watched, Ecn::NotEct);
    let story = watched.witness.story(number, "every_tenth", "").expect("the packet came");
    let told = story.to_string();
    // The packet behind the dropped one, which the same call sends, is the first of the next ten.
    let state: Vec<[String; 3]> = story
        .state()
        .into_iter()
        .map(|value| [value.name, value.before.to_string(), value.after.expect("it stays").to_string()])
        .collect();
    assert_eq!(state[0], ["since_signal", "9", "1"], "{told}");
    assert_eq!((state[1][0].as_str(), state[1][2].as_str()), ("last_signal", "now"), "{told}");
    assert!(state[1][1].ends_with(" ms ago"), "{told}");
    assert_eq!(state[2], ["phase", "Counting", "Counting"], "{told}");
    assert!(told.contains("every_tenth: The algorithm dropped it."), "{told}");
    assert!(told.contains("state of every_tenth") && !told.contains("[]"), "{told}");
}

/// An AQM of another crate with a rule of its own: drops what waited for longer than 20 ms.
#[derive(Clone, Debug)]
struct Late;

const LATEST: Duration = Duration::from_millis(20);

const LATE: Rule = Rule::new("late.late", &["sojourn", "latest", "packets"])
    .with_sentence("It had waited {sojourn}, longer than {latest}, and was {verb} from {packets:n} packets.");

impl Configure for Late {
    const KIND: Kind = Kind::new("late", "Drops late packets");

    fn from_checked(_: &Settings, _: &Link) -> Result<Self, ConfigError> {
        Ok(Self)
    }

    fn to_settings(&self) -> Settings {
        Settings::new()
    }
}

impl Aqm for Late {
    type State = ();

    fn on_dequeue(&self, (): &mut (), seen: &Seen, _: &mut Source) -> Verdict {
        if seen.sojourn > LATEST { Verdict::Drop } else { Verdict::Pass }
    }

    fn evidence(&self, (): &(), about: &Decision, evidence: &mut Evidence) {
        if about.is_signal() && about.is_end() {
            let numbers = [("latest", Quantity::Span(LATEST)), ("packets", Quantity::Packets(16))];
            evidence.rule(LATE, "house rules", &numbers);
        }
    }
}

#[test]
fn an_aqm_of_another_crate_brings_its_rule_and_its_sentence() {
    let queue = || AqmQueue::new(Late, Source::seeded(1));
    let dropped = drive(&mut queue(), Ecn::NotEct).into_iter().find(|&(.., fate)| is_signal(fate));
    let (packet, arrived, ended, fate) = dropped.expect("a drop");
    let number = packet.number;
    let witness = Witness::new(Known { arrived, ended, fate }, move |other: &Frame| other.number == number);
    let mut watched = Watched { qdisc: queue(), witness };
    drive(&mut watched, Ecn::NotEct);
    let story = watched.witness.story(number, "late", "").expect("the packet came");
    let [rule] = &story.rules()[..] else { panic!("{story}") };
    assert_eq!((rule.kind, rule.rule.id, rule.source), ("late", "late.late", "house rules"));
    assert!(rule.text.starts_with("It had waited 20"), "{}", rule.text);
    assert!(rule.text.ends_with("longer than 20 ms, and was dropped from 16 packets."), "{}", rule.text);
}

#[test]
fn a_rule_without_a_sentence_lists_its_numbers() {
    const BARE: Rule = Rule::new("mine.bare", &["waited"]);
    let mut evidence = Evidence::from_kind("mine");
    evidence.rule(BARE, "", &[("waited", Quantity::Span(LATEST))]);
    let text = goodqueue_sim::words::in_words(&evidence, &evidence.rules[0], Fate::Sent);
    assert_eq!(text, "The rule `mine.bare` decided (waited = 20 ms).");
}
