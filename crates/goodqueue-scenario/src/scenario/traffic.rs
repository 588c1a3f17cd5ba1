//! The kinds of traffic in `[[flows]]`, one file each. The list at the end of this file registers
//! them. Sources of other crates have no file here: [`Own`] reads the keys of all of them.

mod capture;
mod cbr;
mod kind;
mod on_off;
mod own;
mod packet;
mod packmime;
mod ping;
mod poisson;
mod quic;
mod quic_connection;
mod quic_transfers;
mod tcp;
mod tcp_onoff;
mod transfers;
mod video;
mod voip;
mod web;
mod word;

use goodqueue::Direction;
use goodqueue_sim as sim;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

pub use capture::Capture;
pub use cbr::Cbr;
pub use on_off::OnOff;
pub use own::Own;
pub use packmime::PackMime;
pub use ping::Ping;
pub use poisson::Poisson;
pub use quic::Quic;
pub use quic_connection::{QuicConnection, QuicControl};
pub use quic_transfers::QuicTransfers;
pub use tcp::TcpTransfer;
pub use tcp_onoff::TcpOnOff;
pub use transfers::Transfers;
pub use video::Video;
pub use voip::{CallReceiver, Voip};
pub use web::{Page, Web};

use self::kind::Kind;
pub(super) use self::kind::{COUNT, FlowContext, MAX_FLOWS};
use super::form::object;
use super::keys::{Table, merged};
use super::reader::Reader;
use super::tcp::{Tcp, tcp_keys};
use crate::extensions::Extensions;

/// Writes the enum over all kinds, and its dispatch.
macro_rules! kinds {
    ($($(#[$about:meta])* $name:ident($settings:ident)),+ $(,)?) => {
        /// Traffic of a flow.
        #[derive(Clone, PartialEq, Debug)]
        pub enum Traffic {
            $($(#[$about])* $name($settings),)+
            /// Traffic of a source of another crate.
            Own(Own),
        }

        /// Kind of traffic of a flow, in results.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum FlowKind {
            $($(#[$about])* $name,)+
            /// Traffic of a source of another crate, by its name.
            Own(Box<str>),
        }

        impl FlowKind {
            /// Names of the built-in kinds.
            pub const NAMES: &'static [&'static str] = &[$($settings::NAME),+];

            /// Returns the kind of this name. Any other name is that of a source of another crate.
            #[must_use]
            pub fn named(name: &str) -> Self {
                match name {
                    $($settings::NAME => Self::$name,)+
                    other => Self::Own(other.into()),
                }
            }

            /// Returns the word for `kind`: `tcp`, `ping`, ...
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$name => $settings::NAME,)+
                    Self::Own(name) => name,
                }
            }
        }

        impl Traffic {
            /// The kinds, with the keys that each has beside those of all flows.
            pub(super) const TABLES: &'static [(&'static str, &'static Table)] =
                &[$(($settings::NAME, &$settings::TABLE)),+];

            /// The word for `kind`: `tcp`, `ping`, ...
            #[must_use]
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $settings::NAME,)+
                    Self::Own(own) => own.source.kind().name,
                }
            }

            /// True if packets go in the direction of the data only.
            pub(super) const fn is_one_way(&self) -> bool {
                match self {
                    $(Self::$name(_) => $settings::IS_ONE_WAY,)+
                    Self::Own(own) => own.source.is_one_way(),
                }
            }

            /// Returns the direction of the data if nothing else is said.
            pub(super) const fn usual_direction(&self) -> Direction {
                match self {
                    $(Self::$name(_) => $settings::DIRECTION,)+
                    Self::Own(_) => Direction::Down,
                }
            }

            /// Reads the `kind` of a table and its keys.
            pub(super) fn read(
                table: &Reader<'_>,
                common: &[&str],
                around: &FlowContext<'_>,
            ) -> Result<Self, Diagnostic> {
                let others = table.document().extensions().sources();
                let own = others.iter().map(|own| own.kind().name);
                let names: Vec<&str> = [$($settings::NAME),+].into_iter().chain(own).collect();
                let kind = table.choice("kind", TcpTransfer::NAME, &names)?;
                $(if kind == $settings::NAME {
                    let over_tcp = if $settings::IS_OVER_TCP { tcp_keys(table.document().extensions()) } else { Vec::new() };
                    table.only(&[&["kind"], common, &$settings::TABLE.names(), &over_tcp].concat())?;
                    return $settings::read(table, around).map(Self::$name);
                })+
                if let Some(source) = others.iter().find(|own| own.kind().name == kind) {
                    table.only(&[&["kind"], common, &Own::keys(*source)].concat())?;
                    return Own::read(*source, table).map(Self::Own);
                }
                Err(table.error("kind", Diagnostic::new("there is no such kind")))
            }

            /// Returns the JSON schemas of the tables of all kinds, with the keys that all flows
            /// have.
            pub(super) fn schemas(common: &Table) -> Vec<Value> {
                vec![$({
                    let mut keys = merged(&[common, &$settings::TABLE]);
                    let of_tcp = if $settings::IS_OVER_TCP { tcp_keys(&Extensions::new()) } else { Vec::new() };
                    for key in of_tcp {
                        let reference = format!("#/properties/tcp/properties/{key}");
                        keys[key] = json!({ "$ref": reference, "description": "As in [tcp]." });
                    }
                    keys["kind"] = json!({ "const": $settings::NAME, "description": $settings::TABLE.about() });
                    // Without a kind it is a TCP flow.
                    let is_default = $settings::NAME == TcpTransfer::NAME;
                    let mut required = $settings::TABLE.required();
                    required.extend((!is_default).then_some("kind"));
                    object(&keys, &required)
                }),+]
            }

            /// Writes the keys of the kind, and those of its connections.
            pub(super) fn write(&self, flow: &mut Value) {
                match self {
                    $(Self::$name(settings) => settings.write(flow),)+
                    Self::Own(own) => own.write(flow),
                }
                if let Some(tcp) = self.tcp() {
                    tcp.add_to(flow);
                }
            }

            /// Returns how the ends of its connections behave; `None` without TCP.
            #[must_use]
            pub fn tcp(&self) -> Option<&Tcp> {
                match self {
                    $(Self::$name(settings) => settings.tcp(),)+
                    // A source of another crate sends datagrams (`KnownSource::traffic`).
                    Self::Own(_) => None,
                }
            }

            /// Returns the congestion control as the scenario names it, if the flow has one.
            #[must_use]
            pub fn congestion_control(&self) -> Option<&str> {
                match self {
                    $(Self::$name(settings) => settings.congestion_control(),)+
                    Self::Own(_) => None,
                }
            }

            /// Configuration of the simulator.
            pub(crate) fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
                match self {
                    $(Self::$name(settings) => settings.to_sim(direction),)+
                    Self::Own(own) => own.to_sim(direction),
                }
            }
        }
    };
}

kinds! {
    /// A TCP transfer, or one without end.
    Tcp(TcpTransfer),
    /// Echo requests.
    Ping(Ping),
    /// Datagrams at a constant bit rate.
    Cbr(Cbr),
    /// A voice call one way.
    Voip(Voip),
    /// Datagrams in bursts.
    OnOff(OnOff),
    /// Datagrams at random.
    Poisson(Poisson),
    /// Datagrams as recorded.
    Capture(Capture),
    /// Sized transfers with think times between them.
    Transfers(Transfers),
    /// Web connections of many users.
    PackMime(PackMime),
    /// A browser.
    Web(Web),
    /// A TCP sender that is silent at times.
    TcpOnOff(TcpOnOff),
    /// A viewer of adaptive video.
    Video(Video),
    /// A QUIC connection, of a given size or without end.
    Quic(Quic),
    /// Sized transfers over QUIC with think times between them.
    QuicTransfers(QuicTransfers),
}

impl FlowKind {
    /// Returns true for a single connection that takes what the network leaves it.
    #[must_use]
    pub const fn is_bulk(&self) -> bool {
        matches!(self, Self::Tcp | Self::Quic)
    }
}

impl Traffic {
    /// Reads a ping.
    pub(super) fn ping(table: &Reader<'_>, around: &FlowContext<'_>) -> Result<Self, Diagnostic> {
        Ping::read(table, around).map(Self::Ping)
    }
}

#[cfg(test)]
mod tests;
