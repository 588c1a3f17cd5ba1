//! The loop that carries packets: from one device through a link to the other, both ways.

use std::io::ErrorKind;
use std::os::fd::AsFd;

use goodqueue::{Duration, Instant};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signalfd::{SignalFd, siginfo};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::buffer::Pool;
use crate::clock::Clock;
use crate::device::Device;
use crate::error::LiveError;
use crate::gso::{Cuts, Offload, Train};
use crate::link::{Link, LinkConfig};
use crate::mailbox::Bell;
use crate::netlink::{InterfaceCounters, Netlink};
use crate::observer::{Direction, Observer};
use crate::packet::{Framing, IpPacket};

/// A bottleneck between two devices.
pub struct Bottleneck {
    clock: Clock,
    pool: Pool,
    /// Towards the client, towards the server.
    devices: [Device; 2],
    /// Down, up.
    links: [Link; 2],
    /// Who looks on.
    pub observers: Vec<Box<dyn Observer>>,
    framing: u32,
    arrivals: [u64; 2],
    counters: Counters,
    kernel: [Option<(Netlink, u32)>; 2],
    epoll: Epoll,
    timer: TimerFd,
    armed_for: Option<Instant>,
    signals: Option<SignalFd>,
    bell: Option<Bell>,
    scratch: Box<[u8]>,
    batch: usize,
    train: Train,
    couple: bool,
    flood: Flood,
}

/// Whether packets have been coming so fast lately that looking less often costs nobody anything.
#[derive(Clone, Copy, Default, Debug)]
struct Flood {
    since: Instant,
    count: usize,
    is_on: bool,
    /// More could be read than was.
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

/// What a bottleneck is made from, beside its devices.
#[derive(Clone, Debug)]
pub struct BottleneckConfig {
    /// Down, up.
    pub links: [LinkConfig; 2],
    /// Bytes that packets in queues and on their way may take together.
    pub memory: usize,
    /// Packets read or written before the loop looks at everything else again; `None`: [`BATCH`].
    pub batch: Option<usize>,
    /// Segments of a connection that come out together are handed to the kernel together, where the device takes it: much
    /// faster, and as a network card would (GRO). Otherwise each packet arrives by itself.
    pub couple: bool,
}

/// 64 MiB: a queue of 10240 full packets (the limit of `fq_codel`, RFC 8290 §5.2.3) in each direction, and 11 ms of 10
/// Gbit/s on their way.
pub const DEFAULT_MEMORY: usize = 64 << 20;

/// What happened beside the queues. Everything that was read from a device is in a queue's counters or in one of these.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Packets read, by the device they came from.
    pub read: [u64; 2],
    /// Packets written, by the device they went to.
    pub written: [u64; 2],
    /// Not queued, because all memory for packets was in use.
    pub out_of_memory: u64,
    /// Not written, because the device was down, full or refused the packet.
    pub not_written: u64,
    /// Not queued, because what the kernel said of them contradicted what stood in them.
    pub contradictory: u64,
    /// How often we ran more than a millisecond after we should have.
    pub late: u64,
    /// The longest that we ran late.
    pub latest: Duration,
}

/// Why [`Bottleneck::run_until`] came back.
#[derive(Debug)]
pub enum Pause {
    /// The time asked for has come.
    Time,
    /// A signal.
    Signal(siginfo),
    /// The bell of [`Bottleneck::watch_requests`] rings.
    Request,
}

impl Bottleneck {
    /// Between the device at the client's side and that at the server's.
    ///
    /// # Errors
    /// The system gives no timer or no epoll.
    pub fn new(clock: Clock, devices: [Device; 2], config: &BottleneckConfig) -> Result<Self, LiveError> {
        let failed = |errno: Errno| LiveError::system("the event loop cannot be set up", errno);
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?;
        let timer =
            TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)
                .map_err(failed)?;
        for (device, token) in devices.iter().zip([CLIENT, SERVER]) {
            epoll.add(device, EpollEvent::new(EpollFlags::EPOLLIN, token)).map_err(failed)?;
        }
        // A sleep should not be longer than it was meant to (`PR_SET_TIMERSLACK` in prctl(2)).
        let _ = nix::sys::prctl::set_timerslack(1);
        // Edge by edge: a timer that is set anew need not be read.
        let edge = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        epoll.add(timer.as_fd(), EpollEvent::new(edge, TIMER)).map_err(failed)?;
        let [down, up] = &config.links;
        Ok(Self {
            clock,
            pool: Pool::new(config.memory),
            devices,
            links: [Link::new(Direction::Down, down), Link::new(Direction::Up, up)],
            observers: Vec::new(),
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
            batch: config.batch.unwrap_or(BATCH).max(1),
            train: Train::default(),
            couple: config.couple,
            flood: Flood::default(),
        })
    }

    /// Lets these signals end a pause. They must be blocked.
    ///
    /// # Errors
    /// The system's.
    pub fn watch_signals(&mut self, signals: SignalFd) -> Result<(), LiveError> {
        self.epoll
            .add(signals.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, SIGNAL))
            .map_err(|errno| LiveError::system("signals cannot be watched", errno))?;
        self.signals = Some(signals);
        Ok(())
    }

    /// Lets requests that wait in a mailbox end a pause.
    ///
    /// # Errors
    /// The system's.
    pub fn watch_requests(&mut self, bell: Bell) -> Result<(), LiveError> {
        self.epoll
            .add(bell.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, REQUEST))
            .map_err(|errno| LiveError::system("requests cannot be watched", errno))?;
        self.bell = Some(bell);
        Ok(())
    }

    /// Where the kernel's counters of the two interfaces can be read.
    pub fn watch_kernel(&mut self, client: (Netlink, u32), server: (Netlink, u32)) {
        self.kernel = [Some(client), Some(server)];
    }

    /// Carries packets until `pause`, or something else needs attention.
    ///
    /// # Errors
    /// A device is gone.
    pub fn run_until(&mut self, pause: Instant) -> Result<Pause, LiveError> {
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
            } else if self.couple && self.flood.is_on && !std::mem::take(&mut self.flood.is_more) {
                // What comes meanwhile is put together.
                self.rest((now + FLOOD_REST).min(next));
                EpollTimeout::ZERO
            } else {
                self.arm(now, next)?
            };
            let ready = match self.epoll.wait(&mut events, timeout) {
                Ok(count) => &events[..count],
                Err(Errno::EINTR) => continue,
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

    /// Sleeps until `until`, whatever comes.
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

    /// Reads packets that travel in `direction`, a bounded number: the rest is there when the loop comes round.
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
                Cuts::of(Offload::read(*header), frame, framing == Framing::Ethernet)
            });
            count += 1;
            let Some(cuts) = cuts else {
                self.counters.contradictory += 1;
                continue;
            };
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

    /// Hands out what has come through, a bounded number of packets.
    fn deliver(&mut self, now: Instant) -> Result<(), LiveError> {
        for direction in Direction::BOTH {
            let side = 1 - source(direction);
            let couple = self.couple && self.devices[side].takes_super_packets();
            for _ in 0..self.batch {
                let Some(packet) = self.links[direction.index()].poll(now, &mut self.observers) else {
                    break;
                };
                let refused = if couple { self.train.push(packet).err() } else { Some(packet) };
                if let Some(packet) = refused {
                    self.depart(side)?;
                    // An empty train takes any.
                    let _ = self.train.push(packet);
                }
            }
            self.depart(side)?;
        }
        Ok(())
    }

    /// Writes the packets that were put together.
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

    /// What passes (a device that is down or full, a packet that it refuses) is waited for; only a device that is gone ends
    /// the run.
    fn device_trouble(&self, side: usize, error: &std::io::Error) -> Result<(), LiveError> {
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::EBADFD | Errno::ENODEV | Errno::ENXIO | Errno::EBADF) => {
                let name = self.devices.get(side).map_or("?", Device::name);
                Err(LiveError::new(format!("the interface `{name}` was deleted underneath"))
                    .help("what was queued for it is gone with it; start again"))
            }
            _ => Ok(()),
        }
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// True if packets come with an Ethernet header.
    #[must_use]
    pub fn is_ethernet(&self) -> bool {
        self.devices.iter().any(|device| device.framing(0) == Framing::Ethernet)
    }

    /// One direction.
    #[must_use]
    pub const fn link(&self, direction: Direction) -> &Link {
        &self.links[direction.index()]
    }

    /// One direction, to be changed, and who looks on.
    pub fn link_mut(&mut self, direction: Direction) -> (&mut Link, &mut Vec<Box<dyn Observer>>) {
        (&mut self.links[direction.index()], &mut self.observers)
    }

    /// What happened beside the queues.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Bytes of memory that packets take now, and took at most.
    #[must_use]
    pub fn memory(&self) -> (usize, usize) {
        (self.pool.in_use(), self.pool.most())
    }

    /// What the kernel counts on its side of the two devices: that towards the client, that towards the server.
    pub fn kernel_counters(&mut self) -> [Option<InterfaceCounters>; 2] {
        self.kernel.each_mut().map(|kernel| {
            let (netlink, index) = kernel.as_mut()?;
            netlink.counters(*index).ok()
        })
    }

    /// Ends it: what is queued is followed to its fate, and everybody is told.
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

/// The device that packets in this direction come from.
const fn source(direction: Direction) -> usize {
    match direction {
        Direction::Up => 0,
        Direction::Down => 1,
    }
}

/// Packets read or written before the loop looks at everything else again.
pub const BATCH: usize = 64;
/// The largest IP packet, and the largest frame that an interface with offloads gives, with what stands before it.
const LARGEST_PACKET: usize = 1 << 17;
const LATE: Duration = Duration::from_millis(1);
/// While a link has more to do than that, and needs less for one packet, the loop looks no more often than this: a wake-up
/// costs ten times what a packet does, and nothing that came meanwhile could be sent sooner. Network cards moderate their interrupts in the same way and to the same degree; a
/// link without a queue is not concerned, nor one of less than 48 Mbit/s.
const MODERATION: Duration = Duration::from_micros(250);
/// From 50,000 packets a second on (600 Mbit/s of full ones) the loop waits a little before it looks again. Otherwise it would run
/// at once for every segment that a connection sends, which then sends the next one alone, too: at such rates segments only
/// come in numbers if they are let.
const FLOOD_WINDOW: Duration = Duration::from_millis(1);
const FLOOD_PACKETS: usize = 50;
const FLOOD_REST: Duration = Duration::from_micros(50);
/// A timer is set for an hour at most: far from any overflow.
const LONGEST_WAIT: u64 = 3_600_000_000_000;

// What epoll says is ready.
const CLIENT: u64 = 0;
const SERVER: u64 = 1;
const TIMER: u64 = 2;
const SIGNAL: u64 = 3;
const REQUEST: u64 = 4;
