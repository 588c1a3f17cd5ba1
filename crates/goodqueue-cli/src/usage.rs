//! Help and errors about the arguments. Errors have the form of all others: what is wrong, what is
//! allowed, what to do. Examples in the help are never wrapped, because they are copied.

use std::error::Error as _;
use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use goodqueue_tc::diagnostic::Diagnostic;

use crate::{messages, output};

/// Protects the examples of all commands from the wrapping of the help.
pub(crate) fn with_whole_examples(command: Command) -> Command {
    let command = match command.get_after_help().map(ToString::to_string) {
        Some(text) => command.after_help(text.lines().map(protected).collect::<Vec<_>>().join("\n")),
        None => command,
    };
    command.mut_subcommands(with_whole_examples)
}

/// Replaces the spaces of an indented line, which is an example, by ones at which nothing wraps.
fn protected(line: &str) -> String {
    if line.starts_with("  ") { line.replace(' ', HELD) } else { line.to_owned() }
}

/// Prints help and version to standard output, and errors in the arguments to standard error.
/// Returns the exit code.
pub(crate) fn tell(instead: &clap::Error, command: &Command, arguments: &[OsString]) -> u8 {
    if let Some(diagnostic) = refused(instead, command, arguments) {
        messages::error(&diagnostic);
        return 2;
    }
    let text = instead.render();
    let plain = text.to_string().replace(HELD, " ");
    let in_colour = text.ansi().to_string().replace(HELD, " ");
    if instead.use_stderr() {
        messages::say_lines(plain.trim_end());
    } else if let Err(diagnostic) = output::print_help(&plain, &in_colour) {
        messages::error(&diagnostic);
        return 2;
    }
    u8::try_from(instead.exit_code()).unwrap_or(2)
}

/// Returns an error of clap in our form; `None` for help, the version and what has no form of ours.
fn refused(error: &clap::Error, command: &Command, arguments: &[OsString]) -> Option<Diagnostic> {
    let texts = |kind: ContextKind| -> Vec<String> {
        match error.get(kind) {
            Some(ContextValue::String(one)) => vec![one.clone()],
            Some(ContextValue::Strings(many)) => many.clone(),
            _ => Vec::new(),
        }
    };
    let first = |kind: ContextKind| texts(kind).into_iter().next();
    let option = first(ContextKind::InvalidArg).unwrap_or_default();
    let name = name_of(&option);
    let value = first(ContextKind::InvalidValue).unwrap_or_default();
    let chosen = chosen(command, arguments);
    let asked =
        |diagnostic: Diagnostic| diagnostic.help(format!("`{chosen} --help` describes the arguments"));
    let named = |diagnostic: Diagnostic| diagnostic.in_argument(&name, &value);
    Some(match error.kind() {
        ErrorKind::UnknownArgument => {
            let problem = if name.starts_with('-') {
                format!("`{chosen}` has no option `{name}`")
            } else {
                format!("`{chosen}` takes no further argument, but there is `{name}`")
            };
            let unknown = Diagnostic::new(problem);
            match first(ContextKind::SuggestedArg) {
                Some(near) => unknown.help(format!("did you mean `{near}`?")),
                None => asked(unknown),
            }
        }
        ErrorKind::InvalidSubcommand => {
            let unknown = first(ContextKind::InvalidSubcommand).unwrap_or_default();
            if let Some(diagnostic) = left_out(&unknown) {
                return Some(diagnostic);
            }
            let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            Diagnostic::new(format!("there is no command `{unknown}`")).one_of(&unknown, &names)
        }
        // clap reports a missing value as an empty one.
        ErrorKind::InvalidValue if value.is_empty() => {
            named(Diagnostic::new("its value is missing").help(format!("give one, as in `{option}`")))
        }
        ErrorKind::InvalidValue => {
            // Without the papers, `list` has no value `papers`, and an error about a misspelt word
            // would mislead.
            if let Some(diagnostic) = left_out(&value).filter(|_| chosen.ends_with(" list")) {
                return Some(diagnostic);
            }
            let allowed = texts(ContextKind::ValidValue);
            let names: Vec<&str> = allowed.iter().map(String::as_str).collect();
            named(Diagnostic::new(format!("`{value}` is not one of its values")).one_of(&value, &names))
        }
        ErrorKind::ValueValidation => {
            let why = error.source().map_or_else(|| "it is not valid".to_owned(), ToString::to_string);
            // clap's words for a number out of range: `5 is not in 1..=3`.
            named(match why.split_once(" is not in ") {
                Some((_, range)) => Diagnostic::new(format!("`{value}` is out of range"))
                    .allowed(range.replace("..=", " to ")),
                None => Diagnostic::new(why),
            })
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = texts(ContextKind::InvalidArg).join(", ");
            asked(Diagnostic::new(format!("`{chosen}` needs {missing}")))
        }
        ErrorKind::ArgumentConflict => {
            let others: Vec<String> = texts(ContextKind::PriorArg);
            let others: Vec<String> = others.iter().map(|other| format!("`{}`", name_of(other))).collect();
            // clap reports an option that is given twice as a conflict with itself.
            let problem = if others.is_empty() || others == [format!("`{name}`")] {
                format!("`{name}` is given more than once")
            } else {
                format!("`{name}` cannot be used with {}", others.join(", "))
            };
            Diagnostic::new(problem).help("omit one of them")
        }
        _ => return None,
    })
}

/// Returns the name of an argument that clap shows with its value, as `--seeds <N>` or
/// `[PAPER or CLAIM-ID]`.
fn name_of(shown: &str) -> String {
    match shown.split_whitespace().next() {
        Some(option) if option.starts_with('-') => option.to_owned(),
        // A positional argument whose name lists its values.
        _ if shown.contains('|') => "argument".to_owned(),
        _ => shown.to_owned(),
    }
}

/// Says how to get a command or a list that this program was built without.
#[cfg(not(feature = "papers"))]
fn left_out(name: &str) -> Option<Diagnostic> {
    matches!(name, "reproduce" | "validate" | "papers" | "claims").then(|| {
        Diagnostic::new(format!(
            "this program was built without the papers, which `{name}` needs: `cargo install goodqueue-cli` installs \
             one with them"
        ))
    })
}

/// Says how to get a command or a list that this program was built without: it has all.
#[cfg(feature = "papers")]
const fn left_out(_: &str) -> Option<Diagnostic> {
    None
}

/// Returns the program and the command that the arguments name, such as `goodqueue compare`.
fn chosen(command: &Command, arguments: &[OsString]) -> String {
    let given = arguments.iter().skip(1).find_map(|argument| {
        let name = argument.to_str()?;
        command.get_subcommands().find(|known| known.get_name() == name)
    });
    match given {
        Some(subcommand) => format!("{} {}", command.get_name(), subcommand.get_name()),
        None => command.get_name().to_owned(),
    }
}

/// A space at which nothing wraps.
const HELD: &str = "\u{a0}";
