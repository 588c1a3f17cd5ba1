//! `kind = "poisson"`: datagrams at random.

use goodqueue::{Direction, Rate};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::PoissonSettings;
use goodqueue_tc::diagnostic::Diagnostic;

use super::kind::{FlowContext, Kind};
use super::packet::{MIN_PACKET, check_pace};
use crate::scenario::drawn::{Drawn, Random};
use crate::scenario::keys::keys;
use crate::scenario::plain::{Flag, SPEED};
use crate::scenario::reader::Reader;

keys! {
    /// Datagrams with exponentially distributed times between them.
    pub struct Poisson(table, around: &FlowContext<'_>) {
        /// Mean rate of IP bytes.
        rate: Rate = "1mbit", SPEED => required("a flow of kind poisson needs a rate");
        /// IP bytes of a packet. Default: the MTU. May be random, limited to 28 bytes and the MTU.
        packet: Drawn<u64> = 1500, Random => or(Drawn::Constant(u64::from(around.link.mtu)));
        /// Send packets as ECN-capable.
        ecn: bool = false, Flag;
    }
    with {
        /// Longest packet.
        mtu: u32;
    }
    then {
        let mtu = around.link.mtu;
        check_mean(table, packet, mtu)?;
        check_pace(table, rate, mean_bytes(packet, mtu))?;
    }
}

fn check_mean(table: &Reader<'_>, packet: Drawn<u64>, mtu: u32) -> Result<(), Diagnostic> {
    let mean = packet.to_sim().mean();
    if (f64::from(MIN_PACKET)..=f64::from(mtu)).contains(&mean) {
        return Ok(());
    }
    let message = Diagnostic::new(format!("packets of {mean} bytes in the mean are not possible"));
    let allowed = format!("{MIN_PACKET} (an IP and a UDP header) to the MTU of {mtu}");
    Err(table.error("packet", message.allowed(allowed)))
}

impl Kind for Poisson {
    const NAME: &'static str = "poisson";
    const IS_ONE_WAY: bool = true;

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let &Self { rate, packet, mtu, ecn } = self;
        let mean_bytes = mean_bytes(packet, mtu);
        let bytes = packet.to_sim();
        let limits = (MIN_PACKET, mtu);
        Ok(sim::Traffic::Poisson(PoissonSettings { direction, rate, mean_bytes, bytes, limits, ecn }))
    }
}

/// Mean length of the packets that are sent. Half of the packets of a distribution may be longer
/// than the MTU: with its mean instead the flow would send less than its rate.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "lies between 28 and the MTU")]
fn mean_bytes(packet: Drawn<u64>, mtu: u32) -> u32 {
    packet.to_sim().mean_within(f64::from(MIN_PACKET), f64::from(mtu)).round() as u32
}
