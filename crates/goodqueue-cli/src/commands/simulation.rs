//! Simulations of scenarios as the commands `compare` and `run` share them: their options, the
//! checks before a simulation, and the outputs after it.

use std::path::{Path, PathBuf};

use clap::Args;
use goodqueue::Duration;
use goodqueue_report::terminal::{self, View};
use goodqueue_scenario::export::{Contents, Format};
use goodqueue_scenario::metrics::{self, Condition};
use goodqueue_scenario::results::{Results, Run};
use goodqueue_scenario::run::Runs;
use goodqueue_scenario::run::series::{Steps, default_step};
use goodqueue_scenario::scenario::Document;
use goodqueue_scenario::series_step;
use goodqueue_scenario::session::{Outline, Session};
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::Value;

use super::{Ending, Outcome, judgement, signed};
use crate::messages::{self, note, say};
use crate::output::{self, Outputs};
use crate::playground;
use crate::progress::Progress;

/// Options that all simulating commands share.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Runs and results")]
pub(crate) struct SimulationOptions {
    /// Number of parallel runs, at most 1024 [default: the number of processors].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    pub(crate) jobs: Option<u16>,
    /// Write the results as JSON to a file, or to standard output (-).
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write a report: one self-contained HTML file.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Address of a copy of the playground: the report then offers to open its scenario there
    /// [default: the environment variable GOODQUEUE_PLAYGROUND].
    #[arg(long, value_name = "URL")]
    pub(crate) playground: Option<String>,
    /// Add time series with this step to the JSON, as in `--series 100ms`.
    #[arg(long, value_name = "STEP", allow_hyphen_values = true, value_parser = signed)]
    pub(crate) series: Option<String>,
    /// Write the results for other programs; repeat for several. The file name selects table and
    /// format: NAME.csv or NAME.parquet has a row for each run with all metrics; NAME.series.csv or
    /// NAME.series.parquet has the time series; NAME.flent.gz has them for Flent, a file for each
    /// run.
    #[arg(long, value_name = "FILE")]
    pub(crate) export: Vec<PathBuf>,
    /// Write every packet of the bottleneck with its arrival, departure and fate; repeat for
    /// several. The format follows from the file name: .csv or .parquet (a table), .pcapng
    /// (Wireshark), .sqlog (qlog), .jsonl or .jsonl.gz (`goodqueue replay`). Each run becomes a
    /// file.
    #[arg(long, value_name = "FILE")]
    pub(crate) packets: Vec<PathBuf>,
    /// Write the final statistics of the queues of each run to a file, or to standard output (-),
    /// in the format of `tc -s -j qdisc show`.
    #[arg(long, value_name = "FILE")]
    pub(crate) tc_stats: Option<PathBuf>,
    /// Metric of the table across a sweep, by its key in the JSON, such as
    /// bottleneck.up.sojourn_s.p95 or goodput.down [default: induced_latency_s.mean].
    #[arg(long, value_name = "KEY")]
    pub(crate) metric: Option<String>,
    /// Show all metrics, for each point of a sweep, and the differences between disciplines over
    /// several seeds, whatever the width of the terminal.
    #[arg(long)]
    pub(crate) wide: bool,
    /// Explain each number of the tables, below them.
    #[arg(long)]
    pub(crate) explain_columns: bool,
    /// Exit with code 1 and print the values if this holds for any discipline, such as
    /// 'ping.p99 > 80ms'; repeat for several. The metric is a key of the JSON; with several seeds
    /// its mean counts. ping, latency and voip are short for probes.ping_s, induced_latency_s and
    /// probes.voip; alone, as in 'latency > 20ms', they mean the mean, or the MOS of calls.
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// Print the table and errors only: no progress, no notes.
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Add the CPU time of each run to the JSON. CPU time varies between runs; everything else is
    /// reproducible.
    #[arg(long)]
    pub(crate) timing: bool,
}

impl SimulationOptions {
    /// Returns the given options that set keys of the scenario, with these keys.
    pub(crate) fn keys(&self) -> Vec<(&'static str, &'static str)> {
        [
            ("--json", "output.json", self.json.is_some()),
            ("--report", "output.report", self.report.is_some()),
            ("--series", "output.series", self.series.is_some()),
        ]
        .into_iter()
        .filter_map(|(option, key, is_given)| is_given.then_some((option, key)))
        .collect()
    }

    /// Checks the values that no other check sees, and obeys `--quiet` from now on.
    pub(crate) fn begin(&self) -> Result<(), Diagnostic> {
        playground::report_options(self.playground.as_deref())?;
        if self.quiet {
            messages::be_quiet();
        }
        // They are read again for the judgement. Here an error shows before the runs and not after
        // them.
        self.conditions()?;
        self.metric
            .iter()
            .try_for_each(|key| metrics::check_key(key).map_err(|error| error.in_argument("--metric", key)))
    }

    pub(crate) fn conditions(&self) -> Result<Vec<Condition>, Diagnostic> {
        judgement::conditions(&self.fail_if)
    }

    /// Returns what is printed about results: tables, and with --explain-columns what they mean.
    ///
    /// # Errors
    /// No run has the metric of --metric.
    pub(crate) fn overview(&self, results: &Results) -> Result<String, Diagnostic> {
        if let Some(key) = &self.metric {
            let runs: Vec<&Run> = results.runs.iter().collect();
            let groups = metrics::catalogue(&runs);
            if metrics::by_key(&groups).iter().all(|metric| metric.key != *key) {
                return Err(Diagnostic::new(format!("no run has a metric `{key}`"))
                    .help("a queue has one if packets waited in it; thresholds and stations count from 0")
                    .in_argument("--metric", key));
            }
        }
        let view = if self.wide {
            View::Wide
        } else {
            // Without a terminal, as in a pipe, the width is unknown.
            View::Short(output::width().unwrap_or_default().max(NARROWEST))
        };
        let tables = terminal::overview(results, self.metric.as_deref(), view);
        let explained =
            if self.explain_columns { format!("\n{}", terminal::explained(results)) } else { String::new() };
        Ok(tables + &explained)
    }

    /// Returns how a command ends that has these results, and tells which conditions of `--fail-if`
    /// hold.
    pub(crate) fn judge(&self, results: &Results) -> Outcome {
        Ok(judgement::judge(&self.conditions()?, &results.runs))
    }

    /// True if standard output is taken by an output that a table would garble.
    pub(crate) fn takes_stdout(&self) -> bool {
        [&self.json, &self.tc_stats].into_iter().flatten().any(|target| target.as_os_str() == "-")
    }
}

/// Whether finished runs are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RunStorage {
    /// In a store, from which a later command may need time series.
    InStore,
    /// Nowhere.
    Nowhere,
}

/// A valid scenario, and the destinations of its results.
pub(crate) struct Prepared {
    pub(super) session: Session,
    json: Option<PathBuf>,
    report: Option<PathBuf>,
    /// True if time series are needed for the report only.
    drop_series: bool,
}

/// Resolves a scenario and checks everything that can be checked before running it.
pub(crate) fn prepare(
    document: &Document,
    how: &SimulationOptions,
    outputs: &mut Outputs,
    kept: RunStorage,
) -> Result<Prepared, Diagnostic> {
    let outline = Outline::new(document)?;
    let first = outline.scenario();
    // The points of a sweep may have other queues.
    let has_queues = |key: &&str| ["hops", "wifi"].contains(&key.split('.').next().unwrap_or_default());
    if let Some(key) = how.metric.as_ref().filter(|_| !outline.sweep().values().keys().any(has_queues)) {
        metrics::check_queue(key, first).map_err(|error| error.in_argument("--metric", key))?;
    }
    for (argument, target) in [("--json", &how.json), ("--tc-stats", &how.tc_stats)] {
        if let Some(target) = target {
            outputs.add(argument, target)?;
        }
    }
    if let Some(report) = &how.report {
        outputs.add_report("--report", report)?;
    }
    let mut chosen = |option: &Option<PathBuf>, key: &str, name: &Option<String>| match (option, name) {
        (Some(path), _) => Ok(Some(path.clone())),
        (None, Some(name)) => {
            outputs.add_named_in_scenario(key, Path::new(name)).map(|()| Some(PathBuf::from(name)))
        }
        (None, None) => Ok(None),
    };
    let json = chosen(&how.json, "output.json", &first.output.json)?;
    let report = chosen(&how.report, "output.report", &first.output.report)?;
    let mut exports = Vec::new();
    for target in &how.export {
        let shown = target.display().to_string();
        // Formats are checked here, although they are read again below, because the time series
        // that the session keeps depend on them.
        exports.push(Format::from_path(target).map_err(|error| error.in_argument("--export", &shown))?);
    }
    let asked = match &how.series {
        Some(text) => Some(series_step::parse(text).map_err(|error| error.in_argument("--series", text))?),
        None => first.output.series,
    };
    let are_needed = report.is_some() || exports.iter().any(|format| format.needs_series());
    let steps = match kept {
        RunStorage::InStore => Steps::Kept { asked, are_needed },
        RunStorage::Nowhere => {
            // Flent's own step makes its plots of runs and of measurements alike.
            let flent = exports.contains(&Format::Flent).then_some(FLENT_STEP);
            Steps::Given(asked.or(flent).or_else(|| are_needed.then(|| default_step(first.duration))))
        }
    };
    // 0 threads stand for as many as the machine has processors.
    let mut session = outline.session(steps)?.threads(how.jobs.map_or(0, usize::from));
    let runs = session.all();
    if report.is_some() && runs.disciplines() > MOST_IN_REPORT {
        let disciplines = runs.disciplines();
        let points = runs.sweep().count();
        let message = format!("a report cannot show {disciplines} disciplines at {points} points of a sweep");
        return Err(Diagnostic::new(message)
            .allowed(format!("at most {MOST_IN_REPORT} disciplines at all points together"))
            .help("sweep fewer values, or write a row for each run with `--export runs.csv`"));
    }
    if how.tc_stats.is_some() {
        session.keep_tc_stats();
    }
    for target in &how.export {
        for file in Format::from_path(target)?.names(target, session.all())? {
            outputs.add("--export", &file)?;
        }
    }
    for target in &how.packets {
        let shown = target.display().to_string();
        let files = session.write_packets(target);
        for file in files.map_err(|error| error.in_argument("--packets", &shown))? {
            outputs.add("--packets", &file)?;
        }
    }
    // The points of a sweep may name further files, which are known only now.
    document.inputs().iter().try_for_each(|input| outputs.read(input))?;
    document.remarks().iter().for_each(messages::remark);
    for remark in session.scenario().shaper_remarks() {
        note(remark);
    }
    Ok(Prepared { session, json, report, drop_series: asked.is_none() })
}

/// Runs a scenario and writes the requested outputs.
pub(crate) fn simulate(
    scenario: &Prepared,
    how: &SimulationOptions,
) -> Result<(Results, Ending), Diagnostic> {
    let (runs, ending) = simulate_runs(&scenario.session, how)?;
    if ending == Ending::Interrupted {
        // A part of the runs must not replace the files of an earlier, complete command.
        return Ok((scenario.session.results(runs), ending));
    }
    Ok((finish(scenario, how, runs)?, ending))
}

/// Makes the runs of a session and writes nothing. After an interruption, returns the finished
/// runs.
pub(crate) fn simulate_runs<R: Runs>(
    session: &Session<R>,
    how: &SimulationOptions,
) -> Result<(Vec<Run>, Ending), Diagnostic> {
    let count = session.count();
    let progress = Progress::new(count, how.timing);
    let finished = session.run(&progress);
    progress.clear();
    let finished = finished?;
    if finished.stored > 0 {
        note(format_args!("{} of {} runs had been finished before", finished.stored, count));
    }
    if finished.repeated > 0 {
        let what = if how.packets.is_empty() { "time series in these steps" } else { "packets" };
        note(format_args!(
            "{} of {count} runs were simulated again: their {what} had not been kept",
            finished.repeated
        ));
    }
    tell_damaged(&finished.damaged);
    let ending = if progress.was_interrupted() { Ending::Interrupted } else { Ending::Done };
    Ok((finished.runs(), ending))
}

/// Names files of the store that could not be used. Their runs were simulated again.
fn tell_damaged(files: &[String]) {
    for file in files.iter().take(MOST_DAMAGED) {
        say(format_args!("a stored run is damaged, so it is simulated again: {file}"));
    }
    if files.len() > MOST_DAMAGED {
        say(format_args!("{} more stored runs were damaged", files.len() - MOST_DAMAGED));
    }
}

/// Computes the results of a scenario's runs and writes the requested outputs.
pub(crate) fn finish(
    scenario: &Prepared,
    how: &SimulationOptions,
    runs: Vec<Run>,
) -> Result<Results, Diagnostic> {
    let mut results = scenario.session.results(runs);
    let statistics = tc_stats(&mut results);
    if let Some(path) = &scenario.report {
        let options = playground::report_options(how.playground.as_deref())?;
        // Without the option, the scenario chose the name.
        let write = if how.report.is_some() { output::write_file } else { output::replace_file };
        write("--report", path, goodqueue_report::html(&results, &options).as_bytes())?;
    }
    for target in &how.export {
        let shown = target.display().to_string();
        let place = &mut |path: &Path, existing, contents: &mut Contents<'_>| {
            output::write_pieces("--export", path, existing, contents)
        };
        let format = Format::from_path(target).map_err(|error| error.in_argument("--export", &shown))?;
        let files = format.write(target, &results, place)?;
        if files.len() > 1 {
            let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.map_or_else(|| ".".to_owned(), |folder| folder.display().to_string());
            note(format_args!("{} files for Flent, one for each run, in {folder}", files.len()));
        }
    }
    // The report and the exports needed them.
    if scenario.drop_series {
        for run in &mut results.runs {
            run.series = None;
        }
        for over_seeds in &mut results.summary {
            over_seeds.series = None;
        }
    }
    if let Some(path) = &scenario.json {
        // Without the option, the scenario chose the name.
        if how.json.is_some() {
            output::write_json("--json", path, &results)?;
        } else {
            output::replace_json("--json", path, &results)?;
        }
    }
    if let Some(path) = &how.tc_stats {
        output::write_json("--tc-stats", path, &statistics)?;
    }
    Ok(results)
}

impl Prepared {
    /// Returns the path of the results in the folder for results.
    pub(super) fn results_in(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", self.session.scenario().name))
    }

    /// Returns the line about the scenario above the tables. `means` says how it ran.
    pub(super) fn headline(&self, means: &str) -> String {
        let values = self.session.all().sweep().values();
        let varied = values.into_iter().filter(|(_, values)| values.len() > 1);
        let swept: Vec<String> = varied.map(|(key, _)| key.to_owned()).collect();
        terminal::headline_of_sweep(&self.session.record(), means, &swept)
    }

    /// True if results are written as JSON in addition to those that `run` keeps.
    pub(crate) const fn writes_json(&self) -> bool {
        self.json.is_some()
    }

    /// True if any output contains time series.
    pub(crate) const fn writes_series(&self) -> bool {
        self.json.is_some() || self.report.is_some()
    }
}

/// Moves the statistics of all queues out of the results into one array. Each entry names its run.
fn tc_stats(results: &mut Results) -> Vec<Value> {
    let mut all = Vec::new();
    for run in &mut results.runs {
        for mut qdisc in run.tc_stats.take().into_iter().flatten() {
            qdisc["goodqueue"]["run"] =
                serde_json::json!({ "qdisc": run.qdisc, "seed": run.seed, "sweep": run.sweep });
            all.push(qdisc);
        }
    }
    all
}

/// Columns of a terminal that nobody has widened; the short table has no fewer.
const NARROWEST: usize = 80;

/// Largest number of parallel runs: each has its own thread.
pub(crate) const MOST_JOBS: i64 = 1024;

/// Disciplines at all points of a sweep in one report. One takes about 20 kB of the file and ten
/// times as much memory.
const MOST_IN_REPORT: usize = 4000;

/// Damaged files that are named.
const MOST_DAMAGED: usize = 20;

const FLENT_STEP: Duration = Duration::from_millis(200);
