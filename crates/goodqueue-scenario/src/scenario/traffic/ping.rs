//! `kind = "ping"`: requests at fixed intervals that are answered at once with a packet of the same
//! length.

use goodqueue::{Direction, Duration};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::PingSettings;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::kind::{Kind, Surroundings};
use super::packet::read_packet;
use crate::scenario::link::BottleneckLink;
use crate::scenario::reader::Reader;

/// Echo requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ping {
    /// Time between requests.
    pub interval: Duration,
    /// IP bytes of a packet.
    pub packet: u32,
    /// The packets carry ECT(1), the identifier of L4S.
    pub l4s: bool,
}

impl Ping {
    /// The one that measures a load if nothing else is said.
    pub(crate) fn usual(link: &BottleneckLink) -> Self {
        Self { interval: DEFAULT_INTERVAL, packet: DEFAULT_BYTES.min(link.mtu), l4s: false }
    }
}

impl Kind for Ping {
    const NAME: &'static str = "ping";
    const KEYS: &'static [&'static str] = &["interval", "packet", "l4s"];
    const DIRECTION: Direction = Direction::Up;

    fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<Self, Diagnostic> {
        let interval = table.time("interval")?.unwrap_or(DEFAULT_INTERVAL);
        if interval < MIN_INTERVAL {
            let message = Diagnostic::new(format!("a ping each {interval} is not possible"));
            return Err(table.error("interval", message.allowed(format!("at least {MIN_INTERVAL}"))));
        }
        let packet = read_packet(table, DEFAULT_BYTES, around)?;
        Ok(Self { interval, packet, l4s: table.flag("l4s", false)? })
    }

    fn write(&self, flow: &mut Value) {
        flow["interval"] = json!(self.interval.to_string());
        flow["packet"] = json!(self.packet);
        if self.l4s {
            flow["l4s"] = json!(true);
        }
    }

    fn to_sim(&self, _: Direction) -> Result<sim::Traffic, Diagnostic> {
        Ok(sim::Traffic::Ping(PingSettings { interval: self.interval, bytes: self.packet, l4s: self.l4s }))
    }
}

/// That of Flent's tests.
const DEFAULT_INTERVAL: Duration = Duration::from_millis(200);
/// IP and ICMP headers included: small against the MTU, as probes are.
const DEFAULT_BYTES: u32 = 64;
const MIN_INTERVAL: Duration = Duration::from_micros(100);
