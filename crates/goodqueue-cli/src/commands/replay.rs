//! `goodqueue replay`: recorded arrivals through a discipline, and a comparison with the recorded
//! fates.

pub(super) mod beside;
pub(super) mod compare;
mod decisions;
mod explain;
mod input;

use std::path::{Path, PathBuf};

use clap::Args;
use goodqueue::Disciplines;
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::recording::Header;
use serde_json::Value;

use self::input::{Input, row_of};
use super::{Ending, Outcome, remark_on, signed, story};
use crate::messages::say_lines;
use crate::output::{self, Outputs};

/// Feed recorded arrivals to a discipline, packet by packet.
///
/// A recording contains arrivals. If it was made on a real kernel, it also contains the kernel's
/// decisions. Without --compare, the fate of every packet is printed as JSON lines: ["X", t_ns,
/// seq, bytes, tos] when it leaves, ["D", t_ns, seq, reason] when it is dropped. With --compare,
/// our fates are compared with the recorded ones. With several --qdisc, a table compares the
/// disciplines. With --explain, the story of one packet is told. --export and --decisions judge a
/// queue in a program of your own by the kernel's decisions.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue replay codel_default.jsonl.gz
  goodqueue replay *.jsonl.gz --compare
  goodqueue replay codel_default.jsonl.gz --qdisc 'pie target 15ms' --rate 5mbit
  goodqueue replay codel_default.jsonl.gz --qdisc codel --qdisc fq_codel --qdisc pie
  goodqueue replay codel_default.jsonl.gz --explain drop
  goodqueue replay codel_default.jsonl.gz --export arrivals.csv
  goodqueue replay codel_default.jsonl.gz --decisions mine.csv")]
pub(crate) struct ReplayArgs {
    /// Recordings as JSON lines, plain or compressed with gzip.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Discipline in tc's grammar; several are compared in a table [default: the recording's, in
    /// its `variant linux` if there is one].
    #[arg(long, value_name = "TC", help_heading = "Discipline")]
    qdisc: Vec<String>,
    /// Rate of the link [default: the recording's].
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = signed, help_heading = "Discipline")]
    rate: Option<String>,
    /// Compare with the recorded fates. The exit code is 1 if they differ.
    #[arg(long, help_heading = "Results")]
    compare: bool,
    /// Write the arrivals to a file, or to standard output (-), as comma-separated values for a
    /// queue in another program: time in ns, number of the packet, flow, bytes, TOS byte.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["qdisc", "compare", "explain", "tc_stats", "decisions", "json"], help_heading = "Another queue")]
    export: Option<PathBuf>,
    /// Compare the decisions of that queue with the recorded ones. Each line of the file is a time
    /// in ns, the number of a packet, and `sent`, `marked` or `dropped`. The exit code is 1 if they
    /// differ.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["qdisc", "rate", "compare", "explain", "tc_stats"], help_heading = "Another queue")]
    decisions: Option<PathBuf>,
    /// Tell the story of one packet: what it found, what happened to it, and the rule that decided.
    /// The packet's number, or `drop` or `mark` for the first packet with this fate.
    #[arg(long, value_name = "PACKET", conflicts_with_all = ["compare", "tc_stats"], help_heading = "Results")]
    explain: Option<String>,
    /// Write the result as JSON to a file, or to standard output (-).
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    json: Option<PathBuf>,
    /// Write the final statistics of each recording's discipline to a file, or to standard output
    /// (-), in the format of `tc -s -j qdisc show`.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    tc_stats: Option<PathBuf>,
}

pub(crate) fn main(args: &ReplayArgs, disciplines: &Disciplines) -> Outcome {
    let mut outputs = Outputs::default();
    for input in args.files.iter().chain(&args.decisions) {
        outputs.read(input)?;
    }
    for line in &args.qdisc {
        // A line that is wrong is refused where the recordings are read.
        let config = tc::parse_among(disciplines, line, &goodqueue::Link::default(), None);
        let tables = config.map_or_else(|_| Vec::new(), |config| tc::table::files_of(&config.to_settings()));
        tables.iter().try_for_each(|table| outputs.read(table))?;
    }
    for (argument, target) in
        [("--json", &args.json), ("--tc-stats", &args.tc_stats), ("--export", &args.export)]
    {
        if let Some(target) = target {
            outputs.add(argument, target)?;
        }
    }
    remark_on("--qdisc", &args.qdisc, disciplines);
    if let Some(target) = &args.export {
        return export(target, args, disciplines);
    }
    if let Some(decisions) = &args.decisions {
        return judge(decisions, args, disciplines);
    }
    match (&args.explain, args.qdisc.as_slice()) {
        (Some(packet), _) => explain(packet, args, disciplines),
        // A recording has the fates of one discipline.
        (None, [_, second, ..]) if args.compare => {
            Err(Diagnostic::new("only one discipline can be compared with a recording")
                .help("omit --compare for a table of several disciplines")
                .in_argument("--qdisc", second))
        }
        (None, [_, _, ..]) => beside(args, disciplines),
        (None, _) if args.compare => compare(args, disciplines),
        (None, _) => answer(args, disciplines),
    }
}

/// Tells the story of one packet.
fn explain(packet: &str, args: &ReplayArgs, disciplines: &Disciplines) -> Outcome {
    let ([file], [] | [_]) = (args.files.as_slice(), args.qdisc.as_slice()) else {
        return Err(Diagnostic::new("a story is about one packet in one discipline")
            .help("give one recording, and at most one --qdisc")
            .in_argument("--explain", packet));
    };
    let input = Input::read(file, args.qdisc.first().map(String::as_str), args.rate.as_deref(), disciplines)?;
    story::print(&explain::story(&input, packet)?, args.json.as_ref())
}

/// Returns the recording that is given alone.
fn only<'a>(args: &'a ReplayArgs, argument: &str) -> Result<&'a PathBuf, Diagnostic> {
    match args.files.as_slice() {
        [file] => Ok(file),
        files => Err(Diagnostic::new(format!("one recording is needed, and {} are given", files.len()))
            .help("repeat the command for each recording")
            .in_argument(argument, "")),
    }
}

/// Writes the arrivals for a queue in another program.
fn export(target: &Path, args: &ReplayArgs, disciplines: &Disciplines) -> Outcome {
    let input = Input::read(only(args, "--export")?, None, args.rate.as_deref(), disciplines)?;
    let text = input.arrivals_csv();
    match output::Target::from_argument(target) {
        output::Target::Stdout => output::print(&text)?,
        output::Target::File(path) => {
            output::write_file("--export", &path, text.as_bytes())?;
            // The first line is the heading, and is always there.
            let packets = text.lines().count() - 1;
            let rate = input.rate.as_bps();
            output::print(&format!("{packets} packets; a link of {rate} bit/s; {}\n", input.qdisc()))?;
        }
    }
    Ok(Ending::Done)
}

/// Compares the decisions of a queue in another program with the recorded ones.
fn judge(path: &Path, args: &ReplayArgs, disciplines: &Disciplines) -> Outcome {
    let text = decisions::read(path)?;
    let input = Input::read(only(args, "--decisions")?, None, None, disciplines)?;
    let comparison = input.judge(&input.decisions(&path.display().to_string(), &text)?)?;
    let is_equal = comparison.equal;
    if let Some(json) = &args.json {
        output::write_json("--json", json, &comparison)?;
    }
    if !takes_stdout(args) {
        output::print(&compare::verdict(&comparison))?;
    }
    Ok(if is_equal { Ending::Done } else { Ending::CheckFailed })
}

/// Compares several disciplines on the same arrivals.
fn beside(args: &ReplayArgs, disciplines: &Disciplines) -> Outcome {
    let mut lines = Vec::new();
    let mut statistics = Vec::new();
    for file in &args.files {
        for qdisc in &args.qdisc {
            let input = Input::read(file, Some(qdisc), args.rate.as_deref(), disciplines)?;
            let (line, left) = input.count(qdisc);
            statistics.extend(tc_stats(&input.name, left));
            lines.push(line);
        }
    }
    if let Some(json) = &args.json {
        output::write_json("--json", json, &lines)?;
    }
    write_statistics(args, &statistics)?;
    if !takes_stdout(args) {
        output::print(&beside::table(&lines))?;
    }
    Ok(Ending::Done)
}

/// Prints every packet's fate.
fn answer(args: &ReplayArgs, disciplines: &Disciplines) -> Outcome {
    let mut text = String::new();
    let mut statistics = Vec::new();
    for file in &args.files {
        let recording =
            Input::read(file, args.qdisc.first().map(String::as_str), args.rate.as_deref(), disciplines)?;
        // The fates below are those of this discipline at this rate, so the recorded header would
        // be wrong.
        let header = Header {
            qdisc: Some(recording.qdisc()),
            rate_bps: Some(recording.rate.as_bps()),
            ..recording.header.clone()
        };
        let mut lines = Vec::new();
        let name = recording.name.clone();
        // Writing to memory cannot fail.
        let _ = header.write(&mut lines);
        let left = recording.replay(|fate| {
            let _ = row_of(&fate).write(&mut lines);
        });
        statistics.extend(tc_stats(&name, left.statistics()));
        text.push_str(&String::from_utf8_lossy(&lines));
    }
    write_statistics(args, &statistics)?;
    let taken = args.tc_stats.as_deref() == Some(Path::new("-"));
    match args.json.as_deref().map(output::Target::from_argument) {
        Some(output::Target::File(path)) => output::write_file("--json", &path, text.as_bytes())?,
        Some(output::Target::Stdout) => output::print_json(&text)?,
        None if taken => {}
        None => output::print_json(&text)?,
    }
    Ok(Ending::Done)
}

/// Compares every file with its recorded fates.
fn compare(args: &ReplayArgs, disciplines: &Disciplines) -> Outcome {
    let mut comparisons = Vec::new();
    let mut statistics = Vec::new();
    let mut is_complete = true;
    for file in &args.files {
        let qdisc = args.qdisc.first().map(String::as_str);
        match Input::read(file, qdisc, args.rate.as_deref(), disciplines).and_then(|input| input.compare()) {
            Ok((comparison, left)) => {
                statistics.extend(tc_stats(&comparison.file, left));
                comparisons.push(comparison);
            }
            // The other files are still worth comparing.
            Err(error) => {
                say_lines(format_args!("{error}\n"));
                is_complete = false;
            }
        }
    }
    if let Some(json) = &args.json {
        output::write_json("--json", json, &comparisons)?;
    }
    write_statistics(args, &statistics)?;
    if !takes_stdout(args) {
        output::print(&compare::table(&comparisons))?;
    }
    if !is_complete {
        return Err(Diagnostic::new("some recordings could not be compared; see the messages above"));
    }
    let are_equal = comparisons.iter().all(|comparison| comparison.equal);
    Ok(if are_equal { Ending::Done } else { Ending::CheckFailed })
}

/// Adds the name of the recording to a discipline's statistics.
fn tc_stats(name: &str, mut left: Vec<Value>) -> Vec<Value> {
    for qdisc in &mut left {
        qdisc["goodqueue"]["recording"] = Value::from(name);
    }
    left
}

fn write_statistics(args: &ReplayArgs, statistics: &[Value]) -> Result<(), Diagnostic> {
    match &args.tc_stats {
        Some(target) => output::write_json("--tc-stats", target, &statistics),
        None => Ok(()),
    }
}

/// True if standard output is taken by an output that a table would garble.
fn takes_stdout(args: &ReplayArgs) -> bool {
    [&args.json, &args.tc_stats].into_iter().flatten().any(|target| target.as_os_str() == "-")
}
