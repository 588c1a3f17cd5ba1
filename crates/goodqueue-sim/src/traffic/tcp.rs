//! A TCP connection that carries data in one direction, unlimited or of a given size.

use std::mem::offset_of;
use std::ops::Range;
use std::slice::from_ref;
use std::sync::Arc;

use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{ConfigError, Direction, Duration, Instant};
use goodqueue_tcp::congestion::parameter::Value;
use goodqueue_tcp::{AnyCongestionControl, Config, Receiver, Segment, Sender};

use super::source::{SenderState, Settings, Source, Tally};
use crate::ahead::{Ahead, CACHE_LINE, CacheLine, fetch_line};
use crate::id::FlowId;
use crate::network::Network;
use crate::packet::{Packet, Payload};
use crate::transport::Transport;

/// The settings of a TCP connection.
#[derive(Clone, Debug)]
pub struct TcpSettings {
    /// Direction of the data.
    pub direction: Direction,
    /// Bytes to send; `None` for data without end.
    pub size: Option<u64>,
    /// TCP settings of both ends. Flows with equal settings may share them.
    pub config: Arc<Config>,
    /// Congestion control of the sender.
    pub congestion_control: AnyCongestionControl,
    /// True if the first queue is on the sender's own host, which tells TCP at once what the queue
    /// drops or refuses. A queue that the host itself has
    /// ([`FlowConfig::host_qdisc`](crate::FlowConfig::host_qdisc)) always tells.
    pub local_congestion: bool,
}

impl Settings for TcpSettings {
    const KIND: &'static str = "tcp";
    const TRANSPORT: Transport = Transport::Tcp;

    fn direction(&self) -> Direction {
        self.direction
    }

    fn congestion_control(&self) -> Option<&'static str> {
        Some(self.congestion_control.about().name)
    }
}

/// Both ends of a connection. The field order keeps together in memory what a packet needs: the
/// last fields of the receiver, the fields between the two ends, and the first fields of the
/// sender.
#[derive(Debug)]
#[repr(C)]
pub struct Tcp {
    /// Aligns the structure to a cache line.
    lines: [CacheLine; 0],
    receiver: Receiver,
    config: Arc<Config>,
    first_at: Option<Instant>,
    flow: FlowId,
    direction: Direction,
    stopped: bool,
    local_congestion: bool,
    sender: Sender,
    completed_at: Option<Instant>,
    size: Option<u64>,
}

/// Cache lines that a segment needs at the receiver, in the order of the fields.
const RECEIVING: Range<usize> = 1..offset_of!(Tcp, sender).div_ceil(CACHE_LINE);
/// Cache lines that an ACK needs at the sender, in the order of the fields.
const SENDING: Range<usize> = offset_of!(Tcp, first_at) / CACHE_LINE..RECEIVING.end + 13;

impl Tcp {
    /// Creates the connection for flow number `flow`. If the settings give no phase for the timer
    /// tick, it is drawn from `random`.
    ///
    /// # Errors
    /// The configuration is invalid.
    pub fn new(
        flow: FlowId,
        settings: &TcpSettings,
        mut random: Xoshiro256PlusPlus,
    ) -> Result<Self, ConfigError> {
        let TcpSettings { direction, size, mut config, congestion_control, local_congestion } =
            settings.clone();
        if !config.tick.is_zero() && config.tick_phase.is_zero() {
            // ns-2 draws the time at which an agent starts (`boot_time_`). With a common phase,
            // flows that start together would have the same timeouts.
            let tick_phase = Duration::from_nanos(random.next_u64() % config.tick.as_nanos());
            config = Arc::new(Config { tick_phase, ..*config });
        }
        let sender = Sender::new(Arc::clone(&config), congestion_control)?;
        let receiver = Receiver::new(Arc::clone(&config))?;
        Ok(Self {
            lines: [],
            flow,
            direction,
            size,
            config,
            sender,
            receiver,
            local_congestion,
            stopped: false,
            first_at: None,
            completed_at: None,
        })
    }

    /// Changes a parameter of the congestion controller, and sends what it allows at once.
    ///
    /// # Errors
    /// As [`Sender::set_parameter`].
    pub fn set_parameter(
        &mut self,
        now: Instant,
        parameter: &'static str,
        value: Value,
        network: &mut Network,
    ) -> Result<(), ConfigError> {
        self.sender.set_parameter(parameter, value)?;
        if !self.stopped {
            self.send_all(now, network);
        }
        Ok(())
    }

    #[inline]
    fn send_all(&mut self, now: Instant, network: &mut Network) {
        let mut has_room = network.has_room(self.direction, self.flow);
        if self.local_congestion {
            self.sender.set_in_host(network.waiting_in_host(self.flow));
        }
        while has_room && let Some(segment) = self.sender.poll_transmit(now) {
            let bytes = segment.wire_len(&self.config);
            if self.local_congestion {
                self.offer(now, bytes, segment, network);
                self.sender.set_in_host(network.waiting_in_host(self.flow));
            } else {
                network.send(now, self.direction, self.flow, bytes, Payload::Tcp(segment));
            }
            has_room = network.has_room(self.direction, self.flow);
        }
        if self.sender.awaits_host() {
            network.wake_after_next(self.flow);
        }
        // Without room the flow is woken as soon as there is room, and due segments wait until
        // then.
        if let Some(when) = self.sender.next_event()
            && (has_room || when > now)
        {
            network.wake(self.flow, when.max(now));
        }
    }

    /// Sends a segment through a queue of the sender's own host, and tells TCP about a drop or a
    /// refusal.
    #[cold]
    fn offer(&mut self, now: Instant, bytes: u32, segment: Segment, network: &mut Network) {
        let dropped = |path: &Network| path.fates(self.flow.index())[self.direction.index()].dropped;
        // A queue reports its drops to the network. The counters before and after the call tell
        // whether it dropped something.
        let before = (dropped(network), network.first_link(self.flow, self.direction).not_taken());
        let departs = self.sender.departure();
        let connection = self.flow.into();
        network.send_planned(now, departs, self.direction, connection, bytes, Payload::Tcp(segment));
        let first = network.first_link(self.flow, self.direction);
        if first.not_taken() > before.1 && first.had_no_room() {
            self.sender.on_refused(now, &segment);
        } else if dropped(network) > before.0 {
            self.sender.on_local_drop(now, &segment);
        }
    }

    #[inline]
    fn acknowledge(&mut self, now: Instant, network: &mut Network) {
        while let Some(segment) = self.receiver.poll_transmit(now) {
            let bytes = segment.wire_len(&self.config);
            network.send(now, self.direction.reverse(), self.flow, bytes, Payload::Tcp(segment));
        }
        if let Some(when) = self.receiver.next_event() {
            network.wake(self.flow, when.max(now));
        }
    }
}

impl Source for Tcp {
    fn start(&mut self, now: Instant, network: &mut Network) {
        if let Some(paces) = network.host_paces(self.flow, self.direction) {
            self.sender.set_host_queue(paces);
            self.local_congestion = true;
        }
        if self.local_congestion {
            network.count_in_host(self.flow, self.direction);
        }
        self.sender.open(now);
        // Data without end: 2^64 bytes are more than any run sends.
        self.sender.write(self.size.unwrap_or(u64::MAX));
        if self.size.is_some() {
            self.sender.close();
        }
        self.send_all(now, network);
    }

    fn stop(&mut self, _now: Instant) {
        // Only the sender stops. Data in flight is still acknowledged.
        self.stopped = true;
    }

    #[inline]
    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network) {
        let Payload::Tcp(segment) = &packet.payload else { return };
        // A timer that is due at this instant was set before the packet departed, so it runs first.
        let is_due = |timer: Option<Instant>| timer.is_some_and(|due| due <= now);
        if direction == self.direction {
            if is_due(self.receiver.next_event()) {
                self.acknowledge(now, network);
            }
            self.receiver.on_segment(now, segment);
            if self.first_at.is_none() && self.receiver.delivered() > 0 {
                self.first_at = Some(now);
            }
            self.acknowledge(now, network);
        } else if !self.stopped {
            if is_due(self.sender.next_event()) {
                self.send_all(now, network);
            }
            self.sender.on_segment(now, segment);
            self.send_all(now, network);
            if self.sender.is_finished() && self.completed_at.is_none() {
                self.completed_at = Some(now);
            }
        }
    }

    #[inline]
    fn fetch(&self, direction: Direction, ahead: Ahead) {
        match ahead {
            Ahead::First => fetch_line(&self.lines, offset_of!(Self, direction) / CACHE_LINE),
            Ahead::Second => {
                let lines = if direction == self.direction { RECEIVING } else { SENDING };
                lines.for_each(|line| fetch_line(&self.lines, line));
            }
            Ahead::Last if direction == self.direction => {
                self.receiver.held().into_iter().for_each(|range| fetch_line(from_ref(range), 0));
            }
            Ahead::Last => self.sender.records().for_each(|record| fetch_line(from_ref(record), 0)),
        }
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        self.acknowledge(now, network);
        if !self.stopped {
            self.send_all(now, network);
        }
    }

    fn first_delivery(&self) -> Option<Instant> {
        self.first_at
    }

    fn sender(&self) -> Option<SenderState> {
        Some(SenderState {
            cwnd: self.sender.cwnd(),
            in_flight: Some(self.sender.in_flight()),
            srtt: self.sender.srtt().unwrap_or(Duration::ZERO),
        })
    }

    fn delivery_rate(&self, until: Instant) -> Option<u64> {
        self.sender.mean_delivery_rate(until)
    }

    fn measure_from(&mut self, now: Instant) {
        self.sender.restart_delivery_rate(now);
    }

    fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    fn received(&self) -> u64 {
        self.receiver.received()
    }

    fn tally(&self) -> Tally {
        let stats = self.sender.stats();
        Tally {
            delivered: self.receiver.delivered(),
            sent: stats.segments,
            retransmits: stats.retransmits,
            timeouts: stats.timeouts,
            completed_at: self.completed_at,
        }
    }
}
