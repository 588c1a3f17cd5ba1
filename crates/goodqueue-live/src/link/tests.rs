use goodqueue::fifo::PfifoConfig;
use goodqueue::{Configure, Qdisc as _, Rate, Settings, config::Link as LinkDefaults};

use goodqueue_link::capacity::Opportunities;
use std::sync::Arc;

use super::*;
use crate::buffer::Pool;
use crate::packet::Framing;

/// Records the fate of each packet.
#[derive(Default)]
struct FateLog(Vec<(u64, u64, &'static str)>);

impl Observer for FateLog {
    fn sent(&mut self, now: Instant, _: Direction, packet: &IpPacket) {
        self.0.push((now.as_nanos(), packet.seq, "sent"));
    }

    fn dropped(&mut self, now: Instant, _: Direction, packet: &IpPacket, why: DropReason) {
        self.0.push((now.as_nanos(), packet.seq, why.name()));
    }

    fn lost(&mut self, now: Instant, _: Direction, packet: &IpPacket, _: DropReason) {
        self.0.push((now.as_nanos(), packet.seq, "lost on the path"));
    }
}

fn pfifo(limit: u32) -> AnyConfig {
    AnyConfig::Pfifo(PfifoConfig::new(limit).unwrap())
}

fn link(capacity: Capacity, qdisc: AnyConfig, delay: Duration) -> Link {
    link_with(capacity, qdisc, Delay::from_base(delay))
}

fn link_with(capacity: Capacity, qdisc: AnyConfig, delay: Delay) -> Link {
    Link::new(
        Direction::Down,
        &LinkConfig { capacity, qdisc, path: None, delay, framing: 0, salt: 0, seed: 0 },
    )
}

/// A packet of 125 bytes: 1 ms at 1 Mbit/s.
fn packet(seq: u64, at: Instant) -> IpPacket {
    let pool = Pool::new(1 << 20);
    IpPacket::new(pool.copy(&[0; 125]).unwrap(), Framing::Ip { counted: 0 }, seq, at)
}

fn arrive(link: &mut Link, at: u64, seq: u64, diary: &mut FateLog) {
    let at = Instant::from_nanos(at);
    link.arrive(at, packet(seq, at), diary);
}

fn mbit(rate: u64) -> Capacity {
    Capacity::Constant(Rate::from_bps(rate * 1_000_000))
}

const MS: u64 = 1_000_000;

#[test]
fn being_told_late_changes_no_departure() {
    let mut diary = FateLog::default();
    let mut link = link(mbit(1), pfifo(2), Duration::ZERO);
    // The first packet is on the link, two fill the queue, and the last finds it full.
    for (at, seq) in [(0, 0), (10, 1), (20, 2), (30, 3)] {
        arrive(&mut link, at, seq, &mut diary);
    }
    // Ten milliseconds pass without a call. The next packet finds an idle link, as it should.
    arrive(&mut link, 10 * MS, 4, &mut diary);
    assert_eq!(
        diary.0,
        [(0, 0, "sent"), (30, 3, "overlimit"), (MS, 1, "sent"), (2 * MS, 2, "sent"), (10 * MS, 4, "sent")]
    );
}

#[test]
fn a_packet_comes_out_when_its_last_bit_has_travelled_the_delay() {
    let mut diary = FateLog::default();
    let mut link = link(mbit(1), pfifo(10), Duration::from_millis(20));
    arrive(&mut link, 0, 0, &mut diary);
    arrive(&mut link, 0, 1, &mut diary);
    let out = |link: &mut Link, at: u64, diary: &mut FateLog| {
        link.poll(Instant::from_nanos(at), diary).map(|packet| packet.seq)
    };
    // 1 ms of sending and 20 ms of propagation.
    assert_eq!(out(&mut link, 21 * MS - 1, &mut diary), None);
    assert_eq!(out(&mut link, 21 * MS, &mut diary), Some(0));
    assert_eq!(out(&mut link, 21 * MS, &mut diary), None);
    assert_eq!(link.next_event(), Some(Instant::from_nanos(22 * MS)));
    assert_eq!(out(&mut link, 50 * MS, &mut diary), Some(1));
    assert_eq!((link.next_event(), link.propagating()), (None, 0));
}

#[test]
fn a_blocked_link_holds_its_packets_until_the_schedule_lets_them_go() {
    let mut diary = FateLog::default();
    let ms = |at: u64| Instant::from_nanos(at * MS);
    let rate = Rate::from_bps(1_000_000);
    let steps = vec![(ms(0), rate), (ms(5), Rate::from_bps(0)), (ms(8), rate)];
    let mut link = link(Capacity::Schedule(steps), pfifo(10), Duration::ZERO);
    for seq in 0..3 {
        arrive(&mut link, 4 * MS + MS / 2, seq, &mut diary);
    }
    assert!(link.poll(ms(7), &mut diary).is_some(), "the current packet finishes at the old rate");
    assert!(link.poll(ms(7), &mut diary).is_none());
    while link.poll(ms(20), &mut diary).is_some() {}
    // The link is blocked from 5 ms to 8 ms.
    assert_eq!(diary.0, [(4 * MS + MS / 2, 0, "sent"), (8 * MS, 1, "sent"), (9 * MS, 2, "sent")]);
}

#[test]
fn an_opportunity_carries_several_small_packets_and_a_large_one_needs_several() {
    let mut diary = FateLog::default();
    let mut link = link(
        // Opportunities of 1504 bytes each, at 1, 2 and 3 ms.
        Capacity::Trace(Arc::new(Opportunities::new(vec![1, 2, 3]).unwrap())),
        pfifo(100),
        Duration::ZERO,
    );
    // Each packet has 129 bytes with the header of Mahimahi's device: eleven fit, and the twelfth
    // ends in the next opportunity.
    for seq in 0..12 {
        arrive(&mut link, 500_000, seq, &mut diary);
    }
    // An arrival at the opportunity itself may still use it.
    assert_eq!(link.next_event(), Some(Instant::from_nanos(MS + 1)));
    let mut came = Vec::new();
    for at in [MS, MS + 1, 2 * MS + 1] {
        let mut count = 0;
        while link.poll(Instant::from_nanos(at), &mut diary).is_some() {
            count += 1;
        }
        came.push(count);
    }
    assert_eq!(came, [0, 11, 1]);
    assert_eq!(link.next_event(), None, "an opportunity without a packet is lost");
}

#[test]
fn packets_of_one_port_may_have_a_longer_delay() {
    let mut diary = FateLog::default();
    let delay = Delay { base: Duration::from_millis(1), by_port: vec![(7, Duration::from_millis(9))] };
    let mut link = link_with(Capacity::UNLIMITED, pfifo(10), delay);
    let now = Instant::ZERO;
    let pool = Pool::new(1 << 20);
    let udp = [
        &[0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2][..],
        &[0, 7, 1, 0, 0, 8, 0, 0][..],
    ];
    let far = IpPacket::new(pool.copy(&udp.concat()).unwrap(), Framing::Ip { counted: 0 }, 0, now);
    link.arrive(now, far, &mut diary);
    arrive(&mut link, 1, 1, &mut diary);
    let mut order = Vec::new();
    while let Some(packet) = link.poll(Instant::from_nanos(100 * MS), &mut diary) {
        order.push(packet.seq);
    }
    assert_eq!(order, [1, 0]);
}

#[test]
fn losses_on_the_path_are_distinguished_from_drops_of_the_queue() {
    let settings = Settings::new().with("loss", goodqueue::config::Value::Probability(1.0));
    let netem = goodqueue::netem::NetemConfig::from_settings(&settings, &LinkDefaults::default()).unwrap();
    let mut diary = FateLog::default();
    let mut link = Link::new(
        Direction::Down,
        &LinkConfig {
            capacity: mbit(1),
            qdisc: pfifo(1),
            path: Some(AnyConfig::Netem(netem)),
            delay: Delay::default(),
            framing: 0,
            salt: 0,
            seed: 0,
        },
    );
    for seq in 0..3 {
        arrive(&mut link, 0, seq, &mut diary);
    }
    assert!(link.poll(Instant::from_nanos(10 * MS), &mut diary).is_none());
    assert_eq!(
        diary.0,
        [
            (0, 0, "sent"),
            (0, 2, "overlimit"),
            (MS, 0, "lost on the path"),
            (MS, 1, "sent"),
            (2 * MS, 1, "lost on the path")
        ]
    );
}

#[test]
fn a_path_with_a_delay_of_its_own_gives_packets_back_in_time() {
    let settings = Settings::new().with("delay", goodqueue::config::Value::Time(Duration::from_millis(5)));
    let netem = goodqueue::netem::NetemConfig::from_settings(&settings, &LinkDefaults::default()).unwrap();
    let mut diary = FateLog::default();
    let mut link = Link::new(
        Direction::Down,
        &LinkConfig {
            capacity: mbit(1),
            qdisc: pfifo(10),
            path: Some(AnyConfig::Netem(netem)),
            delay: Delay::from_base(Duration::from_millis(1)),
            framing: 0,
            salt: 0,
            seed: 0,
        },
    );
    arrive(&mut link, 0, 0, &mut diary);
    arrive(&mut link, 0, 1, &mut diary);
    let mut came = Vec::new();
    while let Some(next) = link.next_event() {
        while let Some(packet) = link.poll(next + Duration::from_nanos(1), &mut diary) {
            came.push((next.as_nanos() / MS, packet.seq));
        }
    }
    // 1 ms of sending, 5 ms in the path's discipline and 1 ms of propagation.
    assert_eq!(came, [(7, 0), (8, 1)]);
}

#[test]
fn another_discipline_takes_over_the_queued_packets() {
    let mut diary = FateLog::default();
    let mut link = link(mbit(1), pfifo(10), Duration::ZERO);
    for seq in 0..5 {
        arrive(&mut link, 0, seq, &mut diary);
    }
    let codel =
        goodqueue::codel::CodelConfig::from_settings(&Settings::new(), &LinkDefaults::default()).unwrap();
    link.reconfigure(Instant::from_nanos(MS / 2), AnyConfig::Codel(codel), &mut diary);
    assert!(link.qdisc().kind().name == "codel");
    let mut order = Vec::new();
    while let Some(packet) = link.poll(Instant::from_nanos(100 * MS), &mut diary) {
        order.push(packet.seq);
    }
    assert_eq!(order, [0, 1, 2, 3, 4], "no packet is lost or reordered");
    // The same discipline with a smaller limit drops the packets beyond it.
    for seq in 5..9 {
        arrive(&mut link, 200 * MS, seq, &mut diary);
    }
    link.reconfigure(Instant::from_nanos(200 * MS + 1), pfifo(2), &mut diary);
    assert_eq!(diary.0.iter().filter(|fate| fate.2 == "overlimit").count(), 1, "three were queued");
    let stats = link.stats();
    assert_eq!(stats.dequeued.packets, 5 + 1, "packets of earlier disciplines count, too");
}

#[test]
fn packets_that_another_discipline_takes_over_stay_queued_and_are_counted_once() {
    let mut diary = FateLog::default();
    let mut link = link(mbit(1), pfifo(10), Duration::ZERO);
    for seq in 0..6 {
        arrive(&mut link, 0, seq, &mut diary);
    }
    let codel = |limit| {
        let settings = Settings::new().with("limit", goodqueue::config::Value::Packets(limit));
        let config = goodqueue::codel::CodelConfig::from_settings(&settings, &LinkDefaults::default());
        AnyConfig::Codel(config.unwrap())
    };
    let before = link.stats();
    link.reconfigure(Instant::from_nanos(MS / 2), codel(100), &mut diary);
    assert_eq!(link.stats(), before, "nothing was offered, sent or dropped");
    // The first of six packets is on the link.
    assert_eq!(link.qdisc().len(), 5);
    // This FIFO has no room for all: two of five packets are dropped after having been queued.
    link.reconfigure(Instant::from_nanos(MS / 2), pfifo(3), &mut diary);
    let after = link.stats();
    assert_eq!((after.offered, after.enqueued), (before.offered, before.enqueued));
    assert_eq!((after.dropped_before.packets, after.dropped_after.packets), (0, 2));
    assert_eq!(link.meter.drops().iter().sum::<u64>(), 2, "each drop has a reason");
    assert_eq!(diary.0, [(0, 0, "sent"), (MS / 2, 4, "overlimit"), (MS / 2, 5, "overlimit")]);
    while link.poll(Instant::from_nanos(100 * MS), &mut diary).is_some() {}
    let end = link.stats();
    assert_eq!(end.offered.packets, end.dequeued.packets + end.dropped().packets);
    assert_eq!((end.offered.packets, end.dequeued.packets), (6, 4));
}

#[test]
fn a_discipline_with_flow_queues_hands_over_its_packets_in_order_of_arrival() {
    let mut diary = FateLog::default();
    let config =
        goodqueue::fq_codel::FqCodelConfig::from_settings(&Settings::new(), &LinkDefaults::default());
    let mut link = link(mbit(1), AnyConfig::FqCodel(config.unwrap()), Duration::ZERO);
    for seq in 0..8 {
        let mut bytes = [0; 125];
        bytes[0] = 0x45;
        bytes[9] = 17;
        // An IPv4 header, UDP and the source port: two flows.
        bytes[20] = if seq % 2 == 0 { 1 } else { 2 };
        let at = Instant::from_nanos(0);
        let packet =
            IpPacket::new(Pool::new(1 << 20).copy(&bytes).unwrap(), Framing::Ip { counted: 0 }, seq, at);
        link.arrive(at, packet, &mut diary);
    }
    link.reconfigure(Instant::from_nanos(MS / 2), pfifo(10), &mut diary);
    while link.poll(Instant::from_nanos(100 * MS), &mut diary).is_some() {}
    assert_eq!(diary.0.iter().map(|fate| fate.1).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_new_rate_holds_from_the_next_packet_on_and_frees_a_blocked_link() {
    let mut diary = FateLog::default();
    let mut link = link(Capacity::Constant(Rate::from_bps(0)), pfifo(10), Duration::ZERO);
    arrive(&mut link, 0, 0, &mut diary);
    arrive(&mut link, 0, 1, &mut diary);
    assert_eq!(link.next_event(), None);
    link.set_capacity(Instant::from_nanos(3 * MS), mbit(1), &mut diary);
    while link.poll(Instant::from_nanos(20 * MS), &mut diary).is_some() {}
    assert_eq!(diary.0, [(3 * MS, 0, "sent"), (4 * MS, 1, "sent")]);
}

#[test]
fn at_the_end_every_packet_has_a_fate() {
    let mut diary = FateLog::default();
    let mut open = link(mbit(1), pfifo(10), Duration::from_millis(50));
    for seq in 0..4 {
        arrive(&mut open, 0, seq, &mut diary);
    }
    open.finish(Instant::from_nanos(1), &mut diary);
    assert_eq!(
        diary.0.iter().map(|fate| (fate.0 / MS, fate.2)).collect::<Vec<_>>(),
        [(0, "sent"), (1, "sent"), (2, "sent"), (3, "sent")]
    );
    let mut blocked = link(Capacity::Constant(Rate::from_bps(0)), pfifo(10), Duration::ZERO);
    arrive(&mut blocked, 0, 9, &mut diary);
    blocked.finish(Instant::from_nanos(1), &mut diary);
    assert_eq!(diary.0.last().map(|fate| (fate.1, fate.2)), Some((9, "purged")));
}

#[test]
fn a_stopped_process_resumes_as_if_it_had_not_stopped() {
    // An hour passes without a call while packets are queued, as after a long stop of the process.
    let mut diary = FateLog::default();
    let mut link = link(mbit(1), pfifo(1000), Duration::ZERO);
    for seq in 0..1000 {
        arrive(&mut link, 0, seq, &mut diary);
    }
    let hour = 3_600_000 * MS;
    let mut out = 0;
    while link.poll(Instant::from_nanos(hour), &mut diary).is_some() {
        out += 1;
    }
    assert_eq!(out, 1000);
    // Each packet takes 1 ms, so the last one begins after 999 ms.
    assert_eq!(diary.0.last(), Some(&(999 * MS, 999, "sent")), "each at its own time");
    for seq in 1000..1003 {
        arrive(&mut link, hour, seq, &mut diary);
    }
    assert_eq!(diary.0.last(), Some(&(hour, 1000, "sent")), "no burst makes up for the idle time");
}
