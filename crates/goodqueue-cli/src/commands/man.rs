//! `goodqueue man`: the help of all commands as manual pages.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;
use goodqueue_scenario::files;
use goodqueue_tc::diagnostic::Diagnostic;

use super::{Ending, Outcome};
use crate::messages::note;
use crate::output;

/// Print the manual page, or write those of all commands to a folder.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  goodqueue man | man -l -
  goodqueue man --out ~/.local/share/man/man1      then: man goodqueue-compare")]
pub(crate) struct ManArgs {
    /// Folder for a page of each command; it is made if it is not there.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn main(args: &ManArgs, mut command: Command) -> Outcome {
    // Gives each command its whole name, such as `goodqueue-compare`.
    command.build();
    let Some(folder) = &args.out else {
        output::print(&String::from_utf8_lossy(&page(&command)?))?;
        return Ok(Ending::Done);
    };
    let name = folder.display().to_string();
    let unusable = |error: std::io::Error| {
        Diagnostic::new(format!("cannot make this folder: {error}")).in_argument("--out", &name)
    };
    files::make_folder(folder).map_err(unusable)?;
    let mut written = 0;
    for command in std::iter::once(&command).chain(command.get_subcommands()) {
        // `build` has added clap's own command `help`, which this program does not define.
        if command.get_name() == "help" {
            continue;
        }
        let man = Man::new(command.clone());
        let file = folder.join(man.get_filename());
        // The user typed the folder only. Somebody else may have put a symbolic link under the name
        // of a page.
        output::replace_file("--out", &file, &page(command)?)?;
        written += 1;
    }
    note(format_args!("{written} pages in {name}"));
    Ok(Ending::Done)
}

/// Returns the page of a command. Its examples keep their lines.
fn page(command: &Command) -> Result<Vec<u8>, Diagnostic> {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut page = Vec::new();
    // clap_mangen would write the examples as running text, and roff would join their lines.
    Man::new(command.clone().after_help(None::<&str>))
        .render(&mut page)
        .map_err(|error| Diagnostic::new(format!("cannot write the page: {error}")))?;
    if !after.is_empty() {
        page.extend(format!(".SH NOTES\n.nf\n{}\n.fi\n", literal(&after)).into_bytes());
    }
    Ok(page)
}

/// Returns lines of text as roff that prints them as they are.
fn literal(text: &str) -> String {
    // roff prints a plain `-` as a hyphen and a plain `'` as a quotation mark, which a shell would
    // not understand.
    let escaped = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    // A point at the beginning of a line would make it a request.
    escaped.lines().map(|line| format!("\\&{line}")).collect::<Vec<_>>().join("\n")
}
