//! A line in real time between a client and a server that only have sockets.

use std::io;
use std::net::SocketAddr;

use goodqueue::{Datagram, Direction, Duration, FlowKey, Instant};
use goodqueue_link::{Duplex, ethernet};
use tokio::net::UdpSocket;
use tokio::time::Instant as Now;

/// Carries datagrams between the clients of `outside` and `server`, until a socket fails.
///
/// # Errors
/// That of the socket.
pub async fn relay(
    outside: UdpSocket,
    server: SocketAddr,
    mut line: Duplex<Datagram<Vec<u8>>>,
) -> io::Result<()> {
    let inside = UdpSocket::bind("127.0.0.1:0").await?;
    let start = Now::now();
    let now = || Instant::ZERO + Duration::from(start.elapsed());
    let mut flow = FlowKey::new(outside.local_addr()?, server, FlowKey::UDP);
    let mut up = vec![0; 65_535];
    let mut down = up.clone();
    loop {
        while let Some((direction, packet)) = line.arrival(now()) {
            let socket = if direction == Direction::Up { &inside } else { &outside };
            socket.send_to(&packet.content, packet.key.destination()).await?;
        }
        let next = line.next_event().map_or(Duration::from_secs(3600), |at| at.since(Instant::ZERO));
        let (direction, key, bytes) = tokio::select! {
            received = outside.recv_from(&mut up) => {
                let (length, client) = received?;
                flow = FlowKey::new(client, server, FlowKey::UDP);
                (Direction::Up, flow, up.get(..length))
            }
            received = inside.recv_from(&mut down) => (Direction::Down, flow.reversed(), down.get(..received?.0)),
            () = tokio::time::sleep_until(start + next.into()) => continue,
        };
        let content = bytes.unwrap_or_default().to_vec();
        line.send(direction, now(), ethernet::datagram(key, content));
    }
}
