//! One side of a simulated connection.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use goodqueue::{Ecn, Instant};
use goodqueue_sim::traffic::SenderState;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, EndpointEvent, ServerConfig,
    TransportConfig, VarInt,
};

use crate::clock::Clock;
use crate::quinn::{endpoint_config, protected_client_config, protected_server_config};
use crate::tag::Protection;

/// An endpoint and its connection, once it has one.
pub(super) struct Side {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    remote: SocketAddr,
    clock: Clock,
}

impl fmt::Debug for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stats = self.connection.as_ref().map(|(_, connection)| connection.stats());
        f.debug_struct("Side").field("remote", &self.remote).field("stats", &stats).finish_non_exhaustive()
    }
}

impl Side {
    /// Returns a server that accepts one connection.
    pub(super) fn server(clock: Clock, seed: u64, transport: TransportConfig) -> Self {
        let mut config = protected_server_config(Protection::Trusted);
        config.transport_config(transport.into());
        Self::from_server_config(clock, seed, Some(config.into()), CLIENT)
    }

    /// Returns a client that does nothing yet.
    pub(super) fn client(clock: Clock, seed: u64) -> Self {
        Self::from_server_config(clock, seed, None, SERVER)
    }

    fn from_server_config(
        clock: Clock,
        seed: u64,
        config: Option<Arc<ServerConfig>>,
        remote: SocketAddr,
    ) -> Self {
        // `true` allows the search for the MTU. The configuration has the seed already.
        let endpoint = Endpoint::new(endpoint_config(seed).into(), config, true, None);
        Self { endpoint, connection: None, remote, clock }
    }

    /// Begins a client's connection.
    pub(super) fn connect(&mut self, now: Instant, seed: u64, transport: TransportConfig) {
        let mut config = protected_client_config(seed, Protection::Trusted);
        config.transport_config(transport.into());
        // An unspecified address and an unknown version are refused; these are neither.
        self.connection = self.endpoint.connect(self.clock.to_std(now), config, self.remote, "server").ok();
    }

    /// Closes the connection.
    pub(super) fn close(&mut self, now: Instant) {
        let now = self.clock.to_std(now);
        if let Some(connection) = self.connection() {
            connection.close(now, VarInt::from_u32(0), Bytes::new());
        }
    }

    /// Forgets the connection. Its packets that are still in the network find nobody.
    pub(super) fn forget(&mut self) {
        if let Some((handle, connection)) = self.connection.take()
            && !connection.is_drained()
        {
            // Otherwise the endpoint would keep the identifiers of the connection.
            self.endpoint.handle_event(handle, EndpointEvent::drained());
        }
    }

    /// Returns the connection.
    pub(super) fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    /// Returns the number of packets that this side declared lost.
    pub(super) fn lost(&self) -> u64 {
        self.connection.as_ref().map_or(0, |(_, connection)| connection.stats().path.lost_packets)
    }

    /// Returns what the connection knows of the path. quinn does not tell the bytes in flight.
    pub(super) fn state(&self) -> Option<SenderState> {
        let (_, connection) = self.connection.as_ref()?;
        let path = connection.stats().path;
        Some(SenderState { cwnd: path.cwnd, in_flight: None, srtt: path.rtt.into() })
    }

    /// Takes a datagram from the network. Returns true if the connection took it.
    pub(super) fn receive(&mut self, now: Instant, ecn: Ecn, datagram: BytesMut) -> bool {
        let now = self.clock.to_std(now);
        let ecn = EcnCodepoint::from_bits(ecn.bits());
        // Answers of the endpoint itself are refusals, for which there is no reason here.
        let mut is_taken = false;
        match self.endpoint.handle(now, self.remote, None, ecn, datagram, &mut Vec::new()) {
            // The client has one connection at a time. A late copy of an old hello is no new one.
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_some() => {
                // If it were only dropped, the endpoint would keep its state.
                self.endpoint.ignore(incoming);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, now, &mut Vec::new(), None).ok();
            }
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((known, connection)) = &mut self.connection
                    && *known == handle
                {
                    connection.handle_event(event);
                    is_taken = true;
                }
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
        self.settle();
        is_taken
    }

    /// Runs the timers that are due. Returns false if there are none.
    pub(super) fn run_timers(&mut self, now: Instant) -> bool {
        let now = self.clock.to_std(now);
        let Some((_, connection)) = &mut self.connection else { return false };
        let is_due = connection.poll_timeout().is_some_and(|timer| timer <= now);
        if is_due {
            connection.handle_timeout(now);
            self.settle();
        }
        is_due
    }

    /// Writes the next datagram into `bytes`, and returns its ECN field.
    pub(super) fn transmit(&mut self, now: Instant, bytes: &mut Vec<u8>) -> Option<Ecn> {
        let now = self.clock.to_std(now);
        bytes.clear();
        // One datagram at a time, because the queue decides about each.
        let sent = self.connection()?.poll_transmit(now, 1, bytes)?;
        Some(sent.ecn.map_or(Ecn::NotEct, |ecn| Ecn::from_bits(ecn as u8)))
    }

    /// Returns the time of the next timer.
    pub(super) fn next_timer(&mut self) -> Option<Instant> {
        let timer = self.connection()?.poll_timeout()?;
        Some(self.clock.from_std(timer))
    }

    /// Passes events between connection and endpoint until there are none.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
    }
}

// Addresses of the benchmarking network (RFC 2544 appendix C.2.2), as in the captures.
const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1)), 1024);
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(198, 19, 0, 1)), 443);
