//! `kind = "tcp"`: a connection that carries data one way, so many bytes or without end.

use goodqueue_sim as sim;
use goodqueue_sim::traffic::TcpSettings;
use serde_json::{Value, json};

use super::{Kind, Surroundings};
use crate::diagnostic::Diagnostic;
use crate::scenario::Tcp;
use crate::scenario::reader::Reader;

/// A TCP transfer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpTransfer {
    /// How its ends behave.
    pub tcp: Tcp,
    /// Bytes to transfer; `None`: without end.
    pub size: Option<u64>,
}

impl Kind for TcpTransfer {
    const NAME: &'static str = "tcp";
    const KEYS: &'static [&'static str] = &["size"];
    const IS_OVER_TCP: bool = true;

    fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<Self, Diagnostic> {
        let size = table.size("size")?;
        if size == Some(0) {
            let message = Diagnostic::new("a transfer of 0 bytes is not possible");
            return Err(table.error("size", message.help("leave `size` out for a transfer without end")));
        }
        Ok(Self { tcp: around.read_tcp(table)?, size })
    }

    fn write(&self, flow: &mut Value) {
        if let Some(size) = self.size {
            flow["size"] = json!(size);
        }
        self.tcp.write(flow);
    }

    fn to_sim(&self, direction: sim::Direction) -> Result<sim::Traffic, Diagnostic> {
        let (config, congestion_control) = self.tcp.to_sim()?;
        Ok(sim::Traffic::Tcp(TcpSettings { direction, size: self.size, config, congestion_control }))
    }
}
