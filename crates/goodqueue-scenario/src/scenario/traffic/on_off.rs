//! `kind = "onoff"`: datagrams in bursts, with silence between them.

use goodqueue::{Direction, Duration, Rate};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::OnOffSettings;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::kind::{Kind, Surroundings};
use super::packet::{read_paced_rate, read_packet};
use crate::scenario::drawn::Drawn;
use crate::scenario::reader::Reader;

/// Datagrams in bursts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OnOff {
    /// Rate of IP bytes within a burst.
    pub rate: Rate,
    /// IP bytes of a packet.
    pub packet: u32,
    /// Length of a burst.
    pub on: Drawn<Duration>,
    /// Length of the silence behind it.
    pub off: Drawn<Duration>,
    /// Packets are ECN-capable.
    pub ecn: bool,
}

impl Kind for OnOff {
    const NAME: &'static str = "onoff";
    const KEYS: &'static [&'static str] = &["rate", "packet", "on", "off", "ecn"];
    const IS_ONE_WAY: bool = true;

    fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<Self, Diagnostic> {
        let packet = read_packet(table, DEFAULT_PACKET, around)?;
        let rate = read_paced_rate(table, Self::NAME, packet)?;
        let span = |key| {
            let drawn = Drawn::read(table, key)?.unwrap_or(Drawn::Exponential(DEFAULT_SPAN));
            if drawn.to_sim().mean() > MAX_SPAN_S {
                let message =
                    Diagnostic::new(format!("{} s in the mean are not possible", drawn.to_sim().mean()));
                return Err(table.error(key, message.allowed(format!("at most {MAX_SPAN_S} s"))));
            }
            Ok(drawn)
        };
        Ok(Self { rate, packet, on: span("on")?, off: span("off")?, ecn: table.flag("ecn", false)? })
    }

    fn write(&self, flow: &mut Value) {
        flow["rate"] = json!(self.rate.to_string());
        flow["packet"] = json!(self.packet);
        flow["on"] = self.on.to_json();
        flow["off"] = self.off.to_json();
        flow["ecn"] = json!(self.ecn);
    }

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let &Self { rate, packet: bytes, on, off, ecn } = self;
        let (on, off) = (on.to_sim(), off.to_sim());
        Ok(sim::Traffic::OnOff(OnOffSettings { direction, rate, bytes, on, off, ecn }))
    }
}

/// `packetSize_`, `burst_time_` and `idle_time_` of ns-2's `Exponential` source.
const DEFAULT_PACKET: u32 = 210;
const DEFAULT_SPAN: Duration = Duration::from_millis(500);
const MAX_SPAN_S: f64 = 1e5;
