//! A download with quinn-proto behind a real queue: the test that the guide "Test your transport
//! behind a real queue" explains.

mod guide;

use std::time::Instant as StdInstant;

use bytes::BytesMut;
use goodqueue::{Datagram, Duration, Ecn, FlowKey, Instant};
use goodqueue_link::quantiles::Quantiles;
use goodqueue_link::{Duplex, Lab, LinkBuilder, Peer, Units};
use goodqueue_quic::quinn::{client_config, endpoint_config, server_config};
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, StreamId, TransportConfig,
};

// ANCHOR: adaptor
/// A QUIC endpoint with one connection, and the program that uses it.
struct Quic<A> {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    flow: FlowKey,
    remote: std::net::SocketAddr,
    start: StdInstant,
    app: A,
}

impl<A: FnMut(StdInstant, &mut Connection)> Peer<Datagram<BytesMut>> for Quic<A> {
    fn receive(&mut self, now: Instant, packet: Datagram<BytesMut>) {
        let now = self.start + now.since(Instant::ZERO).into();
        let ecn = EcnCodepoint::from_bits(packet.ecn.bits());
        let event = self.endpoint.handle(now, self.remote, None, ecn, packet.content, &mut Vec::new());
        match (event, &mut self.connection) {
            (Some(DatagramEvent::NewConnection(incoming)), connection) => {
                *connection = self.endpoint.accept(incoming, now, &mut Vec::new(), None).ok();
            }
            (Some(DatagramEvent::ConnectionEvent(_, event)), Some((_, connection))) => {
                connection.handle_event(event);
            }
            _ => {}
        }
    }

    fn transmit(&mut self, now: Instant) -> Option<Datagram<BytesMut>> {
        let now = self.start + now.since(Instant::ZERO).into();
        let (handle, connection) = self.connection.as_mut()?;
        if connection.poll_timeout().is_some_and(|timer| timer <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            self.endpoint
                .handle_event(*handle, event)
                .into_iter()
                .for_each(|event| connection.handle_event(event));
        }
        (self.app)(now, connection);
        let mut bytes = Vec::new();
        let sent = connection.poll_transmit(now, 1, &mut bytes)?;
        let ecn = sent.ecn.map_or(Ecn::NotEct, |ecn| Ecn::from_bits(ecn as u8));
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX - HEADERS) + HEADERS;
        Some(Datagram { ecn, ..Datagram::new(self.flow, length, BytesMut::from(&*bytes)) })
    }

    fn next_timeout(&mut self) -> Option<Instant> {
        let timer = self.connection.as_mut()?.1.poll_timeout()?;
        Some(Instant::ZERO + Duration::from(timer.saturating_duration_since(self.start)))
    }
}

/// Ethernet, IPv4 and UDP.
const HEADERS: u32 = 14 + 20 + 8;
// ANCHOR_END: adaptor

/// What a download was like.
#[derive(Debug, PartialEq)]
struct Outcome {
    took: Duration,
    /// Round-trip times that the server estimated, once whenever it could send.
    rtt: Quantiles,
    marked: u64,
    dropped: u64,
    /// Packets that the server declared lost.
    lost: u64,
}

// ANCHOR: download
/// Downloads 10 MB over `line`, which is one direction as text.
fn download(line: &str) -> Outcome {
    let builder: LinkBuilder = line.parse().unwrap_or_else(|error| panic!("{error}"));
    let line = Duplex::symmetric(&builder.seed(7)).expect("valid");
    #[expect(clippy::disallowed_methods, reason = "the stack needs an origin; only differences count")]
    let start = StdInstant::now();
    let mut transport = TransportConfig::default();
    // One packet at a time: a queue counts packets, not bundles of them.
    transport.enable_segmentation_offload(false);
    let mut server_config = server_config();
    server_config.transport_config(transport.into());
    let addresses = [([192, 0, 2, 1], 443).into(), ([198, 51, 100, 7], 5000).into()];
    let quic = |seed, server_config| Endpoint::new(endpoint_config(seed).into(), server_config, true, None);
    let mut endpoint = quic(1, None);
    let connection = endpoint.connect(start, client_config(1), addresses[0], "server").ok();
    let flow = FlowKey::new(addresses[1], addresses[0], FlowKey::UDP);
    let mut reader = Reader::default();
    let client = Quic {
        endpoint,
        connection,
        flow,
        remote: addresses[0],
        start,
        app: |now, connection: &mut Connection| reader.read(now, connection),
    };
    let mut writer = Writer::default();
    let mut rtt = Quantiles::default();
    let server = Quic {
        endpoint: quic(2, Some(server_config.into())),
        connection: None,
        flow: flow.reversed(),
        remote: addresses[1],
        start,
        app: |_, connection: &mut Connection| {
            writer.write(connection);
            rtt.add(connection.rtt().into());
        },
    };
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
        rtt,
    }
}
// ANCHOR_END: download

/// Writes 10 MB into a stream.
#[derive(Default)]
struct Writer {
    stream: Option<StreamId>,
    written: usize,
}

const BYTES: usize = 10_000_000;

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

impl Reader {
    fn read(&mut self, now: StdInstant, connection: &mut Connection) {
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
