//! A download with quinn-proto over UDP, as two processes in real time.
//!
//! The server is `transfer serve cubic` or `transfer serve newreno`, and the client `transfer fetch
//! server 30`: it downloads for 30 s and prints the bytes that arrived. The endpoints are those of
//! `kind = "quic"` in scenarios, with the adaptor of this crate's tests. `transfer echo` and
//! `transfer ping server 20` measure the round-trip time of an idle line through the same threads:
//! it contains how late the system wakes them. `make quic-live` runs all behind `goodqueue shell`.

use std::error::Error;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Instant as StdInstant;

use bytes::{Bytes, BytesMut};
use goodqueue::{Datagram, Duration, Ecn, FlowKey, Instant};
use goodqueue_link::{Peer, ethernet};
use goodqueue_quic::clock::Clock;
use goodqueue_quic::quinn::{client_config, endpoint_config, server_config};
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, ServerConfig, StreamId,
    Transmit, TransportConfig,
};

use adaptor::{Program, Quic};

#[path = "../tests/adaptor/mod.rs"]
mod adaptor;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", "cubic"] => serve(Arc::new(CubicConfig::default())),
        ["serve", "newreno"] => serve(Arc::new(NewRenoConfig::default())),
        ["fetch", host, seconds] => {
            let bytes = fetch(host, Duration::from_secs(seconds.parse()?))?;
            println!("{bytes}");
            Ok(())
        }
        ["echo"] => echo(),
        ["ping", host, count] => {
            println!("{}", ping(host, count.parse()?)?.as_secs_f64());
            Ok(())
        }
        _ => Err("usage: transfer serve cubic|newreno, transfer fetch HOST SECONDS, transfer echo, or \
                  transfer ping HOST COUNT"
            .into()),
    }
}

const PORT: u16 = 4433;

/// Serves one client until the process is ended.
fn serve(control: Arc<dyn ControllerFactory + Send + Sync>) -> Result<(), Box<dyn Error>> {
    let mut transport = transport();
    transport.congestion_controller_factory(control);
    let mut config = server_config();
    config.transport_config(transport.into());
    let socket = UdpSocket::bind(("0.0.0.0", PORT))?;
    let arrivals = arrivals(&socket)?;
    let (client, hello) = arrivals.recv()?;
    let mut server = endpoint(2, Some(config.into()), client, Zeros::default());
    server.receive(server.now(), ethernet::datagram(server.flow, BytesMut::from(&*hello)));
    server.exchange(&socket, &arrivals, Instant::MAX)
}

/// Downloads for a time, and returns the bytes that arrived.
fn fetch(host: &str, time: Duration) -> Result<u64, Box<dyn Error>> {
    let server = resolve(host)?;
    let socket = UdpSocket::bind(("0.0.0.0", 0))?;
    let arrivals = arrivals(&socket)?;
    let mut client = endpoint(1, None, server, Download::default());
    let mut config = client_config(1);
    config.transport_config(transport().into());
    let begin = client.now();
    let connection = client.endpoint.connect(client.clock.to_std(begin), config, server, "server")?;
    client.connection = Some(connection);
    client.exchange(&socket, &arrivals, begin + time)?;
    Ok(client.app.bytes)
}

fn resolve(host: &str) -> Result<SocketAddr, Box<dyn Error>> {
    let mut addresses = (host, PORT).to_socket_addrs()?;
    Ok(addresses.find(SocketAddr::is_ipv4).ok_or("the host has no IPv4 address")?)
}

/// Sends every datagram back until the process is ended.
fn echo() -> Result<(), Box<dyn Error>> {
    let socket = UdpSocket::bind(("0.0.0.0", PORT))?;
    for (from, bytes) in arrivals(&socket)? {
        socket.send_to(&bytes, from)?;
    }
    Err("the socket cannot be read any more".into())
}

/// Returns the median of `count` round-trip times of datagrams with 18 bytes, which have 60 on the
/// line.
#[expect(clippy::disallowed_methods, reason = "this program runs in real time")]
fn ping(host: &str, count: usize) -> Result<std::time::Duration, Box<dyn Error>> {
    let server = resolve(host)?;
    let socket = UdpSocket::bind(("0.0.0.0", 0))?;
    let arrivals = arrivals(&socket)?;
    let mut times = Vec::new();
    while times.len() < count {
        let sent = StdInstant::now();
        socket.send_to(&[0; 18], server)?;
        arrivals.recv_timeout(std::time::Duration::from_secs(5))?;
        times.push(sent.elapsed());
    }
    times.sort_unstable();
    times.get(count / 2).copied().ok_or_else(|| "at least one datagram is needed".into())
}

/// One datagram at a time, as in the simulator: a queue counts packets, not bundles of them.
fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.enable_segmentation_offload(false);
    transport
}

fn endpoint<A>(seed: u64, config: Option<Arc<ServerConfig>>, remote: SocketAddr, app: A) -> Quic<A> {
    let endpoint = Endpoint::new(endpoint_config(seed).into(), config, true, None);
    // The socket knows its own address, and no queue in this process reads the flow.
    let flow = FlowKey::new(remote, remote, FlowKey::UDP);
    Quic { endpoint, connection: None, flow, clock: Clock::new(), app }
}

type Arrivals = Receiver<(SocketAddr, Vec<u8>)>;

/// Returns what arrives at a socket. A thread reads it: a socket's own timeout counts whole ticks
/// of the kernel, which pacing would feel.
fn arrivals(socket: &UdpSocket) -> io::Result<Arrivals> {
    let socket = socket.try_clone()?;
    let (sender, arrivals) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 1 << 16];
        while let Ok((length, from)) = socket.recv_from(&mut bytes) {
            if sender.send((from, bytes[..length].to_vec())).is_err() {
                return;
            }
        }
    });
    Ok(arrivals)
}

impl<A: Program> Quic<A> {
    #[expect(clippy::disallowed_methods, reason = "this program runs in real time")]
    fn now(&self) -> Instant {
        self.clock.from_std(StdInstant::now())
    }

    /// Sends, receives and runs timers until `end`.
    fn exchange(
        &mut self,
        socket: &UdpSocket,
        arrivals: &Arrivals,
        end: Instant,
    ) -> Result<(), Box<dyn Error>> {
        loop {
            let now = self.now();
            while let Some(packet) = self.transmit(now) {
                socket.send_to(&packet.content, self.flow.destination())?;
            }
            if now >= end {
                return Ok(());
            }
            let due = self.next_timeout().unwrap_or(Instant::MAX).min(end);
            match arrivals.recv_timeout(due.since(now).into()) {
                Ok((from, bytes)) if from == self.flow.destination() => {
                    self.receive(self.now(), ethernet::datagram(self.flow, BytesMut::from(&*bytes)))
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err("the socket cannot be read any more".into());
                }
            }
        }
    }
}

/// Answers a request with zeros without end.
#[derive(Default)]
struct Zeros {
    stream: Option<StreamId>,
    is_asked: bool,
}

impl Program for Zeros {
    fn run(&mut self, _: StdInstant, connection: &mut Connection) {
        while connection.poll().is_some() {}
        self.stream = self.stream.or_else(|| connection.streams().accept(Dir::Bi));
        let Some(stream) = self.stream else { return };
        self.is_asked = self.is_asked || read(connection, stream).is_at_end;
        let chunk = || Bytes::from_static(&[0; 1 << 16]);
        while self.is_asked && connection.send_stream(stream).write_chunks(&mut [chunk()]).is_ok() {}
    }
}

/// Sends a request and counts the bytes of the answer.
#[derive(Default)]
struct Download {
    stream: Option<StreamId>,
    bytes: u64,
}

impl Program for Download {
    fn run(&mut self, _: StdInstant, connection: &mut Connection) {
        while connection.poll().is_some() {}
        if self.stream.is_none() && !connection.is_handshaking() {
            self.stream = connection.streams().open(Dir::Bi);
            let Some(stream) = self.stream else { return };
            // The request of a scenario's flow.
            let _ = connection.send_stream(stream).write(&[0; 300]);
            let _ = connection.send_stream(stream).finish();
        }
        let Some(stream) = self.stream else { return };
        self.bytes += read(connection, stream).bytes;
    }
}

/// What a stream had.
#[derive(Default)]
struct Read {
    bytes: u64,
    is_at_end: bool,
}

fn read(connection: &mut Connection, stream: StreamId) -> Read {
    let mut read = Read::default();
    let mut stream = connection.recv_stream(stream);
    let Ok(mut chunks) = stream.read(true) else { return read };
    while let Ok(next) = chunks.next(usize::MAX) {
        let Some(chunk) = next else {
            read.is_at_end = true;
            break;
        };
        read.bytes += chunk.bytes.len() as u64;
    }
    // The loop transmits after each event anyway.
    let _ = chunks.finalize();
    read
}

fn handle(
    endpoint: &mut Endpoint,
    now: StdInstant,
    remote: SocketAddr,
    ecn: Option<EcnCodepoint>,
    bytes: BytesMut,
) -> Option<DatagramEvent> {
    endpoint.handle(now, remote, None, ecn, bytes, &mut Vec::new())
}

fn transmit(connection: &mut Connection, now: StdInstant, bytes: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, 1, bytes)
}
