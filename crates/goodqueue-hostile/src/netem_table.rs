//! Tables of delay distributions for `netem`.

use std::sync::Arc;

use goodqueue::config::{Table, Value};
use goodqueue::random::Source;
use goodqueue::{AnyConfig, AnyQdisc, Duration, Ecn, Instant, Link, Qdisc, Settings};
use goodqueue_tc as tc;
use goodqueue_testkit::operation::TestPacket;

/// Reads a table. Either an error explains what is wrong with it, or packets are delayed by it and
/// come out again.
///
/// # Panics
/// If neither happens.
pub fn netem_table(bytes: &[u8]) {
    let entries = match tc::table::entries("fuzz.dist", bytes) {
        Ok(entries) => entries,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let table = Table { name: "fuzz.dist".into(), entries };
    let settings = Settings::new()
        .with("delay", Value::Time(Duration::from_millis(20)))
        .with("delay.jitter", Value::Time(Duration::from_millis(5)))
        .with("distribution", Value::Table(Arc::new(table)));
    let config = match AnyConfig::from_settings("netem", &settings, &Link::default()) {
        Some(Ok(config)) => config,
        Some(Err(error)) => return assert!(!error.to_string().is_empty()),
        None => panic!("netem is no discipline"),
    };
    assert!(tc::to_tc(&config).contains("distribution fuzz.dist"));
    let mut queue = AnyQdisc::new(config, 0, Source::seeded(1));
    let mut now = Instant::ZERO;
    for number in 0..PACKETS {
        queue.enqueue(now, packet(number, now), &mut |_, _| panic!("there is room for all"));
        now += Duration::from_micros(100);
    }
    let mut left = 0_u64;
    loop {
        while queue.dequeue(now, &mut |_, _| {}).is_some() {
            left += 1;
        }
        let Some(next) = queue.next_event(now) else { break };
        now = next.max(now);
    }
    assert_eq!((left, queue.len()), (PACKETS, 0), "packets stay for ever");
}

// Fewer than netem's default limit of 1000.
const PACKETS: u64 = 200;

fn packet(id: u64, at: Instant) -> TestPacket {
    let ecn = Ecn::Ect0;
    TestPacket { id, len: 1514, flow: 0, class: None, came_with: ecn, ecn, at }
}
