//! `goodqueue shell`: a real program behind the bottleneck, without root.

pub(crate) mod check;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Arg, Args};
use goodqueue::{AnyConfig, Disciplines};
use goodqueue_link::capacity::Capacity;
use goodqueue_live::bottleneck::Bottleneck;
use goodqueue_live::control::{Control, HttpListener};
use goodqueue_live::mailbox::mailbox;
use goodqueue_live::namespace::default_ends;
use goodqueue_live::observer::Direction;
use goodqueue_live::pcap::Capture;
use goodqueue_live::shell::{Server, Shell, ShellConfig};
use goodqueue_live::{sink, socket};
use goodqueue_live_runs::order_reader::OrderReader;
use goodqueue_live_runs::recorder::{Recorder, with_direction};
use goodqueue_live_runs::request_handler::RequestHandler;
use goodqueue_live_runs::{bottleneck, statistics};
use goodqueue_scenario::Extensions;
use goodqueue_scenario::library;
use goodqueue_scenario::metrics::Condition;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::scenario::{Document, Names, Overrides, Scenario};
use goodqueue_scenario::sweep::Sweep;
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;

use super::line::{DEFAULT_QDISC, LineOptions};
use super::{Ending, Outcome, judgement, signed};
use crate::error_writer::ErrorWriter;
use crate::live::{self, diagnostic};
use crate::messages::{self, say};
use crate::output::{self, Outputs};

/// Run a real program behind the bottleneck, without root.
///
/// The program runs in its own network namespace. Its packets pass through this process
/// (discipline, rate, delay, loss) to a server in a second namespace, which the program knows as
/// `server`. The server is the command of --serve, or the built-in server: HTTP on port 80 (`curl
/// server/10M`), echo on 7, discard on 9. Nothing on the host is changed, and nothing is left
/// behind. The exit code is the program's.
///
/// With --nat, this host itself is the `server`, and the program also reaches the host's networks.
/// This needs privileges, which are given up once the connection exists. Changes to the host are
/// undone at the end, in whatever way this process ends.
#[derive(Args, Debug)]
#[command(
    mut_args(of_a_program),
    after_help = "Without --rate the link has no limit. Rates, times and disciplines are given as in `goodqueue compare`.

Examples:
  goodqueue shell --rate 10mbit --up 1mbit --rtt 50ms -- curl -o /dev/null http://server/10M
  goodqueue shell --rate 10mbit --serve 'iperf3 -s -1' -- iperf3 -c server
  goodqueue shell --trace-down lte.down --rtt 40ms --qdisc 'codel target 10ms' -- ping -c 20 server
  # fail if packets wait for too long
  goodqueue shell --rate 10mbit --fail-if 'bottleneck.down.sojourn_s.p99 > 20ms' -- ./my-test
  # record a run, then replay it
  goodqueue shell --rate 20mbit --loss 1% --record run.jsonl -- ./my-test
  goodqueue replay run.*.jsonl --compare
  # a shell of your own, watched from another terminal
  goodqueue shell --rate 5mbit --control q.sock
  goodqueue top --control q.sock
  # the changing rate of a scenario
  goodqueue shell --scenario codel-dynamic-link -- ping server
  # check this machine
  goodqueue shell --check
  # the Internet through a slower line
  sudo goodqueue shell --nat --rate 20mbit --up 2mbit --rtt 30ms -- firefox"
)]
pub(crate) struct ShellArgs {
    #[command(flatten)]
    line: LineOptions,
    /// Round-trip time without queueing, such as 50ms [default: 0].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = signed, help_heading = "Line and disciplines")]
    rtt: Option<String>,
    /// Mahimahi trace to use as the link towards the program.
    #[arg(long, value_name = "FILE", help_heading = "Line and disciplines")]
    trace_down: Option<String>,
    /// Mahimahi trace to use as the link from the program.
    #[arg(long, value_name = "FILE", help_heading = "Line and disciplines")]
    trace_up: Option<String>,
    /// Packet loss on the path behind the queue, in each direction: `1%`, or a loss model of netem,
    /// as in `gemodel 1% 10%` [default: none].
    #[arg(long, value_name = "LOSS", allow_hyphen_values = true, value_parser = signed, help_heading = "Line and disciplines")]
    loss: Option<String>,
    /// The same towards the program only [default: the value of --loss].
    #[arg(long, value_name = "LOSS", allow_hyphen_values = true, value_parser = signed, help_heading = "Line and disciplines")]
    loss_down: Option<String>,
    /// The same from the program only [default: the value of --loss].
    #[arg(long, value_name = "LOSS", allow_hyphen_values = true, value_parser = signed, help_heading = "Line and disciplines")]
    loss_up: Option<String>,
    /// Take the link from a scenario, a file or a built-in name. The options above override it.
    #[arg(long, value_name = "SCENARIO", help_heading = "Line and disciplines")]
    scenario: Option<String>,
    /// Set a key of the scenario, as in `--set link.mtu=9000`; repeat for several.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Line and disciplines")]
    set: Vec<String>,
    /// Seed of the random numbers of disciplines and of losses.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Line and disciplines")]
    seed: u64,
    /// Shell command that serves, in the server's namespace, as in `--serve 'iperf3 -s'` [default:
    /// the built-in server].
    #[arg(long, value_name = "CMD", help_heading = "Other side")]
    serve: Option<String>,
    /// Connect the program to this host and its networks instead of to a server: with IPv4, and
    /// with IPv6 if the host forwards IPv6. Needs CAP_NET_ADMIN.
    #[arg(long, conflicts_with = "serve", help_heading = "Other side")]
    nat: bool,
    /// Undo file of --nat, if it changes the host [default: /run/goodqueue-NAME.undo].
    #[arg(long, value_name = "FILE", requires = "nat", help_heading = "Other side")]
    undo_file: Option<PathBuf>,
    /// Exit with code 1 and print the value if this holds at the end, such as
    /// 'bottleneck.down.sojourn_s.p99 > 20ms'; repeat for several. A machine that was too busy for
    /// a live test is code 3. The code of a program that failed comes first.
    #[arg(long, value_name = "CONDITION", help_heading = "Results")]
    fail_if: Vec<String>,
    /// Allow sudo, although it is not needed.
    #[arg(long)]
    allow_root: bool,
    /// Check this machine for everything that real packets need, print each finding with advice,
    /// and run no program. Exit with code 1 if `shell` (with --nat, `shell --nat`) cannot work
    /// here.
    #[arg(long, conflicts_with = "command")]
    check: bool,
    #[command(flatten)]
    watch: WatchOptions,
    /// Program to run, with its arguments [default: your shell]. Options of goodqueue come before
    /// it; `--` may stand between.
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// The client of this command is the program.
fn of_a_program(argument: Arg) -> Arg {
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    if help.contains(" the clients") {
        argument.help(help.replace(" the clients", " the program"))
    } else {
        argument
    }
}

/// Options for outputs and for questions to a running bottleneck.
#[derive(Args, Debug)]
pub(crate) struct WatchOptions {
    /// Write the final statistics as JSON to a file, or to standard output (-).
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) json: Option<PathBuf>,
    /// Record arrivals and fates for `goodqueue replay`: FILE.jsonl stands for FILE.down.jsonl and
    /// FILE.up.jsonl.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) record: Option<PathBuf>,
    /// Write all packets and their fates as pcapng, for Wireshark.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) pcap: Option<PathBuf>,
    /// Create a socket for `goodqueue top`, `goodqueue stats` and changes. Only the same user can
    /// connect.
    #[arg(long, value_name = "SOCKET", help_heading = "While it runs")]
    pub(crate) control: Option<PathBuf>,
    /// Serve metrics for Prometheus at an address (`127.0.0.1:9817`) or a socket
    /// (`/run/goodqueue.metrics`, for the same user only).
    #[arg(long, value_name = "ADDRESS", help_heading = "While it runs")]
    pub(crate) metrics: Option<String>,
    /// Print no messages to standard error.
    #[arg(long)]
    pub(crate) quiet: bool,
}

pub(crate) fn main(args: &ShellArgs, extensions: &Extensions) -> Outcome {
    if args.watch.quiet {
        messages::be_quiet();
    }
    if args.check {
        return check::main(args.watch.json.as_deref(), args.nat);
    }
    // With --nat, root has a purpose: the host gets an interface and firewall rules.
    live::refuse_needless_root(args.allow_root || args.nat, "goodqueue shell")?;
    let document = document(args, extensions)?;
    let scenario = resolve(args, &document, extensions)?;
    // There is one bottleneck, so only the first discipline of a scenario is used.
    let Some(choice) = scenario.qdiscs.first() else {
        return Err(Diagnostic::new("the scenario has no discipline").help("give one with --qdisc"));
    };
    let mut bottleneck = bottleneck::from_scenario(&scenario, choice, args.seed);
    // The default scenario's rates are not used, because without options the link has no limit.
    let said = args.scenario.is_some() || args.set.iter().any(|key| key.starts_with("link."));
    if !said {
        let unlimited = |given: &[&Option<String>]| given.iter().all(|option| option.is_none());
        if unlimited(&[&args.line.rate, &args.trace_down]) {
            bottleneck.links[0].capacity = Capacity::UNLIMITED;
        }
        // Without --up, --rate is that of both directions.
        if unlimited(&[&args.line.up, &args.trace_up, &args.line.rate]) {
            bottleneck.links[1].capacity = Capacity::UNLIMITED;
        }
    }
    let of_links = [("--loss-down", &args.loss_down), ("--loss-up", &args.loss_up)];
    for (link, (option, own)) in bottleneck.links.iter_mut().zip(of_links) {
        let given = own.as_ref().map(|own| (option, own));
        if let Some((option, loss)) = given.or_else(|| Some(("--loss", args.loss.as_ref()?))) {
            link.path = Some(lossy(option, loss)?);
        }
    }
    let conditions = conditions(&args.fail_if)?;
    args.watch.check(&document.inputs())?;
    // The sockets of --metrics belong to the host's network, so they are bound before the
    // namespaces are entered.
    let metrics = args.watch.metrics_listener()?;
    let config = ShellConfig {
        bottleneck,
        ends: default_ends(scenario.link.mtu),
        command: if args.command.is_empty() {
            vec![std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())]
        } else {
            args.command.clone()
        },
        server: match &args.serve {
            Some(command) => Server::Command(command.clone()),
            None if args.nat => Server::Host { undo_file: args.undo_file.clone() },
            None => Server::BuiltIn,
        },
    };
    let mut shell = Shell::start(&config).map_err(diagnostic)?;
    let mut request_handler = RequestHandler::new(ErrorWriter::tell(args.watch.quiet));
    let (_control, _) = args.watch.begin(
        &mut shell.bottleneck,
        &config.bottleneck.links,
        metrics,
        &mut request_handler,
        extensions.disciplines(),
    )?;
    let ended = shell.run(&mut request_handler).map_err(diagnostic);
    // Waits for its messages, which must come before the summary.
    drop(request_handler);
    // The summary and the files are completed after a failure, too.
    let files = args.watch.end(&mut shell.bottleneck);
    let code = ended?;
    if code == 0 {
        files?;
    } else if let Err(error) = files {
        messages::error(&error);
    }
    if code != 0 || conditions.is_empty() {
        // An exit code has 8 bits. A code beyond them must not become a success.
        return Ok(Ending::Program(u8::try_from(code).unwrap_or(1)));
    }
    Ok(judge(&conditions, &choice.label, &mut shell.bottleneck))
}

/// Reads conditions on what a live bottleneck measures.
fn conditions(texts: &[String]) -> Result<Vec<Condition>, Diagnostic> {
    let conditions = judgement::conditions(texts)?;
    let is_measured = |key: &str| {
        let of_link = ["bottleneck.down.", "bottleneck.up."].iter().find_map(|link| key.strip_prefix(link));
        of_link.is_some_and(|rest| MEASURED.iter().any(|of| rest.starts_with(of)))
    };
    for (condition, text) in conditions.iter().zip(texts) {
        if !is_measured(condition.key()) {
            return Err(Diagnostic::new(format!("`goodqueue shell` does not measure `{}`", condition.key()))
                .allowed(
                    "sojourn_s.p50, .p95 and .p99, packets.dropped and packets.marked of bottleneck.down and \
                     bottleneck.up",
                )
                .help("`goodqueue compare --live` measures pings and goodput, with traffic of its own")
                .in_argument("--fail-if", text));
        }
    }
    Ok(conditions)
}

/// Checks the conditions on a bottleneck that carries no packets any more.
fn judge(conditions: &[Condition], label: &str, bottleneck: &mut Bottleneck) -> Ending {
    let now = bottleneck.now();
    let mut run = Run { qdisc: label.to_owned(), ..Run::default() };
    run.bottleneck.down = statistics::link_result(bottleneck.link(Direction::Down), now);
    run.bottleneck.up = statistics::link_result(bottleneck.link(Direction::Up), now);
    let dropped = bottleneck.kernel_counters().iter().flatten().map(|side| side.dropped).sum();
    let disturbed = statistics::too_busy(bottleneck.counters().latest, dropped);
    judgement::judge_live(conditions, &[run], disturbed.as_deref())
}

/// Returns the path that loses packets as this option says.
fn lossy(option: &str, loss: &str) -> Result<AnyConfig, Diagnostic> {
    // netem holds 1000 packets by default. The path may lose packets by the model only, and not for
    // lack of room.
    tc::parse(&format!("netem limit 1000000 loss {loss}"), &goodqueue::config::Link::default())
        .map_err(|error| Diagnostic::new(error.problem()).in_argument(option, loss))
}

fn document(args: &ShellArgs, extensions: &Extensions) -> Result<Document, Diagnostic> {
    let document = match &args.scenario {
        Some(name) => library::load(name)?,
        None => Document::default(),
    };
    let mut document = document.with_extensions(extensions.clone());
    if args.scenario.is_none() {
        // The default scenario has a delay and several disciplines, for a comparison.
        document.set("the default", "link.rtt", "0s")?;
        document.set("the default", "qdiscs", DEFAULT_QDISC)?;
    }
    document.apply(&Overrides {
        rtt: args.rtt.clone(),
        trace_down: args.trace_down.clone(),
        trace_up: args.trace_up.clone(),
        set: args.set.clone(),
        ..args.line.overrides()
    })?;
    let sweep = Sweep::new(&document, &Names::default())?;
    let swept: Vec<String> = sweep.values().keys().map(|key| format!("`{key}`")).collect();
    if !swept.is_empty() {
        let remark = Diagnostic::new(format!("the sweep over {} has no effect here", swept.join(", ")));
        messages::remark(&remark.help("choose values with --set, as in `--set link.up=1mbit`"));
    }
    Ok(document)
}

fn resolve(args: &ShellArgs, document: &Document, extensions: &Extensions) -> Result<Scenario, Diagnostic> {
    let mut scenario = document.resolve(&Names::default())?;
    document.remarks().iter().for_each(messages::remark);
    let qdisc_up = args.line.discipline_up(extensions.disciplines())?;
    if let (Some(qdisc), Some(choice)) = (qdisc_up, scenario.qdiscs.first_mut()) {
        choice.up.config = qdisc;
    }
    Ok(scenario)
}

impl WatchOptions {
    /// Checks before any work that all outputs can be written, and that none of them is one of
    /// `inputs`.
    pub(crate) fn check(&self, inputs: &[PathBuf]) -> Result<(), Diagnostic> {
        let mut outputs = Outputs::default();
        inputs.iter().try_for_each(|input| outputs.read(input))?;
        if let Some(json) = &self.json {
            outputs.add("--json", json)?;
        }
        let records = self.record.iter().flat_map(|record| {
            Direction::BOTH.map(|direction| ("--record", with_direction(record, direction)))
        });
        for (argument, path) in self.pcap.iter().map(|pcap| ("--pcap", pcap.clone())).chain(records) {
            outputs.add(argument, &path)?;
            sink::check(&path).map_err(|error| diagnostic(error).in_argument(argument, ""))?;
        }
        let control = self.control.iter().map(|path| ("--control", path.as_path()));
        // An address of the network has no slash, and the path of a socket always has one.
        let metrics = self.metrics.iter().filter(|address| address.contains('/'));
        for (argument, path) in control.chain(metrics.map(|path| ("--metrics", Path::new(path)))) {
            socket::check(path, argument).map_err(|error| diagnostic(error).in_argument(argument, ""))?;
            // A socket that a killed process left behind will be replaced.
            if !path.exists() {
                outputs.reserve(argument, path)?;
            }
        }
        Ok(())
    }

    /// Listens at the address of --metrics.
    pub(crate) fn metrics_listener(&self) -> Result<Option<HttpListener>, Diagnostic> {
        let Some(address) = &self.metrics else { return Ok(None) };
        let listener = HttpListener::bind(address);
        listener.map(Some).map_err(|error| diagnostic(error).in_argument("--metrics", address))
    }

    /// Begins to record and to listen. Returns the sockets, which exist as long as the value is
    /// kept, and the clerk who answers there. Orders may name any of `disciplines`.
    pub(crate) fn begin(
        &self,
        bottleneck: &mut Bottleneck,
        links: &[goodqueue_live::link::LinkConfig; 2],
        metrics: Option<HttpListener>,
        request_handler: &mut RequestHandler,
        disciplines: &Disciplines,
    ) -> Result<(Control, OrderReader), Diagnostic> {
        if let Some(path) = &self.record {
            bottleneck.observers.push(Box::new(Recorder::create(path, links)?));
        }
        if let Some(path) = &self.pcap {
            let ethernet = bottleneck.is_ethernet();
            bottleneck.observers.push(Box::new(Capture::create(path, ethernet).map_err(diagnostic)?));
        }
        let (asker, requests) = mailbox().map_err(diagnostic)?;
        bottleneck.watch_requests(requests.bell()).map_err(diagnostic)?;
        request_handler.attend(requests);
        let order_reader = OrderReader::new(asker, disciplines.clone());
        let mut control = Control::default();
        if let Some(path) = &self.control {
            let order_reader = order_reader.clone();
            control
                .listen(path, Arc::new(move |line: &str| order_reader.answer(line)))
                .map_err(diagnostic)?;
            request_handler.watch_flows(bottleneck);
        }
        if let Some(listener) = metrics {
            let order_reader = order_reader.clone();
            control.serve_http(listener, move || order_reader.metrics()).map_err(diagnostic)?;
        }
        Ok((control, order_reader))
    }

    /// Writes the requested outputs, and prints a summary of two lines and a remark if packets were
    /// discarded.
    ///
    /// # Errors
    /// A file could not be written, or a recording ended too early.
    pub(crate) fn end(&self, bottleneck: &mut Bottleneck) -> Result<(), Diagnostic> {
        use goodqueue_live::observer::Observer;
        while let Some(trouble) = bottleneck.observers.trouble() {
            // The error below tells what `--quiet` hides here.
            if !self.quiet {
                say(format_args!("goodqueue: {trouble}"));
            }
        }
        let now = bottleneck.now();
        if !self.quiet {
            for direction in Direction::BOTH {
                let words = live::in_words(bottleneck.link(direction), direction.name(), now);
                say(format_args!("goodqueue: {words}"));
            }
            if let Some(words) = statistics::discarded(bottleneck) {
                say(format_args!("goodqueue: {words}"));
            }
        }
        if let Some(json) = &self.json {
            output::write_json("--json", json as &Path, &statistics::statistics(bottleneck))?;
        }
        bottleneck.observers.failure().map_or(Ok(()), |why| Err(Diagnostic::new(why)))
    }
}

/// Metrics of a link that a live bottleneck measures.
const MEASURED: [&str; 2] = ["sojourn_s.", "packets."];
