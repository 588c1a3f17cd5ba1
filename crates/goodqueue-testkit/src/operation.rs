//! What can be done to a queue, hostile things included, and random sequences of it.

use goodqueue::config::{Child, Children, Kind, Unit, Value};
use goodqueue::registry::KINDS;
use goodqueue::{AnyConfig, Duration, Ecn, Flow, Instant, Link, Packet, Rate, Settings};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// One thing that happens to a queue.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::large_enum_variant, reason = "a test holds a few hundred of them")]
pub enum Operation {
    /// A packet arrives.
    Enqueue {
        /// Its length.
        len: u32,
        /// Its flow.
        flow: u32,
        /// A class chosen for it.
        class: Option<u32>,
        /// Its ECN field.
        ecn: Ecn,
    },
    /// The link asks for a packet.
    Dequeue,
    /// The clock moves.
    Advance(Step),
    /// The operator changes the configuration.
    Reconfigure(AnyConfig),
    /// Everything queued goes.
    Purge,
    /// A copy is made, which from now on is treated in the same way.
    Snapshot,
    /// The copy takes the place of the original.
    Restore,
}

/// A move of the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// On.
    Forward(Duration),
    /// Back: a caller's mistake.
    Back(Duration),
    /// To the end of time.
    End,
}

/// A packet that remembers how and when it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TestPacket {
    /// Its number, counted from 0 in the order of arrival.
    pub id: u64,
    /// Its length.
    pub len: u32,
    /// Its flow.
    pub flow: u32,
    /// Class chosen for it.
    pub class: Option<u32>,
    /// The ECN field with which it came.
    pub came_with: Ecn,
    /// The ECN field now.
    pub ecn: Ecn,
    /// When it came.
    pub at: Instant,
}

impl Packet for TestPacket {
    fn len(&self) -> u32 {
        self.len
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ce(&mut self) -> bool {
        let capable = self.ecn.is_capable();
        if capable {
            self.ecn = Ecn::Ce;
        }
        capable
    }
}

impl Flow for TestPacket {
    fn flow_hash(&self, salt: u32) -> u32 {
        let mixed = goodqueue::random::mix_64(u64::from(self.flow) << 32 | u64::from(salt));
        u32::try_from(mixed >> 32).unwrap_or(0)
    }

    fn class(&self) -> Option<u32> {
        self.class
    }
}

impl Operation {
    /// Random operations on a discipline of this kind, which may be reconfigured as any other of
    /// it.
    pub fn any(kind: Kind) -> BoxedStrategy<Self> {
        let len = prop_oneof![
            12 => Just(1514_u32),
            4 => 40_u32..1514,
            1 => select(vec![0, 1, 2, 65_535, 262_144]),
        ];
        let flow = prop_oneof![4 => 0_u32..4, 1 => 0_u32..2_000];
        let chosen = prop_oneof![2 => 1_u32..5, 1 => select(vec![0, u32::MAX])].prop_map(Some);
        let class = prop_oneof![2 => Just(None), 1 => chosen];
        let ecn = select(vec![Ecn::NotEct, Ecn::NotEct, Ecn::Ect0, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
        let arrival = (len, flow, class, ecn);
        prop_oneof![
            60 => arrival.prop_map(|(l, f, c, e)| Self::Enqueue { len: l, flow: f, class: c, ecn: e }),
            40 => Just(Self::Dequeue),
            40 => Step::any().prop_map(Self::Advance),
            2 => config(kind).prop_map(Self::Reconfigure),
            1 => Just(Self::Purge),
            2 => Just(Self::Snapshot),
            2 => Just(Self::Restore),
        ]
        .boxed()
    }

    /// A sequence of `count` random operations.
    pub fn sequence(kind: Kind, count: usize) -> BoxedStrategy<Vec<Self>> {
        vec(Self::any(kind), count / 4..=count).boxed()
    }
}

impl Step {
    fn any() -> BoxedStrategy<Self> {
        let ms = Duration::from_millis;
        let around = |span: Duration| {
            vec![span.saturating_sub(Duration::from_nanos(1)), span, span + Duration::from_nanos(1)]
        };
        let mut spans = vec![Duration::ZERO, Duration::from_nanos(1), Duration::from_micros(64), ms(1)];
        // CoDel's target, PIE's period, CoDel's interval, and the interval of Adaptive RED.
        for span in [ms(5), ms(15), ms(100), ms(500)] {
            spans.extend(around(span));
        }
        let forward = prop_oneof![
            20 => select(spans),
            20 => (0_u64..4_000_000).prop_map(Duration::from_nanos),
            1 => select(vec![Duration::from_secs(10), Duration::from_secs(3_600), Duration::from_secs(100_000)]),
        ];
        prop_oneof![
            400 => forward.prop_map(Self::Forward),
            20 => select(vec![1, 1_000_000, 86_400_000_000_000]).prop_map(|n| Self::Back(Duration::from_nanos(n))),
            1 => Just(Self::End),
        ]
        .boxed()
    }

    /// The clock after the step.
    #[must_use]
    pub fn from(self, now: Instant) -> Instant {
        match self {
            Self::Forward(span) => now + span,
            Self::Back(span) => now - span,
            Self::End => Instant::MAX,
        }
    }
}

/// A random configuration that the discipline accepts.
pub fn config(kind: Kind) -> BoxedStrategy<AnyConfig> {
    config_and_link(kind).prop_map(|(config, _)| config).boxed()
}

/// A random configuration that the discipline accepts, and the link for which it was made; a
/// discipline that may hold others holds some.
pub fn config_and_link(kind: Kind) -> BoxedStrategy<(AnyConfig, Link)> {
    let leaves = select(KINDS.to_vec()).prop_flat_map(|kind| bare(kind).prop_map(|(config, _)| config));
    grown(kind, &leaves.boxed())
}

/// A random tree of disciplines, `depth` of them at most inside each other.
pub fn tree(depth: usize) -> BoxedStrategy<AnyConfig> {
    let leaves = select(KINDS.to_vec()).prop_flat_map(|kind| bare(kind).prop_map(|(config, _)| config));
    let mut trees = leaves.boxed();
    for _ in 1..depth {
        let holding: Vec<BoxedStrategy<AnyConfig>> = KINDS
            .iter()
            .filter(|kind| kind.children != Children::None)
            .map(|kind| grown(*kind, &trees).prop_map(|(config, _)| config).boxed())
            .collect();
        let taller = proptest::strategy::Union::new(holding);
        trees = prop_oneof![1 => trees, 3 => taller].boxed();
    }
    trees
}

/// A configuration of this kind that holds `inner` disciplines, if it may.
fn grown(kind: Kind, inner: &BoxedStrategy<AnyConfig>) -> BoxedStrategy<(AnyConfig, Link)> {
    let parameters = match kind.children {
        Children::None => return bare(kind),
        Children::Classes(parameters) => parameters,
        Children::One | Children::Bands => &[],
    };
    let names: Vec<&'static str> = parameters.iter().map(|parameter| parameter.name).collect();
    let wishes: Vec<BoxedStrategy<Option<Value>>> =
        parameters.iter().map(|parameter| proptest::option::of(value(parameter.unit)).boxed()).collect();
    let child = (1_u32..5, 0_u32..5, wishes, proptest::option::weighted(0.8, inner.clone()));
    (bare(kind), vec(child, 0..5))
        .prop_map(move |((config, link), children)| {
            let own = config.to_settings();
            let mut settings = own.iter().fold(Settings::new(), |all, (name, value)| all.with(name, value));
            for (class, parent, wishes, qdisc) in children {
                let qdisc = qdisc.map(|inner| (inner.kind().name, inner.to_settings()));
                let mut child = Child { class, parent, settings: Settings::new(), qdisc };
                let fits = |child: &Child| {
                    let wider = settings.clone().with_child(child.clone());
                    matches!(AnyConfig::from_settings(kind.name, &wider, &link), Some(Ok(_)))
                };
                // Some classes must have a rate; some disciplines have no classes above others.
                if names.contains(&"rate") {
                    child.settings.set("rate", Value::Rate(Rate::from_bps(1_000_000)));
                }
                if !fits(&child) {
                    child.parent = 0;
                }
                for (name, wish) in names.iter().copied().zip(wishes) {
                    let Some(value) = wish else { continue };
                    let wider = Child { settings: child.settings.clone().with(name, value), ..child.clone() };
                    if fits(&wider) {
                        child = wider;
                    }
                }
                if fits(&child) {
                    settings.add_child(child);
                }
            }
            let config =
                AnyConfig::from_settings(kind.name, &settings, &link).and_then(Result::ok).unwrap_or(config);
            (config, link)
        })
        .boxed()
}

/// A configuration without children: each parameter is set or not, to an ordinary value or one at
/// an edge; values that the discipline refuses in this company are left out.
fn bare(kind: Kind) -> BoxedStrategy<(AnyConfig, Link)> {
    let mut parameters: Vec<(&'static str, BoxedStrategy<Option<Value>>)> =
        kind.parameters.iter().map(|p| (p.name, proptest::option::of(value(p.unit)).boxed())).collect();
    if !kind.variants.is_empty() {
        let names: Vec<&'static str> = kind.variants.iter().map(|variant| variant.name).collect();
        // First, because the variant decides which values of the others are valid.
        parameters.insert(0, ("variant", select(names).prop_map(|name| Some(Value::Choice(name))).boxed()));
    }
    let names: Vec<&'static str> = parameters.iter().map(|parameter| parameter.0).collect();
    let values: Vec<BoxedStrategy<Option<Value>>> =
        parameters.into_iter().map(|parameter| parameter.1).collect();
    let rate = select(vec![0_u64, 1, 8_000, 1_000_000, 10_000_000, 1_000_000_000, 1_000_000_000_000]);
    let mtu = select(vec![64_u32, 576, 1514, 1514, 1514, 9014]);
    (values, rate, mtu)
        .prop_filter_map("the defaults must be valid", move |(values, rate, mtu)| {
            let link = Link { rate: Rate::from_bps(rate), mtu, ..Link::default() };
            let wishes = names.iter().copied().zip(values.iter().cloned());
            accepted(kind, &link, wishes).map(|config| (config, link))
        })
        .boxed()
}

/// The configuration with as many of `wishes` as can be had together.
fn accepted(
    kind: Kind,
    link: &Link,
    wishes: impl Iterator<Item = (&'static str, Option<Value>)> + Clone,
) -> Option<AnyConfig> {
    let make = |settings: &Settings| AnyConfig::from_settings(kind.name, settings, link).and_then(Result::ok);
    let mut settings = Settings::new();
    // Twice: some values need others to be there.
    for (name, wish) in wishes.clone().chain(wishes) {
        if let Some(value) = wish {
            let wider = settings.clone().with(name, value);
            if make(&wider).is_some() {
                settings = wider;
            }
        }
    }
    make(&settings)
}

/// Values of a unit, its edges among them.
fn value(unit: Unit) -> BoxedStrategy<Value> {
    let max = u64::from(u32::MAX);
    match unit {
        Unit::Packets => select(vec![1, 2, 3, 10, 30, 127, 1_000, max]).prop_map(Value::Packets).boxed(),
        Unit::Bytes => {
            let sizes = vec![1, 2, 64, 300, 1_514, 3_028, 9_000, 30_000, 1_000_000, max];
            select(sizes).prop_map(Value::Bytes).boxed()
        }
        Unit::Time => {
            let nanos =
                vec![0, 1, 1_000, 64_000, 1_000_000, 5_000_000, 20_000_000, 100_000_000, 3_600_000_000_000];
            select(nanos).prop_map(|n| Value::Time(Duration::from_nanos(n))).boxed()
        }
        Unit::Seconds => select(vec![0, 1, 10]).prop_map(|n| Value::Time(Duration::from_secs(n))).boxed(),
        Unit::Rate => {
            let rates = vec![8, 64_000, 1_000_000, 10_000_000, 1_000_000_000];
            select(rates).prop_map(|n| Value::Rate(Rate::from_bps(n))).boxed()
        }
        Unit::Integer => select(vec![0, 1, 2, 3, 8, 20, 64, 1_024, max]).prop_map(Value::Integer).boxed(),
        Unit::Signed => {
            select(vec![i64::MIN, -2_000, -64, -1, 0, 1, 20, 256, i64::MAX]).prop_map(Value::Signed).boxed()
        }
        Unit::Probability | Unit::Percentage => {
            select(vec![0.0, 1e-9, 0.001, 0.02, 0.5, 1.0]).prop_map(Value::Probability).boxed()
        }
        Unit::Class => select(vec![0, 1, 2, 3, 16]).prop_map(Value::Class).boxed(),
        Unit::Flag { .. } => any::<bool>().prop_map(Value::Flag).boxed(),
        Unit::Priomap => select(vec![[0; 16], [1; 16], [2; 16]]).prop_map(Value::Priomap).boxed(),
        Unit::Choice(words) => select(words).prop_map(Value::Choice).boxed(),
        Unit::Table(_) => select(crate::values::values(unit)).boxed(),
    }
}
