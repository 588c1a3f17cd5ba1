//! `kind = "cbr"`: packets at a constant bit rate, unanswered.

use goodqueue::{Direction, Rate};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::CbrSettings;
use goodqueue_tc::diagnostic::Diagnostic;

use super::kind::{FlowContext, Kind};
use super::packet::{check_pace, check_packet};
use crate::scenario::form::Unless;
use crate::scenario::keys::keys;
use crate::scenario::plain::{Flag, SIZE, SPEED};

keys! {
    /// Datagrams at a constant bit rate.
    pub struct Cbr(table, around: &FlowContext<'_>) {
        /// Rate of IP bytes.
        rate: Rate = "64kbit", SPEED => required("a flow of kind cbr needs a rate");
        /// IP bytes of a packet. Default: the MTU.
        packet: u32 = 1500, SIZE => or(around.link.mtu);
        /// Send packets as ECN-capable.
        ecn: bool = false, Flag;
        /// Send packets as ECT(1), as L4S packets are. The sender ignores marks all the same.
        l4s: bool = false, Unless(false, Flag);
    }
    then {
        check_packet(table, packet, around)?;
        check_pace(table, rate, packet)?;
    }
}

impl Kind for Cbr {
    const NAME: &'static str = "cbr";
    const IS_ONE_WAY: bool = true;

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let &Self { rate, packet: bytes, ecn, l4s } = self;
        Ok(sim::Traffic::Cbr(CbrSettings { direction, rate, bytes, ecn, l4s }))
    }
}
