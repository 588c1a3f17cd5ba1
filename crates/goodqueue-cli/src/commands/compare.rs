//! `goodqueue compare`: several disciplines on one bottleneck with one traffic mix.

use std::path::PathBuf;

use clap::Args;
#[cfg(target_os = "linux")]
use goodqueue_live_runs::{LiveSession, LiveWatch};
#[cfg(target_os = "linux")]
use goodqueue_report::terminal;
use goodqueue_scenario::Extensions;
use goodqueue_scenario::export::Format;
use goodqueue_scenario::request::Request;
#[cfg(target_os = "linux")]
use goodqueue_scenario::run::{RunSpec, Runs as _};
use goodqueue_scenario::scenario::Document;
#[cfg(target_os = "linux")]
use goodqueue_scenario::session::Watch;
use goodqueue_tc::diagnostic::Diagnostic;
#[cfg(target_os = "linux")]
use goodqueue_tc::units;

#[cfg(target_os = "linux")]
use super::judgement;
use super::simulation::{Prepared, RunStorage, SimulationOptions, prepare, simulate};
#[cfg(target_os = "linux")]
use super::simulation::{finish, simulate_runs};
use super::{Ending, Outcome, story};
use crate::messages::{note, say};
use crate::output::{self, Outputs};

/// Compare queue disciplines on one bottleneck with one traffic mix.
///
/// This is the main command. Without arguments it simulates the RRUL load (4 CUBIC downloads, 4
/// uploads, a ping every 200 ms) on a 10/1 Mbit/s line with a base round-trip time of 50 ms, for 60
/// seconds.
#[derive(Args, Debug)]
#[command(
    next_help_heading = "Line, traffic and disciplines",
    after_help = "Rates are given as in tc (10mbit, 1gbit, 500kbit) or with usual units (10 Mbit/s), times as in 50ms or 2s.

Examples:
  goodqueue compare --rate 50mbit --up 10mbit --rtt 20ms --report report.html
  goodqueue compare --qdisc 'fq_codel limit 10240p flows 1024 target 5ms ecn' --qdisc pie
  goodqueue compare --trace-down lte.down --trace-up lte.up --time 2min
  goodqueue compare --seeds 10 --json results.json
  goodqueue compare --qdisc cake --fail-if 'ping.p99 > 80ms' --fail-if 'goodput.down < 9mbit'
  goodqueue compare rtt-fairness --qdisc sfq --qdisc fq_codel
  goodqueue compare --qdisc codel --explain drop
  goodqueue compare --live --time 10s --qdisc pfifo --qdisc fq_codel   real packets, without root
  goodqueue compare --both --rate 10mbit --report both.html            real and simulated packets"
)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    request: Request,
    /// Send real packets with the kernel's TCP through a live bottleneck instead of simulating
    /// (Linux only). The runs take real time, one after another.
    #[arg(long, help_heading = "Real packets")]
    live: bool,
    /// Run both the simulation and the live test, and print the differences. The simulation then
    /// uses Linux's TCP unless the scenario sets another.
    #[arg(long, conflicts_with = "live", help_heading = "Real packets")]
    both: bool,
    /// Tell the story of one packet of the bottleneck instead of printing tables: what it found,
    /// what happened to it, and the rule that decided. The packet's number in --packets, or `drop`
    /// or `mark` for the first packet with this fate. Needs one discipline and one seed.
    #[arg(long, value_name = "PACKET", conflicts_with_all = ["live", "both"])]
    explain: Option<String>,
    /// With --live or --both: allow sudo, although it is not needed.
    #[arg(long, help_heading = "Real packets")]
    allow_root: bool,
    #[command(flatten)]
    how: SimulationOptions,
}

pub(crate) fn main(args: &CompareArgs, extensions: &Extensions) -> Outcome {
    args.how.begin()?;
    let document = request(args).document(extensions)?;
    if let Some(packet) = &args.explain {
        return story::of_run(packet, &args.how, &document);
    }
    if args.live || args.both {
        return live(args, &document);
    }
    let prepared = prepare(&document, &args.how, &mut Outputs::default(), RunStorage::Nowhere)?;
    // The scenario may ask for JSON or a report itself, which is known only after it was resolved.
    refuse_without_effect(args, &prepared)?;
    // A table would garble JSON on standard output.
    let prints = !args.how.takes_stdout();
    if prints {
        // Something to read while the runs are made.
        output::print(&format!("{}\n", prepared.headline("simulated")))?;
    }
    let (results, ending) = simulate(&prepared, &args.how)?;
    if ending == Ending::Interrupted {
        say("interrupted");
        return Ok(ending);
    }
    if prints {
        output::print(&args.how.overview(&results)?)?;
    }
    if let Some(path) = report_path(args) {
        note(format_args!("report: {}", path.display()));
    }
    args.how.judge(&results)
}

/// Refuses options that would have no effect.
fn refuse_without_effect(args: &CompareArgs, prepared: &Prepared) -> Result<(), Diagnostic> {
    let how = &args.how;
    let is_live = args.live || args.both;
    let exports_series =
        how.export.iter().any(|target| Format::from_path(target).is_ok_and(|format| format.needs_series()));
    let writes_series = prepared.writes_series() || exports_series;
    for (option, is_idle, why, help) in [
        (
            "--timing",
            how.timing && !prepared.writes_json(),
            "CPU times appear in the JSON only",
            "add `--json FILE`",
        ),
        (
            "--series",
            how.series.is_some() && !writes_series,
            "time series appear in the JSON, the report and their own exports only",
            "add `--json FILE`, `--report FILE.html` or `--export NAME.series.csv`",
        ),
        ("--jobs", how.jobs.is_some() && args.live, "live runs are made one after another", "omit it"),
        ("--allow-root", args.allow_root && !is_live, "it applies to --live and --both only", "omit it"),
    ] {
        if is_idle {
            return Err(Diagnostic::new(format!("`{option}` has no effect: {why}")).help(help));
        }
    }
    Ok(())
}

/// Returns the request with the defaults of live runs: a shorter duration, because they take real
/// time, and with --both a simulation that imitates Linux.
fn request(args: &CompareArgs) -> Request {
    let mut request = args.request.clone();
    let options = &mut request.options;
    options.beside = args.how.keys();
    let sets = |keys: &[&str]| {
        // A named scenario has its own duration and profile, also where it leaves the default.
        args.request.scenario.is_some()
            || args.request.options.set.iter().any(|setting| keys.contains(&key(setting)))
    };
    if (args.live || args.both) && options.time.is_none() && !sets(&["duration"]) {
        options.time = Some("20s".to_owned());
    }
    if args.both && !sets(&["tcp", "tcp.profile"]) {
        options.set.push("tcp.profile=linux".to_owned());
    }
    request
}

/// Returns the key of `--set KEY=VALUE`.
fn key(setting: &str) -> &str {
    setting.split('=').next().unwrap_or_default().trim()
}

#[cfg(not(target_os = "linux"))]
fn live(_: &CompareArgs, _: &Document) -> Outcome {
    Err(Diagnostic::new("a live bottleneck needs Linux"))
}

/// Makes the runs live, one after another. With --both, simulates them as well.
#[cfg(target_os = "linux")]
fn live(args: &CompareArgs, document: &Document) -> Outcome {
    if let Some(target) = args.how.packets.first() {
        return Err(Diagnostic::new("packets can be written of simulated runs only")
            .help("`goodqueue shell --pcap FILE --record FILE` writes the packets of a live bottleneck")
            .in_argument("--packets", &target.display().to_string()));
    }
    crate::live::refuse_needless_root(args.allow_root, "goodqueue compare --live")?;
    let prepared = prepare(document, &args.how, &mut Outputs::default(), RunStorage::Nowhere)?;
    refuse_without_effect(args, &prepared)?;
    // The live runs come first: a process with several threads cannot create namespaces.
    let finished = LiveSession::from_session(&prepared.session).run(&Notes(prepared.session.count()))?;
    let disturbed = finished.disturbed.clone();
    let live = finished.runs();
    let judge = |results: &goodqueue_scenario::results::Results| -> Outcome {
        Ok(judgement::judge_live(&args.how.conditions()?, &results.runs, disturbed.as_deref()))
    };
    if !args.both {
        let results = finish(&prepared, &args.how, live)?;
        if !args.how.takes_stdout() {
            output::print(&format!("{}\n{}", prepared.headline("live"), args.how.overview(&results)?))?;
        }
        return judge(&results);
    }
    // Simulates the same runs, so that both have the time series for a report or an export.
    let (simulated, ending) = simulate_runs(&prepared.session, &args.how)?;
    if ending == Ending::Interrupted {
        say("interrupted");
        return Ok(ending);
    }
    let differences = terminal::differences(&simulated, &live);
    let both = simulated.into_iter().zip(live).flat_map(|(mut simulated, mut live)| {
        // The report knows these endings, and gives both runs of a discipline one colour.
        simulated.qdisc.push_str(", simulated");
        live.qdisc.push_str(", live");
        [simulated, live]
    });
    let results = finish(&prepared, &args.how, both.collect())?;
    if !args.how.takes_stdout() {
        let heading = prepared.headline("simulated and live");
        output::print(&format!("{heading}\n{}\n{differences}", args.how.overview(&results)?))?;
    }
    judge(&results)
}

/// Notes about live runs. They contain the number of all runs.
#[cfg(target_os = "linux")]
struct Notes(usize);

#[cfg(target_os = "linux")]
impl Watch for Notes {
    fn started(&self, number: usize, run: &RunSpec) {
        let time = units::show_time(run.config.duration);
        note(format_args!("live run {} of {}: {}, {time}", number + 1, self.0, run.labels.qdisc));
    }
}

#[cfg(target_os = "linux")]
impl LiveWatch for Notes {
    fn remarked(&self, _: usize, remark: &str) {
        note(format_args!("  {remark}"));
    }
}

fn report_path(args: &CompareArgs) -> Option<&PathBuf> {
    args.how.report.as_ref()
}
