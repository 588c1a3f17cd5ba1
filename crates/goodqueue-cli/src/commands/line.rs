//! The line of a live bottleneck: options that `shape` and `shell` share.

use clap::Args;
use goodqueue::{AnyConfig, Disciplines};
use goodqueue_scenario::scenario::Overrides;
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;

use super::{remark_on, signed};

/// Rates and disciplines in both directions.
#[derive(Args, Debug)]
pub(crate) struct LineOptions {
    /// Rate towards the clients, such as 50mbit [default: no limit].
    #[arg(long, alias = "down", value_name = "RATE", allow_hyphen_values = true, value_parser = signed, help_heading = HEADING)]
    pub(super) rate: Option<String>,
    /// Rate from the clients, such as 10mbit [default: the value of --rate].
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = signed, help_heading = HEADING)]
    pub(super) up: Option<String>,
    /// Discipline in tc's grammar, such as 'codel target 10ms' [default: fq_codel, as systemd sets
    /// it].
    #[arg(long, value_name = "TC", help_heading = HEADING)]
    pub(super) qdisc: Option<String>,
    /// Discipline from the clients [default: the value of --qdisc].
    #[arg(long, value_name = "TC", help_heading = HEADING)]
    qdisc_up: Option<String>,
}

impl LineOptions {
    /// Returns the options for both directions as changes of a scenario.
    pub(super) fn overrides(&self) -> Overrides {
        Overrides {
            rate: self.rate.clone(),
            up: self.up.clone(),
            qdiscs: self.qdisc.iter().cloned().collect(),
            ..Overrides::default()
        }
    }

    /// Returns the discipline from the clients, if it has an option of its own, and prints the
    /// remarks on it. The line may name any of `disciplines`.
    pub(super) fn discipline_up(&self, disciplines: &Disciplines) -> Result<Option<AnyConfig>, Diagnostic> {
        remark_on("--qdisc-up", &self.qdisc_up, disciplines);
        let read = |line: &String| {
            tc::parse_among(disciplines, line, &goodqueue::config::Link::default(), None)
                .map_err(|error| error.in_argument("--qdisc-up", line))
        };
        self.qdisc_up.as_ref().map(read).transpose()
    }
}

/// The default queue discipline of most distributions: `net.core.default_qdisc` in systemd's
/// `sysctl.d/50-default.conf`.
pub(super) const DEFAULT_QDISC: &str = "fq_codel";
/// Heading in the help. `next_help_heading` would also move the options after these.
const HEADING: &str = "Line and disciplines";
