//! `goodqueue list`: what there is, with defaults and where they come from.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use goodqueue::config::{Kind, Unit};
use goodqueue::registry;
use goodqueue_scenario::library;
use serde_json::{Value, json};

use super::run::scenario_names;
use super::{Ending, Outcome};
use crate::output;

/// List disciplines, congestion controls or scenarios, with defaults and their sources.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue list qdiscs
  goodqueue list qdiscs codel
  goodqueue list tcps --json -")]
pub(crate) struct ListArgs {
    /// What to list.
    what: What,
    /// Only the one of this name.
    name: Option<String>,
    /// Write the list as JSON to a file, or to standard output (-).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum What {
    /// Queue disciplines and their parameters.
    Qdiscs,
    /// Congestion controls.
    Tcps,
    /// Scenario files that come with goodqueue.
    Scenarios,
}

pub(crate) fn main(args: &ListArgs) -> Outcome {
    if let Some(json) = &args.json {
        output::check("--json", json)?;
    }
    let (entries, text) = match args.what {
        What::Qdiscs => qdiscs(),
        What::Tcps => tcps(),
        What::Scenarios => scenarios(),
    };
    let names: Vec<&str> = entries.iter().filter_map(|entry| entry["name"].as_str()).collect();
    let wanted = |name: &str| args.name.as_deref().is_none_or(|only| only == name);
    if let Some(name) = args.name.as_deref().filter(|name| !names.contains(name)) {
        return Err(goodqueue_scenario::diagnostic::Diagnostic::new(format!("there is no `{name}` to list"))
            .one_of(name, &names)
            .in_argument("NAME", name));
    }
    if let Some(json) = &args.json {
        let chosen: Vec<&Value> =
            entries.iter().filter(|entry| entry["name"].as_str().is_some_and(wanted)).collect();
        output::write_json("--json", json, &chosen)?;
    }
    if args.json.as_deref() != Some(std::path::Path::new("-")) {
        let chosen: Vec<&str> =
            names.iter().zip(&text).filter(|(name, _)| wanted(name)).map(|(_, text)| text.as_str()).collect();
        output::print(&chosen.join("\n"))?;
    }
    Ok(Ending::Done)
}

fn qdiscs() -> (Vec<Value>, Vec<String>) {
    registry::KINDS.iter().map(|kind| (qdisc_json(kind), qdisc_text(kind))).unzip()
}

fn qdisc_json(kind: &Kind) -> Value {
    let variants: Vec<Value> =
        kind.variants.iter().map(|variant| json!({"name": variant.name, "doc": variant.doc})).collect();
    let parameters: Vec<Value> = kind
        .parameters
        .iter()
        .map(|parameter| {
            json!({
                "name": parameter.name, "unit": unit(parameter.unit), "default": parameter.default,
                "source": parameter.source, "range": parameter.range, "doc": parameter.doc,
            })
        })
        .collect();
    json!({
        "name": kind.name, "summary": kind.summary, "reference": kind.reference,
        "variants": variants, "parameters": parameters,
    })
}

fn qdisc_text(kind: &Kind) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{} – {} ({})", kind.name, kind.summary, kind.reference);
    if !kind.variants.is_empty() {
        let _ = writeln!(text, "  variant");
        for (index, variant) in kind.variants.iter().enumerate() {
            let default = if index == 0 { " [default]" } else { "" };
            let _ = writeln!(text, "    {:12} {}{default}", variant.name, variant.doc);
        }
    }
    let width = kind.parameters.iter().map(|parameter| parameter.name.len()).max().unwrap_or(0);
    for parameter in kind.parameters {
        let _ = writeln!(
            text,
            "  {:width$}  {} [default: {}; {}]",
            parameter.name, parameter.doc, parameter.default, parameter.source
        );
    }
    text
}

fn unit(unit: Unit) -> String {
    match unit {
        Unit::Packets => "packets".to_owned(),
        Unit::Bytes => "bytes".to_owned(),
        Unit::Time => "time".to_owned(),
        Unit::Seconds => "seconds".to_owned(),
        Unit::Rate => "rate".to_owned(),
        Unit::Integer => "integer".to_owned(),
        Unit::Class => "class".to_owned(),
        Unit::Probability => "probability".to_owned(),
        Unit::Flag { .. } => "flag".to_owned(),
        Unit::Choice(words) => words.join(" | "),
        #[expect(unreachable_patterns, reason = "units may be added")]
        _ => "other".to_owned(),
    }
}

fn tcps() -> (Vec<Value>, Vec<String>) {
    goodqueue_tcp::registry::CONTROLLERS
        .iter()
        .map(|about| {
            let constants: Vec<Value> = about
                .constants
                .iter()
                .map(|constant| json!({"name": constant.name, "value": constant.value, "source": constant.source}))
                .collect();
            let entry = json!({
                "name": about.name, "summary": about.summary, "reference": about.reference,
                "variants": [], "constants": constants,
            });
            let mut text = format!("{} – {} ({})\n", about.name, about.summary, about.reference);
            for constant in about.constants {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "  {} = {} [{}]", constant.name, constant.value, constant.source);
            }
            (entry, text)
        })
        .unzip()
}

fn scenarios() -> (Vec<Value>, Vec<String>) {
    library::SCENARIOS
        .iter()
        .filter_map(|entry| {
            let document = library::load_builtin(entry.name).ok()?;
            let scenario = document.resolve(&scenario_names()).ok()?;
            let mut text = format!("{} – {}\n", entry.name, scenario.title);
            for (what, said) in
                [("question", &scenario.question), ("expect", &scenario.expect), ("source", &scenario.source)]
            {
                if !said.is_empty() {
                    let _ = writeln!(text, "  {what}: {said}");
                }
            }
            let value = json!({
                "name": entry.name, "title": scenario.title, "question": scenario.question,
                "expect": scenario.expect, "source": scenario.source,
            });
            Some((value, text))
        })
        .unzip()
}
