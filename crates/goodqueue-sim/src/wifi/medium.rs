//! The channel: the start of transmissions, the arrival of their frames, and their end.

use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{Count, Direction, DropReason, Duration, Flow, Instant, Packet, Stats};

use super::config::{MacConfig, MediumConfig, RadioConfig};
use super::contention::AccessCategory;
use super::flight::Flight;
use super::phy::{ANSWER_TIMEOUT, EIFS_EXTRA};
use super::queues::{Mac, Queues};
use super::sink::{Node, RadioStats, Sink};
use super::station::Station;

/// A channel with its nodes.
#[derive(Clone, Debug)]
pub struct Medium<P: Packet + Flow> {
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
        // The access point is node 0, so client `n` is node `n + 1`.
        let mut nodes = vec![station(Node::AccessPoint, &config.access_point, &down, 1)];
        let clients = config.clients.iter().zip(radios(Direction::Up)).enumerate();
        nodes.extend(clients.map(|(number, (client, radio))| {
            station(Node::Client(number), &client.mac, &[radio], number as u64 + 2)
        }));
        Self {
            nodes,
            state: State::Idle { next: None },
            // The nodes have the streams from 1 on.
            random: Xoshiro256PlusPlus::stream(config.seed, 0),
            now: Instant::ZERO,
            has_shaper: false,
            radio: vec![[RadioStats::default(); 2]; config.clients.len()],
        }
    }

    /// Offers a packet to the queue of the access point ([`Direction::Down`]) or of `client`.
    /// `client_of` returns the client to which a packet sent down goes; it must always return the
    /// same client for a packet. A packet of a client that is not on the channel is lost.
    pub fn enqueue(
        &mut self,
        now: Instant,
        direction: Direction,
        client: usize,
        packet: P,
        client_of: &impl Fn(&P) -> usize,
        sink: &mut impl Sink<P>,
    ) {
        // The packet finds the channel as it is now.
        self.advance(now, client_of, sink);
        if client >= self.radio.len() {
            // The sender tells the sink the direction, so it is the client even if there is none.
            let sender = match direction {
                Direction::Down => Node::AccessPoint,
                Direction::Up => Node::Client(client),
            };
            return sink.dropped(now, sender, packet, DropReason::Lost);
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
        // Without a shaper no driver has to be asked at each event.
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
            // After its own frame a category draws a back-off anyway (`complete`).
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
                    // A collision inside the node counts as a failed transmission (§9.19.2.3).
                    access.backoff.failed(random);
                    beaten.push((node, category));
                    continue;
                }
                if let Some(aggregate) = access.supply.take(now, category, queues, sink) {
                    sends = true;
                    sent.push(Flight::new(node, aggregate, now));
                }
                // Without another aggregate the category contends again when it has one
                // (`prepare`).
                access.ready = access.ready.filter(|_| access.supply.is_ready());
            }
        }
        if sent.is_empty() {
            // The queues of the nodes whose turn it was dropped everything they held.
            return self.rest();
        }
        // Only now all senders of this instant are known.
        for (node, station) in nodes.iter_mut().enumerate() {
            for (category, access) in AccessCategory::ALL.into_iter().zip(&mut station.access) {
                let sends = |flight: &Flight<P>| (flight.node, flight.category) == (node, category);
                if !sent.iter().any(sends) && !beaten.contains(&(node, category)) {
                    access.backoff.hears(station.idle_from, now);
                }
            }
        }
        match &mut sent[..] {
            // Only a frame that does not collide can be lost on its own.
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
        // `complete` takes the flights.
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
        let count = flight.count();
        let losses = flight.losses();
        let answered = flight.is_answered();
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
        let name = queues.node;
        let mut settled = arrived.len();
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
            // Without an answer less airtime was used than the estimate of `prepared`, which is
            // taken back whole.
            Mac::Fq(mac) => mac.completed(category, peer, exchange, airtime),
        }
        // The access point charges a station for its uploads, too ("Ending the Anomaly", §3.2).
        if let (Node::Client(_), Mac::Fq(mac)) = (name, &mut self.nodes[0].queues.mac) {
            mac.heard(category, client, airtime);
        }
    }
}
