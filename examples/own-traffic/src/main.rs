//! `goodqueue` with one more congestion controller, `aimd`, and one more kind of traffic, `pulse`.

use std::process::ExitCode;

use goodqueue_cli::Extensions;
use own_traffic::{Aimd, Pulse};

fn main() -> ExitCode {
    goodqueue_cli::main_with(&Extensions::new().with_controller::<Aimd>().with_source::<Pulse>())
}
