//! Disciplines that hold others: what each promises, told as short stories in simulated time.

use goodqueue::config::{Child, Value};
use goodqueue::random::Source;
use goodqueue::{AnyConfig, AnyQdisc, DropReason, Duration, Instant, Link, Packet, Qdisc, Rate, Settings};
use goodqueue_testkit::operation::TestPacket;

fn config(kind: &str, settings: &Settings) -> AnyConfig {
    AnyConfig::from_settings(kind, settings, &Link::default()).expect("registered").expect("valid")
}

fn queue(kind: &str, settings: &Settings) -> AnyQdisc<TestPacket> {
    AnyQdisc::new(config(kind, settings), 1, Source::seeded(1))
}

fn class(class: u32, settings: Settings, qdisc: Option<(&'static str, Settings)>) -> Child {
    Child { class, parent: 0, settings, qdisc }
}

fn packet(id: u64, len: u32, class: u32) -> TestPacket {
    let ecn = goodqueue::Ecn::NotEct;
    TestPacket { id, len, flow: class, class: Some(class), came_with: ecn, ecn, at: Instant::ZERO }
}

fn rate(bps: u64) -> Value {
    Value::Rate(Rate::from_bps(bps))
}

fn at_ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn nobody() -> impl FnMut(TestPacket, DropReason) {
    |lost: TestPacket, why| panic!("{lost:?} is dropped: {why:?}")
}

/// Departures on an infinitely fast link that asks at `next_event` and no sooner.
fn departures(qdisc: &mut AnyQdisc<TestPacket>, until: Instant) -> Vec<(Instant, TestPacket)> {
    let mut now = Instant::ZERO;
    let mut sent = Vec::new();
    loop {
        match qdisc.dequeue(now, &mut |_, _| ()) {
            Some(packet) => sent.push((now, packet)),
            None => match qdisc.next_event(now).filter(|&event| event <= until) {
                Some(event) => now = event,
                None => return sent,
            },
        }
    }
}

#[test]
fn tbf_sends_a_burst_and_then_at_its_rate() {
    let settings = Settings::new().with("rate", rate(1_000_000)).with("burst", Value::Bytes(1500));
    let mut tbf = queue("tbf", &settings);
    for id in 0..3 {
        tbf.enqueue(Instant::ZERO, packet(id, 1500, 1), &mut nobody());
    }
    let times: Vec<Instant> = departures(&mut tbf, Instant::MAX).iter().map(|sent| sent.0).collect();
    // 1500 bytes take 12 ms at 1 Mbit/s.
    assert_eq!(times, [at_ms(0), at_ms(12), at_ms(24)]);
}

#[test]
fn tbf_never_lets_more_through_than_rate_and_burst_allow() {
    let settings = Settings::new()
        .with("rate", rate(2_000_000))
        .with("burst", Value::Bytes(4000))
        .with("limit", Value::Bytes(10_000_000))
        .with_child(class(1, Settings::new(), Some(("fq_codel", Settings::new()))));
    let mut tbf = queue("tbf", &settings);
    for id in 0..500 {
        tbf.enqueue(
            Instant::ZERO,
            packet(id, 64 + u32::try_from(id * 37 % 1400).unwrap(), 1),
            &mut |_, _| (),
        );
    }
    let sent = departures(&mut tbf, Instant::MAX);
    assert!(sent.len() > 400, "CoDel drops few in so short a time");
    for (first, (from, _)) in sent.iter().enumerate() {
        let mut bytes = 0;
        for (to, packet) in &sent[first..] {
            bytes += u64::from(packet.len());
            // `bytes_in` rounds down.
            let allowed = 4000 + Rate::from_bps(2_000_000).bytes_in(to.since(*from)) + 1;
            assert!(bytes <= allowed, "{bytes} bytes from {from:?} to {to:?}, {allowed} allowed");
        }
    }
}

#[test]
fn a_packet_longer_than_the_bucket_is_dropped_at_once_and_harms_nobody() {
    let settings = Settings::new().with("rate", rate(1_000_000)).with("burst", Value::Bytes(1000));
    let mut tbf = queue("tbf", &settings);
    let mut lost = Vec::new();
    tbf.enqueue(Instant::ZERO, packet(0, 1001, 1), &mut |p: TestPacket, why| lost.push((p.id, why)));
    assert_eq!(lost, [(0, DropReason::Oversize)]);
    // One that was let in before the bucket shrank goes at the head.
    tbf.enqueue(Instant::ZERO, packet(1, 1000, 1), &mut nobody());
    tbf.enqueue(Instant::ZERO, packet(2, 400, 1), &mut nobody());
    let smaller = settings.clone().with("burst", Value::Bytes(500));
    tbf.reconfigure(Instant::ZERO, config("tbf", &smaller), &mut nobody());
    let sent = tbf.dequeue(Instant::ZERO, &mut |p: TestPacket, why| lost.push((p.id, why)));
    assert_eq!((sent.map(|packet| packet.id), lost.last()), (Some(2), Some(&(1, DropReason::Oversize))));
}

#[test]
fn rates_that_no_bucket_can_have_are_refused_and_the_slowest_waits_without_overflow() {
    for kind in ["tbf", "netem"] {
        // Linux counts in bytes per second, and these are less than one.
        for bps in [0, 1, 7] {
            let settings = Settings::new().with("rate", rate(bps));
            assert!(
                AnyConfig::from_settings(kind, &settings, &Link::default()).unwrap().is_err(),
                "{kind} {bps}"
            );
        }
    }
    // The bucket is worth 4.3 x 10^18 ns, half of what 64 bits with a sign can hold.
    let settings = Settings::new().with("rate", rate(8)).with("burst", Value::Bytes(u64::from(u32::MAX)));
    let mut tbf = queue("tbf", &settings);
    tbf.enqueue(Instant::ZERO, packet(0, 1514, 1), &mut nobody());
    assert!(tbf.dequeue(Instant::ZERO, &mut nobody()).is_some());
    let fast = Settings::new().with("rate", rate(u64::MAX)).with("burst", Value::Bytes(1514));
    let mut tbf = queue("tbf", &fast);
    tbf.enqueue(Instant::ZERO, packet(0, 1514, 1), &mut nobody());
    assert!(tbf.dequeue(Instant::MAX, &mut nobody()).is_some());
}

#[test]
fn drr_keeps_busy_classes_within_a_quantum_and_a_packet_of_their_shares() {
    let quanta = [500_u32, 1514, 4000];
    let lengths = [1514_u32, 90, 700];
    let settings = quanta.iter().zip(1..).fold(Settings::new(), |all, (&quantum, minor)| {
        let own = Settings::new().with("quantum", Value::Bytes(u64::from(quantum)));
        let pfifo = Settings::new().with("limit", Value::Packets(100_000));
        all.with_child(class(minor, own, Some(("pfifo", pfifo))))
    });
    let mut drr = queue("drr", &settings);
    // The second class sends about 22,000 of the 30,000 packets below, so all classes stay busy.
    for id in 0..40_000 {
        for (minor, len) in (1..).zip(lengths) {
            drr.enqueue(Instant::ZERO, packet(id, len, minor), &mut nobody());
        }
    }
    let mut bytes = [0_u64; 3];
    for _ in 0..30_000 {
        let sent = drr.dequeue(Instant::ZERO, &mut nobody()).expect("all classes are busy");
        bytes[sent.flow as usize - 1] += u64::from(sent.len);
        // F7: rounds served, counted in each class's own quanta, differ by no more than one and a
        // packet.
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            let rounds = |class: usize| bytes[class] as f64 / f64::from(quanta[class]);
            let packets = |class: usize| f64::from(lengths[class]) / f64::from(quanta[class]);
            let bound = 1.0 + packets(i) + packets(j);
            assert!((rounds(i) - rounds(j)).abs() <= bound, "{bytes:?}");
        }
    }
}

#[test]
fn strict_bands_of_ets_come_first_and_the_others_share_by_their_quanta() {
    let pfifo = || Some(("pfifo", Settings::new().with("limit", Value::Packets(10_000))));
    let settings = Settings::new().with("strict", Value::Integer(2)).with("quanta", Value::Integer(4500));
    let settings = (1..=4).fold(settings, |all, band| all.with_child(class(band, Settings::new(), pfifo())));
    let mut ets = queue("ets", &settings);
    for id in 0..1000 {
        for band in [4, 3, 2, 1] {
            ets.enqueue(Instant::ZERO, packet(id, 1500, band), &mut nobody());
        }
    }
    let order: Vec<u32> = departures(&mut ets, Instant::ZERO).iter().map(|(_, sent)| sent.flow).collect();
    assert!(order[..1000].iter().all(|band| *band == 1), "the first band");
    assert!(order[1000..2000].iter().all(|band| *band == 2), "then the second");
    // The last band has no quantum of its own, and so that of an MTU: three packets against one.
    let third = order[2000..2800].iter().filter(|band| **band == 3).count();
    assert!((594..=606).contains(&third), "{third} of 800");
    assert_eq!(order.len(), 4000);
}

#[test]
fn drr_serves_the_published_example_in_its_order() {
    // Deficits begin at one quantum in Linux, so the first round is that of the example with
    // Q = 500.
    let lengths = [vec![200, 750, 20], vec![500, 500], vec![100, 600, 200], vec![180, 700, 50]];
    let settings = (1..=4).fold(Settings::new(), |all, minor| {
        all.with_child(class(minor, Settings::new().with("quantum", Value::Bytes(500)), None))
    });
    let mut drr = queue("drr", &settings);
    for (minor, packets) in (1..).zip(&lengths) {
        for &len in packets {
            drr.enqueue(Instant::ZERO, packet(0, len, minor), &mut nobody());
        }
    }
    let sent = departures(&mut drr, Instant::MAX);
    let order: Vec<(u32, u32)> = sent.iter().map(|(_, packet)| (packet.flow, packet.len)).collect();
    let expected = [
        (1, 200),
        (2, 500),
        (3, 100),
        (4, 180),
        (1, 750),
        (1, 20),
        (2, 500),
        (3, 600),
        (3, 200),
        (4, 700),
        (4, 50),
    ];
    assert_eq!(order, expected);
}

#[test]
fn prio_serves_a_band_only_while_those_before_it_have_nothing_to_give() {
    // The first band is shaped: while it waits, the others go on.
    let shaped = Settings::new().with("rate", rate(1_000_000)).with("burst", Value::Bytes(1500));
    let settings = Settings::new().with_child(class(1, Settings::new(), Some(("tbf", shaped))));
    let mut prio = queue("prio", &settings);
    for id in 0..2 {
        prio.enqueue(Instant::ZERO, packet(id, 1500, 3), &mut nobody());
        prio.enqueue(Instant::ZERO, packet(10 + id, 1500, 1), &mut nobody());
    }
    let sent = departures(&mut prio, Instant::MAX);
    let order: Vec<(Instant, u64)> = sent.iter().map(|(at, packet)| (*at, packet.id)).collect();
    assert_eq!(order, [(at_ms(0), 10), (at_ms(0), 0), (at_ms(0), 1), (at_ms(12), 11)]);
}

/// Two leaves of 2 and 8 Mbit/s below 10 Mbit/s, and what each sent in `millis` with these bytes
/// waiting.
fn htb_shares(waiting: [u64; 2], ceil: u64, millis: u64) -> [u64; 2] {
    let leaf = |minor, bps| {
        let own = Settings::new().with("rate", rate(bps)).with("ceil", rate(ceil));
        let pfifo = Settings::new().with("limit", Value::Packets(1_000_000));
        Child { parent: 1, ..class(minor, own, Some(("pfifo", pfifo))) }
    };
    let settings = Settings::new()
        .with("default", Value::Class(3))
        .with_child(class(1, Settings::new().with("rate", rate(10_000_000)), None))
        .with_child(leaf(2, 2_000_000))
        .with_child(leaf(3, 8_000_000));
    let mut htb = queue("htb", &settings);
    for (minor, packets) in [2, 3].into_iter().zip(waiting) {
        for id in 0..packets {
            htb.enqueue(Instant::ZERO, packet(id, 1500, minor), &mut nobody());
        }
    }
    let mut bytes = [0; 2];
    for (_, packet) in departures(&mut htb, at_ms(millis)) {
        bytes[packet.flow as usize - 2] += u64::from(packet.len);
    }
    bytes
}

#[test]
fn htb_gives_each_class_its_rate_and_lends_what_is_not_used() {
    let near = |bytes: u64, mbit: u64| {
        // 1 Mbit/s for four seconds, in bytes.
        let expected = mbit * 125_000 * 4;
        bytes.abs_diff(expected) < expected / 50 + 5000
    };
    // In four seconds, 10 Mbit/s carry 3333 packets.
    let [a, b] = htb_shares([10_000, 10_000], 10_000_000, 4000);
    assert!(near(a, 2) && near(b, 8), "{a} and {b}");
    let [alone, none] = htb_shares([10_000, 0], 10_000_000, 4000);
    assert!(near(alone, 10) && none == 0, "{alone}: it borrows all");
    let [capped, _] = htb_shares([10_000, 0], 3_000_000, 4000);
    assert!(near(capped, 3), "{capped}: it borrows up to its ceiling");
}

#[test]
fn htb_sends_what_has_no_class_straight_through() {
    let settings = Settings::new().with_child(class(1, Settings::new().with("rate", rate(8000)), None));
    let mut htb = queue("htb", &settings);
    for id in 0..5 {
        // As in Linux, a packet without a class does not wait for tokens.
        htb.enqueue(Instant::ZERO, packet(id, 1500, 7), &mut nobody());
    }
    assert_eq!(departures(&mut htb, Instant::ZERO).len(), 5);
}

#[test]
fn netem_holds_its_limit_however_long_the_delay_is() {
    let settings = Settings::new().with("delay", Value::Time(Duration::from_millis(100)));
    let mut netem = queue("netem", &settings);
    let mut lost = 0;
    // 100 Mbit/s for 100 ms are 833 packets of 1500 bytes, 200 Mbit/s twice as many: the limit of
    // 1000 cuts them.
    for id in 0..1666 {
        let now = Instant::ZERO + Duration::from_micros(60 * id);
        netem.enqueue(now, packet(id, 1500, 1), &mut |_: TestPacket, why| {
            assert_eq!(why, DropReason::Overlimit);
            lost += 1;
        });
    }
    assert_eq!((netem.len(), lost), (1000, 666));
    let sent = departures(&mut netem, Instant::MAX);
    assert!(sent.iter().all(|(at, packet)| *at
        == Instant::ZERO + Duration::from_micros(60 * packet.id) + Duration::from_millis(100)));
}

#[test]
fn netem_reorders_by_jitter_and_loses_as_often_as_it_is_told() {
    let settings = Settings::new()
        .with("delay", Value::Time(Duration::from_millis(10)))
        .with("delay.jitter", Value::Time(Duration::from_millis(5)))
        .with("limit", Value::Packets(1_000_000))
        .with("loss", Value::Probability(0.25))
        .with("seed", Value::Integer(3));
    let mut netem = queue("netem", &settings);
    for id in 0..20_000 {
        netem.enqueue(Instant::ZERO + Duration::from_nanos(200 * id), packet(id, 100, 1), &mut |_, _| ());
    }
    let sent = departures(&mut netem, Instant::MAX);
    // 75 % of 20,000. The standard deviation is 61.
    assert!((14_700..15_300).contains(&sent.len()), "{} of 20000 arrive", sent.len());
    assert!(sent.windows(2).any(|pair| pair[0].1.id > pair[1].1.id), "some overtake others");
    for (at, packet) in sent {
        let delay = at.since(Instant::ZERO + Duration::from_nanos(200 * packet.id)).as_nanos();
        assert!((5_000_000..15_000_000).contains(&delay), "{delay}");
    }
}

#[test]
fn a_delay_below_a_scheduler_and_a_scheduler_below_a_delay_both_let_everything_out() {
    let delay = Settings::new().with("delay", Value::Time(Duration::from_millis(3)));
    let slow = Settings::new().with_child(class(1, Settings::new(), Some(("netem", delay.clone()))));
    let mut drr = queue("drr", &slow.with_child(class(2, Settings::new(), None)));
    let inner = Settings::new().with_child(class(1, Settings::new(), None)).with_child(class(
        2,
        Settings::new(),
        None,
    ));
    let mut netem = queue("netem", &delay.with_child(class(1, Settings::new(), Some(("drr", inner)))));
    for qdisc in [&mut drr, &mut netem] {
        for id in 0..6 {
            qdisc.enqueue(Instant::ZERO, packet(id, 1000, 1 + u32::try_from(id % 2).unwrap()), &mut nobody());
        }
        assert_eq!(departures(qdisc, Instant::MAX).len(), 6);
        assert!(qdisc.is_empty());
    }
}

#[test]
fn a_class_that_goes_takes_its_packets_with_it_and_the_others_stay() {
    let settings =
        (1..=3).fold(Settings::new(), |all, minor| all.with_child(class(minor, Settings::new(), None)));
    for kind in ["drr", "ets", "prio"] {
        let mut qdisc = queue(kind, &settings);
        for id in 0..30 {
            qdisc.enqueue(Instant::ZERO, packet(id, 100, 1 + u32::try_from(id % 3).unwrap()), &mut nobody());
        }
        let two =
            (1..=2).fold(Settings::new(), |all, minor| all.with_child(class(minor, Settings::new(), None)));
        let two = if kind != "drr" { two.with("bands", Value::Integer(2)) } else { two };
        let mut purged = 0;
        qdisc.reconfigure(Instant::ZERO, config(kind, &two), &mut |lost: TestPacket, why| {
            assert_eq!((lost.flow, why), (3, DropReason::Purged));
            purged += 1;
        });
        assert_eq!((purged, qdisc.len()), (10, 20), "{kind}");
        assert_eq!(departures(&mut qdisc, Instant::ZERO).len(), 20, "{kind}");
        let stats = qdisc.stats();
        assert_eq!(
            (stats.offered.packets, stats.dequeued.packets, stats.dropped_after.packets),
            (30, 20, 10)
        );
    }
}

#[test]
fn classes_put_in_between_leave_the_others_their_packets_and_turns() {
    let classes = |minors: &[u32]| {
        minors.iter().fold(Settings::new(), |all, &minor| all.with_child(class(minor, Settings::new(), None)))
    };
    let odd: Vec<u32> = (1..40_000).step_by(2).collect();
    let all: Vec<u32> = (1..40_000).collect();
    for kind in ["drr", "qfq"] {
        let mut qdisc = queue(kind, &classes(&odd));
        for id in 0..6 {
            for minor in [20_001, 3, 39_999] {
                qdisc.enqueue(Instant::ZERO, packet(id, 1500, minor), &mut nobody());
            }
        }
        qdisc.reconfigure(Instant::ZERO, config(kind, &classes(&all)), &mut nobody());
        for minor in [2, 20_002] {
            qdisc.enqueue(Instant::ZERO, packet(0, 1500, minor), &mut nobody());
        }
        let order: Vec<u32> =
            departures(&mut qdisc, Instant::ZERO).iter().map(|(_, packet)| packet.flow).collect();
        assert_eq!(order.len(), 20, "{kind}");
        for minor in [2, 20_002] {
            let place = order.iter().position(|&flow| flow == minor);
            assert!(place.is_some_and(|place| place < 12), "{kind}: {order:?}");
        }
        for minor in [20_001, 3, 39_999] {
            assert_eq!(order.iter().filter(|&&flow| flow == minor).count(), 6, "{kind}: {order:?}");
        }
    }
}
