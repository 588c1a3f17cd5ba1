//! The WiFi channel as the last hop of a path, between the last link and the clients.

use goodqueue::gauge::Observation;
use goodqueue::{Count, Direction, DropReason, Instant, Stats};

use super::config::MediumConfig;
use super::medium::Medium;
use super::sink::{Node, RadioStats, Sink};
use crate::monitor::{LinkMonitor, LinkOutcome};
use crate::observer::{Fate, Note};
use crate::packet::Packet;
use goodqueue_link::work::Progress;

/// A channel with its measurements.
#[derive(Clone, Debug)]
pub(crate) struct WifiHop {
    medium: Medium<Packet>,
    seen: Seen,
    clients: usize,
    /// Packets given to the queues.
    entered: Count,
    baseline: Baseline,
}

/// The sink of the channel: packets that left it, and measurements.
#[derive(Clone, Debug)]
struct Seen {
    /// Measurements of the access point's queue (down) and of the clients' queues (up).
    monitors: [LinkMonitor; 2],
    /// Packets in each client's queue.
    lengths: Vec<usize>,
    /// Packets in all clients' queues.
    length: usize,
    /// Packets that arrived and were not collected yet.
    arrived: Vec<(Direction, Packet)>,
    /// Packets that were dropped and not collected yet.
    dropped: Vec<Packet>,
    /// Events noted since they were last collected; `None` without an observer.
    notes: Option<Vec<(Direction, Note)>>,
}

#[derive(Clone, Default, Debug)]
struct Baseline {
    queues: [Stats; 2],
    radio: Vec<[RadioStats; 2]>,
}

/// The results of a WiFi channel for the measured time.
#[derive(Clone, Debug)]
pub struct WifiOutcome {
    /// The managed queues: the access point's, and those of all clients together.
    pub queues: [LinkOutcome; 2],
    /// Counters of each client's radio link: down, up.
    pub clients: Vec<[RadioStats; 2]>,
}

impl WifiHop {
    /// Creates the channel of a run.
    pub(crate) fn new(config: &MediumConfig) -> Self {
        let clients = config.clients.len();
        Self {
            medium: Medium::new(config),
            seen: Seen {
                monitors: [LinkMonitor::new(None), LinkMonitor::new(None)],
                lengths: vec![0; clients],
                length: 0,
                arrived: Vec::new(),
                dropped: Vec::new(),
                notes: None,
            },
            clients,
            entered: Count::default(),
            baseline: Baseline { queues: [Stats::default(); 2], radio: vec![Default::default(); clients] },
        }
    }

    pub(crate) fn enqueue(&mut self, now: Instant, direction: Direction, mut packet: Packet) {
        packet.queued_at = now;
        let client = usize::from(packet.ends.client);
        // The channel drops packets of other clients in front of its queues.
        if client < self.clients {
            self.entered.add(packet.len);
        }
        if let Some(notes) = &mut self.seen.notes {
            notes.push((direction, Note::Arrived(packet)));
        }
        self.medium.enqueue(now, direction, client, packet, &client_of, &mut self.seen);
    }

    pub(crate) fn advance(&mut self, now: Instant) {
        self.medium.advance(now, &client_of, &mut self.seen);
    }

    pub(crate) fn next_event(&self) -> Option<Instant> {
        self.medium.next_event()
    }

    /// Returns the packets that arrived and those that were dropped since the last call.
    pub(crate) fn take(&mut self) -> (Vec<(Direction, Packet)>, Vec<Packet>) {
        (std::mem::take(&mut self.seen.arrived), std::mem::take(&mut self.seen.dropped))
    }

    /// Notes events from now on.
    pub(crate) fn note(&mut self) {
        self.seen.notes = Some(Vec::new());
    }

    /// Returns the events noted since the last call.
    pub(crate) fn take_notes(&mut self) -> Vec<(Direction, Note)> {
        self.seen.notes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns the packets in the queues and in the air.
    pub(crate) fn held(&self) -> Count {
        self.medium.held()
    }

    /// Returns the packets that disciplines made themselves (`netem duplicate`).
    pub(crate) fn copies(&self) -> Count {
        let [down, up] = self.stats();
        let stats = down.plus(&up);
        stats.dequeued.plus(stats.dropped()).plus(self.medium.queued()).minus(self.entered)
    }

    fn stats(&self) -> [Stats; 2] {
        let clients = (0..self.clients).map(|client| self.medium.queue_stats(Node::Client(client)));
        let up = clients.fold(Stats::default(), |sum, stats| sum.plus(&stats));
        [self.medium.queue_stats(Node::AccessPoint), up]
    }

    /// Returns the counters of the radio links at `now`, including the airtime of a transmission so
    /// far.
    fn radio(&self, now: Instant) -> Vec<[RadioStats; 2]> {
        let mut radio: Vec<_> = (0..self.clients).map(|client| self.medium.radio_stats(client)).collect();
        self.medium.for_each_in_air(now, |client, direction, passed| {
            radio[client][direction.index()].airtime += passed;
        });
        radio
    }

    /// Discards everything measured before `now`, at the end of the warm-up.
    pub(crate) fn restart(&mut self, now: Instant) {
        // A channel has no rate of its own, so its capacity is 0.
        self.seen.monitors.iter_mut().for_each(|monitor| monitor.restart(now, Progress::default()));
        self.baseline = Baseline { queues: self.stats(), radio: self.radio(now) };
    }

    pub(crate) fn finish(self, end: Instant) -> WifiOutcome {
        let stats = self.stats();
        let radio = self.radio(end);
        let [down, up] = self.seen.monitors;
        let outcome = |monitor: LinkMonitor, of: usize| {
            // A side has several disciplines, of which only the counters have a sum.
            let mut seen = Observation::default();
            seen.stats = stats[of];
            monitor.finish(end, Progress::default(), &self.baseline.queues[of], seen)
        };
        let clients = radio.iter().zip(&self.baseline.radio);
        WifiOutcome {
            queues: [outcome(down, 0), outcome(up, 1)],
            clients: clients
                .map(|(after, before)| [0, 1].map(|direction| after[direction].since(&before[direction])))
                .collect(),
        }
    }
}

fn client_of(packet: &Packet) -> usize {
    usize::from(packet.ends.client)
}

impl Seen {
    fn monitor(&mut self, node: Node) -> &mut LinkMonitor {
        &mut self.monitors[usize::from(node != Node::AccessPoint)]
    }
}

impl Sink<Packet> for Seen {
    fn delivered(&mut self, _now: Instant, direction: Direction, _client: usize, packet: Packet) {
        self.monitors[direction.index()].sent(packet.len);
        if let Some(notes) = &mut self.notes {
            notes.push((direction, Note::Ended(packet, Fate::Sent)));
        }
        self.arrived.push((direction, packet));
    }

    fn dropped(&mut self, _now: Instant, node: Node, packet: Packet, why: DropReason) {
        self.monitor(node).dropped(why);
        if let Some(notes) = &mut self.notes {
            let direction = if node == Node::AccessPoint { Direction::Down } else { Direction::Up };
            notes.push((direction, Note::Ended(packet, Fate::Dropped(why))));
        }
        self.dropped.push(packet);
    }

    fn left_queue(&mut self, now: Instant, node: Node, packet: &Packet) {
        let sojourn = now.since(packet.queued_at);
        self.monitor(node).dequeued(sojourn);
    }

    fn queue_length(&mut self, now: Instant, node: Node, packets: usize) {
        let length = match node {
            Node::AccessPoint => packets,
            Node::Client(client) => {
                // The sum comes first, because the queue can have become shorter.
                self.length = self.length + packets - self.lengths[client];
                self.lengths[client] = packets;
                self.length
            }
        };
        let monitor = self.monitor(node);
        monitor.advance(now);
        monitor.length_is(length);
    }
}
