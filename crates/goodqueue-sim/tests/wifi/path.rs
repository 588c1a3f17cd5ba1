//! The channel behind a wired bottleneck, with TCP over both.

use crate::channel::{BOTH, channel, client, driver, ht, qdisc};
use goodqueue::config::{Settings, Value};
use goodqueue::{Duration, Rate};
use goodqueue_sim::Direction;
use goodqueue_sim::traffic::{PingSettings, TcpSettings};
use goodqueue_sim::wifi::fq_mac::FqMacConfig;
use goodqueue_sim::wifi::{MacConfig, RadioConfig};
use goodqueue_sim::{Capacity, Config, FlowConfig, LinkConfig, Outcome, Traffic, run};
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
