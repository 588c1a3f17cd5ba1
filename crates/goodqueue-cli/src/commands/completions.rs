//! `goodqueue completions`: what a shell needs to complete commands, options and values.

mod shells;
mod values;

use clap::{Args, Command};
use clap_complete::{Shell, generate};
use goodqueue_scenario::Extensions;
use goodqueue_tc::diagnostic::Diagnostic;

use super::{Ending, Outcome};
use crate::output;

/// Print the completions of commands, options and values for a shell.
///
/// Values are names: those of extensions, scenarios, links, metrics, TCP profiles, congestion
/// controls and everything else that the arguments of this program name.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue completions bash > ~/.local/share/bash-completion/completions/goodqueue
  goodqueue completions zsh > ~/.zfunc/_goodqueue              with ~/.zfunc in fpath
  goodqueue completions fish > ~/.config/fish/completions/goodqueue.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

pub(crate) fn main(args: &CompletionsArgs, command: Command, extensions: &Extensions) -> Outcome {
    output::print(&script(args.shell, command, extensions)?)?;
    Ok(Ending::Done)
}

fn script(shell: Shell, command: Command, extensions: &Extensions) -> Result<String, Diagnostic> {
    let mut command = values::with_values(command, extensions)?;
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    generate(shell, &mut command, &name, &mut script);
    Ok(shells::completed(shell, &name, &command, &String::from_utf8_lossy(&script)))
}
