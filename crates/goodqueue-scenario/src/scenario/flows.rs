//! `[[flows]]`: the keys that flows of all kinds have.

use goodqueue::{Direction, Duration, Rate};
use goodqueue_tc::diagnostic::{Diagnostic, shortened};
use serde_json::{Value, json};

use super::document::{Node, Raw};
use super::dscp::DSCP;
use super::form::{Form, Maybe, Shape, Unless};
use super::hops::{BOTTLENECK, Hop};
use super::keys::keys;
use super::link::{MAX_RTT, RTT};
use super::plain::{Flag, Speed, TEXT, TIME, Whole, Words, text, whole};
use super::reader::Reader;
use super::traffic::{COUNT, FlowContext, MAX_FLOWS, Traffic};

keys! {
    /// Flows that are alike.
    pub struct FlowGroup(table, around: &FlowContext<'_>) {
        /// Direction of the data. Default for a ping: "up" (its requests).
        direction: Direction = "down", DIRECTION => or(traffic.usual_direction());
        /// Number of flows.
        count: u32 = 1, COUNT;
        /// Start time.
        start: Duration = "0s", TIME;
        /// Largest random addition to each start: uniform, from the seed.
        start_jitter: Duration = "0s", TIME;
        /// One random addition for all flows of the table.
        together: bool = false, Unless(false, Flag);
        /// Stop time. Default: the end of the run.
        stop: Option<Duration> = "50s", Maybe(TIME) => none;
        /// Base round-trip time of these flows. Default: `link.rtt`.
        rtt: Duration = "50ms", RTT => or(around.link.rtt);
        /// Increase of the round-trip time from each flow to the next.
        rtt_step: Duration = "0s", Unless(Duration::ZERO, TIME);
        /// Number of the client, for disciplines that isolate hosts.
        client: u16 = 1, whole(1..=65_535);
        /// Number of the server.
        server: u8 = 1, whole(1..=255);
        /// Name of the flows in results. Default: none.
        label: Option<String> = "voice", Maybe(text("label", 1..=60)) => none;
        /// Hop at which the server attaches: a name, or "bottleneck". Packets skip the hops in
        /// front of it, in both directions. Default: the first hop.
        enters: Option<String> = "bottleneck", Maybe(TEXT) => none;
        /// Delay, each way, between a host and the first queue; part of `rtt`.
        access: Duration = "0s", Unless(Duration::ZERO, TIME);
        /// Rate of each host's own link, for sending. Default: unlimited.
        access_rate: Option<Rate> = "100mbit", Maybe(ACCESS_RATE) => none;
        /// Code point of the packets, both ways: a name ("EF", "CS1", "AF41", "LE") or 0 to 63.
        dscp: u8 = "CS0", Unless(0, DSCP);
    }
    with {
        /// Traffic that the flows send.
        traffic: Traffic;
    }
    first { let traffic = Traffic::read(table, &Self::TABLE.names(), around)?; }
}

const DIRECTION: Words<Direction> = Words(&[("down", Direction::Down), ("up", Direction::Up)]);
const ACCESS_RATE: Speed = Speed {
    refusal: "a host whose link has rate 0 sends nothing",
    allowed: "1bit or more; left out: no limit",
    help: "",
};

impl FlowGroup {
    pub(super) fn to_json(&self) -> Value {
        let mut flow = json!({ "kind": self.traffic.kind() });
        self.write(&mut flow);
        if let Value::Object(keys) = &mut flow
            && (self.client, self.server) == (1, 1)
        {
            keys.retain(|key, _| key != "client" && key != "server");
        }
        self.traffic.write(&mut flow);
        flow
    }

    /// Refuses values that contradict each other.
    fn check(&self, table: &Reader<'_>, around: &FlowContext<'_>) -> Result<(), Diagnostic> {
        // A table has at least one flow (`COUNT`).
        let longest = self.rtt + self.rtt_step.saturating_mul(u64::from(self.count - 1));
        if longest > MAX_RTT {
            let message =
                Diagnostic::new(format!("the last flow's round-trip time of {longest} is not possible"));
            return Err(
                table.error("rtt_step", message.allowed("rtt + (count - 1) * rtt_step of at most 1h"))
            );
        }
        if self.access.saturating_mul(2) > self.rtt {
            let message = Diagnostic::new(format!(
                "{} to the first queue and as much back are more than the round-trip time of {}",
                self.access, self.rtt
            ));
            return Err(
                table.error("access", message.allowed("at most half of `rtt`, of which it is a part"))
            );
        }
        let duration = around.duration;
        let latest = self.start + self.start_jitter;
        if latest >= duration {
            let key = if self.start >= duration { "start" } else { "start_jitter" };
            let message =
                Diagnostic::new(format!("a flow may start at {latest}, when the run of {duration} is over"));
            return Err(table.too_late(
                key,
                message.allowed("start + start_jitter below the duration"),
                latest,
            ));
        }
        if let Some(stop) = self.stop
            && stop <= latest
        {
            let message = Diagnostic::new(format!("a flow may stop at {stop} before it starts at {latest}"));
            return Err(table.error("stop", message.allowed("later than start + start_jitter")));
        }
        check_entrance(table, self.enters.as_deref(), around.hops)
    }
}

pub(super) fn read_traffic(
    root: &Reader<'_>,
    around: &FlowContext<'_>,
) -> Result<Vec<FlowGroup>, Diagnostic> {
    let items = match root.node("flows") {
        None => return rrul_traffic(root, RRUL_FLOWS, around),
        Some(Node { raw: Raw::List(items), .. }) => items,
        Some(node) => {
            // An option of the command line takes a number only.
            if !matches!(node.raw, Raw::Integer(_)) && !node.is_from_an_option() {
                let message = Diagnostic::new(format!("{} is not possible", node.sort()));
                let form = "[[flows]] tables, or one number: so many TCP flows each way and a ping";
                return Err(root.error("flows", message.allowed(form)));
            }
            let explained = |error: Diagnostic| {
                error.help(format!(
                    "the number counts the TCP flows of one direction; both directions and the ping are at most {MAX_FLOWS} flows"
                ))
            };
            let count = EACH_WAY.read(root, "flows", node).map_err(explained)?;
            return rrul_traffic(root, count, around);
        }
    };
    let mut groups = Vec::new();
    let mut total = 0u32;
    let mut objects = 0u64;
    let mut quic_flows = 0u32;
    for (index, node) in items.iter().enumerate() {
        let name = format!("`flows.{index}`");
        let table = Reader::of_table(root.document(), node, &name)?;
        let group = FlowGroup::read(&table, around)?;
        group.check(&table, around)?;
        total = total.saturating_add(group.count);
        if total > MAX_FLOWS {
            let message = Diagnostic::new(format!("the flows of the tables up to this one are {total}"));
            return Err(table.error("count", message.allowed(format!("at most {MAX_FLOWS} in all"))));
        }
        if let Traffic::Quic(_) | Traffic::QuicTransfers(_) = &group.traffic {
            // `total` bounds this sum, too.
            quic_flows += group.count;
            if quic_flows > MAX_QUIC_FLOWS {
                let message =
                    Diagnostic::new(format!("the QUIC flows of the tables up to this one are {quic_flows}"));
                return Err(table.error("count", message.allowed(format!("at most {MAX_QUIC_FLOWS} in all"))));
            }
        }
        if let Traffic::Web(web) = &group.traffic {
            objects = objects.saturating_add(web.requests());
            if objects > MAX_OBJECTS_IN_ALL {
                let message = Diagnostic::new(format!(
                    "the web pages of the tables up to this one have {objects} objects"
                ));
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

/// QUIC flows of all tables. One takes about 60 kB of memory.
const MAX_QUIC_FLOWS: u32 = 10_000;

/// `count` bulk TCP flows each way and one ping: the Realtime Response Under Load test of Flent,
/// without its UDP probes.
fn rrul_traffic(
    root: &Reader<'_>,
    count: u32,
    around: &FlowContext<'_>,
) -> Result<Vec<FlowGroup>, Diagnostic> {
    let nothing = root.empty();
    let usual = FlowGroup::read(&nothing, around)?;
    // In a run shorter than a second, too, all flows start early.
    let jitter = Duration::from_nanos(around.duration.as_nanos() / 10).min(RRUL_JITTER);
    let bulk = |direction| FlowGroup { direction, count, start_jitter: jitter, ..usual.clone() };
    let ping =
        FlowGroup { direction: Direction::Up, traffic: Traffic::ping(&nothing, around)?, ..usual.clone() };
    let mut groups = vec![bulk(Direction::Down), bulk(Direction::Up), ping];
    // `flows = 0` is a ping alone.
    groups.retain(|group| group.count > 0);
    Ok(groups)
}

/// `enters`: the name of a hop, or `bottleneck`.
fn check_entrance(table: &Reader<'_>, name: Option<&str>, hops: &[Hop]) -> Result<(), Diagnostic> {
    let Some(name) = name else { return Ok(()) };
    let known: Vec<&str> = hops.iter().map(|hop| hop.name.as_str()).chain([BOTTLENECK]).collect();
    if !known.contains(&name) {
        let message = Diagnostic::new(format!("there is no hop `{}`", shortened(name)));
        return Err(table.error("enters", message.one_of(name, &known)));
    }
    if Hop::position(hops, Some(name)) > 0 && hops.iter().any(|hop| hop.rest) {
        let message = Diagnostic::new("a server cannot attach at a later hop if a hop has `rest = true`");
        return Err(table.error("enters", message.help("leave out one of the two")));
    }
    Ok(())
}

/// Returns the JSON schema of `flows`.
pub(super) fn flows_schema() -> Value {
    json!({ "anyOf": [
        Shape::<u32>::schema(&EACH_WAY),
        { "type": "array", "items": { "anyOf": Traffic::schemas(&FlowGroup::TABLE) } },
    ] })
}

/// TCP flows each way of a number in place of tables, which stands for a ping, too.
const EACH_WAY: Whole = whole(0..=(MAX_FLOWS as u64 - 1) / 2);
// As many as Flent's RRUL has.
const RRUL_FLOWS: u32 = 4;

/// Two default round-trip times.
const RRUL_JITTER: Duration = Duration::from_millis(100);
