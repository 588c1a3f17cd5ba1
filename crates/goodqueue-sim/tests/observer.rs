//! The observation of single packets.

use std::collections::BTreeMap;

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Instant, Rate};
use goodqueue_sim::observer::{Fate, Visit};
use goodqueue_sim::traffic::CbrSettings;
use goodqueue_sim::{Capacity, Config, Direction, FlowConfig, LinkConfig, Observer, Run, Traffic, run};

/// Records the number and the time of every report.
#[derive(Default)]
struct Notes {
    arrived: Vec<(u64, Instant)>,
    ended: BTreeMap<u64, (Instant, Fate)>,
    enough: bool,
}

impl Observer for Notes {
    fn arrived(&mut self, visit: &Visit) {
        self.arrived.push((visit.number, visit.packet.queued_at));
    }

    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) {
        assert!(at >= visit.packet.queued_at);
        assert!(self.ended.insert(visit.number, (at, fate)).is_none(), "one fate each");
    }

    fn goes_on(&self) -> bool {
        !self.enough
    }
}

/// Two senders whose equal packets arrive at the same instants at a short queue with half their
/// rate.
fn crowded() -> Config {
    let settings = Settings::new().with("limit", Value::Packets(5));
    let pfifo =
        AnyConfig::from_settings("pfifo", &settings, &Link::default()).expect("listed").expect("valid");
    let link = LinkConfig::new(Capacity::Constant(Rate::from_bps(1_000_000)), pfifo);
    let cbr = Traffic::Cbr(CbrSettings {
        direction: Direction::Down,
        rate: Rate::from_bps(1_000_000),
        bytes: 1000,
        ecn: false,
        l4s: false,
    });
    let flow = FlowConfig::new(cbr, Duration::from_millis(10));
    Config::new([link.clone(), link], vec![flow.clone(), flow], Duration::from_secs(2))
}

#[test]
fn every_packet_is_told_of_when_it_comes_and_once_when_it_goes() {
    let mut notes = Notes::default();
    let outcome = Run::new(&crowded()).expect("valid").to_end(|_| true, Some(&mut notes)).expect("runs");
    let stats = outcome.links[0].stats;
    assert_eq!(notes.arrived.len() as u64, stats.offered.packets);
    assert!(notes.arrived.iter().zip(0..).all(|(arrival, number)| arrival.0 == number), "in this order");
    let count = |is: fn(&Fate) -> bool| notes.ended.values().filter(|(_, fate)| is(fate)).count() as u64;
    assert_eq!(count(|fate| *fate == Fate::Sent), stats.dequeued.packets);
    assert_eq!(count(|fate| matches!(fate, Fate::Dropped(_))), stats.dropped().packets);
    let left = stats.offered.packets - stats.dequeued.packets - stats.dropped().packets;
    assert!(left > 0);
    assert_eq!(count(|fate| *fate == Fate::Queued), left);
    assert_eq!(notes.ended.len(), notes.arrived.len());
}

#[test]
fn a_run_is_the_same_whether_somebody_looks_on_or_not() {
    let alone = run(&crowded()).expect("valid");
    let seen =
        Run::new(&crowded()).expect("valid").to_end(|_| true, Some(&mut Notes::default())).expect("runs");
    assert_eq!(format!("{alone:?}"), format!("{seen:?}"));
}

#[test]
fn an_observer_that_has_seen_enough_ends_the_run() {
    let mut notes = Notes { enough: true, ..Notes::default() };
    let outcome = Run::new(&crowded()).expect("valid").to_end(|_| true, Some(&mut notes)).expect("runs");
    // A run of 2 s asks its observer every 5 ms.
    assert!(outcome.measured < Duration::from_millis(50), "{}", outcome.measured);
}
