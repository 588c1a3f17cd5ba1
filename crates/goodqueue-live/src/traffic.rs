//! Traffic over the kernel's own sockets: what `compare --live` sends through the bottleneck.
//!
//! Each flow has a port of its own at the server, by which the bottleneck tells flows apart, and a thread at each end. All
//! share one clock, so that delays one way can be taken.

mod tcp;
mod web;

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration as SystemDuration;

use goodqueue::{Duration, Instant};
use nix::sys::socket::{Backlog, SockaddrIn, setsockopt, sockopt};

use crate::clock::Clock;
use crate::error::LiveError;
use crate::namespace::Network;
use crate::observer::Direction;

pub use self::tcp::{TcpOptions, available_congestion_controls};
use self::tcp::{tcp_info, tcp_socket};
pub use self::web::Page;

/// One flow.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// What it does.
    pub kind: FlowKind,
    /// When it begins.
    pub start: Instant,
    /// When it ends.
    pub stop: Instant,
    /// Its round-trip time when nothing queues.
    pub rtt: Duration,
}

/// What a flow does.
#[derive(Clone, Debug)]
pub enum FlowKind {
    /// One TCP connection.
    Bulk {
        /// Where the data goes.
        direction: Direction,
        /// Bytes; `None`: without end.
        size: Option<u64>,
        /// Its TCP.
        tcp: TcpOptions,
    },
    /// Requests from the client that are answered at once.
    Ping {
        /// Time between requests.
        interval: Duration,
        /// Bytes of the IP packet.
        bytes: u32,
    },
    /// Datagrams at a fixed interval.
    Datagrams {
        /// Where they go.
        direction: Direction,
        /// Time between them.
        interval: Duration,
        /// Bytes of the IP packet.
        bytes: u32,
        /// They are ECN-capable, ECT(0).
        ecn: bool,
    },
    /// One transfer after the other.
    Transfers {
        /// Where the data goes: `Down` fetches, `Up` sends.
        direction: Direction,
        /// Bytes of each, and the time to wait after it.
        pieces: Vec<(u64, Duration)>,
        /// Bytes of the request that a fetch sends first.
        request: u64,
        /// All use one connection.
        persistent: bool,
        /// Their TCP.
        tcp: TcpOptions,
    },
    /// A browser that fetches a page again and again.
    Web {
        /// Where the answers go: `Down` to a browser at the client's side, `Up` to one at the server's.
        direction: Direction,
        /// The page.
        page: Page,
        /// The connections' TCP.
        tcp: TcpOptions,
    },
}

/// What a flow has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlowTally {
    /// Payload that its receiver got, in bytes.
    pub delivered: u64,
    /// Packets with data sent, retransmissions included.
    pub sent: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts; 0 where the kernel does not tell (before Linux 6.7).
    pub timeouts: u64,
    /// When the last byte was acknowledged.
    pub completed_at: Option<Instant>,
}

/// One packet, request or piece: when it was sent, and how long it took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// When it was sent.
    pub sent_at: Instant,
    /// How long it took; `None`: it has not come.
    pub took: Option<Duration>,
    /// Its payload.
    pub bytes: u64,
}

/// A flow that runs.
#[derive(Debug)]
pub struct Flow {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    over: AtomicBool,
    delivered: AtomicU64,
    sent: AtomicU64,
    /// Nanoseconds, and 1 more; 0 if it is not complete.
    completed: AtomicU64,
    /// Sockets whose counters the kernel keeps: those that send data now, and the sums of those that are closed.
    senders: Mutex<Senders>,
    samples: Mutex<Vec<Sample>>,
    trouble: Mutex<Option<String>>,
}

#[derive(Debug, Default)]
struct Senders {
    open: Vec<Arc<TcpStream>>,
    closed: FlowTally,
}

impl Flow {
    /// Starts the threads of flow number `number` between the client's address and the server's. They say at `ready` that they are there, or why they are not.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        number: u16,
        spec: &FlowSpec,
        clock: Clock,
        networks: &Arc<[Network; 2]>,
        addresses: [Ipv4Addr; 2],
        ready: &Sender<Result<(), LiveError>>,
    ) -> Result<Self, LiveError> {
        let shared = Arc::new(Shared::default());
        let serves = match spec.kind {
            FlowKind::Web { direction: Direction::Up, .. } => CLIENT,
            _ => SERVER,
        };
        let end = |side: usize| End {
            spec: spec.clone(),
            clock,
            shared: Arc::clone(&shared),
            address: SocketAddrV4::new(addresses[serves], port(number)),
            serves: side == serves,
            networks: Arc::clone(networks),
            side,
            ready: ready.clone(),
        };
        for side in [SERVER, CLIENT] {
            let end = end(side);
            std::thread::Builder::new()
                .name(format!("flow {number}"))
                .stack_size(STACK)
                .spawn(move || end.run())
                .map_err(|error| LiveError::system("a thread for a flow cannot be started", error))?;
        }
        Ok(Self { shared })
    }

    /// What it has done so far.
    #[must_use]
    pub fn tally(&self) -> FlowTally {
        let shared = &self.shared;
        let completed = shared.completed.load(Ordering::SeqCst);
        let senders = lock(&shared.senders);
        let mut tally = senders.closed;
        for sender in &senders.open {
            add(&mut tally, &tcp_info(sender.as_fd()));
        }
        FlowTally {
            delivered: shared.delivered.load(Ordering::SeqCst),
            sent: tally.sent + shared.sent.load(Ordering::SeqCst),
            completed_at: completed.checked_sub(1).map(Instant::from_nanos),
            ..tally
        }
    }

    /// Payload that its receiver got.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.shared.delivered.load(Ordering::SeqCst)
    }

    /// What it measured, packet by packet or piece by piece.
    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        lock(&self.shared.samples).clone()
    }

    /// Why it could not do what it should have, if so.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        lock(&self.shared.trouble).clone()
    }

    /// Ends it, soon.
    pub fn stop(&self) {
        self.shared.over.store(true, Ordering::SeqCst);
    }
}

/// The port of flow number `number` at the server.
#[must_use]
pub const fn port(number: u16) -> u16 {
    FIRST_PORT.saturating_add(number)
}

/// The number of the flow whose packets have these ports, of `count` flows.
#[must_use]
pub fn flow_of(ports: (u16, u16), count: usize) -> Option<usize> {
    [ports.1, ports.0]
        .into_iter()
        .filter_map(|port| port.checked_sub(FIRST_PORT))
        .map(usize::from)
        .find(|&number| number < count)
}

/// One end of a flow.
struct End {
    spec: FlowSpec,
    clock: Clock,
    shared: Arc<Shared>,
    address: SocketAddrV4,
    networks: Arc<[Network; 2]>,
    side: usize,
    /// It is the end to which the other one connects.
    serves: bool,
    ready: Sender<Result<(), LiveError>>,
}

impl End {
    fn run(self) {
        if let Err(error) = self.networks[self.side].enter() {
            let _ = self.ready.send(Err(error));
            return;
        }
        let outcome = match (self.side, &self.spec.kind) {
            (SERVER, FlowKind::Bulk { direction, size, tcp }) => self.listen(tcp).and_then(|listener| {
                let Some(stream) = self.accept(&listener)? else { return Ok(()) };
                self.bulk(stream, *direction == Direction::Down, *size)
            }),
            (_, FlowKind::Bulk { direction, size, tcp }) => self.connect(tcp).and_then(|stream| {
                let Some(stream) = stream else { return Ok(()) };
                self.bulk(stream, *direction == Direction::Up, *size)
            }),
            (SERVER, FlowKind::Ping { .. }) => self.answer_pings(),
            (_, FlowKind::Ping { interval, bytes }) => self.ping(*interval, *bytes),
            (side, FlowKind::Datagrams { direction, interval, bytes, ecn }) => {
                let sends = (*direction == Direction::Down) == (side == SERVER);
                self.datagrams(sends, *interval, *bytes, *ecn)
            }
            (SERVER, FlowKind::Transfers { tcp, .. }) => self.serve_transfers(tcp),
            (_, FlowKind::Transfers { direction, pieces, request, persistent, tcp }) => {
                self.transfer(*direction, pieces, *request, *persistent, tcp)
            }
            (_, FlowKind::Web { tcp, .. }) if self.serves => self.serve_pages(tcp),
            (_, FlowKind::Web { page, tcp, .. }) => self.browse(page, tcp),
        };
        if let Err(error) = outcome
            && !self.is_over()
        {
            *lock(&self.shared.trouble) = Some(error.to_string());
            let _ = self.ready.send(Err(LiveError::system("a flow cannot be set up", error)));
        }
    }

    fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::SeqCst) || self.clock.now() >= self.spec.stop
    }

    fn tell_ready(&self) {
        let _ = self.ready.send(Ok(()));
    }

    /// Waits until `at`; false if the flow is over before.
    fn wait_until(&self, at: Instant) -> bool {
        loop {
            if self.is_over() {
                return false;
            }
            let now = self.clock.now();
            if now == Instant::ZERO {
                // The run has not begun.
                std::thread::sleep(SystemDuration::from_micros(500));
                continue;
            }
            let left = at.since(now);
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(SystemDuration::from_nanos(left.as_nanos()).min(PATIENCE));
        }
    }

    fn listen(&self, tcp: &TcpOptions) -> io::Result<TcpListener> {
        let socket = tcp_socket(tcp)?;
        nix::sys::socket::bind(socket.as_raw_fd(), &SockaddrIn::from(self.address))?;
        nix::sys::socket::listen(&socket, Backlog::new(16)?)?;
        let listener = TcpListener::from(socket);
        listener.set_nonblocking(true)?;
        self.tell_ready();
        Ok(listener)
    }

    fn accept(&self, listener: &TcpListener) -> io::Result<Option<TcpStream>> {
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    return Ok(Some(stream));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.is_over() {
                        return Ok(None);
                    }
                    // Whoever connects waits for the round trip anyway.
                    std::thread::sleep(SystemDuration::from_millis(1));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The client's connection, at the flow's start.
    fn connect(&self, tcp: &TcpOptions) -> io::Result<Option<TcpStream>> {
        self.tell_ready();
        if !self.wait_until(self.spec.start) {
            return Ok(None);
        }
        self.open(tcp).map(Some)
    }

    fn open(&self, tcp: &TcpOptions) -> io::Result<TcpStream> {
        let socket = tcp_socket(tcp)?;
        nix::sys::socket::connect(socket.as_raw_fd(), &SockaddrIn::from(self.address))?;
        Ok(TcpStream::from(socket))
    }

    fn bulk(&self, stream: TcpStream, sends: bool, size: Option<u64>) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let stream = Arc::new(stream);
        if !sends {
            return self.receive(&stream);
        }
        let begun = self.clock.now();
        lock(&self.shared.senders).open.push(Arc::clone(&stream));
        let block = [0; BLOCK];
        let mut left = size.unwrap_or(u64::MAX);
        while left > 0 && !self.is_over() {
            let most = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
            match (&*stream).write(&block[..most]) {
                Ok(written) => left -= written as u64,
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if left == 0 {
            stream.shutdown(std::net::Shutdown::Write)?;
            // The other end closes when it has everything.
            while !self.is_over() {
                match (&*stream).read(&mut [0; 16]) {
                    Ok(0) => {
                        let now = self.clock.now();
                        self.shared.completed.store(now.as_nanos() + 1, Ordering::SeqCst);
                        let bytes = size.unwrap_or(0);
                        self.sample(begun, Some(now.since(begun)), bytes);
                        break;
                    }
                    Ok(_) => {}
                    Err(error) if is_pause(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        self.linger();
        Ok(())
    }

    fn receive(&self, stream: &TcpStream) -> io::Result<()> {
        let mut block = vec![0; BLOCK];
        while !self.is_over() {
            match (&*stream).read(&mut block) {
                Ok(0) => return Ok(()),
                Ok(length) => {
                    self.shared.delivered.fetch_add(length as u64, Ordering::SeqCst);
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        self.linger();
        Ok(())
    }

    /// A connection that closes with data unread resets the other; what it counts is read until the very end.
    fn linger(&self) {
        while !self.shared.over.load(Ordering::SeqCst) && self.clock.now() < self.spec.stop {
            std::thread::sleep(PATIENCE);
        }
    }

    fn sample(&self, sent_at: Instant, took: Option<Duration>, bytes: u64) {
        lock(&self.shared.samples).push(Sample { sent_at, took, bytes });
    }

    fn answer_pings(&self) -> io::Result<()> {
        let socket = UdpSocket::bind(self.address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        self.tell_ready();
        let mut datagram = vec![0; LARGEST_DATAGRAM];
        while !self.is_over() {
            match socket.recv_from(&mut datagram) {
                Ok((length, from)) => {
                    // A full socket buffer loses an answer, as a network may.
                    let _ = socket.send_to(&datagram[..length], from);
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn ping(&self, interval: Duration, bytes: u32) -> io::Result<()> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect(self.address)?;
        self.tell_ready();
        if !self.wait_until(self.spec.start) {
            return Ok(());
        }
        let mut datagram = vec![0; payload(bytes)];
        let mut answer = vec![0; LARGEST_DATAGRAM];
        let mut next = self.clock.now();
        for number in 0_u64.. {
            if self.is_over() {
                break;
            }
            datagram[..8].copy_from_slice(&number.to_be_bytes());
            let now = self.clock.now();
            self.shared.sent.fetch_add(1, Ordering::SeqCst);
            self.sample(now, None, datagram.len() as u64);
            let _ = socket.send(&datagram);
            next += interval.max(Duration::from_micros(1));
            loop {
                let left = next.since(self.clock.now());
                if left.is_zero() || self.is_over() {
                    break;
                }
                socket.set_read_timeout(Some(SystemDuration::from_nanos(left.as_nanos()).min(PATIENCE)))?;
                match socket.recv(&mut answer) {
                    Ok(length) => self.answered(answer.get(..length).unwrap_or_default()),
                    Err(error) if is_pause(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    fn answered(&self, answer: &[u8]) {
        let now = self.clock.now();
        let Some(number) = first_number(answer).and_then(|number| usize::try_from(number).ok()) else {
            return;
        };
        self.shared.delivered.fetch_add(answer.len() as u64, Ordering::SeqCst);
        if let Some(sample) = lock(&self.shared.samples).get_mut(number) {
            sample.took.get_or_insert(now.since(sample.sent_at));
        }
    }

    fn datagrams(&self, sends: bool, interval: Duration, bytes: u32, ecn: bool) -> io::Result<()> {
        // The client tells the server once where it is.
        let socket = if self.side == SERVER {
            UdpSocket::bind(self.address)?
        } else {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            socket.connect(self.address)?;
            socket
        };
        socket.set_read_timeout(Some(PATIENCE))?;
        self.tell_ready();
        let mut block = vec![0; LARGEST_DATAGRAM];
        if self.side == SERVER && sends {
            while !self.is_over() {
                match socket.recv_from(&mut block) {
                    Ok((_, from)) => {
                        socket.connect(from)?;
                        break;
                    }
                    Err(error) if is_pause(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        if self.side == CLIENT && !sends {
            socket.send(&[])?;
        }
        if !sends {
            return self.receive_datagrams(&socket, &mut block);
        }
        if ecn {
            setsockopt(&socket, sockopt::Ipv4Tos, &2)?;
        }
        let datagram = &mut block[..payload(bytes)];
        let mut next = self.spec.start;
        for number in 0_u64.. {
            if !self.wait_until(next) {
                break;
            }
            let now = self.clock.now();
            datagram[..8].copy_from_slice(&number.to_be_bytes());
            self.sample(now, None, datagram.len() as u64);
            self.shared.sent.fetch_add(1, Ordering::SeqCst);
            let _ = socket.send(datagram);
            next += interval.max(Duration::from_micros(1));
        }
        Ok(())
    }

    fn receive_datagrams(&self, socket: &UdpSocket, block: &mut [u8]) -> io::Result<()> {
        while !self.is_over() {
            match socket.recv(block) {
                Ok(0) => {}
                Ok(length) => self.answered(block.get(..length).unwrap_or_default()),
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Requests: one byte `d` or `u` and eight of the size; a fetch is answered by so many bytes, what is sent by one byte
    /// when all of it is there.
    fn serve_transfers(&self, tcp: &TcpOptions) -> io::Result<()> {
        let listener = self.listen(tcp)?;
        while let Some(stream) = self.accept(&listener)? {
            stream.set_read_timeout(Some(PATIENCE))?;
            let stream = Arc::new(stream);
            lock(&self.shared.senders).open.push(Arc::clone(&stream));
            // A client that goes away ends its connection, no more.
            let _ = self.serve_one(&stream);
            self.retire(&stream);
        }
        Ok(())
    }

    fn serve_one(&self, stream: &TcpStream) -> io::Result<()> {
        let Some(request) = web::request_of(&self.spec.kind) else { return Ok(()) };
        let block = [0; BLOCK];
        let mut head = vec![0; request_length(request)];
        loop {
            if !self.read_all(stream, &mut head, 0)? {
                return Ok(());
            }
            let size = head.get(1..).and_then(first_number).unwrap_or(0);
            if head.first() == Some(&b'd') {
                let mut left = size;
                while left > 0 {
                    let most = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
                    left -= (&*stream).write(&block[..most])? as u64;
                }
            } else {
                self.take_bytes(stream, size)?;
                (&*stream).write_all(&[1])?;
            }
        }
    }

    fn transfer(
        &self,
        direction: Direction,
        pieces: &[(u64, Duration)],
        request: u64,
        persistent: bool,
        tcp: &TcpOptions,
    ) -> io::Result<()> {
        self.tell_ready();
        if !self.wait_until(self.spec.start) {
            return Ok(());
        }
        let block = [0; BLOCK];
        let mut connection: Option<Arc<TcpStream>> = None;
        for &(size, think) in pieces {
            let begun = self.clock.now();
            let index = {
                let mut samples = lock(&self.shared.samples);
                samples.push(Sample { sent_at: begun, took: None, bytes: size });
                samples.len() - 1
            };
            let stream = match connection.take() {
                Some(stream) => stream,
                None => {
                    let stream = Arc::new(self.open(tcp)?);
                    stream.set_read_timeout(Some(PATIENCE))?;
                    lock(&self.shared.senders).open.push(Arc::clone(&stream));
                    stream
                }
            };
            let mut head = vec![0; request_length(request)];
            head[0] = if direction == Direction::Down { b'd' } else { b'u' };
            head[1..9].copy_from_slice(&size.to_be_bytes());
            (&*stream).write_all(&head)?;
            let complete = if direction == Direction::Down {
                self.take_bytes(&stream, size)?
            } else {
                let mut left = size;
                while left > 0 {
                    let most = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
                    left -= (&*stream).write(&block[..most])? as u64;
                }
                self.read_all(&stream, &mut [0], 0)?
            };
            if !complete {
                return Ok(());
            }
            if let Some(sample) = lock(&self.shared.samples).get_mut(index) {
                sample.took = Some(self.clock.now().since(begun));
            }
            if persistent {
                connection = Some(stream);
            } else {
                self.retire(&stream);
            }
            let now = self.clock.now();
            if !self.wait_until(now + think) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads and counts `size` bytes; false if the flow is over before.
    fn take_bytes(&self, stream: &TcpStream, size: u64) -> io::Result<bool> {
        let mut block = vec![0; BLOCK];
        let mut left = size;
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
            let part = block.get_mut(..most).unwrap_or_default();
            match (&*stream).read(part) {
                Ok(0) => return Ok(false),
                Ok(length) => {
                    self.shared.delivered.fetch_add(length as u64, Ordering::SeqCst);
                    left -= length as u64;
                }
                Err(error) if is_pause(&error) && !self.is_over() => {}
                Err(error) if is_pause(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn read_all(&self, stream: &TcpStream, into: &mut [u8], mut at: usize) -> io::Result<bool> {
        while at < into.len() {
            match (&*stream).read(&mut into[at..]) {
                Ok(0) => return Ok(false),
                Ok(length) => at += length,
                Err(error) if is_pause(&error) && !self.is_over() => {}
                Err(error) if is_pause(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Keeps what a connection has counted and closes it.
    fn retire(&self, stream: &Arc<TcpStream>) {
        let mut senders = lock(&self.shared.senders);
        add(&mut senders.closed, &tcp_info(stream.as_fd()));
        senders.open.retain(|open| !Arc::ptr_eq(open, stream));
    }
}

fn add(to: &mut FlowTally, more: &FlowTally) {
    to.sent += more.sent;
    to.retransmits += more.retransmits;
    to.timeouts += more.timeouts;
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn first_number(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|number| u64::from_be_bytes(*number))
}

/// What a datagram carries if its IP packet has `bytes`, at least a number.
fn payload(bytes: u32) -> usize {
    usize::try_from(bytes).unwrap_or(0).saturating_sub(UDP_HEADERS).clamp(8, LARGEST_DATAGRAM)
}

fn request_length(request: u64) -> usize {
    usize::try_from(request).unwrap_or(0).clamp(9, 1 << 20)
}

/// Whatever a thread that panicked left is still good to count.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const CLIENT: usize = 0;
const SERVER: usize = 1;
/// Above the ports that are given out to those who ask for none (`ip_local_port_range` ends at 60999).
const FIRST_PORT: u16 = 61_000;
/// More flows than this have no ports.
pub const MOST_FLOWS: usize = 4096;
const BLOCK: usize = 16 << 10;
const STACK: usize = 256 << 10;
const LARGEST_DATAGRAM: usize = 65_507;
/// IPv4 and UDP without options.
const UDP_HEADERS: usize = 28;
/// How often a thread looks whether it is over.
const PATIENCE: SystemDuration = SystemDuration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_known_by_the_server_s_port_whichever_way_a_packet_goes() {
        assert_eq!(flow_of((port(3), 40_000), 4), Some(3));
        assert_eq!(flow_of((40_000, port(0)), 4), Some(0));
        assert_eq!(flow_of((40_000, port(4)), 4), None);
        assert_eq!(flow_of((0, 0), 4), None);
    }

    #[test]
    fn the_kernel_counts_what_a_connection_sends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        (&client).write_all(&[0; 1000]).unwrap();
        server.read_exact(&mut [0; 1000]).unwrap();
        let tally = tcp_info(client.as_fd());
        assert_eq!((tally.sent, tally.retransmits, tally.timeouts), (1, 0, 0));
        assert_eq!(tcp_info(server.as_fd()).sent, 0);
    }
}
