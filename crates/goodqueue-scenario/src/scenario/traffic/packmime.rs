//! `kind = "packmime"`: the web connections of many users, with a mean number of new connections
//! per second.

use goodqueue::Direction;
use goodqueue_sim as sim;
use goodqueue_sim::traffic::PackMimeSettings;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::kind::{Kind, Surroundings};
use crate::scenario::reader::Reader;
use crate::scenario::tcp::Tcp;

/// Web connections as PackMime-HTTP draws them.
#[derive(Clone, PartialEq, Debug)]
pub struct PackMime {
    /// How the ends of the connections behave.
    pub tcp: Tcp,
    /// New connections per second in the mean.
    pub connections: f64,
    /// HTTP/1.1: connections may carry several requests.
    pub persistent: bool,
    /// Connections open at a time, at most.
    pub max_open: u32,
}

impl Kind for PackMime {
    const NAME: &'static str = "packmime";
    const KEYS: &'static [&'static str] = &["connections", "persistent", "max_open"];
    const IS_OVER_TCP: bool = true;

    fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<Self, Diagnostic> {
        let allowed = format!("connections per second, {LEAST_RATE} to {MAX_RATE}");
        let Some(connections) = table.number("connections")? else {
            let message = Diagnostic::new("a flow of kind packmime needs a rate of connections");
            return Err(table.error("connections", message.allowed(allowed)));
        };
        if !(LEAST_RATE..=MAX_RATE).contains(&connections) {
            let message = Diagnostic::new(format!("{connections} connections per second are not possible"));
            return Err(table.error("connections", message.allowed(allowed)));
        }
        Ok(Self {
            connections,
            persistent: table.flag("persistent", true)?,
            max_open: table.small("max_open", DEFAULT_MAX_OPEN, 1, 100_000)?,
            tcp: around.read_tcp(table)?,
        })
    }

    fn write(&self, flow: &mut Value) {
        flow["connections"] = json!(self.connections);
        flow["persistent"] = json!(self.persistent);
        flow["max_open"] = json!(self.max_open);
        self.tcp.write(flow);
    }

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let (config, congestion_control) = self.tcp.to_sim()?;
        Ok(sim::Traffic::PackMime(PackMimeSettings {
            direction,
            rate: self.connections,
            persistent: self.persistent,
            max_open: usize::try_from(self.max_open).unwrap_or(usize::MAX),
            config,
            congestion_control,
        }))
    }

    fn tcp(&self) -> Option<&Tcp> {
        Some(&self.tcp)
    }
}

/// The parameters of the model are functions of the rate, fitted from 1 to some hundred connections
/// per second (Cao et al. 2004). At higher rates they approach a Poisson process.
const LEAST_RATE: f64 = 0.01;
const MAX_RATE: f64 = 100_000.0;
/// 5 kB each: a load far above the link's capacity stays at 50 MB.
const DEFAULT_MAX_OPEN: u32 = 10_000;
