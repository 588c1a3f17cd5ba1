//! The endpoints of both tests on a line. The test that includes this file says with its imports
//! which stack it is, and makes the two calls that differ: noq-proto is a fork of quinn-proto.

use super::{
    BytesMut, Clock, Connection, ConnectionHandle, Datagram, DatagramEvent, Ecn, EcnCodepoint, Endpoint,
    FlowKey, Instant, Peer, StdInstant, ethernet, handle, transmit,
};

// ANCHOR: adaptor
/// The program that uses a connection.
pub(crate) trait Program {
    /// Reads and writes as much as it can.
    fn run(&mut self, now: StdInstant, connection: &mut Connection);
}

/// A QUIC endpoint with one connection, and the program that uses it.
pub(crate) struct Quic<A> {
    pub(crate) endpoint: Endpoint,
    pub(crate) connection: Option<(ConnectionHandle, Connection)>,
    /// From this endpoint to the other one.
    pub(crate) flow: FlowKey,
    pub(crate) clock: Clock,
    pub(crate) app: A,
}

impl<A: Program> Peer<Datagram<BytesMut>> for Quic<A> {
    fn receive(&mut self, now: Instant, packet: Datagram<BytesMut>) {
        let now = self.clock.to_std(now);
        let ecn = EcnCodepoint::from_bits(packet.ecn.bits());
        let event = handle(&mut self.endpoint, now, self.flow.destination(), ecn, packet.content);
        if let Some(DatagramEvent::NewConnection(incoming)) = event {
            self.connection = self.endpoint.accept(incoming, now, &mut Vec::new(), None).ok();
        } else if let (Some(DatagramEvent::ConnectionEvent(_, event)), Some((_, connection))) =
            (event, &mut self.connection)
        {
            connection.handle_event(event);
        }
    }

    fn transmit(&mut self, now: Instant) -> Option<Datagram<BytesMut>> {
        let now = self.clock.to_std(now);
        let (handle, connection) = self.connection.as_mut()?;
        connection.handle_timeout(now);
        while let Some(event) = connection.poll_endpoint_events() {
            let answer = self.endpoint.handle_event(*handle, event);
            answer.into_iter().for_each(|event| connection.handle_event(event));
        }
        self.app.run(now, connection);
        let mut bytes = Vec::new();
        let ecn = transmit(connection, now, &mut bytes)?.ecn.map_or(0, |ecn| ecn as u8);
        Some(Datagram { ecn: Ecn::from_bits(ecn), ..ethernet::datagram(self.flow, BytesMut::from(&*bytes)) })
    }

    fn next_timeout(&mut self) -> Option<Instant> {
        self.connection.as_mut()?.1.poll_timeout().map(|timer| self.clock.from_std(timer))
    }
}
// ANCHOR_END: adaptor
