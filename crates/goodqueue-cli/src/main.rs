//! The `goodqueue` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use goodqueue_cli::Extensions;

fn main() -> ExitCode {
    goodqueue_cli::main_with(&Extensions::new())
}
