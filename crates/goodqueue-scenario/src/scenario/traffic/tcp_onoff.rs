//! `kind = "tcp_onoff"`: a TCP sender that has data without end for some time, and none for some
//! time.

use goodqueue::{Direction, Duration};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::TcpOnOffSettings;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::kind::{Kind, Surroundings};
use crate::scenario::drawn::Drawn;
use crate::scenario::reader::Reader;
use crate::scenario::tcp::Tcp;

/// A TCP sender that is silent at times.
#[derive(Clone, PartialEq, Debug)]
pub struct TcpOnOff {
    /// How the ends behave.
    pub tcp: Tcp,
    /// Time with data.
    pub on: Drawn<Duration>,
    /// Time without.
    pub off: Drawn<Duration>,
    /// All data uses one connection.
    pub persistent: bool,
}

impl Kind for TcpOnOff {
    const NAME: &'static str = "tcp_onoff";
    const KEYS: &'static [&'static str] = &["on", "off", "persistent"];
    const IS_OVER_TCP: bool = true;

    fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<Self, Diagnostic> {
        let missing = |key: &str| {
            let message = Diagnostic::new("a flow of kind tcp_onoff needs two times");
            table.error(key, message.allowed(format!("such as {key} = {{ exponential = \"5s\" }}")))
        };
        let on = Drawn::read(table, "on")?.ok_or_else(|| missing("on"))?;
        if on.is_always_zero() {
            let message = Diagnostic::new("a time with data of 0s is not possible");
            return Err(table.error("on", message.allowed("above 0s")));
        }
        let off = Drawn::read(table, "off")?.ok_or_else(|| missing("off"))?;
        Ok(Self { on, off, persistent: table.flag("persistent", true)?, tcp: around.read_tcp(table)? })
    }

    fn write(&self, flow: &mut Value) {
        flow["on"] = self.on.to_json();
        flow["off"] = self.off.to_json();
        flow["persistent"] = json!(self.persistent);
        self.tcp.write(flow);
    }

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let (config, congestion_control) = self.tcp.to_sim()?;
        Ok(sim::Traffic::TcpOnOff(TcpOnOffSettings {
            direction,
            on: self.on.to_sim(),
            off: self.off.to_sim(),
            persistent: self.persistent,
            config,
            congestion_control,
        }))
    }

    fn tcp(&self) -> Option<&Tcp> {
        Some(&self.tcp)
    }
}
