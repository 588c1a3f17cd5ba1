//! Scenarios: one bottleneck, one traffic mix, several queue disciplines. This module reads them
//! from TOML files and resolves them.
//!
//! [`page`] returns the page about the format with every key, as `goodqueue explain scenario`
//! prints it. Each key is declared once, with `keys!` of the module `keys`.
//!
//! # Limits of a scenario
//!
//! A scenario has at most 100,000 runs (points of the sweep × disciplines × seeds) with 1,500,000
//! flows in total, because the results of all runs are kept until the last run has finished. Their
//! time series have at most 40,000,000 values in total. The runs themselves are created one by one.
//!
//! A run keeps the delays of 4,000,000 pings and packets of calls one by one. If there are more, it
//! keeps the latest of each flow, and sums up the others in histograms with three digits, or with
//! two for more than 512 such flows. A packet that has not arrived within 10 s then counts as lost.
//! Time series have some of the pings at equal distances.
//!
//! The `limit` of a discipline may be as large as in Linux, because a queue takes memory only for
//! packets that it holds. All queues and delays of a run together hold at most 4,000,000 packets,
//! for which Linux would need 9 GB. A run with more packets ends with an error.
//!
//! # Reading a scenario
//!
//! [`Document`] is the file together with the changes from the command line ([`Overrides`],
//! [`Document::set`]). [`Document::resolve`] fills in defaults, reads units and traces, checks
//! ranges, and returns a [`Scenario`], which is plain data. [`crate::sweep::expand`] returns one
//! scenario for each point of the sweep. [`Scenario::to_json`] writes the resolved scenario in the
//! same format, so that the scenario in a result file can be run again.

mod discipline;
mod document;
mod drawn;
mod dscp;
mod ecn_mode;
mod effect;
mod ends;
mod files;
mod flows;
mod form;
mod format;
mod grants;
mod hops;
mod keys;
mod link;
mod names;
mod output;
mod overrides;
mod plain;
mod quantity;
mod reader;
mod remarks;
mod resolve;
mod resolved;
mod shapers;
mod tcp;
mod traffic;
mod wifi;

pub(crate) use discipline::DEFAULT_QDISCS;
pub use discipline::{Discipline, QdiscChoice};
pub use document::{Document, check_depth, label_of_line};
pub(crate) use document::{KeyPlace, Node, Raw};
pub use drawn::Drawn;
pub use ecn_mode::EcnMode;
pub use ends::{LinkEnd, LinkRate};
pub use flows::FlowGroup;
pub use format::{page, schema};
pub use goodqueue::Direction;
pub use goodqueue_tcp::DelayedAck;
pub use hops::{Hop, HopQdisc, Side};
pub use link::{BottleneckLink, Line};
pub use names::Names;
pub use output::Output;
pub use overrides::Overrides;
#[cfg(feature = "clap")]
pub use overrides::signed;
pub use quantity::Quantity;
pub use resolved::{Flow, Scenario};
pub use tcp::{Tcp, Tuning};
pub use traffic::{
    CallReceiver, Capture, Cbr, FlowKind, OnOff, Own, PackMime, Page, Ping, Poisson, Quic, QuicConnection,
    QuicControl, QuicTransfers, TcpOnOff, TcpTransfer, Traffic, Transfers, Video, Voip, Web,
};
pub use wifi::{Wifi, WifiMac, WifiStation};

#[cfg(test)]
mod tests;
