//! The request protocol of transfers and pages over TCP.
//!
//! A request is one byte, `d` (download) or `u` (upload), and the size in eight bytes; padding
//! follows up to the length of a request. The server answers a download with that many bytes. It
//! answers an upload with one byte once all data has arrived.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;

use super::end::{BLOCK, End, PATIENCE, first_number};
use super::spec::TcpOptions;
use crate::observer::Direction;

impl End {
    /// Serves requests on one connection until the client closes it, and counts its packets.
    pub(super) fn serve_connection(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        let stream = self.count(stream);
        // A client that disconnects ends its connection, not the flow.
        let _ = self.serve_requests(&stream);
        self.retire(&stream);
        Ok(())
    }

    fn serve_requests(&self, stream: &TcpStream) -> io::Result<()> {
        let Some(request) = self.spec.kind.request() else { return Ok(()) };
        let mut head = vec![0; request_length(request)];
        loop {
            if !self.read_all(stream, &mut head)? {
                return Ok(());
            }
            let size = head.get(1..).and_then(first_number).unwrap_or(0);
            if head.first() == Some(&DOWNLOAD) {
                write_bytes(stream, size)?;
            } else {
                self.take_bytes(stream, size)?;
                // Tells the client that the last byte has arrived: its own writes end when the
                // kernel has them.
                (&*stream).write_all(&[1])?;
            }
        }
    }

    /// Opens a connection for requests and counts its packets.
    pub(super) fn open_for_requests(&self, tcp: &TcpOptions) -> io::Result<Arc<TcpStream>> {
        let stream = self.open(tcp)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(self.count(stream))
    }

    /// Downloads or uploads `size` bytes with a request of `request` bytes. Returns false if the
    /// flow or the connection ends first.
    pub(super) fn request(
        &self,
        stream: &TcpStream,
        direction: Direction,
        size: u64,
        request: u64,
    ) -> io::Result<bool> {
        let mut head = vec![0; request_length(request)];
        head[0] = if direction == Direction::Down { DOWNLOAD } else { UPLOAD };
        head[1..9].copy_from_slice(&size.to_be_bytes());
        (&*stream).write_all(&head)?;
        match direction {
            Direction::Down => self.take_bytes(stream, size),
            Direction::Up => {
                write_bytes(stream, size)?;
                self.read_all(stream, &mut [0])
            }
        }
    }
}

fn write_bytes(mut stream: &TcpStream, size: u64) -> io::Result<()> {
    let block = [0; BLOCK];
    let mut left = size;
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
        left -= stream.write(&block[..most])? as u64;
    }
    Ok(())
}

/// Bytes on the wire of a request of `request` bytes.
fn request_length(request: u64) -> usize {
    // A letter and a number of eight bytes are the shortest request.
    usize::try_from(request).unwrap_or(0).clamp(9, 1 << 20)
}

const DOWNLOAD: u8 = b'd';
const UPLOAD: u8 = b'u';
