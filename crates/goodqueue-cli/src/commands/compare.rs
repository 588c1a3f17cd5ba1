//! `goodqueue compare`: one bottleneck, one traffic mix, several disciplines side by side.

use std::path::PathBuf;

use clap::Args;
use goodqueue::Duration;
use goodqueue_scenario::library;
#[cfg(target_os = "linux")]
use goodqueue_scenario::runs::Jobs as _;
use goodqueue_scenario::scenario::{Document, Overrides};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;

use super::run::{How, Prepared, prepare, simulate};
#[cfg(target_os = "linux")]
use super::run::{finish, simulate_runs};
use super::{Ending, Outcome, signed};
use crate::messages::say;
use crate::output::{self, Outputs};
use crate::table;

/// Compare queue disciplines on one bottleneck under one traffic mix: the main job.
///
/// Without arguments: the RRUL load (4 CUBIC downloads, 4 uploads, a ping every 200 ms) on a 10/1 Mbit/s line with a base
/// round-trip time of 50 ms, for 60 simulated seconds.
#[derive(Args, Debug)]
#[command(
    after_help = "Rates are as in tc (10mbit, 1gbit, 500kbit) or as people write them (10 Mbit/s); times as in 50ms, 2s.

Examples:
  goodqueue compare --rate 50mbit --up 10mbit --rtt 20ms --report report.html
  goodqueue compare --qdisc 'fq_codel limit 10240p flows 1024 target 5ms interval 100ms ecn' --qdisc pie
  goodqueue compare --trace-down lte.down --trace-up lte.up --time 2min
  goodqueue compare --seeds 10 --json results.json
  goodqueue compare rtt-fairness --qdisc sfq --qdisc fq_codel
  goodqueue compare --live --time 10s --qdisc pfifo --qdisc fq_codel      the kernel's TCP, without root
  goodqueue compare --both --rate 10mbit --report both.html               ... beside the simulated one"
)]
pub(crate) struct CompareArgs {
    /// A scenario file (or the name of one that comes with goodqueue) to start from instead of the default.
    scenario: Option<String>,
    /// A discipline in tc's grammar; may be given several times [default: six of them].
    #[arg(long, value_name = "TC")]
    qdisc: Vec<String>,
    /// Rate towards the client [default: 10mbit].
    #[arg(long, alias = "down", value_name = "RATE", allow_hyphen_values = true, value_parser = signed)]
    rate: Option<String>,
    /// Rate from the client [default: 1mbit; the rate down if that is given].
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = signed)]
    up: Option<String>,
    /// Base round-trip time [default: 50ms].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = signed)]
    rtt: Option<String>,
    /// TCP flows in each direction [default: 4].
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = signed)]
    flows: Option<String>,
    /// Simulated time [default: 60s].
    #[arg(long, alias = "duration", value_name = "TIME", allow_hyphen_values = true, value_parser = signed)]
    time: Option<String>,
    /// Seed of the first run [default: 1].
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = signed)]
    seed: Option<String>,
    /// Number of repetitions, with seeds that follow each other [default: 1].
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = signed)]
    seeds: Option<String>,
    /// A Mahimahi trace that is the link towards the client.
    #[arg(long, value_name = "FILE")]
    trace_down: Option<String>,
    /// A Mahimahi trace that is the link from the client.
    #[arg(long, value_name = "FILE")]
    trace_up: Option<String>,
    /// Set any key of the scenario, as in `--set tcp.ecn=true`; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Do it with real packets and the kernel's TCP, through the live bottleneck (Linux): --time defaults to 20s, each
    /// discipline takes so long.
    #[arg(long)]
    live: bool,
    /// Do both, and show how far they are apart; the simulated TCP is then Linux's unless the scenario says otherwise.
    #[arg(long, conflicts_with = "live")]
    both: bool,
    /// With --live or --both: run although sudo was used and nothing needs it.
    #[arg(long)]
    allow_root: bool,
    #[command(flatten)]
    how: How,
}

pub(crate) fn main(args: &CompareArgs) -> Outcome {
    let mut document = match &args.scenario {
        Some(name) => library::load(name)?,
        None => Document::default(),
    };
    document.apply(&Overrides {
        rate: args.rate.clone(),
        up: args.up.clone(),
        rtt: args.rtt.clone(),
        trace_down: args.trace_down.clone(),
        trace_up: args.trace_up.clone(),
        flows: args.flows.clone(),
        time: time(args),
        seed: args.seed.clone(),
        seeds: args.seeds.clone(),
        qdiscs: args.qdisc.clone(),
        set: settings(args),
        beside: args.how.keys(),
    })?;
    if args.live || args.both {
        return live(args, &document);
    }
    let prepared = prepare(&document, &args.how, &mut Outputs::default())?;
    refuse_without_effect(args, &prepared)?;
    let (results, ending) = simulate(&prepared, &args.how, None)?;
    if ending == Ending::Interrupted {
        say("interrupted");
        return Ok(ending);
    }
    // With JSON on standard output, the table would be in its way.
    if !args.how.takes_stdout() {
        output::print(&format!("{}\n{}", headline(&results.scenario, "simulated"), table::render(&results)))?;
    }
    if let Some(path) = report_path(args) {
        say(format_args!("report: {}", path.display()));
    }
    Ok(Ending::Done)
}

/// Refuses options that would change nothing.
fn refuse_without_effect(args: &CompareArgs, prepared: &Prepared) -> Result<(), Diagnostic> {
    let how = &args.how;
    let is_live = args.live || args.both;
    let writes_series = prepared.writes_series() || !how.export.is_empty();
    for (option, is_idle, why, help) in [
        (
            "--timing",
            how.timing && !prepared.writes_json(),
            "the CPU time of runs is shown in the JSON only",
            "add `--json FILE`",
        ),
        (
            "--series",
            how.series.is_some() && !writes_series,
            "time series are shown in the JSON, the report and exports only",
            "add `--json FILE`, `--report FILE.html` or `--export FILE`",
        ),
        ("--jobs", how.jobs.is_some() && args.live, "live runs are made one after the other", "leave it out"),
        ("--allow-root", args.allow_root && !is_live, "nothing is done live", "leave it out"),
    ] {
        if is_idle {
            return Err(Diagnostic::new(format!("`{option}` has no effect: {why}")).help(help));
        }
    }
    Ok(())
}

/// Real time passes in real time: nobody should wait for six minutes who has not asked to.
fn time(args: &CompareArgs) -> Option<String> {
    let is_set = args.scenario.is_some() || args.set.iter().any(|setting| key(setting) == "duration");
    let live = args.live || args.both;
    args.time.clone().or_else(|| (live && !is_set).then(|| "20s".to_owned()))
}

/// What is compared with Linux is simulated as Linux.
fn settings(args: &CompareArgs) -> Vec<String> {
    let of_tcp = |setting: &String| ["tcp", "tcp.profile"].contains(&key(setting));
    let is_set = args.scenario.is_some() || args.set.iter().any(of_tcp);
    let mut settings = args.set.clone();
    if args.both && !is_set {
        settings.push("tcp.profile=linux".to_owned());
    }
    settings
}

/// The key of `--set KEY=VALUE`.
fn key(setting: &str) -> &str {
    setting.split('=').next().unwrap_or_default().trim()
}

#[cfg(not(target_os = "linux"))]
fn live(_: &CompareArgs, _: &Document) -> Outcome {
    Err(Diagnostic::new("a live bottleneck needs Linux"))
}

/// With real packets, one job after the other; with `--both` simulated as well.
#[cfg(target_os = "linux")]
fn live(args: &CompareArgs, document: &Document) -> Outcome {
    if let Some(target) = args.how.packets.first() {
        return Err(Diagnostic::new("packets are written of simulated runs only")
            .help("`goodqueue shell --pcap FILE --record FILE` writes those of a live one")
            .in_argument("--packets", &target.display().to_string()));
    }
    crate::live::refuse_needless_root(args.allow_root, "goodqueue compare --live")?;
    let prepared = prepare(document, &args.how, &mut Outputs::default())?;
    refuse_without_effect(args, &prepared)?;
    let mtu = prepared.scenario().link.mtu;
    let count = prepared.runs().count();
    let mut live = Vec::new();
    // Before any simulation: a process with several threads cannot make namespaces.
    for number in 0..count {
        let job = &*prepared.runs().job(number)?;
        let time = units::show_time(job.config.duration);
        say(format_args!("live run {} of {count}: {}, {time}", number + 1, job.labels.qdisc));
        let one = crate::live::jobs::execute(job, mtu)?;
        for remark in &one.remarks {
            say(format_args!("  {remark}"));
        }
        live.push(one.run);
    }
    if !args.both {
        let results = finish(&prepared, &args.how, live)?;
        if !args.how.takes_stdout() {
            output::print(&format!("{}\n{}", headline(&results.scenario, "live"), table::render(&results)))?;
        }
        return Ok(Ending::Done);
    }
    // The same jobs, so that both halves have the time series that a report or an export needs.
    let (simulated, ending) = simulate_runs(&prepared, &args.how, None)?;
    if ending == Ending::Interrupted {
        say("interrupted");
        return Ok(ending);
    }
    let differences = table::differences(&simulated, &live);
    let both = simulated.into_iter().zip(live).flat_map(|(mut simulated, mut live)| {
        simulated.qdisc.push_str(", simulated");
        live.qdisc.push_str(", live");
        [simulated, live]
    });
    let results = finish(&prepared, &args.how, both.collect())?;
    if !args.how.takes_stdout() {
        let heading = headline(&results.scenario, "simulated and live");
        output::print(&format!("{heading}\n{}\n{differences}", table::render(&results)))?;
    }
    Ok(Ending::Done)
}

fn report_path(args: &CompareArgs) -> Option<&PathBuf> {
    args.how.report.as_ref()
}

/// The scenario in one line.
fn headline(scenario: &serde_json::Value, means: &str) -> String {
    let link = &scenario["link"];
    let rate = |side: &serde_json::Value| match side {
        serde_json::Value::String(rate) => rate.clone(),
        other => {
            other["trace"].as_str().map_or_else(|| "a schedule".to_owned(), |trace| format!("trace {trace}"))
        }
    };
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("?").to_owned();
    let flows: Vec<String> = scenario["flows"].as_array().map_or_else(Vec::new, |flows| {
        flows
            .iter()
            .map(|flow| {
                let cc = flow["cc"].as_str().map_or_else(String::new, |cc| format!(" {cc}"));
                format!("{} x {}{cc} {}", flow["count"], text(&flow["kind"]), text(&flow["direction"]))
            })
            .collect()
    });
    format!(
        "{} down, {} up, base RTT {}, {} {means}; {}",
        rate(&link["down"]),
        rate(&link["up"]),
        base_rtt(scenario),
        text(&scenario["duration"]),
        flows.join(", ")
    )
}

/// The base round-trip time of the flows, from the shortest to the longest.
fn base_rtt(scenario: &serde_json::Value) -> String {
    let time = |value: &serde_json::Value| units::time(value.as_str()?).ok();
    let flows = scenario["flows"].as_array().map_or(&[][..], Vec::as_slice);
    let ends = flows.iter().filter_map(|flow| {
        let first = time(&flow["rtt"])?;
        let steps = flow["count"].as_u64().unwrap_or(1).saturating_sub(1);
        Some([first, first + time(&flow["rtt_step"]).unwrap_or_default().saturating_mul(steps)])
    });
    let all: Vec<Duration> = ends.flatten().collect();
    let shortest = all.iter().min().copied().or_else(|| time(&scenario["link"]["rtt"])).unwrap_or_default();
    match all.iter().max() {
        Some(longest) if *longest > shortest => format!("{shortest} to {longest}"),
        _ => shortest.to_string(),
    }
}
