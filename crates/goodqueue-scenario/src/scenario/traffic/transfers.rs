//! `kind = "transfers"`: a user who fetches or sends something, thinks, and does it again.

use goodqueue::{Direction, Duration};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::TransfersSettings;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::kind::{Kind, Surroundings};
use crate::scenario::drawn::Drawn;
use crate::scenario::reader::Reader;
use crate::scenario::tcp::Tcp;

/// Sized transfers with think times between them.
#[derive(Clone, PartialEq, Debug)]
pub struct Transfers {
    /// How the ends of the connections behave.
    pub tcp: Tcp,
    /// Bytes of each transfer.
    pub size: Drawn<u64>,
    /// Time from the end of a transfer to the beginning of the next.
    pub think: Drawn<Duration>,
    /// Bytes of the request that a fetch sends first.
    pub request: u64,
    /// All transfers use one connection.
    pub persistent: bool,
    /// Transfers in all; `None`: as many as there is time for.
    pub transfers: Option<u64>,
}

impl Kind for Transfers {
    const NAME: &'static str = "transfers";
    const KEYS: &'static [&'static str] = &["size", "think", "request", "persistent", "transfers"];
    const IS_OVER_TCP: bool = true;

    fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<Self, Diagnostic> {
        let missing = |key: &str, what: &str, example: &str| {
            let message = Diagnostic::new(format!("a flow of kind transfers needs a {what}"));
            table.error(key, message.allowed(format!("such as {key} = {example}")))
        };
        let size = Drawn::read(table, "size")?.ok_or_else(|| missing("size", "size", "\"20kb\""))?;
        if size.is_always_zero() {
            let message = Diagnostic::new("transfers of 0 bytes are not possible");
            return Err(table.error("size", message.allowed("above 0")));
        }
        let think = Drawn::read(table, "think")?.ok_or_else(|| missing("think", "think time", "\"5s\""))?;
        let transfers = match table.node("transfers") {
            Some(_) => Some(table.integer("transfers", 1, 1, u64::from(u32::MAX))?),
            None => None,
        };
        Ok(Self {
            size,
            think,
            request: read_request(table)?,
            persistent: table.flag("persistent", false)?,
            transfers,
            tcp: around.read_tcp(table)?,
        })
    }

    fn write(&self, flow: &mut Value) {
        flow["size"] = self.size.to_json();
        flow["think"] = self.think.to_json();
        flow["request"] = json!(self.request);
        flow["persistent"] = json!(self.persistent);
        if let Some(transfers) = self.transfers {
            flow["transfers"] = json!(transfers);
        }
        self.tcp.write(flow);
    }

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let (config, congestion_control) = self.tcp.to_sim()?;
        Ok(sim::Traffic::Transfers(TransfersSettings {
            direction,
            size: self.size.to_sim(),
            think: self.think.to_sim(),
            request: self.request,
            persistent: self.persistent,
            count: self.transfers,
            config,
            congestion_control,
        }))
    }

    fn tcp(&self) -> Option<&Tcp> {
        Some(&self.tcp)
    }
}

/// `request`: bytes of a request for something on the web.
pub(super) fn read_request(table: &Reader<'_>) -> Result<u64, Diagnostic> {
    let request = table.size("request")?.unwrap_or(DEFAULT_REQUEST);
    if request == 0 || request > MAX_REQUEST {
        let message = Diagnostic::new(format!("a request of {request} bytes is not possible"));
        return Err(table.error("request", message.allowed(format!("1 to {MAX_REQUEST}"))));
    }
    Ok(request)
}

/// Some hundreds of bytes are usual on the web: half of the requests in the PackMime model are
/// below 422.
const DEFAULT_REQUEST: u64 = 300;
const MAX_REQUEST: u64 = 1 << 20;
