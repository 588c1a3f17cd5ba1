//! PackMime-HTTP: the web connections of many users behind one link, so many new ones per second (Cao et al., "Stochastic
//! models for generating synthetic HTTP source traffic", IEEE INFOCOM 2004).
//!
//! Connections arrive with long-range dependent gaps; each carries a request, a moment of work at the server, and the
//! answer; with HTTP/1.1 some carry several, with gaps between them. The random variables are in the file `model.rs`.
//!
//! A transfer is a request and its answer: it begins with the SYN of the connection, later ones with their request, and ends
//! with the last byte of the answer. **Overload:** TCP alone does not bound the connections that are open if more arrive
//! than the link can carry. Arrivals beyond [`PackMimeSettings::max_open`] open none; they count as transfers that did not end.

mod model;

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Duration, Instant};
use goodqueue_tcp::{AnyCongestionControl, Config};

use self::model::{Exchange, Model, Session};
use super::connections::{Connections, Handle};
use super::distribution::duration;
use super::{Settings, Source, Tally, Transfer};
use crate::events::EventQueue;
use crate::network::Network;
use crate::packet::{Direction, Packet};

/// What a crowd of users does.
#[derive(Clone, Debug)]
pub struct PackMimeSettings {
    /// Where the answers go: `Down` to users behind the line, `Up` from servers there to users elsewhere.
    pub direction: Direction,
    /// New connections per second in the mean, above 0.
    pub rate: f64,
    /// Connections may carry several requests (HTTP/1.1); otherwise each carries one.
    pub persistent: bool,
    /// Connections open at a time, at most.
    pub max_open: usize,
    /// Settings of both ends.
    pub config: Config,
    /// The senders' congestion control.
    pub congestion_control: AnyCongestionControl,
}

impl Settings for PackMimeSettings {
    const KIND: &'static str = "packmime";

    fn direction(&self) -> Direction {
        self.direction
    }

    fn congestion_control(&self) -> Option<&'static str> {
        Some(self.congestion_control.about().name)
    }
}

/// The users and the servers.
#[derive(Debug)]
pub struct PackMime {
    flow: u32,
    settings: PackMimeSettings,
    connections: Connections,
    /// What each open connection is about, by its place.
    users: Vec<Option<User>>,
    model: Model,
    random: Xoshiro256PlusPlus,
    next_arrival: Instant,
    /// Users and servers that think, by their place.
    timers: EventQueue,
    transfers: Vec<Transfer>,
    stopped: bool,
}

/// A connection's two applications.
#[derive(Debug)]
struct User {
    handle: Handle,
    session: Session,
    /// Exchanges that are complete.
    done: usize,
    /// The transfer that runs.
    transfer: usize,
    /// Bytes that must have arrived for the server to have the request, and for the answer to be complete.
    asked: u64,
    awaited: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The request is on its way.
    Asking,
    /// The server works until then.
    Serving(Instant),
    /// The answer is on its way.
    Answering,
    /// The user thinks until then.
    Thinking(Instant),
}

impl PackMime {
    /// A crowd as flow number `flow`.
    ///
    /// # Errors
    /// The TCP configuration is refused.
    pub fn new(
        flow: u32,
        settings: &PackMimeSettings,
        mut random: Xoshiro256PlusPlus,
    ) -> Result<Self, ConfigError> {
        let connections = Connections::new(
            flow,
            settings.direction.reverse(),
            settings.config,
            settings.congestion_control.clone(),
        )?;
        Ok(Self {
            flow,
            settings: settings.clone(),
            connections,
            users: Vec::new(),
            model: Model::new(settings.rate.max(LEAST_RATE), &mut random),
            random,
            next_arrival: Instant::MAX,
            timers: EventQueue::default(),
            transfers: Vec::new(),
            stopped: false,
        })
    }

    /// Where requests go.
    const fn asks(&self) -> Direction {
        self.settings.direction.reverse()
    }

    /// A user comes.
    fn arrive(&mut self, now: Instant, network: &mut Network) {
        let Self { model, random, .. } = self;
        // Every arrival draws, also one that opens nothing, and draws all: the sequence does not depend on the network.
        let session = if self.settings.persistent { model.persistent(random) } else { model.single(random) };
        let Some(bytes) = session.exchanges.first().map(|exchange| exchange.response) else { return };
        self.transfers.push(Transfer { begun_at: now, ended_at: None, bytes });
        if self.connections.count_open() >= self.settings.max_open {
            return;
        }
        let Some(handle) = self.connections.open(now, network) else { return };
        let request = session.request;
        let user = User {
            handle,
            session,
            done: 0,
            transfer: self.transfers.len() - 1,
            asked: request,
            awaited: bytes,
            state: State::Asking,
        };
        let place = handle.place();
        if place >= self.users.len() {
            self.users.resize_with(place + 1, || None);
        }
        self.users[place] = Some(user);
        self.connections.write(now, handle, (self.asks(), request), network);
    }

    /// Time until the next user.
    fn gap(&mut self) -> Duration {
        // Arrivals in the same nanosecond would be possible, and endless ones too.
        duration(self.model.time_to_next(&mut self.random)).max(Duration::from_nanos(1))
    }

    /// Bytes have arrived: what follows from it.
    fn advance(&mut self, now: Instant, handle: Handle, network: &mut Network) {
        let asks = self.asks();
        let Some(user) = self.users.get_mut(handle.place()).and_then(Option::as_mut) else { return };
        if user.handle != handle {
            return;
        }
        match user.state {
            State::Asking if self.connections.delivered(handle, asks) >= user.asked => {
                let work = user.session.exchanges.get(user.done).map_or(0.0, |exchange| exchange.work);
                let until = now + duration(work);
                user.state = State::Serving(until);
                self.timers.push(until, handle.place_number());
                network.wake(self.flow, until);
            }
            State::Answering
                if self.connections.delivered(handle, self.settings.direction) >= user.awaited =>
            {
                if let Some(transfer) = self.transfers.get_mut(user.transfer) {
                    transfer.ended_at = Some(now);
                }
                user.done += 1;
                if let Some(next) = user.session.exchanges.get(user.done) {
                    let until = now + duration(next.gap);
                    user.state = State::Thinking(until);
                    self.timers.push(until, handle.place_number());
                    network.wake(self.flow, until);
                } else {
                    self.users[handle.place()] = None;
                    self.connections.close(now, handle, network);
                }
            }
            _ => {}
        }
    }

    /// A user or server has thought.
    fn resume(&mut self, now: Instant, place: u32, network: &mut Network) {
        let asks = self.asks();
        let Some(user) = self.users.get_mut(place as usize).and_then(Option::as_mut) else { return };
        let Some(&Exchange { response, .. }) = user.session.exchanges.get(user.done) else { return };
        let handle = user.handle;
        match user.state {
            State::Serving(until) if until <= now => {
                user.state = State::Answering;
                self.connections.write(now, handle, (self.settings.direction, response), network);
            }
            State::Thinking(until) if until <= now => {
                user.state = State::Asking;
                user.asked += user.session.request;
                user.awaited += response;
                user.transfer = self.transfers.len();
                self.transfers.push(Transfer { begun_at: now, ended_at: None, bytes: response });
                let request = user.session.request;
                self.connections.write(now, handle, (asks, request), network);
            }
            _ => {}
        }
    }
}

impl Source for PackMime {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.next_arrival = now + self.gap();
        network.wake(self.flow, self.next_arrival);
    }

    fn stop(&mut self, _now: Instant) {
        self.stopped = true;
        self.next_arrival = Instant::MAX;
        self.users.clear();
        self.connections.abort_all();
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network) {
        if let Some(handle) = self.connections.on_packet(now, packet, direction, network) {
            self.advance(now, handle, network);
        }
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        self.connections.on_wake(now, network);
        while let Some((_, place)) = self.timers.pop_before(Instant::from_nanos(now.as_nanos() + 1)) {
            self.resume(now, place, network);
        }
        while self.next_arrival <= now && !self.stopped {
            self.arrive(now, network);
            let gap = self.gap();
            self.next_arrival += gap;
        }
        let next = self.timers.next_time().map_or(self.next_arrival, |when| when.min(self.next_arrival));
        network.wake(self.flow, next);
    }

    fn delivered(&self) -> u64 {
        self.connections.delivered_in_all(self.settings.direction)
    }

    fn tally(&self) -> Tally {
        self.connections.tally(self.settings.direction)
    }

    fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }
}

/// One connection in some weeks: the model needs a rate above 0.
const LEAST_RATE: f64 = 1e-6;
