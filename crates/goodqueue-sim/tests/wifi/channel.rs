//! A channel under test: its configuration, its senders and its receivers.

use std::collections::BTreeMap;

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, DropReason, Duration, Ecn, Flow, Instant, Packet, Rate};
use goodqueue_sim::Direction;
use goodqueue_sim::wifi::airtime::DEFAULT_WEIGHT;
use goodqueue_sim::wifi::driver::DriverConfig;
use goodqueue_sim::wifi::forming::Forming;
use goodqueue_sim::wifi::order::Order;
use goodqueue_sim::wifi::phy::{self, Modulation, Width};
use goodqueue_sim::wifi::{ClientConfig, MacConfig, Medium, MediumConfig, Node, RadioConfig, Sink};

use crate::formulas::micros;

/// A UDP packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Datagram {
    pub(crate) client: usize,
    pub(crate) flow: u32,
    pub(crate) number: u64,
    pub(crate) ip_bytes: u32,
    pub(crate) dscp: u8,
    pub(crate) sent: Instant,
}

impl Packet for Datagram {
    fn len(&self) -> u32 {
        self.ip_bytes + FRAMING
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) -> bool {
        false
    }
}

impl Flow for Datagram {
    fn flow_hash(&self, salt: u32) -> u32 {
        u32::try_from(goodqueue::random::mix_64(u64::from(salt) << 32 | u64::from(self.flow)) >> 32)
            .unwrap_or(0)
    }
    fn dscp(&self) -> u8 {
        self.dscp
    }
}

pub(crate) const FRAMING: u32 = 14;

pub(crate) const BOTH: [Direction; 2] = Direction::BOTH;

/// The packets that arrived or were dropped.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) packets: BTreeMap<(usize, Direction, u32), u64>,
    pub(crate) dropped: BTreeMap<&'static str, u64>,
    pub(crate) delays: Vec<Duration>,
    /// Sum of the delays in µs and number of packets, per flow.
    pub(crate) delay_of: BTreeMap<u32, (f64, u64)>,
    pub(crate) last: BTreeMap<(usize, Direction, u32, u8), u64>,
    pub(crate) disordered: u64,
    pub(crate) out: u64,
}

impl Sink<Datagram> for Seen {
    fn delivered(&mut self, now: Instant, direction: Direction, client: usize, packet: Datagram) {
        assert_eq!(client, packet.client, "a packet for another client");
        *self.packets.entry((client, direction, packet.flow)).or_default() += 1;
        let delay = now.since(packet.sent);
        self.delays.push(delay);
        let (sum, count) = self.delay_of.entry(packet.flow).or_default();
        (*sum, *count) = (*sum + micros(delay), *count + 1);
        let last = self.last.insert((client, direction, packet.flow, packet.dscp), packet.number);
        self.disordered += u64::from(last.is_some_and(|last| last > packet.number));
        self.out += 1;
    }

    fn dropped(&mut self, _: Instant, _: Node, _: Datagram, why: DropReason) {
        *self.dropped.entry(why.name()).or_default() += 1;
        self.out += 1;
    }
}

impl Seen {
    pub(crate) fn arrived(&self, direction: Direction, client: usize) -> u64 {
        self.packets.iter().filter(|((c, d, _), _)| (*c, *d) == (client, direction)).map(|(_, n)| n).sum()
    }
}

/// A sender with a constant rate, or with a queue that is never empty.
#[derive(Clone, Copy)]
pub(crate) struct Sender {
    pub(crate) direction: Direction,
    pub(crate) client: usize,
    pub(crate) ip_bytes: u32,
    pub(crate) dscp: u8,
    /// Time between packets; `None` to keep the queue from running empty.
    pub(crate) interval: Option<Duration>,
}

impl Sender {
    pub(crate) fn saturating(direction: Direction, client: usize) -> Self {
        Self { direction, client, ip_bytes: 1500, dscp: 0, interval: None }
    }

    pub(crate) fn at(direction: Direction, client: usize, mbit: u64) -> Self {
        let interval = Rate::from_bps(mbit * 1_000_000).serialization(1500);
        Self { interval: Some(interval), ..Self::saturating(direction, client) }
    }
}

pub(crate) fn ht(mcs: u8, short_gi: bool) -> Modulation {
    Modulation::new(mcs, Width::Mhz20, short_gi).expect("an HT MCS")
}

pub(crate) fn qdisc(name: &str, settings: &Settings) -> AnyConfig {
    AnyConfig::from_settings(name, settings, &Link::default()).expect("listed").expect("valid")
}

pub(crate) fn driver(limit: u32) -> MacConfig {
    let pfifo = qdisc("pfifo", &Settings::new().with("limit", Value::Packets(1000)));
    MacConfig::Driver(Box::new(DriverConfig { qdisc: pfifo, limit, order: Order::default() }))
}

pub(crate) fn client(radio: RadioConfig) -> ClientConfig {
    // The limit of iwlwifi: 7/8 of a ring of 256. The access points of most tests have that of
    // ath9k, 123.
    ClientConfig { mac: driver(224), radio: [radio; 2], weight: DEFAULT_WEIGHT }
}

pub(crate) fn channel(access_point: MacConfig, clients: Vec<ClientConfig>) -> MediumConfig {
    MediumConfig {
        access_point,
        clients,
        forming: [Forming::default(); 2],
        small_queue: None,
        framing: FRAMING,
        seed: 1,
        hash_keys: [0; 2],
    }
}

/// Lets the senders send for this time.
pub(crate) fn run(config: &MediumConfig, senders: &[Sender], millis: u64) -> (Seen, Medium<Datagram>) {
    let mut medium = Medium::new(config);
    let mut seen = Seen::default();
    let client_of = |packet: &Datagram| packet.client;
    let mut numbers = vec![0_u64; senders.len()];
    let end = Instant::ZERO + Duration::from_millis(millis);
    let mut now = Instant::ZERO;
    let offer = |medium: &mut Medium<Datagram>, seen: &mut Seen, numbers: &mut [u64], now, index: usize| {
        let sender = &senders[index];
        let packet = Datagram {
            client: sender.client,
            flow: u32::try_from(index).expect("few"),
            number: numbers[index],
            ip_bytes: sender.ip_bytes,
            dscp: sender.dscp,
            sent: now,
        };
        numbers[index] += 1;
        medium.enqueue(now, sender.direction, sender.client, packet, &client_of, seen);
    };
    while now < end {
        for (index, sender) in senders.iter().enumerate() {
            let node = if sender.direction == Direction::Down {
                Node::AccessPoint
            } else {
                Node::Client(sender.client)
            };
            // Enough packets that the discipline does not run empty before the next event.
            while sender.interval.is_none() && medium.queue_len(node) < 20 * senders.len() {
                offer(&mut medium, &mut seen, &mut numbers, now, index);
            }
        }
        let due = |index: usize| {
            senders[index].interval.map(|step| Instant::ZERO + step.saturating_mul(numbers[index]))
        };
        let next = (0..senders.len()).filter_map(|index| Some((due(index)?, index))).min();
        match (next, medium.next_event()) {
            (Some((at, index)), event) if event.is_none_or(|event| at < event) => {
                now = at;
                offer(&mut medium, &mut seen, &mut numbers, now, index);
            }
            (_, Some(event)) => {
                now = event;
                medium.advance(now, &client_of, &mut seen);
            }
            _ => break,
        }
    }
    (seen, medium)
}

/// Returns a radio link with the limits of the standard only.
pub(crate) fn radio(modulation: Modulation, aggregate: u32) -> RadioConfig {
    RadioConfig { aggregate, longest: phy::MAX_PPDU, ..RadioConfig::new(modulation) }
}
