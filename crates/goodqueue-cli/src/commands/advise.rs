//! `goodqueue advise`: what a router should be told, so that a line stays responsive under load.

use std::path::PathBuf;

use clap::Args;
use goodqueue_advise::{
    FlentLine, KINDS, Measurement, Question, Traces, advise, heading, read_flent, routers, words,
};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::{input, units};

use super::simulation::MOST_JOBS;
use super::{Ending, Outcome, signed};
use crate::messages::{self, note, say};
use crate::output::{self, Outputs};
use crate::playground;
use crate::search_progress::SearchProgress;

/// Find the setting of your router that keeps the line responsive under load.
///
/// It simulates your line with the large buffers that modems have, searches shaper rate,
/// discipline, link overhead and parameters, and prints the lines to set for OpenWrt, tc and other
/// routers, with the latency before and after.
#[derive(Args, Debug)]
#[command(
    after_help = "Kinds of lines: dsl (adsl up to 24 Mbit/s down, vdsl above), adsl, vdsl, cable (docsis), fibre (ftth, gpon), lte (4g, 5g), leo (starlink), satellite, wifi (slower than the line behind it), wifi-fq (the same with fair queueing in the access point).
`goodqueue list links` shows what is assumed about each, with sources.

Examples:
  goodqueue advise 40mbit 10mbit --link dsl
  goodqueue advise 40mbit/10mbit --link cable --ping 18ms,310ms      your own pings, idle and loaded
  goodqueue advise --link fibre --flent rrul-2026-11-01.flent.gz     rates and pings that Flent measured
  goodqueue advise --link lte --trace-down lte.down --trace-up lte.up
  goodqueue advise 16mbit/1mbit --link adsl --device pppoe-wan --only openwrt
  goodqueue advise 100mbit/10mbit --link cable --only opnsense       the fields of its pages
  goodqueue advise 60mbit/50mbit --link wifi                         WiFi that is slower than the line
  goodqueue advise 100mbit/20mbit --link cable --report line.html"
)]
pub(crate) struct AdviseArgs {
    /// Rates of the line, down and up, such as 40mbit/10mbit or 40mbit 10mbit. For DSL those at
    /// which the modem synchronised, for WiFi those of a speed test in one direction at a time,
    /// otherwise those of the contract or of a speed test.
    rates: Option<String>,
    /// Rate of the upload, if RATES is the rate of the download alone.
    up: Option<String>,
    /// Kind of line, which determines overhead, buffers and round-trip time: dsl, cable, fibre,
    /// lte, leo, satellite or wifi.
    #[arg(long, value_name = "KIND", help_heading = "Your line")]
    link: Option<String>,
    /// Base round-trip time to the servers that you use [default: that of the kind of line].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = signed, conflicts_with_all = ["ping", "flent"], help_heading = "Your line")]
    rtt: Option<String>,
    /// Pings that you measured: without load, and with downloads and uploads. The buffers of the
    /// line follow from them.
    #[arg(long, value_name = "IDLE,LOADED", conflicts_with = "flent", help_heading = "Your line")]
    ping: Option<String>,
    /// Measurement of your line by Flent, for pings and rates: a .flent or .flent.gz file of a test
    /// such as rrul.
    #[arg(long, value_name = "FILE", help_heading = "Your line")]
    flent: Option<PathBuf>,
    /// Mahimahi trace of the line towards you, instead of rates.
    #[arg(long, value_name = "FILE", requires = "trace_up", conflicts_with_all = ["rates", "flent"], help_heading = "Your line")]
    trace_down: Option<PathBuf>,
    /// Mahimahi trace of the line from you.
    #[arg(long, value_name = "FILE", requires = "trace_down", help_heading = "Your line")]
    trace_up: Option<PathBuf>,
    /// Network interface of the router towards the modem, or its WiFi interface, for the settings
    /// [default: eth0, for WiFi wlan0].
    #[arg(long, value_name = "NAME", help_heading = "Router")]
    device: Option<String>,
    /// Give packets priorities by their DSCP (diffserv3), and keep the DSCP of packets from the
    /// Internet. Without it, all packets are equal (besteffort), and that DSCP is cleared (wash).
    #[arg(long, help_heading = "Router")]
    diffserv: bool,
    /// The router does not translate addresses (NAT), for example because it bridges or another
    /// router does. Otherwise cake shares the line between the devices behind the translation.
    #[arg(long, help_heading = "Router")]
    no_nat: bool,
    /// Print the setting for one kind of router only, ready for a file: openwrt, tc, luci
    /// (OpenWrt's web pages), openwrt-light (slow processor), systemd, networkmanager, networkd,
    /// routeros (MikroTik), opnsense, pfsense, unifi or eero.
    #[arg(long, value_name = "ROUTER", help_heading = "Router")]
    only: Option<String>,
    /// Most seeds with which the advice is verified, for each traffic mix. Fewer do if the values
    /// are known well enough.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100), help_heading = "Simulation")]
    seeds: u64,
    /// Number of parallel runs, at most 1024 [default: the number of processors].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS), help_heading = "Simulation")]
    jobs: Option<u16>,
    /// Write the advice with everything that was tried as JSON to a file, or to standard output
    /// (-).
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    json: Option<PathBuf>,
    /// Write the advice as a page: today and with the setting, what to set on each router, and what
    /// it costs.
    #[arg(long, value_name = "FILE.html", help_heading = "Results")]
    report: Option<PathBuf>,
    /// Write the model of the line as a scenario file, to change it and run it again.
    #[arg(long, value_name = "FILE.toml", help_heading = "Results")]
    scenario: Option<PathBuf>,
    /// Print the advice and errors only.
    #[arg(long)]
    quiet: bool,
}

pub(crate) fn main(args: &AdviseArgs) -> Outcome {
    if args.quiet {
        messages::be_quiet();
    }
    let mut outputs = Outputs::default();
    for input in [&args.flent, &args.trace_down, &args.trace_up].into_iter().flatten() {
        outputs.read(input)?;
    }
    for (argument, target) in [("--json", &args.json), ("--scenario", &args.scenario)] {
        if let Some(target) = target {
            outputs.add(argument, target)?;
        }
    }
    if let Some(report) = &args.report {
        outputs.add_report("--report", report)?;
    }
    let question = question(args)?;
    check_only(args)?;
    note(heading(&question));
    let progress = SearchProgress::new();
    let found = advise(&question, args.jobs.map_or(0, usize::from), &progress)?;
    progress.clear();
    let Some(advice) = found else {
        say("interrupted");
        return Ok(Ending::Interrupted);
    };
    if let Some(path) = &args.report {
        let options = playground::report_options(None)?;
        output::write_file("--report", path, goodqueue_report::advice_html(&advice, &options).as_bytes())?;
        note(format_args!("report: {}", path.display()));
    }
    if let Some(path) = &args.scenario {
        output::write_file("--scenario", path, advice.scenario.as_bytes())?;
    }
    if let Some(path) = &args.json {
        output::write_json("--json", path, &advice)?;
    }
    // The advice in words would garble the JSON.
    if args.json.as_ref().is_some_and(|target| target.as_os_str() == "-") {
        return Ok(Ending::Done);
    }
    let text = match &args.only {
        None => words(&advice),
        Some(_) if advice.keep => {
            note("no setting that was tried makes pings clearly shorter: nothing to set");
            return Ok(Ending::Done);
        }
        Some(router) => {
            let of_router = advice.settings.iter().find(|setting| setting.name == router);
            let Some(setting) = of_router else {
                return Err(Diagnostic::new(format!(
                    "this advice ({}) has no form for {router}",
                    advice.discipline
                ))
                .one_of("", &advice.settings.iter().map(|setting| setting.name).collect::<Vec<_>>())
                .in_argument("--only", router));
            };
            note(&setting.place);
            for step in &setting.before {
                note(format_args!("first: {step}"));
            }
            setting.words()
        }
    };
    output::print(&text)?;
    Ok(Ending::Done)
}

/// Returns the question that the options ask.
fn question(args: &AdviseArgs) -> Result<Question, Diagnostic> {
    let device = args.device.as_deref().map(device_of).transpose()?;
    let link = match (&args.link, &args.trace_down) {
        (Some(link), _) => link.as_str(),
        (None, Some(_)) => RECORDED,
        (None, None) => {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.line.name).collect();
            return Err(Diagnostic::new("which kind of line is it? Overhead and buffers depend on it")
                .allowed(format!("--link dsl, {}", names.join(", ")))
                .help("for example: goodqueue advise 40mbit/10mbit --link dsl"));
        }
    };
    let measured = args.flent.as_ref().map(|path| flent(path)).transpose()?;
    let rates = match (&args.rates, &args.up) {
        (Some(down), Some(up)) if down.contains('/') => {
            return Err(Diagnostic::new(format!("{down} has both rates already"))
                .allowed("40mbit/10mbit or 40mbit 10mbit")
                .in_argument("UP", up));
        }
        (Some(down), Some(up)) => Some(format!("{down}/{up}")),
        (rates, _) => rates.clone(),
    };
    let mut question = match (&rates, &args.trace_down, &args.trace_up, &measured) {
        (_, Some(down), Some(up), _) => {
            Question::recorded(Traces { down: down.clone(), up: up.clone() }, link)?
        }
        (Some(rates), ..) => Question::new(rates, link)?,
        (None, _, _, Some(line)) => Question::new(&line.rates(link)?, link)?,
        (None, ..) => {
            return Err(Diagnostic::new("the rates of the line are missing")
                .allowed("RATES such as 40mbit/10mbit, --flent FILE, or --trace-down FILE --trace-up FILE"));
        }
    };
    if let Some(line) = measured {
        question = question.with_measurement(line.measured)?;
    }
    if let Some(text) = &args.ping {
        let measured = Measurement::parse(text).map_err(|error| error.in_argument("--ping", text))?;
        question = question.with_measurement(measured).map_err(|error| error.in_argument("--ping", text))?;
    }
    if let Some(text) = &args.rtt {
        let asked = units::time(text).and_then(|rtt| question.with_rtt(rtt));
        question = asked.map_err(|error| error.in_argument("--rtt", text))?;
    }
    if let Some(device) = device {
        device.clone_into(&mut question.device);
    }
    question.diffserv = args.diffserv;
    question.nat = !args.no_nat;
    question.effort.seeds = args.seeds;
    // Only the page draws time series, and every run would have to keep them.
    question.effort.series = args.report.is_some();
    Ok(question)
}

fn flent(path: &std::path::Path) -> Result<FlentLine, Diagnostic> {
    let name = path.display().to_string();
    let bytes = input::bytes(path, FlentLine::MAX_FILE_BYTES).map_err(|error| {
        Diagnostic::new(format!("`{name}` cannot be read: {error}")).in_argument("--flent", &name)
    })?;
    read_flent(&name, &bytes)
}

/// Returns the name of an interface. Refuses names that could not be pasted into a shell, and those
/// that Linux refuses (`dev_valid_name()`).
fn device_of(given: &str) -> Result<&str, Diagnostic> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    // `ip link` shows a VLAN as `eth0.7@eth0`. The name ends before the `@`.
    let name = given.split('@').next().unwrap_or_default();
    // Linux has room for 16 bytes (`IFNAMSIZ`), of which the last is 0.
    if ["", ".", ".."].contains(&name) || name.len() > 15 || !name.chars().all(is_plain) {
        return Err(Diagnostic::new("no network interface has this name")
            .allowed("1 to 15 letters, digits, `-`, `_` or `.`; an `@` and what follows it is left out")
            .in_argument("--device", given));
    }
    Ok(name)
}

fn check_only(args: &AdviseArgs) -> Result<(), Diagnostic> {
    let names: Vec<&str> = routers().map(|(name, _)| name).collect();
    match &args.only {
        Some(router) if !names.contains(&router.as_str()) => {
            Err(Diagnostic::new(format!("there is no kind of router `{router}`"))
                .one_of(router, &names)
                .in_argument("--only", router))
        }
        _ => Ok(()),
    }
}

/// Kind of a line of which only a recording is known.
const RECORDED: &str = "lte";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_device_ends_before_an_at_sign() {
        for (given, name) in
            [("eth0", "eth0"), ("eth0.7@eth0", "eth0.7"), ("pppoe-wan", "pppoe-wan"), ("a@if12", "a")]
        {
            assert_eq!(device_of(given), Ok(name));
        }
        for refused in ["", ".", "..", "@eth0", "eth0;reboot", "eth0 ", "name-of-16-bytes", "..@eth0"] {
            assert!(device_of(refused).is_err(), "{refused}");
        }
    }
}
