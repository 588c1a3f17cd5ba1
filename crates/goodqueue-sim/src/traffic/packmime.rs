//! PackMime-HTTP: the web connections of many users behind one link (Cao et al., "Stochastic models
//! for generating synthetic HTTP source traffic", IEEE INFOCOM 2004).
//!
//! Connections arrive with long-range dependent gaps. Each carries a request, some work at the
//! server, and the answer. With HTTP/1.1 some connections carry several requests, with gaps between
//! them. The random variables are in `model.rs`.
//!
//! A transfer is a request and its answer. The first transfer of a connection begins with the SYN,
//! the later ones with their request. A transfer ends with the last byte of the answer.
//!
//! **Overload:** TCP alone does not limit the number of open connections if more arrive than the
//! link can carry. Arrivals beyond [`PackMimeSettings::max_open`] open no connection; they count as
//! transfers that did not end.

mod model;

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction, Duration, Instant};
use goodqueue_tcp::{AnyCongestionControl, Config};

use self::model::{Exchange, Model, Session};
use super::connections::{Connections, Handle};
use super::distribution::duration;
use super::source::{Settings, Source, Tally, Transfer};
use crate::events::EventQueue;
use crate::id::FlowId;
use crate::network::Network;
use crate::packet::Packet;
use crate::transport::Transport;

/// The settings of a crowd of web users.
#[derive(Clone, Debug)]
pub struct PackMimeSettings {
    /// Direction of the answers: `Down` to users behind the line, `Up` from servers behind the
    /// line.
    pub direction: Direction,
    /// Mean number of new connections per second, above 0.
    pub rate: f64,
    /// True if connections may carry several requests (HTTP/1.1); otherwise each carries one.
    pub persistent: bool,
    /// Largest number of open connections.
    pub max_open: usize,
    /// TCP settings of both ends.
    pub config: Config,
    /// Congestion control of the senders.
    pub congestion_control: AnyCongestionControl,
}

impl Settings for PackMimeSettings {
    const KIND: &'static str = "packmime";
    const TRANSPORT: Transport = Transport::Tcp;
    const IS_OF_PIECES: bool = true;

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
    flow: FlowId,
    settings: PackMimeSettings,
    connections: Connections,
    /// The applications of each open connection, by its place.
    users: Vec<Option<User>>,
    model: Model,
    random: Xoshiro256PlusPlus,
    next_arrival: Instant,
    /// Timers of users and servers, by the place of their connection.
    timers: EventQueue,
    transfers: Vec<Transfer>,
    stopped: bool,
}

/// The two applications of a connection.
#[derive(Debug)]
struct User {
    handle: Handle,
    session: Session,
    /// Number of completed exchanges.
    done: usize,
    /// Index of the transfer in progress.
    transfer: usize,
    /// Bytes that must have arrived for the server to have the request.
    asked: u64,
    /// Bytes that must have arrived for the answer to be complete.
    awaited: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The request is in flight.
    Asking,
    /// The server works until this time.
    Serving(Instant),
    /// The answer is in flight.
    Answering,
    /// The user thinks until this time.
    Thinking(Instant),
}

impl PackMime {
    /// Creates the crowd for flow number `flow`.
    ///
    /// # Errors
    /// The TCP configuration is invalid.
    pub fn new(
        flow: FlowId,
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

    /// Returns the direction of requests.
    const fn asks(&self) -> Direction {
        self.settings.direction.reverse()
    }

    /// A user arrives.
    fn arrive(&mut self, now: Instant, network: &mut Network) {
        let Self { model, random, .. } = self;
        // Every arrival draws all its values, even if it opens no connection. The sequence of
        // arrivals therefore does not depend on the network.
        let session = if self.settings.persistent { model.persistent(random) } else { model.single(random) };
        // Never empty (`Session::exchanges`).
        let Some(bytes) = session.exchanges.first().map(|exchange| exchange.response) else { return };
        self.transfers.push(Transfer { begun_at: now, ended_at: None, bytes });
        // Such a user counts as a transfer that did not end.
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
        // The sender keeps the request until the handshake is over.
        self.connections.write(now, handle, self.asks(), request, network);
    }

    /// Draws the time until the next user arrives.
    fn gap(&mut self) -> Duration {
        // At least 1 ns, so that arrivals at one instant cannot go on for ever.
        duration(self.model.time_to_next(&mut self.random)).max(Duration::from_nanos(1))
    }

    /// Acts on bytes that have arrived on a connection.
    fn advance(&mut self, now: Instant, handle: Handle, network: &mut Network) {
        let asks = self.asks();
        let Some(user) = self.users.get_mut(handle.place()).and_then(Option::as_mut) else { return };
        // A late packet of a connection that has closed, and whose place another user has now.
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

    /// Acts on the end of a user's or a server's pause.
    fn resume(&mut self, now: Instant, place: u32, network: &mut Network) {
        let asks = self.asks();
        let Some(user) = self.users.get_mut(place as usize).and_then(Option::as_mut) else { return };
        let Some(&Exchange { response, .. }) = user.session.exchanges.get(user.done) else { return };
        let handle = user.handle;
        match user.state {
            State::Serving(until) if until <= now => {
                user.state = State::Answering;
                self.connections.write(now, handle, self.settings.direction, response, network);
            }
            State::Thinking(until) if until <= now => {
                user.state = State::Asking;
                user.asked += user.session.request;
                user.awaited += response;
                user.transfer = self.transfers.len();
                self.transfers.push(Transfer { begun_at: now, ended_at: None, bytes: response });
                let request = user.session.request;
                self.connections.write(now, handle, asks, request, network);
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
        // `pop_before` excludes its end, and timers that are due now are meant.
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

    fn received(&self) -> u64 {
        self.connections.received_in_all(self.settings.direction)
    }

    fn tally(&self) -> Tally {
        self.connections.tally(self.settings.direction)
    }

    fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }
}

/// One connection in eleven days: the model needs a rate above 0.
const LEAST_RATE: f64 = 1e-6;
