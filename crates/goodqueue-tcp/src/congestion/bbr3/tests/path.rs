//! A connection with BBR over one bottleneck: a rate, a buffer, a delay, and faults on request.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use goodqueue::{Duration, Instant};

use crate::congestion::bbr3::Bbr3;
use crate::congestion::bbr3::state::State;
use crate::registry::AnyCongestionControl;
use crate::segment::{Flags, Segment};
use crate::{Catalogue, Receiver, Sender};

pub(super) const MSS: u64 = 1448;
/// Latency one way; the RTT is 40 ms.
const ONE_WAY: Duration = Duration::from_millis(20);
/// Larger than any window here.
pub(super) const DEEP: u64 = 10_000_000;

#[derive(Clone, Copy, Debug)]
enum To {
    Sender,
    Receiver,
}

/// What the path does with a segment of data, besides delaying it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Deliver,
    Lose,
    Late(Duration),
}

/// A token bucket that drops what it has no tokens for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policer {
    pub(super) rate: f64,
    pub(super) depth: f64,
    pub(super) tokens: f64,
    pub(super) at: Instant,
}

impl Policer {
    fn passes(&mut self, now: Instant, len: f64) -> bool {
        self.tokens = (self.tokens + self.rate * now.since(self.at).as_nanos() as f64 * 1e-9).min(self.depth);
        self.at = now;
        let passes = self.tokens >= len;
        if passes {
            self.tokens -= len;
        }
        passes
    }
}

pub(super) struct Path {
    pub(super) now: Instant,
    sender: Sender,
    receiver: Receiver,
    /// Bytes per second.
    pub(super) rate: f64,
    /// Bytes that may wait.
    pub(super) buffer: u64,
    pub(super) policer: Option<Policer>,
    /// ACKs arrive together at multiples of this time.
    pub(super) bunch: Duration,
    /// The fate of the n-th segment of data.
    pub(super) fate: Box<dyn FnMut(u64) -> Fate>,
    /// What the application writes each millisecond; `None`: it has always something to send.
    pub(super) writes: Option<u64>,
    next_write: Instant,
    busy_until: Instant,
    sent: u64,
    pub(super) dropped: u64,
    wire: BTreeMap<(Instant, u64), (To, Segment)>,
    order: u64,
}

pub(super) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Bytes per second.
pub(super) fn mbit(rate: f64) -> f64 {
    rate * 125_000.0
}

impl Path {
    /// A sender without end on a path of `rate` bytes per second, whose connection is opened.
    pub(super) fn bulk(rate: f64, buffer: u64) -> Self {
        let mut path = Self::idle(rate, buffer);
        path.sender.write(u64::MAX);
        path
    }

    /// An application that writes `bytes` each millisecond.
    pub(super) fn limited(rate: f64, buffer: u64, bytes: u64) -> Self {
        Self { writes: Some(bytes), ..Self::idle(rate, buffer) }
    }

    fn idle(rate: f64, buffer: u64) -> Self {
        let catalogue = Catalogue::new();
        let settings = catalogue.profile("linux").expect("a profile of this crate").settings;
        let controller = catalogue.controller("bbr3").expect("a controller of this crate");
        let mut sender = Sender::new(settings, controller).expect("valid");
        sender.open(Instant::ZERO);
        Self {
            now: Instant::ZERO,
            sender,
            receiver: Receiver::new(settings).expect("valid"),
            rate,
            buffer,
            policer: None,
            bunch: Duration::ZERO,
            fate: Box::new(|_| Fate::Deliver),
            writes: None,
            next_write: Instant::ZERO,
            busy_until: Instant::ZERO,
            sent: 0,
            dropped: 0,
            wire: BTreeMap::new(),
            order: 0,
        }
    }

    pub(super) fn bbr(&self) -> &Bbr3 {
        match self.sender.controller() {
            AnyCongestionControl::Bbr3(bbr) => bbr,
            other => panic!("{}", other.about().name),
        }
    }

    pub(super) fn state(&self) -> State {
        self.bbr().state
    }

    /// The application has nothing to send any more.
    pub(super) fn take_back(&mut self) {
        self.sender.take_back();
    }

    pub(super) fn pipe(&self) -> u64 {
        self.sender.pipe()
    }

    /// Retransmission timeouts so far.
    pub(super) fn timeouts(&self) -> u64 {
        self.sender.stats().timeouts
    }

    pub(super) fn acknowledged(&self) -> u64 {
        self.sender.acknowledged()
    }

    /// Steps until `condition` holds, for a minute at most.
    pub(super) fn until(&mut self, mut condition: impl FnMut(&Self) -> bool) -> Instant {
        let end = self.now + Duration::from_secs(60);
        while !condition(self) {
            assert!(self.now < end && self.step(), "{:?} after {:?}", self.state(), self.now);
        }
        self.now
    }

    pub(super) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        self.exchange();
        while self.next_event().is_some_and(|next| next <= end) && self.step() {}
        self.now = end;
    }

    /// Goodput over the next `span`, in bytes per second.
    pub(super) fn goodput(&mut self, span: Duration) -> f64 {
        let before = self.acknowledged();
        self.run(span);
        (self.acknowledged() - before) as f64 / (span.as_nanos() as f64 * 1e-9)
    }

    fn next_event(&self) -> Option<Instant> {
        let wire = self.wire.first_key_value().map(|(key, _)| key.0);
        let write = self.writes.map(|_| self.next_write);
        [wire, write, self.sender.next_event(), self.receiver.next_event()].into_iter().flatten().min()
    }

    fn step(&mut self) -> bool {
        self.exchange();
        let Some(next) = self.next_event() else { return false };
        self.now = self.now.max(next);
        if let Some(bytes) = self.writes
            && self.next_write <= self.now
        {
            self.sender.write(bytes);
            self.next_write = self.now + ms(1);
        }
        if let Some((&key, &(to, segment))) = self.wire.first_key_value()
            && key.0 <= self.now
        {
            self.wire.remove(&key);
            match to {
                To::Sender => self.sender.on_segment(self.now, &segment),
                To::Receiver => self.receiver.on_segment(self.now, &segment),
            }
        }
        self.exchange();
        true
    }

    fn exchange(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.forward(segment);
        }
        while let Some(segment) = self.receiver.poll_transmit(self.now) {
            let mut due = self.now + ONE_WAY;
            if !self.bunch.is_zero() {
                due = Instant::from_nanos(due.as_nanos().next_multiple_of(self.bunch.as_nanos()));
            }
            self.put(due, To::Sender, segment);
        }
    }

    /// The bottleneck.
    fn forward(&mut self, segment: Segment) {
        let is_data = segment.len > 0 && !segment.flags.contains(Flags::SYN);
        self.sent += u64::from(is_data);
        let fate = if is_data { (self.fate)(self.sent) } else { Fate::Deliver };
        // Headers of 40 bytes, and the timestamps.
        let len = f64::from(segment.len) + 52.0;
        let now = self.now;
        let waiting = self.busy_until.since(now).as_nanos() as f64 * 1e-9 * self.rate;
        let is_policed = self.policer.as_mut().is_some_and(|policer| !policer.passes(now, len));
        if fate == Fate::Lose || is_policed || waiting + len > self.buffer as f64 {
            self.dropped += 1;
            return;
        }
        let busy = Duration::from_nanos(crate::congestion::whole::whole(len / self.rate * 1e9));
        self.busy_until = self.busy_until.max(now) + busy;
        let late = if let Fate::Late(by) = fate { by } else { Duration::ZERO };
        self.put(self.busy_until + ONE_WAY + late, To::Receiver, segment);
    }

    fn put(&mut self, due: Instant, to: To, segment: Segment) {
        self.wire.insert((due, self.order), (to, segment));
        self.order += 1;
    }
}
