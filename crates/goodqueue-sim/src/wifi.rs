//! WiFi: an access point and its clients on one channel of IEEE 802.11n.
//!
//! # What it does
//! * **Queueing.** Each node has a queue per receiver and access category. It is either a queue
//!   discipline with a driver's buffer below it ([`driver`]), or part of the MAC ([`fq_mac`],
//!   [`airtime`]).
//! * **Aggregation.** Packets are joined to A-MPDUs, ahead of channel access or at channel access
//!   ([`forming`]).
//! * **Contention.** Aggregates contend for the channel ([`contention`]).
//! * **Retransmission.** Block acknowledgement retransmits and reorders ([`block_ack`]).
//! * **Airtime** is exact to the microsecond ([`phy`]).
//!
//! # Reference
//! IEEE 802.11-2012 §9 and §20; Bianchi, "Performance Analysis of the IEEE 802.11 Distributed
//! Coordination Function", IEEE JSAC 18(3), 2000; Heusse et al., "Performance Anomaly of 802.11b",
//! INFOCOM 2003; Høiland-Jørgensen et al., "Ending the Anomaly", USENIX ATC 2017.
//!
//! Later editions of the standard have other TXOP limits ([`contention::Edca`]) and reset the
//! contention window one failure later ([`contention::SHORT_RETRY_LIMIT`]). The time for which a
//! sender waits for an answer is that of the 2016 edition ([`phy::ANSWER_TIMEOUT`]). Where the
//! hardware decides, the defaults are those of ath9k: [`forming::Forming`], [`order::Order`],
//! [`RadioConfig::new`].
//!
//! # Assumptions
//! * All nodes hear each other, and no other network uses the channel. There are no hidden nodes,
//!   no RTS/CTS and no capture.
//! * MPDUs are lost independently, with a probability given for each client and direction. Answers
//!   are never lost. Beacons and management frames are not sent.
//! * The modulation of each client and direction is fixed; there is no rate control.
//! * A transmission opportunity is one PPDU within the TXOP limit of its access category.
//! * The receiver delivers an MPDU with the symbol that carries its last bit, once all earlier
//!   MPDUs have been delivered (IEEE 802.11-2012 §9.21.7.6).
//! * After a collision every other node waits EIFS, because it could read none of the frames. In
//!   ns-3 such nodes detect no preamble if the frames are equally strong, and wait AIFS.
//! * A packet counts against a small queue ([`MediumConfig::small_queue`]) until it arrives, not
//!   until its answer arrives.
//! * The access category follows from the DSCP. Voice is never aggregated, as with minstrel_ht.
//! * Clients communicate with hosts behind the access point, not with each other.
//!
//! # Contract
//! [`Medium::enqueue`] and [`Medium::advance`] receive the time. [`Medium::next_event`] returns the
//! time of the next necessary call of `advance`. A late call catches up. Equal calls give equal
//! outcomes.

pub mod airtime;
pub mod block_ack;
pub mod contention;
pub mod driver;
mod flight;
pub mod forming;
pub mod fq_mac;
mod hop;
pub mod order;
pub mod phy;
mod queues;
mod station;

use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{Count, DropReason, Duration, Flow, Instant, Packet, Stats};

use crate::packet::Direction;
use contention::AccessCategory;
use driver::DriverConfig;
use flight::Flight;
use forming::Forming;
use fq_mac::FqMacConfig;
pub(crate) use hop::WifiHop;
pub use hop::WifiOutcome;
use phy::{ANSWER_TIMEOUT, EIFS_EXTRA, Modulation};
use queues::{Mac, Queues};
use station::Station;

/// The configuration of a channel and its nodes.
#[derive(Clone, PartialEq, Debug)]
pub struct MediumConfig {
    /// Queueing at the access point.
    pub access_point: MacConfig,
    /// The clients.
    pub clients: Vec<ClientConfig>,
    /// Aggregation at the access point and at the clients.
    pub forming: [Forming; 2],
    /// Bytes of a TCP flow, headers included, that may wait at its client, those in the air
    /// included (TCP small queues). Above this limit the client's TCP waits. `None` for no limit.
    pub small_queue: Option<u32>,
    /// Bytes of link header in the length of packets. They are not sent over the air.
    pub framing: u32,
    /// Seed of back-offs, losses and disciplines.
    pub seed: u64,
    /// Changes to the hash salts of the access point and of the clients, as
    /// [`crate::LinkConfig::hash_key`].
    pub hash_keys: [u32; 2],
}

/// A client.
#[derive(Clone, PartialEq, Debug)]
pub struct ClientConfig {
    /// Queueing at the client.
    pub mac: MacConfig,
    /// Radio link from the access point to the client and back, by [`Direction::index`].
    pub radio: [RadioConfig; 2],
    /// Weight in the access point's airtime; [`airtime::DEFAULT_WEIGHT`] is usual.
    pub weight: u32,
}

/// One direction of the radio link between the access point and a client.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RadioConfig {
    /// Modulation of the data.
    pub modulation: Modulation,
    /// Largest number of MPDUs in an aggregate, 1 to 64; 1 for no aggregation.
    pub aggregate: u32,
    /// Longest PPDU of more than one MPDU (ath9k: 4 ms; the standard: [`phy::MAX_PPDU`]).
    pub longest: Duration,
    /// Probability that an MPDU is lost.
    pub error: f64,
    /// Largest number of transmissions of an MPDU.
    pub attempts: u32,
}

impl RadioConfig {
    /// Returns an error-free radio link with ath9k's limits: 32 MPDUs, 4 ms
    /// (`ATH_AMPDU_SUBFRAME_DEFAULT`), 30 attempts (`ATH_MAX_SW_RETRIES`).
    #[must_use]
    pub const fn new(modulation: Modulation) -> Self {
        Self { modulation, aggregate: 32, longest: Duration::from_millis(4), error: 0.0, attempts: 30 }
    }
}

/// Queueing at a node.
#[derive(Clone, PartialEq, Debug)]
pub enum MacConfig {
    /// A queue discipline above a driver with a buffer of its own.
    Driver(Box<DriverConfig>),
    /// Flow queueing and airtime fairness in the MAC, without a discipline.
    Fq(FqMacConfig),
}

/// Receives the packets that leave the channel, and its measurements.
pub trait Sink<P> {
    /// Reports that `packet` arrived at the other end of `client`'s radio link.
    fn delivered(&mut self, now: Instant, direction: Direction, client: usize, packet: P);

    /// Reports that `packet` will not arrive: its queue dropped it, or the air lost it for good
    /// ([`DropReason::Lost`]).
    fn dropped(&mut self, now: Instant, node: Node, packet: P, why: DropReason);

    /// Reports that `packet` left the managed queue: the discipline's, or the MAC's.
    fn left_queue(&mut self, now: Instant, node: Node, packet: &P) {
        let _ = (now, node, packet);
    }

    /// Reports that the managed queue now holds `packets`.
    fn queue_length(&mut self, now: Instant, node: Node, packets: usize) {
        let _ = (now, node, packets);
    }
}

/// A sender on the channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Node {
    /// The access point.
    AccessPoint,
    /// The client with this index.
    Client(usize),
}

/// Counters of one direction of a client's radio link.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RadioStats {
    /// Time in the air: PPDUs and their answers, without waiting for the channel. Colliding PPDUs
    /// each count in full.
    pub airtime: Duration,
    /// PPDUs sent.
    pub ppdus: u64,
    /// PPDUs that collided.
    pub collisions: u64,
    /// MPDUs sent, retransmissions included.
    pub mpdus: u64,
    /// MPDUs sent that did not arrive.
    pub lost: u64,
    /// MPDUs given up.
    pub given_up: u64,
}

/// A channel with its nodes.
#[derive(Clone, Debug)]
pub struct Medium<P> {
    nodes: Vec<Station<P>>,
    state: State<P>,
    random: Xoshiro256PlusPlus,
    now: Instant,
    /// True once a discipline has asked to be woken.
    has_shaper: bool,
    /// Counters of each client: down, up.
    radio: Vec<[RadioStats; 2]>,
}

#[derive(Clone, Debug)]
enum State<P> {
    /// No node sends.
    Idle {
        /// Time at which a node begins to send, if nothing else happens.
        next: Option<Instant>,
    },
    /// At least one node sends.
    Busy {
        /// End of the transmissions, answers included.
        until: Instant,
        /// PPDUs in the air. Several of them collide.
        sent: Vec<Flight<P>>,
    },
}

impl<P: Packet + Flow> Medium<P> {
    /// Creates an idle channel.
    #[must_use]
    pub fn new(config: &MediumConfig) -> Self {
        let seed = |node: u64| Xoshiro256PlusPlus::stream(config.seed, node).next_u64();
        let radios = |direction: Direction| {
            config.clients.iter().map(move |client| (client.radio[direction.index()], client.weight))
        };
        let station = |node: Node, mac: &MacConfig, peers: &[(RadioConfig, u32)], stream: u64| {
            let side = usize::from(node != Node::AccessPoint);
            let seeds = (seed(stream), config.hash_keys[side]);
            Station::new(Queues::new(node, mac, peers, config.framing, seeds), config.forming[side])
        };
        let down: Vec<_> = radios(Direction::Down).collect();
        let mut nodes = vec![station(Node::AccessPoint, &config.access_point, &down, 1)];
        let clients = config.clients.iter().zip(radios(Direction::Up)).enumerate();
        nodes.extend(clients.map(|(number, (client, radio))| {
            station(Node::Client(number), &client.mac, &[radio], number as u64 + 2)
        }));
        Self {
            nodes,
            state: State::Idle { next: None },
            random: Xoshiro256PlusPlus::stream(config.seed, 0),
            now: Instant::ZERO,
            has_shaper: false,
            radio: vec![[RadioStats::default(); 2]; config.clients.len()],
        }
    }

    /// Offers a packet to the queue of the access point ([`Direction::Down`]) or of `client`.
    /// `client_of` returns the client to which a packet sent down goes; it must always return the
    /// same client for a packet.
    pub fn enqueue(
        &mut self,
        now: Instant,
        direction: Direction,
        client: usize,
        packet: P,
        client_of: &impl Fn(&P) -> usize,
        sink: &mut impl Sink<P>,
    ) {
        self.advance(now, client_of, sink);
        if client >= self.radio.len() {
            return sink.dropped(now, Node::AccessPoint, packet, DropReason::Lost);
        }
        let (node, peer) = match direction {
            Direction::Down => (0, client),
            Direction::Up => (client + 1, 0),
        };
        let category = AccessCategory::of_dscp(packet.dscp());
        let queues = &mut self.nodes[node].queues;
        let name = queues.node;
        let mut drops = |lost: P, why| sink.dropped(now, name, lost, why);
        match &mut queues.mac {
            Mac::Driver(driver) => driver.enqueue(now, category, packet, &mut drops),
            Mac::Fq(mac) => mac.enqueue(now, category, peer, packet, &mut drops),
        }
        sink.queue_length(now, name, queues.mac.len());
        self.prepare(now, node, category, client_of, sink);
    }

    /// Returns the time at which to call [`Self::advance`]; `None` if only another packet can make
    /// it necessary.
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        let channel = match &self.state {
            State::Idle { next, .. } => *next,
            State::Busy { until, sent } => {
                Some(sent.iter().filter_map(Flight::next_arrival).fold(*until, Instant::min))
            }
        };
        if !self.has_shaper {
            return channel;
        }
        self.next_wake().map(|(when, ..)| when).into_iter().chain(channel).min()
    }

    /// Handles everything that is due at `now`.
    pub fn advance(&mut self, now: Instant, client_of: &impl Fn(&P) -> usize, sink: &mut impl Sink<P>) {
        while let Some(due) = self.next_event()
            && due <= now
        {
            if self.has_shaper
                && let Some((when, node, category)) = self.next_wake()
                && when == due
            {
                if let Mac::Driver(driver) = &mut self.nodes[node].queues.mac {
                    driver.woken(category);
                }
                self.prepare(due, node, category, client_of, sink);
                continue;
            }
            match std::mem::replace(&mut self.state, State::Idle { next: None }) {
                State::Idle { .. } => self.begin(due, sink),
                State::Busy { until, mut sent } if due < until => {
                    sent.iter_mut().for_each(|flight| self.arrive(due, flight, sink));
                    self.state = State::Busy { until, sent };
                }
                State::Busy { sent, .. } => self.end(due, sent, client_of, sink),
            }
        }
        self.now = self.now.max(now);
    }

    /// Returns the counters of `client`'s radio link: down, up.
    #[must_use]
    pub fn radio_stats(&self, client: usize) -> [RadioStats; 2] {
        self.radio.get(client).copied().unwrap_or_default()
    }

    /// Calls `tell` for each PPDU in the air with its radio link and the airtime that has passed at
    /// `now`.
    pub(crate) fn for_each_in_air(&self, now: Instant, mut tell: impl FnMut(usize, Direction, Duration)) {
        let State::Busy { sent, .. } = &self.state else { return };
        for flight in sent {
            let (client, direction) = self.nodes[flight.node].queues.radio_link(flight.peer);
            tell(client, direction, flight.passed(now));
        }
    }

    /// Returns the counters of `node`'s managed queue: the discipline's, or the MAC's.
    #[must_use]
    pub fn queue_stats(&self, node: Node) -> Stats {
        self.queues(node).map(|queues| queues.mac.stats()).unwrap_or_default()
    }

    /// Returns the packets in that queue.
    #[must_use]
    pub fn queue_len(&self, node: Node) -> usize {
        self.queues(node).map_or(0, |queues| queues.mac.len())
    }

    /// Returns the packets that wait in all managed queues.
    #[must_use]
    pub fn queued(&self) -> Count {
        self.nodes.iter().map(|station| station.queues.mac.queued()).fold(Count::default(), Count::plus)
    }

    /// Returns all packets that have neither arrived nor been dropped.
    #[must_use]
    pub fn held(&self) -> Count {
        let mut count = self.queued();
        let mut add = |packet: &P| count.add(packet.len());
        for station in &self.nodes {
            if let Mac::Driver(driver) = &station.queues.mac {
                driver.for_each_below(&mut add);
            }
            for session in station.queues.peers.iter().flat_map(|link| &link.sessions) {
                session.for_each(&mut add);
            }
            station.access.iter().for_each(|access| access.supply.for_each(&mut add));
        }
        if let State::Busy { sent, .. } = &self.state {
            sent.iter().for_each(|flight| flight.for_each(&mut add));
        }
        count
    }

    fn queues(&self, node: Node) -> Option<&Queues<P>> {
        let station = match node {
            Node::AccessPoint => self.nodes.first(),
            Node::Client(client) => self.nodes.get(client.saturating_add(1)),
        };
        station.map(|station| &station.queues)
    }

    fn next_wake(&self) -> Option<(Instant, usize, AccessCategory)> {
        let wakes = self.nodes.iter().enumerate().filter_map(|(node, station)| match &station.queues.mac {
            Mac::Driver(driver) => driver.wake().map(|(when, category)| (when, node, category)),
            Mac::Fq(_) => None,
        });
        wakes.min_by_key(|(when, ..)| *when)
    }

    /// Moves packets of an access category from its queue, and starts to contend if there is
    /// something to send now.
    fn prepare(
        &mut self,
        now: Instant,
        node: usize,
        category: AccessCategory,
        client_of: &impl Fn(&P) -> usize,
        sink: &mut impl Sink<P>,
    ) {
        let in_air = match &self.state {
            State::Busy { sent, .. } => {
                sent.iter().filter(|flight| flight.node == node && flight.category == category).count()
            }
            State::Idle { .. } => 0,
        };
        let Station { idle_from, queues, access } = &mut self.nodes[node];
        self.has_shaper |= queues.pull(now, category, client_of, sink);
        let access = &mut access[category.index()];
        if !access.supply.refill(now, category, in_air, queues, sink) || access.ready.is_some() {
            return;
        }
        access.ready = Some(now);
        match &mut self.state {
            State::Busy { .. } if in_air == 0 => access.backoff.arrived_while_busy(&mut self.random),
            State::Busy { .. } => (),
            State::Idle { next } => {
                let when = access.backoff.sends_at(*idle_from, now);
                *next = Some(next.map_or(when, |earlier| earlier.min(when)));
            }
        }
    }

    /// Starts the transmissions that are due; the channel becomes busy.
    fn begin(&mut self, now: Instant, sink: &mut impl Sink<P>) {
        let Self { nodes, random, .. } = self;
        let mut sent: Vec<Flight<P>> = Vec::new();
        let mut beaten: Vec<(usize, AccessCategory)> = Vec::new();
        for (node, station) in nodes.iter_mut().enumerate() {
            let Station { idle_from, queues, access } = station;
            let mut sends = false;
            // Within a node, the most urgent category wins (§9.19.2.3).
            for category in AccessCategory::ALL.into_iter().rev() {
                let access = &mut access[category.index()];
                if access.sends_at(*idle_from).is_none_or(|when| when > now) {
                    continue;
                }
                if sends {
                    access.backoff.failed(random);
                    beaten.push((node, category));
                    continue;
                }
                if let Some(aggregate) = access.supply.take(now, category, queues, sink) {
                    sends = true;
                    sent.push(Flight::new(node, aggregate, now));
                }
                access.ready = access.ready.filter(|_| access.supply.is_ready());
            }
        }
        if sent.is_empty() {
            // The queues of the nodes whose turn it was dropped everything they held.
            return self.rest();
        }
        for (node, station) in nodes.iter_mut().enumerate() {
            for (category, access) in AccessCategory::ALL.into_iter().zip(&mut station.access) {
                let sends = |flight: &Flight<P>| (flight.node, flight.category) == (node, category);
                if !sent.iter().any(sends) && !beaten.contains(&(node, category)) {
                    access.backoff.hears(station.idle_from, now);
                }
            }
        }
        match &mut sent[..] {
            [alone] => alone.lose(nodes[alone.node].queues.peers[alone.peer].losses(alone.count(), random)),
            several => several.iter_mut().for_each(Flight::collide),
        }
        let until = sent.iter().map(Flight::end).fold(now, Instant::max);
        self.state = State::Busy { until, sent };
    }

    /// Delivers the frames that have arrived by now, as far as they are in order.
    fn arrive(&mut self, now: Instant, flight: &mut Flight<P>, sink: &mut impl Sink<P>) {
        let queues = &mut self.nodes[flight.node].queues;
        let (client, direction) = queues.radio_link(flight.peer);
        let session = &mut queues.peers[flight.peer].sessions[flight.category.index()];
        flight.arrive(now, &mut |frame| {
            session.arrived(frame, &mut |packet| sink.delivered(now, direction, client, packet));
        });
    }

    /// Ends the transmissions; the channel becomes idle.
    fn end(
        &mut self,
        now: Instant,
        sent: Vec<Flight<P>>,
        client_of: &impl Fn(&P) -> usize,
        sink: &mut impl Sink<P>,
    ) {
        let mut answered = true;
        let done: Vec<(usize, Instant)> = sent.iter().map(|flight| (flight.node, flight.end())).collect();
        for flight in sent {
            answered &= flight.is_answered();
            self.complete(now, flight, sink);
        }
        let heard_until = if answered { now } else { now + EIFS_EXTRA };
        self.nodes.iter_mut().for_each(|station| station.idle_from = heard_until);
        for &(node, end) in done.iter().filter(|_| !answered) {
            // A sender does not hear the frames that collide with its own. It learns of the
            // collision when no answer comes.
            self.nodes[node].idle_from = now.max(end + ANSWER_TIMEOUT);
        }
        for (node, _) in done {
            // Airtime limits apply to a node, so the end of one category's PPDU may unblock another
            // category.
            for category in AccessCategory::ALL.into_iter().rev() {
                self.prepare(now, node, category, client_of, sink);
            }
        }
        self.rest();
    }

    /// Waits for the first contender.
    fn rest(&mut self) {
        self.state = State::Idle { next: self.nodes.iter().filter_map(Station::sends_at).min() };
    }

    /// Settles the PPDU of one node.
    fn complete(&mut self, now: Instant, mut flight: Flight<P>, sink: &mut impl Sink<P>) {
        // The frames after the last one that arrived are not yet accounted for.
        self.arrive(now, &mut flight, sink);
        let airtime = flight.airtime();
        let (count, losses, answered) = (flight.count(), flight.losses(), flight.is_answered());
        let Flight { node, peer, category, collided, exchange, arrived, failed, .. } = flight;
        let Station { queues, access, .. } = &mut self.nodes[node];
        let (client, direction) = queues.radio_link(peer);
        let radio = &mut self.radio[client][direction.index()];
        radio.airtime += airtime;
        radio.ppdus += 1;
        radio.collisions += u64::from(collided);
        radio.mpdus += count as u64;
        radio.lost += u64::from(losses);
        let backoff = &mut access[category.index()].backoff;
        if answered {
            backoff.succeeded(&mut self.random);
        } else {
            backoff.failed(&mut self.random);
        }
        let link = &mut queues.peers[peer];
        let session = &mut link.sessions[category.index()];
        let (name, mut settled) = (queues.node, arrived.len());
        let deliver = |packet, to: &mut _| Sink::delivered(to, now, direction, client, packet);
        for number in arrived {
            session.acknowledged(number, &mut |packet| deliver(packet, sink));
        }
        for mut frame in failed {
            frame.failures += 1;
            if frame.failures < link.radio.attempts {
                session.retry(frame);
            } else {
                settled += 1;
                radio.given_up += 1;
                let packet = session.give_up(frame, &mut |packet| deliver(packet, sink));
                sink.dropped(now, name, packet, DropReason::Lost);
            }
        }
        match &mut queues.mac {
            Mac::Driver(driver) => driver.completed(category, peer, settled),
            Mac::Fq(mac) => mac.completed(category, peer, exchange, airtime),
        }
        if let (Node::Client(_), Mac::Fq(mac)) = (name, &mut self.nodes[0].queues.mac) {
            mac.heard(category, client, airtime);
        }
    }
}
