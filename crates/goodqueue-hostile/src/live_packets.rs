//! Packets of a TUN device or an interface, through a live link.

use goodqueue::{AnyConfig, DropReason, Duration, Ecn, Instant, Packet, Rate};
use goodqueue_link::capacity::{Capacity, Opportunities};
use goodqueue_live::buffer::Pool;
use goodqueue_live::flows::Flows;
use goodqueue_live::gso::{Offload, SegmentedPacket, Train};
use goodqueue_live::link::{Delay, Link, LinkConfig};
use goodqueue_live::observer::{Direction, Observer};
use goodqueue_live::packet::{Framing, IpPacket};
use goodqueue_tc as tc;
use goodqueue_testkit::edge;

use crate::choices::Choices;
use crate::operations::sorted_kinds;

/// Cuts, queues, marks, drops, joins and hands over packets of any content. No packet gains or
/// loses an ECN field that it must keep, each has one fate, and all memory is returned.
///
/// The first byte selects the discipline, the second one other options. Frames follow: two bytes of
/// length, two of time in microseconds, and that many bytes, of which the first ten are the
/// kernel's offload header.
///
/// # Panics
/// If one of these does not hold.
pub fn live_packets(bytes: &[u8]) {
    const MEMORY: usize = 8 << 20;
    let mut choices = Choices::new(bytes);
    let kind = choices.of(&sorted_kinds());
    let switches = choices.byte();
    let framing = if switches & 1 == 0 { Framing::Ip { counted: 14 } } else { Framing::Ethernet };
    let pool = Pool::new(MEMORY);
    let mut observers = Witness::default();
    let mut link = Link::new(
        Direction::Down,
        &LinkConfig {
            capacity: match switches >> 1 & 3 {
                0 => Capacity::Constant(Rate::from_bps(1_000_000)),
                1 => Capacity::Constant(Rate::from_bps(1_000_000_000)),
                2 => Opportunities::new(vec![1, 5, 5, 9])
                    .map_or(Capacity::UNLIMITED, |all| Capacity::Trace(all.into())),
                _ => Capacity::UNLIMITED,
            },
            qdisc: edge::default_config(&kind),
            path: (switches & 8 != 0).then(lossy),
            delay: Delay::from_base(Duration::from_millis(1)),
            framing: 14,
            salt: 0,
            seed: 1,
        },
    );
    let mut train = Train::default();
    let mut now = Instant::ZERO;
    let mut number = 0;
    while !choices.is_empty() {
        let length = usize::from(choices.word());
        now += Duration::from_micros(u64::from(choices.word()));
        hand_out(&mut link, &mut train, now, &mut observers);
        let read = choices.take(length);
        let cuts = read.split_first_chunk().and_then(|(header, frame)| {
            SegmentedPacket::from_frame(Offload::read(*header), frame, matches!(framing, Framing::Ethernet))
        });
        let Some(cuts) = cuts else { continue };
        for index in 0..cuts.count() {
            let Some(mut buffer) = pool.take(cuts.length(index)) else { continue };
            if cuts.write(index, buffer.bytes_mut()).is_none() {
                continue;
            }
            let packet = IpPacket::new(buffer, framing, number, now).with_checksum(cuts.checksum());
            number += 1;
            // Any addresses will do, but reading them must not panic.
            let _ = packet.headers().addresses(packet.bytes());
            assert!(packet.complete().len() == packet.bytes().len(), "a checksum changes no length");
            link.arrive(now, packet, &mut observers);
        }
    }
    let came = observers.came;
    link.finish(now, &mut observers);
    observers.flows.end_second(now);
    // Any list will do, but making it must not panic.
    let _ = observers.flows.in_direction(Direction::Down, usize::MAX);
    train.clear();
    drop(link);
    assert_eq!(pool.in_use(), 0, "memory of packets is lost");
    assert_eq!(number, came, "the observer sees each packet that the link gets");
}

/// Hands over the packets that have reached the other side, as the loop of a bottleneck does.
fn hand_out(link: &mut Link, train: &mut Train, now: Instant, observers: &mut Witness) {
    while let Some(packet) = link.poll(now, observers) {
        if let Err(packet) = train.push(packet) {
            depart(train);
            assert!(train.push(packet).is_ok(), "an empty train takes any packet");
        }
    }
    depart(train);
}

fn depart(train: &mut Train) {
    let (offload, pieces) = train.couple();
    let frame: Vec<u8> = pieces.flatten().copied().collect();
    // The header of a train must be readable.
    let header = offload.write();
    assert_eq!(Offload::read(header).write(), header);
    assert!(train.len() < 2 || frame.len() <= LARGEST_TRAIN, "a train of {} bytes", frame.len());
    train.clear();
}

/// A path that duplicates, damages, loses and reorders packets.
fn lossy() -> AnyConfig {
    let line = "netem delay 1ms 1ms loss 10% duplicate 10% corrupt 10% reorder 10%";
    tc::parse(line, &goodqueue::Link::default()).expect("a valid line")
}

/// Checks what must hold of every packet, and feeds the table of flows.
#[derive(Default)]
struct Witness {
    flows: Flows,
    came: u64,
}

impl Witness {
    /// Checks that the packet and its headers agree.
    fn check(packet: &IpPacket) {
        let headers = packet.headers();
        let bytes = packet.bytes();
        assert_eq!(packet.ecn(), Ecn::from_bits(headers.tos), "the packet and its headers differ");
        if let Some((source, _)) = headers.addresses(bytes) {
            assert!(source.is_ipv4() || source.is_ipv6());
        }
    }
}

impl Observer for Witness {
    fn arrived(&mut self, now: Instant, direction: Direction, packet: &IpPacket) {
        self.came += 1;
        Self::check(packet);
        self.flows.arrived(now, direction, packet);
    }

    fn sent(&mut self, now: Instant, direction: Direction, packet: &IpPacket) {
        Self::check(packet);
        self.flows.sent(now, direction, packet);
    }

    fn dropped(&mut self, now: Instant, direction: Direction, packet: &IpPacket, why: DropReason) {
        self.flows.dropped(now, direction, packet, why);
    }

    fn lost(&mut self, now: Instant, direction: Direction, packet: &IpPacket, why: DropReason) {
        self.flows.lost(now, direction, packet, why);
    }
}

/// Bytes of the largest IP packet behind an Ethernet header with two VLAN tags.
const LARGEST_TRAIN: usize = 65_535 + 14 + 8;
