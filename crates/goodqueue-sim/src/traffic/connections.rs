//! The connections of a flow that has many, one after another and side by side.

use std::sync::Arc;

use goodqueue::{ConfigError, Instant};
use goodqueue_tcp::{AnyCongestionControl, Config};

use super::Tally;
use super::connection::{Connection, Counts};
use crate::events::EventQueue;
use crate::network::Network;
use crate::packet::{Direction, Packet};

/// Connections that come and go. A place is used again when its connection has ended; the number of a connection says
/// place and generation, so that a late packet of an earlier one is not taken for its successor's.
#[derive(Debug)]
pub(crate) struct Connections {
    flow: u32,
    /// Where the data of the ends that open them goes.
    asks: Direction,
    config: Arc<Config>,
    congestion_control: AnyCongestionControl,
    places: Vec<Place>,
    free: Vec<u32>,
    /// Timers: the place whose connection may have something to do.
    timers: EventQueue,
    /// Counters of connections that ended.
    ended: Counts,
    delivered: [u64; 2],
}

#[derive(Debug, Default)]
struct Place {
    generation: u32,
    connection: Option<Box<Connection>>,
    /// When the timer queue will look at this place; [`Instant::MAX`]: not at all.
    timer: Option<Instant>,
}

/// The name of a connection, for as long as it is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Handle(u32);

impl Handle {
    /// Place in tables that the owner keeps beside the connections.
    pub(crate) const fn place(self) -> usize {
        self.place_number() as usize
    }

    /// The same for an event.
    pub(crate) const fn place_number(self) -> u32 {
        self.0 & PLACE_MASK
    }
}

/// Connections of one flow that can be open at a time.
pub(crate) const MAX_OPEN: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 17;
const PLACE_MASK: u32 = (1 << PLACE_BITS) - 1;
/// A packet's connection has 32 bits, one of which says which half.
const GENERATION_MASK: u32 = (1 << (31 - PLACE_BITS)) - 1;

impl Connections {
    /// No connection yet; all will have these settings. `asks` is where the SYNs go.
    pub(crate) fn new(
        flow: u32,
        asks: Direction,
        config: Config,
        congestion_control: AnyCongestionControl,
    ) -> Result<Self, ConfigError> {
        // What is wrong with the settings is said now.
        let config = Arc::new(config);
        Connection::new((flow, 0), asks, &config, &congestion_control)?;
        Ok(Self {
            flow,
            asks,
            config,
            congestion_control,
            places: Vec::new(),
            free: Vec::new(),
            timers: EventQueue::default(),
            ended: Counts::default(),
            delivered: [0; 2],
        })
    }

    /// Opens one more: its SYN is sent. `None` if [`MAX_OPEN`] are open.
    pub(crate) fn open(&mut self, now: Instant, network: &mut Network) -> Option<Handle> {
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.places.len() < MAX_OPEN => {
                self.places.push(Place::default());
                u32::try_from(self.places.len() - 1).ok()?
            }
            None => return None,
        };
        let at = &mut self.places[place as usize];
        let number = (at.generation & GENERATION_MASK) << PLACE_BITS | place;
        let made = Connection::new((self.flow, number), self.asks, &self.config, &self.congestion_control);
        at.connection = Some(Box::new(made.ok()?));
        let handle = Handle(number);
        self.with(now, handle, network, |connection, network| connection.open(now, network));
        Some(handle)
    }

    /// The application sends `bytes` over a connection, in `direction`.
    pub(crate) fn write(
        &mut self,
        now: Instant,
        handle: Handle,
        (direction, bytes): (Direction, u64),
        network: &mut Network,
    ) {
        self.with(now, handle, network, |connection, network| {
            connection.write(now, direction, bytes, network);
        });
    }

    /// The application takes back what has not been sent in `direction`.
    pub(crate) fn take_back(
        &mut self,
        now: Instant,
        handle: Handle,
        direction: Direction,
        network: &mut Network,
    ) {
        self.with(now, handle, network, |connection, _| connection.take_back(direction));
    }

    /// Both ends close; the connection is forgotten when everything has arrived.
    pub(crate) fn close(&mut self, now: Instant, handle: Handle, network: &mut Network) {
        self.with(now, handle, network, |connection, network| connection.close(now, network));
    }

    /// Forgets a connection at once, whatever is on its way.
    pub(crate) fn abort(&mut self, handle: Handle) {
        if self.get(handle).is_some() {
            self.forget(handle);
        }
    }

    /// Forgets all connections.
    pub(crate) fn abort_all(&mut self) {
        for place in 0..self.places.len() {
            let Ok(number) = u32::try_from(place) else { return };
            let generation = self.places[place].generation & GENERATION_MASK;
            self.abort(Handle(generation << PLACE_BITS | number));
        }
    }

    /// Connections that are open, those included that close.
    pub(crate) fn count_open(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Payload of an open connection that has arrived in order in `direction`.
    pub(crate) fn delivered(&self, handle: Handle, direction: Direction) -> u64 {
        self.get(handle).map_or(0, |connection| connection.delivered(direction))
    }

    /// Payload of all connections that has arrived in order in `direction`.
    pub(crate) fn delivered_in_all(&self, direction: Direction) -> u64 {
        let open = self.places.iter().filter_map(|place| place.connection.as_ref());
        self.delivered[direction.index()]
            + open.map(|connection| connection.delivered(direction)).sum::<u64>()
    }

    /// Counters of all connections.
    pub(crate) fn counts(&self) -> Counts {
        let open = self.places.iter().filter_map(|place| place.connection.as_ref());
        open.fold(self.ended, |sum, connection| add(sum, connection.counts()))
    }

    /// What a flow that is these connections has done, its data travelling in `direction`.
    pub(crate) fn tally(&self, direction: Direction) -> Tally {
        let Counts { sent, retransmits, timeouts } = self.counts();
        let delivered = self.delivered_in_all(direction);
        Tally { delivered, sent, retransmits, timeouts, completed_at: None }
    }

    /// A packet of the flow arrives. The connection that it belongs to, if that is still open.
    pub(crate) fn on_packet(
        &mut self,
        now: Instant,
        packet: &Packet,
        direction: Direction,
        network: &mut Network,
    ) -> Option<Handle> {
        let handle = Handle(packet.connection >> 1);
        self.get(handle)?;
        self.with(now, handle, network, |connection, network| {
            connection.on_packet(now, packet, direction, network);
        });
        Some(handle)
    }

    /// Runs the timers that are due. To be called whenever the flow is woken.
    pub(crate) fn on_wake(&mut self, now: Instant, network: &mut Network) {
        while let Some((_, place)) = self.timers.pop_before(Instant::from_nanos(now.as_nanos() + 1)) {
            let at = &mut self.places[place as usize];
            if at.timer.is_none_or(|timer| timer > now) {
                continue;
            }
            at.timer = None;
            let number = (at.generation & GENERATION_MASK) << PLACE_BITS | place;
            self.with(now, Handle(number), network, |connection, network| connection.on_timer(now, network));
        }
        self.ask_to_be_woken(now, network);
    }

    fn ask_to_be_woken(&self, now: Instant, network: &mut Network) {
        if let Some(when) = self.timers.next_time() {
            network.wake(self.flow, when.max(now));
        }
    }

    fn get(&self, handle: Handle) -> Option<&Connection> {
        let place = self.places.get(handle.place())?;
        let is_current = place.generation & GENERATION_MASK == handle.0 >> PLACE_BITS;
        place.connection.as_deref().filter(|_| is_current)
    }

    /// Lets a connection act, and notes when it wants to act next.
    fn with(
        &mut self,
        now: Instant,
        handle: Handle,
        network: &mut Network,
        act: impl FnOnce(&mut Connection, &mut Network),
    ) {
        if self.get(handle).is_none() {
            return;
        }
        let place = &mut self.places[handle.place()];
        let Some(connection) = place.connection.as_deref_mut() else { return };
        act(connection, network);
        if connection.is_finished() {
            self.forget(handle);
            return;
        }
        let Some(when) = connection.next_event() else { return };
        let when = when.max(now);
        if place.timer.is_none_or(|timer| when < timer) {
            place.timer = Some(when);
            self.timers.push(when, handle.0 & PLACE_MASK);
            network.wake(self.flow, when);
        }
    }

    fn forget(&mut self, handle: Handle) {
        let place = &mut self.places[handle.place()];
        let Some(connection) = place.connection.take() else { return };
        place.generation = place.generation.wrapping_add(1);
        place.timer = None;
        self.free.push(handle.0 & PLACE_MASK);
        self.ended = add(self.ended, connection.counts());
        for direction in Direction::BOTH {
            self.delivered[direction.index()] += connection.delivered(direction);
        }
    }
}

const fn add(a: Counts, b: Counts) -> Counts {
    Counts {
        sent: a.sent + b.sent,
        retransmits: a.retransmits + b.retransmits,
        timeouts: a.timeouts + b.timeouts,
    }
}
