//! `[[flows]]`: the keys that flows of all kinds have.

use goodqueue::{Direction, Duration, Rate};
use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use serde_json::{Value, json};

use super::document::{Node, Raw};
use super::dscp::{self, read_dscp};
use super::form::Form;
use super::hops::{BOTTLENECK, Hop};
use super::link::{BottleneckLink, MAX_RTT, read_rtt};
use super::names::Names;
use super::reader::Reader;
use super::tcp::Tcp;
use super::traffic::{COUNT, MAX_FLOWS, Ping, Surroundings, TcpTransfer, Traffic};
use super::written::put_some;

/// Flows that are alike.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowGroup {
    /// Where their data goes; of a ping, its requests.
    pub direction: Direction,
    /// How many, at least one.
    pub count: u32,
    /// Earliest start, since the beginning of the run.
    pub start: Duration,
    /// Largest random delay of each start.
    pub start_jitter: Duration,
    /// Whether all flows of the table share the random delay of the first flow.
    pub together: bool,
    /// Stop time since the beginning of the run; `None`: the end of the run or of the transfer.
    pub stop: Option<Duration>,
    /// Base round-trip time of the first flow.
    pub rtt: Duration,
    /// Increase of the base round-trip time from each flow to the next.
    pub rtt_step: Duration,
    /// The client at their end, from 1.
    pub client: u16,
    /// The server at their other end, from 1.
    pub server: u8,
    /// Name of the hop at which the server attaches, or `bottleneck`; `None`: the first hop.
    pub enters: Option<String>,
    /// Part of `rtt`, each way, between a host and the first queue on its packets' path.
    pub access: Duration,
    /// Rate of each host's own link, for sending; `None`: sending takes no time.
    pub access_rate: Option<Rate>,
    /// Differentiated Services code point of the packets, both ways.
    pub dscp: u8,
    /// Label in results.
    pub label: Option<String>,
    /// Traffic that the flows send.
    pub traffic: Traffic,
}

impl FlowGroup {
    pub(super) fn to_json(&self) -> Value {
        let mut flow = json!({
            "kind": self.traffic.kind(),
            "direction": self.direction.name(),
            "count": self.count,
            "start": self.start.to_string(),
            "start_jitter": self.start_jitter.to_string(),
        });
        if self.together {
            flow["together"] = json!(true);
        }
        put_some(&mut flow, "stop", self.stop.map(|stop| stop.to_string()).as_ref());
        flow["rtt"] = json!(self.rtt.to_string());
        if !self.rtt_step.is_zero() {
            flow["rtt_step"] = json!(self.rtt_step.to_string());
        }
        if (self.client, self.server) != (1, 1) {
            flow["client"] = json!(self.client);
            flow["server"] = json!(self.server);
        }
        put_some(&mut flow, "label", self.label.as_ref());
        put_some(&mut flow, "enters", self.enters.as_ref());
        if !self.access.is_zero() {
            flow["access"] = json!(self.access.to_string());
        }
        put_some(&mut flow, "access_rate", self.access_rate.map(|rate| rate.to_string()).as_ref());
        if self.dscp != 0 {
            flow["dscp"] = dscp::name(self.dscp);
        }
        self.traffic.write(&mut flow);
        flow
    }
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
    let mut objects = 0u64;
    for (index, node) in items.iter().enumerate() {
        let name = format!("`flows.{index}`");
        let table = Reader::of(root.document(), node, &name)?;
        let group = read_flow(&table, &around)?;
        total = total.saturating_add(group.count);
        if total > MAX_FLOWS {
            let message = Diagnostic::new(format!("the flows are {total} in all"));
            return Err(table.error("count", message.allowed(format!("at most {MAX_FLOWS} in all"))));
        }
        if let Traffic::Web(web) = &group.traffic {
            objects = objects.saturating_add(web.requests());
            if objects > MAX_OBJECTS_IN_ALL {
                let message = Diagnostic::new(format!("the web pages of all tables have {objects} objects"));
                return Err(table.error(
                    "page",
                    message
                        .allowed(format!("at most {MAX_OBJECTS_IN_ALL} in all"))
                        .help("fetch one page in several flows with `count`, or have smaller pages"),
                ));
            }
        }
        groups.push(group);
    }
    Ok(groups)
}

/// Objects in the web pages of all tables. One takes 8 bytes, and a sweep holds the pages of some
/// dozens of points.
const MAX_OBJECTS_IN_ALL: u64 = 2_000_000;

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
        traffic: Traffic::Ping(Ping {
            interval: Duration::from_millis(200),
            packet: link.mtu.min(64),
            l4s: false,
        }),
        ..bulk(Direction::Up)
    };
    let mut groups = vec![bulk(Direction::Down), bulk(Direction::Up), ping];
    groups.retain(|group| group.count > 0);
    groups
}

fn read_flow(table: &Reader<'_>, around: &Surroundings<'_>) -> Result<FlowGroup, Diagnostic> {
    let (traffic, default_direction) = Traffic::read(table, FLOW_KEYS, around)?;
    let direction = match table.choice("direction", default_direction.name(), &["down", "up"])? {
        "up" => Direction::Up,
        _ => Direction::Down,
    };
    let group = FlowGroup {
        direction,
        count: COUNT.given(table, "count")?.unwrap_or(1),
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

const MAX_LABEL: usize = 60;
