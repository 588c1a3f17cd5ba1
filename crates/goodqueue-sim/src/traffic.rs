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

/// A flow's end points, both of them: it is told what arrives and sends through the network.
pub trait Source {
    /// The flow begins.
    fn start(&mut self, now: Instant, network: &mut Network);

    /// The flow ends: it sends nothing of its own any more.
    fn stop(&mut self, now: Instant);

    /// A packet of this flow arrives, having travelled in `direction`.
    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network);

    /// A packet of this flow will arrive soon, having travelled in `direction`: an occasion to fetch what that will need.
    #[inline]
    fn fetch(&self, direction: Direction, ahead: Ahead) {
        let _ = (direction, ahead);
    }

    /// The flow asked to be woken about now.
    fn on_wake(&mut self, now: Instant, network: &mut Network);

    /// Payload delivered to the receiving application, in order, since the start.
    fn delivered(&self) -> u64;

    /// What the flow has done since its start.
    fn tally(&self) -> Tally;

    /// When the first byte came to the receiving application; only single connections know.
    fn first_delivery(&self) -> Option<Instant> {
        None
    }

    /// Round trips that it measured; only probes do.
    fn round_trips(&self) -> &[RoundTrip] {
        &[]
    }

    /// Delays one way that it measured; only flows that care for them do.
    fn one_way(&self) -> &[OneWay] {
        &[]
    }

    /// What it transferred piece by piece: files, pages, web responses.
    fn transfers(&self) -> &[Transfer] {
        &[]
    }

    /// What its viewer saw; only adaptive video knows.
    fn showing(&self) -> Option<&Showing> {
        None
    }
}

/// What a source is made from.
pub trait Settings {
    /// What results call such a flow: `tcp`, `ping`, ...
    const KIND: &'static str;

    /// Where its data goes; of a ping, its requests.
    fn direction(&self) -> Direction;

    /// The congestion control of its connections, if it has any.
    fn congestion_control(&self) -> Option<&'static str> {
        None
    }

    /// True if it is there to measure delays.
    const IS_PROBE: bool = false;
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

/// One packet: when it was sent, and how long it took to the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OneWay {
    /// When it was sent.
    pub sent_at: Instant,
    /// Time until it arrived; `None`: it has not arrived.
    pub delay: Option<Duration>,
}

/// One piece of work, from its beginning to the last byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// When it began: the first packet that had to be sent for it.
    pub begun_at: Instant,
    /// When it was complete; `None`: it is not.
    pub ended_at: Option<Instant>,
    /// Its payload in bytes.
    pub bytes: u64,
}

/// Writes the enums over all sources and over what each is made from, and their dispatch.
macro_rules! sources {
    ($($(#[$about:meta])* $name:ident($settings:ident)),+ $(,)?) => {
        /// What a flow does.
        #[derive(Clone, Debug)]
        pub enum Traffic {
            $($(#[$about])* $name($settings)),+
        }

        impl Traffic {
            /// The source that does it, as flow number `flow`, with randomness of its own.
            pub(crate) fn source(&self, flow: u32, random: Xoshiro256PlusPlus) -> Result<AnySource, ConfigError> {
                Ok(match self {
                    $(Self::$name(settings) => AnySource::$name(Box::new($name::new(flow, settings, random)?))),+
                })
            }

            /// What results call such a flow: `tcp`, `ping`, ...
            #[must_use]
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$name(_) => <$settings as Settings>::KIND),+ }
            }

            /// True if it is there to measure delays.
            #[must_use]
            pub const fn is_probe(&self) -> bool {
                match self { $(Self::$name(_) => <$settings as Settings>::IS_PROBE),+ }
            }

            /// Where its data goes; of a ping, its requests.
            #[must_use]
            pub fn direction(&self) -> Direction {
                match self { $(Self::$name(settings) => settings.direction()),+ }
            }

            /// The congestion control of its connections, if it has any.
            #[must_use]
            pub fn congestion_control(&self) -> Option<&'static str> {
                match self { $(Self::$name(settings) => settings.congestion_control()),+ }
            }
        }

        /// Any traffic source. A list of ten thousand of them fits a cache, which finds each quickly.
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
    /// A TCP connection with data one way.
    Tcp(TcpSettings),
    /// Echo requests from the client.
    Ping(PingSettings),
    /// Datagrams at a constant rate.
    Cbr(CbrSettings),
    /// Sized transfers with think times between them.
    Transfers(TransfersSettings),
    /// Voice one way.
    Voip(VoipSettings),
    /// Datagrams in bursts.
    OnOff(OnOffSettings),
    /// Datagrams at random.
    Poisson(PoissonSettings),
    /// Datagrams as recorded.
    Capture(CaptureSettings),
    /// Web connections of many users.
    PackMime(PackMimeSettings),
    /// A TCP sender that is silent at times.
    TcpOnOff(TcpOnOffSettings),
    /// A browser that fetches a page again and again.
    Web(WebSettings),
    /// A viewer of adaptive video.
    Video(VideoSettings),
}
