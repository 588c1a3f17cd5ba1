//! Network interfaces seen through packet sockets.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// A network interface, seen through a packet socket: whole frames.
#[derive(Debug)]
pub struct Interface {
    socket: File,
    name: String,
}

impl Interface {
    /// Reads one frame.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.read(into)
    }

    /// Writes one frame.
    pub(crate) fn write(&mut self, frame: &[u8]) -> io::Result<()> {
        self.socket.write(frame).map(|_| ())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl AsFd for Interface {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
