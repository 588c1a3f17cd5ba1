//! The path: hops in series, each with a link and a queue discipline per direction, with delay
//! lines between and behind them.
//!
//! ```text
//! servers --access--> [ hop 0 ] --delay--> [ hop 1 ] ... [ hop n ] --rest of delay--> clients  down
//! servers <--rest---- [ hop 0 ] <--delay-- [ hop 1 ] ... [ hop n ] <--access--------- clients  up
//! ```
//!
//! An optional WiFi channel lies between the last hop and the clients.
//!
//! A server may attach at a later hop. Its packets enter the path there, and packets for it leave
//! the path there.
//!
//! A packet waits for its flow's access delay before the first link, and for the delay of each hop
//! that it leaves. The rest of half the flow's round-trip time follows behind the last link, or
//! between two hops that the configuration names ([`Config::rest_behind`](crate::Config)).

mod conservation;
mod delay_line;
mod due;
mod fates;
mod flow_control;
mod host_links;
mod host_queues;
mod hosts;
mod pausing;

use std::collections::{BTreeMap, VecDeque};
use std::slice::from_ref;

use goodqueue::{AnyConfig, Count, Direction, Duration, Instant, Qdisc, Rate, Stats};

pub(crate) use delay_line::Ticks;
pub(crate) use due::{Event, MAX_FLOWS};
pub use fates::Fates;
use host_links::HostLinks;
use host_queues::HostQueues;

use crate::ahead::fetch_line;
use crate::collisions::CollisionWatch;
use crate::events::EventQueue;
use crate::id::{ConnectionId, FlowId, LineId, LinkId};
use crate::link::Link;
use crate::losses::{Losses, Watched};
use crate::packet::{Ends, Packet, Payload};
use crate::wifi::WifiHop;
use conservation::Conservation;
use delay_line::{DelayLine, End};
use pausing::FlowControl;

/// The queues, links and delays of a run. Traffic sources send packets into the network and ask it
/// to wake them.
#[derive(Debug)]
pub struct Network {
    events: EventQueue,
    /// The links of hop `n`: down at index `2 n`, up at `2 n + 1`. The links of hosts follow.
    links: Vec<Link>,
    hosts: HostLinks,
    /// The delay line behind each link; `None` if that is the rest of each flow's delay.
    onward: Vec<Option<LineId>>,
    /// The first link in each direction.
    entry: [LinkId; 2],
    /// The first link of each flow's way down, where its way up ends; empty if every flow begins at
    /// the first hop.
    joins: Vec<LinkId>,
    lines: Vec<DelayLine>,
    /// The delay lines of each flow for the rest of its delay, per direction; one entry if all
    /// flows share them.
    line_of: Vec<[LineId; 2]>,
    flows: Vec<FlowPath>,
    /// The delay lines of each flow before the first link; empty if no flow has an access delay or
    /// an access link.
    access_of: Vec<[Option<LineId>; 2]>,
    /// The hosts and the DSCP of each flow; empty if all flows have the default.
    ends_of: Vec<Ends>,
    pub(crate) losses: Losses,
    pub(crate) collisions: CollisionWatch,
    framing: u32,
    conservation: Conservation,
    host_queues: HostQueues,
    // Boxed: few runs have a channel, and every packet reads the fields around it.
    wifi: Option<Box<Wifi>>,
    /// `None` if no device of the path sends PAUSE frames.
    flow_control: Option<Box<FlowControl>>,
}

/// The state of a flow that the network keeps.
#[derive(Clone, Copy, Debug)]
struct FlowPath {
    /// Time at which the flow will be woken; [`Instant::MAX`] for never.
    wake_at: Instant,
    /// Fates of the flow's packets: down, up.
    fates: [Fates; 2],
}

/// The WiFi channel to the clients.
#[derive(Debug)]
struct Wifi {
    hop: WifiHop,
    /// The delay line of zero length through which packets reach the clients.
    line: LineId,
    /// Time of the channel's next event; [`Instant::MAX`] for none.
    event_at: Instant,
    /// Bytes of a flow that may wait at its client (TCP small queues).
    small_queue: Option<u32>,
    /// What waits of each flow at its client; empty without a limit.
    waiting: Vec<AtClient>,
}

/// What waits of a flow at its client.
#[derive(Clone, Copy, Debug, Default)]
struct AtClient {
    bytes: u32,
    /// The flow obeys the limit: it has asked for room.
    obeys: bool,
}

/// The place of a flow's hosts, and the properties of its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hosts {
    /// Base round-trip time, including hops and access.
    pub(crate) rtt: Duration,
    /// One-way delay between a host and the first link that its packets enter.
    pub(crate) access: Duration,
    /// Rate of the access link on which each of the flow's hosts sends; `None` for no such link.
    pub(crate) access_rate: Option<Rate>,
    /// Index of the hop at which the server attaches.
    pub(crate) joins: u32,
    /// Numbers of the hosts, and the DSCP of the packets in both directions.
    pub(crate) ends: Ends,
    /// Properties for the loss statistics.
    pub(crate) watched: Watched,
    /// True if the flow measures delays.
    pub(crate) is_probe: bool,
}

impl Network {
    /// Builds a path from `hops` (links down and up, and the delay to the next hop) and an optional
    /// WiFi channel behind them, for the given flows. The rest of each flow's delay, behind the hop
    /// with index `rest_behind` or behind the last link, ends at `ticks`.
    pub(crate) fn new(
        hops: Vec<([Link; 2], Duration)>,
        rest_behind: Option<usize>,
        wifi: Option<(WifiHop, Option<u32>)>,
        flows: &[Hosts],
        ticks: Option<Ticks>,
        framing: u32,
    ) -> Self {
        let count = hops.len();
        let mut delays: Vec<Duration> = hops.iter().map(|hop| hop.1).collect();
        let rest_behind = rest_behind.filter(|hop| hop + 1 < count);
        let mut network = Self {
            events: EventQueue::default(),
            links: hops.into_iter().flat_map(|hop| hop.0).collect(),
            hosts: HostLinks::behind(2 * count),
            onward: vec![None; 2 * count],
            // Packets go up against the order of the hops, so their first link is the last one.
            entry: [LinkId::new(0), LinkId::from_index((2 * count).saturating_sub(1))],
            joins: Vec::new(),
            lines: Vec::new(),
            line_of: Vec::with_capacity(flows.len()),
            flows: vec![FlowPath { wake_at: Instant::MAX, fates: [Fates::default(); 2] }; flows.len()],
            access_of: Vec::new(),
            ends_of: Vec::new(),
            losses: Losses::new(flows.iter().map(|flow| flow.watched)),
            collisions: CollisionWatch::new(flows.iter().map(|flow| flow.is_probe)),
            framing,
            conservation: Conservation::default(),
            host_queues: HostQueues::default(),
            wifi: None,
            flow_control: None,
        };
        // The WiFi channel comes first, because `connect` lets flows end at it.
        if let Some((hop, small_queue)) = wifi {
            // The medium hands packets over at the end of a frame exchange, within its own event.
            // The line turns each of them into an event of the run, like an arrival behind a link.
            let line = network.add_line(Duration::ZERO, End::Host(Direction::Down));
            let counted = if small_queue.is_some() { flows.len() } else { 0 };
            let waiting = vec![AtClient::default(); counted];
            network.wifi = Some(Box::new(Wifi { hop, line, event_at: Instant::MAX, small_queue, waiting }));
        }
        for index in 0..network.links.len() {
            for when in network.links[index].change_times() {
                // Scheduled before all packets, so a rate holds for a packet that comes at its
                // instant.
                network.schedule(when, Event::RateChange(LinkId::from_index(index)));
            }
        }
        for (hop, &delay) in delays.iter().enumerate().take(count.saturating_sub(1)) {
            // There the flows have lines of their own.
            if rest_behind == Some(hop) {
                continue;
            }
            let [down, up] = Direction::BOTH.map(|direction| LinkId::of_hop(hop, direction));
            let [next_down, next_up] = Direction::BOTH.map(|direction| LinkId::of_hop(hop + 1, direction));
            network.onward[down.index()] = Some(network.add_line(delay, End::Link(next_down)));
            network.onward[next_up.index()] = Some(network.add_line(delay, End::Link(up)));
        }
        let mut ends = Direction::BOTH.map(|direction| network.end_of_path(direction));
        if let Some(hop) = rest_behind {
            // What leaves the last link is at its host.
            let last = [LinkId::of_hop(count - 1, Direction::Down), LinkId::of_hop(0, Direction::Up)];
            for (link, end) in last.into_iter().zip(ends) {
                network.onward[link.index()] = Some(network.add_line(Duration::ZERO, end));
            }
            ends =
                [LinkId::of_hop(hop + 1, Direction::Down), LinkId::of_hop(hop, Direction::Up)].map(End::Link);
            // The flows' own lines have the delay of the hop, too.
            delays[hop] = Duration::ZERO;
        }
        network.connect(flows, &delays[..count.saturating_sub(1)], ends);
        // Only the lines of the rest are the delay emulator of a testbed; others are cables.
        let last = network.line_of.iter().flatten();
        for &line in last {
            network.lines[line.index()].ticks = ticks;
        }
        network
    }

    fn add_line(&mut self, delay: Duration, end: End) -> LineId {
        self.lines.push(DelayLine { delay, packets: VecDeque::new(), end, host: None, ticks: None });
        LineId::from_index(self.lines.len() - 1)
    }

    /// Returns where packets go that have left the last link of their direction.
    const fn end_of_path(&self, direction: Direction) -> End {
        match (direction, &self.wifi) {
            (Direction::Down, Some(_)) => End::Wifi(direction),
            _ => End::Host(direction),
        }
    }

    /// Gives each flow its delay lines. Those of the rest of its delay lead to `ends`. Flows with
    /// equal delays share a line, unless their hosts have access links.
    fn connect(&mut self, flows: &[Hosts], delays: &[Duration], ends: [End; 2]) {
        let mut known: BTreeMap<(Duration, End), LineId> = BTreeMap::new();
        if flows.iter().any(|flow| flow.ends != Ends::default()) {
            self.ends_of = flows.iter().map(|flow| flow.ends).collect();
        }
        // An empty table saves packets a cache line, as for `ends_of`.
        if flows.iter().any(|flow| flow.joins > 0) {
            self.joins =
                flows.iter().map(|flow| LinkId::of_hop(flow.joins as usize, Direction::Down)).collect();
        }
        let begins_away = |flow: &Hosts| !flow.access.is_zero() || flow.access_rate.is_some();
        let has_access = flows.iter().any(begins_away);
        for (number, flow) in (0..).map(FlowId::new).zip(flows) {
            let passed = delays.iter().skip(flow.joins as usize);
            let on_the_way = passed.fold(Duration::ZERO, |sum, delay| sum + *delay);
            // Each direction gets half of the round-trip time. With an odd number of nanoseconds,
            // down gets the larger half.
            let up = Duration::from_nanos(flow.rtt.as_nanos() / 2);
            let down = flow.rtt.saturating_sub(up);
            // One event per line serves all its packets, so ten thousand flows with one delay cost
            // one event.
            let mut line = |network: &mut Self, delay, end| {
                *known.entry((delay, end)).or_insert_with(|| network.add_line(delay, end))
            };
            let lines = [(Direction::Down, down), (Direction::Up, up)].map(|(direction, delay)| {
                // Hops and access can take longer than the round-trip time that the flow asks for.
                // The round trip is then as long as they make it.
                let rest = delay.saturating_sub(on_the_way).saturating_sub(flow.access);
                line(self, rest, ends[direction.index()])
            });
            self.line_of.push(lines);
            if has_access {
                let access = Direction::BOTH.map(|direction| {
                    let entry = match (direction, &self.wifi) {
                        (Direction::Up, Some(_)) => End::Wifi(direction),
                        _ => End::Link(self.first_of(number, direction)),
                    };
                    if let Some(rate) = flow.access_rate {
                        // A host's own link has a time at which it becomes free, so it is not
                        // shared.
                        let own = self.add_line(flow.access, entry);
                        self.lines[own.index()].host = Some((rate, Instant::ZERO));
                        return Some(own);
                    }
                    begins_away(flow).then(|| line(self, flow.access, entry))
                });
                self.access_of.push(access);
            }
        }
        // One entry stays in the cache; ten thousand equal ones do not.
        if self.line_of.windows(2).all(|pair| pair[0] == pair[1]) {
            self.line_of.truncate(1);
        }
    }

    /// Schedules an event that no packet causes: the start of a flow, or a change of rate.
    pub(crate) fn schedule(&mut self, when: Instant, event: Event) {
        self.events.push_timer(when, event.encode());
    }

    /// Removes and returns the next event that is due before `end`.
    #[inline]
    pub(crate) fn next_event(&mut self, end: Instant) -> Option<(Instant, Event)> {
        let (when, what) = self.events.pop_before(end)?;
        Some((when, Event::decode(what)))
    }

    /// Sends a packet of `flow` in `direction`. `bytes` is its length at the IP layer.
    #[inline]
    pub fn send(&mut self, now: Instant, direction: Direction, flow: FlowId, bytes: u32, payload: Payload) {
        self.send_on(now, direction, flow.into(), bytes, payload);
    }

    /// Sends a packet of one of the flow's connections. Connections `2 n` and `2 n + 1` are the two
    /// halves of one connection, which queues treat as one flow.
    #[inline]
    pub fn send_on(
        &mut self,
        now: Instant,
        direction: Direction,
        connection: ConnectionId,
        bytes: u32,
        payload: Payload,
    ) {
        self.send_planned(now, None, direction, connection, bytes, payload);
    }

    /// The same for a packet that may leave the queue of its host at `departs`. Without such a
    /// queue the departure has no effect.
    #[inline]
    pub(crate) fn send_planned(
        &mut self,
        now: Instant,
        departs: Option<Instant>,
        direction: Direction,
        connection: ConnectionId,
        bytes: u32,
        payload: Payload,
    ) {
        let ConnectionId { flow, number } = connection;
        // Almost no scenario names hosts or DSCPs. An empty table saves a cache line per packet.
        let ends = if self.ends_of.is_empty() { Ends::default() } else { self.ends_of[flow.index()] };
        let ends = ends.towards(direction);
        let len = bytes + self.framing;
        let packet = Packet { queued_at: now, flow, connection: number, len, ends, payload };
        self.flows[flow.index()].fates[direction.index()].sent += 1;
        self.conservation.sent(packet.len);
        // The line behind the queue of a host has the access delay, too (`add_hosts`), so nothing
        // else is left to do.
        if self.hosts.exist() && self.enter_host(now, direction, packet, departs) {
            return;
        }
        if !self.access_of.is_empty()
            && let Some(line) = self.access_of[flow.index()][direction.index()]
        {
            let begin = self.lines[line.index()].begin(now, packet.len);
            self.travel(begin, line, &packet);
            return;
        }
        if direction == Direction::Up && self.wifi.is_some() {
            self.enter_wifi(now, direction, packet);
            return;
        }
        self.enter(now, self.first_of(flow, direction), packet);
    }

    /// Offers a packet to the WiFi channel.
    fn enter_wifi(&mut self, now: Instant, direction: Direction, packet: Packet) {
        if let Some(wifi) = &mut self.wifi {
            if direction == Direction::Up
                && let Some(waiting) = wifi.waiting.get_mut(packet.flow.index())
            {
                // Only TCP and QUIC obey the limit (`has_room`). Other flows of the client may fill
                // any queue, and the count must not wrap.
                waiting.bytes = waiting.bytes.saturating_add(packet.len);
            }
            wifi.hop.enqueue(now, direction, packet);
        }
        self.leave_wifi(now);
    }

    /// Counts the packets of `flow` in the first queue of its path from now on: that queue is on
    /// the sender's host.
    pub(crate) fn count_in_host(&mut self, flow: FlowId, direction: Direction) {
        self.host_queues.count(flow, self.leaves_by(flow, direction));
    }

    /// Returns the counted packets of `flow` that wait in its host's queue.
    pub(crate) fn waiting_in_host(&self, flow: FlowId) -> u64 {
        self.host_queues.waiting(flow)
    }

    /// Returns the link into which the host of `flow` sends in this direction.
    pub(crate) fn first_link(&self, flow: FlowId, direction: Direction) -> &Link {
        &self.links[self.leaves_by(flow, direction).index()]
    }

    #[inline]
    fn first_of(&self, flow: FlowId, direction: Direction) -> LinkId {
        match self.joins.get(flow.index()) {
            Some(&join) if direction == Direction::Down => join,
            _ => self.entry[direction.index()],
        }
    }

    /// Returns true if the sending host of `flow` has room for more of its packets. If not, the
    /// flow is woken when there is room. A flow that never asks obeys no limit, and is not woken.
    #[inline]
    pub fn has_room(&mut self, direction: Direction, flow: FlowId) -> bool {
        match (&mut self.wifi, direction) {
            (Some(wifi), Direction::Up) => match (wifi.small_queue, wifi.waiting.get_mut(flow.index())) {
                (Some(limit), Some(waiting)) => {
                    waiting.obeys = true;
                    waiting.bytes < limit
                }
                _ => true,
            },
            _ => true,
        }
    }

    /// Records that a packet of `flow` has left its client, through the air or by a drop.
    fn left_client(&mut self, now: Instant, flow: FlowId, bytes: u32) {
        let Some(wifi) = &mut self.wifi else { return };
        let (Some(limit), Some(waiting)) = (wifi.small_queue, wifi.waiting.get_mut(flow.index())) else {
            return;
        };
        let was_full = waiting.bytes >= limit;
        // The count may have stopped at its largest value when the packet entered.
        waiting.bytes = waiting.bytes.saturating_sub(bytes);
        // A call that is woken sends its next packet. If the queue drops that packet, there is room
        // again at once, and time stands still. So only flows that obey the limit are woken.
        if waiting.obeys && was_full && waiting.bytes < limit {
            // An event and not a call: the flow may be the one whose call led here.
            self.wake(flow, now);
        }
    }

    /// Handles everything due on the WiFi channel.
    pub(crate) fn serve_wifi(&mut self, now: Instant) {
        if let Some(wifi) = &mut self.wifi {
            // Some events have been made superfluous by an earlier one; these do not clear
            // `event_at`.
            if wifi.event_at <= now {
                wifi.event_at = Instant::MAX;
            }
            wifi.hop.advance(now);
        }
        self.leave_wifi(now);
    }

    /// Forwards the packets that have left the channel, and schedules the channel's next event.
    fn leave_wifi(&mut self, now: Instant) {
        let Some(wifi) = &mut self.wifi else { return };
        let line = wifi.line;
        if let Some(when) = wifi.hop.next_event()
            && when < wifi.event_at
        {
            wifi.event_at = when;
            self.events.push(when, Event::Wifi.encode());
        }
        let (arrived, dropped) = wifi.hop.take();
        for lost in dropped {
            // The channel reports the drops of both directions in one list.
            let direction = if lost.ends.is_up() { Direction::Up } else { Direction::Down };
            self.count_drop(now, direction, &lost);
            if direction == Direction::Up {
                self.left_client(now, lost.flow, lost.len);
            }
        }
        for (direction, packet) in arrived {
            match direction {
                // A packet for a client reaches it as an event of its own, so that no host is
                // called within the channel's event.
                Direction::Down => self.travel(now, line, &packet),
                Direction::Up => {
                    self.left_client(now, packet.flow, packet.len);
                    self.enter_next(now, self.entry[direction.index()], packet);
                }
            }
        }
    }

    /// Returns the length of a packet at the IP layer, in bytes.
    #[must_use]
    pub const fn ip_bytes(&self, packet: &Packet) -> u32 {
        packet.len.saturating_sub(self.framing)
    }

    /// Offers a packet to a link's queue. Inlined where hosts send; packets from another hop go
    /// through [`Self::enter_next`].
    #[inline(always)]
    fn enter(&mut self, now: Instant, link: LinkId, packet: Packet) {
        let queue = &mut self.links[link.index()];
        // Collisions are reported by hop, and the queue of a host is at none.
        if self.collisions.watches(packet.flow) && !self.hosts.has(link) {
            self.collisions.look(link, &packet, queue.qdisc());
        }
        // Before the packet is offered, because a drop at once takes it off the count again.
        self.host_queues.entered(packet.flow, link);
        let call_at = queue.enqueue(now, packet);
        // Asked now, because counting the drops needs the whole network.
        let serves_now = queue.serves_at(now);
        if !queue.lost.is_empty() {
            self.count_lost(now, link);
        }
        if let Some(when) = call_at {
            // An idle link sends the packet at this instant. No other event of the instant can
            // change that, so the event heap is not asked.
            if serves_now {
                self.serve_idle(now, link);
            } else {
                self.events.push(when, Event::Serve(link).encode());
            }
        }
        if self.flow_control.is_some() {
            self.control_flow(now, link);
        }
    }

    /// Offers a packet to the queue of a later hop.
    #[inline(never)]
    fn enter_next(&mut self, now: Instant, link: LinkId, mut packet: Packet) {
        packet.queued_at = now;
        self.enter(now, link, packet);
    }

    /// Puts a packet on a delay line from `from` on.
    ///
    /// One event serves all packets of a line, except behind a host's access link. There each
    /// packet has an event of its own, as in ns-2: a packet that arrives at the very instant at
    /// which the next link becomes free then comes first if it departed before that transmission
    /// began.
    #[inline(always)]
    fn travel(&mut self, from: Instant, id: LineId, packet: &Packet) {
        let line = &mut self.lines[id.index()];
        let arrival = line.arrival(from);
        line.packets.push_back((arrival, *packet));
        // The event of the packet in front schedules the next one (`arrive`).
        if line.packets.len() == 1 || line.host.is_some() {
            self.events.push(arrival, Event::Arrive(id).encode());
        }
    }

    /// Wakes `flow` at `when`, unless it will be woken earlier. A flow that is woken too early asks
    /// again.
    #[inline]
    pub fn wake(&mut self, flow: FlowId, when: Instant) {
        // Timers move with every ACK, mostly later. A later time schedules nothing: the flow is
        // woken at the earlier one and asks again. Most ACKs then cost no event.
        let wake_at = &mut self.flows[flow.index()].wake_at;
        if when < *wake_at {
            *wake_at = when;
            self.events.push_timer(when, Event::Wake(flow).encode());
        }
    }

    /// Returns true if the wake-up of `flow` at `now` is the latest one requested.
    #[inline]
    pub(crate) fn wakes(&mut self, now: Instant, flow: FlowId) -> bool {
        let wake_at = &mut self.flows[flow.index()].wake_at;
        let current = *wake_at == now;
        if current {
            *wake_at = Instant::MAX;
        }
        current
    }

    /// Serves a link that was idle.
    // Out of line, because `serve` is inlined into the loop over events.
    #[inline(never)]
    fn serve_idle(&mut self, now: Instant, link: LinkId) {
        self.serve(now, link);
    }

    /// Lets a link take its next packet. Inlined into the loop over events.
    #[inline(always)]
    pub(crate) fn serve(&mut self, now: Instant, link: LinkId) {
        let queue = &mut self.links[link.index()];
        let served = queue.serve(now);
        let mut wakes = None;
        if !queue.lost.is_empty() {
            self.count_lost(now, link);
        }
        if let Some(packet) = &served.sent {
            if self.host_queues.left(packet.flow, link) {
                wakes = Some(packet.flow);
            }
            // A server that attaches at a later hop takes its packets behind that hop's up link.
            let is_last = self.joins.get(packet.flow.index()).is_some_and(|join| join.reverse() == link);
            let line = self.onward[link.index()].filter(|_| !is_last).unwrap_or_else(|| {
                if self.hosts.has(link) {
                    return self.hosts.line_behind(link, packet.flow);
                }
                self.line_of[if self.line_of.len() == 1 { 0 } else { packet.flow.index() }]
                    [link.direction().index()]
            });
            self.travel(served.end, line, packet);
        }
        if let Some(flow) = wakes {
            self.wake(flow, now);
        }
        if let Some(when) = served.call_at {
            self.events.push(when, Event::Serve(link).encode());
        }
        if self.flow_control.is_some() {
            self.control_flow(now, link);
        }
    }

    /// Counts the packets that the queue of `link` has dropped.
    #[cold]
    fn count_lost(&mut self, now: Instant, link: LinkId) {
        // Taken out, because counting needs the whole network.
        let mut lost = std::mem::take(&mut self.links[link.index()].lost);
        for packet in lost.drain(..) {
            if self.host_queues.left(packet.flow, link) {
                self.wake(packet.flow, now);
            }
            self.count_drop(now, link.direction(), &packet);
        }
        // The list keeps its memory.
        self.links[link.index()].lost = lost;
    }

    /// Counts a packet that was dropped on its way in `direction`.
    fn count_drop(&mut self, now: Instant, direction: Direction, lost: &Packet) {
        self.conservation.dropped(lost.len);
        // The flow did not send a copy (`netem duplicate`), so it did not lose one.
        if !lost.ends.is_copy() {
            self.flows[lost.flow.index()].fates[direction.index()].dropped += 1;
            self.losses.dropped(now, direction, lost.flow);
        }
    }

    /// Gives the discipline of a link another configuration.
    pub(crate) fn reconfigure(&mut self, now: Instant, link: LinkId, config: AnyConfig) {
        let call_at = self.links[link.index()].reconfigure(now, config);
        self.count_lost(now, link);
        if let Some(when) = call_at {
            self.schedule(when, Event::Serve(link));
        }
    }

    pub(crate) fn change_rate(&mut self, now: Instant, link: LinkId) {
        if let Some(when) = self.links[link.index()].change_rate(now) {
            self.schedule(when, Event::Serve(link));
        }
    }

    /// Takes the first packet from a delay line. If the line ends at a host, `at_host` gets the
    /// packet and the direction in which it travelled.
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        now: Instant,
        id: LineId,
        at_host: impl FnOnce(&mut Self, &Packet, Direction),
    ) {
        let line = &mut self.lines[id.index()];
        let Some((_, packet)) = line.packets.pop_front() else { return };
        // Behind a host's link every packet has an event already: see `travel`.
        if line.host.is_none()
            && let Some(&(next, _)) = line.packets.front()
        {
            self.events.push(next, Event::Arrive(id).encode());
        }
        match line.end {
            End::Host(direction) => {
                self.conservation.arrived(packet.len);
                let fates = &mut self.flows[packet.flow.index()].fates[direction.index()];
                // A copy made by `netem duplicate` was not sent by the flow, so it has no fate.
                fates.arrived += u64::from(!packet.ends.is_copy());
                at_host(self, &packet, direction);
            }
            End::Link(link) => self.enter_next(now, link, packet),
            End::Wifi(direction) => self.enter_wifi(now, direction, packet),
        }
    }

    /// Prefetches the packet that is `behind` positions behind the first one of a delay line.
    #[inline]
    pub(crate) fn fetch_packet(&self, id: LineId, behind: usize) {
        if let Some((when, packet)) = self.lines[id.index()].packets.get(behind) {
            // A packet lies in two or three cache lines.
            fetch_line(from_ref(when), 0);
            fetch_line(from_ref(&packet.flow), 0);
            fetch_line(from_ref(&packet.payload), 0);
        }
    }

    /// Returns the flow and the direction of the packet that is `behind` positions behind the first
    /// one; `None` if the line does not end at a host.
    #[inline]
    pub(crate) fn upcoming(&self, id: LineId, behind: usize) -> Option<(FlowId, Direction)> {
        let line = &self.lines[id.index()];
        let End::Host(direction) = line.end else { return None };
        line.packets.get(behind).map(|(_, packet)| (packet.flow, direction))
    }

    /// Prefetches a packet that waits for a link.
    #[inline]
    pub(crate) fn fetch_upcoming(&self, link: LinkId) {
        if let Some(link) = self.links.get(link.index()) {
            link.fetch_upcoming();
        }
    }

    /// Prefetches the network's state of a flow.
    #[inline]
    pub(crate) fn fetch(&self, flow: FlowId) {
        fetch_line(&self.flows, flow.index());
    }

    /// Returns the links of hops, each hop's down link before its up link.
    pub(crate) fn links_mut(&mut self) -> &mut [Link] {
        // Queues of hosts have no results, so their links, which follow those of the hops, are left
        // out.
        &mut self.links[..self.hosts.first]
    }

    pub(crate) fn wifi_mut(&mut self) -> Option<&mut WifiHop> {
        self.wifi.as_mut().map(|wifi| &mut wifi.hop)
    }

    /// Returns the links of hops, the WiFi channel and the collisions of probes.
    pub(crate) fn into_parts(mut self) -> (Vec<Link>, Option<WifiHop>, CollisionWatch) {
        // As in `links_mut`: the links of hosts are measured nowhere.
        self.links.truncate(self.hosts.first);
        (self.links, self.wifi.map(|wifi| wifi.hop), self.collisions)
    }

    /// Returns the counters of the disciplines of hops, in the order of their links.
    pub(crate) fn stats(&self) -> Vec<Stats> {
        self.links[..self.hosts.first].iter().map(|link| link.qdisc().stats()).collect()
    }

    /// Returns the fates of a flow's packets: down, up.
    pub(crate) fn fates(&self, flow: usize) -> [Fates; 2] {
        self.flows[flow].fates
    }

    /// Returns the packets and bytes in flight: queued, in transmission, or in a delay line.
    pub(crate) fn in_flight(&self) -> Count {
        let mut count = Count::default();
        // The links of hosts count, too: their packets were sent and have not arrived.
        for link in &self.links {
            let held = link.held();
            count.packets += held.packets;
            count.bytes += held.bytes;
        }
        if let Some(wifi) = &self.wifi {
            count = count.plus(wifi.hop.held());
        }
        for (_, packet) in self.lines.iter().flat_map(|line| &line.packets) {
            count.add(packet.len);
        }
        count
    }

    /// Returns the number of these packets without visiting each of them.
    pub(crate) fn packets_held(&self) -> u64 {
        let queued: u64 = self.links.iter().map(|link| link.held().packets).sum();
        let on_wifi = self.wifi.as_ref().map_or(0, |wifi| wifi.hop.held().packets);
        let delayed: usize = self.lines.iter().map(|line| line.packets.len()).sum();
        queued + on_wifi + delayed as u64
    }

    /// Returns true if every packet sent, and every copy made by a queue, has arrived, was dropped,
    /// or is in flight.
    pub(crate) fn is_balanced(&self) -> bool {
        let Conservation { sent, arrived, dropped } = self.conservation;
        let on_wifi = self.wifi.as_ref().map(|wifi| wifi.hop.copies());
        let copies = self.links.iter().map(Link::copies).chain(on_wifi);
        let (copied, bytes_copied) =
            copies.fold((0, 0), |sum, copies| (sum.0 + copies.packets, sum.1 + copies.bytes));
        let left = self.in_flight();
        sent.packets + copied == arrived.packets + dropped.packets + left.packets
            && sent.bytes + bytes_copied == arrived.bytes + dropped.bytes + left.bytes
    }
}
