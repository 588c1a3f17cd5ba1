//! Packet captures for Wireshark: pcapng files with one interface for each point of observation,
//! and the fate of each dropped packet.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use std::time::{Duration as SystemDuration, SystemTime};

use goodqueue::{DropReason, Instant};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{PcapNgWriter, RawBlock};
use pcap_file::{DataLink, Endianness};

use crate::error::LiveError;
use crate::observer::{Direction, Observer};
use crate::packet::IpPacket;
use crate::sink::Sink;

/// Writes every packet that arrives, leaves or is dropped.
pub struct Capture {
    writer: PcapNgWriter<Sink>,
    /// Wall-clock time at which the bottleneck's clock was 0.
    origin: SystemDuration,
}

impl Capture {
    /// Creates a capture file. `ethernet` tells whether packets have an Ethernet header.
    ///
    /// # Errors
    /// The file cannot be created.
    #[expect(clippy::disallowed_methods, reason = "captures contain the wall-clock time")]
    pub fn create(path: &Path, ethernet: bool) -> Result<Self, LiveError> {
        let failed = |error| LiveError::new(format!("`{}` cannot be written: {error}", path.display()));
        let mut writer =
            PcapNgWriter::with_endianness(Sink::create(path)?, Endianness::Little).map_err(failed)?;
        let linktype = if ethernet { DataLink::ETHERNET } else { DataLink::RAW };
        for direction in Direction::BOTH {
            for point in POINTS {
                let name = format!("{} {point}", direction.name());
                let options = vec![
                    InterfaceDescriptionOption::IfName(Cow::Owned(name)),
                    // Timestamps are in nanoseconds.
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
        let bytes = packet.complete();
        let timestamp = self.origin + SystemDuration::from_nanos(now.as_nanos());
        let written = match verdict {
            None => self.writer.write_pcapng_block(EnhancedPacketBlock {
                interface_id,
                timestamp,
                original_len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
                data: bytes,
                options: Vec::new(),
            }),
            Some(verdict) => self.writer.write_raw_block(&dropped(interface_id, timestamp, &bytes, verdict)),
        };
        // The sink reports a file that ends early.
        let _ = written;
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

/// Returns the block of a dropped packet with a comment and a verdict. The library does not offer
/// the option for verdicts.
fn dropped(interface: u32, at: SystemDuration, bytes: &[u8], comment: &str) -> RawBlock<'static> {
    let nanos = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut body = Vec::with_capacity(bytes.len() + comment.len() + 64);
    body.extend(interface.to_le_bytes());
    // The upper half of the timestamp comes first.
    body.extend((nanos >> 32).to_le_bytes().first_chunk::<4>().unwrap_or(&[0; 4]));
    body.extend(nanos.to_le_bytes().first_chunk::<4>().unwrap_or(&[0; 4]));
    body.extend(length.to_le_bytes());
    body.extend(length.to_le_bytes());
    body.extend(bytes);
    for (code, value) in [(COMMENT, comment.as_bytes()), (VERDICT, &DROPPED), (END_OF_OPTIONS, &[])] {
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(code.to_le_bytes());
        body.extend(u16::try_from(value.len()).unwrap_or(0).to_le_bytes());
        body.extend(value);
    }
    body.resize(body.len().next_multiple_of(4), 0);
    // The length also counts the block's type and its two length fields.
    let total = u32::try_from(body.len() + 12).unwrap_or(u32::MAX);
    RawBlock { type_: ENHANCED_PACKET, initial_len: total, body: body.into(), trailer_len: total }
}

// draft-ietf-opsawg-pcapng §3.5, §4.3.
const ENHANCED_PACKET: u32 = 6;
const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
/// `epb_verdict` (draft-ietf-opsawg-pcapng §4.3.1). The value is of Linux's traffic control (1):
/// `TC_ACT_SHOT`, little-endian like the file.
const VERDICT: u16 = 7;
const DROPPED: [u8; 9] = [1, 2, 0, 0, 0, 0, 0, 0, 0];

const POINTS: [&str; 3] = ["ingress", "egress", "drops"];
const INGRESS: u32 = 0;
const EGRESS: u32 = 1;
const DROPS: u32 = 2;
