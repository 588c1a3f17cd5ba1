//! `goodqueue list`: disciplines, congestion controls, profiles, scenarios, papers and claims, with
//! defaults and sources.

#[cfg(feature = "papers")]
mod papers;
mod unknown;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use goodqueue::Disciplines;
use goodqueue::config::{Children, Keyword, Kind, Parameter, Unit};
use goodqueue::registry::{self, Preset};
use goodqueue_advise::KINDS;
use goodqueue_scenario::Extensions;
use goodqueue_scenario::library;
use goodqueue_scenario::scenario::{Document, Names, Overrides};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units::show_time;
use goodqueue_tcp::config::MAX_WINDOW;
use goodqueue_tcp::congestion::Constant;
use goodqueue_tcp::congestion::parameter::{Parameter as TcpParameter, Value as TcpValue};
use goodqueue_tcp::{HyStart, Profile, hystart};
use serde_json::{Map, Value, json};

use self::unknown::unknown;
use super::{Ending, Outcome};
use crate::output::{self, Outputs};

#[derive(Args, Debug)]
#[command(about = concat!(
    "List disciplines, congestion controls, TCP profiles, scenarios",
    only_with_papers!(", papers or their claims"),
    ", with defaults and sources"
))]
#[command(after_help = concat!(
    "Examples:
  goodqueue list                    an overview of all kinds
  goodqueue list qdiscs             their names and what they do
  goodqueue list qdiscs codel       the parameters of one
  goodqueue list profiles linux
",
    only_with_papers!("  goodqueue list claims jk          the claims of one paper
"),
    "  goodqueue list tcps --json -"
))]
pub(crate) struct ListArgs {
    /// Kind of entries to list [default: an overview of all kinds].
    #[arg(value_name = concat!("qdiscs|tcps|profiles|scenarios|links", only_with_papers!("|papers|claims")))]
    what: Option<ListedItem>,
    #[arg(help = concat!(
        "Show only the entry with this name",
        only_with_papers!("; of claims, those of this paper or with this prefix")
    ))]
    name: Option<String>,
    /// Write the list as JSON to a file, or to standard output (-).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ListedItem {
    /// Queue disciplines and their parameters.
    Qdiscs,
    /// Congestion controls.
    Tcps,
    /// TCP profiles: settings that imitate a TCP implementation.
    Profiles,
    /// Built-in scenarios.
    Scenarios,
    /// Kinds of access lines for `goodqueue advise`, with what is assumed about each.
    Links,
    /// Papers whose claims `goodqueue reproduce` checks, and how long that takes.
    #[cfg(feature = "papers")]
    Papers,
    /// Claims of these papers.
    #[cfg(feature = "papers")]
    Claims,
}

impl ListedItem {
    /// True if an entry has parameters or settings, which fill a screen.
    const fn has_details(self) -> bool {
        matches!(self, Self::Qdiscs | Self::Tcps | Self::Profiles)
    }

    /// Returns all entries, and unless their lists have a form of their own, the text of each.
    fn entries(self, extensions: &Extensions) -> Result<(Vec<Value>, Vec<String>), Diagnostic> {
        Ok(match self {
            Self::Qdiscs => qdiscs(extensions.disciplines()),
            Self::Tcps => tcps(extensions),
            Self::Profiles => profiles(extensions)?,
            Self::Scenarios => scenarios(),
            Self::Links => links(),
            // Only names: to count the runs of all papers, their experiments are planned, which
            // takes half a second.
            #[cfg(feature = "papers")]
            Self::Papers => (papers::names()?, Vec::new()),
            #[cfg(feature = "papers")]
            Self::Claims => (papers::claims(None)?.0, Vec::new()),
        })
    }
}

pub(crate) fn main(args: &ListArgs, extensions: &Extensions) -> Outcome {
    if let Some(json) = &args.json {
        Outputs::default().add("--json", json)?;
    }
    let name = args.name.as_deref();
    let (entries, text) = match args.what {
        None => {
            let (entries, texts) = overview(extensions)?;
            selected(entries, texts, name)?
        }
        #[cfg(feature = "papers")]
        Some(ListedItem::Papers) => papers::papers(name)?,
        #[cfg(feature = "papers")]
        Some(ListedItem::Claims) => papers::claims(name)?,
        Some(what) if what.has_details() && name.is_none() => {
            let (entries, _) = what.entries(extensions)?;
            let text = short(what, &entries);
            (entries, text)
        }
        Some(what) => {
            let (entries, texts) = what.entries(extensions)?;
            selected(entries, texts, name)?
        }
    };
    if let Some(json) = &args.json {
        output::write_json("--json", json, &entries)?;
    }
    if args.json.as_deref() != Some(std::path::Path::new("-")) {
        output::print(&text)?;
    }
    Ok(Ending::Done)
}

/// Returns the entry of this name and its text; without a name all of them.
fn selected(
    entries: Vec<Value>,
    texts: Vec<String>,
    name: Option<&str>,
) -> Result<(Vec<Value>, String), Diagnostic> {
    let Some(name) = name else { return Ok((entries, texts.join("\n"))) };
    let names: Vec<String> = entries.iter().map(|entry| name_of(entry).to_owned()).collect();
    let found = entries.into_iter().zip(texts).find(|(entry, _)| name_of(entry) == name);
    let (entry, text) = found.ok_or_else(|| unknown(name, &names))?;
    Ok((vec![entry], text))
}

fn name_of(entry: &Value) -> &str {
    entry["name"].as_str().unwrap_or_default()
}

/// Lists names and summaries, a line each.
fn short(what: ListedItem, entries: &[Value]) -> String {
    let of = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let width = entries.iter().map(|entry| of(entry, "name").len()).max().unwrap_or(0);
    let mut text = String::new();
    for entry in entries {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:width$}  {}", of(entry, "name"), of(entry, "summary"));
    }
    let word = what.to_possible_value();
    let first = entries.first().map(|entry| of(entry, "name"));
    if let (Some(word), Some(first)) = (word, first) {
        let _ = writeln!(text, "\n`goodqueue list {} {first}` shows the details of one.", word.get_name());
    }
    text
}

/// Lists all kinds: the number of entries, and the names if they fit.
fn overview(extensions: &Extensions) -> Result<(Vec<Value>, Vec<String>), Diagnostic> {
    let mut rows = (Vec::new(), Vec::new());
    for what in ListedItem::value_variants() {
        let (Some(word), (entries, _)) = (what.to_possible_value(), what.entries(extensions)?) else {
            continue;
        };
        let names: Vec<&str> = entries.iter().filter_map(|entry| entry["name"].as_str()).collect();
        let about = word.get_help().map(ToString::to_string).unwrap_or_default();
        let shown = if names.len() <= MOST_NAMES {
            names.join(", ")
        } else {
            format!("{}, ...", names[..6].join(", "))
        };
        rows.1.push(format!("goodqueue list {:10} {:3}  {about}\n  {shown}\n", word.get_name(), names.len()));
        rows.0.push(json!({"name": word.get_name(), "summary": about, "entries": names}));
    }
    Ok(rows)
}

/// Longest list of names in the overview.
const MOST_NAMES: usize = 40;

fn qdiscs(disciplines: &Disciplines) -> (Vec<Value>, Vec<String>) {
    let kinds = disciplines.kinds().map(|kind| (qdisc_json(kind), qdisc_text(kind)));
    kinds.chain(registry::PRESETS.iter().map(preset)).unzip()
}

/// Returns the entry of a preset: a name for a discipline with certain settings.
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
            "name": parameter.name, "unit": unit(parameter.unit), "default": parameter.default_text(),
            "source": parameter.source, "range": parameter.range_text(), "doc": parameter.doc,
        })
    };
    parameters.iter().map(one).collect()
}

pub(super) fn qdisc_text(kind: &Kind) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let reference = if kind.reference.is_empty() { String::new() } else { format!(" ({})", kind.reference) };
    let _ = writeln!(text, "{} – {}{reference}", kind.name, kind.summary);
    if !kind.variants.is_empty() {
        let _ = writeln!(text, "  variant");
        for (index, variant) in kind.variants.iter().enumerate() {
            // The first variant of a list is the default one.
            let default = if index == 0 { " [default]" } else { "" };
            let _ = writeln!(text, "    {:12} {}{default}", variant.name, variant.doc);
        }
    }
    text.push_str(&parameters_text("  ", kind.parameters));
    for keyword in registry::keywords(kind.name) {
        let _ = writeln!(text, "  {:21}  {}", keyword.name, keyword.doc);
    }
    match kind.children {
        Children::One => text.push_str("  [QDISC] contains another discipline\n"),
        Children::Bands => {
            text.push_str("  [BAND: QDISC] contains a discipline for each band, numbered from 1\n")
        }
        Children::Classes(parameters) => {
            text.push_str("  [CLASS PARAMETERS: QDISC] contains classes, each with a discipline\n");
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
        let Parameter { name, doc, source, .. } = parameter;
        let default = parameter.default_text();
        let source = if source.is_empty() { String::new() } else { format!("; {source}") };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{indent}{name:width$}  {doc} [default: {default}{source}]");
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
        Unit::Percentage => "percentage".to_owned(),
        Unit::Flag { .. } => "flag".to_owned(),
        Unit::Choice(words) => words.join(" | "),
        Unit::Table(words) => format!("{} | table", words.join(" | ")),
        Unit::Priomap => "bands".to_owned(),
    }
}

fn tcps(extensions: &Extensions) -> (Vec<Value>, Vec<String>) {
    let controllers = extensions.tcp().controllers();
    controllers
        .map(|about| {
            let mut entry = json!({
                "name": about.name, "summary": about.summary, "reference": about.reference,
                "variants": [], "parameters": tcp_parameters_json(about.parameters),
                "constants": constants_json(about.constants),
            });
            let mut text = format!("{} – {} ({})\n", about.name, about.summary, about.reference);
            for parameter in about.parameters {
                let TcpParameter { name, doc, default, source, .. } = parameter;
                let _ = writeln!(text, "  {name:18}  {doc} [default: {default}; {source}]");
            }
            for constant in about.constants {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "  {} = {} [{}]", constant.name, constant.value, constant.source);
            }
            if about.standard_slow_start {
                entry["hystart"] = json!({HyStart::Rfc9406.name(): constants_json(hystart::CONSTANTS)});
                let one = |constant: &Constant| format!("{} = {}", constant.name, constant.value);
                let all: Vec<String> = hystart::CONSTANTS.iter().map(one).collect();
                let _ = writeln!(text, "  with hystart rfc9406: {} [RFC 9406 §4.3]", all.join(", "));
            }
            (entry, text)
        })
        .unzip()
}

fn tcp_parameters_json(parameters: &[TcpParameter]) -> Value {
    let one = |parameter: &TcpParameter| {
        let unit = match parameter.default {
            TcpValue::Time(_) => "time",
            TcpValue::Number(_) => "number",
            TcpValue::Count(_) => "integer",
        };
        json!({
            "name": parameter.name, "unit": unit, "default": parameter.default.to_string(),
            "range": parameter.range, "source": parameter.source, "doc": parameter.doc,
        })
    };
    parameters.iter().map(one).collect()
}

fn constants_json(constants: &[Constant]) -> Value {
    let one = |constant: &Constant| json!({"name": constant.name, "value": constant.value, "source": constant.source});
    constants.iter().map(one).collect()
}

fn profiles(extensions: &Extensions) -> Result<(Vec<Value>, Vec<String>), Diagnostic> {
    let mut rows = (Vec::new(), Vec::new());
    for profile in extensions.profiles() {
        let settings = settings(profile, extensions)?;
        let keys: Map<String, Value> =
            settings.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        let variants: Vec<Value> = profile
            .controllers
            .iter()
            .map(|(plain, variant)| json!({"name": plain, "stands_for": variant}))
            .collect();
        rows.0.push(json!({
            "name": profile.name, "summary": profile.summary, "sources": profile.sources, "settings": keys,
            "congestion_controls": variants,
        }));
        let mut text = format!("{} – {}\n", profile.name, profile.summary);
        // Writing to a string cannot fail.
        for (key, value) in &settings {
            let _ = writeln!(text, "  {key:18}  {value}");
        }
        for (plain, variant) in profile.controllers {
            let _ = writeln!(text, "  cc {plain:15}  selects {variant}");
        }
        for source in profile.sources {
            let _ = writeln!(text, "  [{source}]");
        }
        rows.1.push(text);
    }
    Ok(rows)
}

/// Returns the settings of a flow under this profile, first those that `[tcp]` can change.
fn settings(profile: &Profile, extensions: &Extensions) -> Result<Vec<(&'static str, String)>, Diagnostic> {
    let mut document = Document::default().with_extensions(extensions.clone());
    let set = vec![format!("tcp.profile={}", profile.name)];
    document.apply(&Overrides { set, ..Overrides::default() })?;
    let keys = document.resolve(&Names::default())?.tcp;
    let base = profile.settings;
    let on = |set: bool| if set { "on" } else { "off" }.to_owned();
    let word = |debug: String| debug.to_lowercase();
    Ok(vec![
        ("iw", keys.iw.to_string()),
        (
            "delayed_ack",
            keys.delayed_ack.map_or_else(
                || "off".to_owned(),
                |acks| format!("every {} segments, or after {}", acks.every, show_time(acks.timeout)),
            ),
        ),
        ("sack", on(keys.sack)),
        ("ecn", keys.ecn.to_string()),
        ("min_rto", show_time(keys.min_rto)),
        (
            "rwnd",
            match base.rwnd {
                // See `Config::rwnd`.
                MAX_WINDOW if base.adaptive_acks => {
                    format!("grows with the rate, up to {} MB", base.buffer_tuning.most_window() / 1_000_000)
                }
                MAX_WINDOW => "does not limit".to_owned(),
                bytes => format!("{bytes} bytes"),
            },
        ),
        ("initial_rto", show_time(base.initial_rto)),
        ("max_rto", show_time(base.max_rto)),
        ("timestamps", on(base.timestamps)),
        ("limited_transmit", on(base.limited_transmit)),
        ("prr", on(base.prr)),
        ("rate_halving", on(base.rate_halving)),
        ("stack", base.stack.name.to_owned()),
        ("tail_loss_probe", on(base.tail_loss_probe)),
        ("early_retransmit", on(base.early_retransmit)),
        ("undo", word(format!("{:?}", base.undo))),
        ("rto_rule", word(format!("{:?}", base.rto_rule))),
        ("growth", word(format!("{:?}", base.growth))),
        ("hystart", base.hystart.name().to_owned()),
        ("idle_restart", on(base.idle_restart)),
    ])
}

fn scenarios() -> (Vec<Value>, Vec<String>) {
    library::SCENARIOS
        .iter()
        .filter_map(|entry| {
            let document = library::load_builtin(entry.name).ok()?;
            let scenario = document.resolve(&Names::default()).ok()?;
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

fn links() -> (Vec<Value>, Vec<String>) {
    KINDS
        .iter()
        .map(|kind| {
            let value = json!({
                "name": kind.line.name,
                "title": kind.line.title,
                "rtt": kind.line.rtt.to_string(),
                "mtu": kind.line.mtu,
                "overhead": kind.line.encapsulation.overhead,
                "mpu": kind.line.encapsulation.mpu,
                "source": kind.source(),
            });
            let text = format!(
                "{}: {}\n    base RTT {}, packets up to {} bytes\n    {}\n",
                kind.line.name,
                kind.line.title,
                show_time(kind.line.rtt),
                kind.line.mtu,
                kind.source()
            );
            (value, text)
        })
        .unzip()
}
