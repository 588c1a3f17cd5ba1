//! `kind = "poisson"`: datagrams at random.

use goodqueue::{Direction, Rate};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::PoissonSettings;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::kind::{Kind, Surroundings};
use super::packet::{MIN_PACKET, read_paced_rate};
use crate::scenario::drawn::Drawn;
use crate::scenario::reader::Reader;

/// Datagrams whose arrivals are a Poisson process.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Poisson {
    /// Mean rate of IP bytes.
    pub rate: Rate,
    /// IP bytes of a packet, limited to the smallest packet and the MTU.
    pub packet: Drawn<u64>,
    /// Longest packet.
    pub mtu: u32,
    /// Packets are ECN-capable.
    pub ecn: bool,
}

impl Kind for Poisson {
    const NAME: &'static str = "poisson";
    const KEYS: &'static [&'static str] = &["rate", "packet", "ecn"];
    const IS_ONE_WAY: bool = true;

    fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<Self, Diagnostic> {
        let mtu = around.link.mtu;
        let packet = Drawn::read(table, "packet")?.unwrap_or(Drawn::Constant(u64::from(mtu)));
        let mean = packet.to_sim().mean();
        if !(f64::from(MIN_PACKET)..=f64::from(mtu)).contains(&mean) {
            let message = Diagnostic::new(format!("packets of {mean} bytes in the mean are not possible"));
            let allowed = format!("{MIN_PACKET} (an IP and a UDP header) to the MTU of {mtu}");
            return Err(table.error("packet", message.allowed(allowed)));
        }
        let rate = read_paced_rate(table, Self::NAME, whole(mean))?;
        Ok(Self { rate, packet, mtu, ecn: table.flag("ecn", false)? })
    }

    fn write(&self, flow: &mut Value) {
        flow["rate"] = json!(self.rate.to_string());
        flow["packet"] = self.packet.to_json();
        flow["ecn"] = json!(self.ecn);
    }

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let &Self { rate, packet, mtu, ecn } = self;
        let (mean_bytes, bytes, limits) = (whole(packet.to_sim().mean()), packet.to_sim(), (MIN_PACKET, mtu));
        Ok(sim::Traffic::Poisson(PoissonSettings { direction, rate, mean_bytes, bytes, limits, ecn }))
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "lies between 28 and the MTU")]
fn whole(bytes: f64) -> u32 {
    bytes.round() as u32
}
