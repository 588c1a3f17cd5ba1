//! The connections of a flow that has several, one after another or in parallel.

use std::sync::Arc;

use goodqueue::{ConfigError, Direction, Instant};
use goodqueue_tcp::{AnyCongestionControl, Config};

use super::connection::{Connection, Counts};
use super::source::Tally;
use crate::events::EventQueue;
use crate::id::{ConnectionId, FlowId};
use crate::network::Network;
use crate::packet::Packet;

/// A table of connections. Each connection has a place, which is reused after the connection has
/// ended. The number of a connection contains place and generation, so that a late packet of an
/// earlier connection is not taken for one of its successor.
#[derive(Debug)]
pub(crate) struct Connections {
    flow: FlowId,
    /// Direction of the SYNs and of the clients' data.
    asks: Direction,
    config: Arc<Config>,
    congestion_control: AnyCongestionControl,
    places: Vec<Place>,
    free: Vec<u32>,
    /// Timers, by the place of the connection.
    timers: EventQueue,
    /// Counters of the connections that have ended.
    ended: Counts,
    delivered: [u64; 2],
}

#[derive(Debug, Default)]
struct Place {
    generation: u32,
    connection: Option<Box<Connection>>,
    /// Time at which the timer queue will look at this place; `None` for never.
    timer: Option<Instant>,
}

/// The identity of a connection while it is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Handle(u32);

impl Handle {
    /// Returns the place of the connection, for tables that the owner keeps.
    pub(crate) const fn place(self) -> usize {
        self.place_number() as usize
    }

    /// Returns the place as the number of an event.
    pub(crate) const fn place_number(self) -> u32 {
        self.0 & PLACE_MASK
    }
}

/// Largest number of open connections of a flow.
pub(crate) const MAX_OPEN: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 17;
const PLACE_MASK: u32 = (1 << PLACE_BITS) - 1;
/// [`Packet::connection`] has 32 bits; one of them tells the two halves of a connection apart.
const GENERATION_MASK: u32 = (1 << (31 - PLACE_BITS)) - 1;

impl Connections {
    /// Creates an empty table. All connections will have these settings; `asks` is the direction of
    /// the SYNs.
    pub(crate) fn new(
        flow: FlowId,
        asks: Direction,
        config: Config,
        congestion_control: AnyCongestionControl,
    ) -> Result<Self, ConfigError> {
        // Reports invalid settings now rather than at the first connection.
        let config = Arc::new(config);
        Connection::new(flow.into(), asks, &config, &congestion_control)?;
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

    /// Opens a connection and sends its SYN. Returns `None` if [`MAX_OPEN`] connections are open.
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
        let id = ConnectionId { flow: self.flow, number };
        let made = Connection::new(id, self.asks, &self.config, &self.congestion_control);
        // The settings were valid in `new`.
        at.connection = Some(Box::new(made.ok()?));
        let handle = Handle(number);
        self.with(now, handle, network, |connection, network| connection.open(now, network));
        Some(handle)
    }

    /// Gives the sender of `direction` another `bytes` to send.
    pub(crate) fn write(
        &mut self,
        now: Instant,
        handle: Handle,
        direction: Direction,
        bytes: u64,
        network: &mut Network,
    ) {
        self.with(now, handle, network, |connection, network| {
            connection.write(now, direction, bytes, network);
        });
    }

    /// Takes back the data that the sender of `direction` has not sent yet.
    pub(crate) fn take_back(
        &mut self,
        now: Instant,
        handle: Handle,
        direction: Direction,
        network: &mut Network,
    ) {
        self.with(now, handle, network, |connection, _| connection.take_back(direction));
    }

    /// Closes both ends. The connection is forgotten when everything has arrived.
    pub(crate) fn close(&mut self, now: Instant, handle: Handle, network: &mut Network) {
        self.with(now, handle, network, |connection, network| connection.close(now, network));
    }

    /// Forgets a connection at once, with everything in flight.
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

    /// Returns the number of open connections, including those that are closing.
    pub(crate) fn count_open(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Returns the payload bytes of an open connection that arrived in order in `direction`.
    pub(crate) fn delivered(&self, handle: Handle, direction: Direction) -> u64 {
        self.get(handle).map_or(0, |connection| connection.delivered(direction))
    }

    /// Returns the payload bytes of all connections that arrived in order in `direction`.
    pub(crate) fn delivered_in_all(&self, direction: Direction) -> u64 {
        let open = self.places.iter().filter_map(|place| place.connection.as_ref());
        self.delivered[direction.index()]
            + open.map(|connection| connection.delivered(direction)).sum::<u64>()
    }

    /// Returns the payload bytes of all connections that arrived in `direction`. Of an ended
    /// connection only the bytes in order count.
    pub(crate) fn received_in_all(&self, direction: Direction) -> u64 {
        let open = self.places.iter().filter_map(|place| place.connection.as_ref());
        self.delivered[direction.index()] + open.map(|connection| connection.received(direction)).sum::<u64>()
    }

    /// Returns the counters of all connections.
    pub(crate) fn counts(&self) -> Counts {
        let open = self.places.iter().filter_map(|place| place.connection.as_ref());
        open.fold(self.ended, |sum, connection| add(sum, connection.counts()))
    }

    /// Returns the counters of the flow that owns these connections and whose data travels in
    /// `direction`.
    pub(crate) fn tally(&self, direction: Direction) -> Tally {
        let Counts { sent, retransmits, timeouts } = self.counts();
        let delivered = self.delivered_in_all(direction);
        Tally { delivered, sent, retransmits, timeouts, completed_at: None }
    }

    /// Handles a packet of the flow. Returns its connection, if that is still open.
    pub(crate) fn on_packet(
        &mut self,
        now: Instant,
        packet: &Packet,
        direction: Direction,
        network: &mut Network,
    ) -> Option<Handle> {
        let handle = Handle(packet.connection >> 1);
        // A late packet of an ended connection finds another generation at its place, or none.
        self.get(handle)?;
        self.with(now, handle, network, |connection, network| {
            connection.on_packet(now, packet, direction, network);
        });
        Some(handle)
    }

    /// Runs the timers that are due. The owner calls this whenever the flow is woken.
    pub(crate) fn on_wake(&mut self, now: Instant, network: &mut Network) {
        // `pop_before` excludes its end, and timers that are due now are meant.
        while let Some((_, place)) = self.timers.pop_before(Instant::from_nanos(now.as_nanos() + 1)) {
            let at = &mut self.places[place as usize];
            // An entry of a timer that was replaced, or of a connection that has ended.
            if at.timer.is_none_or(|timer| timer > now) {
                continue;
            }
            at.timer = None;
            let number = (at.generation & GENERATION_MASK) << PLACE_BITS | place;
            self.with(now, Handle(number), network, |connection, network| connection.on_timer(now, network));
        }
        // The network has forgotten the wake-up that it has just served.
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

    /// Applies `act` to a connection, and schedules the connection's next event.
    fn with(
        &mut self,
        now: Instant,
        handle: Handle,
        network: &mut Network,
        act: impl FnOnce(&mut Connection, &mut Network),
    ) {
        // A packet or a timer of a forgotten connection may still come after it.
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
        // A later time schedules nothing, as in `Network::wake`: at the earlier one the connection
        // is asked again.
        if place.timer.is_none_or(|timer| when < timer) {
            place.timer = Some(when);
            self.timers.push(when, handle.0 & PLACE_MASK);
            network.wake(self.flow, when);
        }
    }

    fn forget(&mut self, handle: Handle) {
        let place = &mut self.places[handle.place()];
        let Some(connection) = place.connection.take() else { return };
        // The number repeats after 2^14 connections of the place, long after the last packet of
        // this one.
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
