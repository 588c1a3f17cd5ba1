//! `[wifi]`: a channel of 802.11n between the last link and the clients.

use goodqueue::codel::CeSelector;
use goodqueue::{Direction, Duration};
use goodqueue_sim::wifi::RadioConfig;
use goodqueue_sim::wifi::block_ack::WINDOW;
use goodqueue_sim::wifi::forming::Forming;
use goodqueue_sim::wifi::order::Order;
use goodqueue_sim::wifi::phy::{MAX_PPDU, Modulation, Width};
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units::show_number;
use serde_json::json;

use super::document::{Node, Raw};
use super::flows::FlowGroup;
use super::form::{Context, Form, Maybe, Own};
use super::hops::{HopQdisc, QDISC, read_qdisc};
use super::keys::{keys, written};
use super::link::BottleneckLink;
use super::plain::{Flag, NUMBER, TIME, Words, size, time, whole};
use super::reader::Reader;

keys! {
    /// A WiFi channel: an access point, and the clients.
    pub struct Wifi(table, around: &WifiContext<'_>) {
        /// Queue of the access point: "fifo" is a discipline above a driver, "fq" is the MAC's own
        /// fair queueing.
        mac: WifiMac = "fifo", MAC;
        /// The same for the clients.
        mac_up: WifiMac = "fifo", MAC;
        /// Discipline above the drivers, as in `[[hops]]`.
        qdisc: HopQdisc = "compared", QDISC => from(around.qdisc(table)?);
        /// Packets in the access point's driver, per access category (ath9k's `ATH_MAX_QDEPTH`: a
        /// quarter of its 512 buffers, less 5 in reserve).
        driver: u32 = 123, whole(1..=MAX_DRIVER);
        /// Packets in a client's driver. Default: the value of `driver`.
        driver_up: u32 = 123, whole(1..=MAX_DRIVER) => or(driver);
        /// Station that the access point's driver serves next: "turns" takes the stations in turn
        /// (ath9k), "oldest" takes the station whose first packet has waited longest (ns-3).
        driver_order: Order = "turns", Words(&[("turns", Order::Turns), ("oldest", Order::OldestHead)]);
        /// For "fq": share airtime among the stations; false: take turns.
        airtime_fairness: bool = true, Flag;
        /// For "fq": sojourn time in the queue of the MAC above which ECN-capable packets are
        /// marked (CoDel's `ce_threshold`). Default: no such marks, as in mac80211.
        ce_threshold: Option<Duration> = "1ms", Maybe(TIME) => none;
        /// Packets that `ce_threshold` marks: "1/1" selects those of L4S, with ECT(1) or CE, as in
        /// `fq_codel`. Default: every ECN-capable packet.
        ce_threshold_selector: Option<CeSelector> = "1/1", Maybe(CE_SELECTOR) => none;
        /// Aggregates that the access point forms ahead, per access category, including the one in
        /// the air (ath9k's `ATH_AGGR_MIN_QDEPTH`); 0: it forms an aggregate at channel access,
        /// from all packets that are queued then (ns-3).
        prepared: u32 = 2, whole(0..=MAX_PREPARED);
        /// The same for a client. Default: the value of `prepared`.
        prepared_up: u32 = 2, whole(0..=MAX_PREPARED) => or(prepared);
        /// Clients 1, 2, ... The keys from `mcs` on are keys of a station. In `[wifi]` they apply
        /// to all stations. Default: one equal station per client of the flows.
        stations: Vec<WifiStation> = [{}, { mcs = 0 }], STATIONS => from(read_stations(table, around.clients)?);
        /// Bytes of one TCP transfer that may wait at its client (TCP small queues). Default: no
        /// limit.
        small_queue: Option<u32> = "85kb",
            Maybe(size("a queue of {} bytes is not possible", 1..=MAX_SMALL_QUEUE)) => none;
    }
}

/// What the keys of a channel refer to.
pub(super) struct WifiContext<'a> {
    link: &'a BottleneckLink,
    /// The highest number of a client.
    clients: u16,
}

impl WifiContext<'_> {
    fn qdisc(&self, table: &Reader<'_>) -> Result<HopQdisc, Diagnostic> {
        if table.node("qdisc").is_none() {
            return Ok(HopQdisc::Compared);
        }
        // A channel has no rate of its own: its disciplines derive their defaults from the
        // bottleneck.
        let ends = [(Direction::Down, &self.link.down), (Direction::Up, &self.link.up)];
        read_qdisc(table, &ends.map(|(direction, end)| self.link.as_seen_by_qdisc(direction, &end.rate)))
    }
}

const MAC: Words<WifiMac> = Words(&[("fifo", WifiMac::Fifo), ("fq", WifiMac::Fq)]);

const CE_SELECTOR: Words<CeSelector> = Words(&[(CeSelector::L4s.name(), CeSelector::L4s)]);

const STATIONS: Context<Vec<WifiStation>> = Context {
    write: |stations| stations.iter().map(|station| written(|object| station.write(object))).collect(),
    schema: || json!({ "type": "array", "items": WifiStation::TABLE.schema(), "maxItems": MAX_STATIONS }),
    quantity: None,
};

keys! {
    /// A client of a WiFi channel.
    pub struct WifiStation(_table, _around: ()) {
        /// Modulation and coding downwards: 8 per spatial stream.
        mcs: u8 = 15, whole(0..=Modulation::MAX_MCS as u64);
        /// The same upwards. Default: the value of `mcs`.
        mcs_up: u8 = 15, whole(0..=Modulation::MAX_MCS as u64) => or(mcs);
        /// Channel width in MHz: 20 or 40.
        width: Width = 20, WIDTH;
        /// Use the short guard interval of 400 ns.
        short_gi: bool = true, Flag;
        /// MPDUs in an aggregate; 1: no aggregation.
        aggregate: u32 = 32, whole(1..=WINDOW as u64);
        /// MPDUs in an aggregate of the client. Default: the value of `aggregate`.
        aggregate_up: u32 = 32, whole(1..=WINDOW as u64) => or(aggregate);
        /// Longest transmission of an aggregate.
        longest: Duration = "4ms",
            time("a transmission of {} is not possible", Duration::from_nanos(1)..=MAX_PPDU);
        /// Probability that an MPDU is lost.
        error: f64 = 0.0, ERROR;
        /// The same upwards. Default: the value of `error`.
        error_up: f64 = 0.0, ERROR => or(error);
        /// Transmissions of an MPDU before it is dropped.
        attempts: u32 = 30, whole(1..=1000);
        /// The same upwards. Default: the value of `attempts`.
        attempts_up: u32 = 30, whole(1..=1000) => or(attempts);
        /// Weight of the station in the access point's airtime (for "fq").
        weight: u32 = 256, whole(1..=65_535);
    }
    with {
        /// Its radio link: down, up.
        radio: [RadioConfig; 2];
    }
    then {
        let radio = |mcs, aggregate, error, attempts| {
            let modulation = Modulation::new(mcs, width, short_gi);
            let modulation = modulation.ok_or_else(|| Diagnostic::new("there is no such modulation"))?;
            Ok::<_, Diagnostic>(RadioConfig { modulation, aggregate, longest, error, attempts })
        };
        let radio = [
            radio(mcs, aggregate, error, attempts)?,
            radio(mcs_up, aggregate_up, error_up, attempts_up)?,
        ];
    }
}

const WIDTH: Own<Width> = Own {
    read: |table, key, node| match node.raw {
        Raw::Integer(20) => Ok(Width::Mhz20),
        Raw::Integer(40) => Ok(Width::Mhz40),
        _ => Err(table.mismatch(key, node, "20 or 40")),
    },
    write: |width| json!(width.mhz()),
    schema: || json!({ "enum": [20, 40] }),
    quantity: None,
};

// `Number` has both ends of its range, but a channel that loses every MPDU delivers nothing.
const ERROR: Own<f64> = Own {
    read: |table, key, node| {
        let given = NUMBER.read(table, key, node)?;
        if (0.0..1.0).contains(&given) {
            return Ok(given);
        }
        let message = Diagnostic::new(format!("a probability of {} is not possible", show_number(given)));
        Err(table.error(key, message.allowed("0 or more, and less than 1")))
    },
    write: |error| json!(error),
    schema: || json!({ "type": "number", "minimum": 0, "exclusiveMaximum": 1 }),
    quantity: None,
};

/// Where a node queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WifiMac {
    /// In a discipline, and in a driver below it.
    Fifo,
    /// In the MAC: a queue per flow and station, served by airtime.
    Fq,
}

pub(super) fn read_wifi(
    root: &Reader<'_>,
    link: &BottleneckLink,
    flows: &[FlowGroup],
) -> Result<Option<Wifi>, Diagnostic> {
    if root.node("wifi").is_none() {
        return Ok(None);
    }
    let table = root.table("wifi", "[wifi]")?;
    table.only(&[Wifi::TABLE.names(), WifiStation::TABLE.names()].concat())?;
    // A channel has a station even if there are no flows.
    let clients = flows.iter().map(|group| group.client).max().unwrap_or(1);
    Wifi::read(&table, &WifiContext { link, clients }).map(Some)
}

fn read_stations(table: &Reader<'_>, needed: u16) -> Result<Vec<WifiStation>, Diagnostic> {
    let count = match table.node("stations") {
        None => usize::from(needed),
        Some(Node { raw: Raw::List(items), .. }) if items.len() <= MAX_STATIONS => {
            let stations: Result<Vec<WifiStation>, _> =
                (0..).zip(items).map(|(index, node)| read_station(table, index, node)).collect();
            return check_count(table, stations?, needed);
        }
        Some(node) => {
            let message = match &node.raw {
                Raw::List(items) => Diagnostic::new(format!("{} stations are too many", items.len())),
                _ => Diagnostic::new(format!("{} is not possible", node.sort())),
            };
            let allowed =
                format!("a list of at most {MAX_STATIONS} tables such as {{ mcs = 7, error = 0.1 }}");
            return Err(table.error("stations", message.allowed(allowed)));
        }
    };
    if count > MAX_STATIONS {
        let message = Diagnostic::new(format!("the flows name client {count}"));
        return Err(
            table.error("stations", message.allowed(format!("at most {MAX_STATIONS} clients on a channel")))
        );
    }
    Ok(vec![WifiStation::read(table, ())?; count])
}

/// A station's keys stand in its own table, or in `[wifi]` for all that do not say otherwise.
fn read_station(all: &Reader<'_>, index: usize, node: &Node) -> Result<WifiStation, Diagnostic> {
    let own = Reader::of_table(all.document(), node, &format!("`wifi.stations.{index}`"))?;
    own.only(&WifiStation::TABLE.names())?;
    WifiStation::read(&own.above(all), ())
}

fn check_count(
    table: &Reader<'_>,
    stations: Vec<WifiStation>,
    needed: u16,
) -> Result<Vec<WifiStation>, Diagnostic> {
    if stations.len() >= usize::from(needed) {
        return Ok(stations);
    }
    let message = Diagnostic::new(format!(
        "there {} for the clients 1 to {needed} of the flows",
        match stations.len() {
            1 => "is 1 station".to_owned(),
            count => format!("are {count} stations"),
        }
    ));
    let help = "leave `stations` out, and there are as many alike as needed";
    Err(table.error("stations", message.allowed("a station for each client").help(help)))
}

impl Wifi {
    /// Returns where the access point queues, and where the clients do.
    #[must_use]
    pub const fn macs(&self) -> [WifiMac; 2] {
        [self.mac, self.mac_up]
    }

    /// Returns the packets that the driver of the access point holds per access category, and those
    /// of a client's driver.
    #[must_use]
    pub const fn drivers(&self) -> [u32; 2] {
        [self.driver, self.driver_up]
    }

    /// Returns when the access point forms its aggregates, and when the clients do.
    #[must_use]
    pub fn forming(&self) -> [Forming; 2] {
        let forming = |prepared| if prepared == 0 { Forming::AtAccess } else { Forming::Ahead(prepared) };
        [self.prepared, self.prepared_up].map(forming)
    }
}

const MAX_DRIVER: u64 = 100_000;
const MAX_PREPARED: u64 = 1000;
const MAX_SMALL_QUEUE: u64 = 1 << 30;
const MAX_STATIONS: usize = 1000;
