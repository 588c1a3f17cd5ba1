//! `goodqueue shape`: a bottleneck between two interfaces of this host.

use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};

use clap::Args;
use goodqueue_link::capacity::Capacity;
use goodqueue_live::orders;
use goodqueue_live::shape::{Place, Shape, TakeOverOf};
use goodqueue_live::undo;
use goodqueue_live_runs::bottleneck;
use goodqueue_live_runs::order_reader::OrderReader;
use goodqueue_live_runs::request_handler::RequestHandler;
use goodqueue_scenario::Extensions;
use goodqueue_scenario::request::Request;
use goodqueue_scenario::scenario::Names;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;

use super::line::{DEFAULT_QDISC, LineOptions};
use super::shell::WatchOptions;
use super::{Ending, Outcome, remark_on};
use crate::error_writer::ErrorWriter;
use crate::live::diagnostic;
use crate::messages::{self, say, say_lines};
use crate::output;

/// Put a bottleneck between two interfaces of this host, for example on a router whose kernel has
/// no AQM.
///
/// Frames that arrive at one interface pass through the discipline and leave at the other. A rate
/// slightly below that of the line keeps the queue in this process. Everything ends with this
/// process, however it ends: without --take-over the host's addresses, routes and settings are not
/// touched, so nothing has to be undone. --take-over moves addresses and routes; it writes an undo
/// file first, and a second process restores everything when this one ends, even after `kill -9`.
/// Needs CAP_NET_ADMIN and CAP_NET_RAW, and gives them up once the interfaces are open.
#[derive(Args, Debug)]
#[command(
    after_help = "The host itself should have no address on the two interfaces, because it would answer or forward packets past the bottleneck. With --before, its address belongs on the new interface, to which --take-over moves it.

The file of --config has one change per line, such as `qdisc down fq_codel target 10ms` or `rate up 19mbit`. If a line is invalid, nothing is changed. Queued packets stay queued.

Examples:
  goodqueue shape --between lan0 wan0 --rate 95mbit --up 19mbit --control /run/gq.sock
  goodqueue top --control /run/gq.sock
  goodqueue stats --control /run/gq.sock qdisc down pie
  # this host's own traffic
  goodqueue shape --before wan0 --take-over --rate 50mbit --up 10mbit --metrics 127.0.0.1:9817
  # the same over ssh: undone unless it is confirmed in time
  goodqueue shape --before wan0 --take-over --rate 50mbit --control gq.sock --confirm-within 60s
  goodqueue stats --control gq.sock confirm
  # if both processes were killed
  goodqueue shape --undo /run/goodqueue-wan0.undo"
)]
pub(crate) struct ShapeArgs {
    /// Interface towards the clients, and interface towards the servers.
    #[arg(long, num_args = 2, value_names = ["CLIENTS", "SERVERS"], conflicts_with = "before", help_heading = "Interfaces")]
    between: Option<Vec<String>>,
    /// Interface towards the servers. A new interface is created for this host itself.
    #[arg(long, value_name = "SERVERS", help_heading = "Interfaces")]
    before: Option<String>,
    /// Name of the new interface.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "goodqueue0",
        requires = "before",
        help_heading = "Interfaces"
    )]
    made: String,
    /// Move the addresses and routes of SERVERS to the new interface, so that this host's own
    /// traffic passes through the bottleneck at once. Undone at the end, in whatever way this
    /// process ends.
    #[arg(long, requires = "before", help_heading = "Taking over an interface")]
    take_over: bool,
    /// With --take-over: end and undo it unless `goodqueue stats --control SOCKET confirm` is run
    /// within this time, such as 60s. Use it when you are logged in through that interface.
    #[arg(
        long,
        value_name = "TIME",
        requires = "take_over",
        // The confirmation arrives at the control socket.
        requires = "control",
        help_heading = "Taking over an interface"
    )]
    confirm_within: Option<String>,
    /// Undo file of --take-over, with the previous state of the host [default:
    /// /run/goodqueue-SERVERS.undo].
    #[arg(long, value_name = "FILE", requires = "take_over", help_heading = "Taking over an interface")]
    undo_file: Option<PathBuf>,
    /// Restore the host from an undo file, remove the file, and do nothing else. Needed only if
    /// both this process and its second process were killed.
    #[arg(long, value_name = "FILE", exclusive = true, help_heading = "Taking over an interface")]
    undo: Option<PathBuf>,
    #[command(flatten)]
    line: LineOptions,
    /// File with changes, read at the start and at each SIGHUP.
    #[arg(long, value_name = "FILE", help_heading = "Line and disciplines")]
    config: Option<PathBuf>,
    #[command(flatten)]
    watch: WatchOptions,
}

pub(crate) fn main(args: &ShapeArgs, extensions: &Extensions) -> Outcome {
    let disciplines = extensions.disciplines();
    if let Some(file) = &args.undo {
        let lines = undo::undo(file).map_err(diagnostic)?;
        output::print(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
        return Ok(Ending::Done);
    }
    let patience = match &args.confirm_within {
        Some(text) => Some(units::time(text).map_err(|error| error.in_argument("--confirm-within", text))?),
        None => None,
    };
    let mut options = args.line.overrides();
    // The real path has a delay of its own.
    options.rtt = Some("0s".to_owned());
    if options.qdiscs.is_empty() {
        options.qdiscs.push(DEFAULT_QDISC.to_owned());
    }
    let request = Request { options, ..Request::default() };
    let scenario = request.document(extensions)?.resolve(&Names::default())?;
    if args.watch.quiet {
        messages::be_quiet();
    }
    remark_on("--qdisc", &args.line.qdisc, disciplines);
    let mut config = bottleneck::from_scenario(&scenario, &scenario.qdiscs[0], SEED);
    // The rates of the default scenario do not count: without options the link has no limit.
    if args.line.rate.is_none() {
        config.links[0].capacity = Capacity::UNLIMITED;
        // With `--up` alone only the download has no limit.
        if args.line.up.is_none() {
            config.links[1].capacity = Capacity::UNLIMITED;
        }
    }
    if let Some(qdisc) = args.line.discipline_up(disciplines)? {
        config.links[1].qdisc = qdisc;
    }
    let place = match (&args.between, &args.before) {
        (Some(names), _) => Place::Between(names[0].clone(), names[1].clone()),
        (None, Some(interface)) => {
            let default = || undo::default_path(interface);
            let take_over = args
                .take_over
                .then(|| TakeOverOf { undo_file: args.undo_file.clone().unwrap_or_else(default) });
            Place::Before { interface: interface.clone(), made: args.made.clone(), take_over }
        }
        (None, None) => {
            return Err(Diagnostic::new("the interfaces are missing")
                .allowed("`--between CLIENTS SERVERS` for traffic between two interfaces, or `--before SERVERS` for this host's own traffic")
                .help("`goodqueue shape --help` has examples"));
        }
    };
    args.watch.check(args.config.as_slice())?;
    // An address that cannot be bound must be an error before the host is changed.
    let metrics = args.watch.metrics_listener()?;
    let mut shape = Shape::start(&place, &config).map_err(diagnostic)?;
    let mut request_handler = RequestHandler::new(ErrorWriter::tell(args.watch.quiet));
    if let Place::Before { interface, take_over: Some(TakeOverOf { undo_file }), .. } = &place
        && !args.watch.quiet
    {
        let file = undo_file.display();
        say(format_args!("goodqueue: the undo file for `{interface}` is {file}"));
    }
    request_handler.confirm_within(patience.map(|patience| shape.bottleneck.now() + patience));
    if let Some(path) = &args.config {
        // Read before the first packet, and not by the thread, so that an error here ends the
        // command.
        let rates = orders::rates_of(&shape.bottleneck);
        let (changes, remarks) = orders::read_changes(&rates, disciplines, path)?;
        remarks.iter().for_each(messages::remark);
        changes.into_iter().for_each(|change| change.make(&mut shape.bottleneck));
    }
    let (_control, order_reader) =
        args.watch.begin(&mut shape.bottleneck, &config.links, metrics, &mut request_handler, disciplines)?;
    let reload = args.config.as_ref().map(|path| reload(path.clone(), order_reader)).transpose()?;
    let ended = shape.run(&mut request_handler, &mut || {
        // A second SIGHUP while one waits asks for the same.
        let _ = reload.as_ref().map(|reload| reload.try_send(()));
    });
    // Waits for its messages, which must come before the summary.
    drop(request_handler);
    // The summary and the files are completed after a failure, too.
    args.watch.end(&mut shape.bottleneck)?;
    ended.map_err(diagnostic)?;
    Ok(Ending::Done)
}

/// Makes the changes of a file at each request, in its own thread, because the file may be slow to
/// read.
fn reload(path: PathBuf, order_reader: OrderReader) -> Result<SyncSender<()>, Diagnostic> {
    // A thread ends with its channel, so nobody has to join it.
    let (tell, told) = sync_channel(1);
    let work = move || {
        for () in told {
            match order_reader.change_all(&path) {
                Ok(remarks) => remarks.iter().for_each(messages::remark),
                Err(error) => say_lines(format_args!("goodqueue: nothing was changed: {error}")),
            }
        }
    };
    std::thread::Builder::new().name("config".to_owned()).spawn(work).map_err(|error| {
        Diagnostic::new(format!("a thread that reads --config cannot be started: {error}"))
    })?;
    Ok(tell)
}

/// Seed of random numbers. It need not be secret, because flows are hashed with a random key.
const SEED: u64 = 1;
