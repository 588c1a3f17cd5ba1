//! The path: hops in series, each with a link and a queue discipline per direction, and delay lines between and behind
//! them.
//!
//! ```text
//! servers --access--> [ hop 0 ] --delay--> [ hop 1 ] ... [ hop n ] --the rest of the flow's delay--> clients    down
//! servers <--rest---- [ hop 0 ] <--delay-- [ hop 1 ] ... [ hop n ] <--access------------------------ clients    up
//! ```
//!
//! A WiFi channel, if there is one, lies between the last hop (and the delay behind it) and the clients.
//!
//! A server may join behind the first hop, or further along: what it sends enters there, what is sent to it leaves there.
//!
//! A flow's packets wait for its access delay before the first link, for the delay of each hop that they leave, and for
//! what then is left of half the flow's round-trip time behind the last one.

use std::collections::{BTreeMap, VecDeque};
use std::slice::from_ref;

use goodqueue::{Count, Duration, Instant, Qdisc, Rate, Stats};

use crate::ahead::fetch_line;
use crate::events::EventQueue;
use crate::link::Link;
use crate::losses::{Losses, Watched};
use crate::neighbours::Neighbours;
use crate::packet::{Direction, Ends, Packet, Payload};
use crate::wifi::WifiHop;

/// Everything that packets travel through. Traffic sources send into it and ask it to be woken.
#[derive(Debug)]
pub struct Network {
    events: EventQueue,
    /// Of hop `n`: down at `2 n`, up at `2 n + 1`.
    links: Vec<Link>,
    /// Where packets go that leave each link, if not to their hosts.
    onward: Vec<Option<u32>>,
    /// The first link of each direction.
    entry: [u32; 2],
    /// The first link of each flow's way down, where its way up ends; empty if it is the first of the path for all.
    joins: Vec<u32>,
    lines: Vec<DelayLine>,
    /// The delay lines of each flow, per direction: behind the last link; one entry if they are the same for all.
    line_of: Vec<[u32; 2]>,
    flows: Vec<FlowPath>,
    /// Before the first link; empty if no flow has an access delay, or a link of its own.
    access_of: Vec<[Option<u32>; 2]>,
    /// The hosts of each flow and the marking of its packets; empty if all are the same.
    ends_of: Vec<Ends>,
    pub(crate) losses: Losses,
    pub(crate) neighbours: Neighbours,
    framing: u32,
    books: Books,
    wifi: Option<Box<Wifi>>,
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug)]
struct FlowPath {
    /// When it will be woken; [`Instant::MAX`]: not at all.
    wake_at: Instant,
    /// Down, up.
    fates: [Fates; 2],
}

/// The channel to the clients.
#[derive(Debug)]
struct Wifi {
    hop: WifiHop,
    /// The line without delay through which its packets reach the clients.
    line: u32,
    /// When it will be looked at; [`Instant::MAX`]: not at all.
    event_at: Instant,
    /// Bytes of a flow that may wait at its client.
    small_queue: Option<u32>,
    /// Bytes of each flow that wait at its client; empty without a limit.
    waiting: Vec<u32>,
}

/// Packets in flight that all need the same time: they arrive in the order in which they left, so one event, for the
/// first of them, is enough.
#[derive(Debug)]
struct DelayLine {
    delay: Duration,
    packets: VecDeque<(Instant, Packet)>,
    end: End,
    /// The host's own link in front of it: its rate, and when it has sent what it has.
    host: Option<(Rate, Instant)>,
    ticks: Option<Ticks>,
}

/// The clock of an emulator of delays, which lets packets out at its ticks only: the time from one to the next, and that
/// of one of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    pub(crate) every: Duration,
    pub(crate) first: Duration,
}

impl Ticks {
    /// When what comes at `from` is let out, after the whole ticks of `delay` from the tick before on.
    #[inline]
    fn end(self, from: Instant, delay: Duration) -> Instant {
        let every = self.every.as_nanos().max(1);
        let before = from.since(Instant::ZERO + self.first).as_nanos() / every;
        let ticks = before + delay.as_nanos() / every;
        (Instant::ZERO + self.first + self.every.saturating_mul(ticks)).max(from)
    }
}

impl DelayLine {
    /// When the last bit of a packet that is sent at `now` is on the line.
    #[inline]
    fn begin(&mut self, now: Instant, bytes: u32) -> Instant {
        let Some((rate, free_at)) = &mut self.host else { return now };
        *free_at = now.max(*free_at) + rate.serialization(bytes);
        *free_at
    }

    /// When what is on the line from `from` on is at its end.
    #[inline]
    fn arrival(&self, from: Instant) -> Instant {
        self.ticks.map_or(from + self.delay, |ticks| ticks.end(from, self.delay))
    }
}

/// What is at the end of a delay line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum End {
    /// The host that packets of this direction go to.
    Host(Direction),
    /// A link.
    Link(u32),
    /// The WiFi channel, in this direction.
    Wifi(Direction),
}

/// How far a flow's hosts are from the path, and how they mark its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hosts {
    /// Base round-trip time, hops and access included.
    pub(crate) rtt: Duration,
    /// Time between a host and the first link that its packets enter, in either direction.
    pub(crate) access: Duration,
    /// Rate of the link by which each of its hosts sends; `None`: it takes no time.
    pub(crate) access_rate: Option<Rate>,
    /// Number of the hop in front of which the server is.
    pub(crate) joins: u32,
    /// Which hosts they are, and the marking of the packets both ways.
    pub(crate) ends: Ends,
    /// How its losses are looked at.
    pub(crate) watched: Watched,
    /// It measures delays.
    pub(crate) is_probe: bool,
}

/// What happened to a flow's packets that travelled in one direction. Copies that a queue makes (`netem duplicate`) count in
/// nothing: each packet that was sent has arrived, was dropped, or is on its way.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fates {
    /// Sent into the network.
    pub sent: u64,
    /// Arrived at the other host.
    pub arrived: u64,
    /// Dropped by a queue, or lost in the air.
    pub dropped: u64,
}

impl Fates {
    /// What has happened since `before`.
    pub(crate) const fn since(&self, before: &Self) -> Self {
        Self {
            sent: self.sent - before.sent,
            arrived: self.arrived - before.arrived,
            dropped: self.dropped - before.dropped,
        }
    }
}

/// What went into the network and came out of it, to find out that nothing was lost or made on the way. Kept in debug
/// builds only.
#[derive(Clone, Copy, Default, Debug)]
struct Books {
    sent: Count,
    arrived: Count,
    dropped: Count,
}

impl Books {
    #[inline]
    fn sent(&mut self, bytes: u32) {
        if cfg!(debug_assertions) {
            self.sent.add(bytes);
        }
    }

    #[inline]
    fn arrived(&mut self, bytes: u32) {
        if cfg!(debug_assertions) {
            self.arrived.add(bytes);
        }
    }

    #[inline]
    fn dropped(&mut self, bytes: u32) {
        if cfg!(debug_assertions) {
            self.dropped.add(bytes);
        }
    }
}

/// Something that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A link may take its next packet.
    Serve(u32),
    /// The rate of a link changes.
    RateChange(u32),
    /// The first packet of a delay line arrives.
    Arrive(u32),
    /// A flow asked to be woken.
    Wake(u32),
    /// A flow begins.
    Start(u32),
    /// A flow ends.
    Stop(u32),
    /// Something happens on the WiFi channel.
    Wifi,
}

/// The largest number of flows: an event holds 21 bits of index, and a flow has up to four delay lines of its own.
pub const MAX_FLOWS: usize = 1 << 19;

impl Event {
    const fn encode(self) -> u32 {
        match self {
            Self::Serve(link) => link << 3,
            Self::RateChange(link) => 1 | link << 3,
            Self::Arrive(line) => 2 | line << 3,
            Self::Wake(flow) => 3 | flow << 3,
            Self::Start(flow) => 4 | flow << 3,
            Self::Stop(flow) => 5 | flow << 3,
            Self::Wifi => 6,
        }
    }

    const fn decode(what: u32) -> Self {
        let index = what >> 3;
        match what & 7 {
            0 => Self::Serve(index),
            1 => Self::RateChange(index),
            2 => Self::Arrive(index),
            3 => Self::Wake(index),
            4 => Self::Start(index),
            5 => Self::Stop(index),
            _ => Self::Wifi,
        }
    }
}

impl Network {
    /// A path of hops (their links down and up, and the delay to the next one), and perhaps of a WiFi channel behind them,
    /// for flows between these hosts; what is left of their delays behind the last link ends at `ticks`.
    pub(crate) fn new(
        hops: Vec<([Link; 2], Duration)>,
        wifi: Option<(WifiHop, Option<u32>)>,
        flows: &[Hosts],
        ticks: Option<Ticks>,
        framing: u32,
    ) -> Self {
        let count = hops.len();
        let (links, delays): (Vec<[Link; 2]>, Vec<Duration>) = hops.into_iter().unzip();
        let mut network = Self {
            events: EventQueue::default(),
            links: links.into_iter().flatten().collect(),
            onward: vec![None; 2 * count],
            entry: [0, number(2 * count).saturating_sub(1)],
            joins: Vec::new(),
            lines: Vec::new(),
            line_of: Vec::with_capacity(flows.len()),
            flows: vec![FlowPath { wake_at: Instant::MAX, fates: [Fates::default(); 2] }; flows.len()],
            access_of: Vec::new(),
            ends_of: Vec::new(),
            losses: Losses::new(flows.iter().map(|flow| flow.watched)),
            neighbours: Neighbours::new(flows.iter().map(|flow| flow.is_probe)),
            framing,
            books: Books::default(),
            wifi: None,
        };
        if let Some((hop, small_queue)) = wifi {
            let line = network.add_line(Duration::ZERO, End::Host(Direction::Down));
            let waiting = if small_queue.is_some() { vec![0; flows.len()] } else { Vec::new() };
            network.wifi = Some(Box::new(Wifi { hop, line, event_at: Instant::MAX, small_queue, waiting }));
        }
        for index in 0..network.links.len() {
            for when in network.links[index].change_times() {
                network.schedule(when, Event::RateChange(number(index)));
            }
        }
        for (hop, &delay) in delays.iter().enumerate().take(count.saturating_sub(1)) {
            let (down, up) = (2 * hop, 2 * hop + 1);
            network.onward[down] = Some(network.add_line(delay, End::Link(number(down + 2))));
            network.onward[up + 2] = Some(network.add_line(delay, End::Link(number(up))));
        }
        network.connect(flows, &delays[..count.saturating_sub(1)]);
        let last = network.line_of.iter().flatten();
        for &line in last {
            network.lines[line as usize].ticks = ticks;
        }
        network
    }

    fn add_line(&mut self, delay: Duration, end: End) -> u32 {
        self.lines.push(DelayLine { delay, packets: VecDeque::new(), end, host: None, ticks: None });
        number(self.lines.len() - 1)
    }

    /// Gives each flow its delay lines; those of equal delay share one, unless the host has a link of its own.
    fn connect(&mut self, flows: &[Hosts], delays: &[Duration]) {
        let mut known: BTreeMap<(Duration, End), u32> = BTreeMap::new();
        if flows.iter().any(|flow| flow.ends != Ends::default()) {
            self.ends_of = flows.iter().map(|flow| flow.ends).collect();
        }
        if flows.iter().any(|flow| flow.joins > 0) {
            self.joins = flows.iter().map(|flow| 2 * flow.joins).collect();
        }
        let begins_away = |flow: &Hosts| !flow.access.is_zero() || flow.access_rate.is_some();
        let has_access = flows.iter().any(begins_away);
        for (number, flow) in (0_u32..).zip(flows) {
            let passed = delays.iter().skip(flow.joins as usize);
            let on_the_way = passed.fold(Duration::ZERO, |sum, delay| sum + *delay);
            // Half of the round-trip time each way; of an odd nanosecond the way down takes the larger half.
            let up = Duration::from_nanos(flow.rtt.as_nanos() / 2);
            let down = flow.rtt.saturating_sub(up);
            let mut line = |network: &mut Self, delay, end| {
                *known.entry((delay, end)).or_insert_with(|| network.add_line(delay, end))
            };
            let lines = [(Direction::Down, down), (Direction::Up, up)].map(|(direction, delay)| {
                let rest = delay.saturating_sub(on_the_way).saturating_sub(flow.access);
                let end = match (direction, &self.wifi) {
                    (Direction::Down, Some(_)) => End::Wifi(direction),
                    _ => End::Host(direction),
                };
                line(self, rest, end)
            });
            self.line_of.push(lines);
            if has_access {
                let access = Direction::BOTH.map(|direction| {
                    let entry = match (direction, &self.wifi) {
                        (Direction::Up, Some(_)) => End::Wifi(direction),
                        _ => End::Link(self.first_of(number, direction)),
                    };
                    if let Some(rate) = flow.access_rate {
                        let own = self.add_line(flow.access, entry);
                        self.lines[own as usize].host = Some((rate, Instant::ZERO));
                        return Some(own);
                    }
                    begins_away(flow).then(|| line(self, flow.access, entry))
                });
                self.access_of.push(access);
            }
        }
        if self.line_of.windows(2).all(|pair| pair[0] == pair[1]) {
            self.line_of.truncate(1);
        }
    }

    /// Schedules what is not a packet's: a flow's start, a change of rate.
    pub(crate) fn schedule(&mut self, when: Instant, event: Event) {
        self.events.push_timer(when, event.encode());
    }

    /// The next event that is due before `end`.
    #[inline]
    pub(crate) fn next_event(&mut self, end: Instant) -> Option<(Instant, Event)> {
        let (when, what) = self.events.pop_before(end)?;
        Some((when, Event::decode(what)))
    }

    /// Sends a packet of `flow`, `bytes` long at the IP layer, on its way in `direction`.
    #[inline]
    pub fn send(&mut self, now: Instant, direction: Direction, flow: u32, bytes: u32, payload: Payload) {
        self.send_on(now, direction, (flow, 0), bytes, payload);
    }

    /// Sends a packet of one of a flow's connections. Connections `2 n` and `2 n + 1` are two halves of one: queues
    /// take their packets for one flow.
    #[inline]
    pub fn send_on(
        &mut self,
        now: Instant,
        direction: Direction,
        (flow, connection): (u32, u32),
        bytes: u32,
        payload: Payload,
    ) {
        let ends = if self.ends_of.is_empty() { Ends::default() } else { self.ends_of[flow as usize] };
        let (ends, len) = (ends.towards(direction), bytes + self.framing);
        let packet = Packet { queued_at: now, flow, connection, len, ends, payload };
        self.flows[flow as usize].fates[direction.index()].sent += 1;
        self.books.sent(packet.len);
        if !self.access_of.is_empty()
            && let Some(line) = self.access_of[flow as usize][direction.index()]
        {
            let begin = self.lines[line as usize].begin(now, packet.len);
            self.travel(begin, line, packet);
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
                && let Some(waiting) = wifi.waiting.get_mut(packet.flow as usize)
            {
                *waiting = waiting.saturating_add(packet.len);
            }
            wifi.hop.enqueue(now, direction, packet);
        }
        self.leave_wifi(now);
    }

    /// The link into which the host of `flow` sends in this direction.
    pub(crate) fn first_link(&self, flow: u32, direction: Direction) -> &Link {
        &self.links[self.first_of(flow, direction) as usize]
    }

    #[inline]
    fn first_of(&self, flow: u32, direction: Direction) -> u32 {
        match self.joins.get(flow as usize) {
            Some(&join) if direction == Direction::Down => join,
            _ => self.entry[direction.index()],
        }
    }

    /// True if the host at which `flow` begins takes more of it now. If not, the flow is woken when it does.
    #[inline]
    pub fn has_room(&self, direction: Direction, flow: u32) -> bool {
        match (&self.wifi, direction) {
            (Some(wifi), Direction::Up) => match (wifi.small_queue, wifi.waiting.get(flow as usize)) {
                (Some(limit), Some(waiting)) => *waiting < limit,
                _ => true,
            },
            _ => true,
        }
    }

    /// A packet of `flow` has left its client, in the air or by a drop.
    fn left_client(&mut self, now: Instant, flow: u32, bytes: u32) {
        let Some(wifi) = &mut self.wifi else { return };
        let (Some(limit), Some(waiting)) = (wifi.small_queue, wifi.waiting.get_mut(flow as usize)) else {
            return;
        };
        let was_full = *waiting >= limit;
        *waiting = waiting.saturating_sub(bytes);
        if was_full && *waiting < limit {
            self.wake(flow, now);
        }
    }

    /// Lets happen on the WiFi channel what is due.
    pub(crate) fn serve_wifi(&mut self, now: Instant) {
        if let Some(wifi) = &mut self.wifi {
            // An event that an earlier one made superfluous asks for no other.
            if wifi.event_at <= now {
                wifi.event_at = Instant::MAX;
            }
            wifi.hop.advance(now);
        }
        self.leave_wifi(now);
    }

    /// Sends on their way what has left the channel, and asks to be called when something happens there next.
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
            let direction = if lost.ends.is_up() { Direction::Up } else { Direction::Down };
            count_drop(now, direction, &lost, (&mut self.flows, &mut self.losses, &mut self.books));
            if direction == Direction::Up {
                self.left_client(now, lost.flow, lost.len);
            }
        }
        for (direction, packet) in arrived {
            match direction {
                Direction::Down => self.travel(now, line, packet),
                Direction::Up => {
                    self.left_client(now, packet.flow, packet.len);
                    self.enter(now, self.entry[direction.index()], packet);
                }
            }
        }
    }

    /// Bytes of a packet at the IP layer.
    pub(crate) const fn ip_bytes(&self, packet: &Packet) -> u32 {
        packet.len.saturating_sub(self.framing)
    }

    /// Offers a packet to a link's queue.
    #[inline]
    pub(crate) fn enter(&mut self, now: Instant, link: u32, packet: Packet) {
        let Self { links, flows, losses, neighbours, books, .. } = self;
        let direction = Direction::BOTH[link as usize & 1];
        let queue = &mut links[link as usize];
        if neighbours.watches(packet.flow) {
            neighbours.look(link, &packet, queue.qdisc());
        }
        let call_at = queue.enqueue(now, packet, &mut |lost: &Packet| {
            count_drop(now, direction, lost, (flows, losses, books));
        });
        if let Some(when) = call_at {
            if queue.serves_at(now) {
                self.serve(now, link);
            } else {
                self.events.push(when, Event::Serve(link).encode());
            }
        }
    }

    /// Puts a packet that starts at `from` on a delay line. One event stands for all packets of a line; but what comes from a host's
    /// own link is scheduled packet by packet, so that an arrival at the very instant at which the link behind becomes free
    /// comes first if it set out before that transmission did, as in ns-2.
    #[inline]
    fn travel(&mut self, from: Instant, index: u32, packet: Packet) {
        let line = &mut self.lines[index as usize];
        let arrival = line.arrival(from);
        line.packets.push_back((arrival, packet));
        if line.packets.len() == 1 || line.host.is_some() {
            self.events.push(arrival, Event::Arrive(index).encode());
        }
    }

    /// Wakes `flow` at `when`, unless it will be woken before that: who is woken too early asks again.
    #[inline]
    pub fn wake(&mut self, flow: u32, when: Instant) {
        let wake_at = &mut self.flows[flow as usize].wake_at;
        if when < *wake_at {
            *wake_at = when;
            self.events.push_timer(when, Event::Wake(flow).encode());
        }
    }

    /// True if the wake-up of `flow` at `now` is the one last asked for.
    #[inline]
    pub(crate) fn wakes(&mut self, now: Instant, flow: u32) -> bool {
        let wake_at = &mut self.flows[flow as usize].wake_at;
        let current = *wake_at == now;
        if current {
            *wake_at = Instant::MAX;
        }
        current
    }

    #[inline]
    pub(crate) fn serve(&mut self, now: Instant, link: u32) {
        let Self { links, flows, losses, books, .. } = self;
        let direction = Direction::BOTH[link as usize & 1];
        let progress = links[link as usize].serve(now, &mut |lost: &Packet| {
            count_drop(now, direction, lost, (flows, losses, books));
        });
        if let Some((end, packet)) = progress.sent {
            let is_last = self.joins.get(packet.flow as usize).is_some_and(|join| join + 1 == link);
            let line = self.onward[link as usize].filter(|_| !is_last).unwrap_or_else(|| {
                self.line_of[if self.line_of.len() == 1 { 0 } else { packet.flow as usize }]
                    [link as usize & 1]
            });
            self.travel(end, line, packet);
        }
        if let Some(when) = progress.call_at {
            self.events.push(when, Event::Serve(link).encode());
        }
    }

    pub(crate) fn change_rate(&mut self, now: Instant, link: u32) {
        if let Some(when) = self.links[link as usize].change_rate(now) {
            self.schedule(when, Event::Serve(link));
        }
    }

    /// Takes the packet at the end of a delay line. If that is a host: the packet, and the direction in which it
    /// travelled.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Instant, index: u32) -> Option<(Packet, Direction)> {
        let line = &mut self.lines[index as usize];
        let (_, packet) = line.packets.pop_front()?;
        if line.host.is_none()
            && let Some(&(next, _)) = line.packets.front()
        {
            self.events.push(next, Event::Arrive(index).encode());
        }
        match line.end {
            End::Host(direction) => {
                self.books.arrived(packet.len);
                let fates = &mut self.flows[packet.flow as usize].fates[direction.index()];
                fates.arrived += u64::from(!packet.ends.is_copy());
                Some((packet, direction))
            }
            End::Link(link) => {
                self.enter(now, link, packet);
                None
            }
            End::Wifi(direction) => {
                self.enter_wifi(now, direction, packet);
                None
            }
        }
    }

    /// Fetches the packet that is so many behind the first of a delay line.
    #[inline]
    pub(crate) fn fetch_packet(&self, index: u32, behind: usize) {
        if let Some((when, packet)) = self.lines[index as usize].packets.get(behind) {
            // It lies in two cache lines, or three.
            fetch_line(from_ref(when), 0);
            fetch_line(from_ref(&packet.flow), 0);
            fetch_line(from_ref(&packet.payload), 0);
        }
    }

    /// The flow whose packet is so many behind the first of a delay line to hosts, and where it goes.
    #[inline]
    pub(crate) fn upcoming(&self, index: u32, behind: usize) -> Option<(u32, Direction)> {
        let line = &self.lines[index as usize];
        let End::Host(direction) = line.end else { return None };
        line.packets.get(behind).map(|(_, packet)| (packet.flow, direction))
    }

    /// Fetches a packet that waits for a link.
    #[inline]
    pub(crate) fn fetch_upcoming(&self, link: u32) {
        if let Some(link) = self.links.get(link as usize) {
            link.fetch_upcoming();
        }
    }

    /// Fetches what the path knows of a flow.
    #[inline]
    pub(crate) fn fetch(&self, flow: u32) {
        fetch_line(&self.flows, flow as usize);
    }

    /// The links, each hop's down before its up.
    pub(crate) fn links_mut(&mut self) -> &mut [Link] {
        &mut self.links
    }

    pub(crate) fn wifi_mut(&mut self) -> Option<&mut WifiHop> {
        self.wifi.as_mut().map(|wifi| &mut wifi.hop)
    }

    /// The links, the WiFi channel, and what probes met.
    pub(crate) fn into_parts(self) -> (Vec<Link>, Option<WifiHop>, Neighbours) {
        (self.links, self.wifi.map(|wifi| wifi.hop), self.neighbours)
    }

    /// Counters of all disciplines, in the order of the links.
    pub(crate) fn stats(&self) -> Vec<Stats> {
        self.links.iter().map(|link| link.qdisc().stats()).collect()
    }

    /// What became of a flow's packets: down, up.
    pub(crate) fn fates(&self, flow: usize) -> [Fates; 2] {
        self.flows[flow].fates
    }

    /// Packets and bytes that are on their way: queued, being sent, or in a delay line.
    pub(crate) fn in_flight(&self) -> Count {
        let mut count = Count::default();
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

    /// How many packets these are, without looking at each.
    pub(crate) fn packets_held(&self) -> u64 {
        let queued: u64 = self.links.iter().map(|link| link.held().packets).sum();
        let on_wifi = self.wifi.as_ref().map_or(0, |wifi| wifi.hop.held().packets);
        let delayed: usize = self.lines.iter().map(|line| line.packets.len()).sum();
        queued + on_wifi + delayed as u64
    }

    /// True if everything that was sent, and every copy that a queue made, has arrived, was dropped, or is on its way.
    pub(crate) fn is_balanced(&self) -> bool {
        let Books { sent, arrived, dropped } = self.books;
        let on_wifi = self.wifi.as_ref().map(|wifi| wifi.hop.copies());
        let copies = self.links.iter().map(Link::copies).chain(on_wifi);
        let (copied, bytes_copied) =
            copies.fold((0, 0), |sum, copies| (sum.0 + copies.packets, sum.1 + copies.bytes));
        let left = self.in_flight();
        sent.packets + copied == arrived.packets + dropped.packets + left.packets
            && sent.bytes + bytes_copied == arrived.bytes + dropped.bytes + left.bytes
    }
}

/// A packet was dropped on its way in `direction`.
fn count_drop(
    now: Instant,
    direction: Direction,
    lost: &Packet,
    (flows, losses, books): (&mut [FlowPath], &mut Losses, &mut Books),
) {
    books.dropped(lost.len);
    if !lost.ends.is_copy() {
        flows[lost.flow as usize].fates[direction.index()].dropped += 1;
        losses.dropped(now, direction, lost.flow);
    }
}

/// An index as an event holds it.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulator_counts_whole_ticks_from_the_one_before_a_packet() {
        let micros = Duration::from_micros;
        let ticks = Ticks { every: micros(4000), first: micros(1000) };
        let end = |at: u64, delay: u64| {
            ticks.end(Instant::ZERO + micros(at), micros(delay)).since(Instant::ZERO).as_nanos() / 1000
        };
        assert_eq!(end(5000, 25_000), 29_000, "at a tick: 24 ms");
        assert_eq!(end(8999, 25_000), 29_000, "just before the next one: 20");
        assert_eq!(end(9001, 25_000), 33_000);
        assert_eq!(end(6000, 3000), 6000, "less than a tick is nothing");
    }

    #[test]
    fn events_survive_their_packing() {
        let last = 4 * number(MAX_FLOWS) - 1;
        let events = [
            Event::Serve(0),
            Event::Serve(last),
            Event::RateChange(1),
            Event::Arrive(last),
            Event::Wake(last),
            Event::Start(0),
            Event::Stop(last),
            Event::Wifi,
        ];
        for event in events {
            assert!(event.encode() <= EventQueue::MAX_WHAT);
            assert_eq!(Event::decode(event.encode()), event);
        }
    }
}
