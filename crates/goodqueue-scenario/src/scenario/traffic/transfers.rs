//! `kind = "transfers"`: a user who fetches or sends something, thinks, and does it again.

use goodqueue::{Direction, Duration};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::{Habits, TransfersSettings};
use goodqueue_tc::diagnostic::Diagnostic;

use super::kind::{FlowContext, Kind};
use crate::scenario::drawn::{Drawn, Random};
use crate::scenario::form::Maybe;
use crate::scenario::keys::keys;
use crate::scenario::plain::{Flag, Size, Whole, size, whole};
use crate::scenario::reader::Reader;
use crate::scenario::tcp::Tcp;

keys! {
    /// Over TCP: a user who fetches ("down") or sends ("up") data, thinks, and starts again.
    pub struct Transfers(table, around: &FlowContext<'_>) {
        /// Bytes of each transfer; may be random.
        size: Drawn<u64> = "20kb", Random => required("a flow of kind transfers needs a size");
        /// Time from the end of a transfer to the next one; may be random.
        think: Drawn<Duration> = "5s", Random => required("a flow of kind transfers needs a think time");
        /// Bytes of the request before each fetch; only for "down".
        request: u64 = 300, REQUEST;
        /// Use one connection for all transfers instead of one for each.
        persistent: bool = false, Flag;
        /// Number of transfers. Default: until the run ends.
        transfers: Option<u64> = 10, Maybe(COUNT) => none;
    }
    with {
        /// How the ends of the connections behave.
        tcp: Tcp;
    }
    then {
        check_size(table, &size)?;
        let tcp = around.read_tcp(table)?;
    }
}

impl Kind for Transfers {
    const NAME: &'static str = "transfers";
    const IS_OVER_TCP: bool = true;

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let (config, congestion_control) = self.tcp.to_sim()?;
        Ok(sim::Traffic::Transfers(TransfersSettings {
            direction,
            habits: Habits {
                size: self.size.to_sim(),
                think: self.think.to_sim(),
                persistent: self.persistent,
                count: self.transfers,
            },
            request: self.request,
            config,
            congestion_control,
        }))
    }

    fn tcp(&self) -> Option<&Tcp> {
        Some(&self.tcp)
    }
}

/// Refuses transfers that are always empty.
pub(super) fn check_size(table: &Reader<'_>, size: &Drawn<u64>) -> Result<(), Diagnostic> {
    if size.is_always_zero() {
        let message = Diagnostic::new("transfers of 0 bytes are not possible");
        return Err(table.error("size", message.allowed("above 0")));
    }
    Ok(())
}

/// Number of transfers.
pub(super) const COUNT: Whole = whole(1..=u32::MAX as u64);

/// Bytes of a request for something on the web. Some hundreds of bytes are usual: half of the
/// requests in the PackMime model are below 422.
pub(super) const REQUEST: Size = size("a request of {} bytes is not possible", 1..=1 << 20);
