//! `goodqueue` with one more discipline: `ramp`, an AQM of 60 lines.

use std::process::ExitCode;

use goodqueue_cli::Extensions;
use own_discipline::Ramp;

fn main() -> ExitCode {
    goodqueue_cli::main_with(&Extensions::new().with_aqm::<Ramp>())
}
