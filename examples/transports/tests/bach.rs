//! A download and pings between sockets of bach, over a line in bach's virtual time.

use std::io::{IoSlice, IoSliceMut};
use std::time::Duration as StdDuration;

use bach::environment::default::Runtime;
use bach::environment::net::ip::{Packet, Segments};
use bach::environment::net::queue::{Allocator, Dispatch, Fixed, PacketQueue};
use bach::environment::net::{monitor, pcap};
use bach::ext::{GroupExt as _, QueueExt as _, SharedExt as _, SpawnExt as _};
use bach::group::Group;
use bach::net::socket::{RecvOptions, SendOptions};
use bach::net::{SocketAddr, UdpSocket};
use bach::queue::vec_deque;
use bach::sync::channel::{Receiver, Sender};
use bach::time::{Instant as Time, timeout, timeout_at};
use goodqueue::{Datagram, Duration, Ecn, FlowKey, Instant};
use goodqueue_link::quantiles::Quantiles;
use goodqueue_link::{Duplex, Link, Units, ethernet};

// The adaptor begins here.
/// A line in place of bach's network. bach's pcap files and monitors see a packet when it arrives,
/// and not when it is sent.
struct Network {
    /// The group whose sockets are at the server's end of the line. All others are at the client's.
    server: &'static str,
    line: Option<Duplex<Datagram<Packet>>>,
    /// Into the line from its client's end, and from its server's.
    senders: Vec<Sender<Segments>>,
}

impl Allocator for Network {
    fn for_udp(
        &mut self,
        group: &Group,
        address: SocketAddr,
        dispatch: &Dispatch,
        monitors: &monitor::List,
        pcaps: &mut pcap::Registry,
    ) -> PacketQueue {
        // Channels and tasks need the runtime, which runs once there is a socket.
        for link in self.line.take().into_iter().flat_map(|line| [line.up, line.down]) {
            let (sender, receiver) = vec_deque::Queue::default().mutex().channel();
            carry(link, receiver, dispatch.clone()).spawn_named("line");
            self.senders.push(sender);
        }
        let local_sender = self.senders[usize::from(group.name() == self.server)].clone();
        PacketQueue { local_sender, ..Fixed::default().for_udp(group, address, dispatch, monitors, pcaps) }
    }
}

/// Carries packets from the sockets at one end of a link to those at the other.
async fn carry(mut link: Link<Datagram<Packet>>, mut sockets: Receiver<Segments>, dispatch: Dispatch) {
    let now = || Instant::ZERO + Duration::from(Time::now().elapsed_since_start());
    while !sockets.is_closed() {
        let next = link.next_event().map_or(Duration::from_secs(3600), |at| at.since(now()));
        for packet in timeout(next.into(), sockets.recv()).await.into_iter().flatten().flatten() {
            let key = FlowKey::new(packet.source(), packet.destination(), FlowKey::UDP);
            let ecn = Ecn::from_bits(packet.header.ecn());
            let length = ethernet::datagram(key, packet.transport.payload()).bytes;
            link.send(now(), Datagram { ecn, ..Datagram::new(key, length, packet) });
        }
        while let Some(event) = link.poll(now()) {
            let Some(Datagram { ecn, mut content, .. }) = event.arrived() else { continue };
            content.header.set_ecn(ecn.bits());
            dispatch.send(content).await;
        }
    }
}
// The adaptor ends here.

/// Returns every datagram to its sender.
async fn echo() {
    let socket = UdpSocket::bind("0.0.0.0:7").await.expect("a free port");
    let mut buffer = [0; 1500];
    loop {
        let (length, client) = socket.recv_from(&mut buffer).await.expect("a datagram");
        socket.send_to(&buffer[..length], client).await.expect("sent");
    }
}

/// Sends to the first client without an end, with the congestion control of Reno.
async fn serve() {
    let socket = UdpSocket::bind("0.0.0.0:443").await.expect("a free port");
    let mut report = [0; REPORT];
    let (_, client) = socket.recv_from(&mut report).await.expect("a request");
    let mut window = 10.0;
    let mut threshold = f64::INFINITY;
    let mut sent = 0_u32;
    let mut acknowledged = 0;
    // A window is reduced once for the packets in flight.
    let mut reduced_at = 0;
    let mut options = SendOptions::default();
    options.ecn = Ecn::Ect0.bits();
    options.segment_len = Some(SEGMENT);
    loop {
        let count = (window as u32).saturating_sub(sent - acknowledged);
        if count > 0 {
            let mut segments = vec![0; count as usize * SEGMENT];
            for segment in segments.chunks_mut(SEGMENT) {
                segment[..4].copy_from_slice(&sent.to_be_bytes());
                sent += 1;
            }
            socket.send_msg(client, &[IoSlice::new(&segments)], options).await.expect("sent");
        }
        socket.recv(&mut report).await.expect("a report");
        let [number @ .., ecn] = report;
        let number = u32::from_be_bytes(number);
        // The line keeps the order of a flow, so all packets before this one arrived or were lost.
        let is_congested = number > acknowledged || Ecn::from_bits(ecn) == Ecn::Ce;
        acknowledged = number + 1;
        if !is_congested {
            window += if window < threshold { 1.0 } else { 1.0 / window };
        } else if number >= reduced_at {
            window = f64::max(window / 2.0, 2.0);
            threshold = window;
            reduced_at = sent;
        }
    }
}

/// Takes packets and reports each one. Returns the number of packets and that of marks.
async fn download() -> [u32; 2] {
    let socket = UdpSocket::bind("0.0.0.0:0").await.expect("a free port");
    socket.connect("server:443").await.expect("the server's name");
    socket.send(b"send").await.expect("sent");
    let mut packets = 0;
    let mut marked = 0;
    let mut buffer = [0; 1500];
    while Time::now().elapsed_since_start() < TIME {
        let mut chunks = [IoSliceMut::new(&mut buffer)];
        let received = socket.recv_msg(&mut chunks, RecvOptions::default()).await.expect("a packet");
        assert_eq!(received.len, SEGMENT, "the network takes the segments of a call apart");
        packets += 1;
        marked += u32::from(Ecn::from_bits(received.ecn) == Ecn::Ce);
        let mut report = [received.ecn; REPORT];
        report[..4].copy_from_slice(&buffer[..4]);
        socket.send(&report).await.expect("sent");
    }
    [packets, marked]
}

/// Sends a ping every 50 ms. Returns the round-trip times.
async fn ping() -> Quantiles {
    let socket = UdpSocket::bind("0.0.0.0:0").await.expect("a free port");
    socket.connect("server:7").await.expect("the server's name");
    let mut rtt = Quantiles::default();
    let mut times = Vec::new();
    let mut number = [0; 4];
    while Time::now().elapsed_since_start() < TIME {
        let next = Time::now() + INTERVAL;
        socket.send(&(times.len() as u32).to_be_bytes()).await.expect("sent");
        times.push(Time::now());
        while timeout_at(next, socket.recv(&mut number)).await.is_ok() {
            rtt.add(times[u32::from_be_bytes(number) as usize].elapsed().into());
        }
    }
    rtt
}

#[derive(Debug, PartialEq)]
struct Outcome {
    /// Round-trip times of pings beside the download.
    rtt: Quantiles,
    packets: u32,
    marked: u32,
}

/// Downloads over `line` and sends pings at the same time.
fn run(line: &str) -> Outcome {
    let line = Duplex::from_text(line, 7).unwrap_or_else(|error| panic!("{error}"));
    let network = Network { server: "server", line: Some(line), senders: Vec::new() };
    let mut runtime = Runtime::new().with_net_queues(Some(Box::new(network)));
    runtime.block_on(async {
        echo().group("server").spawn();
        serve().group("server").spawn();
        let ping = ping().group("client").spawn();
        let [packets, marked] = download().group("client").await;
        Outcome { rtt: ping.await.expect("not aborted"), packets, marked }
    })
}

#[test]
fn pings_beside_a_download_are_fast_behind_fq_codel_and_slow_behind_a_large_buffer() {
    let bloated = run("10mbit/2mbit delay 25ms [bfifo limit 1mb]");
    assert!(bloated.rtt.p50() > 300.ms(), "{bloated:?}");
    // 10 Mbit/s are 10,064 packets of 1242 bytes, with their headers.
    assert!((9_000..=10_064).contains(&bloated.packets), "the line is full: {bloated:?}");
    let managed = run("10mbit/2mbit delay 25ms [fq_codel ecn]");
    assert!(managed.rtt.p95() < 60.ms(), "{managed:?}");
    assert!(managed.marked > 0, "the receiver sees the marks: {managed:?}");
    assert!(managed.packets > 8_000, "the line is used: {managed:?}");
    assert_eq!(run("10mbit/2mbit delay 25ms [fq_codel ecn]"), managed, "a repetition is the same");
}

/// Bytes of a packet of the download: its number, and zeros.
const SEGMENT: usize = 1200;
/// Bytes of a report: the number of a packet, and its ECN field.
const REPORT: usize = 5;
/// Time between two pings.
const INTERVAL: StdDuration = StdDuration::from_millis(50);
/// Time of a download.
const TIME: StdDuration = StdDuration::from_secs(10);
