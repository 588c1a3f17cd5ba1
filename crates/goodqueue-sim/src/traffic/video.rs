//! A viewer of adaptive video over HTTP (DASH, ISO/IEC 23009-1): the film is cut into segments of equal duration, each to be had
//! at every bit rate of a ladder; the client fetches one after the other over one connection and chooses the bit rate of each.
//!
//! * **Choice.** The throughput to expect is the harmonic mean of those of the last five segments (Yin et al., "A
//!   control-theoretic approach for dynamic adaptive video streaming over HTTP", SIGCOMM 2015), each from its request to its last
//!   byte. The bit rate may be 0.85 of it, and goes up by one step of the ladder at a time, but down as far as it must (Jiang,
//!   Sekar & Zhang, "Improving fairness, efficiency, and stability in HTTP-based adaptive video streaming with FESTIVE", CoNEXT
//!   2012). While less than two segments are ready to be shown it is the lowest (the reservoir of Huang et al., "A buffer-based
//!   approach to rate adaptation", SIGCOMM 2014).
//! * **Buffer.** A segment is asked for as soon as the one before it is complete and there is room for it: a viewer of a fast
//!   line is silent part of the time. Showing begins when `ready` is in the buffer, and after a stall likewise.
//!
//! Segments have exactly the bytes of their bit rate, where real ones vary; the film does not end.

use std::collections::VecDeque;

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Duration, Instant, Rate};
use goodqueue_tcp::{AnyCongestionControl, Config};

use super::connections::{Connections, Handle};
use super::{Settings, Source, Tally};
use crate::network::Network;
use crate::packet::{Direction, Packet};

/// What a viewer does.
#[derive(Clone, Debug)]
pub struct VideoSettings {
    /// Where the film goes: `Down` to viewers behind the line, `Up` from servers there to viewers elsewhere.
    pub direction: Direction,
    /// Bit rates, ascending and above 0; at least one.
    pub ladder: Vec<Rate>,
    /// Duration of a segment, above 0.
    pub segment: Duration,
    /// So much of the film is fetched ahead at most, at least `ready` and a segment.
    pub buffer: Duration,
    /// So much is fetched before showing begins.
    pub ready: Duration,
    /// Bytes of a request.
    pub request: u64,
    /// Settings of both ends.
    pub config: Config,
    /// The senders' congestion control.
    pub congestion_control: AnyCongestionControl,
}

impl Settings for VideoSettings {
    const KIND: &'static str = "video";

    fn direction(&self) -> Direction {
        self.direction
    }

    fn congestion_control(&self) -> Option<&'static str> {
        Some(self.congestion_control.about().name)
    }
}

/// One segment that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// When.
    pub begun_at: Instant,
    /// When it was complete; `None`: it is not.
    pub ended_at: Option<Instant>,
    /// Its bit rate.
    pub rate: Rate,
}

/// What was shown.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Showing {
    /// The segments, in their order.
    pub segments: Vec<Segment>,
    /// When showing began.
    pub shown_from: Option<Instant>,
    /// When the buffer was empty, and when showing went on.
    pub stalls: Vec<(Instant, Option<Instant>)>,
}

/// The client and the server.
#[derive(Debug)]
pub struct Video {
    flow: u32,
    settings: VideoSettings,
    connections: Connections,
    connection: Option<Handle>,
    /// Bytes that must have arrived for the server to have the request, and for the segment to be complete.
    asked: u64,
    awaited: u64,
    /// Bytes of the segment that is fetched, until the server answers.
    unanswered: Option<u64>,
    phase: Phase,
    /// The film in the buffer at `since`.
    buffered: Duration,
    since: Instant,
    is_shown: bool,
    /// Step of the ladder of the last segment.
    step: usize,
    /// Seconds per bit of the last segments.
    paces: VecDeque<f64>,
    showing: Showing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// A segment is fetched.
    Fetch,
    /// There is no room for another.
    Full,
    Stopped,
}

impl Video {
    /// A viewer as flow number `flow`.
    ///
    /// # Errors
    /// The TCP configuration is refused.
    pub fn new(flow: u32, settings: &VideoSettings, _: Xoshiro256PlusPlus) -> Result<Self, ConfigError> {
        let asks = settings.direction.reverse();
        Ok(Self {
            flow,
            settings: settings.clone(),
            connections: Connections::new(flow, asks, settings.config, settings.congestion_control.clone())?,
            connection: None,
            asked: 0,
            awaited: 0,
            unanswered: None,
            phase: Phase::Stopped,
            buffered: Duration::ZERO,
            since: Instant::ZERO,
            is_shown: false,
            step: 0,
            paces: VecDeque::with_capacity(PACES),
            showing: Showing::default(),
        })
    }

    /// Shows what has been shown since the last look.
    fn look(&mut self, now: Instant) {
        let elapsed = now.since(self.since);
        self.since = now;
        if !self.is_shown {
            return;
        }
        self.buffered = self.buffered.saturating_sub(elapsed);
        if self.buffered.is_zero() {
            self.is_shown = false;
            self.showing.stalls.push((now, None));
        }
    }

    /// Asks for the next segment, if there is room for it.
    fn fetch(&mut self, now: Instant, network: &mut Network) {
        if self.buffered + self.settings.segment > self.settings.buffer {
            self.phase = Phase::Full;
            return;
        }
        self.phase = Phase::Fetch;
        self.step = self.choose();
        let Some((&rate, handle)) = self.settings.ladder.get(self.step).zip(self.connection) else { return };
        self.showing.segments.push(Segment { begun_at: now, ended_at: None, rate });
        let bytes = rate.bytes_in(self.settings.segment).max(1);
        self.unanswered = Some(bytes);
        self.asked += self.settings.request;
        self.awaited += bytes;
        let asks = self.settings.direction.reverse();
        self.connections.write(now, handle, (asks, self.settings.request), network);
    }

    /// The step of the ladder for the next segment.
    #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
    fn choose(&self) -> usize {
        if self.paces.is_empty() || self.buffered < self.settings.segment.saturating_mul(RESERVOIR) {
            return 0;
        }
        let expected = self.paces.len() as f64 / self.paces.iter().sum::<f64>();
        let fits = |rate: &&Rate| rate.as_bps() as f64 <= SHARE * expected;
        let highest = self.settings.ladder.iter().take_while(fits).count().saturating_sub(1);
        highest.min(self.step + 1)
    }

    /// Bytes have arrived: what follows from it.
    fn advance(&mut self, now: Instant, handle: Handle, network: &mut Network) {
        if self.phase != Phase::Fetch || self.connection != Some(handle) {
            return;
        }
        let direction = self.settings.direction;
        if let Some(bytes) = self.unanswered {
            if self.connections.delivered(handle, direction.reverse()) < self.asked {
                return;
            }
            self.unanswered = None;
            self.connections.write(now, handle, (direction, bytes), network);
        }
        if self.connections.delivered(handle, direction) >= self.awaited {
            self.complete(now);
            self.fetch(now, network);
            self.wake(network);
        }
    }

    /// A segment is there.
    #[expect(clippy::cast_precision_loss, reason = "times and sizes are far below 2^53")]
    fn complete(&mut self, now: Instant) {
        self.look(now);
        self.buffered += self.settings.segment;
        if let Some(segment) = self.showing.segments.last_mut() {
            segment.ended_at = Some(now);
            let seconds = now.since(segment.begun_at).as_nanos().max(1) as f64 / 1e9;
            let bits = segment.rate.bytes_in(self.settings.segment).max(1) as f64 * 8.0;
            if self.paces.len() == PACES {
                self.paces.pop_front();
            }
            self.paces.push_back(seconds / bits);
        }
        if !self.is_shown && self.buffered >= self.settings.ready {
            self.is_shown = true;
            match self.showing.stalls.last_mut() {
                Some((_, goes_on)) => *goes_on = Some(now),
                None => self.showing.shown_from = Some(now),
            }
        }
    }

    /// Asks to be woken when the buffer is empty, or has room.
    fn wake(&self, network: &mut Network) {
        if self.is_shown && self.phase != Phase::Stopped {
            network.wake(self.flow, self.since + self.buffered);
        }
        if self.phase == Phase::Full {
            let excess = (self.buffered + self.settings.segment).saturating_sub(self.settings.buffer);
            network.wake(self.flow, self.since + excess);
        }
    }
}

impl Source for Video {
    fn start(&mut self, now: Instant, network: &mut Network) {
        self.since = now;
        self.connection = self.connections.open(now, network);
        self.fetch(now, network);
    }

    fn stop(&mut self, now: Instant) {
        self.look(now);
        self.phase = Phase::Stopped;
        self.is_shown = false;
        self.connections.abort_all();
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, direction: Direction, network: &mut Network) {
        if let Some(handle) = self.connections.on_packet(now, packet, direction, network) {
            self.advance(now, handle, network);
        }
    }

    fn on_wake(&mut self, now: Instant, network: &mut Network) {
        self.connections.on_wake(now, network);
        self.look(now);
        if self.phase == Phase::Full {
            self.fetch(now, network);
        }
        self.wake(network);
    }

    fn delivered(&self) -> u64 {
        self.connections.delivered_in_all(self.settings.direction)
    }

    fn tally(&self) -> Tally {
        self.connections.tally(self.settings.direction)
    }

    fn showing(&self) -> Option<&Showing> {
        Some(&self.showing)
    }
}

/// Segments whose throughput counts (Yin et al. 2015).
const PACES: usize = 5;
/// Of the throughput to expect, for the bit rate (Jiang et al. 2012).
const SHARE: f64 = 0.85;
/// Segments in the buffer below which the bit rate is the lowest.
const RESERVOIR: u64 = 2;
