//! The programs inside: clients of the built-in server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

pub(super) fn fetch(size: u64) -> std::io::Result<u64> {
    let stream = TcpStream::connect(("server", 80)).or_else(|_| TcpStream::connect(("198.18.0.2", 80)))?;
    fetch_over(stream, size)
}

/// Fetches over eight connections at once. Uses two addresses at each end, IPv4 and IPv6, or IPv4
/// alone.
pub(super) fn fetch_many(size: u64) {
    let threads: Vec<_> = (0..8)
        .map(|n| if n % 2 == 0 { "198.18.0.2" } else { "2001:2::2" })
        .filter_map(|server| TcpStream::connect((server, 80)).ok())
        .map(|stream| std::thread::spawn(move || fetch_over(stream, size).unwrap()))
        .collect();
    assert!(threads.len() >= 4);
    threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), size));
}

/// Returns a thread that is finished when standard input ends. What a test does meanwhile may then
/// take any time.
pub(super) fn told() -> std::thread::JoinHandle<()> {
    std::thread::spawn(|| {
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
    })
}

fn fetch_over(mut stream: TcpStream, size: u64) -> std::io::Result<u64> {
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    write!(stream, "GET /{size} HTTP/1.1\r\nHost: server\r\n\r\n")?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    std::io::copy(&mut reader.take(size), &mut std::io::sink())
}

/// Sends ECN-capable datagrams and checks that all come back unchanged.
pub(super) fn echo(count: u32) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // ECT(0) (RFC 3168).
    nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::Ipv4Tos, &2).unwrap();
    socket.connect("198.18.0.2:7").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    for number in 0..count {
        let datagram = [number.to_be_bytes(); 250].concat();
        socket.send(&datagram).unwrap();
    }
    let mut buffer = [0; 2000];
    for number in 0..count {
        let length = socket.recv(&mut buffer).unwrap();
        assert_eq!(buffer[..length], [number.to_be_bytes(); 250].concat());
    }
}

/// Sends and receives this number of different bytes at once: none may be changed, lost or doubled.
pub(super) fn echo_stream(count: usize) {
    let stream = TcpStream::connect("198.18.0.2:7").unwrap();
    // The multiplier is 2^64 divided by the golden ratio. The highest byte depends on all bits of
    // the position, so neighbours differ.
    let byte = |at: usize| (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()[0];
    let reader = stream.try_clone().unwrap();
    reader.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let received = std::thread::spawn(move || {
        let mut all = vec![0; count];
        (&reader).read_exact(&mut all).unwrap();
        all
    });
    let sent: Vec<u8> = (0..count).map(byte).collect();
    (&stream).write_all(&sent).unwrap();
    assert!(received.join().unwrap() == sent, "what came back is not what was sent");
}

/// Sends twenty datagrams in one system call (UDP_SEGMENT, as QUIC does) and receives them one by
/// one.
pub(super) fn echo_segments() {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("198.18.0.2:7").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::UdpGsoSegment, &1000).unwrap();
    let all: Vec<u8> = (0..20_u8).flat_map(|number| [number; 1000]).collect();
    // The last datagram is shorter than the others.
    socket.send(&all[..19_500]).unwrap();
    let mut buffer = [0; 2000];
    for number in 0..20_u8 {
        let length = socket.recv(&mut buffer).unwrap();
        assert_eq!(length, if number < 19 { 1000 } else { 500 });
        assert!(buffer[..length].iter().all(|byte| *byte == number));
    }
}

// Of each length from an IPv4 header to 499 bytes one, and a hundred of 1480 bytes.
/// Packets that `garbage` sends.
pub(super) const GARBAGE: u64 = 580;

/// Sends packets with contradictory headers, as root can. The queue of the interface holds 256
/// packets. It is empty after each fetch, because it is first in, first out.
pub(super) fn garbage() {
    use nix::sys::socket::{
        AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket,
    };
    use std::os::fd::AsRawFd;
    let raw = socket(AddressFamily::Inet, SockType::Raw, SockFlag::empty(), SockProtocol::Raw).unwrap();
    let to = SockaddrIn::new(198, 18, 0, 2, 0);
    let mut state = 1_u64;
    for (number, length) in (1..=GARBAGE).zip((20..500).chain([1480; 100])) {
        let mut packet: Vec<u8> = (0..length)
            .map(|_| {
                // Knuth's MMIX generator, whose highest bits are the most random.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                state.to_be_bytes()[0]
            })
            .collect();
        // The kernel needs an address that it can route to. The rest is noise: protocol, fragments,
        // options, lengths.
        packet[16..20].copy_from_slice(&[198, 18, 0, 2]);
        packet[0] = 0x45;
        assert_eq!(sendto(raw.as_raw_fd(), &packet, &to, MsgFlags::empty()), Ok(length));
        if number % 100 == 0 || number == GARBAGE {
            assert_eq!(fetch(10_000).unwrap(), 10_000);
        }
    }
}

/// Sends 3000 datagrams as fast as it can.
pub(super) fn flood(datagram: &[u8]) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("198.18.0.2:9").unwrap();
    for _ in 0..3000 {
        let _ = socket.send(datagram);
    }
}
