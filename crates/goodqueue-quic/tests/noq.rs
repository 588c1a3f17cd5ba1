//! Two experiments that the developers of "media over QUIC" described in words, as tests.
//!
//! 1. moq-dev/moq, pull request 2432: a source of 10 Mbit/s, a line of 5 Mbit/s with a round-trip
//!    time of 100 ms, and a queue of 500 ms. A good congestion control delivers nearly 5 Mbit/s
//!    with a round-trip time near 100 ms; CUBIC is expected near 500 ms.
//! 2. moq-dev/moq, pull request 3820: the same with `fq_codel`, once marking and once dropping.
//!    Does marking keep a shorter queue at the same goodput?

mod adaptor;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Instant as StdInstant;

use bytes::BytesMut;
use goodqueue::{Datagram, Ecn, FlowKey, Instant};
use goodqueue_link::quantiles::Quantiles;
use goodqueue_link::{Duplex, Lab, LinkBuilder, Peer, Units, ethernet};
use goodqueue_quic::clock::Clock;
use goodqueue_quic::noq::{client_config, endpoint_config, server_config};
use noq_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, PathId, StreamId, Transmit,
    TransportConfig,
};

use adaptor::{Program, Quic};

/// Gives a datagram to an endpoint.
fn handle(
    endpoint: &mut Endpoint,
    now: StdInstant,
    remote: SocketAddr,
    ecn: Option<EcnCodepoint>,
    bytes: BytesMut,
) -> Option<DatagramEvent> {
    endpoint.handle(now, remote.into(), ecn, bytes, &mut Vec::new())
}

/// Takes a datagram from a connection.
fn transmit(connection: &mut Connection, now: StdInstant, bytes: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::MIN, bytes)
}

/// A camera: every 10 ms it writes its data and drops what the connection does not take.
struct Camera {
    begin: StdInstant,
    frames: u32,
    stream: Option<StreamId>,
    rtt: Quantiles,
}

/// Bytes of 10 ms at 10 Mbit/s.
const FRAME: usize = 12_500;
const FRAME_TIME: std::time::Duration = std::time::Duration::from_millis(10);

impl Program for Camera {
    fn run(&mut self, now: StdInstant, connection: &mut Connection) {
        if connection.is_handshaking() {
            return;
        }
        if self.stream.is_none() {
            self.stream = connection.streams().open(Dir::Uni);
        }
        let Some(stream) = self.stream else { return };
        while self.begin + FRAME_TIME * self.frames <= now {
            self.frames += 1;
            // A camera does not wait: data that the connection refuses is old soon.
            let _ = connection.send_stream(stream).write(&[0; FRAME]);
        }
        self.rtt.add(connection.rtt(PathId::ZERO).unwrap_or_default().into());
    }
}

/// A viewer, who counts the bytes that arrived in order.
#[derive(Default)]
struct Viewer {
    stream: Option<StreamId>,
    bytes: usize,
}

impl Program for Viewer {
    fn run(&mut self, _: StdInstant, connection: &mut Connection) {
        if self.stream.is_none() {
            self.stream = connection.streams().accept(Dir::Uni);
        }
        let Some(id) = self.stream else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.bytes += chunk.bytes.len();
        }
        // What this call returns matters to an event loop only.
        let _ = chunks.finalize();
    }
}

/// The line as the viewer sees it, after a warm-up.
#[derive(Debug)]
struct Outcome {
    /// Bits per second that arrived in order.
    goodput: u64,
    rtt: Quantiles,
    sojourn: Quantiles,
    marked: u64,
    dropped: u64,
}

/// Shows the camera to the viewer for 30 s, of which the first 10 are the warm-up.
fn watch(line: &str) -> Outcome {
    let builder: LinkBuilder = line.parse().unwrap_or_else(|error| panic!("{error}"));
    let line = Duplex::symmetric(&builder.seed(7)).expect("valid");
    let clock = Clock::new();
    let start = clock.to_std(Instant::ZERO);
    let mut transport = TransportConfig::default();
    transport.enable_segmentation_offload(false);
    let mut server_config = server_config();
    server_config.transport_config(transport.into());
    let addresses = [([192, 0, 2, 1], 443).into(), ([198, 51, 100, 7], 5000).into()];
    let mut endpoint = Endpoint::new(endpoint_config(1).into(), None, true);
    let connection = endpoint.connect(start, client_config(1), addresses[0], "server").ok();
    let flow = FlowKey::new(addresses[1], addresses[0], FlowKey::UDP);
    let viewer = Quic { endpoint, connection, flow, clock, app: Viewer::default() };
    let camera = Quic {
        endpoint: Endpoint::new(endpoint_config(2).into(), Some(server_config.into()), true),
        connection: None,
        flow: flow.reversed(),
        clock,
        app: Camera { begin: start, frames: 0, stream: None, rtt: Quantiles::default() },
    };
    let mut lab = Lab::new(line, viewer, camera);
    run(&mut lab, 10);
    lab.line.down.restart_stats();
    lab.server.app.rtt = Quantiles::default();
    let before = lab.line.down.stats().queue;
    let bytes = lab.client.app.bytes;
    run(&mut lab, 30);
    let stats = lab.line.down.stats();
    Outcome {
        // 30 s less the warm-up of 10.
        goodput: (lab.client.app.bytes - bytes) as u64 * 8 / 20,
        rtt: lab.server.app.rtt.clone(),
        sojourn: stats.sojourn.clone(),
        marked: stats.queue.marked.minus(before.marked).packets,
        dropped: stats.queue.dropped().minus(before.dropped()).packets,
    }
}

fn run(lab: &mut Lab<Datagram<BytesMut>, Quic<Viewer>, Quic<Camera>>, seconds: u64) {
    let ended_early = lab.run(Instant::ZERO + seconds.s(), |_| false);
    assert!(!ended_early);
}

/// 500 ms at 5 Mbit/s.
const DEEP: &str = "5mbit delay 50ms [bfifo limit 312500]";

#[test]
fn cubic_fills_a_queue_of_500_ms_and_fq_codel_keeps_the_round_trip_time_near_100_ms() {
    let deep = watch(DEEP);
    assert!(deep.goodput > 4_500_000, "{deep:?}");
    // The line takes 100 ms and its full queue 500 ms.
    assert!(deep.rtt.p50() > 300.ms() && deep.rtt.max() > 500.ms(), "{deep:?}");

    let managed = watch("5mbit delay 50ms [fq_codel ecn]");
    // A mark comes when the window fills the line, and CUBIC keeps 70 % of it (RFC 9438 §4.6), so
    // it never gets less than that share of the line. A datagram of 1452 bytes, 1494 on the line,
    // has at least 1392 bytes of data.
    assert!(managed.goodput > 5_000_000 * 70 / 100 * 1392 / 1494, "{managed:?}");
    assert!(managed.rtt.p50() < 130.ms(), "{managed:?}");
}

#[test]
fn marking_delivers_as_much_as_dropping_without_a_loss() {
    let marking = watch("5mbit delay 50ms [fq_codel ecn]");
    let dropping = watch("5mbit delay 50ms [fq_codel noecn]");
    assert!(marking.marked > 0 && marking.dropped == 0, "{marking:?}");
    assert!(dropping.marked == 0 && dropping.dropped > 0, "{dropping:?}");
    assert!(marking.sojourn.p50() <= dropping.sojourn.p50() + 5.ms(), "{marking:?} {dropping:?}");
    assert!(marking.goodput.abs_diff(dropping.goodput) < 250_000, "{marking:?} {dropping:?}");
}
