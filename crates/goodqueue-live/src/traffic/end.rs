//! One end of a flow: its thread's clock, sockets and counters. Each kind of traffic adds its own
//! methods in its own file.

use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration as SystemDuration;

use goodqueue::{Duration, Instant};
use nix::sys::socket::{Backlog, SockaddrIn};

use super::spec::{FlowSpec, FlowTally, Sample, TcpOptions};
use super::tcp::{tcp_info, tcp_socket};
use crate::clock::Clock;
use crate::error::LiveError;
use crate::namespace::Network;

/// The end at the client, as an index.
pub(super) const CLIENT: usize = 0;
/// The end at the server, as an index.
pub(super) const SERVER: usize = 1;

/// The state that the two ends of a flow share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Set to stop the flow.
    pub(super) over: AtomicBool,
    /// Payload delivered, in bytes.
    pub(super) delivered: AtomicU64,
    /// Packets sent over UDP.
    pub(super) sent: AtomicU64,
    /// Completion time in nanoseconds plus 1; 0 until completion.
    pub(super) completed: AtomicU64,
    /// Address of the client's socket of a flow of datagrams, once the socket exists.
    pub(super) client: OnceLock<SocketAddr>,
    /// TCP connections that send data.
    pub(super) senders: Mutex<Senders>,
    pub(super) samples: Mutex<Vec<Sample>>,
    /// The first error.
    pub(super) trouble: Mutex<Option<String>>,
}

/// TCP connections that send data. The kernel counts their packets.
#[derive(Debug, Default)]
pub(super) struct Senders {
    pub(super) open: Vec<Arc<TcpStream>>,
    /// Sums over the closed connections.
    pub(super) closed: FlowTally,
}

/// One end of a flow.
pub(super) struct End {
    pub(super) spec: FlowSpec,
    pub(super) clock: Clock,
    pub(super) shared: Arc<Shared>,
    /// Address of the end that listens.
    pub(super) address: SocketAddrV4,
    pub(super) networks: Arc<[Network; 2]>,
    /// [`CLIENT`] or [`SERVER`].
    pub(super) side: usize,
    /// True if this end listens and the other one connects.
    pub(super) serves: bool,
    pub(super) ready: Sender<Result<(), LiveError>>,
}

impl End {
    /// True once the flow should end.
    pub(super) fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::SeqCst) || self.clock.now() >= self.spec.stop
    }

    /// Reports that the sockets of this end exist.
    pub(super) fn tell_ready(&self) {
        let _ = self.ready.send(Ok(()));
    }

    /// Waits until `at`. Returns false if the flow ends first.
    pub(super) fn wait_until(&self, at: Instant) -> bool {
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

    pub(super) fn listen(&self, tcp: &TcpOptions) -> io::Result<TcpListener> {
        let socket = tcp_socket(tcp)?;
        nix::sys::socket::bind(socket.as_raw_fd(), &SockaddrIn::from(self.address))?;
        nix::sys::socket::listen(&socket, Backlog::new(16)?)?;
        let listener = TcpListener::from(socket);
        // A thread that waits in `accept` could not see that the flow is over.
        listener.set_nonblocking(true)?;
        self.tell_ready();
        Ok(listener)
    }

    /// Returns the next connection, or `None` if the flow ends first.
    pub(super) fn accept(&self, listener: &TcpListener) -> io::Result<Option<TcpStream>> {
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
                    // The client waits for the round trip anyway.
                    std::thread::sleep(SystemDuration::from_millis(1));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Connects to the other end.
    pub(super) fn open(&self, tcp: &TcpOptions) -> io::Result<TcpStream> {
        let socket = tcp_socket(tcp)?;
        nix::sys::socket::connect(socket.as_raw_fd(), &SockaddrIn::from(self.address))?;
        Ok(TcpStream::from(socket))
    }

    pub(super) fn sample(&self, sent_at: Instant, took: Option<Duration>, bytes: u64) {
        lock(&self.shared.samples).push(Sample { sent_at, took, bytes });
    }

    /// Begins a sample that [`Self::finish_sample`] completes. Returns its index.
    pub(super) fn begin_sample(&self, sent_at: Instant, bytes: u64) -> usize {
        let mut samples = lock(&self.shared.samples);
        samples.push(Sample { sent_at, took: None, bytes });
        samples.len() - 1
    }

    pub(super) fn finish_sample(&self, index: usize, took: Duration) {
        if let Some(sample) = lock(&self.shared.samples).get_mut(index) {
            sample.took = Some(took);
        }
    }

    /// Reads and counts `size` bytes. Returns false if the flow or the connection ends first.
    pub(super) fn take_bytes(&self, stream: &TcpStream, size: u64) -> io::Result<bool> {
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

    /// Fills `into` without counting. Returns false if the flow or the connection ends first.
    pub(super) fn read_all(&self, stream: &TcpStream, into: &mut [u8]) -> io::Result<bool> {
        let mut at = 0;
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

    /// Adds a connection to those whose packets are counted.
    pub(super) fn count(&self, stream: TcpStream) -> Arc<TcpStream> {
        let stream = Arc::new(stream);
        lock(&self.shared.senders).open.push(Arc::clone(&stream));
        stream
    }

    /// Keeps the counters of a connection that is about to be closed.
    pub(super) fn retire(&self, stream: &Arc<TcpStream>) {
        let mut senders = lock(&self.shared.senders);
        senders.closed.add_connection(&tcp_info(stream.as_fd()));
        senders.open.retain(|open| !Arc::ptr_eq(open, stream));
    }
}

/// True of errors after which a thread checks whether the flow is over and tries again.
pub(super) fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// The 64-bit number at the beginning of `bytes`.
pub(super) fn first_number(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|number| u64::from_be_bytes(*number))
}

/// Locks `mutex`, also after a panic of another thread: counters stay usable.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of one read or write.
pub(super) const BLOCK: usize = 16 << 10;
/// Bytes of stack for each thread.
pub(super) const STACK: usize = 256 << 10;
/// Longest time for which a thread does not check whether the flow is over.
pub(super) const PATIENCE: SystemDuration = SystemDuration::from_millis(50);
