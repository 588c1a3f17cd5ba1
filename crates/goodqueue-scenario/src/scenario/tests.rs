mod errors;
mod flows;
mod grants;
mod options;
mod path;
mod tcp;
mod whole;
mod wifi;

use std::path::Path;

use goodqueue::{Duration, Rate};
use goodqueue_sim::{Driver, Pause};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tcp::congestion::parameter::Value as ParameterValue;
use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<Scenario, Diagnostic> {
    Document::parse("load.toml", text, Path::new(""))?.resolve(&Names::default())
}

/// The message about `text`, to which a discipline is added so that no default is needed.
fn message(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

fn rate(bits: u64) -> LinkRate {
    LinkRate::Fixed(Rate::from_bps(bits))
}
