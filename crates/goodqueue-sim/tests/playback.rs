//! Runs that their owner plays.

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Instant, Rate};
use goodqueue_sim::observer::{Fate, Place, Visit};
use goodqueue_sim::traffic::{CbrSettings, PingSettings};
use goodqueue_sim::{
    Capacity, Config, Direction, FlowConfig, HopConfig, LinkConfig, Observer, Run, Traffic, run,
};

/// The reports of all packets as text.
#[derive(Default)]
struct Notes(Vec<String>);

impl Observer for Notes {
    fn arrived(&mut self, visit: &Visit) {
        self.0.push(format!("{visit:?}"));
    }

    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) {
        // Only a run in one go tells of the packets that its end finds in the queue.
        if fate != Fate::Queued {
            self.0.push(format!("{visit:?} {at:?} {fate:?}"));
        }
    }
}

/// A ping beside a sender with twice the rate of the link, with a warm-up and a time series.
fn crowded() -> Config {
    let settings = Settings::new().with("limit", Value::Packets(5));
    let pfifo =
        AnyConfig::from_settings("pfifo", &settings, &Link::default()).expect("listed").expect("valid");
    let link = LinkConfig::new(Capacity::Constant(Rate::from_bps(1_000_000)), pfifo);
    let cbr = Traffic::Cbr(CbrSettings {
        direction: Direction::Up,
        rate: Rate::from_bps(2_000_000),
        bytes: 1000,
        ecn: false,
        l4s: false,
    });
    let ping = Traffic::Ping(PingSettings { interval: Duration::from_millis(70), bytes: 64, l4s: false });
    let flows = [cbr, ping].map(|traffic| FlowConfig::new(traffic, Duration::from_millis(10)));
    Config {
        warmup: Duration::from_millis(300),
        series_step: Some(Duration::from_millis(100)),
        ..Config::new([link.clone(), link], flows.to_vec(), Duration::from_secs(2))
    }
}

#[test]
fn a_run_has_the_same_outcome_and_the_same_packets_however_it_is_played() {
    let whole = run(&crowded()).expect("valid");
    let mut all = Notes::default();
    Run::new(&crowded()).expect("valid").to_end(|_| true, Some(&mut all)).expect("runs");
    // Shorter than a step of the series, as long as the warm-up, and longer than the run.
    for step in [7, 300, 5000] {
        let mut played = Run::owned(crowded()).expect("valid").observed_everywhere();
        let mut notes = Notes::default();
        let mut to = Instant::ZERO;
        while !played.is_over() {
            to += Duration::from_millis(step);
            played.advance(to, Some(&mut notes)).expect("runs");
            assert_eq!(played.now(), to.min(Instant::ZERO + Duration::from_secs(2)));
        }
        assert_eq!(notes.0, all.0, "in steps of {step} ms");
        assert_eq!(format!("{:?}", played.finish()), format!("{whole:?}"), "in steps of {step} ms");
    }
}

#[test]
fn a_run_shows_its_state_on_its_way() {
    let mut played = Run::owned(crowded()).expect("valid").observed_everywhere();
    played.advance(Instant::ZERO + Duration::from_millis(500), Some(&mut Notes::default())).expect("runs");
    assert!(played.observe(Direction::Up).packets >= 4, "the queue is full, or was before the last packet");
    assert!(played.so_far().delivered(0) > 40_000, "{}", played.so_far().delivered(0));
    assert!(played.so_far().sender(0).is_none(), "datagrams have no window");
    assert_eq!(played.so_far().round_trips(1).len(), 8); // at 0, 70, ..., 490 ms
}

/// Packets that arrived, were sent and were dropped at each other hop, and at the bottleneck.
#[derive(Default)]
struct Counts {
    hop: [[u64; 3]; 2],
    bottleneck: [u64; 3],
    longest: Duration,
}

impl Observer for Counts {
    fn arrived(&mut self, _: &Visit) {
        self.bottleneck[0] += 1;
    }

    fn ended(&mut self, _: &Visit, _: Instant, fate: Fate) {
        self.bottleneck[if fate == Fate::Sent { 1 } else { 2 }] += 1;
    }

    fn arrived_at(&mut self, place: Place, visit: &Visit) {
        assert_eq!(place, Place::Hop(0));
        self.hop[visit.direction.index()][0] += 1;
    }

    fn ended_at(&mut self, _: Place, visit: &Visit, at: Instant, fate: Fate) {
        self.hop[visit.direction.index()][if fate == Fate::Sent { 1 } else { 2 }] += 1;
        self.longest = self.longest.max(at.since(visit.packet.queued_at));
    }
}

#[test]
fn a_playback_reports_the_packets_of_other_hops_apart_from_those_of_the_bottleneck() {
    // The links of the router are fast, so the queue is in the modem behind it.
    let slow = crowded();
    let fast = slow
        .links
        .clone()
        .map(|link| LinkConfig { capacity: Capacity::Constant(Rate::from_bps(1_000_000_000)), ..link });
    let modem = HopConfig { links: slow.links.clone(), delay: Duration::ZERO };
    let config = Config { links: fast, before: vec![modem], ..slow };
    let whole = run(&config).expect("valid");
    let mut played = Run::owned(config).expect("valid").observed_everywhere();
    let mut counts = Counts::default();
    while !played.is_over() {
        played.advance(played.now() + Duration::from_millis(13), Some(&mut counts)).expect("runs");
    }
    assert_eq!(format!("{:?}", played.finish()), format!("{whole:?}"));
    let [down, up] = counts.hop;
    assert_eq!(counts.bottleneck[2], 0, "the router drops nothing");
    // The sender offers 500 packets in 2 s, and the modem sends half of them.
    assert!(up[0] > 400 && up[2] > 200, "{up:?}");
    // At most five packets are still queued.
    assert!(up[0] >= up[1] + up[2] && up[0] <= up[1] + up[2] + 5);
    assert!(down[0] > 0 && down[2] == 0, "{down:?}");
    assert_eq!(counts.bottleneck[0], up[0] + down[1], "each packet passes both");
    // A full queue of five packets takes 41 ms.
    assert!(counts.longest > Duration::from_millis(30), "{:?}", counts.longest);
}
