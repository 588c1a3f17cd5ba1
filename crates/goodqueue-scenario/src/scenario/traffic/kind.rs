//! The trait of the kinds of traffic.

use goodqueue::{Direction, Duration};
use goodqueue_sim as sim;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::scenario::hops::Hop;
use crate::scenario::link::BottleneckLink;
use crate::scenario::names::Choices;
use crate::scenario::plain::{Whole, whole};
use crate::scenario::reader::Reader;
use crate::scenario::tcp::{Tcp, TcpDefaults};

/// One kind of traffic: its keys in a table of `[[flows]]`, and its configuration in the simulator.
pub(crate) trait Kind: Sized {
    /// The word for `kind`.
    const NAME: &'static str;

    /// Its flows are TCP connections: all keys of `[tcp]` may stand in the table too.
    const IS_OVER_TCP: bool = false;

    /// Packets go one way only: nothing answers.
    const IS_ONE_WAY: bool = false;

    /// Where its data goes if nothing is said.
    const DIRECTION: Direction = Direction::Down;

    /// Configuration of the simulator.
    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic>;

    /// Returns how the ends of its connections behave; `None` without TCP.
    fn tcp(&self) -> Option<&Tcp> {
        None
    }

    /// Returns the congestion control as the scenario names it, if the flows have one.
    fn congestion_control(&self) -> Option<&str> {
        self.tcp().map(|tcp| tcp.cc.as_str())
    }
}

/// The parts of a scenario that the keys of `[[flows]]` refer to.
#[derive(Clone, Copy)]
pub(crate) struct FlowContext<'a> {
    pub(crate) link: &'a BottleneckLink,
    pub(crate) tcp: &'a Tcp,
    pub(crate) hops: &'a [Hop],
    pub(crate) duration: Duration,
    pub(crate) names: &'a Choices<'a>,
}

impl FlowContext<'_> {
    /// The keys of `[tcp]` in `table`.
    pub(super) fn read_tcp(&self, table: &Reader<'_>) -> Result<Tcp, Diagnostic> {
        Tcp::read(table, &TcpDefaults { tcp: self.tcp, link: self.link, names: self.names })
    }
}

/// Flows of a scenario.
pub(crate) const MAX_FLOWS: u32 = 100_000;

/// Number of flows of a table.
pub(crate) const COUNT: Whole = whole(1..=MAX_FLOWS as u64);
