//! Packets as Wireshark reads them: pcapng, one interface for each point of observation, with what became of each packet.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use std::time::{Duration as SystemDuration, SystemTime};

use goodqueue::{DropReason, Instant};
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};

use crate::error::LiveError;
use crate::observer::{Direction, Observer};
use crate::packet::IpPacket;
use crate::sink::Sink;

/// Writes every packet that comes, leaves or is dropped.
pub struct Capture {
    writer: PcapNgWriter<Sink>,
    /// When the bottleneck's clock was 0.
    origin: SystemDuration,
}

impl Capture {
    /// Begins a file, for packets that come with an Ethernet header or without one.
    ///
    /// # Errors
    /// It cannot be made.
    #[expect(clippy::disallowed_methods, reason = "captures say when they were made")]
    pub fn create(path: &Path, ethernet: bool) -> Result<Self, LiveError> {
        let failed = |error| LiveError::new(format!("`{}` cannot be written: {error}", path.display()));
        let mut writer = PcapNgWriter::new(Sink::create(path)?).map_err(failed)?;
        let linktype = if ethernet { DataLink::ETHERNET } else { DataLink::RAW };
        for direction in Direction::BOTH {
            for point in POINTS {
                let name = format!("{} {point}", direction.name());
                let options = vec![
                    InterfaceDescriptionOption::IfName(Cow::Owned(name)),
                    // Nanoseconds.
                    InterfaceDescriptionOption::IfTsResol(9),
                ];
                let block = InterfaceDescriptionBlock { linktype, snaplen: 0, options };
                writer.write_pcapng_block(block).map_err(failed)?;
            }
        }
        let origin = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(Self { writer, origin })
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
        let interface_id = u32::try_from(direction.index()).unwrap_or(0) * per_direction + point;
        let bytes = packet.bytes();
        let options = match verdict {
            Some(verdict) => vec![EnhancedPacketOption::Comment(Cow::Borrowed(verdict))],
            None => Vec::new(),
        };
        let block = EnhancedPacketBlock {
            interface_id,
            timestamp: self.origin + SystemDuration::from_nanos(now.as_nanos()),
            original_len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(bytes),
            options,
        };
        // What the file lacks is told by the sink.
        let _ = self.writer.write_pcapng_block(block);
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
        let _ = self.writer.get_mut().flush();
    }

    fn trouble(&mut self) -> Option<String> {
        self.writer.get_mut().trouble()
    }
}

const POINTS: [&str; 3] = ["ingress", "egress", "drops"];
const INGRESS: u32 = 0;
const EGRESS: u32 = 1;
const DROPS: u32 = 2;
