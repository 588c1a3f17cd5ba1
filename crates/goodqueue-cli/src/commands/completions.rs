//! `goodqueue completions`: what a shell needs to complete commands and options.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::{Ending, Outcome};
use crate::output;

/// Print the completions of commands and options for a shell.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue completions bash > ~/.local/share/bash-completion/completions/goodqueue
  goodqueue completions zsh > ~/.zfunc/_goodqueue              with ~/.zfunc in fpath
  goodqueue completions fish > ~/.config/fish/completions/goodqueue.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

pub(crate) fn main(args: &CompletionsArgs, mut command: Command) -> Outcome {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    generate(args.shell, &mut command, name, &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Ending::Done)
}
