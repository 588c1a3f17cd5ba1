//! Ethernet flow control: a modem with a small buffer pauses the router's port.

use std::sync::Arc;

use goodqueue::config::{Link, Settings, Value};
use goodqueue::random::{Random, Xoshiro256PlusPlus};
use goodqueue::{AnyConfig, DropReason, Duration, Instant, Rate};
use goodqueue_sim::observer::{Fate, Visit};
use goodqueue_sim::traffic::{CbrSettings, PingSettings, TcpSettings};
use goodqueue_sim::{
    Capacity, Config, Direction, FlowConfig, HopConfig, LinkConfig, LinkOutcome, Observer, Outcome, Pause,
    Run, Traffic, run,
};
use goodqueue_tcp::AnyCongestionControl;

const ETHERNET: Rate = Rate::from_bps(100_000_000);
const RTT: Duration = Duration::from_millis(100);
/// Two packets, and one.
const PAUSE: Pause = Pause { high: 3028, low: 1514, time: u16::MAX };

fn discipline(kind: &str, limit: u64) -> AnyConfig {
    let settings = Settings::new().with("limit", Value::Packets(limit));
    AnyConfig::from_settings(kind, &settings, &Link::default()).expect("listed").expect("valid")
}

fn link(kbit: u64, qdisc: AnyConfig) -> LinkConfig {
    LinkConfig::new(Capacity::Constant(Rate::from_bps(kbit * 1000)), qdisc)
}

/// A router with CoDel, an Ethernet of 100 Mbit/s, and a modem that sends with 2 Mbit/s.
fn behind_a_modem(modem_limit: u64, pause: Option<Pause>, flows: Vec<FlowConfig>) -> Config {
    let router = || link(100_000, discipline("codel", 1000));
    let modem = [
        link(20_000, discipline("pfifo", 1000)),
        LinkConfig { pause, ..link(2_000, discipline("pfifo", modem_limit)) },
    ];
    let mut config = Config::new([router(), router()], flows, Duration::from_secs(30));
    config.before = vec![HopConfig { links: modem, delay: Duration::ZERO }];
    config
}

fn upload() -> FlowConfig {
    let traffic = Traffic::Tcp(TcpSettings {
        direction: Direction::Up,
        size: None,
        config: Arc::default(),
        congestion_control: AnyCongestionControl::by_name("cubic").expect("listed"),
        local_congestion: false,
    });
    FlowConfig::new(traffic, RTT)
}

fn datagrams(kbit: u64) -> FlowConfig {
    let rate = Rate::from_bps(kbit * 1000);
    let traffic =
        Traffic::Cbr(CbrSettings { direction: Direction::Up, rate, bytes: 1500, ecn: false, l4s: false });
    FlowConfig::new(traffic, RTT)
}

fn ping() -> FlowConfig {
    let interval = Duration::from_millis(100);
    FlowConfig::new(Traffic::Ping(PingSettings { interval, bytes: 64, l4s: false }), RTT)
}

fn router(outcome: &Outcome) -> &LinkOutcome {
    &outcome.links[1]
}

fn modem(outcome: &Outcome) -> &LinkOutcome {
    &outcome.hops[0][1]
}

/// Returns the median sojourn time in milliseconds.
fn median(link: &LinkOutcome) -> u64 {
    link.sojourn.value_at_quantile(0.5) / 1_000_000
}

#[test]
fn without_flow_control_the_queue_is_in_the_modem_where_codel_does_not_see_it() {
    let outcome = run(&behind_a_modem(256, None, vec![upload(), upload()])).expect("valid");
    assert_eq!(median(router(&outcome)), 0);
    // A full buffer of 256 packets takes 1.55 s.
    assert!(median(modem(&outcome)) > 500, "{} ms", median(modem(&outcome)));
    assert_eq!(router(&outcome).pauses, None);
}

#[test]
fn with_flow_control_the_queue_is_in_the_router_where_codel_keeps_it_short() {
    let outcome = run(&behind_a_modem(8, Some(PAUSE), vec![upload(), upload()])).expect("valid");
    // Two packets at 2 Mbit/s.
    assert!(median(modem(&outcome)) <= 12, "{} ms", median(modem(&outcome)));
    let in_router = median(router(&outcome));
    assert!((1..40).contains(&in_router), "{in_router} ms");
    assert!(router(&outcome).drops[DropReason::Congested.index()] > 10, "CoDel decides");
    let share = modem(&outcome).sent.share_of(modem(&outcome).capacity).expect("a rate");
    assert!(share > 0.97, "the modem is kept busy: {share}");
    let pauses = router(&outcome).pauses.expect("the modem pauses the port");
    // The Ethernet is 50 times as fast as the modem, so its port is paused for most of the 30 s.
    assert!(pauses.frames > 1000 && pauses.time > Duration::from_secs(20), "{pauses:?}");
}

#[test]
fn the_modem_loses_nothing_as_long_as_it_has_room_for_the_packets_on_the_way() {
    // The load is four times the modem's rate.
    let lost = |limit| {
        let mut config = behind_a_modem(limit, Some(PAUSE), vec![datagrams(8_000)]);
        config.links[1].qdisc = discipline("pfifo", 100);
        let outcome = run(&config).expect("valid");
        [router(&outcome), modem(&outcome)].map(|link| link.stats.dropped().packets > 0)
    };
    // Two packets up to the high mark, and the one in transmission when the frame arrives.
    assert_eq!(lost(3), [true, false], "the router drops the excess");
    assert_eq!(lost(1), [false, true], "a buffer below the high mark never asks for a pause");
}

/// Records when packets leave the router's queue.
#[derive(Default)]
struct Departures(Vec<u64>);

impl Observer for Departures {
    fn arrived(&mut self, _: &Visit) {}

    fn ended(&mut self, visit: &Visit, at: Instant, fate: Fate) {
        if visit.direction == Direction::Up && fate == Fate::Sent {
            self.0.push(at.as_nanos());
        }
    }
}

/// Returns the times at which the first packets of an overload begin on the Ethernet, in
/// nanoseconds after the first of them. `back` is the Ethernet's other direction. A packet of 1514
/// bytes takes 121.12 us on the Ethernet and 6056 us behind the modem. A PAUSE frame takes 5.12 us,
/// and a quantum as well.
fn departures(time: u16, back: Capacity) -> Vec<u64> {
    let pause = Pause { time, ..PAUSE };
    let mut config = behind_a_modem(100, Some(pause), vec![datagrams(200_000)]);
    config.duration = Duration::from_millis(50);
    config.links[0].capacity = back;
    config.links[1].qdisc = discipline("pfifo", 10_000);
    let mut departures = Departures::default();
    Run::new(&config).expect("valid").to_end(|_| true, Some(&mut departures)).expect("runs");
    let Departures(times) = departures;
    times.iter().map(|time| time - times[0]).collect()
}

#[test]
fn the_port_stops_after_the_pause_frame_and_the_packet_in_transmission_and_resumes_with_xon() {
    // The modem sends the first packet at once. The third one makes two in its buffer at 363.36 us,
    // and the PAUSE frame arrives at 368.48 us, when the fourth packet is in transmission. The
    // modem begins its third packet, which leaves one in the buffer, 2 * 6056 us after its first.
    let xon = 121_120 + 2 * 6_056_000 + 5_120;
    let expected = [0, 121_120, 242_240, 363_360, xon, xon + 121_120];
    assert_eq!(departures(u16::MAX, Capacity::Constant(ETHERNET))[..6], expected);
}

#[test]
fn a_modem_that_stays_full_renews_even_a_short_pause_in_time() {
    // 100 quanta are 512 us, a twelfth of the time that a packet takes behind the modem.
    let ethernet = || Capacity::Constant(ETHERNET);
    assert_eq!(departures(100, ethernet()), departures(u16::MAX, ethernet()));
}

#[test]
fn a_pause_expires_when_no_other_frame_arrives() {
    // The cable from the modem to the router breaks after the first PAUSE frame. 200 quanta are
    // 1.024 ms. From then on nothing stops the port.
    let broken = [(Instant::ZERO, ETHERNET), (Instant::from_nanos(500_000), Rate::from_bps(0))];
    let ends = 368_480 + 1_024_000;
    let expected = [0, 121_120, 242_240, 363_360, ends, ends + 121_120, ends + 242_240];
    assert_eq!(departures(200, Capacity::Schedule(broken.to_vec()))[..7], expected);
}

#[test]
fn all_flows_through_the_paused_port_wait_also_those_that_do_not_pass_the_modem() {
    // A server in the home: its packets leave the path in front of the modem. FQ-CoDel keeps the
    // uploads' queue out of their way, so only the pause of the port delays them.
    let neighbour = FlowConfig { joins: 1, ..ping() };
    let wait = |pause| {
        let mut config = behind_a_modem(256, pause, vec![upload(), upload(), neighbour.clone()]);
        config.links[1].qdisc = discipline("fq_codel", 1000);
        let outcome = run(&config).expect("valid");
        let times = outcome.flows[2].round_trips.iter().filter_map(|trip| trip.time);
        let mut waits: Vec<u64> = times.map(|time| (time.as_nanos() - RTT.as_nanos()) / 1000).collect();
        waits.sort_unstable();
        waits[waits.len() / 2]
    };
    let free = wait(None);
    let paused = wait(Some(PAUSE));
    // The ping waits for at most one packet, 121 us, and its own bits take 13 us both ways.
    assert!(free < 200, "{free} us without flow control");
    assert!(paused > 1000, "{paused} us with flow control");
}

#[test]
fn a_pause_of_a_link_that_no_link_precedes_changes_nothing() {
    let outcome = |pause| {
        let mut config = behind_a_modem(100, None, vec![upload()]);
        config.links[1].pause = pause;
        run(&config).expect("valid")
    };
    let with = outcome(Some(PAUSE));
    let without = outcome(None);
    assert_eq!(with.flows[0].tally.delivered, without.flows[0].tally.delivered);
    assert!(with.links.iter().chain(&with.hops[0]).all(|link| link.pauses.is_none()));
}

#[test]
fn packets_are_conserved_and_no_buffer_with_headroom_overflows_on_random_paths() {
    for seed in 0..40 {
        let mut random = Xoshiro256PlusPlus::stream(7, seed);
        let mut one_of =
            |values: &[u64]| values[random.below(u32::try_from(values.len()).expect("few")) as usize];
        let delay = one_of(&[0, 20, 500]);
        let ethernet = one_of(&[10_000, 100_000, 1_000_000]);
        let packets = one_of(&[1, 2, 5, 20]);
        let pause = Pause {
            high: packets * 1514,
            low: one_of(&[0, 1514 * (packets - 1)]),
            time: u16::try_from(one_of(&[2_000, 65_535])).expect("16 bits"),
        };
        // A packet the other way, the PAUSE frame, its way and that of the packets, and two packets
        // in transmission.
        let limit = pause.high + 3 * 1514 + 64 + 2 * delay * ethernet / 8_000;
        let bfifo = Settings::new().with("limit", Value::Bytes(limit));
        let bfifo = AnyConfig::from_settings("bfifo", &bfifo, &Link::default());
        let bfifo = bfifo.expect("listed").expect("valid");
        let modem = |rate: u64| LinkConfig { pause: Some(pause), ..link(rate, bfifo.clone()) };
        let flows = vec![
            upload(),
            datagrams(one_of(&[500, 20_000])),
            FlowConfig { joins: 1, ..datagrams(one_of(&[500, 5_000])) },
            ping(),
        ];
        let router = || link(ethernet, discipline("fq_codel", 1000));
        let mut config = Config::new([router(), router()], flows, Duration::from_secs(3));
        let links = [link(20_000, discipline("pfifo", 100)), modem(one_of(&[500, 2_000, 9_000]))];
        config.before = vec![HopConfig { links, delay: Duration::from_micros(delay) }];
        // The bottleneck pauses a switch behind it, too.
        config.links[1].pause = Some(Pause { high: 30_000, low: 10_000, time: 10_000 });
        config.after = vec![HopConfig { links: [router(), router()], delay: Duration::ZERO }];
        config.warmup = Duration::from_millis(one_of(&[0, 700]));
        let outcome = run(&config).expect("valid");
        assert_eq!(lost_in_modem(&outcome), 0, "seed {seed}: {pause:?}, {limit} bytes");
        let [sent, arrived, dropped] = fates(&outcome);
        if config.warmup.is_zero() {
            assert_eq!(sent, arrived + dropped + outcome.in_flight.packets, "seed {seed}");
        }
        let pauses = outcome.links[1].pauses.expect("the modem pauses the port");
        let measured = config.duration.saturating_sub(config.warmup);
        assert!(pauses.time <= measured, "seed {seed}: {pauses:?}");
    }
}

fn lost_in_modem(outcome: &Outcome) -> u64 {
    modem(outcome).stats.dropped().packets
}

/// Returns the packets sent, arrived and dropped of all flows.
fn fates(outcome: &Outcome) -> [u64; 3] {
    let all = outcome.flows.iter().flat_map(|flow| flow.fates);
    all.fold([0; 3], |sum, fates| [sum[0] + fates.sent, sum[1] + fates.arrived, sum[2] + fates.dropped])
}
