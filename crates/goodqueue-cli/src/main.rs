//! The `goodqueue` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use goodqueue::Disciplines;

fn main() -> ExitCode {
    goodqueue_cli::main_with(&Disciplines::new())
}
