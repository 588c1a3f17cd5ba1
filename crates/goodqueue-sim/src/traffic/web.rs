//! A browser that repeatedly fetches the same page with an empty cache.
//!
//! The browser looks up the name, fetches the page itself, and then fetches all objects of the page
//! over several parallel connections. It works like the client of Høiland-Jørgensen, Hurtig &
//! Brunstrom, "The good, the bad and the WiFi", Computer Networks 89, 2015:
//!
//! 1. A query over UDP and its answer. Without an answer within 5 s the query is repeated
//!    (resolv.conf(5), `timeout`).
//! 2. The first object of the page, over a new connection.
//! 3. The other objects, in order, each as soon as a connection is free. The first connection is
//!    kept; the other connections open at once. A connection carries one request at a time and is
//!    kept (HTTP/1.1).
//! 4. When all objects have arrived, the connections are closed. The next fetch begins an interval
//!    after the beginning of this one, or at once if that time has passed.
//!
//! A transfer is a page: from the first query to the last byte of the last object.

use std::sync::{Arc, OnceLock};

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction, Duration, Ecn, Instant};
use goodqueue_tcp::{AnyCongestionControl, Config};

use super::connections::{Connections, Handle};
use super::source::{Settings, Source, Tally, Transfer};
use crate::id::{ConnectionId, FlowId};
use crate::network::Network;
use crate::packet::{Packet, Payload};
use crate::transport::Transport;

/// The settings of a browser.
#[derive(Clone, Debug)]
pub struct WebSettings {
    /// Direction of the answers: `Down` to users behind the line, `Up` from servers behind the
    /// line.
    pub direction: Direction,
    /// The page.
    pub page: WebPage,
    /// Number of parallel connections, at least 1.
    pub connections: u32,
    /// Size of a request in bytes.
    pub request: u64,
    /// Time from the beginning of a fetch to the beginning of the next; longer if a fetch takes
    /// longer.
    pub interval: Duration,
    /// TCP settings of both ends.
    pub config: Config,
    /// Congestion control of the senders.
    pub congestion_control: AnyCongestionControl,
}

impl Settings for WebSettings {
    const KIND: &'static str = "web";
    const TRANSPORT: Transport = Transport::Tcp;
    const IS_OF_PIECES: bool = true;

    fn direction(&self) -> Direction {
        self.direction
    }

    fn prepare(&self) {
        // The page keeps its objects from the first call on, and its copies share them.
        let _ = self.page.objects();
    }

    fn congestion_control(&self) -> Option<&'static str> {
        Some(self.congestion_control.about().name)
    }
}

/// The sizes in bytes of a page's objects. The first object is the page itself. Copies share the
/// sizes.
#[derive(Clone, Debug)]
pub struct WebPage(Arc<Page>);

#[derive(Debug)]
struct Page {
    bytes: u64,
    requests: usize,
    /// True if bytes and requests determine the sizes.
    is_divided: bool,
    /// The sizes, which take a while to compute for a page that is divided into many objects.
    objects: OnceLock<Vec<u64>>,
}

/// Pages are equal if their objects are.
impl PartialEq for WebPage {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            // Divided pages are compared without their sizes, which would have to be computed.
            || ((self.0.bytes, self.0.requests, self.0.is_divided)
                == (other.0.bytes, other.0.requests, other.0.is_divided)
                && (self.0.is_divided || self.objects() == other.objects()))
    }
}

impl Eq for WebPage {}

impl WebPage {
    /// Returns a page of these objects; `None` if there are none or if one has no bytes.
    #[must_use]
    pub fn new(objects: Vec<u64>) -> Option<Self> {
        let is_possible = !objects.is_empty() && !objects.contains(&0);
        is_possible.then(|| {
            // A scenario may have 100,000 objects of 2^50 bytes, which are more than 64 bits hold.
            let bytes = objects.iter().fold(0, |sum: u64, object| sum.saturating_add(*object));
            let requests = objects.len();
            let objects = OnceLock::from(objects);
            Self(Arc::new(Page { bytes, requests, is_divided: false, objects }))
        })
    }

    /// Returns the front page of Google in 2015: 56 kB in 3 requests. The paper does not say how
    /// the bytes are divided. Here the page has 20 kB and the two other objects have 18 kB each.
    #[must_use]
    pub fn google() -> Self {
        let objects = vec![20_000, 18_000, 18_000];
        let requests = objects.len();
        let objects = OnceLock::from(objects);
        Self(Arc::new(Page { bytes: 56_000, requests, is_divided: false, objects }))
    }

    /// Returns the front page of the Huffington Post in 2015: 3 MB in 110 requests, divided as in
    /// [`Self::divided`].
    #[must_use]
    pub fn huffpost() -> Self {
        Self(Arc::new(Page { bytes: 3_000_000, requests: 110, is_divided: true, objects: OnceLock::new() }))
    }

    /// Returns a page with this number of bytes and requests; `None` if there are fewer than 10
    /// bytes per request.
    ///
    /// The first object has a tenth of the bytes. The sizes of the others follow a log-normal
    /// distribution whose natural logarithm has standard deviation 1, so the largest sixth has half
    /// of the bytes. Their order mixes small and large objects.
    #[must_use]
    pub fn divided(bytes: u64, requests: u32) -> Option<Self> {
        // The sizes are computed in `f64`, which holds whole numbers up to 2^53.
        let is_possible = requests > 0 && bytes <= 1 << 50 && bytes / 10 >= u64::from(requests);
        let requests = usize::try_from(requests).ok().filter(|_| is_possible)?;
        Some(Self(Arc::new(Page { bytes, requests, is_divided: true, objects: OnceLock::new() })))
    }

    /// Returns the sizes in bytes. The first call computes the sizes of a divided page: about 6 µs
    /// for each.
    #[must_use]
    pub fn objects(&self) -> &[u64] {
        self.0.objects.get_or_init(|| divide(self.0.bytes, self.0.requests))
    }

    /// True if [`objects`](Self::objects) has nothing to compute.
    #[must_use]
    pub fn is_computed(&self) -> bool {
        self.0.objects.get().is_some()
    }

    /// Returns the number of objects.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.0.requests
    }

    /// Returns the total number of bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.bytes
    }
}

/// Implements [`WebPage::divided`].
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "shares of a number of bytes, far below 2^53"
)]
fn divide(bytes: u64, requests: usize) -> Vec<u64> {
    // A lone object has all bytes.
    if requests < 2 {
        return vec![bytes];
    }
    let others = requests as u64 - 1;
    let first = bytes / 10;
    let rest = bytes - bytes / 10;
    // The middles of equal parts of the distribution. Without draws a page is the same in all runs.
    let weights: Vec<f64> =
        (0..others).map(|n| libm::exp(normal_quantile((n as f64 + 0.5) / others as f64))).collect();
    let sum: f64 = weights.iter().sum();
    // Each object gets one byte plus its share of the remaining bytes.
    let free = (rest - others) as f64;
    let mut sizes: Vec<u64> = weights.iter().map(|weight| 1 + (free * weight / sum) as u64).collect();
    // The shares were rounded down. The largest object changes least by the rest.
    let missing = rest.saturating_sub(sizes.iter().sum());
    if let Some(largest) = sizes.last_mut() {
        *largest += missing;
    }
    // An order in steps of the golden section places objects of similar size far apart.
    let mut order: Vec<u64> = (0..others).collect();
    order.sort_by_key(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mixed = order.iter().filter_map(|n| sizes.get(usize::try_from(*n).ok()?).copied());
    core::iter::once(first).chain(mixed).collect()
}

/// Returns the value that a standard normal variable exceeds with probability `1 - p`, by
/// bisection.
fn normal_quantile(p: f64) -> f64 {
    // The smallest share asked for, half of 1 / 2^32, has the quantile -6.3.
    let mut low = -8.0;
    let mut high = 8.0;
    // After 60 halvings the interval is narrower than the precision of `f64`.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let below = 0.5 * libm::erfc(-middle * core::f64::consts::FRAC_1_SQRT_2);
        if below < p { low = middle } else { high = middle }
    }
    low
}

/// The browser and the servers.
#[derive(Debug)]
pub struct Web {
    flow: FlowId,
    settings: WebSettings,
    connections: Connections,
    workers: Vec<Worker>,
    phase: Phase,
    /// Number of objects requested.
    asked: usize,
    /// Number of objects complete.
    complete: usize,
    /// Time at which the query is repeated or the next fetch begins; [`Instant::MAX`] for never.
    due: Instant,
    transfers: Vec<Transfer>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Idle,
    Lookup,
    Fetch,
    Stopped,
}

/// A connection and the requests on it.
#[derive(Debug)]
struct Worker {
    handle: Handle,
    /// Size in bytes of the object in progress; `None` if the connection is free.
    object: Option<u64>,
    /// Bytes that must have arrived for the server to have all requests.
    asked: u64,
    /// Bytes that must have arrived for all answers to be complete.
    awaited: u64,
    /// True once the server has answered.
    answered: bool,
}

impl Web {
    /// Creates the browser for flow number `flow`.
    ///
    /// # Errors
    /// The TCP configuration is invalid.
    pub fn new(flow: FlowId, settings: &WebSettings, _: Xoshiro256PlusPlus) -> Result<Self, ConfigError> {
        Ok(Self {
            flow,
            settings: settings.clone(),
            connections: Connections::new(
                flow,
                settings.direction.reverse(),
                settings.config,
                settings.congestion_control.clone(),
            )?,
            workers: Vec::new(),
            phase: Phase::Idle,
            asked: 0,
            complete: 0,
            due: Instant::MAX,
            transfers: Vec::new(),
        })
    }

    /// Returns the direction of requests.
    const fn asks(&self) -> Direction {
        self.settings.direction.reverse()
    }

    fn begin(&mut self, now: Instant, network: &mut Network) {
        self.phase = Phase::Lookup;
        (self.asked, self.complete) = (0, 0);
        self.transfers.push(Transfer { begun_at: now, ended_at: None, bytes: self.settings.page.bytes() });
        self.look_up(now, network);
    }

    /// Sends a query to the name server. An answer to any query of this fetch is accepted.
    fn look_up(&mut self, now: Instant, network: &mut Network) {
        // The number of the fetch, and the same for a repeated query.
        let number = self.transfers.len() as u64;
        let payload = Payload::Datagram { sent_at: now, number, ecn: Ecn::NotEct };
        network.send_on(now, self.asks(), self.lookup(), QUERY, payload);
        self.due = now + LOOKUP_TIMEOUT;
    }

    /// Returns the number under which the path knows queries and answers.
    const fn lookup(&self) -> ConnectionId {
        ConnectionId { flow: self.flow, number: LOOKUP }
    }

    fn on_lookup(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network) {
        let Payload::Datagram { number, .. } = packet.payload else { return };
        if direction == self.asks() {
            network.send_on(now, direction.reverse(), self.lookup(), ANSWER, packet.payload);
        } else if self.phase == Phase::Lookup && number == self.transfers.len() as u64 {
            // Answers to queries of an earlier fetch have another number, and a second answer finds
            // another phase.
            self.phase = Phase::Fetch;
            self.due = Instant::MAX;
            self.employ(now, network);
        }
    }

    /// Opens another connection for the next object.
    fn employ(&mut self, now: Instant, network: &mut Network) {
        let Some(handle) = self.connections.open(now, network) else { return };
        self.workers.push(Worker { handle, object: None, asked: 0, awaited: 0, answered: true });
        self.fetch(now, self.workers.len() - 1, network);
    }

    /// Requests the next object on this connection, if there is one.
    fn fetch(&mut self, now: Instant, worker: usize, network: &mut Network) {
        let Some(worker) = self.workers.get_mut(worker) else { return };
        worker.object = self.settings.page.objects().get(self.asked).copied();
        let Some(bytes) = worker.object else { return };
        self.asked += 1;
        worker.asked += self.settings.request;
        worker.awaited += bytes;
        worker.answered = false;
        let handle = worker.handle;
        self.connections.write(now, handle, self.asks(), self.settings.request, network);
    }

    /// Acts on bytes that have arrived on a connection.
    fn advance(&mut self, now: Instant, handle: Handle, network: &mut Network) {
        let asks = self.asks();
        let answers = self.settings.direction;
        let Some(number) = self.workers.iter().position(|worker| worker.handle == handle) else { return };
        let worker = &mut self.workers[number];
        // A free connection gets late acknowledgements only.
        let Some(bytes) = worker.object else { return };
        if !worker.answered {
            if self.connections.delivered(handle, asks) < worker.asked {
                return;
            }
            worker.answered = true;
            self.connections.write(now, handle, answers, bytes, network);
        }
        if self.connections.delivered(handle, answers) < worker.awaited {
            return;
        }
        worker.object = None;
        self.complete += 1;
        let objects = self.settings.page.requests();
        if self.complete == objects {
            self.finish(now, network);
            return;
        }
        self.fetch(now, number, network);
        if self.complete == 1 {
            // The first object lists the others, so their connections open only now.
            let most = self.settings.connections as usize;
            while self.workers.len() < most && self.asked < objects {
                let before = self.workers.len();
                self.employ(now, network);
                // No connection opened, because the largest number of them is open. The others
                // fetch the rest.
                if self.workers.len() == before {
                    return;
                }
            }
        }
    }

    fn finish(&mut self, now: Instant, network: &mut Network) {
        self.phase = Phase::Idle;
        let Some(transfer) = self.transfers.last_mut() else { return };
        transfer.ended_at = Some(now);
        // At least 1 ns, so that fetches over a path without delay cannot stop time.
        self.due = (transfer.begun_at + self.settings.interval).max(now + Duration::from_nanos(1));
        network.wake(self.flow, self.due);
        for worker in core::mem::take(&mut self.workers) {
            self.connections.close(now, worker.handle, network);
        }
    }
}

impl Source for Web {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.begin(now, network);
        network.wake(self.flow, self.due);
    }

    fn stop(&mut self, _now: Instant) {
        self.phase = Phase::Stopped;
        self.due = Instant::MAX;
        self.workers.clear();
        self.connections.abort_all();
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network) {
        if packet.connection == LOOKUP {
            self.on_lookup(now, packet, direction, network);
        } else if let Some(handle) = self.connections.on_packet(now, packet, direction, network) {
            self.advance(now, handle, network);
        }
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        self.connections.on_wake(now, network);
        if self.due <= now {
            match self.phase {
                Phase::Idle => self.begin(now, network),
                Phase::Lookup => self.look_up(now, network),
                Phase::Fetch | Phase::Stopped => self.due = Instant::MAX,
            }
        }
        network.wake(self.flow, self.due);
    }

    fn delivered(&self) -> u64 {
        self.connections.delivered_in_all(self.settings.direction)
    }

    fn received(&self) -> u64 {
        self.connections.received_in_all(self.settings.direction)
    }

    fn tally(&self) -> Tally {
        self.connections.tally(self.settings.direction)
    }

    fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }
}

/// A connection number that is free while fewer than 2^17 connections are open.
const LOOKUP: u32 = u32::MAX;
/// resolv.conf(5): RES_TIMEOUT.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);
/// Length of the query at the IP layer: 28 bytes of IPv4 and UDP headers, 12 of DNS header, and 20
/// of question for a name of 14 letters (RFC 1035 §4.1).
const QUERY: u32 = 60;
/// Length of the answer at the IP layer: the query and one compressed address record of 16 bytes
/// (RFC 1035 §4.1.3).
const ANSWER: u32 = 76;

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "some megabytes")]
mod tests {
    use super::*;

    #[test]
    fn pages_have_the_bytes_and_requests_that_they_are_known_for() {
        let of = |page: &WebPage| {
            assert_eq!(page.objects().len(), page.requests());
            assert_eq!(page.objects().iter().sum::<u64>(), page.bytes());
            (page.bytes(), page.requests())
        };
        assert_eq!(of(&WebPage::google()), (56_000, 3));
        assert_eq!(of(&WebPage::huffpost()), (3_000_000, 110));
        for (bytes, requests) in [(10, 1), (20, 2), (1000, 100), (1 << 50, 7), (123_457, 1000)] {
            let page = WebPage::divided(bytes, requests).expect("possible");
            assert_eq!(of(&page), (bytes, requests as usize));
            assert!(page.objects().iter().all(|object| *object > 0));
        }
        assert_eq!((WebPage::divided(9, 1), WebPage::divided(5, 0)), (None, None));
        assert_eq!((WebPage::new(vec![]), WebPage::new(vec![1, 0])), (None, None));
    }

    #[test]
    fn the_objects_of_a_divided_page_are_of_many_sizes_well_mixed() {
        let page = WebPage::huffpost();
        let mut objects = page.objects()[1..].to_vec();
        let of_first_half: u64 = objects[..54].iter().sum();
        assert!((0.3..0.7).contains(&(of_first_half as f64 / 2_700_000.0)), "{of_first_half}");
        objects.sort_unstable();
        // The median of a log-normal variable with deviation 1 is exp(-1/2) of its mean.
        let mean = 2_700_000.0 / 109.0;
        assert!((objects[54] as f64 / (mean * libm::exp(-0.5)) - 1.0).abs() < 0.05, "{}", objects[54]);
        // The largest sixth of the 109 objects has half of the bytes.
        let of_largest: u64 = objects[91..].iter().sum();
        assert!(of_largest > 2_700_000 * 45 / 100, "{of_largest}");
    }
}
