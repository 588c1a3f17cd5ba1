//! The request-grant delay of a DOCSIS upstream in whole runs.

use goodqueue::config::{Link, Settings, Value};
use goodqueue::registry::KINDS;
use goodqueue::{AnyConfig, Duration, Instant, Rate};
use goodqueue_sim::observer::{Fate, Visit};
use goodqueue_sim::traffic::{CbrSettings, PingSettings, TcpSettings};
use goodqueue_sim::{
    Capacity, Config, Direction, Driver, FlowConfig, Grants, LinkConfig, Observer, Outcome, Run, Traffic, run,
};
use goodqueue_tcp::AnyCongestionControl;

const INTERVAL: Duration = Duration::from_millis(2);
const RATE: Rate = Rate::from_bps(10_000_000);

fn discipline(name: &str, settings: &Settings) -> AnyConfig {
    let link = Link { rate: RATE, ..Link::default() };
    AnyConfig::from_settings(name, settings, &link).expect("listed").expect("valid")
}

fn pfifo(limit: u64) -> AnyConfig {
    discipline("pfifo", &Settings::new().with("limit", Value::Packets(limit)))
}

fn usual(proactive: Option<u64>) -> Option<Grants> {
    let rate = proactive.map(Rate::from_bps);
    Some(Grants::new(INTERVAL, Duration::from_millis(4), rate).expect("valid"))
}

/// A line of 100 Mbit/s down, and of 10 Mbit/s up with this discipline and these grants.
fn cable(qdisc: AnyConfig, grants: Option<Grants>, flows: Vec<FlowConfig>, seconds: u64) -> Config {
    let down = LinkConfig::new(Capacity::Constant(Rate::from_bps(100_000_000)), pfifo(1000));
    let up = LinkConfig { grants, ..LinkConfig::new(Capacity::Constant(RATE), qdisc) };
    Config::new([down, up], flows, Duration::from_secs(seconds))
}

fn flow(traffic: Traffic) -> FlowConfig {
    FlowConfig::new(traffic, Duration::from_millis(20))
}

fn flood(kbit: u64) -> Traffic {
    Traffic::Cbr(CbrSettings {
        direction: Direction::Up,
        rate: Rate::from_bps(kbit * 1000),
        bytes: 1500,
        ecn: false,
        l4s: false,
    })
}

fn upload() -> Traffic {
    Traffic::Tcp(TcpSettings {
        direction: Direction::Up,
        size: None,
        config: goodqueue_tcp::Config::default().into(),
        congestion_control: AnyCongestionControl::by_name("cubic").expect("listed"),
        local_congestion: false,
    })
}

/// The round-trip times of pings, each at another place of its MAP interval, on an idle line.
fn pings(grants: Option<Grants>) -> Vec<Duration> {
    // 25 MAP intervals and 130 us, so each ping is 130 us later in its interval than the one
    // before.
    let interval = Duration::from_micros(50_130);
    let ping = Traffic::Ping(PingSettings { interval, bytes: 84, l4s: false });
    let outcome = run(&cable(pfifo(100), grants, vec![flow(ping)], 10)).expect("valid");
    let times: Vec<_> = outcome.flows[0].round_trips.iter().filter_map(|probe| probe.time).collect();
    assert!(times.len() > 190, "{} pings", times.len());
    times
}

/// The extreme delays that requests and grants add to the ping on an idle line.
fn added(grants: Option<Grants>) -> [Duration; 2] {
    // A burst of grants takes no time, so the line's own time for the packet is not part of it.
    let without = pings(None)[0].saturating_sub(RATE.serialization(84 + 14));
    let times = pings(grants);
    [times.iter().min(), times.iter().max()].map(|time| time.expect("some").saturating_sub(without))
}

#[test]
fn a_ping_on_an_idle_line_waits_for_a_request_and_its_grant() {
    let [least, most] = added(usual(None));
    assert!(least >= Duration::from_millis(4) && most <= Duration::from_millis(6), "{least} to {most}");
    // The pings are at all places of the interval.
    assert!(least < Duration::from_micros(4100) && most > Duration::from_micros(5900), "{least} to {most}");
}

#[test]
fn with_proactive_grants_a_ping_waits_for_the_next_interval_only() {
    // 98 bytes in 2 ms are 392 kbit/s.
    let [least, most] = added(usual(Some(400_000)));
    assert!(most <= INTERVAL, "{least} to {most}");
    assert!(least < Duration::from_micros(100) && most > Duration::from_micros(1900), "{least} to {most}");
    // At half of that rate the rest of the packet waits for one more grant.
    let [_, most] = added(usual(Some(200_000)));
    assert!(most > INTERVAL && most <= INTERVAL.saturating_mul(2), "{most}");
}

/// Records when packets leave a queue.
#[derive(Default)]
struct Departures(Vec<Instant>);

impl Observer for Departures {
    fn arrived(&mut self, _: &Visit) {}

    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) {
        if visit.direction == Direction::Up && fate == Fate::Sent {
            self.0.push(at);
        }
    }
}

#[test]
fn a_backlogged_queue_keeps_its_rate_and_leaves_in_one_burst_per_interval() {
    let mut config = cable(pfifo(50), usual(None), vec![flow(flood(20_000))], 10);
    config.warmup = Duration::from_secs(1);
    let mut left = Departures::default();
    let outcome = Run::new(&config).expect("valid").to_end(|_| true, Some(&mut left)).expect("runs");
    let link = &outcome.links[1];
    let share = link.sent.share_of(link.capacity).expect("a capacity");
    assert!((0.99..=1.0).contains(&share), "{share}");
    // Independent of the link's own count: 9 s of packets of 1514 bytes.
    let packets = link.stats.dequeued.packets as f64;
    let expected = 9.0 * 10e6 / 8.0 / 1514.0;
    assert!((packets / expected - 1.0).abs() < 0.01, "{packets} instead of {expected}");
    assert!(left.0.iter().all(|time| time.as_nanos() % INTERVAL.as_nanos() == 0));
    // 2500 bytes are one packet and a part of a second one.
    let largest = left.0.chunk_by(|first, second| first == second).map(<[Instant]>::len).max();
    assert_eq!(largest, Some(2));
}

#[test]
fn an_upload_fills_the_line_and_its_queue_with_grants_too() {
    let sent = |qdisc: &str, settings: &Settings, grants| {
        let mut config = cable(discipline(qdisc, settings), grants, vec![flow(upload())], 20);
        config.warmup = Duration::from_secs(5);
        let outcome = run(&config).expect("valid");
        outcome.links[1].sent.share_of(outcome.links[1].capacity).expect("a capacity")
    };
    // The PIE of modems is made from that of the RFC.
    let rfc8033 = Settings::new().with("variant", Value::Choice("rfc8033"));
    for (qdisc, settings) in [("pfifo", Settings::new()), ("pie", rfc8033), ("docsis", Settings::new())] {
        let free = sent(qdisc, &settings, None);
        let granted = sent(qdisc, &settings, usual(None));
        assert!(free > 0.95 && granted > 0.95, "{qdisc}: {free} and {granted}");
    }
}

#[test]
fn every_discipline_sends_by_grants_and_none_is_ahead_of_the_rate() {
    for kind in KINDS {
        let qdisc = discipline(kind.name, &Settings::new());
        let with = |grants| -> Outcome {
            let flows = vec![flow(flood(4_000)), flow(upload())];
            run(&cable(qdisc.clone(), grants, flows, 5)).expect("valid")
        };
        let free = with(None).links[1].stats.dequeued.packets;
        let granted = with(usual(None));
        let link = &granted.links[1];
        assert!(link.sent <= link.capacity, "{}", kind.name);
        let packets = link.stats.dequeued.packets;
        assert!(packets * 2 > free, "{}: {packets} packets instead of {free}", kind.name);
    }
}

#[test]
fn a_ring_in_the_modem_keeps_the_rate_and_hides_its_packets() {
    let with = |driver| {
        let mut config = cable(pfifo(50), usual(None), vec![flow(flood(20_000))], 5);
        config.links[1].driver = driver;
        run(&config).expect("valid")
    };
    let without = with(None);
    let ring = with(Some(Driver::Packets(16)));
    assert_eq!(ring.links[1].sent, without.links[1].sent, "the line is busy all the same");
    let hidden = ring.in_flight.packets - without.in_flight.packets;
    assert_eq!(hidden, 15, "16 in the ring, of which one is half sent");
}

#[test]
fn grants_have_no_effect_on_a_link_without_a_limit() {
    let with = |grants| {
        let mut config = cable(pfifo(50), grants, vec![flow(flood(1_000))], 2);
        config.links[1].capacity = Capacity::UNLIMITED;
        let outcome = run(&config).expect("valid");
        (outcome.links[1].stats, outcome.links[1].sojourn_mean)
    };
    assert_eq!(with(usual(None)), with(None));
}
