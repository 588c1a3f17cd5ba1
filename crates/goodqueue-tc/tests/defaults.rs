//! What `list` and `explain` print as a default is what a line without the parameter means.

use goodqueue::config::{DefaultValue, Kind, Parameter, Unit};
use goodqueue::registry::KINDS;
use goodqueue::{AnyConfig, Link};
use goodqueue_tc::parse;

/// The discipline with `words` in each of its variants.
fn in_variants(kind: &Kind, words: &str) -> Vec<(&'static str, AnyConfig)> {
    let variants: Vec<&str> = match kind.variants {
        [] => vec![""],
        variants => variants.iter().map(|variant| variant.name).collect(),
    };
    let one = |variant: &'static str| {
        let chosen = if variant.is_empty() { String::new() } else { format!(" variant {variant}") };
        let line = format!("{} {words}{chosen}", kind.name);
        (variant, parse(&line, &Link::default()).unwrap_or_else(|error| panic!("{line}: {error:?}")))
    };
    variants.into_iter().map(one).collect()
}

/// Words without which a parameter has no effect and is refused.
fn company(kind: &Kind, parameter: &Parameter) -> &'static str {
    let of_flows = ["min", "max", "avpkt", "burst", "probability", "ecn", "harddrop"];
    if kind.name == "sfq" && of_flows.contains(&parameter.name) { "redflowlimit 100000" } else { "" }
}

/// Parameters whose default has a value, in each discipline.
fn with_default() -> impl Iterator<Item = (&'static Kind, &'static Parameter)> {
    let all = KINDS.iter().flat_map(|kind| kind.parameters.iter().map(move |parameter| (kind, parameter)));
    all.filter(|(_, parameter)| !matches!(parameter.default, DefaultValue::Derived(_)))
}

#[test]
fn a_configuration_has_the_declared_defaults() {
    let mut checked = 0;
    for (kind, parameter) in with_default() {
        for (variant, config) in in_variants(kind, company(kind, parameter)) {
            // Some configurations name a flag or a choice only if it differs from the default.
            let Some(in_force) = config.to_settings().get(parameter.name) else { continue };
            let declared = parameter.default_of(variant);
            // Those of sfb are stored in coarser units, and the limit of sfq leaves no room for 128
            // flows.
            let is_adjusted =
                matches!((kind.name, parameter.name), ("sfb", "increment" | "decrement") | ("sfq", "flows"));
            if !is_adjusted {
                assert_eq!(declared, Some(in_force), "{} {} {variant}", kind.name, parameter.name);
            }
            checked += 1;
        }
    }
    // A loop over nothing would pass, too.
    assert!(checked > 150, "{checked} defaults");
}

#[test]
fn a_printed_default_can_be_written_and_changes_nothing() {
    let mut checked = 0;
    // Those behind the value of another parameter cannot be written alone.
    for (kind, parameter) in with_default().filter(|(_, parameter)| !parameter.name.contains('.')) {
        // Only variant ns2 has it.
        if (kind.name, parameter.name) == ("red", "autoweight") {
            continue;
        }
        let text = parameter.default_text();
        let usual = text.split("; ").next().unwrap_or_default();
        let words = match parameter.unit {
            Unit::Flag { .. } if usual == "off" => continue,
            Unit::Flag { .. } if usual == "on" => parameter.name.to_owned(),
            Unit::Flag { .. } => usual.to_owned(),
            _ => format!("{} {usual}", parameter.name),
        };
        let company = company(kind, parameter);
        // Some configurations name a choice only if it is written.
        let others = |config: AnyConfig| -> Vec<_> {
            let settings = config.to_settings();
            settings.iter().filter(|(name, _)| *name != parameter.name).collect()
        };
        let without = in_variants(kind, company).remove(0).1;
        let written = parse(&format!("{} {company} {words}", kind.name), &Link::default());
        let written = written.unwrap_or_else(|error| panic!("{} {words}: {error:?}", kind.name));
        let is_adjusted = matches!(kind.name, "sfb" | "sfq");
        if let Some(in_force) = written.to_settings().get(parameter.name).filter(|_| !is_adjusted) {
            assert_eq!(Some(in_force), parameter.default_of(""), "{} {words}", kind.name);
        }
        assert_eq!(others(written), others(without), "{} {words}", kind.name);
        checked += 1;
    }
    assert!(checked > 70, "{checked} defaults");
}
