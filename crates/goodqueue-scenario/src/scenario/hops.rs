//! `[[hops]]`: further links in series with the bottleneck, each with disciplines of its own.

use goodqueue::{Direction, Duration, Link};
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::discipline::{Discipline, read_discipline};
use super::document::{Node, Raw};
use super::link::{BottleneckLink, LinkEnd, LinkRate, read_link_end};
use super::reader::Reader;

/// A link beside the bottleneck.
#[derive(Clone, PartialEq, Debug)]
pub struct Hop {
    /// Name in results.
    pub name: String,
    /// Side of the bottleneck.
    pub side: Side,
    /// Towards the client.
    pub down: LinkEnd,
    /// From the client.
    pub up: LinkEnd,
    /// Propagation delay to the next hop towards the bottleneck, each way; a part of the flows'
    /// round-trip time.
    pub delay: Duration,
    /// Its disciplines.
    pub qdisc: HopQdisc,
}

/// On which side of the bottleneck something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Between the servers and the bottleneck.
    Server,
    /// Between the bottleneck and the clients.
    Client,
}

/// The disciplines of a hop.
#[derive(Clone, PartialEq, Debug)]
pub enum HopQdisc {
    /// Always these: down, up.
    Fixed(Box<[Discipline; 2]>),
    /// Those of the run, as at the bottleneck.
    Compared,
}

pub(super) fn read_hops(
    root: &Reader<'_>,
    link: &BottleneckLink,
    duration: Duration,
) -> Result<Vec<Hop>, Diagnostic> {
    let items = match root.node("hops") {
        None => return Ok(Vec::new()),
        Some(Node { raw: Raw::List(items), .. }) => items,
        Some(node) => {
            let message = Diagnostic::new(format!("{} is not possible", node.sort()));
            return Err(root.error("hops", message.allowed("[[hops]] tables")));
        }
    };
    if items.len() > MAX_HOPS {
        let message = Diagnostic::new(format!("{} hops are too many", items.len()));
        return Err(root.error("hops", message.allowed(format!("at most {MAX_HOPS}"))));
    }
    let mut hops: Vec<Hop> = Vec::new();
    for (index, node) in items.iter().enumerate() {
        let name = format!("`hops.{index}`");
        let table = Reader::of(root.document(), node, &name)?;
        let hop = read_hop(&table, index, link, duration)?;
        if hops.iter().any(|earlier| earlier.name == hop.name) {
            let message = Diagnostic::new(format!("two hops are called `{}`", hop.name));
            return Err(table.error("name", message.help("give each hop a name of its own")));
        }
        hops.push(hop);
    }
    Ok(hops)
}

fn read_hop(
    table: &Reader<'_>,
    index: usize,
    link: &BottleneckLink,
    duration: Duration,
) -> Result<Hop, Diagnostic> {
    table.only(&["name", "side", "down", "up", "delay", "qdisc"])?;
    let unlimited = || LinkEnd { rate: LinkRate::Unlimited, driver: None, pause: None };
    let down =
        read_link_end(table, "down", duration, link.line_rate(Direction::Down))?.unwrap_or_else(unlimited);
    let up =
        read_link_end(table, "up", duration, link.line_rate(Direction::Up))?.unwrap_or_else(|| down.clone());
    let name = match table.text("name")? {
        None => format!("hop {}", index + 1),
        Some(name) if name.is_empty() || name.len() > MAX_NAME => {
            let message = Diagnostic::new("this cannot be the name of a hop");
            return Err(table.error("name", message.allowed(format!("1 to {MAX_NAME} bytes"))));
        }
        Some(name) => name.to_owned(),
    };
    let side = match table.choice("side", "client", &["client", "server"])? {
        "server" => Side::Server,
        _ => Side::Client,
    };
    let seen = [(Direction::Down, &down), (Direction::Up, &up)]
        .map(|(direction, end)| as_seen_by_qdisc(link, direction, &end.rate));
    Ok(Hop {
        name,
        side,
        delay: table.time("delay")?.unwrap_or_default(),
        qdisc: read_qdisc(table, &seen)?,
        down,
        up,
    })
}

pub(super) fn read_qdisc(table: &Reader<'_>, seen: &[Link; 2]) -> Result<HopQdisc, Diagnostic> {
    let document = table.document();
    let Some(node) = table.node("qdisc") else {
        let plain = |link: &Link| {
            let config = tc::parse(DEFAULT_QDISC, link)?;
            Ok(Discipline { given: DEFAULT_QDISC.to_owned(), config })
        };
        return Ok(HopQdisc::Fixed(Box::new([plain(&seen[0])?, plain(&seen[1])?])));
    };
    match &node.raw {
        Raw::Text(word) if word == "compared" => Ok(HopQdisc::Compared),
        Raw::Text(line) => {
            let read = |link: &Link| read_discipline(document, node, line, link);
            Ok(HopQdisc::Fixed(Box::new([read(&seen[0])?, read(&seen[1])?])))
        }
        Raw::Table(_) => {
            let inner = Reader::of(document, node, "`qdisc`")?;
            inner.only(&["down", "up"])?;
            let read = |key: &str, link: &Link| match (inner.text(key)?, inner.node(key)) {
                (Some(line), Some(at)) => read_discipline(document, at, line, link),
                _ => Err(inner.error(key, Diagnostic::new(format!("`{key}` is missing")).allowed(FORMS))),
            };
            Ok(HopQdisc::Fixed(Box::new([read("down", &seen[0])?, read("up", &seen[1])?])))
        }
        _ => {
            let message = Diagnostic::new(format!("{} is not a queue discipline", node.sort()));
            Err(document.at(message.allowed(FORMS), node))
        }
    }
}

/// Returns the properties of its link from which a discipline of a hop derives its defaults.
fn as_seen_by_qdisc(link: &BottleneckLink, direction: Direction, rate: &LinkRate) -> Link {
    let seen = link.as_seen_by_qdisc(direction, rate);
    match rate {
        // On a link without a rate a discipline derives its defaults from the line, or from tc's
        // default rate.
        LinkRate::Unlimited if link.line.is_none() => Link { rate: Link::default().rate, ..seen },
        _ => seen,
    }
}

impl Hop {
    /// Returns the position of a hop or of the bottleneck, counted from the servers. Without a name
    /// this is the first position.
    pub(crate) fn position(hops: &[Self], name: Option<&str>) -> usize {
        let on = |side| hops.iter().filter(move |hop| hop.side == side).map(|hop| hop.name.as_str());
        let mut all = on(Side::Server).chain([BOTTLENECK]).chain(on(Side::Client));
        name.and_then(|name| all.position(|other| other == name)).unwrap_or(0)
    }

    /// One way, in both directions: the delays of the hops from this one on, which are a part of a
    /// flow's round-trip time.
    pub(super) fn delay_from(hops: &[Self], name: Option<&str>) -> Duration {
        let on = |side| hops.iter().filter(move |hop| hop.side == side).map(|hop| hop.delay);
        let delays = on(Side::Server).chain(on(Side::Client)).skip(Self::position(hops, name));
        delays.fold(Duration::ZERO, |sum, delay| {
            Duration::from_nanos(sum.as_nanos().saturating_add(delay.as_nanos()))
        })
    }

    pub(super) fn to_json(&self) -> Value {
        let qdisc = match &self.qdisc {
            HopQdisc::Compared => json!("compared"),
            HopQdisc::Fixed(on) => {
                json!({ "down": tc::to_tc(&on[0].config), "up": tc::to_tc(&on[1].config) })
            }
        };
        json!({
            "name": self.name,
            "side": match self.side { Side::Client => "client", Side::Server => "server" },
            "down": self.down.to_json(),
            "up": self.up.to_json(),
            "delay": self.delay.to_string(),
            "qdisc": qdisc,
        })
    }
}

/// Name of the bottleneck in `enters`.
pub(crate) const BOTTLENECK: &str = "bottleneck";

const FORMS: &str = "a line in tc's grammar in quotes, { down = \"...\", up = \"...\" }, or \"compared\"";
const DEFAULT_QDISC: &str = "pfifo";
const MAX_HOPS: usize = 32;
const MAX_NAME: usize = 100;
