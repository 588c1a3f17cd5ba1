//! `kind = "tcp"`: a connection with data in one direction, of a given size or unlimited.

use goodqueue::Direction;
use goodqueue_sim as sim;
use goodqueue_sim::traffic::TcpSettings;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::kind::{Kind, Surroundings, read_count};
use crate::scenario::reader::Reader;
use crate::scenario::tcp::Tcp;

/// A TCP transfer.
#[derive(Clone, PartialEq, Debug)]
pub struct TcpTransfer {
    /// How its ends behave.
    pub tcp: Tcp,
    /// Bytes to transfer; `None`: without end.
    pub size: Option<u64>,
    /// The first queue is on the sender's own host, which tells TCP about drops.
    pub local_congestion: bool,
}

impl Kind for TcpTransfer {
    const NAME: &'static str = "tcp";
    const KEYS: &'static [&'static str] = &["size", "total", "local_congestion"];
    const IS_OVER_TCP: bool = true;

    fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<Self, Diagnostic> {
        let (size, total) = (table.size("size")?, table.size("total")?);
        for (key, given) in [("size", size), ("total", total)] {
            if given == Some(0) {
                let message = Diagnostic::new("a transfer of 0 bytes is not possible");
                return Err(table.error(key, message.help(format!("leave `{key}` out for one without end"))));
            }
        }
        if size.is_some() && total.is_some() {
            let message = Diagnostic::new("the size of a flow is given already");
            return Err(table.error("total", message.help("give either `size` or `total`")));
        }
        let size = match total {
            Some(total) => Some(total.div_ceil(u64::from(read_count(table)?))),
            None => size,
        };
        let local_congestion = table.flag("local_congestion", false)?;
        Ok(Self { tcp: around.read_tcp(table)?, size, local_congestion })
    }

    fn write(&self, flow: &mut Value) {
        if let Some(size) = self.size {
            flow["size"] = json!(size);
        }
        if self.local_congestion {
            flow["local_congestion"] = json!(true);
        }
        self.tcp.write(flow);
    }

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let (config, congestion_control) = self.tcp.to_sim()?;
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
