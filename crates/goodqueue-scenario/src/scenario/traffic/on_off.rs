//! `kind = "onoff"`: datagrams in bursts, with silence between them.

use goodqueue::{Direction, Duration, Rate};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::OnOffSettings;
use goodqueue_tc::diagnostic::Diagnostic;

use super::kind::{FlowContext, Kind};
use super::packet::{check_pace, check_packet};
use crate::scenario::drawn::{Drawn, Random};
use crate::scenario::keys::keys;
use crate::scenario::plain::{Flag, SIZE, SPEED};
use crate::scenario::reader::Reader;

keys! {
    /// Datagrams in bursts, with the defaults of ns-2's Exponential source.
    pub struct OnOff(table, around: &FlowContext<'_>) {
        /// Rate of IP bytes within a burst.
        rate: Rate = "64kbit", SPEED => required("a flow of kind onoff needs a rate");
        /// IP bytes of a packet. Default: 210, or the MTU if that is less.
        packet: u32 = 210, SIZE => or(around.link.mtu.min(DEFAULT_PACKET));
        /// Length of a burst; may be random.
        on: Drawn<Duration> = { exponential = "500ms" }, Random;
        /// Length of the silence after a burst; may be random.
        off: Drawn<Duration> = { exponential = "500ms" }, Random;
        /// Send packets as ECN-capable.
        ecn: bool = false, Flag;
    }
    then {
        check_packet(table, packet, around)?;
        check_pace(table, rate, packet)?;
        check_span(table, "on", on)?;
        check_span(table, "off", off)?;
    }
}

fn check_span(table: &Reader<'_>, key: &str, span: Drawn<Duration>) -> Result<(), Diagnostic> {
    let mean = span.to_sim().mean();
    if mean <= MAX_SPAN_S {
        return Ok(());
    }
    let message = Diagnostic::new(format!("{mean} s in the mean are not possible"));
    Err(table.error(key, message.allowed(format!("at most {MAX_SPAN_S} s"))))
}

impl Kind for OnOff {
    const NAME: &'static str = "onoff";
    const IS_ONE_WAY: bool = true;

    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
        let &Self { rate, packet: bytes, on, off, ecn } = self;
        let on = on.to_sim();
        let off = off.to_sim();
        Ok(sim::Traffic::OnOff(OnOffSettings { direction, rate, bytes, on, off, ecn }))
    }
}

/// `packetSize_` of ns-2's `Exponential` source.
const DEFAULT_PACKET: u32 = 210;
const MAX_SPAN_S: f64 = 1e5;
