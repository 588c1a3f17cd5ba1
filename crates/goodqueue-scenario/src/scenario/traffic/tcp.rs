//! `kind = "tcp"`: a connection with data in one direction, of a given size or unlimited.

use goodqueue::Direction;
use goodqueue_sim as sim;
use goodqueue_sim::traffic::TcpSettings;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tcp::Config;

use super::kind::{COUNT, FlowContext, Kind};
use crate::scenario::form::{Form, Maybe, Unless};
use crate::scenario::keys::keys;
use crate::scenario::plain::{Flag, SIZE};
use crate::scenario::reader::Reader;
use crate::scenario::tcp::Tcp;

keys! {
    /// A connection with data in one direction.
    pub struct TcpTransfer(table, around: &FlowContext<'_>) {
        /// Bytes to transfer. Default: unlimited.
        size: Option<u64> = "360kb", Maybe(SIZE) => none;
        /// The first queue is on the sender's host, which tells TCP at once about drops (Linux).
        local_congestion: bool = false, Unless(false, Flag);
        /// Measure the delivery rate that Linux would show (`ss`, `tcpi_delivery_rate`): the result
        /// `delivery_rate_bps`, a mean over time.
        delivery_rate: bool = false, Unless(false, Flag);
    }
    also {
        /// Instead of `size`: bytes of all flows of the table together, in equal parts. Default:
        /// none.
        total: Option<u64> = "360kb", Maybe(SIZE) => none;
    }
    with {
        /// How its ends behave.
        tcp: Tcp;
    }
    then {
        check_size(table, "size", size)?;
        check_size(table, "total", total)?;
        if size.is_some() && total.is_some() {
            let message = Diagnostic::new("the size of a flow is given already");
            return Err(table.error("total", message.help("give either `size` or `total`")));
        }
        // `count` is a key of all flows, which its own table reads later.
        let count: u64 = COUNT.given(table, "count")?.unwrap_or(1);
        // Rounded up, so that no byte of the total is missing.
        let size = total.map(|total| total.div_ceil(count)).or(size);
        let tcp = around.read_tcp(table)?;
    }
}

fn check_size(table: &Reader<'_>, key: &str, size: Option<u64>) -> Result<(), Diagnostic> {
    if size != Some(0) {
        return Ok(());
    }
    let message = Diagnostic::new("a transfer of 0 bytes is not possible");
    Err(table.error(key, message.help(format!("leave `{key}` out for one without end"))))
}

impl Kind for TcpTransfer {
    const NAME: &'static str = "tcp";
    const IS_OVER_TCP: bool = true;

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let (config, congestion_control) = self.tcp.to_sim()?;
        let config = Config { reports_rate: self.delivery_rate, ..config };
        Ok(sim::Traffic::Tcp(TcpSettings {
            direction,
            size: self.size,
            config: config.into(),
            congestion_control,
            local_congestion: self.local_congestion,
        }))
    }

    fn tcp(&self) -> Option<&Tcp> {
        Some(&self.tcp)
    }
}
