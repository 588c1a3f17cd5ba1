//! `goodqueue` with one more discipline: `ramp`, an AQM of 40 lines.

mod ramp;

use std::process::ExitCode;

use goodqueue::Disciplines;

fn main() -> ExitCode {
    goodqueue_cli::main_with(&Disciplines::new().with_aqm::<ramp::Ramp>())
}
