//! Packets as a TUN device or an interface hands them over, through a live link.

use goodqueue::{AnyConfig, DropReason, Duration, Ecn, Instant, Packet, Rate};
use goodqueue_live::buffer::Pool;
use goodqueue_live::capacity::Capacity;
use goodqueue_live::flows::Flows;
use goodqueue_live::gso::{Cuts, Offload, Train};
use goodqueue_live::link::{Delay, Link, LinkConfig};
use goodqueue_live::observer::{Direction, Observer};
use goodqueue_live::packet::{Framing, IpPacket};
use goodqueue_tc as tc;
use goodqueue_testkit::edge;

use crate::choices::Choices;
use crate::operations::sorted_kinds;

/// Packets of any content: cut, queued, marked, dropped, put together again and handed over. None gains or loses an ECN
/// field that it must keep, each meets one fate, and all memory comes back.
///
/// The first byte chooses the discipline, the second what else differs. Frames follow: two bytes of length, two of time in
/// microseconds, and so many bytes, of which the first ten are the kernel's description of the packet.
///
/// # Panics
/// One of these does not hold.
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
                2 => Capacity::Trace(vec![1, 5, 5, 9]),
                _ => Capacity::Unlimited,
            },
            qdisc: edge::default_config(&kind),
            path: (switches & 8 != 0).then(lossy),
            delay: Delay::of(Duration::from_millis(1)),
            framing: 14,
            seed: 1,
        },
    );
    let mut train = Train::default();
    let (mut now, mut number) = (Instant::ZERO, 0);
    while !choices.is_empty() {
        let length = usize::from(choices.word());
        now += Duration::from_micros(u64::from(choices.word()));
        hand_out(&mut link, &mut train, now, &mut observers);
        let read = choices.take(length);
        let cuts = read.split_first_chunk().and_then(|(header, frame)| {
            Cuts::of(Offload::read(*header), frame, matches!(framing, Framing::Ethernet))
        });
        let Some(cuts) = cuts else { continue };
        for index in 0..cuts.count() {
            let Some(mut buffer) = pool.take(cuts.length(index)) else { continue };
            if cuts.write(index, buffer.bytes_mut()).is_none() {
                continue;
            }
            let packet = IpPacket::new(buffer, framing, number, now).with_checksum(cuts.checksum());
            number += 1;
            let _ = packet.headers().addresses(packet.bytes());
            assert!(packet.complete().len() == packet.bytes().len(), "a checksum changes no length");
            link.arrive(now, packet, &mut observers);
        }
    }
    let came = observers.came;
    link.finish(now, &mut observers);
    observers.flows.end_second(now);
    let _ = observers.flows.of(Direction::Down, usize::MAX);
    train.clear();
    drop(link);
    assert_eq!(pool.in_use(), 0, "packets are gone and their memory is not back");
    assert_eq!(number, came, "each packet that is handed to the link is shown to who looks on");
}

/// Hands over what has come through, as the loop of a bottleneck does.
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
    // What the kernel is told of a train must make sense to who reads it.
    let header = offload.write();
    assert_eq!(Offload::read(header).write(), header);
    assert!(train.len() < 2 || frame.len() <= LARGEST_TRAIN, "a train of {} bytes", frame.len());
    train.clear();
}

/// Packets that are duplicated, damaged, lost and overtaken.
fn lossy() -> AnyConfig {
    let line = "netem delay 1ms 1ms loss 10% duplicate 10% corrupt 10% reorder 10%";
    tc::parse(line, &goodqueue::Link::default()).expect("a line that the tests of tc have, too")
}

/// Looks on at what must hold of every packet, beside the table of flows.
#[derive(Default)]
struct Witness {
    flows: Flows,
    came: u64,
}

impl Witness {
    /// A mark is for packets that may be marked, and the checksum of an IPv4 header follows it.
    fn check(packet: &IpPacket) {
        let (headers, bytes) = (packet.headers(), packet.bytes());
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

/// An IP packet of the greatest length behind an Ethernet header with two tags.
const LARGEST_TRAIN: usize = 65_535 + 14 + 8;
