//! Packet captures for Wireshark: pcapng files with one interface for each point of observation,
//! and the fate of each dropped packet.

use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use goodqueue::{DropReason, Duration, Instant};
use goodqueue_link::pcapng::{self, COMMENT, DROPS, EGRESS, INGRESS, POINTS, SHOT};

use crate::error::LiveError;
use crate::observer::{Direction, Observer};
use crate::packet::IpPacket;
use crate::sink::Sink;

/// Writes every packet that arrives, leaves or is dropped.
pub struct Capture {
    sink: Sink,
    block: Vec<u8>,
    /// Wall-clock time at which the bottleneck's clock was 0.
    origin: Duration,
}

impl Capture {
    /// Creates a capture file. `ethernet` tells whether packets have an Ethernet header.
    ///
    /// # Errors
    /// The file cannot be created.
    #[expect(clippy::disallowed_methods, reason = "captures contain the wall-clock time")]
    pub fn create(path: &Path, ethernet: bool) -> Result<Self, LiveError> {
        let mut block = Vec::new();
        pcapng::section(&mut block, &[]);
        let link_type = if ethernet { pcapng::ETHERNET } else { pcapng::RAW_IP };
        for direction in Direction::BOTH {
            for point in POINTS {
                pcapng::interface(&mut block, link_type, &format!("{} {point}", direction.name()));
            }
        }
        let mut sink = Sink::create(path)?;
        sink.write_all(&block).map_err(|error| {
            LiveError::system(format_args!("`{}` cannot be written", path.display()), error)
        })?;
        // A machine without a battery may believe that it is before 1970.
        let origin = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().into();
        Ok(Self { sink, block, origin })
    }

    fn write(
        &mut self,
        now: Instant,
        direction: Direction,
        point: u32,
        packet: &IpPacket,
        verdict: Option<&str>,
    ) {
        let per_direction = u32::try_from(POINTS.len()).unwrap_or(0);
        // pcapng numbers interfaces in the order of their blocks.
        let interface = u32::try_from(direction.index()).unwrap_or(0) * per_direction + point;
        let bytes = packet.complete();
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.block.clear();
        let mut add = |options: &[pcapng::Opt<'_>]| {
            pcapng::packet(&mut self.block, interface, now + self.origin, length, &bytes, options);
        };
        match verdict {
            None => add(&[]),
            Some(verdict) => add(&[(COMMENT, verdict.as_bytes()), SHOT]),
        }
        // The sink reports a file that ends early.
        let _ = self.sink.write_all(&self.block);
    }
}

impl Observer for Capture {
    fn arrived(&mut self, now: Instant, direction: Direction, packet: &IpPacket) {
        self.write(now, direction, INGRESS, packet, None);
    }

    fn sent(&mut self, now: Instant, direction: Direction, packet: &IpPacket) {
        self.write(now, direction, EGRESS, packet, None);
    }

    fn dropped(&mut self, now: Instant, direction: Direction, packet: &IpPacket, why: DropReason) {
        let verdict = format!("dropped by the queue discipline: {}", why.name());
        self.write(now, direction, DROPS, packet, Some(&verdict));
    }

    fn lost(&mut self, now: Instant, direction: Direction, packet: &IpPacket, why: DropReason) {
        let verdict = format!("lost on the path: {}", why.name());
        self.write(now, direction, DROPS, packet, Some(&verdict));
    }

    fn ended(&mut self, _: Instant) {
        let _ = self.sink.flush();
    }

    fn trouble(&mut self) -> Option<String> {
        self.sink.trouble()
    }

    fn failure(&self) -> Option<&str> {
        self.sink.failure()
    }
}
