//! Traffic: what the flows of a scenario do. One file per source; a new one is added in the list below.

mod cbr;
mod ping;
mod tcp;

use goodqueue::{Duration, Instant};

pub use cbr::Cbr;
pub use ping::Ping;
pub use tcp::Tcp;

use crate::network::Network;
use crate::packet::{Direction, Packet};

/// A flow's end points, both of them: it is told what arrives and sends through the network.
pub trait Source {
    /// The flow begins.
    fn start(&mut self, now: Instant, network: &mut Network);

    /// The flow ends: it sends nothing of its own any more.
    fn stop(&mut self, now: Instant);

    /// A packet of this flow arrives, having travelled in `direction`.
    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network);

    /// The flow asked to be woken about now.
    fn on_wake(&mut self, now: Instant, network: &mut Network);

    /// Payload delivered to the receiving application, in order, since the start.
    fn delivered(&self) -> u64;

    /// What the flow has done since its start.
    fn tally(&self) -> Tally;

    /// Round trips that it measured; only probes do.
    fn round_trips(&self) -> &[RoundTrip] {
        &[]
    }
}

/// What a flow has done.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Payload delivered in order, in bytes.
    pub delivered: u64,
    /// Packets sent in the direction of the flow's data, retransmissions included.
    pub sent: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// When everything that the flow had to send was acknowledged.
    pub completed_at: Option<Instant>,
}

/// One probe: when it was sent, and how long its answer took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundTrip {
    /// When the probe was sent.
    pub sent_at: Instant,
    /// Time until the answer came; `None`: it has not come.
    pub time: Option<Duration>,
}

/// Writes the enum over all sources and its dispatch.
macro_rules! sources {
    ($($name:ident),+) => {
        /// Any traffic source.
        #[derive(Debug)]
        #[expect(missing_docs, reason = "each arm is the source of its name")]
        #[expect(clippy::large_enum_variant, reason = "nearly all flows are TCP, and stand side by side in memory")]
        pub enum AnySource {
            $($name($name)),+
        }

        impl Source for AnySource {
            fn start(&mut self, now: Instant, network: &mut Network) {
                match self { $(Self::$name(source) => source.start(now, network)),+ }
            }
            fn stop(&mut self, now: Instant) {
                match self { $(Self::$name(source) => source.stop(now)),+ }
            }
            #[inline]
            fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network) {
                match self { $(Self::$name(source) => source.on_packet(now, packet, direction, network)),+ }
            }
            fn on_wake(&mut self, now: Instant, network: &mut Network) {
                match self { $(Self::$name(source) => source.on_wake(now, network)),+ }
            }
            fn delivered(&self) -> u64 {
                match self { $(Self::$name(source) => source.delivered()),+ }
            }
            fn tally(&self) -> Tally {
                match self { $(Self::$name(source) => source.tally()),+ }
            }
            fn round_trips(&self) -> &[RoundTrip] {
                match self { $(Self::$name(source) => source.round_trips()),+ }
            }
        }
    };
}

sources!(Tcp, Ping, Cbr);
