//! A download with smoltcp over a line, in virtual time.

use std::collections::VecDeque;

use goodqueue::{Datagram, Duration, Ecn, FlowKey, Instant};
use goodqueue_link::{Duplex, Lab, Peer, Units};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{self, CongestionControl};
use smoltcp::time::Instant as Micros;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, Ipv4Address};

// The adaptor begins here.
/// One end of a line as a device.
#[derive(Default)]
struct End {
    received: VecDeque<Vec<u8>>,
    to_send: VecDeque<Vec<u8>>,
}

struct Received(Vec<u8>);
struct ToSend<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for ToSend<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut packet = vec![0; length];
        let result = write(&mut packet);
        self.0.push_back(packet);
        result
    }
}

impl Device for End {
    type RxToken<'a> = Received;
    type TxToken<'a> = ToSend<'a>;

    fn receive(&mut self, _: Micros) -> Option<(Received, ToSend<'_>)> {
        Some((Received(self.received.pop_front()?), ToSend(&mut self.to_send)))
    }

    fn transmit(&mut self, _: Micros) -> Option<ToSend<'_>> {
        Some(ToSend(&mut self.to_send))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = 1500;
        capabilities
    }
}
// The adaptor ends here.

/// A host with one connection, and the program that uses it.
struct Host<A> {
    end: End,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    flow: FlowKey,
    app: A,
}

impl<A: FnMut(&mut tcp::Socket<'static>)> Host<A> {
    fn new(
        own: u8,
        flow: FlowKey,
        open: impl FnOnce(&mut tcp::Socket<'static>, &mut Interface),
        app: A,
    ) -> Self {
        let mut end = End::default();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = u64::from(own);
        let mut interface = Interface::new(config, &mut end, Micros::ZERO);
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(IpAddress::v4(10, 0, 0, own), 24)).expect("room for an address");
        });
        let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER]);
        let mut socket = tcp::Socket::new(buffer(), buffer());
        socket.set_congestion_control(CongestionControl::Cubic);
        open(&mut socket, &mut interface);
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        Self { end, interface, sockets, socket, flow, app }
    }
}

impl<A: FnMut(&mut tcp::Socket<'static>)> Peer<Datagram<Vec<u8>>> for Host<A> {
    fn receive(&mut self, _: Instant, packet: Datagram<Vec<u8>>) {
        self.end.received.push_back(packet.content);
    }

    fn transmit(&mut self, now: Instant) -> Option<Datagram<Vec<u8>>> {
        if self.end.to_send.is_empty() {
            let now = in_micros(now);
            self.interface.poll(now, &mut self.end, &mut self.sockets);
            (self.app)(self.sockets.get_mut(self.socket));
            self.interface.poll(now, &mut self.end, &mut self.sockets);
        }
        let content = self.end.to_send.pop_front()?;
        let length = u32::try_from(content.len()).expect("a packet") + ETHERNET;
        Some(Datagram { ecn: Ecn::from_bits(content[1]), ..Datagram::new(self.flow, length, content) })
    }

    fn next_timeout(&mut self) -> Option<Instant> {
        let at = self.interface.poll_at(Micros::ZERO, &self.sockets)?;
        Some(Instant::ZERO + Duration::from_micros(u64::try_from(at.total_micros()).unwrap_or(0)))
    }
}

fn in_micros(now: Instant) -> Micros {
    // A timer that is due in this microsecond is due.
    Micros::from_micros(i64::try_from(now.as_nanos().div_ceil(1000)).expect("a time of a test"))
}

/// Downloads 4 MB. Returns the time, and the median of the time in the queue.
fn download(line: &str) -> [Duration; 2] {
    let addresses = [([10, 0, 0, 1], 80).into(), ([10, 0, 0, 2], 50_000).into()];
    let flow = FlowKey::new(addresses[1], addresses[0], FlowKey::TCP);
    let mut received = 0;
    let mut sent = 0;
    let server = Host::new(
        1,
        flow.reversed(),
        |socket, _| socket.listen(80).expect("a free port"),
        |socket| {
            while sent < BYTES && socket.can_send() {
                sent += socket.send_slice(&[7; 1000][..1000.min(BYTES - sent)]).expect("open");
            }
        },
    );
    let client = Host::new(
        2,
        flow,
        |socket, interface| {
            let server = (IpAddress::from(Ipv4Address::new(10, 0, 0, 1)), 80);
            socket.connect(interface.context(), server, 50_000).expect("a connection");
        },
        |socket: &mut tcp::Socket<'static>| {
            while socket.can_recv() {
                received += socket.recv(|bytes| (bytes.len(), bytes.len())).expect("open");
            }
            if received == BYTES {
                socket.close();
            }
        },
    );
    let mut lab = Lab::new(Duplex::from_text(line, 7).expect("valid"), client, server);
    let is_done = lab.run(Instant::ZERO + 60.s(), |lab| {
        !lab.client.sockets.get::<tcp::Socket<'_>>(lab.client.socket).may_send()
            && lab.line.down.stats().arrived.bytes > BYTES as u64
    });
    assert!(is_done, "the download did not end within a minute");
    [lab.now().since(Instant::ZERO), lab.line.down.stats().sojourn.p50()]
}

#[test]
fn a_download_fills_a_large_buffer_and_leaves_the_queue_of_fq_codel_short() {
    let [_, bloated] = download("20mbit delay 25ms [bfifo limit 1mb]");
    assert!(bloated > 80.ms(), "{bloated}");
    let [took, managed] = download("20mbit delay 25ms [fq_codel]");
    assert!(managed < 30.ms(), "{managed}");
    assert!(took < 10.s(), "the line is used: {took}");
    assert_eq!(download("20mbit delay 25ms [fq_codel]"), [took, managed], "a repetition is the same");
}

const BYTES: usize = 4_000_000;
const BUFFER: usize = 1_000_000;
const ETHERNET: u32 = 14;
