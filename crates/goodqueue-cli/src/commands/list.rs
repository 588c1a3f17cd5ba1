//! `goodqueue list`: what there is, with defaults and where they come from.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use goodqueue::config::{Children, Keyword, Kind, Parameter, Unit};
use goodqueue::registry::{self, Preset};
use goodqueue_scenario::diagnostic::Diagnostic;
use goodqueue_scenario::{library, reproduce};
use serde_json::{Value, json};

use super::run::scenario_names;
use super::{Ending, Outcome};
use crate::output;

/// List disciplines, congestion controls, scenarios or the claims of papers, with defaults and their sources.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue list qdiscs
  goodqueue list qdiscs codel
  goodqueue list tcps --json -")]
pub(crate) struct ListArgs {
    /// What to list.
    #[arg(value_name = "qdiscs|tcps|scenarios|claims")]
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
    /// What the papers claim that `goodqueue reproduce` tries.
    Claims,
}

pub(crate) fn main(args: &ListArgs) -> Outcome {
    if let Some(json) = &args.json {
        output::check("--json", json)?;
    }
    let (entries, text) = match args.what {
        What::Qdiscs => qdiscs(),
        What::Tcps => tcps(),
        What::Scenarios => scenarios(),
        What::Claims => claims()?,
    };
    let names: Vec<&str> = entries.iter().filter_map(|entry| entry["name"].as_str()).collect();
    let wanted = |name: &str| args.name.as_deref().is_none_or(|only| only == name);
    if let Some(name) = args.name.as_deref().filter(|name| !names.contains(name)) {
        return Err(Diagnostic::new(format!("there is no `{name}` to list"))
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
    let kinds = registry::KINDS.iter().map(|kind| (qdisc_json(kind), qdisc_text(kind)));
    kinds.chain(registry::PRESETS.iter().map(preset)).unzip()
}

/// A name for a discipline with certain settings: an entry of its own, with the discipline it stands for.
fn preset(preset: &Preset) -> (Value, String) {
    let settings: Vec<String> =
        preset.settings.iter().map(|(parameter, value)| format!("{parameter} {value}")).collect();
    let line = format!("{} {}", preset.kind, settings.join(" "));
    let entry = json!({
        "name": preset.name, "summary": preset.doc, "reference": preset.source,
        "variants": [], "parameters": [], "preset_of": line,
    });
    (entry, format!("{} – {} ({})\n  preset: {line}\n", preset.name, preset.doc, preset.source))
}

fn qdisc_json(kind: &Kind) -> Value {
    let variants: Vec<Value> =
        kind.variants.iter().map(|variant| json!({"name": variant.name, "doc": variant.doc})).collect();
    let mut entry = json!({
        "name": kind.name, "summary": kind.summary, "reference": kind.reference,
        "variants": variants, "parameters": parameters_json(kind.parameters),
    });
    let keywords = registry::keywords(kind.name);
    if !keywords.is_empty() {
        let one = |keyword: &Keyword| json!({"name": keyword.name, "doc": keyword.doc});
        entry["keywords"] = keywords.iter().map(one).collect();
    }
    if let Children::Classes(parameters) = kind.children {
        entry["class_parameters"] = parameters_json(parameters);
    }
    entry
}

fn parameters_json(parameters: &[Parameter]) -> Value {
    let one = |parameter: &Parameter| {
        json!({
            "name": parameter.name, "unit": unit(parameter.unit), "default": parameter.default,
            "source": parameter.source, "range": parameter.range, "doc": parameter.doc,
        })
    };
    parameters.iter().map(one).collect()
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
    text.push_str(&parameters_text("  ", kind.parameters));
    for keyword in registry::keywords(kind.name) {
        let _ = writeln!(text, "  {:21}  {}", keyword.name, keyword.doc);
    }
    match kind.children {
        Children::One => text.push_str("  [QDISC] holds another discipline\n"),
        Children::Bands => text.push_str("  [BAND: QDISC] holds a discipline for each band, from 1\n"),
        Children::Classes(parameters) => {
            text.push_str("  [CLASS PARAMETERS: QDISC] holds classes, each with a discipline\n");
            text.push_str(&parameters_text("    ", parameters));
        }
        _ => {}
    }
    text
}

fn parameters_text(indent: &str, parameters: &[Parameter]) -> String {
    let mut text = String::new();
    let width = parameters.iter().map(|parameter| parameter.name.len()).max().unwrap_or(0);
    for parameter in parameters {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{indent}{:width$}  {} [default: {}; {}]",
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
        Unit::Signed => "signed integer".to_owned(),
        Unit::Class => "class".to_owned(),
        Unit::Probability => "probability".to_owned(),
        Unit::Flag { .. } => "flag".to_owned(),
        Unit::Choice(words) => words.join(" | "),
        Unit::Priomap => "bands".to_owned(),
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

fn claims() -> Result<(Vec<Value>, Vec<String>), Diagnostic> {
    let papers = reproduce::papers()?;
    let all = papers.iter().flat_map(|paper| paper.claims.iter().map(move |claim| (paper, claim)));
    Ok(all
        .map(|(paper, claim)| {
            let checks: Vec<&str> = claim.checks.iter().map(|check| check.text.as_str()).collect();
            let mut entry = json!({
                "name": claim.id, "paper": paper.name, "source": paper.source, "kind": format!("{:?}", claim.kind),
                "where": claim.place, "says": claim.says, "checks": checks, "tolerance": claim.tolerance,
            });
            if let Some(why) = &claim.not_run {
                entry["not_run"] = json!(why);
            }
            let place = if claim.place.is_empty() { &paper.title } else { &claim.place };
            (entry, format!("{} – {} ({place})\n", claim.id, claim.says))
        })
        .unzip())
}
