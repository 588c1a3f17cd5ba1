//! Datagrams with the lengths and the send times of recorded packets.

use std::sync::Arc;

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction, Duration, Instant};

use super::datagrams::Datagrams;
use super::source::{Settings, Source, Tally};
use crate::id::FlowId;
use crate::network::Network;
use crate::packet::Packet;

/// The settings of a sender that repeats a recording.
#[derive(Clone, PartialEq, Debug)]
pub struct CaptureSettings {
    /// Direction of the datagrams.
    pub direction: Direction,
    /// Time since the first packet, in ascending order, and length of the IP packet in bytes.
    pub packets: Arc<[(Duration, u32)]>,
    /// Period after which the recording starts again; `None`: it is sent once.
    pub period: Option<Duration>,
    /// True if the packets are ECN-capable, ECT(0).
    pub ecn: bool,
}

impl Settings for CaptureSettings {
    const KIND: &'static str = "capture";

    fn direction(&self) -> Direction {
        self.direction
    }
}

/// A sender that repeats a recording.
#[derive(Debug)]
pub struct Capture {
    flow: FlowId,
    settings: CaptureSettings,
    datagrams: Datagrams,
    /// Start of the current repetition.
    begun_at: Instant,
    /// Packets of the current repetition that have been sent.
    next: usize,
    stopped: bool,
}

impl Capture {
    /// Creates the sender for flow number `flow`.
    ///
    /// # Errors
    /// Never.
    pub fn new(flow: FlowId, settings: &CaptureSettings, _: Xoshiro256PlusPlus) -> Result<Self, ConfigError> {
        let datagrams = Datagrams::new(flow, settings.direction, settings.ecn);
        let stopped = settings.packets.is_empty();
        Ok(Self { flow, settings: settings.clone(), datagrams, begun_at: Instant::ZERO, next: 0, stopped })
    }

    /// Returns the time at which the next packet is due; `None` if there is none.
    fn due(&mut self) -> Option<Instant> {
        if self.next == self.settings.packets.len() {
            // A period of zero must not stop time.
            self.begun_at += self.settings.period?.max(Duration::from_nanos(1));
            self.next = 0;
        }
        self.settings.packets.get(self.next).map(|packet| self.begun_at + packet.0)
    }
}

impl Source for Capture {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.begun_at = now;
        self.on_wake(now, network);
    }

    fn stop(&mut self, _now: Instant) {
        self.stopped = true;
    }

    fn on_packet(&mut self, _now: Instant, packet: &Packet, _direction: Direction, network: &mut Network) {
        self.datagrams.on_packet(packet, network);
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        // Several packets may have been recorded at one instant, and all of them leave in one
        // wake-up.
        while !self.stopped {
            match self.due() {
                Some(due) if due <= now => {
                    self.datagrams.send(now, self.settings.packets[self.next].1, network);
                    self.next += 1;
                }
                Some(due) => return network.wake(self.flow, due),
                None => return,
            }
        }
    }

    fn delivered(&self) -> u64 {
        self.datagrams.delivered()
    }

    fn tally(&self) -> Tally {
        self.datagrams.tally()
    }
}
