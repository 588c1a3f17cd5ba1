//! Flows over UDP: pings, and datagrams at a fixed interval. Each datagram begins with its number,
//! by which the receiver finds its sample.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::Ordering;
use std::time::Duration as SystemDuration;

use goodqueue::Duration;
use nix::sys::socket::{setsockopt, sockopt};

use super::end::{End, PATIENCE, SERVER, first_number, is_pause, lock};

impl End {
    /// Sends every datagram back.
    pub(super) fn answer_pings(&self) -> io::Result<()> {
        let socket = UdpSocket::bind(self.address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        self.tell_ready();
        let mut datagram = vec![0; LARGEST_DATAGRAM];
        while !self.is_over() {
            match socket.recv_from(&mut datagram) {
                Ok((length, from)) => {
                    // A full socket buffer loses an answer, as a network may.
                    let _ = socket.send_to(&datagram[..length], from);
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends a ping of `bytes` at every `interval` and measures the round-trip times.
    pub(super) fn ping(&self, interval: Duration, bytes: u32) -> io::Result<()> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect(self.address)?;
        self.tell_ready();
        if !self.wait_until(self.spec.start) {
            return Ok(());
        }
        let mut datagram = vec![0; payload(bytes)];
        let mut answer = vec![0; LARGEST_DATAGRAM];
        let mut next = self.clock.now();
        for number in 0_u64.. {
            if self.is_over() {
                break;
            }
            datagram[..8].copy_from_slice(&number.to_be_bytes());
            let now = self.clock.now();
            self.shared.sent.fetch_add(1, Ordering::SeqCst);
            self.sample(now, None, datagram.len() as u64);
            let _ = socket.send(&datagram);
            // An interval of 0 would leave no time to receive the answers.
            next += interval.max(Duration::from_micros(1));
            loop {
                let left = next.since(self.clock.now());
                if left.is_zero() || self.is_over() {
                    break;
                }
                socket.set_read_timeout(Some(SystemDuration::from_nanos(left.as_nanos()).min(PATIENCE)))?;
                match socket.recv(&mut answer) {
                    Ok(length) => self.arrived(answer.get(..length).unwrap_or_default()),
                    Err(error) if is_pause(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Completes the sample of a datagram that has arrived.
    fn arrived(&self, datagram: &[u8]) {
        let now = self.clock.now();
        let Some(number) = first_number(datagram).and_then(|number| usize::try_from(number).ok()) else {
            return;
        };
        if let Some(sample) = lock(&self.shared.samples).get_mut(number)
            // The first copy counts, because a path may duplicate packets.
            && sample.took.is_none()
        {
            sample.took = Some(now.since(sample.sent_at));
            self.shared.delivered.fetch_add(datagram.len() as u64, Ordering::SeqCst);
        }
    }

    /// Sends or receives datagrams of `bytes` at every `interval`.
    pub(super) fn datagrams(&self, sends: bool, interval: Duration, bytes: u32, ecn: bool) -> io::Result<()> {
        let socket = if self.side == SERVER {
            UdpSocket::bind(self.address)?
        } else {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            socket.connect(self.address)?;
            // A datagram that told the server this address could be lost.
            let _ = self.shared.client.set(socket.local_addr()?);
            socket
        };
        socket.set_read_timeout(Some(PATIENCE))?;
        self.tell_ready();
        if self.side == SERVER && sends {
            self.connect_to_client(&socket)?;
        }
        if !sends {
            return self.receive_datagrams(&socket);
        }
        if ecn {
            setsockopt(&socket, sockopt::Ipv4Tos, &ECT_0)?;
        }
        let mut datagram = vec![0; payload(bytes)];
        let mut next = self.spec.start;
        for number in 0_u64.. {
            if !self.wait_until(next) {
                break;
            }
            let now = self.clock.now();
            datagram[..8].copy_from_slice(&number.to_be_bytes());
            // The sample exists before the packet leaves, so that its arrival at the other thread
            // finds it.
            self.sample(now, None, datagram.len() as u64);
            self.shared.sent.fetch_add(1, Ordering::SeqCst);
            let _ = socket.send(&datagram);
            // With an interval of 0 the time of the next datagram would stay in the past.
            next += interval.max(Duration::from_micros(1));
        }
        Ok(())
    }

    /// Connects the socket to the client's once that exists, unless the flow ends first.
    fn connect_to_client(&self, socket: &UdpSocket) -> io::Result<()> {
        while !self.is_over() {
            if let Some(client) = self.shared.client.get() {
                return socket.connect(client);
            }
            std::thread::sleep(SystemDuration::from_millis(1));
        }
        Ok(())
    }

    fn receive_datagrams(&self, socket: &UdpSocket) -> io::Result<()> {
        let mut datagram = vec![0; LARGEST_DATAGRAM];
        while !self.is_over() {
            match socket.recv(&mut datagram) {
                Ok(length) => self.arrived(datagram.get(..length).unwrap_or_default()),
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Bytes of payload in an IP packet of `bytes`, enough for a number at least.
pub(super) fn payload(bytes: u32) -> usize {
    usize::try_from(bytes).unwrap_or(0).saturating_sub(UDP_HEADERS).clamp(8, LARGEST_DATAGRAM)
}

// 65,535 bytes of IPv4 less the two headers.
const LARGEST_DATAGRAM: usize = 65_507;
/// Bytes of the headers of IPv4 and UDP without options.
const UDP_HEADERS: usize = 28;
/// The TOS byte of an ECN-capable packet (RFC 3168 §5).
const ECT_0: i32 = 2;

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;

    use goodqueue::Instant;

    use super::super::end::{CLIENT, Shared};
    use super::super::spec::{FlowKind, FlowSpec};
    use super::*;
    use crate::clock::Clock;
    use crate::error::LiveError;
    use crate::namespace::Network;
    use crate::observer::Direction;

    const INTERVAL: Duration = Duration::from_millis(5);

    /// Returns the client's end of a flow over the loopback interface, the server's, and the
    /// messages of both.
    fn ends() -> ([End; 2], Receiver<Result<(), LiveError>>) {
        // The kernel chooses a port that is free again afterwards.
        let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let SocketAddr::V4(address) = free else { panic!("{free} is of IPv4") };
        let networks = Arc::new([Network::current().unwrap(), Network::current().unwrap()]);
        let shared = Arc::new(Shared::default());
        let clock = Clock::start();
        let (ready, messages) = channel();
        let kind =
            FlowKind::Datagrams { direction: Direction::Down, interval: INTERVAL, bytes: 100, ecn: false };
        let stop = Instant::ZERO + Duration::from_secs(60);
        let ends = [CLIENT, SERVER].map(|side| End {
            spec: FlowSpec { kind: kind.clone(), start: Instant::ZERO, stop, rtt: Duration::ZERO },
            clock,
            shared: Arc::clone(&shared),
            address,
            networks: Arc::clone(&networks),
            side,
            serves: side == SERVER,
            ready: ready.clone(),
        });
        (ends, messages)
    }

    #[test]
    fn datagrams_reach_the_client_although_its_first_packets_are_lost() {
        let ([client, server], messages) = ends();
        thread::scope(|scope| {
            let receiver = scope.spawn(|| client.datagrams(false, INTERVAL, 100, false));
            messages.recv().unwrap().unwrap();
            // What the client sends now is lost, because the server has no socket yet.
            thread::sleep(SystemDuration::from_millis(30));
            let sender = scope.spawn(|| server.datagrams(true, INTERVAL, 100, false));
            // However slow the machine is, the flow lasts until something has arrived.
            while client.shared.delivered.load(Ordering::SeqCst) == 0 && !client.is_over() {
                thread::sleep(SystemDuration::from_millis(1));
            }
            client.shared.over.store(true, Ordering::SeqCst);
            sender.join().unwrap().unwrap();
            receiver.join().unwrap().unwrap();
        });
        // 72 bytes of payload in a packet of 100.
        assert!(client.shared.delivered.load(Ordering::SeqCst) >= 72);
    }

    #[test]
    fn of_several_copies_only_the_first_is_delivered() {
        let ([client, _], _messages) = ends();
        client.sample(Instant::ZERO, None, 72);
        client.arrived(&[0; 72]);
        let first = lock(&client.shared.samples)[0].took;
        thread::sleep(SystemDuration::from_millis(1));
        client.arrived(&[0; 72]);
        assert_eq!(client.shared.delivered.load(Ordering::SeqCst), 72);
        assert_eq!(lock(&client.shared.samples)[0].took, first);
        // Datagram 1 was never sent.
        client.arrived(&1_u64.to_be_bytes());
        assert_eq!(client.shared.delivered.load(Ordering::SeqCst), 72);
    }
}
