//! `goodqueue validate`: simulations of set-ups that were run on the Linux kernel, on ns-2 and on
//! ns-3.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use goodqueue_papers::validate::{self, Row};
use goodqueue_scenario::number::with_digits;

use super::{Ending, Outcome};
use crate::output::{self, Outputs};

/// Compare simulations with runs of the Linux kernel, ns-2 and ns-3.
///
/// Simulates every set-up of the reference data and shows each value beside the recorded one:
/// goodput and induced latency of RRUL loads under seven disciplines and on 82 other lines, loss of
/// voice packets, round-trip-time fairness, TCP-LP, access lines with and without a shaper, single
/// flows every 20 ms, experiments of two articles in ns-2, and WiFi channels in ns-3.
///
/// A value agrees within two standard deviations of the reference's seeds, or within 5 % (goodput,
/// bytes, shares) or 10 % (all others), whichever is wider. A value of an access line agrees within
/// 15 %, or within 3 ms or one percentage point of loss.
///
/// The complete comparison takes some minutes.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue validate --set-up flow
  goodqueue validate --set-up lines
  goodqueue validate --set-up advise/cable-100-10
  goodqueue validate --set-up wifi
  goodqueue validate --set-up rrul-10-1 --set-up transients/codel_B
  goodqueue validate --json validation.json

Exit codes: 0 all values agree, 1 some do not.")]
pub(crate) struct ValidateArgs {
    /// Set-up, or prefix of set-ups, such as rrul-10-1 or rrul-10-1/codel; repeat for several
    /// [default: all].
    #[arg(long, value_name = "NAME")]
    set_up: Vec<String>,
    /// Show only values that do not agree.
    #[arg(long)]
    differing: bool,
    /// Write all values as JSON to a file, or to standard output (-).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn main(args: &ValidateArgs) -> Outcome {
    if let Some(json) = &args.json {
        Outputs::default().add("--json", json)?;
    }
    let silent = args.json.as_deref() == Some(Path::new("-"));
    let mut rows = Vec::new();
    let mut sources = BTreeMap::new();
    for set_up in validate::chosen(&args.set_up)? {
        let of_this = set_up.compare()?;
        if !silent {
            // Printed as soon as they are known, because all of them take minutes.
            if sources.insert(set_up.source().to_owned(), ()).is_none() {
                output::print(&heading(set_up.source()))?;
            }
            output::print(&table(of_this.iter().filter(|row| !args.differing || !row.agrees)))?;
        }
        rows.extend(of_this);
    }
    let agreeing = rows.iter().filter(|row| row.agrees).count();
    if !silent {
        output::print(&format!("\n{agreeing} of {} figures agree\n", rows.len()))?;
    }
    if let Some(json) = &args.json {
        output::write_json("--json", json, &rows)?;
    }
    Ok(if agreeing == rows.len() { Ending::Done } else { Ending::CheckFailed })
}

fn heading(source: &str) -> String {
    let columns = ["set-up", "figure", "reference", "± sd", "simulated", "difference", "allowed"];
    let [set_up, figure, reference, sd, simulated, difference, allowed] = columns;
    format!(
        "\n{source}\n{set_up:44} {figure:34} {reference:>11} {sd:>9} {simulated:>11} {difference:>11} {allowed:>9}\n"
    )
}

fn table<'r>(rows: impl Iterator<Item = &'r Row>) -> String {
    let mut text = String::new();
    for row in rows {
        let figure =
            if row.unit.is_empty() { row.figure.clone() } else { format!("{}, {}", row.figure, row.unit) };
        let sd = if row.reference_sd > 0.0 { number(row.reference_sd) } else { "-".to_owned() };
        let simulated = row.simulated.map_or_else(|| "-".to_owned(), number);
        let difference = row.simulated.map_or_else(|| "-".to_owned(), |value| signed(value - row.reference));
        let verdict = if row.agrees { "" } else { "  DIFFERS" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:44} {figure:34} {:>11} {sd:>9} {simulated:>11} {difference:>11} {:>9}{verdict}",
            row.set_up,
            number(row.reference),
            number(row.tolerance)
        );
    }
    text
}

/// Formats a number with four significant digits.
fn number(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { with_digits(value, 4, 4) }
}

fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", number(value)) } else { number(value) }
}
