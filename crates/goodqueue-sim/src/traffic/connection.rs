//! A TCP connection with data in both directions, for requests and answers.
//!
//! The connection consists of two one-way transfers that share a handshake. The server's half
//! begins when the client's ACK of the SYN/ACK arrives. The handshake then gives its round-trip
//! time.
//!
//! Two things differ from a single full-duplex TCP. First, data never carries the ACKs of the other
//! direction, so a request is acknowledged by a packet of its own. Second, each half has its own
//! receive window. Both cost an occasional 52 bytes in the direction with spare capacity.
//!
//! The profile of ns-2's FullTcp differs: data does carry ACKs, the ACK of less than a segment is
//! delayed, and the server closes when the client's FIN arrives.

use std::sync::Arc;

use goodqueue::{ConfigError, Direction, Instant};
use goodqueue_tcp::{AnyCongestionControl, Config, Flags, Receiver, Segment, Sender};

use crate::id::ConnectionId;
use crate::network::Network;
use crate::packet::{Packet, Payload};

/// Both ends of a connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// The flow, and twice the number of the connection.
    id: ConnectionId,
    /// The half with data down, and the half with data up.
    halves: [Half; 2],
    /// Direction of the SYN and of the client's data.
    asks: Direction,
    config: Arc<Config>,
    /// Time at which the SYN reached the server.
    answered_at: Option<Instant>,
    /// True once the server's half has begun.
    begun: bool,
}

#[derive(Debug)]
struct Half {
    sender: Sender,
    receiver: Receiver,
}

/// Counters of a connection's senders.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    /// Segments sent.
    pub(crate) sent: u64,
    /// Segments retransmitted.
    pub(crate) retransmits: u64,
    /// Retransmission timeouts.
    pub(crate) timeouts: u64,
}

impl Connection {
    /// Creates a connection that is not open yet. Each connection of a flow needs
    /// a number of its own; `asks` is the direction of the SYN and of the client's data.
    pub(crate) fn new(
        id: ConnectionId,
        asks: Direction,
        config: &Arc<Config>,
        congestion_control: &AnyCongestionControl,
    ) -> Result<Self, ConfigError> {
        let half = || -> Result<Half, ConfigError> {
            Ok(Half {
                sender: Sender::new(Arc::clone(config), congestion_control.clone())?,
                receiver: Receiver::new(Arc::clone(config))?,
            })
        };
        let halves = [half()?, half()?];
        let config = Arc::clone(config);
        Ok(Self {
            // The lowest bit tells the halves apart (`Packet::connection`).
            id: ConnectionId { number: id.number << 1, ..id },
            halves,
            asks,
            config,
            answered_at: None,
            begun: false,
        })
    }

    /// Sends the client's SYN.
    pub(crate) fn open(&mut self, now: Instant, network: &mut Network) {
        self.halves[self.asks.index()].sender.open(now);
        self.transmit(now, network);
    }

    /// Gives the sender of `direction` another `bytes` to send.
    pub(crate) fn write(&mut self, now: Instant, direction: Direction, bytes: u64, network: &mut Network) {
        self.halves[direction.index()].sender.write(bytes);
        self.transmit(now, network);
    }

    /// Takes back the data that the sender of `direction` has not sent yet.
    pub(crate) fn take_back(&mut self, direction: Direction) {
        self.halves[direction.index()].sender.take_back();
    }

    /// Closes both ends; FINs follow the data.
    pub(crate) fn close(&mut self, now: Instant, network: &mut Network) {
        for direction in Direction::BOTH {
            // With carried ACKs the other half closes when the client's FIN arrives
            // (`take_carried`).
            if direction == self.asks || !self.config.carries_acks() {
                self.halves[direction.index()].sender.close();
            }
        }
        self.transmit(now, network);
    }

    /// Returns the payload bytes that arrived in order in `direction`.
    pub(crate) fn delivered(&self, direction: Direction) -> u64 {
        self.halves[direction.index()].receiver.delivered()
    }

    /// Returns the payload bytes that arrived in `direction`, in order or not.
    pub(crate) fn received(&self, direction: Direction) -> u64 {
        self.halves[direction.index()].receiver.received()
    }

    /// Returns true once both ends have closed and know that the other end has everything.
    pub(crate) fn is_finished(&self) -> bool {
        self.halves.iter().all(|half| half.sender.is_finished())
    }

    pub(crate) fn counts(&self) -> Counts {
        self.halves.iter().fold(Counts::default(), |sum, half| {
            let stats = half.sender.stats();
            Counts {
                sent: sum.sent + stats.segments,
                retransmits: sum.retransmits + stats.retransmits,
                timeouts: sum.timeouts + stats.timeouts,
            }
        })
    }

    /// Handles a packet of this connection.
    pub(crate) fn on_packet(
        &mut self,
        now: Instant,
        packet: &Packet,
        direction: Direction,
        network: &mut Network,
    ) {
        let Payload::Tcp(segment) = &packet.payload else { return };
        let number = packet.connection as usize & 1;
        let half = &mut self.halves[number];
        // The data of a half travels in its own direction, its acknowledgements in the other.
        if direction.index() == number {
            half.receiver.on_segment(now, segment);
            if self.config.carries_acks() {
                self.take_carried(now, direction, segment);
            }
        } else {
            half.sender.on_segment(now, segment);
        }
        if !self.begun && direction == self.asks {
            self.begin_answering(now);
        }
        self.transmit(now, network);
    }

    /// Handles the ACK of the other half that data in `direction` carried. The client's FIN closes
    /// the other half.
    fn take_carried(&mut self, now: Instant, direction: Direction, segment: &Segment) {
        let is_closed = direction == self.asks && self.halves[direction.index()].receiver.is_finished();
        let other = &mut self.halves[direction.reverse().index()].sender;
        // A carried ACK that acknowledges nothing new does not count as a duplicate.
        if segment.flags.contains(Flags::ACK) && segment.ack > other.acknowledged() {
            // As a pure ACK, because the data in the segment is that of this half.
            other.on_segment(now, &Segment { seq: 1, len: 0, flags: Flags::ACK, ..*segment });
        }
        if is_closed {
            other.close();
        }
    }

    /// Runs the timers that are due at `now`.
    pub(crate) fn on_timer(&mut self, now: Instant, network: &mut Network) {
        self.transmit(now, network);
    }

    /// Returns the time at which [`Self::on_timer`] has something to do.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        let [asking, answering] = [self.asks, self.asks.reverse()].map(|way| &self.halves[way.index()]);
        // The server's half sends no packet before it has begun (`transmit`), and so needs no
        // timer.
        let answers = if self.begun { answering.sender.next_event() } else { None };
        [answers, answering.receiver.next_event(), asking.sender.next_event(), asking.receiver.next_event()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Establishes the server's half with the round-trip time that the server measured in the
    /// handshake.
    fn begin_answering(&mut self, now: Instant) {
        let [down, up] = &mut self.halves;
        let (asking, answering) = match self.asks {
            Direction::Up => (up, down),
            Direction::Down => (down, up),
        };
        // The first packet of the client is its SYN. Repeated SYNs do not move the time from which
        // the round trip counts.
        let answered_at = *self.answered_at.get_or_insert(now);
        if !asking.receiver.is_established() {
            return;
        }
        self.begun = true;
        answering.sender.open(answered_at);
        // The packets of this handshake were those of the client's half. This only sets the state.
        let Some(syn) = answering.sender.poll_transmit(answered_at) else { return };
        answering.receiver.on_segment(now, &syn);
        let Some(syn_ack) = answering.receiver.poll_transmit(now) else { return };
        answering.sender.on_segment(now, &syn_ack);
        if let Some(ack) = answering.sender.poll_transmit(now) {
            answering.receiver.on_segment(now, &ack);
        }
    }

    fn transmit(&mut self, now: Instant, network: &mut Network) {
        for direction in Direction::BOTH {
            // The SYN of this half would be a packet that no full-duplex connection sends
            // (`begin_answering`).
            if direction != self.asks && !self.begun {
                continue;
            }
            let half = &mut self.halves[direction.index()];
            let id = ConnectionId { number: self.id.number | direction as u32, ..self.id };
            while let Some(segment) = half.receiver.poll_transmit(now) {
                let bytes = segment.wire_len(&self.config);
                network.send_on(now, direction.reverse(), id, bytes, Payload::Tcp(segment));
            }
            while let Some(mut segment) = self.halves[direction.index()].sender.poll_transmit(now) {
                let other = &mut self.halves[direction.reverse().index()].receiver;
                if (segment.len > 0 || segment.flags.contains(Flags::FIN))
                    && let Some((ack, stamp)) = other.carry()
                {
                    (segment.ack, segment.ts_ecr) = (ack, stamp);
                }
                let bytes = segment.wire_len(&self.config);
                network.send_on(now, direction, id, bytes, Payload::Tcp(segment));
            }
        }
    }
}
