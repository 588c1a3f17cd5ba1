//! A viewer of adaptive video over HTTP (DASH, ISO/IEC 23009-1).
//!
//! The video is cut into segments of equal duration, and each segment exists at every bit rate of a
//! ladder. The client fetches one segment after another over one connection and chooses the bit
//! rate of each.
//!
//! * **Choice.** The expected throughput is the harmonic mean over the last five segments, each
//!   measured from its request to its last byte (Yin et al., "A control-theoretic approach for
//!   dynamic adaptive video streaming over HTTP", SIGCOMM 2015). The bit rate may be 0.85 of it. It
//!   rises by at most one step of the ladder per segment and falls as far as necessary (Jiang,
//!   Sekar & Zhang, "Improving fairness, efficiency, and stability in HTTP-based adaptive video
//!   streaming with FESTIVE", CoNEXT 2012). While the buffer holds less than two segments, the
//!   lowest bit rate is used (the reservoir of Huang et al., "A buffer-based approach to rate
//!   adaptation", SIGCOMM 2014).
//! * **Buffer.** The client requests a segment as soon as the previous one is complete and the
//!   buffer has room. On a fast line it is therefore silent part of the time. Playback begins when
//!   `ready` is in the buffer, and resumes in the same way after a stall.
//!
//! Each segment has exactly the bytes of its bit rate, unlike real segments, whose sizes vary. The
//! video does not end.

use std::collections::VecDeque;

use goodqueue::random::Xoshiro256PlusPlus;
use goodqueue::{ConfigError, Direction, Duration, Instant, Rate};
use goodqueue_tcp::{AnyCongestionControl, Config};

use super::connections::{Connections, Handle};
use super::source::{Playback, Segment, Settings, Source, Tally};
use crate::id::FlowId;
use crate::network::Network;
use crate::packet::Packet;
use crate::transport::Transport;

/// The settings of a viewer.
#[derive(Clone, Debug)]
pub struct VideoSettings {
    /// Direction of the video: `Down` to viewers behind the line, `Up` from servers behind the
    /// line.
    pub direction: Direction,
    /// Bit rates, in ascending order and above 0; at least one.
    pub ladder: Vec<Rate>,
    /// Duration of a segment, above 0.
    pub segment: Duration,
    /// Largest amount of video in the buffer, at least `ready` and at least a segment.
    pub buffer: Duration,
    /// Amount of video in the buffer at which playback begins.
    pub ready: Duration,
    /// Size of a request in bytes.
    pub request: u64,
    /// TCP settings of both ends.
    pub config: Config,
    /// Congestion control of the senders.
    pub congestion_control: AnyCongestionControl,
}

impl Settings for VideoSettings {
    const KIND: &'static str = "video";
    const TRANSPORT: Transport = Transport::Tcp;

    fn direction(&self) -> Direction {
        self.direction
    }

    fn congestion_control(&self) -> Option<&'static str> {
        Some(self.congestion_control.about().name)
    }
}

/// The client and the server.
#[derive(Debug)]
pub struct Video {
    flow: FlowId,
    settings: VideoSettings,
    connections: Connections,
    connection: Option<Handle>,
    /// Bytes that must have arrived for the server to have the request.
    asked: u64,
    /// Bytes that must have arrived for the segment to be complete.
    awaited: u64,
    /// Bytes of the requested segment, until the server answers.
    unanswered: Option<u64>,
    phase: Phase,
    /// Amount of video in the buffer at `since`.
    buffered: Duration,
    since: Instant,
    /// True while the video plays.
    is_shown: bool,
    /// Index in the ladder of the last segment's bit rate.
    step: usize,
    /// Seconds per bit of the last segments.
    paces: VecDeque<f64>,
    playback: Playback,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// A segment is being fetched.
    Fetch,
    /// The buffer has no room for another segment.
    Full,
    /// The flow has not begun or has ended.
    Stopped,
}

impl Video {
    /// Creates the viewer for flow number `flow`.
    ///
    /// # Errors
    /// The TCP configuration is invalid.
    pub fn new(flow: FlowId, settings: &VideoSettings, _: Xoshiro256PlusPlus) -> Result<Self, ConfigError> {
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
            playback: Playback::default(),
        })
    }

    /// Plays the video up to `now`, and notes a stall if the buffer is empty.
    fn look(&mut self, now: Instant) {
        let elapsed = now.since(self.since);
        self.since = now;
        // A picture that stands still uses nothing of the buffer.
        if !self.is_shown {
            return;
        }
        self.buffered = self.buffered.saturating_sub(elapsed);
        if self.buffered.is_zero() {
            self.is_shown = false;
            // The flow is woken when the buffer runs empty (`wake`), so the stall begins now.
            self.playback.stalls.push((now, None));
        }
    }

    /// Requests the next segment if the buffer has room for it.
    fn fetch(&mut self, now: Instant, network: &mut Network) {
        if self.buffered + self.settings.segment > self.settings.buffer {
            self.phase = Phase::Full;
            return;
        }
        self.phase = Phase::Fetch;
        self.step = self.choose();
        let Some((&rate, handle)) = self.settings.ladder.get(self.step).zip(self.connection) else { return };
        self.playback.segments.push(Segment { begun_at: now, ended_at: None, rate });
        // A segment without bytes would have no last byte, with which it is complete.
        let bytes = rate.bytes_in(self.settings.segment).max(1);
        self.unanswered = Some(bytes);
        self.asked += self.settings.request;
        self.awaited += bytes;
        let asks = self.settings.direction.reverse();
        self.connections.write(now, handle, asks, self.settings.request, network);
    }

    /// Chooses the step of the ladder for the next segment.
    #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
    fn choose(&self) -> usize {
        if self.paces.is_empty() || self.buffered < self.settings.segment.saturating_mul(RESERVOIR) {
            return 0;
        }
        // The harmonic mean, which one fast segment hardly moves (Jiang et al. 2012; Yin et al.
        // 2015).
        let expected = self.paces.len() as f64 / self.paces.iter().sum::<f64>();
        let fits = |rate: &&Rate| rate.as_bps() as f64 <= SHARE * expected;
        // The lowest bit rate is used although it may not fit.
        let highest = self.settings.ladder.iter().take_while(fits).count().saturating_sub(1);
        // The bit rate rises by one step at a time (Jiang et al. 2012).
        highest.min(self.step + 1)
    }

    /// Acts on bytes that have arrived.
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
            self.connections.write(now, handle, direction, bytes, network);
        }
        if self.connections.delivered(handle, direction) >= self.awaited {
            self.complete(now);
            self.fetch(now, network);
            self.wake(network);
        }
    }

    /// Adds a complete segment to the buffer, and begins or resumes playback.
    #[expect(clippy::cast_precision_loss, reason = "times and sizes are far below 2^53")]
    fn complete(&mut self, now: Instant) {
        self.look(now);
        self.buffered += self.settings.segment;
        if let Some(segment) = self.playback.segments.last_mut() {
            segment.ended_at = Some(now);
            // A segment takes no time on a path without delay and limit. Its pace must not be 0.
            let seconds = now.since(segment.begun_at).as_nanos().max(1) as f64 / 1e9;
            let bits = segment.rate.bytes_in(self.settings.segment).max(1) as f64 * 8.0;
            if self.paces.len() == PACES {
                self.paces.pop_front();
            }
            self.paces.push_back(seconds / bits);
        }
        if !self.is_shown && self.buffered >= self.settings.ready {
            self.is_shown = true;
            match self.playback.stalls.last_mut() {
                Some((_, goes_on)) => *goes_on = Some(now),
                // Without a stall so far the playback begins.
                None => self.playback.shown_from = Some(now),
            }
        }
    }

    /// Asks to be woken when the buffer runs empty or has room for another segment.
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

    fn received(&self) -> u64 {
        self.connections.received_in_all(self.settings.direction)
    }

    fn tally(&self) -> Tally {
        self.connections.tally(self.settings.direction)
    }

    fn playback(&self) -> Option<&Playback> {
        Some(&self.playback)
    }
}

/// Number of segments over which the throughput is averaged (Yin et al. 2015).
const PACES: usize = 5;
/// Share of the expected throughput that the bit rate may use (Jiang et al. 2012).
const SHARE: f64 = 0.85;
/// Number of segments in the buffer below which the lowest bit rate is used.
const RESERVOIR: u64 = 2;
