//! The `goodqueue` command, as a library: a program of your own is the same command with your
//! disciplines, congestion controllers, TCP stacks and traffic sources among the built-in ones.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use goodqueue_cli::Extensions;
//!
//! fn main() -> ExitCode {
//!     // .with_aqm::<MyAqm>() adds your own; see `Extensions` for all that can be added.
//!     goodqueue_cli::main_with(&Extensions::new())
//! }
//! ```
//!
//! Every command then takes your disciplines by their names in `tc` lines, also inside other
//! disciplines, in scenario files and in sweeps: `my-program compare --qdisc my_aqm --qdisc codel`.
//! Your congestion controllers, TCP stacks and traffic sources are values of `cc`, `profile` and
//! `kind`: `my-program compare --set tcp.cc=my_controller`. `examples/own-discipline` and
//! `examples/own-traffic` in the repository are such programs.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

/// A part of the help that only a program with the papers has.
#[cfg(feature = "papers")]
macro_rules! only_with_papers {
    ($text:literal) => {
        $text
    };
}
#[cfg(not(feature = "papers"))]
macro_rules! only_with_papers {
    ($text:literal) => {
        ""
    };
}

#[cfg(feature = "papers")]
mod claims;
#[cfg(feature = "papers")]
mod columns;
mod commands;
#[cfg(target_os = "linux")]
mod error_writer;
#[cfg(target_os = "linux")]
mod live;
mod messages;
mod output;
#[cfg(feature = "papers")]
mod papers;
mod playground;
mod progress;
mod search_progress;
pub mod stores;
mod typed;
mod usage;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use goodqueue_scenario::Extensions;

use crate::commands::{
    Ending, advise, compare, completions, explain, list, man, new_aqm, replay, run, schema,
};
#[cfg(feature = "papers")]
use crate::commands::{reproduce, validate};
#[cfg(target_os = "linux")]
use crate::commands::{shape, shell, stats, top};

/// Compare queue disciplines on your link with your traffic.
///
/// goodqueue simulates one bottleneck with one traffic mix under several queue disciplines, packet
/// by packet. It shows latency, throughput, loss and fairness side by side. Disciplines are given
/// in tc's grammar, so you can paste a line from your router.
#[derive(Parser, Debug)]
#[command(name = "goodqueue", version, propagate_version = true, max_term_width = 110)]
#[command(after_help = concat!(
    "Examples:
  goodqueue advise 40mbit/10mbit --link dsl                what to set on your router
  goodqueue compare                                        RRUL load on a 10/1 Mbit/s line (default)
  goodqueue compare --rate 100mbit --up 20mbit --rtt 20ms  your own line
  goodqueue compare --qdisc 'fq_codel target 13ms' --qdisc 'pfifo limit 100'
  goodqueue compare --trace-down lte.down --report lte.html
  goodqueue run codel-dynamic-link                         a built-in scenario
",
    only_with_papers!("  goodqueue reproduce jk                                   the claims of a paper
"),
    "  goodqueue list qdiscs                                    the disciplines
  goodqueue list qdiscs codel                              the parameters of one
  goodqueue explain codel                                  the documentation of a discipline

Exit codes: 0 success, 1 a check failed, 2 invalid usage or input, 3 the machine was too busy for a live test, 130 interrupted (128 plus the number of the signal)."
))]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Advise(advise::AdviseArgs),
    Compare(compare::CompareArgs),
    Run(run::RunArgs),
    #[cfg(feature = "papers")]
    Reproduce(reproduce::ReproduceArgs),
    Replay(replay::ReplayArgs),
    #[cfg(feature = "papers")]
    Validate(validate::ValidateArgs),
    List(list::ListArgs),
    Explain(explain::ExplainArgs),
    Schema(schema::SchemaArgs),
    #[cfg(target_os = "linux")]
    Shell(shell::ShellArgs),
    #[cfg(target_os = "linux")]
    Shape(shape::ShapeArgs),
    #[cfg(target_os = "linux")]
    Stats(stats::StatsArgs),
    #[cfg(target_os = "linux")]
    Top(top::TopArgs),
    NewAqm(new_aqm::NewAqmArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Returns the description of all commands and their arguments, for programs that check or document
/// them.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command with the arguments of this process and returns its exit code. Lines and
/// scenarios may name all of `extensions`.
#[must_use]
pub fn main_with(extensions: &Extensions) -> ExitCode {
    ExitCode::from(run_with(extensions, std::env::args_os()))
}

/// Runs the command with these arguments, the name of the program first, and returns its exit code:
/// for programs in which another language has started the process.
#[must_use]
pub fn run_with(extensions: &Extensions, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let command = usage::with_whole_examples(Cli::command());
    // Parsing consumes the command, and an error needs it for the names that it suggests.
    let parsed = command.clone().try_get_matches_from(&arguments);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(instead) => return usage::tell(&instead, &command, &arguments),
    };
    typed::keep(arguments);
    let disciplines = extensions.disciplines();
    let outcome = match &cli.command {
        Command::Advise(args) => advise::main(args),
        Command::Compare(args) => compare::main(args, extensions),
        Command::Run(args) => run::main(args, extensions),
        #[cfg(feature = "papers")]
        Command::Reproduce(args) => reproduce::main(args, disciplines),
        Command::Replay(args) => replay::main(args, disciplines),
        #[cfg(feature = "papers")]
        Command::Validate(args) => validate::main(args),
        Command::List(args) => list::main(args, extensions),
        Command::Explain(args) => explain::main(args, disciplines),
        Command::Schema(args) => schema::main(args),
        #[cfg(target_os = "linux")]
        Command::Shell(args) => shell::main(args, extensions),
        #[cfg(target_os = "linux")]
        Command::Shape(args) => shape::main(args, extensions),
        #[cfg(target_os = "linux")]
        Command::Stats(args) => stats::main(args),
        #[cfg(target_os = "linux")]
        Command::Top(args) => top::main(args),
        Command::NewAqm(args) => new_aqm::main(args, disciplines),
        Command::Completions(args) => completions::main(args, Cli::command(), extensions),
        Command::Man(args) => man::main(args, Cli::command()),
    };
    match outcome {
        Ok(Ending::Done) => 0,
        Ok(Ending::CheckFailed) => 1,
        #[cfg(target_os = "linux")]
        Ok(Ending::TooBusy) => 3,
        Ok(Ending::Interrupted) => progress::interrupted_code(),
        #[cfg(target_os = "linux")]
        Ok(Ending::Program(code)) => code,
        Err(diagnostic) => {
            messages::error(&diagnostic);
            2
        }
    }
}
