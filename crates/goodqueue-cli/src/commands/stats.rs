//! `goodqueue stats`: what a running bottleneck has done so far.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use goodqueue_live::control;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::Value;

use super::{Ending, Outcome};
use crate::live::diagnostic;
use crate::output;

/// Ask a running bottleneck what it has done so far, or change it.
///
/// The bottleneck is one of `goodqueue shell` or `goodqueue shape` that was started with --control.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue stats --control q.sock                          everything, as JSON
  goodqueue stats --control q.sock --format tc-json         as `tc -s -j qdisc show` prints it
  goodqueue stats --control q.sock qdisc down codel target 10ms      another discipline; what is queued stays queued
  goodqueue stats --control q.sock rate 20mbit")]
pub(crate) struct StatsArgs {
    /// The socket of the bottleneck.
    #[arg(long, value_name = "SOCKET")]
    control: PathBuf,
    /// How to print it.
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// Change it first: `qdisc [down|up] TC`, `rate [down|up] RATE`, or `confirm` for `shape --confirm-within`.
    #[arg(trailing_var_arg = true, value_name = "CHANGE")]
    change: Vec<String>,
}

/// How statistics are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// All there is to know.
    Json,
    /// As `tc -s -j qdisc show`.
    TcJson,
    /// As Prometheus reads it.
    Metrics,
}

pub(crate) fn main(args: &StatsArgs) -> Outcome {
    if !args.change.is_empty() {
        let answer = ask(args, &args.change.join(" "))?;
        if args.format == Format::Json {
            return print(&answer);
        }
    }
    match args.format {
        Format::Json => print(&ask(args, "stats")?),
        Format::TcJson => print(&ask(args, "tc-json")?),
        Format::Metrics => {
            // Many lines do not fit the protocol of one: they come as a string of JSON.
            let answer = ask(args, "metrics-json")?;
            output::print(answer["metrics"].as_str().unwrap_or_default())?;
            Ok(Ending::Done)
        }
    }
}

fn ask(args: &StatsArgs, line: &str) -> Result<Value, Diagnostic> {
    request(&args.control, line)
}

/// Asks the bottleneck at `socket`.
pub(crate) fn request(socket: &std::path::Path, line: &str) -> Result<Value, Diagnostic> {
    let answer = control::request(socket, line).map_err(diagnostic)?;
    let answer: Value = serde_json::from_str(&answer)
        .map_err(|error| Diagnostic::new(format!("the answer makes no sense: {error}")))?;
    match answer["error"].as_str() {
        Some(error) => Err(Diagnostic::rendered(error)),
        None => Ok(answer),
    }
}

fn print(answer: &Value) -> Outcome {
    let text = serde_json::to_string_pretty(answer)
        .map_err(|error| Diagnostic::new(format!("the answer cannot be printed: {error}")))?;
    output::print(&format!("{text}\n"))?;
    Ok(Ending::Done)
}
