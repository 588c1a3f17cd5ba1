//! Servers at different distances that share the first hop of a path.

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Rate};
use goodqueue_sim::traffic::PingSettings;
use goodqueue_sim::{Capacity, Config, FlowConfig, HopConfig, LinkConfig, Outcome, Traffic, run};

const NEAR: Duration = Duration::from_millis(20);
const FAR: Duration = Duration::from_millis(200);

fn link() -> LinkConfig {
    let settings = Settings::new().with("limit", Value::Packets(50));
    let pfifo =
        AnyConfig::from_settings("pfifo", &settings, &Link::default()).expect("listed").expect("valid");
    LinkConfig::new(Capacity::Constant(Rate::from_bps(10_000_000)), pfifo)
}

/// Runs a ping to a server at each distance over a hop of 2 ms and the bottleneck.
fn pings(rest_behind: Option<u32>, duration: Duration) -> Outcome {
    let ping = |rtt| {
        let settings = PingSettings { interval: Duration::from_secs(1), bytes: 84, l4s: false };
        FlowConfig::new(Traffic::Ping(settings), rtt)
    };
    let mut config = Config::new([link(), link()], vec![ping(NEAR), ping(FAR)], duration);
    config.before = vec![HopConfig { links: [link(), link()], delay: Duration::from_millis(2) }];
    config.rest_behind = rest_behind;
    run(&config).expect("valid")
}

/// Returns the packets that left the hop and the bottleneck: each down and up.
fn passed(outcome: &Outcome) -> [[u64; 2]; 2] {
    let both = [&outcome.hops[0], &outcome.links];
    both.map(|links| [links[0].stats.dequeued.packets, links[1].stats.dequeued.packets])
}

#[test]
fn the_way_to_a_far_server_lies_before_or_behind_the_hop_that_the_servers_share() {
    // The near request takes 10 ms to its server, the far one 100 ms.
    let after = |rest, ms| passed(&pings(rest, Duration::from_millis(ms)));
    assert_eq!(after(Some(0), 5), [[0, 0], [0, 2]], "both requests are between the hops");
    assert_eq!(after(Some(0), 15), [[1, 1], [0, 2]], "the near answer is between the hops");
    assert_eq!(after(Some(0), 150), [[2, 2], [1, 2]], "so is the far answer");
    assert_eq!(after(None, 5), [[0, 2], [0, 2]], "both requests are behind the hops");
    assert_eq!(after(None, 150), [[2, 2], [2, 2]], "both answers are, too");
}

#[test]
fn the_place_of_the_delay_does_not_change_a_round_trip_time() {
    let times = |rest: Option<u32>| {
        let outcome = pings(rest, Duration::from_millis(500));
        let time = |flow: usize| outcome.flows[flow].round_trips[0].time.expect("an answer");
        [time(0), time(1)]
    };
    assert_eq!(times(Some(0)), times(None));
    // The last hop leaves nothing behind it but the hosts.
    assert_eq!(times(Some(1)), times(None));
}
