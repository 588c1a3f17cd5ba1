//! From a document to a scenario: defaults filled in, units read, traces loaded, ranges checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use goodqueue::{Duration, Link, Rate};

use super::document::{Document, Node, Origin, Raw};
use super::reader::{Reader, measured};
use super::{
    BottleneckLink, DelayedAck, Direction, Discipline, FlowGroup, LinkRate, Names, Output, QdiscChoice,
    Scenario, Tcp, Traffic,
};
use crate::diagnostic::{Diagnostic, shortened};
use crate::trace::Trace;
use crate::{tc, units};

/// Traces that were loaded already, so that the points of a sweep share them.
pub(crate) type Traces = BTreeMap<PathBuf, Arc<Trace>>;

impl Document {
    /// The scenario that this document describes, without its sweep.
    ///
    /// # Errors
    /// An unknown key, a value of the wrong sort or out of range, a trace or a discipline that cannot be read.
    pub fn resolve(&self, names: &Names<'_>) -> Result<Scenario, Diagnostic> {
        self.resolve_with(names, &mut Traces::new())
    }

    pub(crate) fn resolve_with(
        &self,
        names: &Names<'_>,
        traces: &mut Traces,
    ) -> Result<Scenario, Diagnostic> {
        let root = Reader::root(self);
        root.only(ROOT_KEYS)?;
        let duration = root.time("duration")?.unwrap_or(DEFAULT_DURATION);
        if duration.is_zero() || duration > MAX_DURATION {
            let message = Diagnostic::new(format!("a run of {duration} is not possible"));
            return Err(
                root.error("duration", message.allowed(format!("more than 0s, at most {MAX_DURATION}")))
            );
        }
        let warmup = root.time("warmup")?.unwrap_or(Duration::ZERO);
        if warmup >= duration {
            let message =
                Diagnostic::new(format!("a warm-up of {warmup} leaves nothing of a run of {duration}"));
            return Err(root.error("warmup", message.allowed("less than the duration")));
        }
        let seeds = root.small("seeds", 1, 1, MAX_SEEDS)?;
        let link = read_link(&root, traces)?;
        let tcp_table = root.table("tcp", "[tcp]")?;
        tcp_table.only(TCP_KEYS)?;
        let tcp = read_tcp(&tcp_table, &default_tcp(&link, names), &link, names)?;
        Ok(Scenario {
            name: read_name(&root)?,
            title: read_words(&root, "title")?,
            question: read_words(&root, "question")?,
            expect: read_words(&root, "expect")?,
            source: read_words(&root, "source")?,
            duration,
            warmup,
            seed: root.integer("seed", 1, 0, u64::MAX - u64::from(seeds))?,
            seeds,
            qdiscs: read_qdiscs(&root, &link)?,
            flows: read_traffic(&root, &link, &tcp, duration, names)?,
            output: read_output(&root, duration)?,
            link,
            tcp,
        })
    }
}

/// Names go into paths: nothing that a file system or a shell gives a meaning to.
fn read_name(root: &Reader<'_>) -> Result<String, Diagnostic> {
    let plain = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    let Some(given) = root.text("name")? else {
        let stem: String = root.document().stem().unwrap_or("rrul").chars().take(MAX_NAME).collect();
        let mut name = stem.replace(|character| !plain(character), "-");
        if name.starts_with('.') || name.is_empty() {
            name.insert(0, '-');
        }
        return Ok(name);
    };
    if given.is_empty() || given.len() > MAX_NAME || given.starts_with('.') || !given.chars().all(plain) {
        let message = Diagnostic::new(format!("`{}` cannot be the name of files", shortened(given)));
        return Err(root.error(
            "name",
            message
                .allowed(format!(
                    "1 to {MAX_NAME} of the characters A-Z a-z 0-9 . _ -, not beginning with a dot"
                ))
                .help("put free text into `title`"),
        ));
    }
    Ok(given.to_owned())
}

fn read_words(root: &Reader<'_>, key: &str) -> Result<String, Diagnostic> {
    let text = root.text(key)?.unwrap_or("");
    if text.len() > MAX_WORDS {
        let message = Diagnostic::new("the text is too long").allowed(format!("at most {MAX_WORDS} bytes"));
        return Err(root.error(key, message.at(0..0)));
    }
    Ok(text.to_owned())
}

fn read_link(root: &Reader<'_>, traces: &mut Traces) -> Result<BottleneckLink, Diagnostic> {
    let table = root.table("link", "[link]")?;
    table.only(&["down", "up", "rtt", "mtu", "framing"])?;
    let down = read_link_rate(&table, "down", traces)?;
    let up = read_link_rate(&table, "up", traces)?;
    // A line of which one rate is given is symmetric; the 10/1 line of `compare` is what nothing given means.
    let default_up = down.clone().unwrap_or(LinkRate::Fixed(DEFAULT_UP));
    Ok(BottleneckLink {
        down: down.unwrap_or(LinkRate::Fixed(DEFAULT_DOWN)),
        up: up.unwrap_or(default_up),
        rtt: read_rtt(&table, DEFAULT_RTT)?,
        mtu: table.small("mtu", 1500, 68, 65_535)?,
        framing: table.small("framing", 14, 0, 1000)?,
    })
}

fn read_rtt(table: &Reader<'_>, default: Duration) -> Result<Duration, Diagnostic> {
    let rtt = table.time("rtt")?.unwrap_or(default);
    if rtt > MAX_RTT {
        let message = Diagnostic::new(format!("a base round-trip time of {rtt} is not possible"));
        return Err(table.error("rtt", message.allowed("at most 1h")));
    }
    Ok(rtt)
}

fn read_link_rate(
    table: &Reader<'_>,
    key: &str,
    traces: &mut Traces,
) -> Result<Option<LinkRate>, Diagnostic> {
    let Some(node) = table.node(key) else { return Ok(None) };
    let Raw::Table(_) = node.raw else {
        return read_rate_above_0(table, key).map(|rate| rate.map(LinkRate::Fixed));
    };
    let name = format!("`link.{key}`");
    let inner = Reader::of(table.document(), node, &name)?;
    inner.only(&["rate", "trace", "schedule"])?;
    let forms = ["rate", "trace", "schedule"].into_iter().filter(|form| inner.node(form).is_some());
    match forms.collect::<Vec<_>>().as_slice() {
        ["rate"] => read_rate_above_0(&inner, "rate").map(|rate| rate.map(LinkRate::Fixed)),
        ["trace"] => read_trace(&inner, traces).map(Some),
        ["schedule"] => read_schedule(&inner).map(|steps| Some(LinkRate::Schedule(steps))),
        given => {
            let message =
                Diagnostic::new(format!("{} of `rate`, `trace` and `schedule` are given", given.len()));
            Err(table.error(key, message.allowed("exactly one of the three")))
        }
    }
}

fn read_rate_above_0(table: &Reader<'_>, key: &str) -> Result<Option<Rate>, Diagnostic> {
    let rate = table.rate(key)?;
    if rate == Some(Rate::from_bps(0)) {
        let message = Diagnostic::new("at a rate of 0 nothing ever leaves the queue");
        let message = message.allowed("a rate above 0");
        return Err(table.error(key, message.help("for an outage write a schedule with a step of \"0bit\"")));
    }
    Ok(rate)
}

fn read_trace(table: &Reader<'_>, traces: &mut Traces) -> Result<LinkRate, Diagnostic> {
    let (Some(file), Some(node)) = (table.text("trace")?, table.node("trace")) else {
        return Err(table.error("trace", Diagnostic::new("no file is given")));
    };
    let path = match node.origin {
        Origin::File(_) => table.document().folder().join(file),
        _ => Path::new(file).to_owned(),
    };
    let trace = match traces.get(&path) {
        Some(trace) => Arc::clone(trace),
        None => {
            let trace = Arc::new(Trace::load(&path)?);
            traces.insert(path.clone(), Arc::clone(&trace));
            trace
        }
    };
    Ok(LinkRate::Trace { file: path, trace })
}

fn read_schedule(table: &Reader<'_>) -> Result<Vec<(Duration, Rate)>, Diagnostic> {
    let form = "a list of [time, rate] in quotes, such as [[\"0s\", \"100mbit\"], [\"50s\", \"10mbit\"]]";
    let document = table.document();
    let Some(Node { raw: Raw::List(steps), .. }) = table.node("schedule") else {
        return Err(table.error("schedule", Diagnostic::new("this is not a list").allowed(form)));
    };
    let mut schedule: Vec<(Duration, Rate)> = Vec::new();
    for step in steps {
        let pair = match &step.raw {
            Raw::List(pair) => pair.as_slice(),
            _ => &[],
        };
        let [at, rate] = pair else {
            return Err(document.at(Diagnostic::new("this is not a step of a schedule").allowed(form), step));
        };
        let text = |node: &Node| {
            measured(node).ok_or_else(|| {
                document.at(Diagnostic::new(format!("{} is not possible", node.sort())).allowed(form), node)
            })
        };
        let time = units::time(&text(at)?).map_err(|error| document.at(error, at))?;
        let value = units::rate(&text(rate)?).map_err(|error| document.at(error, rate))?;
        match schedule.last() {
            None if !time.is_zero() => {
                let message =
                    Diagnostic::new(format!("the schedule begins at {time}")).allowed("a first step at 0s");
                return Err(document.at(message, at));
            }
            Some((previous, _)) if time <= *previous => {
                let message = Diagnostic::new(format!("{time} does not come after {previous}"));
                return Err(document.at(message.allowed("times that increase"), at));
            }
            _ => schedule.push((time, value)),
        }
    }
    if schedule.iter().all(|(_, rate)| *rate == Rate::from_bps(0)) {
        let message = Diagnostic::new("the schedule has no step with a rate above 0").allowed(form);
        return Err(table.error("schedule", message));
    }
    Ok(schedule)
}

fn read_qdiscs(root: &Reader<'_>, link: &BottleneckLink) -> Result<Vec<QdiscChoice>, Diagnostic> {
    let document = root.document();
    let mut choices: Vec<QdiscChoice> = Vec::new();
    let listed = match root.node("qdiscs") {
        None => {
            let default = |line: &&str| {
                let discipline = |rate: &LinkRate| {
                    let config = tc::parse(line, &link.as_seen_by_qdisc(rate))?;
                    Ok(Discipline { given: (*line).to_owned(), config })
                };
                let (down, up) = (discipline(&link.down)?, discipline(&link.up)?);
                Ok(QdiscChoice { label: (*line).to_owned(), down, up })
            };
            return DEFAULT_QDISCS.iter().map(default).collect();
        }
        Some(Node { raw: Raw::List(items), .. }) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
    };
    for node in listed {
        let choice = match &node.raw {
            Raw::Text(line) => {
                let down = read_discipline(document, node, line, &link.as_seen_by_qdisc(&link.down))?;
                let up = read_discipline(document, node, line, &link.as_seen_by_qdisc(&link.up))?;
                QdiscChoice { label: line.split_whitespace().collect::<Vec<_>>().join(" "), down, up }
            }
            _ => read_qdisc_table(document, node, link)?,
        };
        if choices.iter().any(|earlier| earlier.label == choice.label) {
            let message = Diagnostic::new(format!("`{}` is listed twice", shortened(&choice.label)));
            return Err(document.at(message.help("remove one of the two, or give it another label"), node));
        }
        choices.push(choice);
    }
    if choices.is_empty() {
        return Err(
            root.error("qdiscs", Diagnostic::new("the list is empty").allowed("at least one discipline"))
        );
    }
    Ok(choices)
}

fn read_qdisc_table(
    document: &Document,
    node: &Node,
    link: &BottleneckLink,
) -> Result<QdiscChoice, Diagnostic> {
    let Raw::Table(_) = node.raw else {
        let message = Diagnostic::new(format!("{} is not a queue discipline", node.sort()));
        let form =
            "a line in tc's grammar in quotes, or a table { label = \"...\", down = \"...\", up = \"...\" }";
        return Err(document.at(message.allowed(form), node));
    };
    let table = Reader::of(document, node, "the table in `qdiscs`")?;
    table.only(&["label", "down", "up"])?;
    let missing = || Diagnostic::new("the table in `qdiscs` has no `down`").allowed("a line in tc's grammar");
    let (Some(down_line), Some(down_node)) = (table.text("down")?, table.node("down")) else {
        return Err(document.at(missing(), node));
    };
    let (up_line, up_node) = match (table.text("up")?, table.node("up")) {
        (Some(line), Some(up_node)) => (line, up_node),
        _ => (down_line, down_node),
    };
    let label = match table.text("label")? {
        Some("") => return Err(table.error("label", Diagnostic::new("the label is empty"))),
        Some(label) if label.len() > MAX_LABEL => {
            let message =
                Diagnostic::new("the label is too long").allowed(format!("at most {MAX_LABEL} bytes"));
            return Err(table.error("label", message));
        }
        Some(label) => label.to_owned(),
        None if down_line == up_line => down_line.to_owned(),
        None => format!("{down_line} / {up_line}"),
    };
    let down = read_discipline(document, down_node, down_line, &link.as_seen_by_qdisc(&link.down))?;
    let up = read_discipline(document, up_node, up_line, &link.as_seen_by_qdisc(&link.up))?;
    Ok(QdiscChoice { label, down, up })
}

fn read_discipline(
    document: &Document,
    node: &Node,
    line: &str,
    link: &Link,
) -> Result<Discipline, Diagnostic> {
    let config = tc::parse(line, link).map_err(|error| document.at(error, node))?;
    Ok(Discipline { given: line.to_owned(), config })
}

fn default_tcp(link: &BottleneckLink, names: &Names<'_>) -> Tcp {
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

fn read_tcp(
    table: &Reader<'_>,
    default: &Tcp,
    link: &BottleneckLink,
    names: &Names<'_>,
) -> Result<Tcp, Diagnostic> {
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
        profile: table.choice("profile", &default.profile, names.profiles)?.to_owned(),
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

fn read_traffic(
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

fn read_output(root: &Reader<'_>, duration: Duration) -> Result<Output, Diagnostic> {
    let table = root.table("output", "[output]")?;
    table.only(&["json", "report", "series"])?;
    let path = |key: &str| match table.text(key) {
        Ok(Some("")) => Err(table.error(key, Diagnostic::new("the path is empty"))),
        Ok(path) => Ok(path.map(str::to_owned)),
        Err(error) => Err(error),
    };
    let series = table.time("series")?;
    if let Some(step) = series
        && (step < Duration::from_millis(1)
            || step > duration
            || duration.as_nanos() / step.as_nanos() > MAX_STEPS)
    {
        let message =
            Diagnostic::new(format!("a time series in steps of {step} over {duration} is not possible"));
        let allowed = format!("1ms to the duration, at most {MAX_STEPS} steps");
        return Err(table.error("series", message.allowed(allowed)));
    }
    Ok(Output { json: path("json")?, report: path("report")?, series })
}

const ROOT_KEYS: &[&str] = &[
    "name", "title", "question", "expect", "source", "duration", "warmup", "seed", "seeds", "qdiscs", "link",
    "tcp", "flows", "sweep", "output",
];
const TCP_KEYS: &[&str] = &["cc", "iw", "mss", "delayed_ack", "ecn", "sack", "min_rto", "profile"];
const FLOW_KEYS: &[&str] = &["kind", "direction", "count", "start", "start_jitter", "stop", "rtt"];

/// One of each family: plain FIFO (with the room that sfq has by default), AQM on one queue, flow queueing without and
/// with AQM.
const DEFAULT_QDISCS: &[&str] = &["pfifo limit 127", "red adaptive", "pie", "codel", "sfq", "fq_codel"];

const DEFAULT_DURATION: Duration = Duration::from_secs(60);
const DEFAULT_DOWN: Rate = Rate::from_bps(10_000_000);
const DEFAULT_UP: Rate = Rate::from_bps(1_000_000);
const DEFAULT_RTT: Duration = Duration::from_millis(50);
const DEFAULT_PING_INTERVAL: Duration = Duration::from_millis(200);
/// IP and ICMP headers included: small against the MTU, as probes are.
const DEFAULT_PING_BYTES: u32 = 64;
const RRUL_FLOWS: u32 = 4;
/// Two default round-trip times.
const RRUL_JITTER: Duration = Duration::from_millis(100);
/// IPv4 and TCP headers without options.
const TCP_IP_HEADERS: u32 = 40;
/// IPv4 and UDP headers.
const MIN_PACKET: u32 = 28;

const MAX_DURATION: Duration = Duration::from_secs(1_000_000);
const MAX_RTT: Duration = Duration::from_secs(3600);
const MIN_PING_INTERVAL: Duration = Duration::from_micros(100);
const MAX_SEEDS: u32 = 100_000;
const MAX_FLOWS: u32 = 100_000;
const MAX_STEPS: u64 = 1_000_000;
const MAX_NAME: usize = 100;
const MAX_LABEL: usize = 200;
const MAX_WORDS: usize = 10_000;
