//! `[[hops]]`: further links in series with the bottleneck, each with disciplines of its own.

use goodqueue::{Direction, Duration, Link};
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::json;

use super::discipline::{Discipline, line_schema, read_discipline};
use super::document::{Node, Raw};
use super::ends::{LINK_END, LinkEnd, LinkRate};
use super::form::{Context, Form, Unless, object};
use super::keys::keys;
use super::link::{BottleneckLink, LinkContext};
use super::plain::{Flag, TEXT, TIME, Words, text};
use super::reader::Reader;

keys! {
    /// A link beside the bottleneck.
    pub struct Hop(table, around: &HopContext<'_>) {
        /// Name in results. Default: hop 1, hop 2, ...
        name: String = "modem", text("name", 1..=100) => or(format!("hop {}", around.number));
        /// Side of the bottleneck: "client" or "server".
        side: Side = "client", SIDE;
        /// Rate towards the clients, like `link.down`. Default: "unlimited", a link that takes no
        /// time.
        down: LinkEnd = "20mbit", LINK_END
            => from(around.ends.end(table, "down", Direction::Down)?.unwrap_or(LinkEnd::plain(LinkRate::Unlimited)));
        /// Rate towards the servers. Default: the value of `down`.
        up: LinkEnd = "2mbit", LINK_END
            => from(around.ends.end(table, "up", Direction::Up)?.unwrap_or_else(|| down.clone()));
        /// Propagation delay to the next hop towards the bottleneck, each way. It is part of the
        /// flows' `rtt`. If a hop on the server side has all of it, downloads cross the long path
        /// before the bottleneck.
        delay: Duration = "0s", TIME;
        /// The part of a flow's `rtt` that is in no `delay` and no `access` lies between this hop
        /// and the next one towards the bottleneck, and not behind the last link. Servers at
        /// different distances then share this hop. Allowed: for one hop, on the server side.
        rest: bool = false, Unless(false, Flag);
        /// Disciplines: a line, { down = "...", up = "..." }, or "compared" for the discipline
        /// under comparison.
        qdisc: HopQdisc = "pfifo", QDISC => from({
            let seen = [as_seen_by_qdisc(around.link, Direction::Down, &down.rate),
                as_seen_by_qdisc(around.link, Direction::Up, &up.rate)];
            read_qdisc(table, &seen)?
        });
    }
}

/// What the keys of a hop refer to.
pub(super) struct HopContext<'a> {
    /// From 1.
    number: usize,
    link: &'a BottleneckLink,
    ends: &'a LinkContext,
}

const SIDE: Words<Side> = Words(&[("client", Side::Client), ("server", Side::Server)]);

/// The disciplines of a hop or of a WiFi channel.
pub(super) const QDISC: Context<HopQdisc> = Context {
    write: |qdisc| match qdisc {
        HopQdisc::Compared => json!("compared"),
        HopQdisc::Fixed(on) => {
            json!({ "down": tc::to_tc(&on[0].config), "up": tc::to_tc(&on[1].config) })
        }
    },
    schema: || {
        let lines = json!({ "down": line_schema(), "up": line_schema() });
        json!({ "anyOf": [line_schema(), object(&lines, &["down", "up"])] })
    },
    quantity: None,
};

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
    ends: &LinkContext,
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
        let table = Reader::of_table(root.document(), node, &name)?;
        table.only(&Hop::TABLE.names())?;
        let hop = Hop::read(&table, &HopContext { number: index + 1, link, ends })?;
        if hop.name == BOTTLENECK {
            let message = Diagnostic::new(format!("a hop cannot be called `{BOTTLENECK}`"));
            let help = "this is the name of the scenario's link, for example in `enters`; choose another one";
            return Err(table.error("name", message.help(help)));
        }
        // Results and `enters` know a hop by its name.
        if hops.iter().any(|earlier| earlier.name == hop.name) {
            let message = Diagnostic::new(format!("two hops are called `{}`", hop.name));
            return Err(table.error("name", message.help("give each hop a name of its own")));
        }
        if hop.rest && hop.side == Side::Client {
            let message = Diagnostic::new("a hop on the client side cannot have the rest of the delays");
            return Err(
                table.error("rest", message.help("leave it out, so that the rest is behind the last link"))
            );
        }
        if hop.rest && hops.iter().any(|earlier| earlier.rest) {
            let message = Diagnostic::new("two hops have the rest of the delays");
            let help = "keep `rest = true` at the hop that the servers share";
            return Err(table.error("rest", message.allowed("one hop").help(help)));
        }
        hops.push(hop);
    }
    Ok(hops)
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
            let inner = Reader::of_table(document, node, "`qdisc`")?;
            inner.only(&["down", "up"])?;
            let read = |key: &str, link: &Link| match inner.node(key) {
                Some(at) => read_discipline(document, at, &TEXT.read(&inner, key, at)?, link),
                None => Err(inner.error(key, Diagnostic::new(format!("`{key}` is missing")).allowed(FORMS))),
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
pub(super) fn as_seen_by_qdisc(link: &BottleneckLink, direction: Direction, rate: &LinkRate) -> Link {
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
        // The order is that of the path, and not that of the tables in the file.
        let mut all = on(Side::Server).chain([BOTTLENECK]).chain(on(Side::Client));
        // Names that are none were refused before (`check_entrance`).
        name.and_then(|name| all.position(|other| other == name)).unwrap_or(0)
    }

    /// One way, in both directions: the delays of the hops from this one on, which are a part of a
    /// flow's round-trip time.
    pub(super) fn delay_from(hops: &[Self], name: Option<&str>) -> Duration {
        let on = |side| hops.iter().filter(move |hop| hop.side == side).map(|hop| hop.delay);
        let delays = on(Side::Server).chain(on(Side::Client)).skip(Self::position(hops, name));
        delays.fold(Duration::ZERO, |sum, delay| sum + delay)
    }
}

/// Name of the bottleneck in `enters`.
pub(crate) const BOTTLENECK: &str = "bottleneck";

const FORMS: &str = "a line in tc's grammar in quotes, { down = \"...\", up = \"...\" }, or \"compared\"";
const DEFAULT_QDISC: &str = "pfifo";
const MAX_HOPS: usize = 32;
