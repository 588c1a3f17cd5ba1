//! The description of a flow and its results. No sockets here.

use goodqueue::{Duration, Instant};

use crate::observer::Direction;

/// A flow to run.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Traffic of the flow.
    pub kind: FlowKind,
    /// Start time.
    pub start: Instant,
    /// End time.
    pub stop: Instant,
    /// Round-trip time without queueing.
    pub rtt: Duration,
}

/// Kinds of traffic.
#[derive(Clone, Debug)]
pub enum FlowKind {
    /// One TCP connection.
    Bulk {
        /// Direction of the data.
        direction: Direction,
        /// Bytes to send; `None` sends until the flow ends.
        size: Option<u64>,
        /// Settings of the connection.
        tcp: TcpOptions,
    },
    /// Requests from the client, each answered at once.
    Ping {
        /// Time between requests.
        interval: Duration,
        /// Bytes of the IP packet.
        bytes: u32,
    },
    /// Datagrams at a fixed interval.
    Datagrams {
        /// Direction of the datagrams.
        direction: Direction,
        /// Time between datagrams.
        interval: Duration,
        /// Bytes of the IP packet.
        bytes: u32,
        /// True to send ECT(0), false for Not-ECT.
        ecn: bool,
    },
    /// One transfer after another.
    Transfers {
        /// Direction of the data: the client downloads (`Down`) or uploads (`Up`).
        direction: Direction,
        /// Bytes of each transfer, and the pause after it.
        pieces: Vec<(u64, Duration)>,
        /// Bytes of the request in front of a download.
        request: u64,
        /// True if all transfers use one connection.
        persistent: bool,
        /// Settings of the connections.
        tcp: TcpOptions,
    },
    /// A browser that fetches one page repeatedly.
    Web {
        /// Direction of the pages: `Down` if the browser is the client, `Up` if it is the server.
        direction: Direction,
        /// The page.
        page: Page,
        /// Settings of the connections.
        tcp: TcpOptions,
    },
}

impl FlowKind {
    /// True if the flow has TCP connections.
    pub(super) const fn uses_tcp(&self) -> bool {
        matches!(self, Self::Bulk { .. } | Self::Transfers { .. } | Self::Web { .. })
    }

    /// Bytes of each request, for the kinds that send requests.
    pub(super) const fn request(&self) -> Option<u64> {
        match self {
            Self::Transfers { request, .. } => Some(*request),
            Self::Web { page, .. } => Some(page.request),
            _ => None,
        }
    }
}

/// Settings of the kernel's TCP for one connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpOptions {
    /// Congestion control, by the kernel's name.
    pub congestion_control: String,
    /// Maximum segment size; `None` leaves it to the path.
    pub mss: Option<u32>,
}

/// A web page and the way it is fetched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// Bytes of the document, then of each object that it refers to.
    pub objects: Vec<u64>,
    /// Parallel connections, at least 1.
    pub connections: u32,
    /// Bytes of a request.
    pub request: u64,
    /// Shortest time between the beginnings of two fetches.
    pub interval: Duration,
}

/// Counters of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlowTally {
    /// Payload that reached the receiver, in bytes.
    pub delivered: u64,
    /// Data packets sent, including retransmissions.
    pub sent: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts. Always 0 before Linux 6.7, which does not report them.
    pub timeouts: u64,
    /// Time at which the last byte was acknowledged.
    pub completed_at: Option<Instant>,
}

impl FlowTally {
    /// Adds the packet counters of a connection.
    pub(super) fn add_connection(&mut self, connection: &Self) {
        self.sent += connection.sent;
        self.retransmits += connection.retransmits;
        self.timeouts += connection.timeouts;
    }
}

/// One measured packet, request or transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Time at which it was sent.
    pub sent_at: Instant,
    /// Time until it arrived or was answered; `None` if that has not happened.
    pub took: Option<Duration>,
    /// Bytes of payload.
    pub bytes: u64,
}
