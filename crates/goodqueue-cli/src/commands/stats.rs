//! `goodqueue stats`: statistics of a running bottleneck, and changes to it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use goodqueue::Disciplines;
use goodqueue_live::control;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::Value;

use super::{Ending, Outcome, remark_on};
use crate::live::diagnostic;
use crate::output;

/// Print the statistics of a running bottleneck, or change it.
///
/// The bottleneck is a `goodqueue shell` or `goodqueue shape` that was started with --control.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue stats --control q.sock                    all statistics as JSON
  goodqueue stats --control q.sock --format tc-json   in the format of `tc -s -j qdisc show`
  goodqueue stats --control q.sock rate 20mbit        another rate in both directions
  # another discipline; queued packets stay queued
  goodqueue stats --control q.sock qdisc down codel target 10ms")]
pub(crate) struct StatsArgs {
    /// Socket of the bottleneck: the value of its --control.
    #[arg(long, value_name = "SOCKET")]
    control: PathBuf,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// Change to make first: `qdisc [down|up] TC`, `rate [down|up] RATE`, or `confirm` for `shape
    /// --confirm-within`.
    #[arg(trailing_var_arg = true, value_name = "CHANGE")]
    change: Vec<String>,
}

/// Output formats of statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// All statistics as JSON.
    Json,
    /// The format of `tc -s -j qdisc show`.
    TcJson,
    /// The text format of Prometheus.
    Metrics,
}

pub(crate) fn main(args: &StatsArgs) -> Outcome {
    if !args.change.is_empty() {
        let answer = ask(args, &args.change.join(" "))?;
        if let [order, line @ ..] = args.change.as_slice()
            && order == "qdisc"
        {
            let qdisc = match line {
                [way, qdisc @ ..] if ["down", "up"].contains(&way.as_str()) => qdisc,
                qdisc => qdisc,
            };
            // The bottleneck has judged the line in `ask`, so a refused line gets no remark.
            remark_on("qdisc", [&qdisc.join(" ")], &Disciplines::new());
        }
        if args.format == Format::Json {
            return print(&answer);
        }
    }
    match args.format {
        Format::Json => print(&ask(args, "stats")?),
        Format::TcJson => print(&ask(args, "tc-json")?),
        Format::Metrics => {
            // An answer is one line, so the lines of the metrics come as a string in JSON.
            let answer = ask(args, "metrics-json")?;
            output::print(answer["metrics"].as_str().unwrap_or_default())?;
            Ok(Ending::Done)
        }
    }
}

fn ask(args: &StatsArgs, line: &str) -> Result<Value, Diagnostic> {
    request(&args.control, line)
}

/// Sends a line to the bottleneck at `socket` and returns its answer.
pub(crate) fn request(socket: &std::path::Path, line: &str) -> Result<Value, Diagnostic> {
    let answer = control::request(socket, line).map_err(diagnostic)?;
    let answer: Value = serde_json::from_str(&answer)
        .map_err(|error| Diagnostic::new(format!("the answer cannot be read: {error}")))?;
    match answer["error"].as_str() {
        Some(error) => Err(Diagnostic::rendered(error)),
        None => Ok(answer),
    }
}

fn print(answer: &Value) -> Outcome {
    let text = serde_json::to_string_pretty(answer)
        .map_err(|error| Diagnostic::new(format!("the answer cannot be printed: {error}")))?;
    output::print_json(&format!("{text}\n"))?;
    Ok(Ending::Done)
}
