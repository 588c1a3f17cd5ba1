//! Traffic: the sources of a run's packets.
//!
//! Each source is one file below this one. To add a source:
//!
//! 1. Write its file. It holds the settings, with the trait [`Settings`], and the source, with the
//!    trait [`Source`] and a function `new(flow: FlowId, settings: &NameSettings, random:
//!    Xoshiro256PlusPlus) -> Result<Self, ConfigError>`.
//! 2. Declare the file with `mod name;` and register it with one line in `sources!` at the end of
//!    this file. The line adds the variants of [`Traffic`] and [`AnySource`] and re-exports both
//!    types.
//!
//! `cbr.rs` is a complete small example. A scenario file can use the new source once
//! `goodqueue-scenario` has a file that reads its keys, which is registered in the same way.
//!
//! A source of another crate needs no change here: it has the traits [`Source`] and [`Named`], and
//! becomes a [`KnownSource`]. Its parameters are also the keys of its flows in scenario files.

mod capture;
mod cbr;
mod connection;
mod connections;
mod datagrams;
mod distribution;
mod farima;
mod on_off;
mod own;
mod packmime;
mod ping;
mod poisson;
mod samples;
mod source;
mod tcp;
mod tcp_on_off;
mod transfers;
mod user;
mod video;
mod voip;
mod web;

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction, Duration, Instant};

pub use datagrams::{Datagrams, HEADERS};
pub use distribution::Distribution;
pub use own::{KnownSource, Named, OwnFlow, OwnSettings, OwnSource, OwnTraffic};
pub use samples::{Earlier, Jitter, LossRuns, OneWay, PATIENCE, Room, RoundTrip, Sample};
pub use source::{Playback, Segment, SenderState, Settings, Source, Tally, Transfer};
pub use user::{Habits, User};
pub use web::WebPage;

use crate::ahead::Ahead;
use crate::id::FlowId;
use crate::network::Network;
use crate::packet::Packet;
use crate::transport::Transport;

impl From<OwnSettings> for Traffic {
    fn from(settings: OwnSettings) -> Self {
        Self::Own(settings)
    }
}

/// Defines the enums over all sources and over their settings, and the dispatch to them.
macro_rules! sources {
    ($($(#[$about:meta])* $file:ident::$name:ident($settings:ident)),+ $(,)?) => {
        $(pub use $file::{$name, $settings};)+

        /// What a flow sends.
        #[derive(Clone, Debug)]
        pub enum Traffic {
            $($(#[$about])* $name($settings),)+
            /// Traffic of a source of another crate.
            Own(OwnSettings),
        }

        impl Traffic {
            /// Creates the source for flow number `flow` with its own random stream.
            pub(crate) fn source(&self, flow: FlowId, random: Xoshiro256PlusPlus) -> Result<AnySource, ConfigError> {
                Ok(match self {
                    $(Self::$name(settings) => AnySource::$name(Box::new($name::new(flow, settings, random)?)),)+
                    Self::Own(settings) => AnySource::Own(settings.source(flow, random)?),
                })
            }

            /// Returns the word for such a flow in results: `tcp`, `ping`, ...
            #[must_use]
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => <$settings as Settings>::KIND,)+
                    Self::Own(settings) => settings.kind(),
                }
            }

            /// Returns the transport protocol of the flow.
            #[must_use]
            pub const fn transport(&self) -> Transport {
                match self {
                    $(Self::$name(_) => <$settings as Settings>::TRANSPORT,)+
                    Self::Own(settings) => settings.transport(),
                }
            }

            /// Returns true if the flow measures delays.
            #[must_use]
            pub const fn is_probe(&self) -> bool {
                match self {
                    $(Self::$name(_) => <$settings as Settings>::IS_PROBE,)+
                    Self::Own(_) => false,
                }
            }

            /// Returns true if the flow makes several transfers and counts them.
            #[must_use]
            pub const fn is_of_pieces(&self) -> bool {
                match self {
                    $(Self::$name(_) => <$settings as Settings>::IS_OF_PIECES,)+
                    Self::Own(settings) => settings.is_of_pieces(),
                }
            }

            /// Returns the direction of the flow's data; for a ping, of its requests.
            #[must_use]
            pub fn direction(&self) -> Direction {
                match self {
                    $(Self::$name(settings) => settings.direction(),)+
                    Self::Own(settings) => settings.direction(),
                }
            }

            /// Returns the time between two packets whose delay is kept, if the flow keeps delays.
            #[must_use]
            pub fn probe_interval(&self) -> Option<Duration> {
                match self {
                    $(Self::$name(settings) => settings.probe_interval(),)+
                    Self::Own(_) => None,
                }
            }

            /// Computes now what the flow would compute at its first use, if that takes a while.
            pub fn prepare(&self) {
                match self {
                    $(Self::$name(settings) => settings.prepare(),)+
                    Self::Own(_) => {},
                }
            }

            /// Returns the congestion control of the flow's connections, if it has any.
            #[must_use]
            pub fn congestion_control(&self) -> Option<&'static str> {
                match self {
                    $(Self::$name(settings) => settings.congestion_control(),)+
                    Self::Own(settings) => settings.congestion_control(),
                }
            }
        }

        /// Any traffic source, boxed so that a list of ten thousand sources fits into the cache.
        #[derive(Debug)]
        pub enum AnySource {
            $($(#[$about])* $name(Box<$name>),)+
            /// A source of another crate, called through a virtual table.
            Own(Box<dyn OwnSource>),
        }

        impl Source for AnySource {
            fn start(&mut self, now: Instant, network: &mut Network) {
                match self {
                    $(Self::$name(source) => source.start(now, network),)+
                    Self::Own(source) => source.start(now, network),
                }
            }
            fn stop(&mut self, now: Instant) {
                match self {
                    $(Self::$name(source) => source.stop(now),)+
                    Self::Own(source) => source.stop(now),
                }
            }
            #[inline]
            fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network) {
                match self {
                    $(Self::$name(source) => source.on_packet(now, packet, direction, network),)+
                    Self::Own(source) => source.on_packet(now, packet, direction, network),
                }
            }
            #[inline]
            fn fetch(&self, direction: Direction, ahead: Ahead) {
                match self {
                    $(Self::$name(source) => source.fetch(direction, ahead),)+
                    Self::Own(source) => source.fetch(direction, ahead),
                }
            }
            fn on_wake(&mut self, now: Instant, network: &mut Network) {
                match self {
                    $(Self::$name(source) => source.on_wake(now, network),)+
                    Self::Own(source) => source.on_wake(now, network),
                }
            }
            fn delivered(&self) -> u64 {
                match self {
                    $(Self::$name(source) => source.delivered(),)+
                    Self::Own(source) => source.delivered(),
                }
            }
            fn received(&self) -> u64 {
                match self {
                    $(Self::$name(source) => source.received(),)+
                    Self::Own(source) => source.received(),
                }
            }
            fn tally(&self) -> Tally {
                match self {
                    $(Self::$name(source) => source.tally(),)+
                    Self::Own(source) => source.tally(),
                }
            }
            fn first_delivery(&self) -> Option<Instant> {
                match self {
                    $(Self::$name(source) => source.first_delivery(),)+
                    Self::Own(source) => source.first_delivery(),
                }
            }
            fn sender(&self) -> Option<SenderState> {
                match self {
                    $(Self::$name(source) => source.sender(),)+
                    Self::Own(source) => source.sender(),
                }
            }
            fn round_trips(&self) -> &[RoundTrip] {
                match self {
                    $(Self::$name(source) => source.round_trips(),)+
                    Self::Own(source) => source.round_trips(),
                }
            }
            fn delivery_rate(&self, until: Instant) -> Option<u64> {
                match self {
                    $(Self::$name(source) => source.delivery_rate(until),)+
                    Self::Own(source) => source.delivery_rate(until),
                }
            }
            fn earlier(&self) -> Option<&Earlier> {
                match self {
                    $(Self::$name(source) => source.earlier(),)+
                    Self::Own(source) => source.earlier(),
                }
            }
            fn measure_from(&mut self, now: Instant) {
                match self {
                    $(Self::$name(source) => source.measure_from(now),)+
                    Self::Own(source) => source.measure_from(now),
                }
            }
            fn set_room(&mut self, room: Room) {
                match self {
                    $(Self::$name(source) => source.set_room(room),)+
                    Self::Own(source) => source.set_room(room),
                }
            }
            fn one_way(&self) -> &[OneWay] {
                match self {
                    $(Self::$name(source) => source.one_way(),)+
                    Self::Own(source) => source.one_way(),
                }
            }
            fn transfers(&self) -> &[Transfer] {
                match self {
                    $(Self::$name(source) => Source::transfers(source.as_ref()),)+
                    Self::Own(source) => Source::transfers(source.as_ref()),
                }
            }
            fn playback(&self) -> Option<&Playback> {
                match self {
                    $(Self::$name(source) => Source::playback(source.as_ref()),)+
                    Self::Own(source) => Source::playback(source.as_ref()),
                }
            }
        }
    };
}

sources! {
    /// A TCP connection with data in one direction.
    tcp::Tcp(TcpSettings),
    /// Echo requests from the client.
    ping::Ping(PingSettings),
    /// Datagrams at a constant rate.
    cbr::Cbr(CbrSettings),
    /// Transfers of given sizes with think times between them.
    transfers::Transfers(TransfersSettings),
    /// A voice call in one direction.
    voip::Voip(VoipSettings),
    /// Datagrams in bursts.
    on_off::OnOff(OnOffSettings),
    /// Datagrams with random gaps.
    poisson::Poisson(PoissonSettings),
    /// Datagrams with recorded times and lengths.
    capture::Capture(CaptureSettings),
    /// The web connections of many users.
    packmime::PackMime(PackMimeSettings),
    /// A TCP sender that alternates between sending and silence.
    tcp_on_off::TcpOnOff(TcpOnOffSettings),
    /// A browser that fetches a page repeatedly.
    web::Web(WebSettings),
    /// A viewer of adaptive video.
    video::Video(VideoSettings),
}
