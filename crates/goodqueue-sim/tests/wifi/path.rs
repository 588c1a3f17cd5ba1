//! The channel behind a wired bottleneck, with TCP over both.

use crate::channel::{BOTH, channel, client, driver, ht, qdisc};
use goodqueue::config::{Settings, Value};
use goodqueue::{Duration, Instant, Rate};
use goodqueue_sim::Direction;
use goodqueue_sim::observer::{Fate, Place, Visit};
use goodqueue_sim::traffic::{CbrSettings, PingSettings, TcpSettings, VoipSettings};
use goodqueue_sim::wifi::driver::DriverConfig;
use goodqueue_sim::wifi::fq_mac::FqMacConfig;
use goodqueue_sim::wifi::order::Order;
use goodqueue_sim::wifi::{MacConfig, RadioConfig};
use goodqueue_sim::{Capacity, Config, FlowConfig, LinkConfig, Observer, Outcome, Run, Traffic, run};
use goodqueue_tcp::AnyCongestionControl;

fn outcome(access_point: MacConfig, mcs: [u8; 2], directions: &[Direction]) -> Outcome {
    run(&path(access_point, mcs, directions)).expect("valid")
}

fn path(access_point: MacConfig, mcs: [u8; 2], directions: &[Direction]) -> Config {
    let wire = || {
        LinkConfig::new(
            Capacity::Constant(Rate::from_bps(1_000_000_000)),
            qdisc("pfifo", &Settings::new().with("limit", Value::Packets(1000))),
        )
    };
    let tcp = |direction| {
        Traffic::Tcp(TcpSettings {
            direction,
            size: None,
            config: goodqueue_tcp::Config::default().into(),
            congestion_control: AnyCongestionControl::by_name("cubic").expect("listed"),
            local_congestion: false,
        })
    };
    let ping = || Traffic::Ping(PingSettings { interval: Duration::from_millis(100), bytes: 84, l4s: false });
    let flows: Vec<Traffic> = [ping()].into_iter().chain(directions.iter().copied().map(tcp)).collect();
    let flows = [0, 1].into_iter().flat_map(|client| {
        let flows = flows.clone().into_iter();
        flows.map(move |traffic| FlowConfig { client, ..FlowConfig::new(traffic, Duration::from_millis(20)) })
    });
    let lossy = |mcs| RadioConfig { error: 0.02, ..RadioConfig::new(ht(mcs, true)) };
    let clients = mcs.map(|mcs| client(lossy(mcs)));
    Config {
        wifi: Some(channel(access_point, clients.to_vec())),
        warmup: Duration::from_secs(1),
        ..Config::new([wire(), wire()], flows.collect(), Duration::from_secs(10))
    }
}

#[test]
fn a_small_queue_leaves_little_of_an_upload_at_its_client_and_costs_it_nothing() {
    let with = |small_queue| {
        let mut config = path(driver(123), [7, 7], &[Direction::Up]);
        config.wifi.as_mut().expect("asked for").small_queue = small_queue;
        let outcome = run(&config).expect("valid");
        let pings = outcome.flows[0].round_trips.iter().filter_map(|probe| probe.time);
        let longest = pings.max().expect("some were answered");
        (longest, outcome.flows[1].tally.delivered + outcome.flows[3].tally.delivered)
    };
    let free = with(None);
    let limited = with(Some(60_000));
    assert!(free.0 > limited.0.saturating_mul(4), "{free:?} {limited:?}");
    assert!(limited.1 > free.1 / 10 * 9, "{free:?} {limited:?}");
}

#[test]
fn a_call_that_overflows_its_clients_queue_keeps_its_intervals() {
    let call = VoipSettings {
        direction: Direction::Up,
        interval: Duration::from_micros(100),
        bytes: 1500,
        ecn: false,
    };
    // One of these numbers is that of the packets that fit, so that the next one exceeds the small
    // queue until it is dropped.
    for packets in 4..16 {
        let mut config = path(driver(123), [0, 0], &[]);
        let wifi = config.wifi.as_mut().expect("asked for");
        wifi.small_queue = Some(1500 * packets + 750);
        let pfifo = qdisc("pfifo", &Settings::new().with("limit", Value::Packets(4)));
        let mac = DriverConfig { qdisc: pfifo, limit: 4, order: Order::default() };
        wifi.clients[0].mac = MacConfig::Driver(Box::new(mac));
        config.flows = vec![FlowConfig::new(Traffic::Voip(call), Duration::from_millis(20))];
        (config.warmup, config.duration) = (Duration::ZERO, Duration::from_secs(1));
        let outcome = run(&config).expect("valid");
        let sent = &outcome.flows[0].one_way;
        assert_eq!(sent.len(), 10_000, "{packets}");
        assert!(sent.iter().filter(|packet| packet.delay.is_none()).count() > 5000, "most are dropped");
    }
}

#[test]
fn tcp_runs_over_it_in_both_directions_and_nothing_is_lost_unseen() {
    // Debug builds check at the end of a run that packets and bytes are conserved, including those
    // of the channel.
    for access_point in [driver(123), MacConfig::Fq(FqMacConfig::default())] {
        let outcome = outcome(access_point, [15, 4], &BOTH);
        let wifi = outcome.wifi.as_ref().expect("asked for");
        for flow in [1, 2, 4, 5] {
            assert!(outcome.flows[flow].tally.delivered > 100_000, "{flow}");
        }
        assert!(wifi.clients.iter().flatten().all(|radio| radio.ppdus > 0));
        let measured = wifi.clients.iter().flatten().map(|radio| radio.airtime.as_nanos()).sum::<u64>();
        // 9 s are measured, in which the PPDUs of a collision each count in full.
        assert!(measured > 5_000_000_000 && measured < 11_000_000_000, "{measured}");
        assert!(outcome.flows[0].round_trips.iter().filter(|probe| probe.time.is_some()).count() > 50);
    }
}

#[test]
fn the_fq_mac_shortens_the_round_trips_of_the_fast_station() {
    let median = |access_point| {
        let outcome = outcome(access_point, [15, 0], &[Direction::Down]);
        let mut times: Vec<Duration> =
            outcome.flows[0].round_trips.iter().filter_map(|probe| probe.time).collect();
        times.sort();
        times[times.len() / 2]
    };
    let fifo = median(driver(123));
    let fq = median(MacConfig::Fq(FqMacConfig::default()));
    assert!(fifo.as_nanos() > 3 * fq.as_nanos(), "{fifo} {fq}");
}

/// Counts the packets of the channel by direction: arrived, dropped, and still queued at the end.
#[derive(Default)]
struct OnWifi([[u64; 3]; 2]);

impl Observer for OnWifi {
    fn arrived(&mut self, _visit: &Visit) {}

    fn ended(&mut self, _visit: &Visit, _at: Instant, _fate: Fate) {}

    fn arrived_at(&mut self, place: Place, visit: &Visit) {
        if place == Place::Wifi {
            self.0[visit.direction.index()][0] += 1;
        }
    }

    fn ended_at(&mut self, place: Place, visit: &Visit, _at: Instant, fate: Fate) {
        if place == Place::Wifi {
            let of = &mut self.0[visit.direction.index()];
            match fate {
                Fate::Sent => (),
                Fate::Dropped(_) => of[1] += 1,
                Fate::Queued => of[2] += 1,
            }
        }
    }
}

#[test]
fn packets_of_a_client_that_is_not_on_the_channel_are_dropped_in_their_own_direction() {
    let mut config = path(driver(123), [7, 7], &[]);
    config.warmup = Duration::ZERO;
    // The second ping has client 1.
    config.wifi.as_mut().expect("asked for").clients.truncate(1);
    // Sent towards the client, which has no station either.
    let cbr = CbrSettings {
        direction: Direction::Down,
        rate: Rate::from_bps(1_000_000),
        bytes: 1000,
        ecn: false,
        l4s: false,
    };
    let down = FlowConfig::new(Traffic::Cbr(cbr), Duration::from_millis(20));
    config.flows.push(FlowConfig { client: 1, ..down });
    let mut seen = OnWifi::default();
    // Debug builds check at the end that packets and bytes are conserved.
    let observed = Run::new(&config).expect("valid").observed_everywhere();
    let outcome = observed.to_end(|_| true, Some(&mut seen)).expect("runs");
    let sent = outcome.flows[1].fates[Direction::Up.index()];
    assert!(sent.sent > 90, "{sent:?}");
    assert_eq!(sent.dropped, sent.sent);
    let OnWifi([down, up]) = seen;
    let lost = outcome.flows[2].fates[Direction::Down.index()].dropped;
    assert!(lost > 1000, "{lost}");
    assert_eq!((down[1], down[2]), (lost, 0), "the packets towards the client");
    assert_eq!((up[1], up[2]), (sent.dropped, 0), "the pings of the client");
    let wifi = outcome.wifi.as_ref().expect("asked for");
    let dropped = wifi.queues.each_ref().map(|queue| queue.drops.iter().sum::<u64>());
    assert_eq!(dropped, [lost, sent.dropped]);
    assert!(outcome.flows[0].round_trips.iter().filter(|probe| probe.time.is_some()).count() > 90);
}
