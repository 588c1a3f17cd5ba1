//! `goodqueue run`: scenario files, including sweeps. An interrupted sweep resumes.

use std::path::{Path, PathBuf};

use clap::Args;
use goodqueue::{Disciplines, Duration};
use goodqueue_scenario::export::{Format, packets};
use goodqueue_scenario::library;
use goodqueue_scenario::results::{Results, Run};
use goodqueue_scenario::run::{execute, results};
use goodqueue_scenario::runs::{Jobs, Runs};
use goodqueue_scenario::scenario::{Document, Names, Overrides, Scenario};
use goodqueue_scenario::store::Store;
use goodqueue_scenario::sweep::Sweep;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::Value;

use super::{Ending, Outcome, signed};
use crate::messages::say;
use crate::output::{self, Outputs};
use crate::progress::Progress;
use crate::table;

/// Run scenario files: every discipline, every point of the sweep, every seed.
///
/// Each finished run is kept in the folder given with --out, so an interrupted sweep resumes. The
/// results of a scenario are written there as NAME.json, and with --report also as an HTML report.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue run rrul-10-1
  goodqueue run rrul-100-100                       a built-in scenario
  goodqueue run sweep.toml --out results --jobs 8  repeat the command to resume an interrupted sweep
  goodqueue run rrul-10-1 --seeds 30 --set link.rtt=20ms --report rrul.html")]
pub(crate) struct RunArgs {
    /// Scenario files, or names of built-in scenarios (see `goodqueue list scenarios`).
    #[arg(required = true, value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// Folder for results and finished runs.
    #[arg(long, value_name = "DIR", default_value = "goodqueue-results")]
    out: PathBuf,
    /// Simulated time of each run, such as 30s [default: from the scenario].
    #[arg(long, alias = "duration", value_name = "TIME", allow_hyphen_values = true, value_parser = signed)]
    time: Option<String>,
    /// Number of repetitions, with consecutive seeds [default: from the scenario].
    #[arg(long, value_name = "N")]
    seeds: Option<String>,
    /// Set a key of the scenario, as in `--set link.up=1mbit`; repeat for several. `goodqueue
    /// explain scenario` lists all keys.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    how: How,
}

/// Options that all simulating commands share.
#[derive(Args, Clone, Debug)]
pub(crate) struct How {
    /// Number of parallel runs, at most 1024 [default: the number of processors].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS))]
    pub(crate) jobs: Option<u16>,
    /// Write the results as JSON to a file, or to standard output (-).
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write a report: one self-contained HTML file.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Add time series with this step to the JSON, as in `--series 100ms`.
    #[arg(long, value_name = "STEP", allow_hyphen_values = true, value_parser = signed)]
    pub(crate) series: Option<String>,
    /// Write the time series for other programs; repeat for several. The format follows from the
    /// file name: .flent.gz (Flent), .parquet or .csv. For Flent, each run becomes a file.
    #[arg(long, value_name = "FILE")]
    pub(crate) export: Vec<PathBuf>,
    /// Write every packet of the bottleneck with its arrival, departure and fate; repeat for
    /// several. The format follows from the file name: .csv or .parquet (a table), .pcapng
    /// (Wireshark), .jsonl or .jsonl.gz (`goodqueue replay`). Each run becomes a file.
    #[arg(long, value_name = "FILE")]
    pub(crate) packets: Vec<PathBuf>,
    /// Write the final statistics of the queues of each run to a file, or to standard output (-),
    /// in the format of `tc -s -j qdisc show`.
    #[arg(long, value_name = "FILE")]
    pub(crate) tc_stats: Option<PathBuf>,
    /// Add the CPU time of each run to the JSON. CPU time varies between runs; everything else is
    /// reproducible.
    #[arg(long)]
    pub(crate) timing: bool,
}

impl How {
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

    /// True if standard output is taken by an output that a table would garble.
    pub(crate) fn takes_stdout(&self) -> bool {
        [&self.json, &self.tc_stats].into_iter().flatten().any(|target| target.as_os_str() == "-")
    }
}

pub(crate) fn main(args: &RunArgs, disciplines: &Disciplines) -> Outcome {
    let (time, seeds, set) = (args.time.clone(), args.seeds.clone(), args.set.clone());
    let overrides = Overrides { time, seeds, set, beside: args.how.keys(), ..Overrides::default() };
    let mut documents = Vec::new();
    for name in &args.scenarios {
        let mut document = library::load(name)?.with_disciplines(disciplines.clone());
        document.apply(&overrides)?;
        documents.push(document);
    }
    if documents.len() > 1 {
        let how = &args.how;
        for (argument, target) in
            [("--json", &how.json), ("--report", &how.report), ("--tc-stats", &how.tc_stats)]
                .map(|(argument, target)| (argument, target.as_ref()))
                .into_iter()
                .chain(how.export.iter().map(|target| ("--export", Some(target))))
                .chain(how.packets.iter().map(|target| ("--packets", Some(target))))
        {
            if let Some(target) = target {
                return Err(Diagnostic::new("one file cannot hold the results of several scenarios")
                    .help("omit the option: each scenario's results go to the folder given with --out")
                    .in_argument(argument, &target.display().to_string()));
            }
        }
    }
    let mut outputs = Outputs::default();
    let mut prepared = Vec::new();
    for document in &documents {
        let scenario = prepare(document, &args.how, &mut outputs)?;
        outputs.add_results("--out", &scenario.results_in(&args.out))?;
        prepared.push(scenario);
    }
    // Nothing is written before all input is known to be valid.
    let store = Store::open(&args.out.join("runs"))?;
    for scenario in &prepared {
        let (results, ending) = simulate(scenario, &args.how, Some(&store))?;
        let json = scenario.results_in(&args.out);
        if ending == Ending::Interrupted {
            say(format_args!(
                "interrupted: {} finished runs are kept in {}; repeat the command to resume",
                results.runs.len(),
                args.out.display()
            ));
            return Ok(ending);
        }
        output::write_json("--out", &json, &results)?;
        if !args.how.takes_stdout() {
            output::print(&format!("{}{}\n", table::render(&results), json.display()))?;
        }
    }
    Ok(Ending::Done)
}

/// A valid scenario, and the destinations of its results.
pub(crate) struct Prepared {
    runs: Runs<'static>,
    /// The resolved scenario; for a sweep, its first point.
    scenario: Scenario,
    json: Option<PathBuf>,
    report: Option<PathBuf>,
    /// True if time series are needed for the report only.
    drop_series: bool,
}

/// Resolves a scenario and checks everything that can be checked before running it.
pub(crate) fn prepare(document: &Document, how: &How, outputs: &mut Outputs) -> Result<Prepared, Diagnostic> {
    let sweep = Sweep::new(document, &Names::default())?;
    let first = sweep.point(0)?.1;
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
    let mut flent = false;
    for target in &how.export {
        let shown = target.display().to_string();
        let format = Format::of(target).map_err(|error| error.in_argument("--export", &shown))?;
        flent |= format == Format::Flent;
    }
    let asked = match &how.series {
        Some(text) => Some(series_step(text).map_err(|error| error.in_argument("--series", text))?),
        None => first.output.series,
    };
    // Flent's own step makes its plots of runs and of measurements alike.
    let step = asked.or(flent.then_some(FLENT_STEP)).or_else(|| {
        let wanted = report.is_some() || !how.export.is_empty();
        wanted.then(|| report_step(first.duration))
    });
    let mut runs = Runs::new(sweep, step)?;
    for target in &how.export {
        for file in Format::of(target)?.names(target, &runs)? {
            outputs.add("--export", &file)?;
        }
    }
    for target in &how.packets {
        let shown = target.display().to_string();
        let files = packets::request(target, &mut runs);
        for file in files.map_err(|error| error.in_argument("--packets", &shown))? {
            outputs.add("--packets", &file)?;
        }
    }
    Ok(Prepared { runs, json, report, drop_series: asked.is_none(), scenario: first })
}

/// Runs a scenario and writes the requested outputs.
pub(crate) fn simulate(
    scenario: &Prepared,
    how: &How,
    store: Option<&Store>,
) -> Result<(Results, Ending), Diagnostic> {
    let (runs, ending) = simulate_runs(scenario, how, store)?;
    if ending == Ending::Interrupted {
        return Ok((results(scenario.to_json(), runs), ending));
    }
    Ok((finish(scenario, how, runs)?, ending))
}

/// Runs a scenario and writes nothing. After an interruption, returns the finished runs.
pub(crate) fn simulate_runs(
    scenario: &Prepared,
    how: &How,
    store: Option<&Store>,
) -> Result<(Vec<Run>, Ending), Diagnostic> {
    let count = scenario.runs.count();
    let progress = Progress::new(count, how.timing);
    let outcome = execute(&scenario.runs, how.jobs.map_or(0, usize::from), store, &progress);
    progress.clear();
    let runs: Vec<_> = outcome?.into_iter().flatten().collect();
    if progress.stored() > 0 {
        say(format_args!("{} of {} runs had been finished before", progress.stored(), count));
    }
    let ending = if progress.was_interrupted() { Ending::Interrupted } else { Ending::Done };
    Ok((runs, ending))
}

/// Computes the results of a scenario's runs and writes the requested outputs.
pub(crate) fn finish(scenario: &Prepared, how: &How, runs: Vec<Run>) -> Result<Results, Diagnostic> {
    let mut results = results(scenario.to_json(), runs);
    let statistics = tc_stats(&mut results);
    if let Some(path) = &scenario.report {
        let options = goodqueue_report::Options::default().command(command_line());
        output::write_file("--report", path, goodqueue_report::html(&results, &options).as_bytes())?;
    }
    for target in &how.export {
        let shown = target.display().to_string();
        let exported = Format::of(target).and_then(|format| format.files(target, &results));
        let files = exported.map_err(|error| error.in_argument("--export", &shown))?;
        for (path, contents) in &files {
            output::write_file("--export", path, contents)?;
        }
        if files.len() > 1 {
            let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.map_or_else(|| ".".to_owned(), |folder| folder.display().to_string());
            say(format_args!("{} files for Flent, one for each run, in {folder}", files.len()));
        }
    }
    if scenario.drop_series {
        for run in &mut results.runs {
            run.series = None;
        }
        for over_seeds in &mut results.summary {
            over_seeds.series = None;
        }
    }
    if let Some(path) = &scenario.json {
        output::write_json("--json", path, &results)?;
    }
    if let Some(path) = &how.tc_stats {
        output::write_json("--tc-stats", path, &statistics)?;
    }
    Ok(results)
}

impl Prepared {
    /// Returns the path of the results in the folder for results.
    fn results_in(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", self.scenario.name))
    }

    /// Returns the runs to make.
    #[cfg(target_os = "linux")]
    pub(crate) const fn runs(&self) -> &Runs<'static> {
        &self.runs
    }

    /// The resolved scenario; for a sweep, its first point.
    #[cfg(target_os = "linux")]
    pub(crate) const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// True if results are written as JSON in addition to those that `run` keeps.
    pub(crate) const fn writes_json(&self) -> bool {
        self.json.is_some()
    }

    /// True if any output contains time series.
    pub(crate) const fn writes_series(&self) -> bool {
        self.json.is_some() || self.report.is_some()
    }

    /// Returns the resolved scenario; for a sweep, its first point and the values of each swept
    /// key.
    fn to_json(&self) -> Value {
        let mut scenario = self.scenario.to_json();
        let swept = self.runs.sweep().values();
        if !swept.is_empty() {
            scenario["sweep"] = serde_json::json!(swept);
        }
        scenario
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

fn series_step(text: &str) -> Result<Duration, Diagnostic> {
    let step = goodqueue_tc::units::time(text)?;
    if step < SHORTEST_STEP {
        return Err(
            Diagnostic::new(format!("a step of {step} would make too many points")).allowed("1ms or more")
        );
    }
    Ok(step)
}

/// Returns the command as it was typed, for readers of the report.
pub(crate) fn command_line() -> String {
    let quoted = std::env::args().skip(1).map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+%".contains(c);
        if word.chars().all(plain) && !word.is_empty() {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    // A program with disciplines of its own has a name of its own.
    let program = std::env::args_os().next().map(PathBuf::from);
    let name = program.as_deref().and_then(Path::file_stem).map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| "goodqueue".to_owned());
    std::iter::once(name).chain(quoted).collect::<Vec<_>>().join(" ")
}

/// Returns the step of a report's time series: about 600 steps per run.
fn report_step(duration: Duration) -> Duration {
    let step = Duration::from_nanos(duration.as_nanos() / 600);
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]
        .map(Duration::from_millis)
        .into_iter()
        .find(|round| *round >= step)
        .unwrap_or(step)
}

/// Largest number of parallel runs: each has its own thread.
pub(crate) const MOST_JOBS: i64 = 1024;

const FLENT_STEP: Duration = Duration::from_millis(200);

/// Shortest step: on most links a shorter one would contain at most one packet.
const SHORTEST_STEP: Duration = Duration::from_millis(1);
