//! Clients of a socket. Each is served by its own thread and has a limited time.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::LiveError;

/// Serves each client that `accept` returns, in its own thread. At most [`MOST_CLIENTS`] are served
/// at a time; others wait.
pub(crate) fn serve(
    name: &'static str,
    accept: impl Fn() -> io::Result<Stream> + Send + 'static,
    attend: impl Fn(Timed) + Send + Sync + 'static,
) -> Result<(), LiveError> {
    let attend = Arc::new(attend);
    let places = Arc::new(ClientSlots::default());
    let accepting = move || {
        loop {
            // The place comes before the connection, so that further clients wait in the listener's
            // queue.
            let place = ClientSlot::take(&places);
            match accept() {
                Ok(stream) => {
                    let attend = Arc::clone(&attend);
                    // If the thread cannot be started, the client is dropped and its place is free
                    // again.
                    let _ = spawn(name, move || {
                        // Each service allows its own time before it reads.
                        attend(Timed::new(stream, Duration::ZERO));
                        drop(place);
                    });
                }
                // This may be a lack of descriptors, which passes.
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    };
    spawn(name, accepting)
        .map_err(|error| LiveError::system(format_args!("the thread `{name}` cannot be started"), error))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).stack_size(STACK).spawn(work).map(|_| ())
}

/// The number of clients being served.
#[derive(Default)]
struct ClientSlots {
    taken: Mutex<usize>,
    left: Condvar,
}

/// The place of one client. Dropping it frees the place.
struct ClientSlot(Arc<ClientSlots>);

impl ClientSlot {
    fn take(places: &Arc<ClientSlots>) -> Self {
        let taken = places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |taken: &mut usize| *taken >= MOST_CLIENTS;
        let mut taken = places.left.wait_while(taken, is_full).unwrap_or_else(PoisonError::into_inner);
        *taken += 1;
        Self(Arc::clone(places))
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        let mut taken = self.0.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_sub(1);
        self.0.left.notify_one();
    }
}

/// A client's connection.
#[derive(Debug)]
pub(crate) enum Stream {
    /// To a TCP port.
    Tcp(TcpStream),
    /// To a socket in the file system.
    Unix(UnixStream),
}

/// A connection with a deadline: reads and writes fail after it, however slowly the client sends
/// its bytes.
#[derive(Debug)]
pub(crate) struct Timed {
    stream: Stream,
    until: Instant,
}

impl Timed {
    /// Gives the other side `span` from now for all that it sends and receives.
    pub(crate) fn new(stream: Stream, span: Duration) -> Self {
        Self { stream, until: now() + span }
    }

    /// Gives the client `span` from now for all that it sends and receives.
    pub(crate) fn allow(&mut self, span: Duration) {
        self.until = now() + span;
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        match self.until.saturating_duration_since(now()) {
            // The standard library refuses a timeout of 0, which would mean none.
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left()?;
        match &mut self.stream {
            Stream::Tcp(stream) => stream.set_read_timeout(left).and_then(|()| stream.read(buffer)),
            Stream::Unix(stream) => stream.set_read_timeout(left).and_then(|()| stream.read(buffer)),
        }
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left()?;
        match &mut self.stream {
            Stream::Tcp(stream) => stream.set_write_timeout(left).and_then(|()| stream.write(bytes)),
            Stream::Unix(stream) => stream.set_write_timeout(left).and_then(|()| stream.write(bytes)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "deadlines of clients are in real time; no packet depends on them"
)]
fn now() -> Instant {
    Instant::now()
}

/// Clients served at once.
const MOST_CLIENTS: usize = 16;
/// Bytes of stack of each thread: a request may contain a deep tree of disciplines.
const STACK: usize = 1 << 20;
const PAUSE: Duration = Duration::from_millis(10);
