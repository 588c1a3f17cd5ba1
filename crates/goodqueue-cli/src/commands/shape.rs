//! `goodqueue shape`: a bottleneck between two interfaces of this host.

use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};

use clap::Args;
use goodqueue_live::capacity::Capacity;
use goodqueue_live::orders;
use goodqueue_live::shape::{Place, Shape, TakeOverOf};
use goodqueue_live::undo;
use goodqueue_scenario::scenario::{Document, Overrides};
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;

use super::run::scenario_names;
use super::shell::Watching;
use super::{Ending, Outcome, signed};
use crate::live::answers::Desk;
use crate::live::clerk::Clerk;
use crate::live::{self, diagnostic};
use crate::messages::say;
use crate::output;

/// Put a bottleneck between two interfaces of this host: for a box that should manage its queue although its kernel has no
/// AQM modules.
///
/// Frames that come in at one interface go out at the other, through the discipline; a rate slightly below that of the line
/// keeps the queue here. The host's addresses, routes and settings are not touched, so there is nothing to undo: everything
/// ends with this process, however it ends. Only --take-over moves addresses and routes; it writes an undo file first, and a
/// second process puts everything back when this one ends, be it killed. Needs CAP_NET_ADMIN and CAP_NET_RAW, which are given
/// up once the interfaces are open.
#[derive(Args, Debug)]
#[command(
    after_help = "The host itself should have no address on the two interfaces (or, with --before, have it on the one that is made, as --take-over sees to): it would answer, or forward, beside the bottleneck.

SIGHUP reads --config again: lines such as `qdisc down fq_codel target 10ms` and `rate up 19mbit`. A line that is wrong changes nothing. Packets that are queued stay queued.

Examples:
  goodqueue shape --between lan0 wan0 --rate 95mbit --up 19mbit --qdisc fq_codel --control /run/gq.sock
  goodqueue shape --before wan0 --take-over --rate 50mbit --up 10mbit --qdisc cake --metrics 127.0.0.1:9817
  goodqueue shape --before wan0 --take-over --rate 50mbit --control gq.sock --confirm-within 60s     over ssh: then confirm
  goodqueue stats --control gq.sock confirm
  goodqueue shape --undo /run/goodqueue-wan0.undo                 after both processes were killed
  goodqueue top --control /run/gq.sock
  goodqueue stats --control /run/gq.sock qdisc down pie"
)]
pub(crate) struct ShapeArgs {
    /// The interface of the clients and that of the servers.
    #[arg(long, num_args = 2, value_names = ["CLIENTS", "SERVERS"], conflicts_with = "before")]
    between: Option<Vec<String>>,
    /// The interface of the servers; one for this host is made.
    #[arg(long, value_name = "SERVERS")]
    before: Option<String>,
    /// The name of the interface that is made.
    #[arg(long, value_name = "NAME", default_value = "goodqueue0", requires = "before")]
    made: String,
    /// The interface that is made gets the addresses and routes of the other: this host's own traffic goes through the
    /// bottleneck at once. Undone at the end, however that comes about.
    #[arg(long, requires = "before")]
    take_over: bool,
    /// With --take-over: end, and undo it, unless `goodqueue stats --control SOCKET confirm` comes within this time. For
    /// those who are logged in through that interface.
    #[arg(long, value_name = "TIME", requires = "take_over", requires = "control")]
    confirm_within: Option<String>,
    /// Where --take-over writes down what it changes [default: /run/goodqueue-SERVERS.undo].
    #[arg(long, value_name = "FILE", requires = "take_over")]
    undo_file: Option<PathBuf>,
    /// Restore what an undo file says, remove it, and do nothing else: only needed when both this process and the one that
    /// watches it were killed.
    #[arg(long, value_name = "FILE", exclusive = true)]
    undo: Option<PathBuf>,
    /// Rate towards the clients [default: no limit].
    #[arg(long, alias = "down", value_name = "RATE", allow_hyphen_values = true, value_parser = signed)]
    rate: Option<String>,
    /// Rate from the clients [default: as --rate].
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = signed)]
    up: Option<String>,
    /// The discipline, in tc's grammar.
    #[arg(long, value_name = "TC", default_value = "fq_codel")]
    qdisc: String,
    /// The discipline from the clients [default: as --qdisc].
    #[arg(long, value_name = "TC")]
    qdisc_up: Option<String>,
    /// A file of changes, made at the start and again at SIGHUP.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    watch: Watching,
}

pub(crate) fn main(args: &ShapeArgs) -> Outcome {
    if let Some(file) = &args.undo {
        let lines = undo::undo(file).map_err(diagnostic)?;
        output::print(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
        return Ok(Ending::Done);
    }
    let patience = match &args.confirm_within {
        Some(text) => Some(units::time(text).map_err(|error| error.in_argument("--confirm-within", text))?),
        None => None,
    };
    let mut document = Document::default();
    document.apply(&Overrides {
        rate: args.rate.clone(),
        up: args.up.clone(),
        rtt: Some("0s".to_owned()),
        qdiscs: vec![args.qdisc.clone()],
        ..Overrides::default()
    })?;
    let scenario = document.resolve(&scenario_names())?;
    let mut config = live::bottleneck(&scenario, &scenario.qdiscs[0], SEED);
    if args.rate.is_none() {
        config.links[0].capacity = Capacity::Unlimited;
        if args.up.is_none() {
            config.links[1].capacity = Capacity::Unlimited;
        }
    }
    if let Some(line) = &args.qdisc_up {
        let link = goodqueue::config::Link::default();
        config.links[1].qdisc =
            tc::parse(line, &link).map_err(|error| error.in_argument("--qdisc-up", line))?;
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
            return Err(Diagnostic::new("it is not said what to shape")
                .allowed("`--between CLIENTS SERVERS`, two interfaces; or `--before SERVERS`, what this host itself sends there")
                .help("`goodqueue shape --help` has examples"));
        }
    };
    args.watch.check()?;
    let metrics = args.watch.metrics_listener()?;
    let mut shape = Shape::start(&place, &config).map_err(diagnostic)?;
    let mut desk = Desk::new(args.watch.quiet);
    if let Place::Before { interface, take_over: Some(TakeOverOf { undo_file }), .. } = &place
        && !args.watch.quiet
    {
        let file = undo_file.display();
        say(format_args!("goodqueue: what `{interface}` was like is written in {file}"));
    }
    desk.confirm_within(patience.map(|patience| shape.bottleneck.now() + patience));
    if let Some(path) = &args.config {
        let changes = orders::read_changes(&orders::rates_of(&shape.bottleneck), path)?;
        changes.into_iter().for_each(|change| change.make(&mut shape.bottleneck));
    }
    let (_control, clerk) = args.watch.begin(&mut shape.bottleneck, &config.links, metrics, &mut desk)?;
    let reload = args.config.as_ref().map(|path| reload(path.clone(), clerk)).transpose()?;
    let ended = shape.run(&mut desk, &mut || {
        // While one is waiting, a second SIGHUP asks for the same.
        let _ = reload.as_ref().map(|reload| reload.try_send(()));
    });
    // What it had to say comes before the summary.
    drop(desk);
    args.watch.end(&mut shape.bottleneck)?;
    ended.map_err(diagnostic)?;
    Ok(Ending::Done)
}

/// Makes the changes of a file whenever it is told to, in a thread of its own: the file may be slow to read.
fn reload(path: PathBuf, clerk: Clerk) -> Result<SyncSender<()>, Diagnostic> {
    let (tell, told) = sync_channel(1);
    let work = move || {
        for () in told {
            if let Err(error) = clerk.change_all(&path) {
                say(format_args!("goodqueue: nothing is changed: {error}"));
            }
        }
    };
    std::thread::Builder::new().name("config".to_owned()).spawn(work).map_err(|error| {
        Diagnostic::new(format!("a thread that reads --config cannot be started: {error}"))
    })?;
    Ok(tell)
}

/// Disciplines that draw random numbers draw the same each time: nothing depends on their secrecy (flows are hashed with a key).
const SEED: u64 = 1;
