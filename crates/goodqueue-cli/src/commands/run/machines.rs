//! `goodqueue run --shard`, `--merge` and `--submit`: a sweep on several machines.

use clap::Args;
use goodqueue_scenario::run::Runs as _;
use goodqueue_scenario::session::Session;
use goodqueue_scenario::shard::Shard;
use goodqueue_tc::diagnostic::Diagnostic;

use super::submit::{Engine, Submission, without};
use crate::commands::simulation::{Prepared, SimulationOptions, simulate_runs};
use crate::commands::{Ending, Outcome, signed};
use crate::messages::{note, say};
use crate::output;
use crate::typed;

/// Options for a sweep on several machines.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Several machines")]
pub(crate) struct DistributedRun {
    /// Run the i-th of n shards of the sweep, such as 3/16. All shards keep their runs in the
    /// folder given with --out, which the machines share, or in the place given with --store.
    /// Repeat the command to resume a shard.
    #[arg(long, value_name = "I/N", allow_hyphen_values = true, value_parser = signed, conflicts_with = "merge")]
    shard: Option<String>,
    /// Write the results from the runs that the shards kept, and simulate nothing.
    #[arg(long)]
    pub(super) merge: bool,
    /// Print a script that runs the sweep in shards on a cluster, and simulate nothing.
    #[arg(long, value_name = "ENGINE", conflicts_with_all = ["shard", "merge"])]
    pub(super) submit: Option<Engine>,
    /// With --submit: number of shards [default: one for each 100 runs, at most 1000].
    #[arg(long, value_name = "N", requires = "submit", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    shards: Option<u32>,
}

impl DistributedRun {
    /// Returns the shard to run, after a check of all options beside it.
    pub(super) fn check(
        &self,
        scenarios: &[String],
        how: &SimulationOptions,
    ) -> Result<Option<Shard>, Diagnostic> {
        let used =
            [("--shard", self.shard.is_some()), ("--merge", self.merge), ("--submit", self.submit.is_some())];
        // A shard is a part of the runs of one scenario, and so is what it keeps in the store.
        if let (Some((option, _)), [_, second, ..]) = (used.iter().find(|option| option.1), scenarios) {
            return Err(Diagnostic::new(format!("`{option}` takes one scenario"))
                .help("run the command once for each scenario, each with a folder of its own")
                .in_argument("SCENARIO", second));
        }
        if let Some(file) = how.packets.first().filter(|_| self.merge) {
            return Err(Diagnostic::new("packets are not kept with the runs, so they cannot be merged")
                .help("add `--packets` to the commands with `--shard`")
                .in_argument("--packets", &file.display().to_string()));
        }
        let Some(text) = &self.shard else { return Ok(None) };
        let shard = Shard::parse(text).map_err(|error| error.in_argument("--shard", text))?;
        let single = [("--json", &how.json), ("--report", &how.report), ("--tc-stats", &how.tc_stats)];
        let single = single.into_iter().filter_map(|(option, file)| Some((option, file.as_ref()?)));
        let outputs = single.chain(how.export.iter().map(|file| ("--export", file)));
        let outputs = outputs.map(|(option, file)| (option, file.display().to_string()));
        let mut of_all_runs = outputs.chain(how.fail_if.iter().map(|text| ("--fail-if", text.clone())));
        match of_all_runs.next() {
            None => Ok(Some(shard)),
            Some((option, given)) => Err(Diagnostic::new("a shard has only a part of the results")
                .help(format!("add `{option}` to the command with `--merge`, after all shards have finished"))
                .in_argument(option, &given)),
        }
    }
}

/// Runs a shard. The runs go to the store only.
pub(super) fn run_shard(session: &Session, how: &SimulationOptions, place: &str, shard: Shard) -> Outcome {
    let part = session.shard(shard)?;
    let (runs, ending) = simulate_runs(&part, how)?;
    if ending == Ending::Interrupted {
        say(format_args!(
            "interrupted: {} of {} runs of shard {shard} are kept in {place}; repeat the command to resume",
            runs.len(),
            part.count()
        ));
        return Ok(ending);
    }
    note(format_args!(
        "shard {shard} has finished: {} of {} runs, kept in {place}; `--merge` combines the shards",
        runs.len(),
        session.count()
    ));
    Ok(ending)
}

impl DistributedRun {
    /// Prints the script for a cluster.
    pub(super) fn submit(&self, scenario: &Prepared, how: &SimulationOptions, engine: Engine) -> Outcome {
        let given = typed::words_for_script()?;
        let here =
            |error: std::io::Error| Diagnostic::new(format!("the working directory is unknown: {error}"));
        let session = &scenario.session;
        let runs = session.count();
        let submission = Submission {
            name: session.scenario().name.clone(),
            runs,
            points: session.all().sweep().count(),
            shards: self.shards.unwrap_or_else(|| Submission::shards_for(runs)),
            cpus: how.jobs.unwrap_or(CPUS),
            folder: typed::for_script(
                "the working directory",
                std::env::current_dir().map_err(here)?.as_os_str(),
            )?,
            program: typed::for_script("the path of goodqueue", typed::program().as_os_str())?,
            // clap refuses an option that is given twice, so a typed `--quiet` was removed before.
            shard: [without(&given, NOT_OF_SHARD), vec!["--quiet".to_owned()]].concat(),
            merge: [without(&given, NOT_OF_MERGE), vec!["--merge".to_owned()]].concat(),
        };
        output::print(&submission.script(engine))?;
        Ok(Ending::Done)
    }
}

/// Options that the commands of shards do not have, and whether they take a value.
const NOT_OF_SHARD: &[(&str, bool)] = &[
    ("--submit", true),
    ("--shards", true),
    ("--jobs", true),
    ("--json", true),
    ("--report", true),
    ("--export", true),
    ("--tc-stats", true),
    ("--metric", true),
    ("--explain-columns", false),
    ("--fail-if", true),
    ("--quiet", false),
];
/// The same for the command that combines them.
const NOT_OF_MERGE: &[(&str, bool)] =
    &[("--submit", true), ("--shards", true), ("--jobs", true), ("--packets", true)];
/// Processors of a shard.
const CPUS: u16 = 4;
