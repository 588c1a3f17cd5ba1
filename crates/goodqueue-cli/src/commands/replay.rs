//! `goodqueue replay`: recorded arrivals through a discipline, and a comparison with the recorded
//! fates.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use goodqueue::config::Link;
use goodqueue::random::{Random as _, Recorded, Source, Xoshiro256PlusPlus};
use goodqueue::{AnyConfig, AnyQdisc, Disciplines, Duration, Instant, Rate};
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::recording::{self, Arrivals, Header, Recording, Row};
use goodqueue_tc::replay::{Fate, SerialLink};
use goodqueue_tc::units;
use serde::Serialize;
use serde_json::Value;

use super::{Ending, Outcome, signed};
use crate::messages::say;
use crate::output::{self, Outputs};

/// Feed recorded arrivals to a discipline, packet by packet.
///
/// A recording contains arrivals. If it was made on a real kernel, it also contains the kernel's
/// decisions. Without --compare, the fate of every packet is printed as JSON lines: ["X", t_ns,
/// seq, bytes, tos] when it leaves, ["D", t_ns, seq, reason] when it is dropped. With --compare,
/// our fates are compared with the recorded ones.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue replay codel_default.jsonl.gz
  goodqueue replay *.jsonl.gz --compare
  goodqueue replay codel_default.jsonl.gz --qdisc 'pie target 15ms' --rate 5mbit")]
pub(crate) struct ReplayArgs {
    /// Recordings as JSON lines, plain or compressed with gzip.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Discipline in tc's grammar [default: the recording's, in its `variant linux` if there is
    /// one].
    #[arg(long, value_name = "TC")]
    qdisc: Option<String>,
    /// Rate of the link [default: the recording's].
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = signed)]
    rate: Option<String>,
    /// Compare with the recorded fates. The exit code is 1 if they differ.
    #[arg(long)]
    compare: bool,
    /// Write the result as JSON to a file, or to standard output (-).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the final statistics of each recording's discipline to a file, or to standard output
    /// (-), in the format of `tc -s -j qdisc show`.
    #[arg(long, value_name = "FILE")]
    tc_stats: Option<PathBuf>,
}

/// The comparison of one recording.
#[derive(Serialize)]
struct Comparison {
    file: String,
    qdisc: String,
    packets: u64,
    equal: bool,
    first_difference: Option<String>,
}

pub(crate) fn main(args: &ReplayArgs, disciplines: &Disciplines) -> Outcome {
    let mut outputs = Outputs::default();
    for (argument, target) in [("--json", &args.json), ("--tc-stats", &args.tc_stats)] {
        if let Some(target) = target {
            outputs.add(argument, target)?;
        }
    }
    if args.compare { compare(args, disciplines) } else { answer(args, disciplines) }
}

/// Prints every packet's fate.
fn answer(args: &ReplayArgs, disciplines: &Disciplines) -> Outcome {
    let mut text = String::new();
    let mut statistics = Vec::new();
    for file in &args.files {
        let recording = Input::read(file, args, disciplines)?;
        let header = Header {
            qdisc: Some(tc::to_tc(&recording.config)),
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
        statistics.extend(tc_stats(&name, left));
        text.push_str(&String::from_utf8_lossy(&lines));
    }
    write_statistics(args, &statistics)?;
    let taken = args.tc_stats.as_deref() == Some(Path::new("-"));
    match args.json.as_deref().map(output::Target::from_argument) {
        Some(output::Target::File(path)) => output::write_file("--json", &path, text.as_bytes())?,
        Some(output::Target::Stdout) => output::print(&text)?,
        None if taken => {}
        None => output::print(&text)?,
    }
    Ok(Ending::Done)
}

/// Compares every file with its recorded fates.
fn compare(args: &ReplayArgs, disciplines: &Disciplines) -> Outcome {
    let mut comparisons = Vec::new();
    let mut statistics = Vec::new();
    let mut refused: Option<Diagnostic> = None;
    for file in &args.files {
        match Input::read(file, args, disciplines).and_then(|input| input.compare(file)) {
            Ok((comparison, left)) => {
                statistics.extend(tc_stats(&comparison.file, left));
                comparisons.push(comparison);
            }
            // The other files are still worth comparing.
            Err(error) => {
                say(format_args!("{error}\n"));
                refused.get_or_insert(error);
            }
        }
    }
    if let Some(json) = &args.json {
        output::write_json("--json", json, &comparisons)?;
    }
    write_statistics(args, &statistics)?;
    if ![&args.json, &args.tc_stats].into_iter().flatten().any(|target| target.as_os_str() == "-") {
        output::print(&table(&comparisons))?;
    }
    match refused {
        Some(_) => Err(Diagnostic::new("some recordings could not be compared; see the messages above")),
        None if comparisons.iter().all(|comparison| comparison.equal) => Ok(Ending::Done),
        None => Ok(Ending::CheckFailed),
    }
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

fn table(comparisons: &[Comparison]) -> String {
    let mut text = String::new();
    let width = comparisons.iter().map(|comparison| comparison.file.len()).max().unwrap_or(0);
    for Comparison { file, qdisc, packets, equal, first_difference } in comparisons {
        let verdict = if *equal { "equal" } else { "DIFFERS" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{file:width$}  {packets:>7} packets  {verdict:7}  {qdisc}");
        if let Some(difference) = first_difference {
            let _ = writeln!(text, "{:width$}  first difference: {difference}", "");
        }
    }
    let equal = comparisons.iter().filter(|comparison| comparison.equal).count();
    let _ = writeln!(text, "{equal} of {} recordings equal, packet by packet", comparisons.len());
    text
}

/// A complete recording, and the discipline for the replay.
struct Input {
    name: String,
    header: Header,
    config: AnyConfig,
    /// Configurations to which the recorded discipline was changed, in order.
    changes: Vec<AnyConfig>,
    rate: Rate,
    /// Fields of the header that apply to all packets.
    arrivals: Arrivals,
    rows: Vec<Row>,
}

impl Input {
    fn read(file: &Path, args: &ReplayArgs, disciplines: &Disciplines) -> Result<Self, Diagnostic> {
        let recording = Recording::open(file)?;
        let header = recording.header().clone();
        let name = file.display().to_string();
        let rate = match &args.rate {
            Some(text) => units::rate(text).map_err(|error| error.in_argument("--rate", text))?,
            None => header.rate().ok_or_else(|| {
                Diagnostic::new("the recording does not contain the rate of its link")
                    .help("give one, as in `--rate 10mbit`")
                    .in_file(&name)
            })?,
        };
        if rate.as_bps() == 0 {
            return Err(Diagnostic::new("a link with a rate of 0 carries nothing").in_argument("--rate", "0"));
        }
        let link = Link { rate, ..Link::default() };
        let rows: Vec<Row> = recording.take(MOST_ROWS + 1).collect::<Result<_, _>>()?;
        if rows.len() > MOST_ROWS {
            return Err(Diagnostic::new(format!("the recording has more than {MOST_ROWS} rows"))
                .help("shorten it: its first minutes are a valid recording, too")
                .in_file(&name));
        }
        let (config, changes) = match (&args.qdisc, &header.qdisc) {
            (Some(line), _) => {
                let config = tc::parse_among(disciplines, line, &link, None)
                    .map_err(|error| error.in_argument("--qdisc", line))?;
                // The recorded changes do not apply to another discipline.
                (config, Vec::new())
            }
            (None, Some(_)) => {
                let variant = Some("linux");
                recording::configs(disciplines, &header.commands(), &rows, &link, variant)
                    .map_err(|error| error.in_file(&name))?
            }
            (None, None) => {
                return Err(Diagnostic::new("the recording does not name its discipline")
                    .help("give one, as in `--qdisc codel`")
                    .in_file(&name));
            }
        };
        let arrivals = header.arrivals().map_err(|error| error.in_line(&name, 1))?;
        Ok(Self { name, header, config, changes, rate, arrivals, rows })
    }

    /// Replays the recording and reports the fate of every packet. Returns the final statistics.
    fn replay(&self, mut report: impl FnMut(Fate)) -> Vec<Value> {
        let mut draws = Recorded::default();
        for row in &self.rows {
            if let Row::Random { value, .. } = row {
                draws.push(*value);
            }
        }
        // Our own recordings contain the seed instead of every random number.
        let seed = self.header.other.get("qdisc_seed").and_then(Value::as_u64).unwrap_or(0);
        let (salt, random) = match self.header.other.get("qdisc_stream").and_then(Value::as_u64) {
            _ if draws.remaining() > 0 => (0, Source::Recorded(draws)),
            // The queues of a simulated run draw from numbered streams of its seed, first for the
            // salt of their hashes.
            Some(stream) => {
                let mut generator = Xoshiro256PlusPlus::stream(seed, stream);
                let key = self.header.other.get("qdisc_hash_key").and_then(Value::as_u64).unwrap_or(0);
                (generator.next_u32() ^ u32::try_from(key).unwrap_or(0), Source::Seeded(generator))
            }
            None => (0, Source::seeded(seed)),
        };
        let mut qdisc = AnyQdisc::new(self.config.clone(), salt, random);
        let origin = Duration::from_nanos(self.header.t_start_ns);
        let mut last = Instant::ZERO;
        let mut report = |fate: Fate| {
            last = fate.at();
            report(fate);
        };
        let mut link = SerialLink::new(self.rate, origin);
        let mut served_at = None;
        let (mut arrivals, mut changes) = (self.arrivals.clone(), self.changes.iter());
        for row in &self.rows {
            if let Some(arrival) = arrivals.next(row) {
                // Recordings are in order of events, so a packet that left at this instant left
                // before this arrival.
                if served_at == Some(arrival.at) {
                    link.run_until(&mut qdisc, arrival.at + Duration::from_nanos(1), &mut report);
                }
                link.arrive(&mut qdisc, arrival, &mut report);
            }
            match *row {
                Row::Change { t, .. } => {
                    if let Some(config) = changes.next() {
                        link.reconfigure(&mut qdisc, t, config.clone(), &mut report);
                    }
                }
                Row::Exit { t, .. } => served_at = Some(t),
                _ => {}
            }
        }
        link.run_until(&mut qdisc, Instant::MAX, &mut report);
        tc::statistics(&qdisc, last + origin, None)
    }

    fn compare(&self, file: &Path) -> Result<(Comparison, Vec<Value>), Diagnostic> {
        let name = file.display().to_string();
        let recorded: Vec<&Row> =
            self.rows.iter().filter(|row| matches!(row, Row::Exit { .. } | Row::Drop { .. })).collect();
        if recorded.is_empty() {
            return Err(Diagnostic::new("the recording contains no fates to compare with").in_file(&name));
        }
        let mut ours = Vec::new();
        // A recording with an explicit end lacks the fates of packets that were queued then.
        let stated = self.header.other.get("t_end_ns").and_then(Value::as_u64).map(Instant::from_nanos);
        let ended = self.rows.iter().find_map(|row| if let Row::End { t } = row { Some(*t) } else { None });
        let end = stated.into_iter().chain(ended).min().unwrap_or(Instant::MAX);
        let left = self.replay(|fate| {
            // An event at exactly the end may belong to either side of it.
            if fate.at() < end || fate.at() == end && ours.len() < recorded.len() {
                ours.push(fate);
            }
        });
        let first_difference = (0..recorded.len().max(ours.len())).find_map(|index| {
            let (theirs, ours) = (
                recorded.get(index).map(|row| in_words(row)),
                ours.get(index).map(|fate| in_words(&row_of(fate))),
            );
            (theirs != ours).then(|| {
                let [theirs, ours] = [theirs, ours].map(|fate| fate.unwrap_or_else(|| "nothing".to_owned()));
                format!("recorded: {theirs}; here: {ours}")
            })
        });
        let packets = self.rows.iter().filter(|row| matches!(row, Row::Arrival { .. })).count() as u64;
        let equal = first_difference.is_none();
        let qdisc = tc::to_tc(&self.config);
        Ok((Comparison { file: name, qdisc, packets, equal, first_difference }, left))
    }
}

fn row_of(fate: &Fate) -> Row {
    match *fate {
        Fate::Sent { at, seq, bytes, tos } => Row::Exit { t: at, seq, bytes, tos },
        Fate::Dropped { at, seq, why } => Row::Drop { t: at, seq, reason: Some(why.name().to_owned()) },
    }
}

/// Describes a fate without the reason of a drop, which a recording may lack.
fn in_words(row: &Row) -> String {
    match row {
        Row::Exit { t, seq, bytes, tos } => {
            let marked = if tos & 3 == 3 { ", CE" } else { "" };
            format!("packet {seq} ({bytes} bytes{marked}) leaves at {} ns", t.as_nanos())
        }
        Row::Drop { t, seq, .. } => format!("packet {seq} is dropped at {} ns", t.as_nanos()),
        _ => String::new(),
    }
}

/// Rows of a recording, which are kept in memory. A few bytes of gzip may stand for millions.
const MOST_ROWS: usize = 20_000_000;
