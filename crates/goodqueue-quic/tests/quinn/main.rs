//! A download with quinn-proto behind a real queue: the test that the guide "Test your transport
//! behind a real queue" explains.

#[path = "../adaptor/mod.rs"]
mod adaptor;
mod guide;

// ANCHOR: imports
use std::net::SocketAddr;
use std::time::Instant as StdInstant;

use bytes::BytesMut;
use goodqueue::{Datagram, Duration, Ecn, FlowKey, Instant};
use goodqueue_link::quantiles::Quantiles;
use goodqueue_link::{Duplex, Lab, LinkBuilder, Peer, Units, ethernet};
use goodqueue_quic::clock::Clock;
use goodqueue_quic::quinn::{client_config, endpoint_config, server_config};
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, StreamId, Transmit,
    TransportConfig,
};
// ANCHOR_END: imports

use adaptor::{Program, Quic};

// ANCHOR: calls
/// Gives a datagram to an endpoint.
fn handle(
    endpoint: &mut Endpoint,
    now: StdInstant,
    remote: SocketAddr,
    ecn: Option<EcnCodepoint>,
    bytes: BytesMut,
) -> Option<DatagramEvent> {
    endpoint.handle(now, remote, None, ecn, bytes, &mut Vec::new())
}

/// Takes a datagram from a connection.
fn transmit(connection: &mut Connection, now: StdInstant, bytes: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, 1, bytes)
}
// ANCHOR_END: calls

// ANCHOR: download
/// What a download was like.
#[derive(Debug, PartialEq)]
struct Outcome {
    took: Duration,
    /// Round-trip times as in [`Writer`].
    rtt: Quantiles,
    marked: u64,
    dropped: u64,
    /// Packets that the server declared lost.
    lost: u64,
}

/// Downloads 10 MB over `line`, which is one direction as text.
fn download(line: &str) -> Outcome {
    let builder: LinkBuilder = line.parse().unwrap_or_else(|error| panic!("{error}"));
    let line = Duplex::symmetric(&builder.seed(7)).expect("valid");
    // Both stacks take the time of the system: the clock turns simulated time into it.
    let clock = Clock::new();
    let mut transport = TransportConfig::default();
    // One packet at a time: a queue counts packets, not bundles of them.
    transport.enable_segmentation_offload(false);
    let mut server_config = server_config();
    server_config.transport_config(transport.into());
    let addresses = [([192, 0, 2, 1], 443).into(), ([198, 51, 100, 7], 5000).into()];
    let quic = |seed, server_config| Endpoint::new(endpoint_config(seed).into(), server_config, true, None);
    let mut endpoint = quic(1, None);
    let connection =
        endpoint.connect(clock.to_std(Instant::ZERO), client_config(1), addresses[0], "server").ok();
    let flow = FlowKey::new(addresses[1], addresses[0], FlowKey::UDP);
    let client = Quic { endpoint, connection, flow, clock, app: Reader::default() };
    let endpoint = quic(2, Some(server_config.into()));
    let flow = flow.reversed();
    let server = Quic { endpoint, connection: None, flow, clock, app: Writer::default() };
    let mut lab = Lab::new(line, client, server);
    let is_done = lab.run(Instant::ZERO + 60.s(), |lab| {
        lab.server.connection.as_ref().is_some_and(|(_, server)| server.stats().frame_rx.connection_close > 0)
    });
    assert!(is_done, "the download did not end within a minute");
    let queue = lab.line.down.stats().queue;
    Outcome {
        took: lab.now().since(Instant::ZERO),
        marked: queue.marked.packets,
        dropped: queue.dropped().packets,
        lost: lab.server.connection.as_ref().map_or(0, |(_, server)| server.stats().path.lost_packets),
        rtt: lab.server.app.rtt,
    }
}
// ANCHOR_END: download

// ANCHOR: programs
/// Writes 10 MB into a stream.
#[derive(Default)]
struct Writer {
    stream: Option<StreamId>,
    written: usize,
    /// Round-trip times that the server estimated, once whenever it could send.
    rtt: Quantiles,
}

const BYTES: usize = 10_000_000;

impl Program for Writer {
    fn run(&mut self, _: StdInstant, connection: &mut Connection) {
        self.write(connection);
        self.rtt.add(connection.rtt().into());
    }
}

impl Writer {
    fn write(&mut self, connection: &mut Connection) {
        if connection.is_handshaking() || self.written == BYTES {
            return;
        }
        if self.stream.is_none() {
            self.stream = connection.streams().open(Dir::Uni);
        }
        let Some(id) = self.stream else { return };
        let zeros = [0; 1 << 16];
        while self.written < BYTES {
            let rest = zeros.len().min(BYTES - self.written);
            let Ok(count) = connection.send_stream(id).write(&zeros[..rest]) else { return };
            self.written += count;
        }
        connection.send_stream(id).finish().expect("the stream is open");
    }
}

/// Reads a stream to its end, and then closes the connection.
#[derive(Default)]
struct Reader {
    stream: Option<StreamId>,
    count: usize,
}

impl Program for Reader {
    fn run(&mut self, now: StdInstant, connection: &mut Connection) {
        if self.stream.is_none() {
            self.stream = connection.streams().accept(Dir::Uni);
        }
        let Some(id) = self.stream else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        let mut is_read = false;
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.count += chunk.bytes.len(),
                Ok(None) => {
                    is_read = true;
                    break;
                }
                Err(_) => break,
            }
        }
        // What this call returns matters to an event loop only.
        let _ = chunks.finalize();
        if is_read {
            assert_eq!(self.count, BYTES);
            connection.close(now, 0_u32.into(), bytes::Bytes::new());
        }
    }
}
// ANCHOR_END: programs

// ANCHOR: test
/// Returns whether a call would survive the download: the median of the round-trip time stays below
/// 80 ms, where the line alone takes 50 ms.
fn is_responsive(outcome: &Outcome) -> bool {
    outcome.rtt.p50() < 80.ms()
}

#[test]
fn a_download_fills_a_large_buffer_and_leaves_the_queue_of_fq_codel_short() {
    let bloated = download("20mbit delay 25ms [bfifo limit 1mb]");
    assert!(!is_responsive(&bloated), "{bloated:?}");

    let managed = download("20mbit delay 25ms [fq_codel ecn]");
    assert!(is_responsive(&managed), "{managed:?}");
    assert!(managed.marked > 0, "the queue marks instead of dropping: {managed:?}");
    assert_eq!((managed.dropped, managed.lost), (0, 0), "{managed:?}");
}
// ANCHOR_END: test

#[test]
fn equal_seeds_give_equal_downloads() {
    let line = "20mbit delay 25ms loss 0.1% [fq_codel]";
    assert_eq!(download(line), download(line));
}
