//! `goodqueue explain`: the documentation of a discipline, as written at the top of its source
//! file, or of the scenario format.

pub(crate) mod between;
mod loads;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use goodqueue::{Disciplines, registry};
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::json;

use super::{Ending, Outcome};
use crate::output::{self, Outputs};

/// Print the documentation of a queue discipline or of the scenario format.
///
/// A discipline's page describes its behaviour, state, parameters, deviations from its RFC and from
/// Linux, and cost. The text is Markdown, and the same as in the documentation of the library.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue explain codel
  goodqueue explain fq_nocodel      a preset: its settings, and the page of its discipline
  goodqueue explain scenario        every key of a scenario file, with its default
  goodqueue explain --deviations    differences of every discipline from its RFC and from Linux
  goodqueue explain codel --between linux61 linux73           what a newer kernel changed
  goodqueue explain \"codel target 1ms\" --between rfc8289 linux   the same for other settings")]
pub(crate) struct ExplainArgs {
    /// Name of a discipline or a preset, or `scenario`. With --between also settings, as in tc.
    #[arg(required_unless_present = "deviations")]
    name: Option<String>,
    /// Print the deviations of all disciplines from their RFCs and from Linux.
    #[arg(long, conflicts_with = "name")]
    deviations: bool,
    /// Compare two variants of the discipline: their rules, and their decisions about the same
    /// packets. `linux` is Linux 7.3.
    #[arg(long, num_args = 2, value_names = ["VARIANT", "VARIANT"], conflicts_with = "deviations")]
    between: Option<Vec<String>>,
    /// Write the page as JSON to a file, or to standard output (-).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn main(args: &ExplainArgs, disciplines: &Disciplines) -> Outcome {
    if let Some(json) = &args.json {
        Outputs::default().add("--json", json)?;
    }
    if let (Some(variants), Some(line)) = (&args.between, &args.name) {
        return compare(line, variants, args.json.as_ref(), disciplines);
    }
    let (name, text) = match &args.name {
        Some(name) => (name.as_str(), explanation(name, disciplines)?),
        None => ("deviations", deviations()),
    };
    match &args.json {
        Some(json) => output::write_json("--json", json, &json!({"name": name, "page": text}))?,
        None => output::print(&format!("{}\n", text.trim_end()))?,
    }
    Ok(Ending::Done)
}

fn compare(line: &str, variants: &[String], json: Option<&PathBuf>, disciplines: &Disciplines) -> Outcome {
    let name = line.split_whitespace().next().unwrap_or(line);
    let page = explanation(name, disciplines)?;
    let compared = between::between(line, variants, &page)?;
    match json {
        Some(json) => output::write_json("--json", json, &compared)?,
        None => output::print(&compared.text())?,
    }
    Ok(Ending::Done)
}

/// Every discipline's page by its name. The build script lists the files of the folder `pages`.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The name under which the scenario format is explained.
const SCENARIO: &str = "scenario";

fn explanation(name: &str, disciplines: &Disciplines) -> Result<String, Diagnostic> {
    if name == SCENARIO {
        return Ok(goodqueue_scenario::scenario::page());
    }
    if let Some(own) = disciplines.own().find(|kind| kind.name == name) {
        // A discipline of another crate has no page, which the build script takes from this
        // repository.
        return Ok(super::list::qdisc_text(own));
    }
    let preset = registry::PRESETS.iter().find(|preset| preset.name == name);
    let kind = preset.map_or(name, |preset| preset.kind);
    let Some(page) = page(kind) else {
        let presets = registry::PRESETS.iter().map(|preset| preset.name);
        let own = disciplines.own().map(|kind| kind.name);
        let names: Vec<&str> =
            PAGES.iter().map(|page| page.0).chain(presets).chain(own).chain([SCENARIO]).collect();
        return Err(Diagnostic::new(format!("there is no discipline `{name}` to explain"))
            .one_of(name, &names)
            .in_argument("NAME", name));
    };
    let mut text = String::new();
    if let Some(preset) = preset {
        // Writing to a string cannot fail.
        let _ = write!(text, "`{name}` is a preset of {kind}:");
        for (parameter, value) in preset.settings {
            let _ = write!(text, " {parameter} {value}");
        }
        let _ = writeln!(text, "\n{} ({}).\n", preset.doc, preset.source);
    }
    text.push_str(page);
    Ok(text)
}

fn page(kind: &str) -> Option<&'static str> {
    PAGES.iter().find(|page| page.0 == kind).map(|page| page.1)
}

/// Returns the section "Deviations" of every page.
fn deviations() -> String {
    let mut text = String::from(
        "# Deviations\n\nHow each discipline differs from its RFC or paper, and from Linux. Taken from the pages of the \
         disciplines\nwith `goodqueue explain --deviations`; edit those pages, not this file.\n",
    );
    let mut written: Vec<&str> = Vec::new();
    for &(_, page) in PAGES {
        // Disciplines in one file share its page.
        if written.contains(&page) {
            continue;
        }
        written.push(page);
        let names: Vec<&str> = PAGES.iter().filter(|other| other.1 == page).map(|other| other.0).collect();
        let section = page.split_once("# Deviations\n").map_or("None are written down.", |split| split.1);
        // It ends where the next section begins.
        let section = section.split("\n# ").next().unwrap_or(section).trim();
        // Writing to a string cannot fail.
        let _ = write!(text, "\n## {}\n\n{section}\n", names.join(", "));
    }
    text
}
