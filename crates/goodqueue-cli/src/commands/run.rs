//! `goodqueue run`: scenario files, including sweeps. An interrupted sweep resumes.

mod machines;
mod submit;

use std::path::PathBuf;

use clap::{Arg, Args};
use goodqueue_scenario::Extensions;
use goodqueue_scenario::files;
use goodqueue_scenario::request::Request;
use goodqueue_scenario::scenario::{Document, Overrides};
use goodqueue_scenario::store::{PlaceName, Store};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::printable;

use self::machines::DistributedRun;
use super::simulation::{RunStorage, SimulationOptions, finish, prepare, simulate};
use super::{Ending, Outcome, signed};
use crate::messages::say;
use crate::output::{self, Outputs};
use crate::stores;

/// Run scenario files: every discipline, every point of the sweep, every seed.
///
/// Each finished run is kept in the folder given with --out, so an interrupted sweep resumes, and
/// another report or export simulates nothing. The results of a scenario are written there as
/// NAME.json, and with --report also as an HTML report. A sweep prints one metric for all points.
#[derive(Args, Debug)]
#[command(
    mut_args(default_from_scenario),
    after_help = "Examples:
  goodqueue run rrul-10-1
  goodqueue run rrul-100-100                       a built-in scenario
  goodqueue run sweep.toml --out results --jobs 8  repeat the command to resume an interrupted sweep
  goodqueue run rrul-10-1 --seeds 30 --set link.rtt=20ms --report rrul.html
  goodqueue run sweep.toml --out results --export runs.csv          a row for each run; stored runs are read
  goodqueue run sweep.toml --out /shared/results --shard 1/4        a quarter of the sweep on this machine
  goodqueue run sweep.toml --out /shared/results --merge            the results of all four shards
  goodqueue run sweep.toml --store s3://bucket/sweep --shard 1/4    machines without a common folder
  goodqueue run sweep.toml --out /shared/results --submit slurm     a script for a cluster"
)]
pub(crate) struct RunArgs {
    /// Scenario files, or names of built-in scenarios (see `goodqueue list scenarios`).
    #[arg(required = true, value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// Folder for results and finished runs.
    #[arg(long, value_name = "DIR", default_value = "goodqueue-results", help_heading = "Runs and results")]
    out: PathBuf,
    /// Where finished runs are kept: a folder, or an object store by its URL, such as
    /// s3://bucket/sweep (also gs:// and az://) [default: `runs` in the folder of --out].
    #[arg(long, value_name = "PLACE", value_parser = signed, help_heading = "Runs and results")]
    store: Option<String>,
    #[command(flatten, next_help_heading = HEADING)]
    options: Overrides,
    #[command(flatten)]
    machines: DistributedRun,
    #[command(flatten)]
    how: SimulationOptions,
}

/// Options of a request name the defaults of `compare`. Here the scenario has them.
fn default_from_scenario(argument: Arg) -> Arg {
    if argument.get_help_heading() != Some(HEADING) {
        return argument;
    }
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    match help.split_once(" [default: ") {
        Some((meaning, _)) => argument.help(format!("{meaning} [default: from the scenario]")),
        None => argument,
    }
}

pub(crate) fn main(args: &RunArgs, extensions: &Extensions) -> Outcome {
    args.how.begin()?;
    // Without this check, `s3://bucket` would become a folder named `s3:`.
    if let Some(url) = args.out.to_str().filter(|out| out.contains("://")) {
        return Err(Diagnostic::new("results are written to a folder, not to a URL")
            .help(format!("keep the finished runs there with `--store {url}`"))
            .in_argument("--out", url));
    }
    let shard = args.machines.check(&args.scenarios, &args.how)?;
    // `--json` and `--set output.json` would name two files for one output. The scenario refuses an
    // option beside `--set` of its key.
    let options = Overrides { beside: args.how.keys(), ..args.options.clone() };
    let document = |name: &String| {
        let request =
            Request { scenario: Some(name.clone()), options: options.clone(), ..Request::default() };
        request.document(extensions)
    };
    let documents: Vec<Document> = args.scenarios.iter().map(document).collect::<Result<_, _>>()?;
    if documents.len() > 1 {
        refuse_shared_outputs(&args.how)?;
    }
    let mut outputs = Outputs::default();
    let mut prepared = Vec::new();
    for document in &documents {
        // Stored runs keep their time series, so that a later report or export simulates nothing
        // again.
        let scenario = prepare(document, &args.how, &mut outputs, RunStorage::InStore)?;
        outputs.add_results("--out", &scenario.results_in(&args.out))?;
        prepared.push(scenario);
    }
    if let ([scenario], Some(engine)) = (&prepared[..], args.machines.submit) {
        return args.machines.submit(scenario, &args.how, engine);
    }
    // Nothing is written before all input is known to be valid.
    let (store, place) = args.open_store()?;
    if let ([scenario], Some(shard)) = (&mut prepared[..], shard) {
        scenario.session.share_in(store)?;
        return machines::run_shard(&scenario.session, &args.how, &place, shard);
    }
    files::make_folder(&args.out).map_err(|error| {
        Diagnostic::new(format!("the folder cannot be made: {error}"))
            .help("choose another one")
            .in_argument("--out", &args.out.display().to_string())
    })?;
    prepared.iter_mut().try_for_each(|scenario| scenario.session.keep_in(store.clone()))?;
    let mut all = Ending::Done;
    for scenario in &prepared {
        let (results, ending) = if args.machines.merge {
            (finish(scenario, &args.how, scenario.session.merged()?)?, Ending::Done)
        } else {
            simulate(scenario, &args.how)?
        };
        let json = scenario.results_in(&args.out);
        if ending == Ending::Interrupted {
            say(format_args!(
                "interrupted: {} finished runs are kept in {place}; repeat the command to resume",
                results.runs.len()
            ));
            return Ok(ending);
        }
        // The scenario names this file. Somebody else may have put a symbolic link under its name.
        output::replace_json("--out", &json, &results)?;
        if !args.how.takes_stdout() {
            output::print(&args.how.overview(&results)?)?;
            if !args.how.quiet {
                output::print(&format!("{}\n", printable::line(&json.display().to_string())))?;
            }
        }
        if args.how.judge(&results)? == Ending::CheckFailed {
            all = Ending::CheckFailed;
        }
    }
    Ok(all)
}

impl RunArgs {
    /// Opens the store. Returns it with the name of its place for messages.
    fn open_store(&self) -> Result<(Store, String), Diagnostic> {
        let Some(given) = &self.store else {
            return Ok((Store::open(&self.out.join("runs"))?, self.out.display().to_string()));
        };
        let open = || match PlaceName::parse(given)? {
            PlaceName::Folder(folder) => Store::open_for(&folder, "--store"),
            PlaceName::Objects(url) => stores::open_objects(&url, BUILD),
        };
        Ok((open().map_err(|error| error.in_argument("--store", given))?, given.clone()))
    }
}

/// Refuses options that name one file for the results of several scenarios.
fn refuse_shared_outputs(how: &SimulationOptions) -> Result<(), Diagnostic> {
    let single = [("--json", &how.json), ("--report", &how.report), ("--tc-stats", &how.tc_stats)];
    let mut outputs = single
        .into_iter()
        .filter_map(|(argument, target)| Some((argument, target.as_ref()?)))
        .chain(how.export.iter().map(|target| ("--export", target)))
        .chain(how.packets.iter().map(|target| ("--packets", target)));
    outputs.next().map_or(Ok(()), |(argument, target)| {
        Err(Diagnostic::new("one file cannot hold the results of several scenarios")
            .help("omit the option: each scenario's results go to the folder given with --out")
            .in_argument(argument, &target.display().to_string()))
    })
}

/// Heading of the options that change the scenario.
const HEADING: &str = "Scenario";
/// Builds this program with object stores, in a checkout.
const BUILD: &str = "cargo install --path crates/goodqueue-cli --features object-store";
