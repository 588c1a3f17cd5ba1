//! A QUIC flow: two sides, their programs, and the datagrams between them.

use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{Direction, Duration, Ecn, Instant};
use goodqueue_sim::FlowId;
use goodqueue_sim::network::Network;
use goodqueue_sim::packet::{Packet, Payload};
use goodqueue_sim::traffic::{HEADERS, Source, Tally};
use quinn_proto::{Dir, StreamId};

use super::contents::Contents;
use super::endpoint::Side;
use super::program::{News, Reader, Writer};
use super::settings::QuicSettings;
use crate::clock::Clock;

/// Both ends of a QUIC flow.
#[derive(Debug)]
pub(super) struct Quic {
    flow: FlowId,
    settings: QuicSettings,
    /// Seed of the client's first connection identifier.
    seed: u64,
    client: End,
    server: End,
    /// Datagrams on their way down and up.
    contents: [Contents; 2],
    buffer: Vec<u8>,
    /// Directions in which the sending host had no room for a packet.
    waits_for_room: [bool; 2],
    first_at: Option<Instant>,
    completed_at: Option<Instant>,
    stopped: bool,
}

/// A side and its programs.
#[derive(Debug)]
struct End {
    side: Side,
    stream: Option<StreamId>,
    writer: Writer,
    reader: Reader,
}

impl Quic {
    pub(super) fn from_settings(
        flow: FlowId,
        settings: &QuicSettings,
        mut random: Xoshiro256PlusPlus,
    ) -> Self {
        let clock = Clock::new();
        let client = Side::client(clock, random.next_u64());
        let server = Side::server(clock, random.next_u64(), settings.transport());
        let end =
            |side, size| End { side, stream: None, writer: Writer::new(size), reader: Reader::default() };
        let [asks, answers] = match settings.direction {
            Direction::Down => [Some(settings.request), settings.size],
            // The server closes its half of the stream without data.
            Direction::Up => [settings.size, Some(0)],
        };
        Self {
            flow,
            settings: settings.clone(),
            seed: random.next_u64(),
            client: end(client, asks),
            server: end(server, answers),
            contents: [Contents::default(), Contents::default()],
            buffer: Vec::new(),
            waits_for_room: [false; 2],
            first_at: None,
            completed_at: None,
            stopped: false,
        }
    }

    /// The end that sends in `direction`.
    const fn sender(&mut self, direction: Direction) -> &mut End {
        match direction {
            Direction::Down => &mut self.server,
            Direction::Up => &mut self.client,
        }
    }

    /// Lets the program and the connection of the end that sends in `direction` do what they can.
    fn advance(&mut self, now: Instant, direction: Direction, network: &mut Network) {
        let data = self.settings.direction;
        let is_client = direction == Direction::Up;
        let is_acknowledged = self.sender(direction).run(is_client);
        if is_acknowledged && direction == data && self.completed_at.is_none() {
            self.completed_at = Some(now);
        }
        if self.first_at.is_none() && self.delivered() > 0 {
            self.first_at = Some(now);
        }
        self.transmit(now, direction, network);
    }

    fn transmit(&mut self, now: Instant, direction: Direction, network: &mut Network) {
        let mut buffer = std::mem::take(&mut self.buffer);
        loop {
            let has_room = network.has_room(direction, self.flow);
            self.waits_for_room[direction.index()] = !has_room;
            if !has_room {
                break;
            }
            let Some(ecn) = self.sender(direction).side.transmit(now, &mut buffer) else { break };
            let bytes = u32::try_from(buffer.len()).unwrap_or(u32::MAX - HEADERS) + HEADERS;
            let number = self.contents[direction.index()].put(&buffer);
            // RFC 9000 §17.2: the highest bit marks the long header of handshakes.
            let is_handshake = buffer.first().is_some_and(|first| first & 0x80 != 0);
            let ecn = if self.settings.ecn { ecn } else { Ecn::NotEct };
            network.send(now, direction, self.flow, bytes, Payload::Quic { number, is_handshake, ecn });
        }
        self.buffer = buffer;
    }

    fn ask_to_be_woken(&mut self, now: Instant, direction: Direction, network: &mut Network) {
        if self.is_silent(direction) {
            return;
        }
        if let Some(when) = self.sender(direction).side.next_timer() {
            // A timer that is due has just run. Later, so that time cannot stop.
            network.wake(self.flow, when.max(now + Duration::from_nanos(1)));
        }
    }

    /// Returns true if the end that sends in `direction` was stopped.
    fn is_silent(&self, direction: Direction) -> bool {
        self.stopped && direction == self.settings.direction
    }
}

impl End {
    /// Runs the program. Returns true if all of its data was acknowledged just now.
    fn run(&mut self, is_client: bool) -> bool {
        let Some(connection) = self.side.connection() else { return false };
        let news = News::of_connection(connection);
        let mut is_new = false;
        if self.stream.is_none() {
            self.stream = match (is_client, connection.is_handshaking()) {
                (true, false) => connection.streams().open(Dir::Bi),
                (false, _) if news.is_opened => connection.streams().accept(Dir::Bi),
                _ => None,
            };
            is_new = self.stream.is_some();
        }
        let Some(stream) = self.stream else { return false };
        if is_new || news.is_readable {
            self.reader.read(connection, stream);
        }
        // A server answers once it has read the whole request.
        let may_write = is_client || self.reader.is_at_end;
        if may_write && (is_new || news.is_readable || news.is_writable) {
            self.writer.write(connection, stream);
        }
        news.is_acknowledged
    }
}

impl Source for Quic {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.client.side.connect(now, self.seed, self.settings.transport());
        self.advance(now, Direction::Up, network);
        self.ask_to_be_woken(now, Direction::Up, network);
    }

    fn stop(&mut self, _now: Instant) {
        self.stopped = true;
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network) {
        let Payload::Quic { number, ecn, .. } = packet.payload else { return };
        let Some(datagram) = self.contents[direction.index()].take(number) else { return };
        let answer = direction.reverse();
        if self.is_silent(answer) {
            return;
        }
        let side = &mut self.sender(answer).side;
        // A timer that is due at this instant was set before the packet departed, so it runs first.
        side.run_timers(now);
        side.receive(now, ecn, datagram);
        self.advance(now, answer, network);
        self.ask_to_be_woken(now, answer, network);
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        for direction in Direction::BOTH {
            let is_due = self.sender(direction).side.run_timers(now);
            if !self.is_silent(direction) && (is_due || self.waits_for_room[direction.index()]) {
                self.advance(now, direction, network);
            }
            self.ask_to_be_woken(now, direction, network);
        }
    }

    fn delivered(&self) -> u64 {
        match self.settings.direction {
            Direction::Down => self.client.reader.bytes,
            Direction::Up => self.server.reader.bytes,
        }
    }

    fn first_delivery(&self) -> Option<Instant> {
        self.first_at
    }

    fn tally(&self) -> Tally {
        let direction = self.settings.direction;
        let sender = if direction == Direction::Down { &self.server } else { &self.client };
        Tally {
            delivered: self.delivered(),
            sent: self.contents[direction.index()].sent(),
            // QUIC sends the data of each lost packet again, in a new one.
            retransmits: sender.side.lost(),
            // Probe timeouts of QUIC declare nothing lost (RFC 9002 §6.2), and quinn does not count
            // them.
            timeouts: 0,
            completed_at: self.completed_at,
        }
    }
}
