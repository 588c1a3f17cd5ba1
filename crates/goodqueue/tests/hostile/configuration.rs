//! H1 to H18: what an operator can set.

use goodqueue::config::{Children, Condition, Kind, Literal, Parameter, Range, Unit, Value};
use goodqueue::registry::KINDS;
use goodqueue::{AnyConfig, Duration, Link, Qdisc, Rate, Settings};
use goodqueue_testkit::check::round_trip;
use goodqueue_testkit::edge::{accepted, cases, only, values};

use crate::story::{Story, everywhere, ms, nanos, with_each};

// H1
#[test]
fn a_limit_of_zero_is_refused_or_lets_nothing_in() {
    let mut told = 0;
    for (kind, parameter) in parameters(|parameter| parameter.name == "limit") {
        told += 1;
        let Some(config) = accepted(kind, &only(parameter, number(parameter.unit, 0))) else { continue };
        let mut story = Story::new(format!("{} limit 0", kind.name), config);
        for flow in 0..10 {
            story.offers(flow, 1514);
        }
        assert_eq!((story.len(), story.dropped()), (0, 10), "{} queues with limit 0", kind.name);
    }
    assert!(told > 5);
}

// H2
#[test]
fn a_queue_for_one_packet_holds_one_packet() {
    let told = with_each("limit", &[Value::Packets(1)], |_, case| {
        // One packet per band, and eight past the flows.
        let most = if case.name.starts_with("fq ") { 11 } else { 1 };
        let mut story = Story::of(case);
        for round in 0..20 {
            story.offers(round % 3, 1514);
            story.offers_ect(round, 64);
            assert!(story.len() <= most, "{}", case.name);
            story.waits(ms(2));
            if round % 4 != 0 {
                story.sends();
            }
        }
        story.empties();
        assert!(story.queue.qdisc().stats().dequeued.packets > 0, "{} never sends", case.name);
    });
    assert!(told > 3, "some disciplines have a limit in packets");
}

// H2 H3 H4 H5 H7 H8 H10 H11 H12 H13 H16 H17 H36
#[test]
fn every_edge_of_every_parameter_and_all_of_them_together_survive_an_ordeal() {
    let mut told = 0;
    everywhere(|_, case| {
        Story::of(case).ordeal();
        told += 1;
    });
    assert!(told > 10 * KINDS.len(), "{told} cases");
}

// H3 H4
#[test]
fn memory_for_nothing_for_a_packet_and_for_everything() {
    let sizes = [1, 64, 1_513, 1_514, 1_515, u64::from(u32::MAX), u64::MAX].map(Value::Bytes);
    let mut told = 0;
    for name in ["memory_limit", "memlimit", "limit"] {
        told += with_each(name, &sizes, |_, case| Story::of(case).ordeal());
    }
    assert!(told > 10);
}

// H5 H7
#[test]
fn every_quantum_works_with_one_flow_and_with_the_most() {
    let quanta = [1, 255, 1_513, 1_514, (1 << 31) - 1, 1 << 31, (1 << 31) + 1];
    let mut told = 0;
    for kind in KINDS {
        let has = |name: &str| kind.parameters.iter().find(|parameter| parameter.name == name);
        let Some(quantum) = has("quantum") else { continue };
        if let Some(config) = accepted(kind, &only(quantum, number(quantum.unit, 0))) {
            // Who takes 0 means something by it, and gets somewhere with it.
            Story::new(format!("{} quantum 0", kind.name), config).ordeal();
        }
        for bytes in quanta {
            for flows in [1, 2, 3, 1_024, 65_536] {
                // A parent asks all its classes for their counters, and the test asks after every
                // operation.
                if flows > 1_024 && kind.children != Children::None {
                    continue;
                }
                let mut settings = only(quantum, number(quantum.unit, bytes));
                if let Some(parameter) = has("flows") {
                    settings.set("flows", number(parameter.unit, flows));
                }
                let Some(config) = accepted(kind, &settings) else { continue };
                told += 1;
                Story::new(format!("{} quantum {bytes} flows {flows}", kind.name), config).ordeal();
            }
        }
    }
    assert!(told > 10);
}

// H6
#[test]
fn every_mtu_and_every_rate_of_the_link_gives_valid_defaults() {
    for kind in KINDS {
        for mtu in [0, 1, 2, 64, 255, 1_514, 65_535, 262_144, u32::MAX] {
            for rate in [0, 1, 100, 10_000_000, 1_000_000_000_000, u64::MAX].map(Rate::from_bps) {
                let link = Link { rate, mtu, ..Link::default() };
                let made = AnyConfig::from_settings(kind.name, &Settings::new(), &link);
                let name = format!("{} on {link:?}", kind.name);
                match made.expect("registered") {
                    Ok(config) => {
                        assert_eq!(round_trip(&config, &link), Ok(()), "{name}");
                        let mut story = Story::new(name, config);
                        for len in [0, 1, mtu, 65_535, 262_144, 1_514, 64] {
                            story.offers(len % 3, len);
                            story.waits(ms(1));
                        }
                        story.sends();
                        story.empties();
                    }
                    // A shaper may need a rate, and a packet some length; the rest is its own
                    // business.
                    Err(error) => assert!(
                        rate.as_bps() < 1_000 || mtu < 64 || rate.as_bps() == u64::MAX || mtu == u32::MAX,
                        "{name}: {error}"
                    ),
                }
            }
        }
    }
}

// H7
#[test]
fn no_flows_and_more_flows_than_can_be_numbered_are_refused() {
    let is_number = |parameter: &Parameter| number_of(parameter.unit).is_some();
    for (kind, parameter) in parameters(|parameter| parameter.name == "flows" && is_number(parameter)) {
        let with = |flows| accepted(kind, &only(parameter, number(parameter.unit, flows)));
        assert!(with(0).is_none(), "{} accepts no flows", kind.name);
        for refused in [u64::from(u32::MAX) + 1, u64::MAX] {
            assert!(with(refused).is_none(), "{} accepts {refused} flows", kind.name);
        }
        for flows in [1, 2, 3, 1_023] {
            if let Some(config) = with(flows) {
                Story::new(format!("{} flows {flows}", kind.name), config).ordeal();
            }
        }
    }
}

// H8
#[test]
fn tables_of_zero_or_one_entry_are_refused_or_work() {
    let small = [0, 1, 2, 3];
    for name in ["divisor", "sets", "ways", "buckets", "bins", "levels", "bands"] {
        with_each(name, &small.map(Value::Integer), |_, case| Story::of(case).ordeal());
        with_each(name, &small.map(Value::Packets), |_, case| Story::of(case).ordeal());
    }
}

// H9: Linux's sfq derived a limit of 1 from values that each were fine.
#[test]
fn every_company_of_the_smallest_numbers_is_refused_or_works() {
    // 3^5 are 243 companies; more numbers are tried in pairs.
    const ALL_OF: usize = 5;
    let mut told = 0;
    for kind in KINDS {
        let numeric: Vec<&Parameter> =
            kind.parameters.iter().filter(|p| number_of(p.unit).is_some()).collect();
        let mut tries: Vec<Settings> = Vec::new();
        if numeric.len() <= ALL_OF {
            tries.push(Settings::new());
            for parameter in &numeric {
                tries = tries
                    .iter()
                    .flat_map(|base| {
                        (0..3).map(|n| base.clone().with(parameter.name, number(parameter.unit, n)))
                    })
                    .collect();
            }
        } else {
            for (index, one) in numeric.iter().enumerate() {
                for other in &numeric[index + 1..] {
                    for pair in 0..9 {
                        let first = only(one, number(one.unit, pair % 3));
                        tries.push(first.with(other.name, number(other.unit, pair / 3)));
                    }
                }
            }
        }
        for settings in tries {
            let Some(config) = accepted(kind, &settings) else { continue };
            told += 1;
            assert_eq!(round_trip(&config, &Link::default()), Ok(()), "{} {settings:?}", kind.name);
            let mut story = Story::new(format!("{} {settings:?}", kind.name), config);
            for round in 0..12 {
                story.offers(round % 3, 1514);
                story.offers_ect(round, 64);
                story.waits(ms(5));
                if round % 2 == 0 {
                    story.sends();
                }
            }
            story.empties();
        }
    }
    assert!(told > 50, "{told} configurations of small numbers were accepted");
}

// H10
#[test]
fn every_target_and_interval_is_refused_or_works() {
    // 2^42 ns are 2^32 of Linux's units of 1024 ns.
    let spans = [0, 1, 1_000, 5_000_000, 100_000_000, 1 << 42, u64::MAX - 1, u64::MAX];
    let mut told = 0;
    for kind in KINDS {
        let has = |name: &str| kind.parameters.iter().any(|parameter| parameter.name == name);
        if !has("target") || !has("interval") {
            continue;
        }
        for target in spans {
            for interval in spans {
                let settings = Settings::new()
                    .with("target", Value::Time(nanos(target)))
                    .with("interval", Value::Time(nanos(interval)));
                let config = accepted(kind, &settings);
                if interval == 0 {
                    let force = config.as_ref().and_then(|config| config.to_settings().time("interval"));
                    assert_ne!(force, Some(Duration::ZERO), "{}: an interval of 0 in force", kind.name);
                }
                let Some(config) = config else { continue };
                told += 1;
                let name = format!("{} target {target} interval {interval}", kind.name);
                let mut story = Story::new(name, config);
                for round in 0..60 {
                    story.offers_ect(round % 3, 1514);
                    story.waits(ms(3));
                    if round % 2 == 0 {
                        story.sends();
                    }
                }
                story.empties();
            }
        }
    }
    assert!(told > 20);
}

// H12
#[test]
fn an_update_period_of_nothing_is_refused_and_any_other_is_caught_up_with() {
    for name in ["tupdate", "freeze_time", "freeze", "rehash", "db", "perturb"] {
        for (kind, parameter) in parameters(|parameter| parameter.name == name) {
            for span in [0, 1, 1_000, 1_000_000, 86_400_000_000_000] {
                let Some(config) = accepted(kind, &only(parameter, Value::Time(nanos(span)))) else {
                    continue;
                };
                if name == "tupdate" {
                    let force = config.to_settings().time("tupdate");
                    assert_ne!(force, Some(Duration::ZERO), "{}: a period of 0 in force", kind.name);
                }
                Story::new(format!("{} {name} {span} ns", kind.name), config).ordeal();
            }
        }
    }
}

// H13 H16
#[test]
fn fractions_below_zero_above_one_and_no_numbers_are_refused() {
    let mut told = 0;
    for (kind, parameter) in parameters(|parameter| parameter.unit == Unit::Probability) {
        for wrong in [-1e-9, -1.0, 1.000_001, 100.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            told += 1;
            // Behind the values that tc wants before it: `loss gemodel 50% 50%`.
            let mut settings = Settings::new();
            if let Some((head, _)) = parameter.name.split_once('.') {
                let company =
                    |other: &&Parameter| other.name == head || other.name.starts_with(&format!("{head}."));
                for other in kind.parameters.iter().filter(company) {
                    if other.unit == Unit::Probability {
                        settings.set(other.name, Value::Probability(0.5));
                    } else if let Some(value) = values(other.unit).get(2) {
                        settings.set(other.name, value.clone());
                    }
                }
            }
            let taken = accepted(kind, &settings.with(parameter.name, Value::Probability(wrong)));
            assert!(taken.is_none(), "{} accepts {} {wrong}", kind.name, parameter.name);
        }
    }
    assert!(told > 0);
}

// H14
#[test]
fn every_rate_is_refused_or_works_and_none_is_divided_by() {
    let rates = [0, 1, 8, 100, 1_000_000_000_000, u64::MAX].map(|bps| Value::Rate(Rate::from_bps(bps)));
    let mut told = 0;
    for name in ["rate", "bandwidth", "peakrate", "ceil"] {
        told += with_each(name, &rates, |_, case| Story::of(case).ordeal());
    }
    assert!(told > 3);
}

// H15
#[test]
fn a_packet_larger_than_the_bucket_is_dropped_and_nobody_waits_behind_it() {
    with_each("burst", &[1, 100, 1_513].map(Value::Bytes), |_, case| {
        let mut story = Story::of(case);
        story.offers(1, 1_514);
        story.offers(2, 1_000_000);
        story.offers(3, 1);
        story.offers(4, 64);
        story.empties();
    });
}

// H18: limits of a parameter table that say one thing while the code does another.
#[test]
fn a_range_in_the_parameter_table_is_the_range_that_is_accepted() {
    let mut told = 0;
    for (kind, parameter) in parameters(|parameter| number_of(parameter.unit).is_some()) {
        let Range::Within(Literal::Number(low), Literal::Number(high)) = parameter.range else { continue };
        told += 1;
        let somewhere = |n: u64| {
            // Another parameter may stand in the way of an end: it may move, too.
            let wish = only(parameter, number(parameter.unit, n));
            let in_a_variant = kind.variants.iter().any(|variant| {
                accepted(kind, &wish.clone().with("variant", Value::Choice(variant.name))).is_some()
            });
            in_a_variant
                || accepted(kind, &wish).is_some()
                || kind.parameters.iter().filter(|other| other.name != parameter.name).any(|other| {
                    values(other.unit)
                        .into_iter()
                        .any(|value| accepted(kind, &wish.clone().with(other.name, value)).is_some())
                })
        };
        let what = format!("{} {} {}", kind.name, parameter.name, parameter.range_text());
        // A range in words depends on several other parameters.
        if !matches!(parameter.condition, Condition::Instead(_)) {
            assert!(somewhere(low), "{what}: {low} is refused");
            assert!(somewhere(high), "{what}: {high} is refused");
        }
        assert!(low == 0 || !somewhere(low - 1), "{what}: {} is accepted", low - 1);
        assert!(high == u64::MAX || !somewhere(high + 1), "{what}: {} is accepted", high + 1);
    }
    assert!(told > 10, "{told} ranges could be read");
}

#[test]
fn what_is_in_force_reads_back_in_every_case() {
    for kind in KINDS {
        for case in cases(kind) {
            let settings = case.config.to_settings();
            let Some(again) = accepted(kind, &settings) else {
                // Random cases are made for other links.
                assert!(case.name.contains("random"), "{}: {settings:?} is refused", case.name);
                continue;
            };
            assert!(again == case.config || case.name.contains("random"), "{}: {settings:?}", case.name);
            let told: Vec<&str> = settings.iter().map(|entry| entry.0).collect();
            // The inner discipline of a random one may have the limit.
            let random = case.name.contains("random");
            let limits = kind.parameters.iter().filter(|parameter| parameter.name == "limit" && !random);
            for limit in limits {
                assert!(told.contains(&limit.name), "{} does not tell its {}", case.name, limit.name);
            }
        }
    }
}

fn parameters(
    wanted: impl Fn(&Parameter) -> bool,
) -> impl Iterator<Item = (&'static Kind, &'static Parameter)> {
    let all = KINDS.iter().flat_map(|kind| kind.parameters.iter().map(move |parameter| (kind, parameter)));
    all.filter(move |(_, parameter)| wanted(parameter))
}

fn number_of(unit: Unit) -> Option<fn(u64) -> Value> {
    match unit {
        Unit::Packets => Some(Value::Packets),
        Unit::Bytes => Some(Value::Bytes),
        Unit::Integer => Some(Value::Integer),
        _ => None,
    }
}

fn number(unit: Unit, n: u64) -> Value {
    number_of(unit).map_or(Value::Integer(n), |make| make(n))
}
