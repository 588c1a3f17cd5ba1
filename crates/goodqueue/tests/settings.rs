//! Settings are checked against the parameter table of their discipline, for every discipline and
//! every parameter.

use goodqueue::config::{Child, Children, Condition, Kind, Literal, Parameter, Range, Unit, Value};
use goodqueue::registry::{Chosen, KINDS};
use goodqueue::{
    AnyConfig, AnyQdisc, ConfigError, Datagram, Duration, FlowKey, Instant, Link, Qdisc, Rate, Settings,
    random::Source,
};

fn make(kind: &Kind, settings: &Settings) -> Result<AnyConfig, ConfigError> {
    AnyConfig::from_settings(kind.name, settings, &Link::default()).expect("registered")
}

/// A value of another unit than `parameter` has.
fn of_another_unit(parameter: &Parameter) -> Value {
    if matches!(parameter.unit, Unit::Priomap) { Value::Flag(true) } else { Value::Priomap([0; 16]) }
}

/// Every discipline with every parameter of its own.
fn parameters() -> impl Iterator<Item = (&'static Kind, &'static Parameter)> {
    KINDS.iter().flat_map(|kind| kind.parameters.iter().map(move |parameter| (kind, parameter)))
}

#[test]
fn an_unknown_name_is_an_error_of_every_discipline() {
    for kind in KINDS {
        let error = make(kind, &Settings::new().with("targt", Value::Time(Duration::from_millis(13))));
        let text = error.expect_err(kind.name).to_string();
        assert!(text.starts_with("`targt 13ms` is not possible"), "{}: {text}", kind.name);
        assert!(text.contains(kind.parameters[0].name), "{}: {text}", kind.name);
    }
}

#[test]
fn a_value_of_the_wrong_unit_is_an_error_for_every_parameter() {
    for (kind, parameter) in parameters() {
        let wrong = Settings::new().with(parameter.name, of_another_unit(parameter));
        let error = make(kind, &wrong).expect_err(parameter.name);
        assert_eq!(error.parameter, parameter.name, "{}", kind.name);
    }
}

/// Every parameter that has a range, those of classes included.
fn with_range() -> impl Iterator<Item = &'static Parameter> {
    let all = KINDS.iter().flat_map(|kind| {
        let of_classes = if let Children::Classes(parameters) = kind.children { parameters } else { &[] };
        kind.parameters.iter().chain(of_classes)
    });
    all.filter(|parameter| parameter.range != Range::Any)
}

/// The least and the greatest value in a range, and the values beside them that are outside.
#[expect(clippy::incompatible_msrv, reason = "tests run with the newest compiler")]
fn ends(range: Range) -> ([Literal; 2], Vec<Literal>) {
    let around = |low: u64, high: u64, make: fn(u64) -> Literal| {
        let outside = [low.checked_sub(1), high.checked_add(1)];
        ([make(low), make(high)], outside.into_iter().flatten().map(make).collect())
    };
    match range {
        Range::Any => panic!("every value is admissible"),
        Range::PowersOfTwo(low, high) => around(low, high, Literal::Number),
        Range::Within(Literal::Number(low), Literal::Number(high)) => around(low, high, Literal::Number),
        Range::Within(Literal::Time(low), Literal::Time(high)) => {
            around(low.as_nanos(), high.as_nanos(), |nanos| Literal::Time(Duration::from_nanos(nanos)))
        }
        Range::Within(Literal::Rate(low), Literal::Rate(high)) => {
            around(low.as_bps(), high.as_bps(), |bits| Literal::Rate(Rate::from_bps(bits)))
        }
        Range::Within(Literal::Signed(low), Literal::Signed(high)) => {
            ([low, high].map(Literal::Signed), [low - 1, high + 1].map(Literal::Signed).into())
        }
        Range::Within(Literal::Probability(low), Literal::Probability(high)) => {
            let outside = [low.next_down(), high.next_up()];
            ([low, high].map(Literal::Probability), outside.map(Literal::Probability).into())
        }
        Range::Within(low, high) => panic!("no range of {low} to {high} exists"),
    }
}

#[test]
fn the_ends_of_every_range_are_accepted_and_their_neighbours_are_not() {
    let mut refused = 0;
    for parameter in with_range() {
        let (inside, outside) = ends(parameter.range);
        for end in inside {
            assert_eq!(parameter.check(&end.with_unit(parameter.unit)), Ok(()), "{}", parameter.name);
        }
        for neighbour in outside {
            let error = parameter.check(&neighbour.with_unit(parameter.unit)).expect_err(parameter.name);
            let allowed = error.to_string();
            let range = match parameter.condition {
                Condition::Instead(words) if matches!(neighbour, Literal::Probability(_)) => words.to_owned(),
                _ => parameter.range.to_string(),
            };
            assert_eq!(error.parameter, parameter.name);
            assert!(allowed.contains(&range) || allowed.contains("0 to 1"), "{allowed}: {range}");
            refused += 1;
        }
    }
    assert!(refused > 120, "{refused} values outside of a range");
}

#[test]
fn every_discipline_refuses_values_outside_its_ranges() {
    for (kind, parameter) in parameters().filter(|(_, parameter)| parameter.range != Range::Any) {
        for neighbour in ends(parameter.range).1 {
            let given = Settings::new().with(parameter.name, neighbour.with_unit(parameter.unit));
            let error = make(kind, &given).expect_err(parameter.name);
            assert_eq!(error.parameter, parameter.name, "{} {neighbour}", kind.name);
        }
    }
}

#[test]
fn fractions_outside_0_to_1_and_unknown_words_are_errors() {
    for (kind, parameter) in parameters() {
        let wrong: Vec<Value> = match parameter.unit {
            Unit::Probability => [-0.1, 1.1, f64::NAN].map(Value::Probability).into(),
            Unit::Choice(_) | Unit::Table(_) => vec![Value::Choice("nosuchword")],
            _ => continue,
        };
        for value in wrong {
            let error = make(kind, &Settings::new().with(parameter.name, value)).expect_err(parameter.name);
            assert_eq!(error.parameter, parameter.name, "{}", kind.name);
        }
    }
}

#[test]
fn an_unknown_variant_is_an_error_of_every_discipline() {
    for kind in KINDS {
        let unknown = Settings::new().with("variant", Value::Choice("nosuchvariant"));
        let error = make(kind, &unknown).expect_err(kind.name);
        assert_eq!(error.parameter, "variant", "{}", kind.name);
        for variant in kind.variants {
            let known = Settings::new().with("variant", Value::Choice(variant.name));
            assert!(make(kind, &known).is_ok(), "{} {}", kind.name, variant.name);
        }
    }
}

#[test]
fn classes_are_checked_as_their_disciplines_are() {
    for kind in KINDS {
        let class = |settings| Child { class: 1, settings, ..Child::default() };
        let unknown = Settings::new().with("nosuchname", Value::Flag(true));
        let error = make(kind, &Settings::new().with_child(class(unknown))).expect_err(kind.name);
        assert_eq!(error.class, Some(1), "{}: {error}", kind.name);
        let Children::Classes(parameters) = kind.children else { continue };
        for parameter in parameters {
            let wrong = Settings::new().with(parameter.name, of_another_unit(parameter));
            let error = make(kind, &Settings::new().with_child(class(wrong))).expect_err(kind.name);
            assert_eq!((error.parameter, error.class), (parameter.name, Some(1)), "{}", kind.name);
        }
    }
}

#[test]
fn what_a_configuration_says_of_itself_passes_the_check() {
    for kind in KINDS {
        for rate in [0, 1_000_000, 10_000_000_000] {
            let link = Link { rate: Rate::from_bps(rate), ..Link::default() };
            let config = AnyConfig::from_settings(kind.name, &Settings::new(), &link).expect("registered");
            let config = config.expect(kind.name);
            assert_eq!(kind.check(&config.to_settings()), Ok(()), "{}", kind.name);
        }
    }
}

#[test]
fn another_discipline_in_the_same_place_keeps_salt_and_randomness() {
    let config = |name: &str| make(&goodqueue::registry::find(name).expect("listed"), &Settings::new());
    let [codel, sfq, red] = ["codel", "sfq", "red"].map(|name| config(name).expect(name));
    let replaced = |salt, seed| {
        let mut queue = AnyQdisc::new(codel.clone(), salt, Source::seeded(seed));
        queue.reconfigure(Instant::ZERO, sfq.clone(), &mut |_, _| ());
        queue
    };
    // Which of a hundred flows share a queue of sfq depends on its salt.
    let order = |mut queue: AnyQdisc<Datagram<u16>>| {
        for port in 0..100 {
            let key = FlowKey::new(([10, 0, 0, 1], port).into(), ([10, 0, 0, 2], 1).into(), 17);
            queue.enqueue(Instant::ZERO, Datagram::new(key, 1_000, port), &mut |_, _| ());
        }
        let flows: Vec<bool> = (0..100)
            .map(|port| {
                let key = FlowKey::new(([10, 0, 0, 1], port).into(), ([10, 0, 0, 2], 1).into(), 17);
                goodqueue::Lookahead::other_flow(&queue, &Datagram::new(key, 1_000, port)).is_some()
            })
            .collect();
        flows
    };
    let made = |salt| order(AnyQdisc::new(sfq.clone(), salt, Source::seeded(1)));
    assert_eq!(order(replaced(5, 1)), made(5), "the salt is kept");
    assert_ne!(order(replaced(5, 1)), made(0), "and matters");
    // Two seeds draw differently after the change too.
    let drawn = |seed| {
        let mut queue = replaced(5, seed);
        queue.reconfigure(Instant::ZERO, red.clone(), &mut |_: Datagram<u16>, _| ());
        match queue.chosen() {
            Chosen::Red(red) => format!("{red:?}"),
            _ => unreachable!("it was changed to red"),
        }
    };
    assert_ne!(drawn(1), drawn(2));
    assert_eq!(drawn(1), drawn(1), "and alike with the same seed");
}
