//! Disciplines of another crate keep the contract, and are treated as the built-in ones.

use goodqueue::aqm::{Aqm, Seen};
use goodqueue::config::{Build, Child, Configure, Declaration, Kind, Parameter, Value};
use goodqueue::fq_codel::{FqCodel, FqCodelConfig};
use goodqueue::gauge::{Observation, Observe};
use goodqueue::own::StandIn;
use goodqueue::random::{Random, Source};
use goodqueue::{
    AnyConfig, AnyQdisc, ConfigError, Datagram, Disciplines, DropReason, Drops, Duration, Flow, FlowKey,
    Instant, Link, Lookahead, Packet, Qdisc, Settings, Stats, Verdict,
};
use goodqueue_testkit::check::Checked;
use goodqueue_testkit::operation::{Operation, Step};
use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

/// Marks at random above a sojourn time, and drops at random when a packet arrives.
#[derive(Clone, Debug)]
struct Coin {
    target: Duration,
}

const TARGET: Parameter = Declaration::time("target")
    .default(Duration::from_millis(5))
    .meaning("sojourn time from which the coin is tossed");

impl Configure for Coin {
    const KIND: Kind = Kind::new("coin", "Tosses a coin").with_parameters(&[TARGET]);

    fn from_checked(settings: &Settings, _: &Link) -> Result<Self, ConfigError> {
        Ok(Self { target: TARGET.read(settings)? })
    }

    fn to_settings(&self) -> Settings {
        Settings::new().and(&TARGET, self.target)
    }
}

impl Aqm for Coin {
    type State = u64;

    fn on_enqueue(&self, _: &mut u64, seen: &Seen, random: &mut Source) -> Verdict {
        if seen.packets > 50 && random.below(2) == 0 { Verdict::Drop } else { Verdict::Pass }
    }

    fn on_dequeue(&self, tossed: &mut u64, seen: &Seen, random: &mut Source) -> Verdict {
        if seen.sojourn < self.target {
            return Verdict::Pass;
        }
        *tossed += 1;
        if random.below(2) == 0 { Verdict::Mark } else { Verdict::Pass }
    }

    fn limit(&self) -> u32 {
        100
    }

    fn observe(&self, tossed: &u64, seen: &mut Observation) {
        seen.number("tossed", *tossed);
    }
}

/// `fq_codel`, as another crate would have it.
#[derive(Clone, Debug)]
struct Copy<P>(FqCodel<P>);

#[derive(Clone, Debug)]
struct CopyConfig(FqCodelConfig);

impl Configure for CopyConfig {
    const KIND: Kind = Kind { name: "copy_of_fq_codel", ..FqCodelConfig::KIND };

    fn from_checked(settings: &Settings, link: &Link) -> Result<Self, ConfigError> {
        FqCodelConfig::from_checked(settings, link).map(Self)
    }

    fn to_settings(&self) -> Settings {
        self.0.to_settings()
    }
}

impl<P: Packet + Flow> Qdisc<P> for Copy<P> {
    type Config = CopyConfig;

    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut impl Drops<P>) {
        self.0.enqueue(now, packet, drops);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut impl Drops<P>) -> Option<P> {
        self.0.dequeue(now, drops)
    }

    fn next_event(&self, now: Instant) -> Option<Instant> {
        self.0.next_event(now)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn backlog(&self) -> u64 {
        self.0.backlog()
    }

    fn stats(&self) -> Stats {
        self.0.stats()
    }

    fn reconfigure(&mut self, now: Instant, config: CopyConfig, drops: &mut impl Drops<P>) {
        self.0.reconfigure(now, config.0, drops);
    }

    fn config(&self) -> CopyConfig {
        CopyConfig(self.0.config())
    }

    fn purge(&mut self, now: Instant, drops: &mut impl Drops<P>) {
        self.0.purge(now, drops);
    }
}

impl<P: Packet + Flow> Lookahead<P> for Copy<P> {
    fn set_taken_ahead(&mut self, now: Instant, taken: bool) {
        Lookahead::<P>::set_taken_ahead(&mut self.0, now, taken);
    }
}

impl<P: Packet + Flow> Observe for Copy<P> {}

impl<P: Packet + Flow> Build<P, Source> for Copy<P> {
    fn build(config: CopyConfig, salt: u32, _: Source) -> Self {
        Self(FqCodel::new(config.0, salt))
    }
}

fn disciplines() -> Disciplines {
    Disciplines::new().with_aqm::<Coin>().with_qdisc::<Copy<StandIn>>()
}

fn configured(name: &str, settings: Settings) -> AnyConfig {
    let settings = disciplines().claim(name, settings);
    AnyConfig::from_settings(name, &settings, &Link::default()).expect("known").expect("accepted")
}

/// `parent` with the discipline `name` in its first class.
fn inside(parent: &str, settings: Settings, name: &'static str) -> AnyConfig {
    let inner = disciplines().settings(name);
    let child = Child { class: 1, qdisc: Some((name, inner)), ..Child::default() };
    configured(parent, settings.with_child(child))
}

/// Parents of all sorts, with a discipline of another crate in each.
fn parents(name: &'static str) -> Vec<AnyConfig> {
    let tbf = Settings::new()
        .with("rate", Value::Rate(goodqueue::Rate::from_bps(10_000_000)))
        .with("burst", Value::Bytes(5000))
        .with("limit", Value::Bytes(60_000));
    vec![
        inside("prio", Settings::new(), name),
        inside("drr", Settings::new(), name),
        inside("tbf", tbf, name),
        inside("netem", Settings::new(), name),
    ]
}

/// The same operation on the copy.
fn on_the_copy(operation: &Operation) -> Operation {
    match operation {
        Operation::Reconfigure(AnyConfig::FqCodel(config)) => {
            let name = CopyConfig::KIND.name;
            let settings = disciplines().claim(name, config.to_settings());
            let copied = AnyConfig::from_settings(name, &settings, &config.link());
            Operation::Reconfigure(copied.expect("known").expect("accepted"))
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn an_aqm_keeps_the_contract(operations in Operation::sequence(FqCodelConfig::KIND, 300)) {
        let mut configs = parents("coin");
        configs.push(configured("coin", Settings::new()));
        for config in configs {
            let mut queue = Checked::new(config, 1);
            let kept = operations.iter().filter(|operation| !matches!(operation, Operation::Reconfigure(_)));
            for operation in kept {
                let done = queue.apply(operation);
                prop_assert_eq!(done.err(), None);
            }
            prop_assert_eq!(queue.drain(), Ok(()));
        }
    }

    #[test]
    fn a_discipline_of_another_crate_decides_as_it_would_in_this_one(
        operations in Operation::sequence(FqCodelConfig::KIND, 300),
    ) {
        let mut built_in = Checked::new(configured("fq_codel", Settings::new()), 1);
        let mut copy = Checked::new(configured(CopyConfig::KIND.name, Settings::new()), 1);
        for operation in &operations {
            prop_assert_eq!(built_in.apply(operation), copy.apply(&on_the_copy(operation)));
        }
    }
}

#[test]
fn a_copy_of_linux_may_hold_more_than_its_memory_after_one_batch_of_drops() {
    let one_at_a_time = Settings::new()
        .with("variant", Value::Choice("linux"))
        .with("memory_limit", Value::Bytes(1514))
        .with("truesize", Value::Bytes(1))
        .with("drop_batch", Value::Integer(1));
    let packet = |len| Operation::Enqueue { len, flow: 3, class: None, ecn: goodqueue::Ecn::NotEct };
    for name in ["fq_codel", CopyConfig::KIND.name] {
        let mut queue = Checked::new(configured(name, one_at_a_time.clone()), 1);
        queue.apply(&packet(1514)).unwrap();
        let second = queue.apply(&packet(65_535)).unwrap();
        assert_eq!(second.dropped.iter().map(|(lost, _)| lost.len).collect::<Vec<_>>(), [1514], "{name}");
        assert_eq!(queue.qdisc().backlog(), 65_535, "{name}");
    }
}

#[test]
fn a_parent_writes_the_settings_of_its_child_so_that_they_read_back() {
    for name in ["coin", "copy_of_fq_codel"] {
        for parent in parents(name) {
            let settings = parent.to_settings();
            let inner = settings.children().iter().find(|child| child.class == 1).expect("a child");
            assert_eq!(inner.qdisc.as_ref().map(|(name, _)| *name), Some(name));
            assert_eq!(configured(parent.kind().name, settings), parent);
        }
    }
}

#[test]
fn a_discipline_of_another_crate_takes_the_place_of_another_one_and_is_replaced() {
    let mut queue = AnyQdisc::new(configured("pfifo", Settings::new()), 1, Source::seeded(1));
    let flow = FlowKey::new("192.0.2.1:443".parse().unwrap(), "192.0.2.2:5000".parse().unwrap(), 17);
    for name in ["coin", "copy_of_fq_codel", "codel", "coin"] {
        let mut dropped = Vec::new();
        queue.enqueue(Instant::ZERO, Datagram::new(flow, 1200, name), &mut |_, _| ());
        queue.reconfigure(Instant::ZERO, configured(name, Settings::new()), &mut |lost: Datagram<_>, why| {
            dropped.push((lost.content, why));
        });
        assert_eq!(dropped, [(name, DropReason::Purged)]);
        assert_eq!(queue.kind().name, name);
    }
}

#[test]
fn new_parameters_keep_the_queue_and_the_state() {
    let mut queue = Checked::new(configured("coin", Settings::new()), 1);
    let packet = Operation::Enqueue { len: 1514, flow: 1, class: None, ecn: goodqueue::Ecn::Ect0 };
    for _ in 0..3 {
        queue.apply(&packet).unwrap();
    }
    // Longer than the default target.
    queue.apply(&Operation::Advance(Step::Forward(Duration::from_millis(6)))).unwrap();
    queue.apply(&Operation::Dequeue).unwrap();
    let slower = Settings::new().with("target", Value::Time(Duration::from_millis(50)));
    queue.apply(&Operation::Reconfigure(configured("coin", slower))).unwrap();
    let left = queue.apply(&Operation::Dequeue).unwrap();
    assert!(left.sent.is_some() && left.dropped.is_empty());
    let seen = Observation::from_qdisc(queue.qdisc(), Instant::ZERO);
    assert_eq!((seen.kind, seen.packets), ("coin", 1));
    assert_eq!(seen.get("tossed"), Some(goodqueue::gauge::Gauge::Number(1)));
}

#[test]
fn a_wrong_setting_is_refused_as_those_of_the_built_in_ones() {
    let settings = disciplines().settings("coin").with("target", Value::Packets(3));
    let refused = AnyConfig::from_settings("coin", &settings, &Link::default()).expect("known").unwrap_err();
    assert_eq!(refused.to_string(), "`target 3p` is not possible: allowed is a time");
    assert!(AnyConfig::from_settings("coin", &Settings::new(), &Link::default()).is_none());
}
