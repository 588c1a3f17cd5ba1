//! Page fetches, as the simulated browser does them (`goodqueue-sim`, `traffic/web.rs`): a query over UDP and its answer, the
//! page itself over a new connection, then all that it refers to over several connections side by side.

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration as SystemDuration;

use goodqueue::Duration;

use super::{End, FlowKind, PATIENCE, Sample, TcpOptions, is_pause, lock, payload, request_length};

/// A page, and how it is fetched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// Bytes of its objects: the page itself, and what it refers to.
    pub objects: Vec<u64>,
    /// Connections side by side, at least 1.
    pub connections: u32,
    /// Bytes of a request.
    pub request: u64,
    /// Time from the beginning of a fetch to the beginning of the next, if that is not longer.
    pub interval: Duration,
}

impl End {
    /// Answers queries, and requests on any number of connections.
    pub(super) fn serve_pages(&self, tcp: &TcpOptions) -> io::Result<()> {
        let names = UdpSocket::bind(self.address)?;
        names.set_read_timeout(Some(PATIENCE))?;
        let listener = self.listen(tcp)?;
        thread::scope(|scope| {
            let answers = self.thread(scope, || self.answer_queries(&names))?;
            while let Some(stream) = self.accept(&listener)? {
                self.thread(scope, || {
                    stream.set_read_timeout(Some(PATIENCE))?;
                    let stream = Arc::new(stream);
                    lock(&self.shared.senders).open.push(Arc::clone(&stream));
                    // A client that goes away ends its connection, no more.
                    let _ = self.serve_one(&stream);
                    self.retire(&stream);
                    Ok(())
                })?;
            }
            answers.join().unwrap_or(Ok(()))
        })
    }

    fn thread<'scope, 'env, T: FnOnce() -> io::Result<()> + Send + 'scope>(
        &self,
        scope: &'scope thread::Scope<'scope, 'env>,
        work: T,
    ) -> io::Result<thread::ScopedJoinHandle<'scope, io::Result<()>>> {
        thread::Builder::new().stack_size(super::STACK).spawn_scoped(scope, work)
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

    /// Fetches the page again and again.
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
            let index = {
                let mut samples = lock(&self.shared.samples);
                samples.push(Sample { sent_at: begun, took: None, bytes });
                samples.len() - 1
            };
            if !(self.look_up(&names, number)? && self.fetch(page, tcp)?) {
                return Ok(());
            }
            let took = self.clock.now().since(begun);
            if let Some(sample) = lock(&self.shared.samples).get_mut(index) {
                sample.took = Some(took);
            }
            if !self.wait_until((begun + page.interval).max(self.clock.now())) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Asks until an answer to any query of this fetch comes; false if the flow is over before.
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
                    Ok(_) => {}
                    Err(error) if is_pause(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(false)
    }

    /// All objects; false if the flow is over before.
    fn fetch(&self, page: &Page, tcp: &TcpOptions) -> io::Result<bool> {
        let Some((&first, others)) = page.objects.split_first() else { return Ok(true) };
        let connection = self.open_for_requests(tcp)?;
        if !self.fetch_object(&connection, first, page.request)? {
            return Ok(false);
        }
        // The first connection is kept, the others are opened at once; each takes the next object when it has nothing to do.
        let next = AtomicUsize::new(0);
        let complete = AtomicBool::new(true);
        let work = |connection: Option<Arc<TcpStream>>| {
            let connection = match connection {
                Some(connection) => connection,
                None => self.open_for_requests(tcp)?,
            };
            while let Some(&object) = others.get(next.fetch_add(1, Ordering::SeqCst)) {
                if !self.fetch_object(&connection, object, page.request)? {
                    complete.store(false, Ordering::SeqCst);
                    break;
                }
            }
            self.retire(&connection);
            Ok(())
        };
        let further = usize::try_from(page.connections).unwrap_or(1).min(others.len()).saturating_sub(1);
        thread::scope(|scope| {
            let workers: Vec<_> =
                (0..further).map(|_| self.thread(scope, || work(None))).collect::<io::Result<_>>()?;
            work(Some(connection))?;
            workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
        })?;
        Ok(complete.into_inner())
    }

    fn open_for_requests(&self, tcp: &TcpOptions) -> io::Result<Arc<TcpStream>> {
        let stream = Arc::new(self.open(tcp)?);
        stream.set_read_timeout(Some(PATIENCE))?;
        lock(&self.shared.senders).open.push(Arc::clone(&stream));
        Ok(stream)
    }

    fn fetch_object(&self, stream: &TcpStream, size: u64, request: u64) -> io::Result<bool> {
        let mut head = vec![0; request_length(request)];
        head[0] = b'd';
        head[1..9].copy_from_slice(&size.to_be_bytes());
        let mut writer = stream;
        writer.write_all(&head)?;
        self.take_bytes(stream, size)
    }
}

/// Bytes of a request of this flow, if it makes any.
pub(super) const fn request_of(kind: &FlowKind) -> Option<u64> {
    match kind {
        FlowKind::Transfers { request, .. } => Some(*request),
        FlowKind::Web { page, .. } => Some(page.request),
        _ => None,
    }
}

/// As the simulated browser: IP packets of these sizes, sent again after resolv.conf(5)'s `timeout`.
const QUERY: u32 = 60;
const ANSWER: u32 = 76;
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes that tell queries apart.
const NUMBER: usize = 8;
