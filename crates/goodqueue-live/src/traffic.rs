//! Traffic over the kernel's own sockets, for `compare --live`.
//!
//! Each flow has its own port, by which the bottleneck recognizes its packets, and one thread at
//! each end. All threads share one clock, so one-way delays can be measured.

mod bulk;
mod datagrams;
mod end;
mod requests;
mod spec;
mod tcp;
mod transfers;
mod web;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use caps::Capability;
use goodqueue::Instant;

use self::end::{CLIENT, End, SERVER, STACK, Shared, lock};
use self::tcp::tcp_info;
use crate::clock::Clock;
use crate::error::LiveError;
use crate::namespace::{self, Network};
use crate::observer::Direction;

pub use self::spec::{FlowKind, FlowSpec, FlowTally, Page, Sample, TcpOptions};
pub use self::tcp::available_congestion_controls;

/// A running flow.
#[derive(Debug)]
pub struct Flow {
    shared: Arc<Shared>,
}

impl Flow {
    /// Starts the two threads of flow `number` between the client's address and the server's.
    ///
    /// Each thread sends one message over `ready`: its sockets exist, or an error.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(
        number: u16,
        spec: &FlowSpec,
        clock: Clock,
        networks: &Arc<[Network; 2]>,
        addresses: [Ipv4Addr; 2],
        ready: &Sender<Result<(), LiveError>>,
    ) -> Result<Self, LiveError> {
        let shared = Arc::new(Shared::default());
        let serves = match spec.kind {
            // The browser is at the server, so the pages are at the client.
            FlowKind::Web { direction: Direction::Up, .. } => CLIENT,
            _ => SERVER,
        };
        let end = |side: usize| End {
            spec: spec.clone(),
            clock,
            shared: Arc::clone(&shared),
            address: SocketAddrV4::new(addresses[serves], port(number)),
            serves: side == serves,
            networks: Arc::clone(networks),
            side,
            ready: ready.clone(),
        };
        for side in [SERVER, CLIENT] {
            let end = end(side);
            std::thread::Builder::new()
                .name(format!("flow {number}"))
                .stack_size(STACK)
                .spawn(move || run(&end))
                .map_err(|error| LiveError::system("a thread for a flow cannot be started", error))?;
        }
        Ok(Self { shared })
    }

    /// Returns the counters of the flow so far.
    #[must_use]
    pub fn tally(&self) -> FlowTally {
        let shared = &self.shared;
        let completed = shared.completed.load(Ordering::SeqCst);
        let senders = lock(&shared.senders);
        let mut tally = senders.closed;
        for sender in &senders.open {
            tally.add_connection(&tcp_info(sender.as_fd()));
        }
        FlowTally {
            delivered: shared.delivered.load(Ordering::SeqCst),
            sent: tally.sent + shared.sent.load(Ordering::SeqCst),
            // `completed` has 1 added, so that 0 means none.
            completed_at: completed.checked_sub(1).map(Instant::from_nanos),
            ..tally
        }
    }

    /// Returns the payload delivered so far, in bytes.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.shared.delivered.load(Ordering::SeqCst)
    }

    /// Returns the packets, requests or transfers measured so far.
    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        lock(&self.shared.samples).clone()
    }

    /// Returns the error that ended the flow early, if any.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        lock(&self.shared.trouble).clone()
    }

    /// Tells the threads to end. They do so within 50 ms.
    pub fn stop(&self) {
        self.shared.over.store(true, Ordering::SeqCst);
    }
}

/// Runs one end of a flow in its network namespace, without the privileges to leave it.
fn run(end: &End) {
    // Each thread has privileges of its own. With CAP_NET_ADMIN a socket may choose any congestion
    // control, without it only those that root has allowed all users
    // (`tcp_allowed_congestion_control`).
    let kept = end.spec.kind.uses_tcp().then_some(Capability::CAP_NET_ADMIN);
    let entered = end.networks[end.side].enter().and_then(|()| namespace::drop_privileges_except(kept));
    if let Err(error) = entered {
        let _ = end.ready.send(Err(error));
        return;
    }
    let outcome = match (end.side, &end.spec.kind) {
        (SERVER, FlowKind::Bulk { direction, size, tcp }) => {
            end.serve_bulk(*direction == Direction::Down, *size, tcp)
        }
        (_, FlowKind::Bulk { direction, size, tcp }) => end.bulk(*direction == Direction::Up, *size, tcp),
        (SERVER, FlowKind::Ping { .. }) => end.answer_pings(),
        (_, FlowKind::Ping { interval, bytes }) => end.ping(*interval, *bytes),
        (side, FlowKind::Datagrams { direction, interval, bytes, ecn }) => {
            let sends = (*direction == Direction::Down) == (side == SERVER);
            end.datagrams(sends, *interval, *bytes, *ecn)
        }
        (SERVER, FlowKind::Transfers { tcp, .. }) => end.serve_transfers(tcp),
        (_, FlowKind::Transfers { direction, pieces, request, persistent, tcp }) => {
            end.transfer(*direction, pieces, *request, *persistent, tcp)
        }
        (_, FlowKind::Web { tcp, .. }) if end.serves => end.serve_pages(tcp),
        (_, FlowKind::Web { page, tcp, .. }) => end.browse(page, tcp),
    };
    if let Err(error) = outcome
        && !end.is_over()
    {
        *lock(&end.shared.trouble) = Some(error.to_string());
        // During the run nobody listens, and the message is lost.
        let _ = end.ready.send(Err(LiveError::system("a flow cannot be set up", error)));
    }
}

/// Returns the port of flow `number`.
#[must_use]
pub const fn port(number: u16) -> u16 {
    FIRST_PORT.saturating_add(number)
}

/// Returns the number of the flow whose packets have these ports, if there are `count` flows.
#[must_use]
pub fn flow_of(ports: (u16, u16), count: usize) -> Option<usize> {
    // Only one of the two is a flow's port: the other end has an ephemeral one, which is lower.
    [ports.1, ports.0]
        .into_iter()
        .filter_map(|port| port.checked_sub(FIRST_PORT))
        .map(usize::from)
        .find(|&number| number < count)
}

/// Largest number of flows: each needs a port.
pub const MOST_FLOWS: usize = 4096;
/// Above the ephemeral ports (`ip_local_port_range` ends at 60999).
const FIRST_PORT: u16 = 61_000;

#[cfg(test)]
mod tests {
    use goodqueue::Duration;

    use super::*;

    #[test]
    fn flows_are_known_by_their_port_in_both_directions() {
        assert_eq!(flow_of((port(3), 40_000), 4), Some(3));
        assert_eq!(flow_of((40_000, port(0)), 4), Some(0));
        assert_eq!(flow_of((40_000, port(4)), 4), None);
        assert_eq!(flow_of((0, 0), 4), None);
    }

    /// Returns the permitted capabilities of all threads of this name (proc_pid_status(5)).
    fn permitted(name: &str) -> Vec<String> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let statuses =
            tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok());
        let line = |status: &str, key: &str| {
            status.lines().find_map(|line| Some(line.strip_prefix(key)?.trim().to_owned()))
        };
        statuses
            .filter(|status| line(status, "Name:").as_deref() == Some(name))
            .map(|status| line(&status, "CapPrm:").unwrap() + &line(&status, "NoNewPrivs:").unwrap())
            .collect()
    }

    #[test]
    fn the_threads_of_a_flow_give_up_their_privileges() {
        let networks = Arc::new([Network::current().unwrap(), Network::current().unwrap()]);
        let tcp = TcpOptions { congestion_control: "reno".to_owned(), mss: None };
        let ping = FlowKind::Ping { interval: Duration::from_secs(1), bytes: 64 };
        let bulk = FlowKind::Bulk { direction: Direction::Up, size: None, tcp };
        // CAP_NET_ADMIN has number 12. The numbers of the flows are those of no other test.
        for (number, kind, left) in [(3001, ping, 0_u64), (3002, bulk, 1 << 12)] {
            let start = Instant::ZERO + Duration::from_secs(60);
            let spec = FlowSpec { kind, start, stop: start, rtt: Duration::ZERO };
            let (tell, ready) = std::sync::mpsc::channel();
            let addresses = [Ipv4Addr::LOCALHOST; 2];
            let flow = Flow::start(number, &spec, Clock::start(), &networks, addresses, &tell).unwrap();
            let is_allowed = (0..2).all(|_| ready.recv().unwrap().is_ok());
            let found = permitted(&format!("flow {number}"));
            flow.stop();
            // Without privileges no thread may enter a network, not even its own.
            if is_allowed {
                assert_eq!(found, [format!("{left:016x}1"), format!("{left:016x}1")], "flow {number}");
            }
        }
    }
}
