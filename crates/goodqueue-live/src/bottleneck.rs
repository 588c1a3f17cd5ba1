//! The event loop that carries packets between two devices, through one link in each direction.

use std::io::ErrorKind;
use std::os::fd::AsFd;

use goodqueue::{Duration, Instant};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signalfd::{SignalFd, siginfo};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::buffer::{Pool, SLAB};
use crate::clock::Clock;
use crate::device::Device;
use crate::error::LiveError;
use crate::gso::{Offload, SegmentedPacket, Train};
use crate::link::{Link, LinkConfig};
use crate::mailbox::Wakeup;
use crate::netlink::{InterfaceCounters, Netlink};
use crate::observer::{Direction, Observer};
use crate::packet::{Framing, IpPacket};

/// A bottleneck between two devices.
pub struct Bottleneck {
    clock: Clock,
    pool: Pool,
    memory_for_queues: usize,
    /// The device at the client's side, then the one at the server's.
    devices: [Device; 2],
    /// Down, then up.
    links: [Link; 2],
    /// Observers of every packet.
    pub observers: Vec<Box<dyn Observer>>,
    framing: u32,
    arrivals: [u64; 2],
    counters: Counters,
    kernel: [Option<(Netlink, u32)>; 2],
    epoll: Epoll,
    timer: TimerFd,
    armed_for: Option<Instant>,
    signals: Option<SignalFd>,
    bell: Option<Wakeup>,
    scratch: Box<[u8]>,
    batch: usize,
    train: Train,
    couple: bool,
    flood: Flood,
}

/// Detects a packet rate at which it pays to read less often.
#[derive(Clone, Copy, Default, Debug)]
struct Flood {
    since: Instant,
    count: usize,
    is_on: bool,
    /// The last batch was full, so more packets wait.
    is_more: bool,
}

impl Flood {
    fn look(&mut self, now: Instant) {
        if now.since(self.since) >= FLOOD_WINDOW {
            self.is_on = self.count >= FLOOD_PACKETS;
            self.since = now;
            self.count = 0;
        }
    }
}

/// Configuration of a bottleneck, without its devices.
#[derive(Clone, Debug)]
pub struct BottleneckConfig {
    /// Down, then up.
    pub links: [LinkConfig; 2],
    /// Bytes of memory for queued packets. Memory for propagating packets follows from rates and
    /// delays, and is added.
    pub memory: usize,
    /// Packets read or written in a row before the loop checks for other events; `None` means
    /// [`BATCH`].
    pub batch: Option<usize>,
    /// Writes consecutive segments of a connection to the kernel as one super-packet where the
    /// device allows it, as a network card does (GRO). This is much faster than writing packets one
    /// by one.
    pub couple: bool,
}

impl BottleneckConfig {
    /// Returns the bytes of memory for packets.
    ///
    /// # Errors
    /// The links can hold more packets on their way than [`MOST_MEMORY`].
    pub fn packet_memory(&self) -> Result<usize, LiveError> {
        for (link, direction) in self.links.iter().zip(Direction::BOTH) {
            let Some(bytes) = link.most_propagating::<IpPacket>() else { continue };
            if self.memory.saturating_add(in_buffers(bytes)) > MOST_MEMORY {
                return Err(LiveError::new(format!(
                    "rate times delay makes {} MB of packets on their way {}, more than the {} MiB of memory for packets",
                    bytes.div_ceil(1_000_000),
                    direction.name(),
                    MOST_MEMORY >> 20
                ))
                .help("choose a lower rate or a shorter round-trip time, or simulate this line"));
            }
        }
        let both = self.links.each_ref().map(LinkConfig::most_propagating::<IpPacket>);
        match memory(self.memory, both) {
            most if most > MOST_MEMORY => Err(LiveError::new(format!(
                "rate times delay of both directions makes more packets on their way than fit in {} MiB",
                MOST_MEMORY >> 20
            ))
            .help("choose a lower rate or a shorter round-trip time, or simulate this line")),
            enough => Ok(enough),
        }
    }
}

/// Returns the bytes of memory for queues and for the propagating bytes of both directions. Without
/// a rate it is the largest memory.
fn memory(for_queues: usize, propagating: [Option<u64>; 2]) -> usize {
    // A link without a rate has no bound on its packets on their way.
    let [Some(down), Some(up)] = propagating else { return MOST_MEMORY };
    for_queues.saturating_add(in_buffers(down)).saturating_add(in_buffers(up))
}

/// Returns the memory of these bytes in full packets.
fn in_buffers(bytes: u64) -> usize {
    let packets = bytes.div_ceil(FULL_PACKET);
    usize::try_from(packets.saturating_mul(SLAB as u64)).unwrap_or(usize::MAX)
}

/// Default bytes of memory for queued packets: 64 MiB. That is a queue of 10240 full packets (the
/// limit of `fq_codel`, RFC 8290 §5.2.3) in each direction, and half as much again.
pub const DEFAULT_MEMORY: usize = 64 << 20;
/// Most bytes of memory for packets: 768 MiB, or a round-trip time of 4 s at 1 Gbit/s. It is taken
/// only as far as packets need it.
pub const MOST_MEMORY: usize = 768 << 20;
/// Bytes of a full packet on Ethernet.
const FULL_PACKET: u64 = 1514;

/// Counters of events outside the queues. Each packet that is read from a device is counted by a
/// queue or here.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Packets read, by source device.
    pub read: [u64; 2],
    /// Packets written, by destination device.
    pub written: [u64; 2],
    /// Packets lost because the memory for packets was full.
    pub out_of_memory: u64,
    /// Packets lost because the device was down, full or refused them.
    pub not_written: u64,
    /// Packets lost because their offload header contradicted their contents.
    pub contradictory: u64,
    /// Wake-ups that came more than 1 ms late.
    pub late: u64,
    /// Longest delay of a wake-up.
    pub latest: Duration,
}

/// The reason for which [`Bottleneck::run_until`] returned.
#[derive(Debug)]
pub enum Pause {
    /// The given time has come.
    Time,
    /// A signal arrived.
    Signal(siginfo),
    /// A request waits in the mailbox given to [`Bottleneck::watch_requests`].
    Request,
}

impl Bottleneck {
    /// Creates a bottleneck between the device at the client's side and the one at the server's.
    ///
    /// # Errors
    /// The system has no timer or no epoll instance left, or packets need too much memory.
    pub fn new(clock: Clock, devices: [Device; 2], config: &BottleneckConfig) -> Result<Self, LiveError> {
        let failed = |errno: Errno| LiveError::system("the event loop cannot be created", errno);
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?;
        let timer =
            TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)
                .map_err(failed)?;
        for (device, token) in devices.iter().zip([CLIENT, SERVER]) {
            epoll.add(device, EpollEvent::new(EpollFlags::EPOLLIN, token)).map_err(failed)?;
        }
        // The kernel's default slack would make sleeps up to 50 us longer (`PR_SET_TIMERSLACK` in
        // prctl(2)).
        let _ = nix::sys::prctl::set_timerslack(1);
        // Edge-triggered, because then an expired timer need not be read before it is set again.
        let edge = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        epoll.add(timer.as_fd(), EpollEvent::new(edge, TIMER)).map_err(failed)?;
        let [down, up] = &config.links;
        Ok(Self {
            clock,
            pool: Pool::new(config.packet_memory()?),
            memory_for_queues: config.memory,
            devices,
            links: [Link::new(Direction::Down, down), Link::new(Direction::Up, up)],
            observers: Vec::new(),
            // Both directions count the same bytes for the link header.
            framing: down.framing,
            arrivals: [0; 2],
            counters: Counters::default(),
            kernel: [None, None],
            epoll,
            timer,
            armed_for: None,
            signals: None,
            bell: None,
            scratch: vec![0; LARGEST_PACKET].into_boxed_slice(),
            // A batch of no packets would never carry any.
            batch: config.batch.unwrap_or(BATCH).max(1),
            train: Train::default(),
            couple: config.couple,
            flood: Flood::default(),
        })
    }

    /// Makes [`Self::run_until`] return when one of these signals arrives. They must be blocked.
    ///
    /// # Errors
    /// The system refuses.
    pub fn watch_signals(&mut self, signals: SignalFd) -> Result<(), LiveError> {
        self.epoll
            .add(signals.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, SIGNAL))
            .map_err(|errno| LiveError::system("signals cannot be received", errno))?;
        self.signals = Some(signals);
        Ok(())
    }

    /// Makes [`Self::run_until`] return while a request waits in a mailbox.
    ///
    /// # Errors
    /// The system refuses.
    pub fn watch_requests(&mut self, bell: Wakeup) -> Result<(), LiveError> {
        self.epoll
            .add(bell.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, REQUEST))
            .map_err(|errno| LiveError::system("requests cannot be received", errno))?;
        self.bell = Some(bell);
        Ok(())
    }

    /// Sets the sources of the kernel's counters for the two interfaces.
    pub fn watch_kernel(&mut self, client: (Netlink, u32), server: (Netlink, u32)) {
        self.kernel = [Some(client), Some(server)];
    }

    /// Carries packets until `pause`, a signal or a request.
    ///
    /// # Errors
    /// A device was deleted.
    pub fn run_until(&mut self, pause: Instant) -> Result<Pause, LiveError> {
        // More than the five event sources.
        let mut events = [EpollEvent::empty(); 8];
        loop {
            let now = self.clock.now();
            self.flood.look(now);
            self.deliver(now)?;
            if now >= pause {
                return Ok(Pause::Time);
            }
            let next =
                self.links.iter().filter_map(Link::next_event).min().unwrap_or(Instant::MAX).min(pause);
            let timeout = if next <= now {
                EpollTimeout::ZERO
            } else if next.since(now) < MODERATION
                && self.links.iter().any(|link| link.is_dense(now, MODERATION))
            {
                self.rest((now + MODERATION).min(pause));
                EpollTimeout::ZERO
            // After a full batch more packets wait already, so the next read comes at once.
            } else if self.couple && self.flood.is_on && !std::mem::take(&mut self.flood.is_more) {
                // Packets that arrive during this rest are written together.
                self.rest((now + FLOOD_REST).min(next));
                EpollTimeout::ZERO
            } else {
                self.arm(now, next)?
            };
            let ready = match self.epoll.wait(&mut events, timeout) {
                Ok(count) => &events[..count],
                Err(Errno::EINTR) => {
                    // The end of a stop interrupts the wait. The timer is then set anew, so that
                    // its event never comes.
                    if self.armed_for.is_some_and(|due| due <= self.clock.now()) {
                        self.timer_fired();
                    }
                    continue;
                }
                Err(errno) => return Err(LiveError::system("waiting for packets failed", errno)),
            };
            for event in ready {
                match event.data() {
                    CLIENT => self.receive(Direction::Up)?,
                    SERVER => self.receive(Direction::Down)?,
                    TIMER => self.timer_fired(),
                    SIGNAL => {
                        if let Some(signal) =
                            self.signals.as_ref().and_then(|fd| fd.read_signal().ok().flatten())
                        {
                            return Ok(Pause::Signal(signal));
                        }
                    }
                    _ => return Ok(Pause::Request),
                }
            }
        }
    }

    /// Sleeps until `until`, ignoring all events.
    fn rest(&mut self, until: Instant) {
        let span = until.since(self.clock.now());
        if !span.is_zero() {
            std::thread::sleep(std::time::Duration::from_nanos(span.as_nanos()));
        }
        self.was_due(until);
    }

    fn arm(&mut self, now: Instant, next: Instant) -> Result<EpollTimeout, LiveError> {
        if next == Instant::MAX {
            return Ok(EpollTimeout::NONE);
        }
        // Setting the timer is a system call, which an unchanged time does not need.
        if self.armed_for != Some(next) {
            // A span of 0 would disarm the timer.
            let span = next.since(now).as_nanos().clamp(1, LONGEST_WAIT);
            let span = TimeSpec::from_duration(std::time::Duration::from_nanos(span));
            self.timer
                .set(Expiration::OneShot(span), TimerSetTimeFlags::empty())
                .map_err(|errno| LiveError::system("the timer cannot be set", errno))?;
            self.armed_for = Some(next);
        }
        Ok(EpollTimeout::NONE)
    }

    fn timer_fired(&mut self) {
        if let Some(due) = self.armed_for.take() {
            self.was_due(due);
        }
    }

    fn was_due(&mut self, due: Instant) {
        let late = self.clock.now().since(due);
        self.counters.late += u64::from(late > LATE);
        self.counters.latest = self.counters.latest.max(late);
    }

    /// Reads one batch of packets that travel in `direction`.
    fn receive(&mut self, direction: Direction) -> Result<(), LiveError> {
        let side = source(direction);
        let mut count = 0;
        while count < self.batch {
            let Some(device) = self.devices.get_mut(side) else { return Ok(()) };
            let length = match device.read(&mut self.scratch) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return self.device_trouble(side, &error),
            };
            let now = self.clock.now();
            let framing = device.framing(self.framing);
            let read = self.scratch.get(..length).unwrap_or_default();
            let cuts = read.split_first_chunk().and_then(|(header, frame)| {
                SegmentedPacket::from_frame(Offload::read(*header), frame, framing == Framing::Ethernet)
            });
            count += 1;
            let Some(cuts) = cuts else {
                self.counters.contradictory += 1;
                continue;
            };
            // A super-packet counts as all its packets, so that a batch takes a bounded time.
            count += cuts.count() - 1;
            self.flood.count += cuts.count();
            for index in 0..cuts.count() {
                self.counters.read[side] += 1;
                let Some(mut buffer) = self.pool.take(cuts.length(index)) else {
                    self.counters.out_of_memory += 1;
                    continue;
                };
                if cuts.write(index, buffer.bytes_mut()).is_none() {
                    self.counters.contradictory += 1;
                    continue;
                }
                let number = &mut self.arrivals[direction.index()];
                let packet = IpPacket::new(buffer, framing, *number, now).with_checksum(cuts.checksum());
                *number += 1;
                self.links[direction.index()].arrive(now, packet, &mut self.observers);
            }
        }
        self.flood.is_more = true;
        Ok(())
    }

    /// Writes at most one batch of packets in each direction.
    fn deliver(&mut self, now: Instant) -> Result<(), LiveError> {
        for direction in Direction::BOTH {
            let side = 1 - source(direction);
            let couple = self.couple && self.devices[side].takes_super_packets();
            for _ in 0..self.batch {
                let Some(packet) = self.links[direction.index()].poll(now, &mut self.observers) else {
                    break;
                };
                // Without `couple` each packet is refused, so that every train has one packet.
                let refused = if couple { self.train.push(packet).err() } else { Some(packet) };
                if let Some(packet) = refused {
                    self.depart(side)?;
                    // An empty train takes any packet.
                    let _ = self.train.push(packet);
                }
            }
            self.depart(side)?;
        }
        Ok(())
    }

    /// Writes the packets of the train as one.
    fn depart(&mut self, side: usize) -> Result<(), LiveError> {
        if self.train.is_empty() {
            return Ok(());
        }
        let count = self.train.len() as u64;
        let (offload, pieces) = self.train.couple();
        let written = self.devices[side].write(offload, pieces);
        self.train.clear();
        match written {
            Ok(()) => self.counters.written[side] += count,
            Err(error) => {
                self.counters.not_written += count;
                self.device_trouble(side, &error)?;
            }
        }
        Ok(())
    }

    /// Handles a failed read or write. A device that is down or full, or that refuses a packet, may
    /// recover. Only a deleted device is an error.
    fn device_trouble(&self, side: usize, error: &std::io::Error) -> Result<(), LiveError> {
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::EBADFD | Errno::ENODEV | Errno::ENXIO | Errno::EBADF) => {
                let name = self.devices.get(side).map_or("?", Device::name);
                Err(LiveError::new(format!("the interface `{name}` was deleted during the run"))
                    .help("its queued packets are lost; start the command again"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// True if packets have an Ethernet header.
    #[must_use]
    pub fn is_ethernet(&self) -> bool {
        self.devices.iter().any(|device| device.framing(0) == Framing::Ethernet)
    }

    /// Returns one direction.
    #[must_use]
    pub const fn link(&self, direction: Direction) -> &Link {
        &self.links[direction.index()]
    }

    /// Returns one direction for changes, with the observers to report them to.
    pub fn link_mut(&mut self, direction: Direction) -> (&mut Link, &mut Vec<Box<dyn Observer>>) {
        (&mut self.links[direction.index()], &mut self.observers)
    }

    /// Returns the counters of events outside the queues.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Adapts the memory for packets to a new rate, up to [`MOST_MEMORY`]. Packets that find no
    /// memory are counted as lost when they arrive.
    pub(crate) fn fit_memory(&mut self) {
        let both = self.links.each_ref().map(Link::most_propagating);
        self.pool.set_limit(memory(self.memory_for_queues, both).min(MOST_MEMORY));
    }

    /// Returns the bytes of memory that packets may occupy.
    #[must_use]
    pub fn memory_limit(&self) -> usize {
        self.pool.limit()
    }

    /// Returns the bytes of memory that packets occupy now, and their maximum so far.
    #[must_use]
    pub fn memory(&self) -> (usize, usize) {
        (self.pool.in_use(), self.pool.most())
    }

    /// Returns the kernel's counters of the client's interface and of the server's.
    pub fn kernel_counters(&mut self) -> [Option<InterfaceCounters>; 2] {
        self.kernel.each_mut().map(|kernel| {
            let (netlink, index) = kernel.as_mut()?;
            netlink.counters(*index).ok()
        })
    }

    /// Ends the run. Queued packets are followed to their fate, and all observers are told of it.
    pub fn finish(&mut self) {
        let now = self.clock.now();
        for direction in Direction::BOTH {
            let (link, observers) = self.link_mut(direction);
            link.finish(now, observers);
        }
        self.observers.iter_mut().for_each(|observer| observer.ended(now));
    }
}

impl std::fmt::Debug for Bottleneck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bottleneck")
            .field("devices", &self.devices)
            .field("links", &self.links)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

/// Returns the index of the device from which packets of this direction come.
const fn source(direction: Direction) -> usize {
    match direction {
        Direction::Up => 0,
        Direction::Down => 1,
    }
}

/// Packets read or written in a row before the loop checks for other events.
pub const BATCH: usize = 64;
/// Longest read: larger than any IP packet, and than the largest frame of an interface with
/// offloads including its header.
const LARGEST_PACKET: usize = 1 << 17;
const LATE: Duration = Duration::from_millis(1);
/// Interval between wake-ups of a busy link. It applies while the backlog takes longer than this to
/// send and one packet takes less (so not below 48 Mbit/s). A wake-up costs ten times as much as a
/// packet, and an earlier one could not send anything sooner. Network cards moderate their
/// interrupts in the same way.
const MODERATION: Duration = Duration::from_micros(250);
/// From 50,000 packets per second (600 Mbit/s of full packets), the loop rests before each read.
/// Without the rest it would run for every single segment, and each single ACK would make the
/// sender send single segments in turn.
const FLOOD_WINDOW: Duration = Duration::from_millis(1);
const FLOOD_PACKETS: usize = 50;
const FLOOD_REST: Duration = Duration::from_micros(50);
/// Longest time in nanoseconds for which the timer is set: one hour, far from any overflow.
const LONGEST_WAIT: u64 = 3_600_000_000_000;

// Event sources of the epoll instance.
const CLIENT: u64 = 0;
const SERVER: u64 = 1;
const TIMER: u64 = 2;
const SIGNAL: u64 = 3;
const REQUEST: u64 = 4;

#[cfg(test)]
mod tests {
    use goodqueue::{AnyConfig, Rate};

    use super::*;
    use crate::link::Delay;
    use goodqueue_link::capacity::Capacity;

    fn line(down: Capacity, delay_ms: u64) -> BottleneckConfig {
        let qdisc = goodqueue_tc::parse("pfifo", &goodqueue::config::Link::default()).unwrap();
        let link = |capacity, qdisc: &AnyConfig| LinkConfig {
            capacity,
            qdisc: qdisc.clone(),
            path: None,
            delay: Delay::from_base(Duration::from_millis(delay_ms)),
            framing: 14,
            salt: 0,
            seed: 1,
        };
        let up = Capacity::Constant(Rate::from_bps(1_000_000));
        BottleneckConfig {
            links: [link(down, &qdisc), link(up, &qdisc)],
            memory: DEFAULT_MEMORY,
            batch: None,
            couple: true,
        }
    }

    #[test]
    fn a_long_fast_line_has_memory_for_all_packets_on_their_way() {
        let gigabit = Capacity::Constant(Rate::from_bps(1_000_000_000));
        // 1 Gbit/s for 600 ms are 49,538 full packets, and the queue needs memory of its own.
        // With 2048 bytes each they take 97 MiB, and the queue 64 MiB.
        let memory = line(gigabit.clone(), 600).packet_memory().unwrap();
        assert!(memory > DEFAULT_MEMORY + 49_538 * SLAB && memory < 200 << 20, "{memory} bytes");
        assert_eq!(line(gigabit, 0).packet_memory().unwrap(), DEFAULT_MEMORY, "nothing propagates");
        assert_eq!(line(Capacity::UNLIMITED, 600).packet_memory().unwrap(), MOST_MEMORY);
    }

    #[test]
    fn a_line_that_would_need_gigabytes_is_refused() {
        let gigabit = Capacity::Constant(Rate::from_bps(1_000_000_000));
        // 1 Gbit/s for 10 s are 1250 MB.
        let refused = line(gigabit, 10_000).packet_memory().unwrap_err().to_string();
        assert!(refused.contains("1250 MB of packets on their way down"), "{refused}");
        assert!(refused.contains("help: choose a lower rate"), "{refused}");
    }
}
