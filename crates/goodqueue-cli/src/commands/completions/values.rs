//! The values that shells complete.
//!
//! The command itself takes any text for these arguments, and its errors name what is allowed. Only
//! the copy of the command from which the scripts are generated lists the values.

use clap::Command;
use clap::builder::{PossibleValue, PossibleValuesParser};
use goodqueue::{Disciplines, registry};
use goodqueue_advise::{ALIASES, KINDS, routers};
#[cfg(feature = "papers")]
use goodqueue_papers::{reproduce, validate};
use goodqueue_scenario::Extensions;
use goodqueue_scenario::library::SCENARIOS;
use goodqueue_scenario::metrics;
use goodqueue_tc::diagnostic::Diagnostic;

/// What an argument names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Values {
    Qdiscs,
    /// Built-in scenarios, or files.
    Scenarios,
    #[cfg(feature = "papers")]
    Papers,
    Links,
    Routers,
    Metrics,
    /// Metrics and their short names, with which a condition begins.
    Conditions,
    /// Keys of a scenario whose values are names, with these values.
    Settings,
    /// Entries of `goodqueue list`.
    Listed,
    Pages,
    #[cfg(feature = "papers")]
    SetUps,
}

/// The arguments with values, by their commands.
const ARGUMENTS: &[(&str, &str, Values)] = &[
    ("advise", "link", Values::Links),
    ("advise", "only", Values::Routers),
    ("compare", "scenario", Values::Scenarios),
    ("compare", "qdiscs", Values::Qdiscs),
    ("compare", "qdiscs_up", Values::Qdiscs),
    ("compare", "set", Values::Settings),
    ("compare", "metric", Values::Metrics),
    ("compare", "fail_if", Values::Conditions),
    ("run", "scenarios", Values::Scenarios),
    ("run", "qdiscs", Values::Qdiscs),
    ("run", "qdiscs_up", Values::Qdiscs),
    ("run", "set", Values::Settings),
    ("run", "metric", Values::Metrics),
    ("run", "fail_if", Values::Conditions),
    #[cfg(feature = "papers")]
    ("reproduce", "what", Values::Papers),
    #[cfg(feature = "papers")]
    ("reproduce", "qdiscs", Values::Qdiscs),
    ("replay", "qdisc", Values::Qdiscs),
    #[cfg(feature = "papers")]
    ("validate", "set_up", Values::SetUps),
    ("list", "name", Values::Listed),
    ("explain", "name", Values::Pages),
    ("shell", "scenario", Values::Scenarios),
    ("shell", "qdisc", Values::Qdiscs),
    ("shell", "qdisc_up", Values::Qdiscs),
    ("shell", "set", Values::Settings),
    ("shell", "fail_if", Values::Conditions),
    ("shape", "qdisc", Values::Qdiscs),
    ("shape", "qdisc_up", Values::Qdiscs),
];

/// Stands for the names of files in a list of values. No file and no value is called so.
pub(super) const FILES: &str = "@files@";

/// Returns the command with the values of its arguments.
pub(super) fn with_values(mut command: Command, extensions: &Extensions) -> Result<Command, Diagnostic> {
    for &(subcommand, argument, values) in ARGUMENTS {
        // The live commands exist on Linux only.
        if command.find_subcommand(subcommand).is_none() {
            continue;
        }
        let names = values.names(extensions)?;
        let parser = PossibleValuesParser::new(names.into_iter().map(PossibleValue::new));
        command = command.mut_subcommand(subcommand, |command| {
            command.mut_arg(argument, |argument| argument.value_parser(parser))
        });
    }
    Ok(command)
}

impl Values {
    fn names(self, extensions: &Extensions) -> Result<Vec<String>, Diagnostic> {
        let disciplines = extensions.disciplines();
        let scenarios = || SCENARIOS.iter().map(|scenario| scenario.name.to_owned());
        let links = || KINDS.iter().map(|kind| kind.line.name.to_owned());
        Ok(match self {
            Self::Qdiscs => qdiscs(disciplines),
            Self::Scenarios => std::iter::once(FILES.to_owned()).chain(scenarios()).collect(),
            #[cfg(feature = "papers")]
            Self::Papers => reproduce::papers()?.iter().map(|paper| paper.name.clone()).collect(),
            Self::Links => {
                let aliases = ALIASES.iter().map(|(alias, _)| (*alias).to_owned());
                std::iter::once("dsl".to_owned()).chain(links()).chain(aliases).collect()
            }
            Self::Routers => routers().map(|(name, _)| name.to_owned()).collect(),
            Self::Metrics => metrics::keys(),
            Self::Conditions => {
                metrics::Condition::short_names().map(str::to_owned).chain(metrics::keys()).collect()
            }
            Self::Settings => settings(extensions),
            Self::Listed => {
                let tcps = extensions.controllers().map(str::to_owned).collect();
                let profiles = extensions.profiles().map(|profile| profile.name.to_owned()).collect();
                [qdiscs(disciplines), tcps, profiles, scenarios().collect(), links().collect()].concat()
            }
            Self::Pages => [qdiscs(disciplines), vec!["scenario".to_owned()]].concat(),
            #[cfg(feature = "papers")]
            Self::SetUps => validate::names()?,
        })
    }
}

fn qdiscs(disciplines: &Disciplines) -> Vec<String> {
    let presets = registry::PRESETS.iter().map(|preset| preset.name);
    disciplines.kinds().map(|kind| kind.name).chain(presets).map(str::to_owned).collect()
}

fn settings(extensions: &Extensions) -> Vec<String> {
    let profiles = extensions.profiles().map(|profile| format!("tcp.profile={}", profile.name));
    profiles.chain(extensions.controllers().map(|name| format!("tcp.cc={name}"))).collect()
}
