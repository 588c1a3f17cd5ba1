//! A bulk flow: one TCP connection that carries data in one direction.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;

use super::end::{BLOCK, End, PATIENCE, is_pause};
use super::spec::TcpOptions;

impl End {
    /// Accepts the connection of a bulk flow and uses it.
    pub(super) fn serve_bulk(&self, sends: bool, size: Option<u64>, tcp: &TcpOptions) -> io::Result<()> {
        let listener = self.listen(tcp)?;
        match self.accept(&listener)? {
            Some(stream) => self.carry(stream, sends, size),
            None => Ok(()),
        }
    }

    /// Opens the connection of a bulk flow and uses it.
    pub(super) fn bulk(&self, sends: bool, size: Option<u64>, tcp: &TcpOptions) -> io::Result<()> {
        self.tell_ready();
        if !self.wait_until(self.spec.start) {
            return Ok(());
        }
        let stream = self.open(tcp)?;
        self.carry(stream, sends, size)
    }

    fn carry(&self, stream: TcpStream, sends: bool, size: Option<u64>) -> io::Result<()> {
        // A thread that waits for the socket without a limit could not see that the flow is over.
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        if sends {
            self.send(stream, size)?;
        } else if !self.receive(&stream)? {
            // Closing a connection with unread data would reset it, and the sender's counters
            // are read until the very end.
            self.linger();
        }
        Ok(())
    }

    fn send(&self, stream: TcpStream, size: Option<u64>) -> io::Result<()> {
        let begun = self.clock.now();
        let stream = self.count(stream);
        let block = [0; BLOCK];
        // More than any run can send.
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
            if self.wait_for_close(&stream)? {
                let now = self.clock.now();
                // 0 means that the flow is not complete.
                self.shared.completed.store(now.as_nanos() + 1, Ordering::SeqCst);
                self.sample(begun, Some(now.since(begun)), size.unwrap_or(0));
            }
        }
        self.linger();
        Ok(())
    }

    /// Waits until the receiver closes the connection, as it does once it has all data. Returns
    /// false if the flow ends first.
    fn wait_for_close(&self, stream: &TcpStream) -> io::Result<bool> {
        while !self.is_over() {
            match (&*stream).read(&mut [0; 16]) {
                Ok(0) => return Ok(true),
                Ok(_) => {}
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Reads and counts data. Returns true if the sender has closed the connection, false if the
    /// flow is over.
    fn receive(&self, stream: &TcpStream) -> io::Result<bool> {
        let mut block = vec![0; BLOCK];
        while !self.is_over() {
            match (&*stream).read(&mut block) {
                Ok(0) => return Ok(true),
                Ok(length) => {
                    self.shared.delivered.fetch_add(length as u64, Ordering::SeqCst);
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Keeps the connection open until the end of the flow.
    fn linger(&self) {
        while !self.is_over() {
            std::thread::sleep(PATIENCE);
        }
    }
}
