//! A TCP connection with data both ways, opened by the end that asks: what requests and their answers travel over.
//!
//! It is two one-way transfers that share a handshake. The server's half begins when the client's ACK of the SYN/ACK
//! arrives; its round-trip time is then known from the handshake. Two things differ from one full-duplex TCP: ACKs are
//! never carried by data of the other direction, so that a request is acknowledged by a packet of its own, and each half
//! has its own receive window. Both cost 52 bytes now and then on the way that has room. ns-2's FullTcp, which delays the
//! ACK of what is less than a segment, lets data carry it, and its server closes when the client's FIN comes.

use std::sync::Arc;

use goodqueue::{ConfigError, Instant};
use goodqueue_tcp::{AnyCongestionControl, Config, Flags, Receiver, Segment, Sender};

use crate::network::Network;
use crate::packet::{Direction, Packet, Payload};

/// Both ends of a connection.
#[derive(Debug)]
pub(crate) struct Connection {
    flow: u32,
    /// Times two, as packets have it.
    number: u32,
    /// Data down, data up.
    halves: [Half; 2],
    /// Where the data of the end that opens it goes.
    asks: Direction,
    config: Arc<Config>,
    /// When the SYN came to the server, until its half has begun.
    answered_at: Option<Instant>,
    begun: bool,
}

#[derive(Debug)]
struct Half {
    sender: Sender,
    receiver: Receiver,
}

/// What a connection's senders counted.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) retransmits: u64,
    pub(crate) timeouts: u64,
}

impl Connection {
    /// A connection that is not open yet. `number` distinguishes it from the flow's others; `asks` is where the SYN and the data
    /// of the end that opens it go.
    pub(crate) fn new(
        (flow, number): (u32, u32),
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
        Ok(Self { flow, number: number << 1, halves, asks, config, answered_at: None, begun: false })
    }

    /// The client sends its SYN.
    pub(crate) fn open(&mut self, now: Instant, network: &mut Network) {
        self.halves[self.asks.index()].sender.open(now);
        self.transmit(now, network);
    }

    /// The application at the end from which `direction` leads has `bytes` more to send.
    pub(crate) fn write(&mut self, now: Instant, direction: Direction, bytes: u64, network: &mut Network) {
        self.halves[direction.index()].sender.write(bytes);
        self.transmit(now, network);
    }

    /// The application at the end from which `direction` leads takes back what has not been sent.
    pub(crate) fn take_back(&mut self, direction: Direction) {
        self.halves[direction.index()].sender.take_back();
    }

    /// Neither end has more to send: FINs follow the data.
    pub(crate) fn close(&mut self, now: Instant, network: &mut Network) {
        for direction in Direction::BOTH {
            if direction == self.asks || !self.config.carries_acks() {
                self.halves[direction.index()].sender.close();
            }
        }
        self.transmit(now, network);
    }

    /// Payload that has arrived in order, having travelled in `direction`.
    pub(crate) fn delivered(&self, direction: Direction) -> u64 {
        self.halves[direction.index()].receiver.delivered()
    }

    /// True once both ends have closed and know that the other end has everything.
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

    /// A packet of this connection arrives.
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
        // Data of a half travels in its own direction, its acknowledgements in the other.
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

    /// Data that travelled in `direction` carried an ACK of the other half; the client's FIN closes that, too.
    fn take_carried(&mut self, now: Instant, direction: Direction, segment: &Segment) {
        let is_closed = direction == self.asks && self.halves[direction.index()].receiver.is_finished();
        let other = &mut self.halves[direction.reverse().index()].sender;
        // As a duplicate it does not count.
        if segment.flags.contains(Flags::ACK) && segment.ack > other.acknowledged() {
            other.on_segment(now, &Segment { seq: 1, len: 0, flags: Flags::ACK, ..*segment });
        }
        if is_closed {
            other.close();
        }
    }

    /// Timers that are due at `now` run.
    pub(crate) fn on_timer(&mut self, now: Instant, network: &mut Network) {
        self.transmit(now, network);
    }

    /// When [`Self::on_timer`] has something to do.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        let [asking, answering] = [self.asks, self.asks.reverse()].map(|way| &self.halves[way.index()]);
        let answers = if self.begun { answering.sender.next_event() } else { None };
        [answers, answering.receiver.next_event(), asking.sender.next_event(), asking.receiver.next_event()]
            .into_iter()
            .flatten()
            .min()
    }

    /// The handshake as the server sees it: its own half is established with the round-trip time that it measured.
    fn begin_answering(&mut self, now: Instant) {
        let [down, up] = &mut self.halves;
        let (asking, answering) = match self.asks {
            Direction::Up => (up, down),
            Direction::Down => (down, up),
        };
        let answered_at = *self.answered_at.get_or_insert(now);
        if !asking.receiver.is_established() {
            return;
        }
        self.begun = true;
        answering.sender.open(answered_at);
        // Only the state of a handshake passes here; its packets were those of the client's half.
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
            if direction != self.asks && !self.begun {
                continue;
            }
            let half = &mut self.halves[direction.index()];
            let name = (self.flow, self.number | direction as u32);
            while let Some(segment) = half.receiver.poll_transmit(now) {
                let bytes = segment.wire_len(&self.config);
                network.send_on(now, direction.reverse(), name, bytes, Payload::Tcp(segment));
            }
            while let Some(mut segment) = self.halves[direction.index()].sender.poll_transmit(now) {
                let other = &mut self.halves[direction.reverse().index()].receiver;
                if (segment.len > 0 || segment.flags.contains(Flags::FIN))
                    && let Some((ack, stamp)) = other.carry()
                {
                    (segment.ack, segment.ts_ecr) = (ack, stamp);
                }
                let bytes = segment.wire_len(&self.config);
                network.send_on(now, direction, name, bytes, Payload::Tcp(segment));
            }
        }
    }
}
