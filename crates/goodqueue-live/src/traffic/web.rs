//! Page fetches, step by step like those of the simulated browser (`goodqueue-sim`,
//! `traffic/web.rs`): a query over UDP and its answer, the document over a new connection, then
//! the objects that it refers to over parallel connections.

use std::io;
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration as SystemDuration;

use goodqueue::Duration;

use super::datagrams::payload;
use super::end::{End, PATIENCE, STACK, is_pause};
use super::spec::{Page, TcpOptions};
use crate::observer::Direction;

impl End {
    /// Answers queries, and requests on any number of connections.
    pub(super) fn serve_pages(&self, tcp: &TcpOptions) -> io::Result<()> {
        let names = UdpSocket::bind(self.address)?;
        names.set_read_timeout(Some(PATIENCE))?;
        let listener = self.listen(tcp)?;
        thread::scope(|scope| {
            let answers = spawn(scope, || self.answer_queries(&names))?;
            while let Some(stream) = self.accept(&listener)? {
                spawn(scope, || self.serve_connection(stream))?;
            }
            answers.join().unwrap_or(Ok(()))
        })
    }

    fn answer_queries(&self, names: &UdpSocket) -> io::Result<()> {
        let mut query = [0; 512];
        let mut answer = vec![0; payload(ANSWER)];
        while !self.is_over() {
            match names.recv_from(&mut query) {
                Ok((length, from)) => {
                    let number = length.min(NUMBER);
                    answer[..number].copy_from_slice(&query[..number]);
                    let _ = names.send_to(&answer, from);
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Fetches the page repeatedly until the flow ends.
    pub(super) fn browse(&self, page: &Page, tcp: &TcpOptions) -> io::Result<()> {
        let names = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        names.connect(self.address)?;
        self.tell_ready();
        if !self.wait_until(self.spec.start) {
            return Ok(());
        }
        let bytes = page.objects.iter().fold(0, |sum: u64, object| sum.saturating_add(*object));
        for number in 0_u64.. {
            let begun = self.clock.now();
            let sample = self.begin_sample(begun, bytes);
            if !(self.look_up(&names, number)? && self.fetch(page, tcp)?) {
                return Ok(());
            }
            self.finish_sample(sample, self.clock.now().since(begun));
            // A page that took longer than the interval is fetched again at once.
            if !self.wait_until((begun + page.interval).max(self.clock.now())) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Sends query `number` until it is answered. Returns false if the flow ends first.
    fn look_up(&self, names: &UdpSocket, number: u64) -> io::Result<bool> {
        let mut query = vec![0; payload(QUERY)];
        query[..NUMBER].copy_from_slice(&number.to_be_bytes());
        let mut answer = [0; 512];
        while !self.is_over() {
            let _ = names.send(&query);
            let again = self.clock.now() + LOOKUP_TIMEOUT;
            loop {
                let left = again.since(self.clock.now());
                if left.is_zero() || self.is_over() {
                    break;
                }
                let wait = SystemDuration::from_nanos(left.as_nanos()).min(PATIENCE);
                names.set_read_timeout(Some(wait))?;
                match names.recv(&mut answer) {
                    Ok(_) if answer[..NUMBER] == number.to_be_bytes() => return Ok(true),
                    // A late answer to an earlier query.
                    Ok(_) => {}
                    Err(error) if is_pause(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(false)
    }

    /// Fetches all objects of a page. Returns false if the flow ends first.
    fn fetch(&self, page: &Page, tcp: &TcpOptions) -> io::Result<bool> {
        let Some((&document, others)) = page.objects.split_first() else { return Ok(true) };
        let connection = self.open_for_requests(tcp)?;
        if !self.request(&connection, Direction::Down, document, page.request)? {
            return Ok(false);
        }
        // The first connection stays open and the others are opened now. A connection that is idle
        // takes the next object.
        let next = AtomicUsize::new(0);
        let complete = AtomicBool::new(true);
        let work = |connection: Option<Arc<TcpStream>>| {
            let connection = match connection {
                Some(connection) => connection,
                None => self.open_for_requests(tcp)?,
            };
            while let Some(&object) = others.get(next.fetch_add(1, Ordering::SeqCst)) {
                if !self.request(&connection, Direction::Down, object, page.request)? {
                    complete.store(false, Ordering::SeqCst);
                    break;
                }
            }
            self.retire(&connection);
            Ok(())
        };
        // A connection without an object to fetch is not opened. The first one exists already.
        let further = usize::try_from(page.connections).unwrap_or(1).min(others.len()).saturating_sub(1);
        thread::scope(|scope| {
            let workers: Vec<_> =
                (0..further).map(|_| spawn(scope, || work(None))).collect::<io::Result<_>>()?;
            work(Some(connection))?;
            workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
        })?;
        Ok(complete.into_inner())
    }
}

fn spawn<'scope, 'env>(
    scope: &'scope thread::Scope<'scope, 'env>,
    work: impl FnOnce() -> io::Result<()> + Send + 'scope,
) -> io::Result<thread::ScopedJoinHandle<'scope, io::Result<()>>> {
    thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work)
}

/// Bytes of the IP packet of a query, as in the simulated browser.
const QUERY: u32 = 60;
/// Bytes of the IP packet of an answer, as in the simulated browser.
const ANSWER: u32 = 76;
/// The `timeout` of resolv.conf(5), as in the simulated browser.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of the number at the beginning of a query.
const NUMBER: usize = 8;
