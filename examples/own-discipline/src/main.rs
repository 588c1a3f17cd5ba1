//! `goodqueue` with one more discipline: `ramp`, an AQM of 60 lines.

use std::process::ExitCode;

use goodqueue::Disciplines;
use own_discipline::Ramp;

fn main() -> ExitCode {
    goodqueue_cli::main_with(&Disciplines::new().with_aqm::<Ramp>())
}
