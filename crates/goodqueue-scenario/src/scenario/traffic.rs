//! `[[flows]]`: what crosses the bottleneck. One file per kind of traffic; a new one is added in
//! the list at the end.

mod capture;
mod cbr;
mod on_off;
mod packet;
mod packmime;
mod ping;
mod poisson;
mod tcp;
mod tcp_onoff;
mod transfers;
mod video;
mod voip;
mod web;

use goodqueue::{Duration, Rate};
use goodqueue_sim as sim;
use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use serde_json::Value;

pub use capture::Capture;
pub use cbr::Cbr;
pub use on_off::OnOff;
pub use packmime::PackMime;
pub use ping::Ping;
pub use poisson::Poisson;
pub use tcp::TcpTransfer;
pub use tcp_onoff::TcpOnOff;
pub use transfers::Transfers;
pub use video::Video;
pub use voip::{Hearing, Voip};
pub use web::{Page, Web};

use super::document::{Node, Raw};
use super::dscp::read_dscp;
use super::link::{MAX_RTT, read_rtt};
use super::reader::Reader;
use super::tcp::{TCP_KEYS, read_tcp};
use super::{BOTTLENECK, BottleneckLink, Direction, FlowGroup, Hop, Names, Tcp};

/// One kind of traffic: what it reads from a table of `[[flows]]`, and what the simulator is told
/// of it.
trait Kind: Sized {
    /// The word for `kind`.
    const NAME: &'static str;

    /// Its own keys, beside those that all flows have.
    const KEYS: &'static [&'static str];

    /// Its flows are TCP connections: all keys of `[tcp]` may stand in the table too.
    const IS_OVER_TCP: bool = false;

    /// Packets go one way only: nothing answers.
    const IS_ONE_WAY: bool = false;

    /// Where its data goes if nothing is said.
    const DIRECTION: Direction = Direction::Down;

    /// Reads its keys; those that are not there get their defaults.
    fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<Self, Diagnostic>;

    /// Writes its keys, every default filled in.
    fn write(&self, flow: &mut Value);

    /// What the simulator is told.
    fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic>;
}

/// What a table of `[[flows]]` stands in.
#[derive(Clone, Copy)]
struct Surroundings<'a> {
    link: &'a BottleneckLink,
    tcp: &'a Tcp,
    hops: &'a [Hop],
    duration: Duration,
    names: &'a Names<'a>,
}

impl Surroundings<'_> {
    /// The keys of `[tcp]` in `table`.
    fn read_tcp(&self, table: &Reader<'_>) -> Result<Tcp, Diagnostic> {
        read_tcp(table, self.tcp, self.link, self.names)
    }
}

/// Writes the enum over all kinds, and its dispatch.
macro_rules! kinds {
    ($($(#[$about:meta])* $name:ident($settings:ident)),+ $(,)?) => {
        /// What a flow does.
        #[derive(Clone, PartialEq, Debug)]
        pub enum Traffic {
            $($(#[$about])* $name($settings)),+
        }

        impl Traffic {
            /// The word for `kind`: `tcp`, `ping`, ...
            #[must_use]
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$name(_) => $settings::NAME),+ }
            }

            /// True if packets go in the direction of the data only.
            pub(super) const fn is_one_way(&self) -> bool {
                match self { $(Self::$name(_) => $settings::IS_ONE_WAY),+ }
            }

            /// Reads the `kind` of a table and its keys; also the direction if nothing else is
            /// said.
            fn read(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<(Self, Direction), Diagnostic> {
                let kind = table.choice("kind", TcpTransfer::NAME, &[$($settings::NAME),+])?;
                $(if kind == $settings::NAME {
                    let of_tcp = if $settings::IS_OVER_TCP { TCP_KEYS.as_slice() } else { &[] };
                    table.only(&[FLOW_KEYS, $settings::KEYS, of_tcp].concat())?;
                    return Ok((Self::$name($settings::read(table, around)?), $settings::DIRECTION));
                })+
                Err(table.error("kind", Diagnostic::new("there is no such kind")))
            }

            /// Writes the keys of the kind.
            pub(super) fn write(&self, flow: &mut Value) {
                match self { $(Self::$name(settings) => settings.write(flow)),+ }
            }

            /// What the simulator is told.
            pub(crate) fn to_sim(&self, direction: Direction) -> Result<sim::Traffic, Diagnostic> {
                match self { $(Self::$name(settings) => settings.to_sim(direction)),+ }
            }
        }
    };
}

pub(super) fn read_traffic(
    root: &Reader<'_>,
    (link, hops): (&BottleneckLink, &[Hop]),
    tcp: &Tcp,
    duration: Duration,
    names: &Names<'_>,
) -> Result<Vec<FlowGroup>, Diagnostic> {
    let items = match root.node("flows") {
        None => return Ok(rrul_traffic(RRUL_FLOWS, link, tcp, duration)),
        Some(Node { raw: Raw::List(items), .. }) => items,
        Some(node) => {
            let Raw::Integer(_) = node.raw else {
                let message = Diagnostic::new(format!("{} is not possible", node.sort()));
                let form = "[[flows]] tables, or one number: so many TCP flows each way and a ping";
                return Err(root.error("flows", message.allowed(form)));
            };
            let count = root.small("flows", RRUL_FLOWS, 0, MAX_FLOWS / 2)?;
            return Ok(rrul_traffic(count, link, tcp, duration));
        }
    };
    let around = Surroundings { link, tcp, hops, duration, names };
    let mut groups = Vec::new();
    let mut total = 0u32;
    for (index, node) in items.iter().enumerate() {
        let name = format!("`flows.{index}`");
        let table = Reader::of(root.document(), node, &name)?;
        let group = read_flow(&table, &around)?;
        total = total.saturating_add(group.count);
        if total > MAX_FLOWS {
            let message = Diagnostic::new(format!("the flows are {total} in all"));
            return Err(table.error("count", message.allowed(format!("at most {MAX_FLOWS} in all"))));
        }
        groups.push(group);
    }
    Ok(groups)
}

/// `count` bulk TCP flows each way and one ping: the Realtime Response Under Load test of Flent,
/// without its UDP probes.
fn rrul_traffic(count: u32, link: &BottleneckLink, tcp: &Tcp, duration: Duration) -> Vec<FlowGroup> {
    let jitter = Duration::from_nanos(duration.as_nanos() / 10).min(RRUL_JITTER);
    let bulk = |direction| FlowGroup {
        direction,
        count,
        start: Duration::ZERO,
        start_jitter: jitter,
        together: false,
        stop: None,
        rtt: link.rtt,
        rtt_step: Duration::ZERO,
        client: 1,
        server: 1,
        enters: None,
        access: Duration::ZERO,
        access_rate: None,
        dscp: 0,
        label: None,
        traffic: Traffic::Tcp(TcpTransfer { tcp: tcp.clone(), size: None, local_congestion: false }),
    };
    let ping = FlowGroup {
        direction: Direction::Up,
        count: 1,
        start_jitter: Duration::ZERO,
        traffic: Traffic::Ping(Ping::usual(link)),
        ..bulk(Direction::Up)
    };
    let mut groups = vec![bulk(Direction::Down), bulk(Direction::Up), ping];
    groups.retain(|group| group.count > 0);
    groups
}

fn read_flow(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<FlowGroup, Diagnostic> {
    let (traffic, default_direction) = Traffic::read(table, around)?;
    let direction = match table.choice("direction", default_direction.name(), &["down", "up"])? {
        "up" => Direction::Up,
        _ => Direction::Down,
    };
    let group = FlowGroup {
        direction,
        count: read_count(table)?,
        start: table.time("start")?.unwrap_or_default(),
        start_jitter: table.time("start_jitter")?.unwrap_or_default(),
        together: table.flag("together", false)?,
        stop: table.time("stop")?,
        rtt: read_rtt(table, around.link.rtt)?,
        rtt_step: table.time("rtt_step")?.unwrap_or_default(),
        client: u16::try_from(table.small("client", 1, 1, u32::from(u16::MAX))?).unwrap_or(u16::MAX),
        server: u8::try_from(table.small("server", 1, 1, u32::from(u8::MAX))?).unwrap_or(u8::MAX),
        enters: read_entrance(table, around.hops)?,
        access: table.time("access")?.unwrap_or_default(),
        access_rate: read_access_rate(table)?,
        dscp: read_dscp(table)?,
        label: read_label(table)?,
        traffic,
    };
    let longest = group.rtt + group.rtt_step.saturating_mul(u64::from(group.count - 1));
    if longest > MAX_RTT {
        let message =
            Diagnostic::new(format!("the last flow's round-trip time of {longest} is not possible"));
        return Err(table.error("rtt_step", message.allowed("rtt + (count - 1) * rtt_step of at most 1h")));
    }
    if group.access.saturating_mul(2) > group.rtt {
        let message = Diagnostic::new(format!(
            "{} to the first queue and as much back are more than the round-trip time of {}",
            group.access, group.rtt
        ));
        return Err(table.error("access", message.allowed("at most half of `rtt`, of which it is a part")));
    }
    let duration = around.duration;
    let latest = group.start + group.start_jitter;
    if latest >= duration {
        let key = if group.start >= duration { "start" } else { "start_jitter" };
        let message =
            Diagnostic::new(format!("a flow may start at {latest}, when the run of {duration} is over"));
        return Err(table.error(key, message.allowed("start + start_jitter below the duration")));
    }
    if let Some(stop) = group.stop
        && stop <= latest
    {
        let message = Diagnostic::new(format!("a flow may stop at {stop} before it starts at {latest}"));
        return Err(table.error("stop", message.allowed("later than start + start_jitter")));
    }
    Ok(group)
}

/// `access_rate`: at rate 0 nothing would ever be sent.
fn read_access_rate(table: &Reader<'_>) -> Result<Option<Rate>, Diagnostic> {
    let rate = table.rate("access_rate")?;
    if rate.is_some_and(|rate| rate.as_bps() == 0) {
        let message = Diagnostic::new("a host whose link has rate 0 sends nothing".to_owned());
        return Err(table.error("access_rate", message.allowed("1bit or more; left out: no limit")));
    }
    Ok(rate)
}

/// `enters`: the name of a hop, or `bottleneck`.
fn read_entrance(table: &Reader<'_>, hops: &[Hop]) -> Result<Option<String>, Diagnostic> {
    let Some(name) = table.text("enters")? else { return Ok(None) };
    let known: Vec<&str> = hops.iter().map(|hop| hop.name.as_str()).chain([BOTTLENECK]).collect();
    if known.contains(&name) {
        return Ok(Some(name.to_owned()));
    }
    let message = Diagnostic::new(format!("there is no hop `{}`", shortened(name)));
    Err(table.error("enters", message.one_of(name, &known)))
}

/// What results call the flows; text for people, but short.
fn read_label(table: &Reader<'_>) -> Result<Option<String>, Diagnostic> {
    let label = table.text("label")?;
    match label {
        Some(text) if text.is_empty() || text.len() > MAX_LABEL => {
            let message =
                Diagnostic::new(if text.is_empty() { "the label is empty" } else { "the label is too long" });
            Err(table.error("label", message.allowed(format!("1 to {MAX_LABEL} bytes"))))
        }
        _ => Ok(label.map(str::to_owned)),
    }
}

/// `count`: how many flows a table stands for.
fn read_count(table: &Reader<'_>) -> Result<u32, Diagnostic> {
    table.small("count", 1, 1, MAX_FLOWS)
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
}

const FLOW_KEYS: &[&str] = &[
    "kind",
    "label",
    "direction",
    "count",
    "start",
    "start_jitter",
    "together",
    "stop",
    "rtt",
    "rtt_step",
    "access",
    "access_rate",
    "dscp",
    "client",
    "server",
    "enters",
];
const RRUL_FLOWS: u32 = 4;
/// Two default round-trip times.
const RRUL_JITTER: Duration = Duration::from_millis(100);
const MAX_FLOWS: u32 = 100_000;

#[cfg(test)]
mod tests;
const MAX_LABEL: usize = 60;
