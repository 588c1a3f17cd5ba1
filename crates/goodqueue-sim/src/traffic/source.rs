//! The interface of a traffic source, and its reports.

use goodqueue::{Direction, Duration, Instant, Rate};

use super::samples::{Earlier, OneWay, Room, RoundTrip};
use crate::ahead::Ahead;
use crate::network::Network;
use crate::packet::Packet;
use crate::transport::Transport;

/// Both end points of a flow. The source receives the packets that arrive and sends through the
/// network.
pub trait Source {
    /// Starts the flow.
    fn start(&mut self, now: Instant, network: &mut Network);

    /// Ends the flow: it sends no new data.
    fn stop(&mut self, now: Instant);

    /// Handles a packet of this flow that arrives after travelling in `direction`.
    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network);

    /// Prefetches the memory for a packet of this flow that will arrive soon after travelling in
    /// `direction`.
    #[inline]
    fn fetch(&self, direction: Direction, ahead: Ahead) {
        // Named without an underscore, because the documentation shows the names of arguments.
        let _ = (direction, ahead);
    }

    /// Handles the wake-up that the flow requested. It may come early.
    fn on_wake(&mut self, now: Instant, network: &mut Network);

    /// Returns the payload bytes delivered to the receiving application, in order, since the start.
    fn delivered(&self) -> u64;

    /// Returns the payload bytes that have arrived since the start, each counted once: those
    /// delivered, and those that wait for an earlier byte.
    fn received(&self) -> u64 {
        self.delivered()
    }

    /// Returns the flow's counters since its start.
    fn tally(&self) -> Tally;

    /// Returns the time at which the first byte reached the receiving application. Only single
    /// connections know it.
    fn first_delivery(&self) -> Option<Instant> {
        None
    }

    /// Returns what the flow's sender knows of the path. Only single connections have one sender.
    fn sender(&self) -> Option<SenderState> {
        None
    }

    /// Returns the mean of the delivery rate that the flow's sender reports, in bytes per second,
    /// from the end of the warm-up to `until`. Only single TCP connections
    /// [that measure it](goodqueue_tcp::Config::reports_rate) have one.
    fn delivery_rate(&self, until: Instant) -> Option<u64> {
        let _ = until;
        None
    }

    /// Returns the sums of samples that the flow no longer has one by one. Only probes have some.
    fn earlier(&self) -> Option<&Earlier> {
        None
    }

    /// Forgets the sums and means of what was before, at the end of the warm-up.
    fn measure_from(&mut self, now: Instant) {
        let _ = now;
    }

    /// Limits the samples that the flow keeps one by one.
    fn set_room(&mut self, room: Room) {
        let _ = room;
    }

    /// Returns the latest measured round trips. Only probes measure them.
    fn round_trips(&self) -> &[RoundTrip] {
        &[]
    }

    /// Returns the latest measured one-way delays. Only some flows measure them.
    fn one_way(&self) -> &[OneWay] {
        &[]
    }

    /// Returns the transfers: files, pages, web responses.
    fn transfers(&self) -> &[Transfer] {
        &[]
    }

    /// Returns the playback. Only adaptive video has one.
    fn playback(&self) -> Option<&Playback> {
        None
    }
}

/// What the sender of a connection knows of the path.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SenderState {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Bytes in flight; `None` if the transport does not tell them.
    pub in_flight: Option<u64>,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
}

/// The settings from which a source is made.
pub trait Settings {
    /// The word for such a flow in results: `tcp`, `ping`, ...
    const KIND: &'static str;

    /// Transport protocol of the flow.
    const TRANSPORT: Transport = Transport::Datagrams;

    /// Returns the direction of the flow's data; for a ping, of its requests.
    fn direction(&self) -> Direction;

    /// Computes now what the flow would compute at its first use, if that takes a while. Flows
    /// whose settings are copies compute it once.
    fn prepare(&self) {}

    /// Returns the congestion control of the flow's connections, if it has any.
    fn congestion_control(&self) -> Option<&'static str> {
        None
    }

    /// Returns the time between two packets whose delay is kept, if the flow keeps delays.
    fn probe_interval(&self) -> Option<Duration> {
        None
    }

    /// True if the flow measures delays.
    const IS_PROBE: bool = false;

    /// True if the flow makes several transfers and counts them.
    const IS_OF_PIECES: bool = false;
}

/// Counters of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Payload delivered in order, in bytes.
    pub delivered: u64,
    /// Packets sent in the direction of the flow's data, retransmissions included.
    pub sent: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Time at which everything that the flow had to send was acknowledged.
    pub completed_at: Option<Instant>,
}

/// A transfer, from its first packet to its last byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// Time at which the first packet for it was sent.
    pub begun_at: Instant,
    /// Time at which it was complete; `None` if it is not.
    pub ended_at: Option<Instant>,
    /// Payload in bytes.
    pub bytes: u64,
}

/// The playback of a video.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Playback {
    /// Requested segments, in order.
    pub segments: Vec<Segment>,
    /// Time at which playback began.
    pub shown_from: Option<Instant>,
    /// Stalls: the time at which the buffer ran empty, and the time at which playback resumed.
    pub stalls: Vec<(Instant, Option<Instant>)>,
}

/// A requested segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Time of the request.
    pub begun_at: Instant,
    /// Time at which it was complete; `None` if it is not.
    pub ended_at: Option<Instant>,
    /// Bit rate.
    pub rate: Rate,
}
