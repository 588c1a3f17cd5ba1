//! Traffic: what the flows of a scenario do. One file per source; a new one is added in the list at the end.

mod capture;
mod cbr;
mod connection;
mod connections;
mod datagrams;
mod distribution;
mod farima;
mod on_off;
mod packmime;
mod ping;
mod poisson;
mod tcp;
mod tcp_on_off;
mod transfers;
mod video;
mod voip;
mod web;

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Duration, Instant};

pub use capture::{Capture, CaptureSettings};
pub use cbr::{Cbr, CbrSettings};
pub use distribution::Distribution;
pub use on_off::{OnOff, OnOffSettings};
pub use packmime::{PackMime, PackMimeSettings};
pub use ping::{Ping, PingSettings};
pub use poisson::{Poisson, PoissonSettings};
pub use tcp::{Tcp, TcpSettings};
pub use tcp_on_off::{TcpOnOff, TcpOnOffSettings};
pub use transfers::{Transfers, TransfersSettings};
pub use video::{Segment, Showing, Video, VideoSettings};
pub use voip::{Voip, VoipSettings};
pub use web::{Web, WebPage, WebSettings};

use crate::ahead::Ahead;
use crate::network::Network;
use crate::packet::{Direction, Packet};

/// Both end points of a flow. The source receives the packets that arrive and sends through the
/// network.
pub trait Source {
    /// Starts the flow.
    fn start(&mut self, now: Instant, network: &mut Network);

    /// Ends the flow: it sends no new data.
    fn stop(&mut self, now: Instant);

    /// Handles a packet of this flow that arrives after travelling in `direction`.
    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network);

    /// Prefetches the memory for a packet of this flow that will arrive soon after travelling in
    /// `direction`.
    #[inline]
    fn fetch(&self, direction: Direction, ahead: Ahead) {
        let _ = (direction, ahead);
    }

    /// Handles the wake-up that the flow requested. It may come early.
    fn on_wake(&mut self, now: Instant, network: &mut Network);

    /// Returns the payload bytes delivered to the receiving application, in order, since the start.
    fn delivered(&self) -> u64;

    /// Returns the flow's counters since its start.
    fn tally(&self) -> Tally;

    /// Returns the time at which the first byte reached the receiving application. Only single
    /// connections know it.
    fn first_delivery(&self) -> Option<Instant> {
        None
    }

    /// Returns the measured round trips. Only probes measure them.
    fn round_trips(&self) -> &[RoundTrip] {
        &[]
    }

    /// Returns the measured one-way delays. Only some flows measure them.
    fn one_way(&self) -> &[OneWay] {
        &[]
    }

    /// Returns the transfers: files, pages, web responses.
    fn transfers(&self) -> &[Transfer] {
        &[]
    }

    /// Returns the playback. Only adaptive video has one.
    fn showing(&self) -> Option<&Showing> {
        None
    }
}

/// The settings from which a source is made.
pub trait Settings {
    /// The word for such a flow in results: `tcp`, `ping`, ...
    const KIND: &'static str;

    /// Returns the direction of the flow's data; for a ping, of its requests.
    fn direction(&self) -> Direction;

    /// Returns the congestion control of the flow's connections, if it has any.
    fn congestion_control(&self) -> Option<&'static str> {
        None
    }

    /// True if the flow measures delays.
    const IS_PROBE: bool = false;
}

/// Counters of a flow.
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
    /// Time at which everything that the flow had to send was acknowledged.
    pub completed_at: Option<Instant>,
}

/// A probe and its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundTrip {
    /// Time at which the probe was sent.
    pub sent_at: Instant,
    /// Time until the answer arrived; `None` if it has not arrived.
    pub time: Option<Duration>,
}

/// A packet whose one-way delay is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OneWay {
    /// Time at which the packet was sent.
    pub sent_at: Instant,
    /// Time until it arrived; `None` if it has not arrived.
    pub delay: Option<Duration>,
}

/// A transfer, from its first packet to its last byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// Time at which the first packet for it was sent.
    pub begun_at: Instant,
    /// Time at which it was complete; `None` if it is not.
    pub ended_at: Option<Instant>,
    /// Payload in bytes.
    pub bytes: u64,
}

/// Defines the enums over all sources and over their settings, and the dispatch to them.
macro_rules! sources {
    ($($(#[$about:meta])* $name:ident($settings:ident)),+ $(,)?) => {
        /// What a flow sends.
        #[derive(Clone, Debug)]
        pub enum Traffic {
            $($(#[$about])* $name($settings)),+
        }

        impl Traffic {
            /// Creates the source for flow number `flow` with its own random stream.
            pub(crate) fn source(&self, flow: u32, random: Xoshiro256PlusPlus) -> Result<AnySource, ConfigError> {
                Ok(match self {
                    $(Self::$name(settings) => AnySource::$name(Box::new($name::new(flow, settings, random)?))),+
                })
            }

            /// Returns the word for such a flow in results: `tcp`, `ping`, ...
            #[must_use]
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$name(_) => <$settings as Settings>::KIND),+ }
            }

            /// Returns true if the flow measures delays.
            #[must_use]
            pub const fn is_probe(&self) -> bool {
                match self { $(Self::$name(_) => <$settings as Settings>::IS_PROBE),+ }
            }

            /// Returns the direction of the flow's data; for a ping, of its requests.
            #[must_use]
            pub fn direction(&self) -> Direction {
                match self { $(Self::$name(settings) => settings.direction()),+ }
            }

            /// Returns the congestion control of the flow's connections, if it has any.
            #[must_use]
            pub fn congestion_control(&self) -> Option<&'static str> {
                match self { $(Self::$name(settings) => settings.congestion_control()),+ }
            }
        }

        /// Any traffic source, boxed so that a list of ten thousand sources fits into the cache.
        #[derive(Debug)]
        pub enum AnySource {
            $($(#[$about])* $name(Box<$name>)),+
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
            #[inline]
            fn fetch(&self, direction: Direction, ahead: Ahead) {
                match self { $(Self::$name(source) => source.fetch(direction, ahead)),+ }
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
            fn first_delivery(&self) -> Option<Instant> {
                match self { $(Self::$name(source) => source.first_delivery()),+ }
            }
            fn round_trips(&self) -> &[RoundTrip] {
                match self { $(Self::$name(source) => source.round_trips()),+ }
            }
            fn one_way(&self) -> &[OneWay] {
                match self { $(Self::$name(source) => source.one_way()),+ }
            }
            fn transfers(&self) -> &[Transfer] {
                match self { $(Self::$name(source) => Source::transfers(source.as_ref())),+ }
            }
            fn showing(&self) -> Option<&Showing> {
                match self { $(Self::$name(source) => Source::showing(source.as_ref())),+ }
            }
        }
    };
}

sources! {
    /// A TCP connection with data in one direction.
    Tcp(TcpSettings),
    /// Echo requests from the client.
    Ping(PingSettings),
    /// Datagrams at a constant rate.
    Cbr(CbrSettings),
    /// Transfers of given sizes with think times between them.
    Transfers(TransfersSettings),
    /// A voice call in one direction.
    Voip(VoipSettings),
    /// Datagrams in bursts.
    OnOff(OnOffSettings),
    /// Datagrams with random gaps.
    Poisson(PoissonSettings),
    /// Datagrams with recorded times and lengths.
    Capture(CaptureSettings),
    /// The web connections of many users.
    PackMime(PackMimeSettings),
    /// A TCP sender that alternates between sending and silence.
    TcpOnOff(TcpOnOffSettings),
    /// A browser that fetches a page repeatedly.
    Web(WebSettings),
    /// A viewer of adaptive video.
    Video(VideoSettings),
}
