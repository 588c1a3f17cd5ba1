//! Stories of classes on a link.

use super::*;
use crate::config::{Link, Settings};
use crate::fifo::{Pfifo, PfifoConfig};
use crate::packet::Ecn;
use crate::packet::story::Datagram;
use crate::random::Source;
use crate::time::{Duration, Rate};

type Queue = Hfsc<Datagram, Pfifo<Datagram>>;
type Config = HfscConfig<PfifoConfig>;

const fn kbit(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000)
}

fn flat(rate: u64) -> Option<Curve> {
    Some(Curve::from_rate(kbit(rate)).unwrap())
}

fn share(rate: u64) -> Curves {
    Curves { ls: flat(rate), ..Curves::default() }
}

fn empty() -> Config {
    Config::from_settings(&Settings::new(), &Link::default()).unwrap()
}

/// A configuration whose leaves, of these numbers, are below the root.
fn of_leaves(leaves: &[(u32, Curves)]) -> Config {
    let fifo = PfifoConfig::new(1_000).unwrap();
    leaves.iter().fold(empty(), |all, (minor, curves)| all.with_leaf(*minor, 0, curves, &fifo).unwrap())
}

/// A queue and a link.
struct Line {
    queue: Queue,
    rate: Rate,
    now: Instant,
    /// Bytes sent by each class.
    sent: BTreeMap<u32, u64>,
    /// The longest time that a packet of each class has waited, in ns.
    longest_wait: BTreeMap<u32, u64>,
    dropped: u64,
    offered: u64,
    arrivals: BTreeMap<u64, Instant>,
}

impl Line {
    fn new(config: Config, rate: Rate) -> Self {
        let queue = Queue::new(config, 1, Source::seeded(1));
        Self {
            queue,
            rate,
            now: Instant::ZERO,
            sent: BTreeMap::new(),
            longest_wait: BTreeMap::new(),
            dropped: 0,
            offered: 0,
            arrivals: BTreeMap::new(),
        }
    }

    fn offer(&mut self, class: u32, bytes: u32) {
        let packet = Datagram::new(bytes, Ecn::NotEct).of_class(class).numbered(self.offered);
        self.arrivals.insert(self.offered, self.now);
        self.offered += 1;
        let dropped = &mut self.dropped;
        self.queue.enqueue(self.now, packet, &mut |_, _| *dropped += 1);
    }

    /// Sends for `span`, with at least ten packets of 1000 bytes in each of `busy`.
    fn run(&mut self, span: Duration, busy: &[u32]) {
        let end = self.now + span;
        while self.now < end {
            for class in busy {
                while self.queue.leaves.get(class).is_some_and(|leaf| leaf.len() < 10) {
                    self.offer(*class, 1000);
                }
            }
            self.step(end);
        }
    }

    /// Sends a packet, or waits for the next one.
    fn step(&mut self, end: Instant) {
        let dropped = &mut self.dropped;
        if let Some(packet) = self.queue.dequeue(self.now, &mut |_, _| *dropped += 1) {
            let class = packet.class.unwrap_or(0);
            *self.sent.entry(class).or_default() += u64::from(packet.bytes);
            let waited = self.arrivals.remove(&packet.id).map_or(0, |at| self.now.since(at).as_nanos());
            let longest = self.longest_wait.entry(class).or_default();
            *longest = waited.max(*longest);
            self.now += self.rate.serialization(packet.bytes);
        } else {
            let next = self.queue.next_event(self.now).unwrap_or(end);
            assert!(next > self.now, "the next event lies ahead");
            self.now = next.min(end);
        }
    }

    fn sent(&self, class: u32) -> u64 {
        self.sent.get(&class).copied().unwrap_or(0)
    }
}

#[test]
fn busy_classes_share_the_link_in_the_ratio_of_their_curves() {
    let mut line = Line::new(of_leaves(&[(1, share(1_000)), (2, share(3_000))]), kbit(8_000));
    line.run(Duration::from_secs(1), &[1, 2]);
    // 8 Mbit/s are 1,000,000 bytes in a second.
    assert!(line.sent(1).abs_diff(250_000) <= 2_000, "{:?}", line.sent);
    assert!(line.sent(2).abs_diff(750_000) <= 2_000, "{:?}", line.sent);
}

#[test]
fn what_a_class_leaves_goes_to_its_sibling_before_it_goes_to_others() {
    let fifo = PfifoConfig::new(100).unwrap();
    let config = empty()
        .with_inner_class(0x10, 0, &share(2_000))
        .and_then(|config| config.with_inner_class(0x20, 0, &share(2_000)))
        .and_then(|config| config.with_leaf(1, 0x10, &share(1_000), &fifo))
        .and_then(|config| config.with_leaf(2, 0x10, &share(1_000), &fifo))
        .and_then(|config| config.with_leaf(3, 0x20, &share(1_000), &fifo))
        .unwrap();
    assert_eq!((config.level(0), config.level(0x10), config.level(1)), (2, 1, 0));
    let mut line = Line::new(config, kbit(8_000));
    line.run(Duration::from_secs(1), &[1, 2, 3]);
    let all_busy = [line.sent(1), line.sent(2), line.sent(3)];
    assert!(all_busy.iter().zip([250_000, 250_000, 500_000]).all(|(sent, due)| sent.abs_diff(due) < 15_000));
    line.sent.clear();
    line.run(Duration::from_secs(1), &[1, 3]);
    assert!(line.sent(1).abs_diff(500_000) < 15_000, "{:?}", line.sent);
}

#[test]
fn a_guarantee_with_a_steep_start_bounds_the_delay_of_a_slow_class() {
    // A packet of 160 bytes within 5 ms, every 20 ms: 64 kbit/s.
    let curve = Curve::new([kbit(256), kbit(64)], Duration::from_millis(5)).unwrap();
    let voice = Curves { rt: Some(curve), ..Curves::default() };
    let mut line = Line::new(of_leaves(&[(1, voice), (2, share(1_000))]), kbit(1_000));
    for _ in 0..100 {
        line.offer(1, 160);
        line.run(Duration::from_millis(20), &[2]);
    }
    assert_eq!(line.sent(1), 100 * 160);
    // The packet of the other class on the link takes 8 ms more.
    let longest = line.longest_wait[&1];
    assert!(longest <= 13_100_000, "{longest} ns");
    // By shares alone the voice would wait for its turn as long as its rate says: 20 ms.
}

#[test]
fn a_guarantee_is_served_even_if_the_share_is_used_up() {
    let curves = Curves { rt: flat(3_000), ls: flat(1), ..Curves::default() };
    let mut line = Line::new(of_leaves(&[(1, curves), (2, share(1_000))]), kbit(4_000));
    line.run(Duration::from_secs(1), &[1, 2]);
    // 3 Mbit/s are 375,000 bytes in a second.
    assert!(line.sent(1).abs_diff(375_000) < 3_000, "{:?}", line.sent);
    assert!(line.sent(2).abs_diff(125_000) < 3_000, "{:?}", line.sent);
}

#[test]
fn an_upper_limit_holds_also_if_the_link_is_idle() {
    let limited = Curves { ls: flat(1_000), ul: flat(2_000), ..Curves::default() };
    let mut line = Line::new(of_leaves(&[(1, limited)]), kbit(10_000));
    line.run(Duration::from_secs(1), &[1]);
    // 2 Mbit/s are 250,000 bytes in a second.
    assert!(line.sent(1).abs_diff(250_000) <= 1_000, "{:?}", line.sent);
    assert!(line.queue.overlimits > 200, "{}", line.queue.overlimits);
}

#[test]
fn packets_without_a_class_go_to_the_default_or_are_dropped() {
    let config = of_leaves(&[(1, share(1_000))]);
    let mut line = Line::new(config.clone(), kbit(1_000));
    line.offer(7, 100);
    assert_eq!((line.dropped, line.queue.len()), (1, 0));
    let mut with_default = Line::new(config.with_default(1).unwrap(), kbit(1_000));
    with_default.offer(7, 100);
    assert_eq!((with_default.dropped, with_default.queue.len()), (0, 1));
    // Without any class, the root is a FIFO.
    let mut alone = Line::new(empty(), kbit(1_000));
    alone.offer(7, 100);
    alone.run(Duration::from_millis(10), &[]);
    assert_eq!(alone.sent(7), 100);
}

#[test]
fn a_changed_curve_keeps_the_packets_and_holds_from_then_on() {
    let mut line = Line::new(of_leaves(&[(1, share(1_000)), (2, share(1_000))]), kbit(8_000));
    line.run(Duration::from_secs(1), &[1, 2]);
    let queued = line.queue.len();
    let changed = of_leaves(&[(1, share(3_000)), (2, share(1_000))]);
    line.queue.reconfigure(line.now, changed.clone(), &mut |_, _| panic!("no packet is dropped"));
    assert_eq!((line.queue.len(), line.queue.config() == changed), (queued, true));
    line.sent.clear();
    line.run(Duration::from_secs(1), &[1, 2]);
    assert!(line.sent(1).abs_diff(750_000) < 5_000, "{:?}", line.sent);
}

#[test]
fn a_deleted_class_drops_its_packets_and_the_others_go_on() {
    let mut line = Line::new(of_leaves(&[(1, share(1_000)), (2, share(1_000))]), kbit(8_000));
    line.run(Duration::from_millis(100), &[1, 2]);
    let mut dropped = 0;
    line.queue.reconfigure(line.now, of_leaves(&[(2, share(1_000))]), &mut |_, _| dropped += 1);
    assert!(dropped > 5, "{dropped}");
    line.sent.clear();
    line.run(Duration::from_millis(100), &[2]);
    assert_eq!((line.sent(1), line.sent(2)), (0, 100_000));
}

#[test]
fn curves_are_checked() {
    let refused = |curves: &Curves| {
        let error = empty().with_leaf(1, 0, curves, &PfifoConfig::default()).unwrap_err();
        error.parameter
    };
    assert_eq!(refused(&Curves::default()), "rt m2");
    assert_eq!(refused(&Curves { rt: flat(8), ul: flat(8), ..Curves::default() }), "ls m2");
    assert!(Curve::new([kbit(0), kbit(0)], Duration::ZERO).is_err());
    // The parent does not exist, or is below its child.
    assert!(empty().with_leaf(1, 9, &share(8), &PfifoConfig::default()).is_err());
    let below_itself = empty().with_leaf(1, 1, &share(8), &PfifoConfig::default());
    assert!(below_itself.is_err());
}
