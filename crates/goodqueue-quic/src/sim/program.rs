//! The programs at both ends: one writes a number of bytes into a stream, the other reads them.

use bytes::Bytes;
use quinn_proto::{Connection, Dir, Event, StreamEvent, StreamId};

/// A program that writes bytes into the stream of the connection, and finishes it.
#[derive(Debug)]
pub(super) struct Writer {
    /// Bytes that are not written yet; `None` for data without end.
    rest: Option<u64>,
    is_finished: bool,
}

impl Writer {
    /// Returns a program for `size` bytes, or for data without end.
    pub(super) const fn new(size: Option<u64>) -> Self {
        Self { rest: size, is_finished: false }
    }

    /// Writes as much as the connection takes.
    pub(super) fn write(&mut self, connection: &mut Connection, stream: StreamId) {
        while self.rest != Some(0) {
            // The chunk is cut to the length of `ZEROS`, so any large number does for data without
            // end.
            let length = self.rest.and_then(|rest| usize::try_from(rest).ok()).unwrap_or(usize::MAX);
            let chunk = Bytes::from_static(&ZEROS[..length.min(ZEROS.len())]);
            // The connection refuses data beyond its windows, and tells when it takes more.
            let Ok(written) = connection.send_stream(stream).write_chunks(&mut [chunk]) else { return };
            self.rest = self.rest.map(|rest| rest - written.bytes as u64);
        }
        if !self.is_finished {
            self.is_finished = connection.send_stream(stream).finish().is_ok();
        }
    }
}

/// Data of simulated streams. quinn keeps written data until it is acknowledged, here as
/// references.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// A program that reads a stream and counts its bytes.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) bytes: u64,
    pub(super) is_at_end: bool,
}

impl Reader {
    /// Reads as much as has arrived in order.
    pub(super) fn read(&mut self, connection: &mut Connection, stream: StreamId) {
        let mut received = connection.recv_stream(stream);
        // A connection forgets a stream that was read to its end, so reading on fails.
        let Ok(mut chunks) = received.read(true) else { return };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.bytes += chunk.bytes.len() as u64,
                Ok(None) => {
                    self.is_at_end = true;
                    break;
                }
                Err(_) => break,
            }
        }
        // The owner transmits after each event anyway.
        let _ = chunks.finalize();
    }
}

/// News from a connection for its program.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct News {
    pub(super) is_opened: bool,
    pub(super) is_readable: bool,
    pub(super) is_writable: bool,
    /// Everything that this side wrote was acknowledged.
    pub(super) is_acknowledged: bool,
}

impl News {
    /// Takes all events of the connection.
    pub(super) fn of_connection(connection: &mut Connection) -> Self {
        let mut news = Self::default();
        while let Some(event) = connection.poll() {
            match event {
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => news.is_opened = true,
                Event::Stream(StreamEvent::Readable { .. }) => news.is_readable = true,
                Event::Stream(StreamEvent::Writable { .. }) => news.is_writable = true,
                Event::Stream(StreamEvent::Finished { .. }) => news.is_acknowledged = true,
                _ => {}
            }
        }
        news
    }
}
