//! `kind = "ping"`: requests at fixed intervals that are answered at once with a packet of the same
//! length.

use goodqueue::{Direction, Duration};
use goodqueue_sim as sim;
use goodqueue_sim::traffic::PingSettings;
use goodqueue_tc::diagnostic::Diagnostic;

use super::kind::{FlowContext, Kind};
use super::packet::check_packet;
use crate::scenario::form::Unless;
use crate::scenario::keys::keys;
use crate::scenario::plain::{Flag, SIZE, time};

keys! {
    /// Requests that are answered at once.
    pub struct Ping(table, around: &FlowContext<'_>) {
        /// Time between requests (that of Flent's tests).
        interval: Duration = "200ms", time("a ping each {} is not possible", MIN_INTERVAL..=Duration::MAX);
        /// IP bytes of a packet, with the IP and ICMP headers. Default: 64, or the MTU if that is
        /// less.
        packet: u32 = 64, SIZE => or(around.link.mtu.min(DEFAULT_BYTES));
        /// Send packets as ECT(1), as L4S packets are.
        l4s: bool = false, Unless(false, Flag);
    }
    then { check_packet(table, packet, around)?; }
}

impl Kind for Ping {
    const NAME: &'static str = "ping";
    const DIRECTION: Direction = Direction::Up;

    fn to_sim(&self, _: Direction) -> Result<sim::Traffic, Diagnostic> {
        Ok(sim::Traffic::Ping(PingSettings { interval: self.interval, bytes: self.packet, l4s: self.l4s }))
    }
}

/// Small against the MTU, as probes are.
const DEFAULT_BYTES: u32 = 64;
const MIN_INTERVAL: Duration = Duration::from_micros(100);
