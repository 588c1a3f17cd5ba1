//! Stories of `netem` in simulated time.

use super::*;
use crate::config::{Configure, Link, Settings, Value};
use crate::packet::story::Datagram;
use crate::registry::{AnyConfig, AnyQdisc};

#[test]
fn a_purge_leaves_the_count_to_the_next_packet_out_of_turn() {
    let settings = Settings::new()
        .with("delay", Value::Time(Duration::from_millis(10)))
        .with("reorder", Value::Probability(1.0))
        .with("gap", Value::Packets(5));
    let config = NetemConfig::<AnyConfig>::from_settings(&settings, &Link::default()).expect("valid");
    let mut path: Netem<Datagram, AnyQdisc<Datagram>> = Netem::new(config, 0, Source::seeded(1));
    let mut at_once = |packets: u32| {
        for _ in 0..packets {
            path.enqueue(Instant::ZERO, Datagram::new(1514, Ecn::NotEct), &mut |_, _| ());
        }
        let sent = core::iter::from_fn(|| path.dequeue(Instant::ZERO, &mut |_, _| ())).count();
        path.purge(Instant::ZERO, &mut |_, _| ());
        sent
    };
    // Each fifth packet leaves at once.
    assert_eq!([3, 1, 1].map(&mut at_once), [0, 0, 1]);
}

#[test]
fn a_delay_is_exact_and_with_the_tc_of_linux_6_1_in_units_of_64_ns() {
    // 9842 us are 153,781.25 units.
    for (variant, nanos) in [("linux", 9_842_000), ("linux61", 9_841_984)] {
        let settings = Settings::new()
            .with("delay", Value::Time(Duration::from_micros(9_842)))
            .with("variant", Value::Choice(variant));
        let config = NetemConfig::<AnyConfig>::from_settings(&settings, &Link::default()).expect("valid");
        let mut path: Netem<Datagram, AnyQdisc<Datagram>> = Netem::new(config, 0, Source::seeded(1));
        path.enqueue(Instant::ZERO, Datagram::new(1514, Ecn::NotEct), &mut |_, _| ());
        assert_eq!(path.next_event(Instant::ZERO), Some(Instant::from_nanos(nanos)), "{variant}");
    }
}

#[test]
fn a_purge_leaves_a_burst_of_losses() {
    // A burst begins with the first packet and does not end.
    let settings = Settings::new()
        .with("loss gemodel", Value::Probability(1.0))
        .with("loss gemodel.r", Value::Probability(0.0));
    let config = NetemConfig::<AnyConfig>::from_settings(&settings, &Link::default()).expect("valid");
    let mut path: Netem<Datagram, AnyQdisc<Datagram>> = Netem::new(config, 0, Source::seeded(1));
    path.enqueue(Instant::ZERO, Datagram::new(1514, Ecn::NotEct), &mut |_, _| ());
    assert_eq!(path.period, Period::LostInBurst);
    path.purge(Instant::ZERO, &mut |_, _| ());
    assert_eq!(path.period, Period::LostInBurst);
}
