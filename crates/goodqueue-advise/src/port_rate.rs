//! The rate of the ports of the router and of the hosts.

use goodqueue::Rate;

use crate::question::Question;

/// Returns the rate of the router's port towards the modem, and of the network interfaces of the
/// hosts. A sender without a rate of its own would overflow the router's queue in a burst that no
/// real host sends.
pub(crate) fn port_rate(question: &Question) -> &'static str {
    if question.rates.iter().any(|rate| *rate > FAST) { FASTER_PORT } else { PORT }
}

const PORT: &str = "1gbit";
const FASTER_PORT: &str = "10gbit";
/// A line that a port of 1 Gbit/s would limit.
const FAST: Rate = Rate::from_bps(900_000_000);
