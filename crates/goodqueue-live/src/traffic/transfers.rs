//! Transfers one after another, each over a new connection or all over the same one.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use goodqueue::Duration;

use super::end::End;
use super::spec::TcpOptions;
use crate::observer::Direction;

impl End {
    /// Accepts connections and serves requests, one connection at a time.
    pub(super) fn serve_transfers(&self, tcp: &TcpOptions) -> io::Result<()> {
        let listener = self.listen(tcp)?;
        // The client opens a connection only when it has finished with the one before, so none
        // waits.
        while let Some(stream) = self.accept(&listener)? {
            self.serve_connection(stream)?;
        }
        Ok(())
    }

    /// Makes each transfer of `pieces` (bytes, and the pause after it).
    pub(super) fn transfer(
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
        let mut connection: Option<Arc<TcpStream>> = None;
        for &(size, think) in pieces {
            let begun = self.clock.now();
            let sample = self.begin_sample(begun, size);
            let stream = match connection.take() {
                Some(stream) => stream,
                None => self.open_for_requests(tcp)?,
            };
            if !self.request(&stream, direction, size, request)? {
                return Ok(());
            }
            self.finish_sample(sample, self.clock.now().since(begun));
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
}
