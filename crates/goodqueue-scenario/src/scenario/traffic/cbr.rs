//! `kind = "cbr"`: packets at a constant bit rate, unanswered.

use goodqueue::{Direction, Rate};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::CbrSettings;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::kind::{Kind, Surroundings};
use super::packet::{read_paced_rate, read_packet};
use crate::scenario::reader::Reader;

/// Datagrams at a constant bit rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cbr {
    /// Rate of IP bytes.
    pub rate: Rate,
    /// IP bytes of a packet.
    pub packet: u32,
    /// Packets are ECN-capable.
    pub ecn: bool,
}

impl Kind for Cbr {
    const NAME: &'static str = "cbr";
    const KEYS: &'static [&'static str] = &["rate", "packet", "ecn"];
    const IS_ONE_WAY: bool = true;

    fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<Self, Diagnostic> {
        let packet = read_packet(table, around.link.mtu, around)?;
        let rate = read_paced_rate(table, Self::NAME, packet)?;
        Ok(Self { rate, packet, ecn: table.flag("ecn", false)? })
    }

    fn write(&self, flow: &mut Value) {
        flow["rate"] = json!(self.rate.to_string());
        flow["packet"] = json!(self.packet);
        flow["ecn"] = json!(self.ecn);
    }

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let &Self { rate, packet: bytes, ecn } = self;
        Ok(sim::Traffic::Cbr(CbrSettings { direction, rate, bytes, ecn }))
    }
}
