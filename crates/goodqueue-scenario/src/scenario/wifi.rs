//! `[wifi]`: a channel of 802.11n between the last link and the clients.

use goodqueue::{Direction, Duration};
use goodqueue_sim::wifi::RadioConfig;
use goodqueue_sim::wifi::airtime::DEFAULT_WEIGHT;
use goodqueue_sim::wifi::block_ack::WINDOW;
use goodqueue_sim::wifi::forming::Forming;
use goodqueue_sim::wifi::order::Order;
use goodqueue_sim::wifi::phy::{MAX_PPDU, Modulation, Width};
use goodqueue_tc as tc;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units::show_number;
use serde_json::{Value, json};

use super::document::{Node, Raw};
use super::flows::FlowGroup;
use super::hops::{HopQdisc, read_qdisc};
use super::link::BottleneckLink;
use super::reader::Reader;

/// A WiFi channel: an access point, and the clients.
#[derive(Clone, PartialEq, Debug)]
pub struct Wifi {
    /// Where the access point queues, and where the clients do.
    pub mac: [WifiMac; 2],
    /// The disciplines above drivers.
    pub qdisc: HopQdisc,
    /// Packets that the driver of the access point holds per access category, and that of a client.
    pub driver: [u32; 2],
    /// Which receiver the driver of the access point serves next.
    pub driver_order: Order,
    /// In an FQ-MAC stations share the airtime.
    pub airtime_fairness: bool,
    /// When the access point forms its aggregates, and when the clients do.
    pub forming: [Forming; 2],
    /// Bytes of a TCP transfer that may wait at its client.
    pub small_queue: Option<u32>,
    /// The clients: the first one is number 1 of the flows.
    pub stations: Vec<WifiStation>,
}

/// Where a node queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WifiMac {
    /// In a discipline, and in a driver below it.
    Fifo,
    /// In the MAC: a queue per flow and station, served by airtime.
    Fq,
}

/// A client of a WiFi channel.
#[derive(Clone, PartialEq, Debug)]
pub struct WifiStation {
    /// Its radio link: down, up.
    pub radio: [RadioConfig; 2],
    /// Its weight in the access point's airtime.
    pub weight: u32,
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
    let keys: Vec<&str> = KEYS.iter().chain(STATION_KEYS).copied().collect();
    table.only(&keys)?;
    let mac = read_mac(&table, "mac", "fifo")?;
    let mac_up = read_mac(&table, "mac_up", "fifo")?;
    let driver = table.small("driver", DRIVER, 1, MAX_DRIVER)?;
    let qdisc = match table.node("qdisc") {
        None => HopQdisc::Compared,
        Some(_) => read_qdisc(
            &table,
            &[(Direction::Down, &link.down), (Direction::Up, &link.up)]
                .map(|(direction, end)| link.as_seen_by_qdisc(direction, &end.rate)),
        )?,
    };
    let needed = flows.iter().map(|group| group.client).max().unwrap_or(1);
    let stations = read_stations(&table, needed)?;
    if stations.len() < usize::from(needed) {
        let message = Diagnostic::new(format!(
            "there {} for the clients 1 to {needed} of the flows",
            match stations.len() {
                1 => "is 1 station".to_owned(),
                count => format!("are {count} stations"),
            }
        ));
        let help = "leave `stations` out, and there are as many alike as needed";
        return Err(table.error("stations", message.allowed("a station for each client").help(help)));
    }
    let prepared = table.small("prepared", PREPARED, 0, MAX_PREPARED)?;
    let prepared_up = table.small("prepared_up", prepared, 0, MAX_PREPARED)?;
    Ok(Some(Wifi {
        mac: [mac, mac_up],
        qdisc,
        driver: [driver, table.small("driver_up", driver, 1, MAX_DRIVER)?],
        driver_order: read_order(&table)?,
        airtime_fairness: table.flag("airtime_fairness", true)?,
        forming: [prepared, prepared_up].map(forming),
        small_queue: read_small_queue(&table)?,
        stations,
    }))
}

/// `prepared = 0`: nothing is formed ahead.
const fn forming(prepared: u32) -> Forming {
    if prepared == 0 { Forming::AtAccess } else { Forming::Ahead(prepared) }
}

const fn prepared(forming: Forming) -> u32 {
    match forming {
        Forming::AtAccess => 0,
        Forming::Ahead(most) => most,
    }
}

fn read_small_queue(table: &Reader<'_>) -> Result<Option<u32>, Diagnostic> {
    let Some(bytes) = table.size("small_queue")? else { return Ok(None) };
    match u32::try_from(bytes) {
        Ok(bytes) if (1..=MAX_SMALL_QUEUE).contains(&bytes) => Ok(Some(bytes)),
        _ => {
            let message = Diagnostic::new(format!("a queue of {bytes} bytes is not possible"));
            let message = message.allowed(format!("1 to {MAX_SMALL_QUEUE} bytes"));
            Err(table.error("small_queue", message.help("leave `small_queue` out for one without a limit")))
        }
    }
}

fn read_mac(table: &Reader<'_>, key: &str, default: &str) -> Result<WifiMac, Diagnostic> {
    Ok(match table.choice(key, default, &["fifo", "fq"])? {
        "fq" => WifiMac::Fq,
        _ => WifiMac::Fifo,
    })
}

fn read_order(table: &Reader<'_>) -> Result<Order, Diagnostic> {
    let orders = [Order::Turns, Order::OldestHead];
    let given = table.choice("driver_order", order_name(Order::default()), &orders.map(order_name))?;
    Ok(orders.into_iter().find(|&order| order_name(order) == given).unwrap_or_default())
}

/// The word in scenarios.
const fn order_name(order: Order) -> &'static str {
    match order {
        Order::Turns => "turns",
        Order::OldestHead => "oldest",
    }
}

fn read_stations(table: &Reader<'_>, needed: u16) -> Result<Vec<WifiStation>, Diagnostic> {
    let count = match table.node("stations") {
        None => usize::from(needed),
        Some(Node { raw: Raw::List(items), .. }) if items.len() <= MAX_STATIONS => {
            return items
                .iter()
                .enumerate()
                .map(|(index, node)| {
                    let name = format!("`wifi.stations.{index}`");
                    let own = Reader::of(table.document(), node, &name)?;
                    own.only(STATION_KEYS)?;
                    read_station(&own, table)
                })
                .collect();
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
    let station = read_station(table, table)?;
    Ok(vec![station; count])
}

/// A station's keys stand in its own table, or in `[wifi]` for all that do not say otherwise.
fn read_station(own: &Reader<'_>, all: &Reader<'_>) -> Result<WifiStation, Diagnostic> {
    let of = |key: &str| if own.node(key).is_some() { own } else { all };
    let small = |key: &str, default, low, high| of(key).small(key, default, low, high);
    let mcs = small("mcs", 15, 0, u32::from(Modulation::MAX_MCS))?;
    let width = match small("width", 20, 20, 40)? {
        20 => Width::Mhz20,
        40 => Width::Mhz40,
        other => {
            let message = Diagnostic::new(format!("a channel of {other} MHz is not possible"));
            return Err(of("width").error("width", message.allowed("20 or 40")));
        }
    };
    let short_gi = of("short_gi").flag("short_gi", true)?;
    let longest = of("longest").time("longest")?.unwrap_or(Duration::from_millis(4));
    if longest.is_zero() || longest > MAX_PPDU {
        let message = Diagnostic::new(format!("a transmission of {longest} is not possible"));
        return Err(
            of("longest").error("longest", message.allowed(format!("more than 0s, at most {MAX_PPDU}")))
        );
    }
    let attempts = small("attempts", 30, 1, 1000)?;
    let most = u32::try_from(WINDOW).unwrap_or(64);
    let aggregate = small("aggregate", 32, 1, most)?;
    let error = read_error(of("error"), "error", 0.0)?;
    let attempts_up = small("attempts_up", attempts, 1, 1000)?;
    let radio = |index, subframes, probability, attempts| {
        let modulation = u8::try_from(index).ok().and_then(|index| Modulation::new(index, width, short_gi));
        let modulation = modulation.ok_or_else(|| Diagnostic::new("there is no such modulation"))?;
        Ok(RadioConfig { modulation, aggregate: subframes, longest, error: probability, attempts })
    };
    Ok(WifiStation {
        radio: [
            radio(mcs, aggregate, error, attempts)?,
            radio(
                small("mcs_up", mcs, 0, u32::from(Modulation::MAX_MCS))?,
                small("aggregate_up", aggregate, 1, most)?,
                read_error(of("error_up"), "error_up", error)?,
                attempts_up,
            )?,
        ],
        weight: small("weight", DEFAULT_WEIGHT, 1, 65_535)?,
    })
}

fn read_error(table: &Reader<'_>, key: &str, default: f64) -> Result<f64, Diagnostic> {
    let given = table.number(key)?.unwrap_or(default);
    if !(0.0..1.0).contains(&given) {
        let message = Diagnostic::new(format!("a probability of {} is not possible", show_number(given)));
        return Err(table.error(key, message.allowed("0 or more, and less than 1")));
    }
    Ok(given)
}

impl Wifi {
    pub(super) fn to_json(&self) -> Value {
        let qdisc = match &self.qdisc {
            HopQdisc::Compared => json!("compared"),
            HopQdisc::Fixed(on) => {
                json!({ "down": tc::to_tc(&on[0].config), "up": tc::to_tc(&on[1].config) })
            }
        };
        let mut table = json!({
            "mac": self.mac[0].name(),
            "mac_up": self.mac[1].name(),
            "qdisc": qdisc,
            "driver": self.driver[0],
            "driver_up": self.driver[1],
            "driver_order": order_name(self.driver_order),
            "airtime_fairness": self.airtime_fairness,
            "prepared": prepared(self.forming[0]),
            "prepared_up": prepared(self.forming[1]),
            "stations": self.stations.iter().map(WifiStation::to_json).collect::<Value>(),
        });
        if let Some(bytes) = self.small_queue {
            table["small_queue"] = json!(bytes);
        }
        table
    }
}

impl WifiMac {
    /// The word in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Fq => "fq",
        }
    }
}

impl WifiStation {
    fn to_json(&self) -> Value {
        let [down, up] = &self.radio;
        json!({
            "mcs": down.modulation.mcs(),
            "mcs_up": up.modulation.mcs(),
            "width": down.modulation.width().mhz(),
            "short_gi": down.modulation.short_gi(),
            "aggregate": down.aggregate,
            "aggregate_up": up.aggregate,
            "longest": down.longest.to_string(),
            "error": down.error,
            "error_up": up.error,
            "attempts": down.attempts,
            "attempts_up": up.attempts,
            "weight": self.weight,
        })
    }
}

const KEYS: &[&str] = &[
    "mac",
    "mac_up",
    "qdisc",
    "driver",
    "driver_up",
    "driver_order",
    "airtime_fairness",
    "prepared",
    "prepared_up",
    "small_queue",
    "stations",
];
const STATION_KEYS: &[&str] = &[
    "mcs",
    "mcs_up",
    "width",
    "short_gi",
    "aggregate",
    "aggregate_up",
    "longest",
    "error",
    "error_up",
    "attempts",
    "attempts_up",
    "weight",
];
/// ath9k's `ATH_MAX_QDEPTH`: a quarter of its 512 buffers, less 5 in reserve.
const DRIVER: u32 = 123;
const MAX_DRIVER: u32 = 100_000;
/// ath9k's `ATH_AGGR_MIN_QDEPTH`.
const PREPARED: u32 = 2;
const MAX_PREPARED: u32 = 1000;
const MAX_SMALL_QUEUE: u32 = 1 << 30;
const MAX_STATIONS: usize = 1000;
