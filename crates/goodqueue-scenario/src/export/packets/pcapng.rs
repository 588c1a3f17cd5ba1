//! Packets for Wireshark: pcapng with the interfaces `down ingress`, `down egress`, `down
//! drops` and the same `up`.
//!
//! A simulated packet has a length and the fields that the simulation needs. This file writes
//! headers from them: IPv4, and UDP or TCP with the simulated sequence numbers, windows, SACK
//! blocks, timestamps and ECN bits. The payload would be zeros and is cut off. A SYN is eight bytes
//! longer here than in the queue: the simulator has no options that only a SYN carries, but
//! Wireshark needs them.

use std::io::{self, Write as _};

use goodqueue::{Direction, Ecn, Instant};
use goodqueue_link::pcapng::{self, APPLICATION, COMMENT, DROPS, EGRESS, INGRESS, POINTS, SHOT};
use goodqueue_sim::observer::{Fate, Visit};
use goodqueue_sim::packet::{Packet, Payload};
use goodqueue_tcp::segment::{HEADER, TIMESTAMPS};
use goodqueue_tcp::{Flags, Segment};

use super::writer::PacketWriter;
use crate::files::StreamedFile;
use crate::run::RunSpec;

/// A capture with every packet when it arrives at a queue, and again when it leaves or is dropped.
/// Time 0 of the run is the Unix epoch.
pub(super) struct Capture {
    file: StreamedFile,
    block: Vec<u8>,
    framing: u32,
    headers: Vec<u8>,
}

impl Capture {
    pub(super) fn begin(mut file: StreamedFile, run: &RunSpec) -> io::Result<Self> {
        let about = format!("{}, seed {}", run.labels.qdisc, run.config.seed);
        let program = concat!("goodqueue ", env!("CARGO_PKG_VERSION"));
        let mut block = Vec::new();
        pcapng::section(&mut block, &[(COMMENT, about.as_bytes()), (APPLICATION, program.as_bytes())]);
        for direction in Direction::BOTH {
            for point in POINTS {
                pcapng::interface(&mut block, pcapng::RAW_IP, &format!("{} {point}", direction.name()));
            }
        }
        file.write_all(&block)?;
        Ok(Self { file, block, framing: run.config.framing, headers: Vec::new() })
    }

    fn write(
        &mut self,
        at: Instant,
        visit: &Visit,
        point: u32,
        options: &[pcapng::Opt<'_>],
    ) -> io::Result<()> {
        let syn =
            matches!(&visit.packet.payload, Payload::Tcp(segment) if segment.flags.contains(Flags::SYN));
        // The interfaces are of raw IP, so the link header is left out.
        let bytes = visit.packet.len.saturating_sub(self.framing);
        // In Linux, the length of a SYN includes its options.
        let bytes = if syn && bytes <= HEADER + TIMESTAMPS { bytes + SYN_OPTIONS } else { bytes };
        write_headers(&visit.packet, bytes, &mut self.headers);
        let before = u32::try_from(visit.direction.index() * POINTS.len()).unwrap_or(u32::MAX);
        self.block.clear();
        pcapng::packet(&mut self.block, before + point, at, bytes, &self.headers, options);
        self.file.write_all(&self.block)
    }
}

impl PacketWriter for Capture {
    fn arrived(&mut self, visit: &Visit) -> io::Result<()> {
        self.write(visit.packet.queued_at, visit, INGRESS, &[])
    }

    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) -> io::Result<()> {
        let is_ce = |tos| Ecn::from_bits(tos) == Ecn::Ce;
        match fate {
            Fate::Sent if is_ce(visit.packet.tos()) && !is_ce(visit.tos) => {
                self.write(at, visit, EGRESS, &[(COMMENT, b"marked by the queue discipline")])
            }
            Fate::Sent => self.write(at, visit, EGRESS, &[]),
            Fate::Dropped(why) => {
                let comment = format!("dropped by the queue discipline: {}", why.name());
                self.write(at, visit, DROPS, &[(COMMENT, comment.as_bytes()), SHOT])
            }
            Fate::Queued => Ok(()),
        }
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.file.finish()
    }
}

/// Returns the headers of a packet of `bytes` bytes at the IP layer.
fn write_headers(packet: &Packet, bytes: u32, to: &mut Vec<u8>) {
    to.clear();
    let (source, destination) = endpoints(packet);
    let protocol = packet.payload.transport().protocol();
    // The length in an IPv4 header has 16 bits (RFC 791 §3.1).
    let total = u16::try_from(bytes).unwrap_or(u16::MAX);
    // RFC 791 §3.1: version 4, 20 bytes, DF, TTL 64.
    to.extend([0x45, packet.tos()]);
    to.extend(total.to_be_bytes());
    to.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    to.extend(source.0);
    to.extend(destination.0);
    set_checksum(to, 0, 10, 0);
    to.extend(source.1.to_be_bytes());
    to.extend(destination.1.to_be_bytes());
    match &packet.payload {
        Payload::Tcp(segment) => {
            tcp(segment, bytes, to);
            let segment_bytes = bytes.saturating_sub(IPV4);
            // The pseudo-header of RFC 9293 §3.1. The missing payload is zero and adds nothing.
            let pseudo = [6, segment_bytes & 0xffff, segment_bytes >> 16];
            let hosts: u32 = to[12..20].chunks(2).map(word).sum();
            set_checksum(to, IPV4 as usize, IPV4 as usize + 16, pseudo.iter().sum::<u32>() + hosts);
        }
        Payload::Quic { .. } => udp(total, to),
        Payload::Datagram { sent_at, number, .. } => {
            udp(total, to);
            // The payload begins with the number and the time of sending, if they fit.
            if bytes >= IPV4 + 8 + 16 {
                to.extend(number.to_be_bytes());
                to.extend(sent_at.as_nanos().to_be_bytes());
            }
        }
    }
}

/// The UDP header of RFC 768 after the ports, without a checksum. `total` is the length of the IP
/// packet.
fn udp(total: u16, to: &mut Vec<u8>) {
    // The length of UDP does not contain the IP header, which has 20 bytes here.
    to.extend(total.saturating_sub(20).to_be_bytes());
    to.extend([0, 0]);
}

/// The TCP header after the ports. Options fill the space that the packet's length leaves for them.
fn tcp(segment: &Segment, bytes: u32, to: &mut Vec<u8>) {
    // Sequence numbers of the simulator have 64 bits. Those of TCP are the low 32 bits.
    let low = |number: u64| u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0);
    let is_syn = segment.flags.contains(Flags::SYN);
    let room = bytes.saturating_sub(HEADER).saturating_sub(segment.len);
    // The header's length is a number of words of 4 bytes.
    let room = usize::try_from(room.min(LONGEST_OPTIONS) & !3).unwrap_or(0);
    // RFC 7323 §2.2: the window of a SYN is not scaled.
    let window = if is_syn { segment.window } else { segment.window >> WINDOW_SCALE };
    to.extend(low(segment.seq).to_be_bytes());
    to.extend(low(segment.ack).to_be_bytes());
    let [before, flags] = segment.flags.bits().to_be_bytes();
    // At most 15 words: 20 bytes, and 40 of options.
    to.extend([u8::try_from((20 + room) / 4).unwrap_or(15) << 4 | before, flags]);
    // A window above 64 MiB is shown as 64 MiB, the largest one at this scale.
    to.extend(u16::try_from(window).unwrap_or(u16::MAX).to_be_bytes());
    to.extend([0; 4]);
    let end = to.len() + room;
    let sacked = segment.sack.wire_len() as usize;
    if is_syn {
        // SACK permitted (RFC 2018 §2), window scale (RFC 7323 §2.2).
        to.extend([NOP, NOP, 4, 2, NOP, 3, 3, WINDOW_SCALE]);
    }
    if to.len() + TIMESTAMPS as usize + sacked <= end {
        to.extend([NOP, NOP, 8, 10]);
        to.extend(segment.ts_val.to_be_bytes());
        to.extend(segment.ts_ecr.to_be_bytes());
    }
    if sacked > 0 && to.len() + sacked <= end {
        // `wire_len` includes the two NOPs, the length of the option does not.
        to.extend([NOP, NOP, 5, u8::try_from(sacked - 2).unwrap_or(0)]);
        for (left, right) in segment.sack.iter(segment.ack) {
            to.extend(low(left).to_be_bytes());
            to.extend(low(right).to_be_bytes());
        }
    }
    if let Some(option) = segment.ecn_option().filter(|option| to.len() + option.wire_len() as usize <= end) {
        // Kinds 174 and 172 (RFC 9768 §3.2.3).
        let kind = if option.ect1_first { 174 } else { 172 };
        to.extend([kind, 2 + 3 * option.fields]);
        for value in option.values.iter().take(usize::from(option.fields)) {
            // A counter has 24 bits.
            to.extend(&value.to_be_bytes()[1..]);
        }
    }
    to.resize(end, NOP);
}

/// Addresses and ports of sender and receiver. Clients have addresses from 198.18.0.1, servers from
/// 198.19.0.1 on (RFC 2544 appendix C.2.2). The server's port contains the flow's number, the
/// client's port the number of the connection.
fn endpoints(packet: &Packet) -> (([u8; 4], u16), ([u8; 4], u16)) {
    let address = |net: u32, host: u32| (net + 1 + host).to_be_bytes();
    let port = |from: u32, number: u32| u16::try_from(from + number % PORTS).unwrap_or(u16::MAX);
    // Flows that share a server's port get other ports at the client.
    let turns = packet.flow.number() / PORTS * 4096;
    let client =
        (address(CLIENTS, u32::from(packet.ends.client)), port(1024, packet.connection.wrapping_add(turns)));
    let server = (address(SERVERS, u32::from(packet.ends.server)), port(5001, packet.flow.number()));
    if packet.ends.is_up() { (client, server) } else { (server, client) }
}

/// Writes the checksum of RFC 1071 over `begin` and the bytes from `start` on to `field`.
fn set_checksum(bytes: &mut [u8], start: usize, field: usize, begin: u32) {
    let mut sum: u32 = bytes[start..].chunks(2).map(word).sum::<u32>() + begin;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let sum = u16::try_from(sum).unwrap_or(0);
    bytes[field..field + 2].copy_from_slice(&(!sum).to_be_bytes());
}

fn word(two: &[u8]) -> u32 {
    // RFC 1071: an odd last byte is filled with a zero.
    u32::from(u16::from_be_bytes([two[0], two.get(1).copied().unwrap_or(0)]))
}

const IPV4: u32 = 20;
/// Bytes of the two options that only a SYN carries, with padding.
const SYN_OPTIONS: u32 = 8;
/// Bytes that options of TCP have at most: a header has 60 bytes at most (RFC 9293 §3.1).
const LONGEST_OPTIONS: u32 = 40;
/// Window scale: windows up to 64 MiB in steps of 1 KiB (RFC 7323 §2).
const WINDOW_SCALE: u8 = 10;
const NOP: u8 = 1;

const CLIENTS: u32 = u32::from_be_bytes([198, 18, 0, 0]);
const SERVERS: u32 = u32::from_be_bytes([198, 19, 0, 0]);
/// Ports on both sides are above those of services.
const PORTS: u32 = 60_000;
