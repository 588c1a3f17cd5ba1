//! Stories of `htb` in simulated time.

use super::*;
use crate::config::{Child, Configure, Link, Settings, Value};
use crate::packet::Ecn;
use crate::packet::story::Datagram;
use crate::registry::{AnyConfig, AnyQdisc};
use crate::time::Rate;

/// A class of 8 Mbit/s below one of 80 Mbit/s, up to which it may borrow. Both have this `quantum`
/// in bytes.
fn config(quantum: u64) -> HtbConfig<AnyConfig> {
    let class = |class, parent, mbit: u64| Child {
        class,
        parent,
        settings: Settings::new()
            .with("rate", Value::Rate(Rate::from_bps(mbit * 1_000_000)))
            .with("ceil", Value::Rate(Rate::from_bps(80_000_000)))
            .with("quantum", Value::Bytes(quantum)),
        qdisc: None,
    };
    let settings = Settings::new()
        .with("default", Value::Class(2))
        .with_child(class(1, 0, 80))
        .with_child(class(2, 1, 8));
    HtbConfig::from_settings(&settings, &Link::default()).expect("valid")
}

#[test]
fn a_tree_can_be_built_class_by_class_from_the_top() {
    let fifo = AnyConfig::from_settings("pfifo", &Settings::new(), &Link::default()).unwrap().unwrap();
    let mbit = |rate: u64| Rate::from_bps(rate * 1_000_000);
    let config = HtbConfig::<AnyConfig>::from_settings(&Settings::new(), &Link::default())
        .and_then(|empty| empty.with_inner_class(1, 0, [mbit(80); 2]))
        .and_then(|above| above.with_leaf(2, 1, [mbit(8), mbit(80)], &fifo))
        .expect("valid");
    let classes: Vec<_> =
        config.classes().iter().map(|class| (class.minor(), class.leaf.is_some())).collect();
    assert_eq!(classes, [(1, false), (2, true)]);
}

#[test]
fn a_change_and_a_purge_leave_what_was_lent_and_borrowed() {
    let mut htb = Htb::new(config(2_000), 0, Source::seeded(1));
    let mut now = Instant::ZERO;
    for _ in 0..100 {
        htb.enqueue(now, Datagram::new(1514, Ecn::NotEct), &mut |_, _| ());
    }
    while now < Instant::ZERO + Duration::from_millis(20) {
        now = htb.next_event(now).unwrap_or(now + Duration::from_micros(100));
        htb.dequeue(now, &mut |_, _| ());
    }
    let counted = |htb: &Htb<Datagram, AnyQdisc<Datagram>>| -> Vec<(u64, u64)> {
        htb.tree.classes.iter().map(|class| (class.lended, class.borrowed)).collect()
    };
    let before = counted(&htb);
    assert!(before[0].0 > 0 && before[1].1 > 0, "{before:?}");
    htb.reconfigure(now, config(3_000), &mut |_, _| ());
    assert_eq!(counted(&htb), before);
    htb.purge(now, &mut |_, _| ());
    assert_eq!(counted(&htb), before);
}

#[test]
fn a_purge_leaves_the_buckets_as_full_as_they_are() {
    let class = Child {
        class: 2,
        settings: Settings::new()
            .with("rate", Value::Rate(Rate::from_bps(1_000_000)))
            .with("burst", Value::Bytes(15_140)),
        ..Child::default()
    };
    let settings = Settings::new().with("default", Value::Class(2)).with_child(class);
    let config = HtbConfig::from_settings(&settings, &Link::default()).expect("valid");
    let mut htb: Htb<Datagram, AnyQdisc<Datagram>> = Htb::new(config, 0, Source::seeded(1));
    let mut burst = || {
        for _ in 0..20 {
            htb.enqueue(Instant::ZERO, Datagram::new(1514, Ecn::NotEct), &mut |_, _| ());
        }
        let sent = core::iter::from_fn(|| htb.dequeue(Instant::ZERO, &mut |_, _| ())).count();
        htb.purge(Instant::ZERO, &mut |_, _| ());
        sent
    };
    let first = burst();
    assert!(first > 1, "{first}");
    // As in Linux, a class that was reset sends one packet before it looks at its buckets.
    assert_eq!(burst(), 1);
}

#[test]
fn a_class_without_tokens_wakes_nobody_for_what_happens_inside_it() {
    let class = |mbit: u64| Child {
        class: 2,
        settings: Settings::new().with("rate", Value::Rate(Rate::from_bps(mbit * 1_000_000))),
        ..Child::default()
    };
    let shaper = |class| Settings::new().with("default", Value::Class(2)).with_child(class);
    let inner = shaper(class(10));
    let outer = shaper(Child { qdisc: Some(("htb", inner)), ..class(1) });
    let config = HtbConfig::from_settings(&outer, &Link::default()).expect("valid");
    let mut htb: Htb<Datagram, AnyQdisc<Datagram>> = Htb::new(config, 0, Source::seeded(1));
    let mut now = Instant::ZERO;
    for _ in 0..20 {
        htb.enqueue(now, Datagram::new(1514, Ecn::NotEct), &mut |_, _| ());
    }
    let mut sent = 0;
    for _ in 0..60 {
        sent += u32::from(htb.dequeue(now, &mut |_, _| ()).is_some());
        now = htb.next_event(now).unwrap_or(now);
    }
    assert_eq!(sent, 20, "at {now:?}");
}
