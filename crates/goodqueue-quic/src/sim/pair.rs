//! Both ends of a flow, and the datagrams between them.

use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{Direction, Duration, Ecn, Instant};
use goodqueue_sim::FlowId;
use goodqueue_sim::network::Network;
use goodqueue_sim::packet::{Packet, Payload, QuicContents};
use goodqueue_sim::traffic::{HEADERS, SenderState};
use quinn_proto::{Dir, StreamId};

use super::arrived::Arrived;
use super::contents::Contents;
use super::endpoint::Side;
use super::program::{News, Reader, Writer};
use super::settings::QuicSettings;
use crate::clock::Clock;

/// Both ends of a flow.
#[derive(Debug)]
pub(super) struct Pair {
    flow: FlowId,
    settings: QuicSettings,
    client: End,
    server: End,
    /// Datagrams on their way down and up.
    contents: [Contents; 2],
    buffer: Vec<u8>,
    /// Reads the frames of datagrams that leave.
    leaving: Arrived,
    /// Directions in which the sending host had no room for a packet.
    waits_for_room: [bool; 2],
    is_stopped: bool,
}

/// A side and its programs.
#[derive(Debug)]
struct End {
    side: Side,
    stream: Option<StreamId>,
    writer: Writer,
    reader: Reader,
    arrived: Arrived,
    /// True once everything that the program wrote was acknowledged.
    is_acknowledged: bool,
}

impl Pair {
    /// Returns a client and a server that are not connected.
    pub(super) fn from_settings(
        flow: FlowId,
        settings: &QuicSettings,
        random: &mut Xoshiro256PlusPlus,
    ) -> Self {
        let clock = Clock::new();
        let client = Side::client(clock, random.next_u64());
        let server = Side::server(clock, random.next_u64(), settings.transport());
        Self {
            flow,
            settings: settings.clone(),
            client: End::from_side(client),
            server: End::from_side(server),
            contents: [Contents::default(), Contents::default()],
            buffer: Vec::new(),
            leaving: Arrived::default(),
            waits_for_room: [false; 2],
            is_stopped: false,
        }
    }

    /// Opens a connection. An earlier one is forgotten by both ends.
    pub(super) fn connect(&mut self, now: Instant, seed: u64) {
        self.client.side.forget();
        self.server.side.forget();
        self.client.arrived = Arrived::default();
        self.server.arrived = Arrived::default();
        self.client.side.connect(now, seed, self.settings.transport());
    }

    /// Starts a transfer of `size` bytes, or of data without end, on a new stream.
    pub(super) fn begin(&mut self, now: Instant, size: Option<u64>, network: &mut Network) {
        match self.settings.direction {
            Direction::Down => {
                self.client.begin(Some(self.settings.request));
                self.server.begin(size);
            }
            Direction::Up => {
                self.client.begin(size);
                // The server closes its half of the stream without data.
                self.server.begin(Some(0));
            }
        }
        self.advance(now, Direction::Up, network);
        self.ask_to_be_woken(now, Direction::Up, network);
    }

    /// Closes the connection at the client.
    pub(super) fn close(&mut self, now: Instant, network: &mut Network) {
        self.client.side.close(now);
        self.transmit(now, Direction::Up, network);
        self.ask_to_be_woken(now, Direction::Up, network);
    }

    /// From now on the sender of the data is silent.
    pub(super) const fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Returns the bytes of the transfer that its receiver has read.
    pub(super) const fn delivered(&self) -> u64 {
        self.receiver().reader.bytes
    }

    /// Returns the bytes of the transfer that have arrived, those behind a gap included.
    pub(super) fn received(&self) -> u64 {
        self.receiver().arrived.bytes()
    }

    /// Returns true if the receiver has read the whole transfer.
    pub(super) const fn is_delivered(&self) -> bool {
        self.receiver().reader.is_at_end
    }

    /// Returns true if the sender knows that the whole transfer has arrived.
    pub(super) const fn is_acknowledged(&self) -> bool {
        match self.settings.direction {
            Direction::Down => self.server.is_acknowledged,
            Direction::Up => self.client.is_acknowledged,
        }
    }

    /// Returns the datagrams that were sent in the direction of the data.
    pub(super) const fn sent(&self) -> u64 {
        self.contents[self.settings.direction.index()].sent()
    }

    /// Returns the packets of this connection that the sender of the data declared lost.
    pub(super) fn lost(&self) -> u64 {
        match self.settings.direction {
            Direction::Down => self.server.side.lost(),
            Direction::Up => self.client.side.lost(),
        }
    }

    /// Returns what the sender of the data knows of the path, once it has a connection.
    pub(super) fn sender_state(&self) -> Option<SenderState> {
        match self.settings.direction {
            Direction::Down => self.server.side.state(),
            Direction::Up => self.client.side.state(),
        }
    }

    const fn receiver(&self) -> &End {
        match self.settings.direction {
            Direction::Down => &self.client,
            Direction::Up => &self.server,
        }
    }

    /// The end that sends in `direction`.
    const fn sender(&mut self, direction: Direction) -> &mut End {
        match direction {
            Direction::Down => &mut self.server,
            Direction::Up => &mut self.client,
        }
    }

    pub(super) fn on_packet(
        &mut self,
        now: Instant,
        packet: &Packet,
        direction: Direction,
        network: &mut Network,
    ) {
        let Payload::Quic { number, ecn, .. } = packet.payload else { return };
        let Some(datagram) = self.contents[direction.index()].take(number) else { return };
        let answer = direction.reverse();
        let is_data = direction == self.settings.direction;
        if self.is_silent(answer) {
            return;
        }
        // A timer that is due at this instant was set before the packet departed, so it runs first.
        let End { side, arrived, .. } = self.sender(answer);
        side.run_timers(now);
        // The other direction has requests and acknowledgements, which are no goodput.
        if is_data {
            arrived.read(&datagram);
        }
        if side.receive(now, ecn, datagram) && is_data {
            arrived.count();
        }
        self.advance(now, answer, network);
        // A connection that is closing takes data that it does not pass on.
        debug_assert!(self.delivered() <= self.receiver().arrived.in_order(), "all data is seen to arrive");
        self.ask_to_be_woken(now, answer, network);
    }

    pub(super) fn on_wake(&mut self, now: Instant, network: &mut Network) {
        // A wake-up does not tell which end asked for it.
        for direction in Direction::BOTH {
            let is_due = self.sender(direction).side.run_timers(now);
            if !self.is_silent(direction) && (is_due || self.waits_for_room[direction.index()]) {
                self.advance(now, direction, network);
            }
            self.ask_to_be_woken(now, direction, network);
        }
    }

    /// Lets the program and the connection of the end that sends in `direction` do what they can.
    fn advance(&mut self, now: Instant, direction: Direction, network: &mut Network) {
        self.sender(direction).run(direction == Direction::Up);
        self.transmit(now, direction, network);
    }

    fn transmit(&mut self, now: Instant, direction: Direction, network: &mut Network) {
        // One buffer serves all datagrams, so none is allocated for each.
        let mut buffer = std::mem::take(&mut self.buffer);
        loop {
            let has_room = network.has_room(direction, self.flow);
            self.waits_for_room[direction.index()] = !has_room;
            if !has_room {
                break;
            }
            let Some(ecn) = self.sender(direction).side.transmit(now, &mut buffer) else { break };
            // The fallback leaves room for the headers, so that the sum cannot overflow.
            let bytes = u32::try_from(buffer.len()).unwrap_or(u32::MAX - HEADERS) + HEADERS;
            let number = self.contents[direction.index()].put(&buffer);
            // RFC 9000 §17.2: the highest bit marks the long header of handshakes.
            let contents = if buffer.first().is_some_and(|first| first & 0x80 != 0) {
                QuicContents::Handshake
            } else if self.leaving.has_data(&buffer) {
                QuicContents::Data
            } else {
                QuicContents::Control
            };
            let ecn = if self.settings.ecn { ecn } else { Ecn::NotEct };
            network.send(now, direction, self.flow, bytes, Payload::Quic { number, contents, ecn });
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
        self.is_stopped && direction == self.settings.direction
    }
}

impl End {
    fn from_side(side: Side) -> Self {
        let reader = Reader::default();
        let arrived = Arrived::default();
        Self { side, stream: None, writer: Writer::new(Some(0)), reader, arrived, is_acknowledged: false }
    }

    /// Takes a new stream for the next transfer, of which this end writes `size` bytes.
    fn begin(&mut self, size: Option<u64>) {
        self.stream = None;
        self.writer = Writer::new(size);
        self.reader = Reader::default();
        self.arrived.begin_next();
        self.is_acknowledged = false;
    }

    /// Runs the program.
    fn run(&mut self, is_client: bool) {
        let Some(connection) = self.side.connection() else { return };
        let news = News::of_connection(connection);
        // News are told once.
        self.is_acknowledged |= news.is_acknowledged;
        let mut is_new = false;
        if self.stream.is_none() {
            self.stream = match (is_client, connection.is_handshaking()) {
                (true, false) => connection.streams().open(Dir::Bi),
                (false, _) if news.is_opened => connection.streams().accept(Dir::Bi),
                _ => None,
            };
            is_new = self.stream.is_some();
        }
        let Some(stream) = self.stream else { return };
        if is_new || news.is_readable {
            self.reader.read(connection, stream);
        }
        // A server answers once it has read the whole request.
        let may_write = is_client || self.reader.is_at_end;
        if may_write && (is_new || news.is_readable || news.is_writable) {
            self.writer.write(connection, stream);
        }
    }
}
