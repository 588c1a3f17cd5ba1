//! The trait of the kinds of traffic.

use goodqueue::{Direction, Duration};
use goodqueue_sim as sim;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::Value;

use crate::scenario::hops::Hop;
use crate::scenario::link::BottleneckLink;
use crate::scenario::names::Choices;
use crate::scenario::reader::Reader;
use crate::scenario::tcp::{Tcp, read_tcp};

/// One kind of traffic: its keys in a table of `[[flows]]`, and its configuration in the simulator.
pub(crate) trait Kind: Sized {
    /// The word for `kind`.
    const NAME: &'static str;

    /// Keys of this kind, in addition to the keys that all flows have.
    const KEYS: &'static [&'static str];

    /// Its flows are TCP connections: all keys of `[tcp]` may stand in the table too.
    const IS_OVER_TCP: bool = false;

    /// Packets go one way only: nothing answers.
    const IS_ONE_WAY: bool = false;

    /// Where its data goes if nothing is said.
    const DIRECTION: Direction = Direction::Down;

    /// Reads the keys. Absent keys get their defaults.
    fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<Self, Diagnostic>;

    /// Writes its keys, every default filled in.
    fn write(&self, flow: &mut Value);

    /// Configuration of the simulator.
    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic>;

    /// Returns how the ends of its connections behave; `None` without TCP.
    fn tcp(&self) -> Option<&Tcp> {
        None
    }
}

/// The parts of a scenario that the keys of `[[flows]]` refer to.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) link: &'a BottleneckLink,
    pub(crate) tcp: &'a Tcp,
    pub(crate) hops: &'a [Hop],
    pub(crate) duration: Duration,
    pub(crate) names: &'a Choices<'a>,
}

impl Surroundings<'_> {
    /// The keys of `[tcp]` in `table`.
    pub(super) fn read_tcp(&self, table: &Reader<'_>) -> Result<Tcp, Diagnostic> {
        read_tcp(table, self.tcp, self.link, self.names)
    }
}

/// Reads `count`, the number of flows of a table.
pub(crate) fn read_count(table: &Reader<'_>) -> Result<u32, Diagnostic> {
    table.small("count", 1, 1, MAX_FLOWS)
}

pub(crate) const MAX_FLOWS: u32 = 100_000;
