//! `[tcp]` and `[[flows]]`: what crosses the bottleneck.

use goodqueue::Duration;

use super::document::{Node, Raw};
use super::link::{read_rate_above_0, read_rtt};
use super::reader::Reader;
use super::{BottleneckLink, DelayedAck, Direction, FlowGroup, Names, Tcp, Traffic};
use crate::diagnostic::Diagnostic;
use crate::units;

pub(super) fn default_tcp(link: &BottleneckLink, names: &Names<'_>) -> Tcp {
    let preferred = |wanted: &str, known: &[&str]| {
        let chosen = known.iter().find(|name| **name == wanted).or(known.first());
        chosen.map_or_else(String::new, |name| (*name).to_owned())
    };
    Tcp {
        cc: preferred("cubic", names.cc),
        iw: 10,
        mss: link.mtu.saturating_sub(TCP_IP_HEADERS).max(1),
        delayed_ack: Some(DelayedAck { every: 2, timeout: Duration::from_millis(40) }),
        ecn: false,
        sack: true,
        min_rto: Duration::from_millis(200),
        profile: preferred("rfc", names.profiles),
    }
}

/// The defaults under another profile than that of `default`. The 200 ms least timeout that systems in use have is the
/// scenario's default in the `rfc` profile too.
fn of_profile(default: &Tcp, profile: &str) -> Tcp {
    let mut tcp = default.clone();
    if let Some(known) = goodqueue_tcp::Profile::by_name(profile)
        && profile != default.profile
    {
        let goodqueue_tcp::Config { iw, delayed_ack, ecn, sack, min_rto, .. } = known.settings;
        let goodqueue_tcp::DelayedAck { every, timeout } = delayed_ack;
        tcp.iw = iw;
        tcp.delayed_ack = (every > 1).then_some(DelayedAck { every, timeout });
        tcp.ecn = ecn;
        tcp.sack = sack;
        tcp.min_rto = if profile == "rfc" { Duration::from_millis(200) } else { min_rto };
        profile.clone_into(&mut tcp.profile);
    }
    tcp
}

pub(super) fn read_tcp(
    table: &Reader<'_>,
    default: &Tcp,
    link: &BottleneckLink,
    names: &Names<'_>,
) -> Result<Tcp, Diagnostic> {
    let profile = table.choice("profile", &default.profile, names.profiles)?;
    let default = &of_profile(default, profile);
    let mss = table.small("mss", default.mss, 1, link.mtu)?;
    if mss + TCP_IP_HEADERS > link.mtu {
        let largest = link.mtu.saturating_sub(TCP_IP_HEADERS);
        let message = Diagnostic::new(format!(
            "a segment of {mss} bytes and {TCP_IP_HEADERS} bytes of headers do not fit the MTU of {}",
            link.mtu
        ));
        return Err(table.error("mss", message.allowed(format!("1 to {largest}"))));
    }
    let min_rto = table.time("min_rto")?.unwrap_or(default.min_rto);
    if min_rto.is_zero() || min_rto > Duration::from_secs(60) {
        let message = Diagnostic::new(format!("a minimum timeout of {min_rto} is not possible"));
        return Err(table.error("min_rto", message.allowed("above 0s, at most 60s")));
    }
    Ok(Tcp {
        cc: table.choice("cc", &default.cc, names.cc)?.to_owned(),
        iw: table.small("iw", default.iw, 1, 10_000)?,
        mss,
        delayed_ack: read_delayed_ack(table, default.delayed_ack)?,
        ecn: table.flag("ecn", default.ecn)?,
        sack: table.flag("sack", default.sack)?,
        min_rto,
        profile: profile.to_owned(),
    })
}

fn read_delayed_ack(
    table: &Reader<'_>,
    default: Option<DelayedAck>,
) -> Result<Option<DelayedAck>, Diagnostic> {
    let Some(node) = table.node("delayed_ack") else { return Ok(default) };
    if let Raw::Text(word) = &node.raw
        && word == "off"
    {
        return Ok(None);
    }
    if let Raw::Table(_) = node.raw {
        let inner = Reader::of(table.document(), node, "`delayed_ack`")?;
        inner.only(&["every", "timeout"])?;
        let every = inner.small("every", 2, 1, 1000)?;
        let timeout = inner.time("timeout")?.unwrap_or(Duration::from_millis(40));
        return checked_delayed_ack(&inner, "timeout", DelayedAck { every, timeout });
    }
    let form = "a time such as \"40ms\", \"off\", or { every = 2, timeout = \"40ms\" }";
    let timeout = table.time("delayed_ack").map_err(|error| error.allowed(form))?.unwrap_or_default();
    checked_delayed_ack(table, "delayed_ack", DelayedAck { every: 2, timeout })
}

fn checked_delayed_ack(
    table: &Reader<'_>,
    key: &str,
    ack: DelayedAck,
) -> Result<Option<DelayedAck>, Diagnostic> {
    if ack.timeout.is_zero() || ack.timeout > Duration::from_secs(10) {
        let message = Diagnostic::new(format!("an acknowledgement delay of {} is not possible", ack.timeout));
        let message = message.allowed("above 0s, at most 10s");
        return Err(table.error(key, message.help("write \"off\" to acknowledge each segment at once")));
    }
    Ok(Some(ack))
}

pub(super) fn read_traffic(
    root: &Reader<'_>,
    link: &BottleneckLink,
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
    let mut groups = Vec::new();
    let mut total = 0u32;
    for (index, node) in items.iter().enumerate() {
        let name = format!("`flows.{index}`");
        let table = Reader::of(root.document(), node, &name)?;
        let group = read_flow(&table, link, tcp, duration, names)?;
        total = total.saturating_add(group.count);
        if total > MAX_FLOWS {
            let message = Diagnostic::new(format!("the flows are {total} in all"));
            return Err(table.error("count", message.allowed(format!("at most {MAX_FLOWS} in all"))));
        }
        groups.push(group);
    }
    Ok(groups)
}

/// `count` bulk TCP flows each way and one ping: the Realtime Response Under Load test of Flent, without its UDP probes.
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
        traffic: Traffic::Tcp { tcp: tcp.clone(), size: None },
    };
    let ping = FlowGroup {
        direction: Direction::Up,
        count: 1,
        start_jitter: Duration::ZERO,
        traffic: Traffic::Ping { interval: DEFAULT_PING_INTERVAL, packet: DEFAULT_PING_BYTES.min(link.mtu) },
        ..bulk(Direction::Up)
    };
    let mut groups = vec![bulk(Direction::Down), bulk(Direction::Up), ping];
    groups.retain(|group| group.count > 0);
    groups
}

fn read_flow(
    table: &Reader<'_>,
    link: &BottleneckLink,
    tcp: &Tcp,
    duration: Duration,
    names: &Names<'_>,
) -> Result<FlowGroup, Diagnostic> {
    let kind = table.choice("kind", "tcp", &["tcp", "ping", "cbr"])?;
    let own: &[&str] = match kind {
        "ping" => &["interval", "packet"],
        "cbr" => &["rate", "packet", "ecn"],
        _ => &["size"],
    };
    let of_tcp = if kind == "tcp" { TCP_KEYS } else { &[] };
    table.only(&[FLOW_KEYS, own, of_tcp].concat())?;
    let traffic = match kind {
        "ping" => read_ping(table, link)?,
        "cbr" => read_cbr(table, link)?,
        _ => {
            let size = table.size("size")?;
            if size == Some(0) {
                let message = Diagnostic::new("a transfer of 0 bytes is not possible");
                return Err(table.error("size", message.help("leave `size` out for a transfer without end")));
            }
            Traffic::Tcp { tcp: read_tcp(table, tcp, link, names)?, size }
        }
    };
    let default = if kind == "ping" { "up" } else { "down" };
    let direction = match table.choice("direction", default, &["down", "up"])? {
        "up" => Direction::Up,
        _ => Direction::Down,
    };
    let group = FlowGroup {
        direction,
        count: table.small("count", 1, 1, MAX_FLOWS)?,
        start: table.time("start")?.unwrap_or_default(),
        start_jitter: table.time("start_jitter")?.unwrap_or_default(),
        together: table.flag("together", false)?,
        stop: table.time("stop")?,
        rtt: read_rtt(table, link.rtt)?,
        traffic,
    };
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

fn read_ping(table: &Reader<'_>, link: &BottleneckLink) -> Result<Traffic, Diagnostic> {
    let interval = table.time("interval")?.unwrap_or(DEFAULT_PING_INTERVAL);
    if interval < MIN_PING_INTERVAL {
        let message = Diagnostic::new(format!("a ping each {interval} is not possible"));
        return Err(table.error("interval", message.allowed(format!("at least {MIN_PING_INTERVAL}"))));
    }
    let packet = read_packet(table, DEFAULT_PING_BYTES.min(link.mtu), link)?;
    Ok(Traffic::Ping { interval, packet })
}

fn read_cbr(table: &Reader<'_>, link: &BottleneckLink) -> Result<Traffic, Diagnostic> {
    let Some(rate) = read_rate_above_0(table, "rate")? else {
        let message = Diagnostic::new("a flow of kind cbr needs a rate").allowed("such as rate = \"64kbit\"");
        return Err(table.error("rate", message));
    };
    let packet = read_packet(table, link.mtu, link)?;
    let interval = rate.serialization(packet);
    if interval.is_zero() {
        let message =
            Diagnostic::new(format!("{packet} bytes at {} are less than 1 ns", units::show_rate(rate)));
        return Err(table.error("rate", message.help("give a lower rate or larger packets")));
    }
    Ok(Traffic::Cbr { rate, packet, ecn: table.flag("ecn", false)? })
}

fn read_packet(table: &Reader<'_>, default: u32, link: &BottleneckLink) -> Result<u32, Diagnostic> {
    let bytes = table.size("packet")?.unwrap_or(u64::from(default));
    u32::try_from(bytes).ok().filter(|bytes| (MIN_PACKET..=link.mtu).contains(bytes)).ok_or_else(|| {
        let message = Diagnostic::new(format!("packets of {bytes} bytes are not possible"));
        table.error(
            "packet",
            message.allowed(format!("{MIN_PACKET} (an IP and a UDP header) to the MTU of {}", link.mtu)),
        )
    })
}

pub(super) const TCP_KEYS: &[&str] = &["cc", "iw", "mss", "delayed_ack", "ecn", "sack", "min_rto", "profile"];
const FLOW_KEYS: &[&str] =
    &["kind", "direction", "count", "start", "start_jitter", "together", "stop", "rtt"];
const RRUL_FLOWS: u32 = 4;
/// Two default round-trip times.
const RRUL_JITTER: Duration = Duration::from_millis(100);
const DEFAULT_PING_INTERVAL: Duration = Duration::from_millis(200);
/// IP and ICMP headers included: small against the MTU, as probes are.
const DEFAULT_PING_BYTES: u32 = 64;
/// IPv4 and TCP headers without options.
const TCP_IP_HEADERS: u32 = 40;
/// IPv4 and UDP headers.
const MIN_PACKET: u32 = 28;
const MIN_PING_INTERVAL: Duration = Duration::from_micros(100);
const MAX_FLOWS: u32 = 100_000;
