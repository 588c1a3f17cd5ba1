//! Web traffic, compared with theory on an idle line, and with general bounds on a loaded line.

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Instant, Rate};
use goodqueue_sim::traffic::{
    CbrSettings, Distribution, PackMimeSettings, TcpOnOffSettings, WebPage, WebSettings,
};
use goodqueue_sim::{Capacity, Config, Direction, FlowConfig, LinkConfig, Outcome, Traffic, run};
use goodqueue_tcp::AnyCongestionControl;

fn link(mbit: u64, limit: u64) -> LinkConfig {
    let settings = Settings::new().with("limit", Value::Packets(limit));
    let pfifo =
        AnyConfig::from_settings("pfifo", &settings, &Link::default()).expect("listed").expect("valid");
    LinkConfig::new(Capacity::Constant(Rate::from_bps(mbit * 1_000_000)), pfifo)
}

fn simulate(mbit: u64, flow: FlowConfig, seconds: u64) -> Outcome {
    let links = [link(mbit, 1000), link(mbit, 1000)];
    run(&Config::new(links, vec![flow], Duration::from_secs(seconds))).expect("valid")
}

fn crowd(rate: f64, persistent: bool, max_open: usize) -> FlowConfig {
    let traffic = Traffic::PackMime(PackMimeSettings {
        direction: Direction::Down,
        rate,
        persistent,
        max_open,
        config: goodqueue_tcp::Config::default(),
        congestion_control: AnyCongestionControl::by_name("cubic").expect("listed"),
    });
    FlowConfig::new(traffic, Duration::from_millis(50))
}

#[test]
fn a_crowd_on_an_idle_line_gets_all_that_it_asks_for() {
    for persistent in [false, true] {
        let outcome = simulate(1000, crowd(50.0, persistent, 10_000), 60);
        let flow = &outcome.flows[0];
        let done = flow.transfers.iter().filter(|transfer| transfer.ended_at.is_some());
        let bytes: u64 = done.clone().map(|transfer| transfer.bytes).sum();
        let in_time = |transfer: &&goodqueue_sim::traffic::Transfer| {
            // A handshake, a request and its answer, at most 100 ms of work at the server, and the
            // queue of one large download at 1 Gbit/s: 1000 packets, 12 ms.
            let time = transfer.ended_at.map(|end| end.since(transfer.begun_at)).unwrap_or_default();
            transfer.bytes < 10_000 && time > Duration::from_millis(50) && time < Duration::from_millis(213)
        };
        let small = done.clone().filter(|transfer| transfer.bytes < 10_000);
        let late: Vec<_> = small.filter(|transfer| !in_time(transfer)).collect();
        // One request in a thousand exceeds the initial window and takes another round trip.
        assert!(late.len() < 8, "{late:?}");
        let begun = flow.transfers.len();
        assert!(begun > 2000 && done.count() + 40 > begun, "{begun}");
        assert!(bytes <= flow.tally.delivered && flow.tally.retransmits == 0);
    }
}

#[test]
fn the_same_crowd_comes_whatever_the_line() {
    let begun = |mbit| {
        let outcome = simulate(mbit, crowd(20.0, false, 10_000), 30);
        outcome.flows[0]
            .transfers
            .iter()
            .map(|transfer| (transfer.begun_at, transfer.bytes))
            .collect::<Vec<_>>()
    };
    assert_eq!(begun(1), begun(100));
}

#[test]
fn a_crowd_far_too_large_for_the_line_keeps_to_its_bound() {
    // 200 connections per second need about 25 Mbit/s; the line has 1 Mbit/s. Users that arrive
    // while 300 connections are open get none.
    let outcome = simulate(1, crowd(200.0, true, 300), 30);
    let flow = &outcome.flows[0];
    let done = flow.transfers.iter().filter(|transfer| transfer.ended_at.is_some()).count();
    assert!(flow.transfers.len() > 3000 && done > 50 && done < flow.transfers.len() / 2, "{done}");
    // Each of 300 connections first sends a window of 10 segments, so the line is always busy.
    assert!(outcome.links[0].sent.bits() > 30.0 * 1e6 * 0.9);
}

#[test]
fn users_elsewhere_of_servers_behind_the_line_are_the_mirror_image_of_users_behind_it() {
    let reversed = |mut flow: FlowConfig| {
        match &mut flow.traffic {
            Traffic::PackMime(crowd) => crowd.direction = Direction::Up,
            Traffic::Web(browser) => browser.direction = Direction::Up,
            _ => {}
        }
        flow
    };
    for flow in [crowd(30.0, true, 10_000), browser(WebPage::huffpost(), 4, 50)] {
        // The line is the same in both directions.
        let down = simulate(8, flow.clone(), 20);
        let up = simulate(8, reversed(flow), 20);
        assert_eq!(down.flows[0].tally, up.flows[0].tally);
        assert_eq!(down.flows[0].transfers, up.flows[0].transfers);
        let sent = |outcome: &Outcome| outcome.links.each_ref().map(|link| link.sent);
        let [requests, answers] = sent(&up);
        let mirrored = sent(&down);
        assert_eq!([answers, requests], mirrored);
        assert!(answers.bits() > 5.0 * requests.bits(), "{answers:?}");
        assert!(up.flows[0].tally.delivered > 2_000_000);
    }
}

#[test]
fn a_crowd_that_is_stopped_sends_no_more() {
    let mut flow = crowd(100.0, true, 10_000);
    flow.stop = Some(Instant::from_nanos(3_000_000_000));
    let outcome = simulate(10, flow, 10);
    assert_eq!(outcome.in_flight.packets, 0);
    let latest = outcome.flows[0].transfers.iter().map(|transfer| transfer.begun_at).max();
    assert!(latest.is_some_and(|latest| latest <= Instant::from_nanos(3_000_000_000)));
}

fn browser(page: WebPage, connections: u32, rtt_ms: u64) -> FlowConfig {
    let traffic = Traffic::Web(WebSettings {
        direction: Direction::Down,
        page,
        connections,
        request: 300,
        interval: Duration::from_secs(1),
        config: goodqueue_tcp::Config::default(),
        congestion_control: AnyCongestionControl::by_name("cubic").expect("listed"),
    });
    FlowConfig::new(traffic, Duration::from_millis(rtt_ms))
}

fn fetch_times(outcome: &Outcome, flow: usize) -> Vec<Duration> {
    let transfers = outcome.flows[flow].transfers.iter();
    transfers.filter_map(|transfer| Some(transfer.ended_at?.since(transfer.begun_at))).collect()
}

#[test]
fn a_page_takes_a_round_trip_for_the_name_two_for_the_page_and_two_for_the_rest() {
    // Each object fills an initial window and takes one round trip; a new connection takes another.
    // At 1 Gbit/s all packets of a page take less than a millisecond together.
    let window = 10 * u64::from(goodqueue_tcp::Config::default().payload());
    let objects = |count| WebPage::new(vec![window; count]).expect("not empty");
    for (count, connections, round_trips) in [
        // The name, the handshake, the page.
        (1, 4, 3),
        // The second and third object over the first connection, the fourth over a new connection.
        (4, 2, 5),
        (4, 4, 5),
        // All objects over one connection, one after another.
        (4, 1, 6),
        // The first connection fetches two objects while the three others open and fetch one each.
        (6, 4, 5),
    ] {
        let outcome = simulate(1000, browser(objects(count), connections, 100), 10);
        let times = fetch_times(&outcome, 0);
        assert_eq!(times.len(), 10, "one each second");
        let expected = Duration::from_millis(100 * round_trips).as_nanos();
        let is_near = |time: &&Duration| (expected..expected + 1_500_000).contains(&time.as_nanos());
        assert!(times.iter().all(|time| is_near(&time)), "{count} over {connections}: {times:?}");
        assert_eq!(outcome.flows[0].tally.delivered, 10 * window * u64::try_from(count).expect("few"));
        assert_eq!(outcome.flows[0].tally.retransmits, 0);
    }
}

#[test]
fn a_page_is_not_faster_than_its_bytes_and_the_next_waits_for_it() {
    // 3 MB at 1 Mbit/s take at least 24 s, headers not counted.
    let outcome = simulate(1, browser(WebPage::huffpost(), 4, 50), 120);
    let begun: Vec<Instant> = outcome.flows[0].transfers.iter().map(|transfer| transfer.begun_at).collect();
    let times = fetch_times(&outcome, 0);
    assert!(times.len() >= 3 && begun.len() == times.len() + 1, "{times:?}");
    assert!(times.iter().all(|time| (24..40).contains(&(time.as_nanos() / 1_000_000_000))), "{times:?}");
    for (pair, time) in begun.windows(2).zip(&times) {
        let next = Duration::from_nanos(time.as_nanos() + 1);
        assert_eq!(pair[1].since(pair[0]), next, "at once, for the interval is long over");
    }
}

#[test]
fn a_lost_query_is_sent_again_after_5_s() {
    // Datagrams at ten times the uplink's rate keep its queue full until the third second.
    let flood = Traffic::Cbr(CbrSettings {
        direction: Direction::Up,
        rate: Rate::from_bps(100_000_000),
        bytes: 1500,
        ecn: false,
        l4s: false,
    });
    let flood = FlowConfig {
        stop: Some(Instant::from_nanos(3_000_000_000)),
        ..FlowConfig::new(flood, Duration::from_millis(20))
    };
    let start = Instant::from_nanos(1_000_000_001);
    let browser = FlowConfig { start, ..browser(WebPage::google(), 4, 20) };
    let config = Config::new([link(10, 1000), link(10, 20)], vec![flood, browser], Duration::from_secs(10));
    let times = fetch_times(&run(&config).expect("valid"), 1);
    let first = times.first().copied().expect("a page");
    // 5 s, and the page takes as long as the later ones.
    assert!((5_100..5_400).contains(&(first.as_nanos() / 1_000_000)), "{first:?}");
    assert!(times[1..].iter().all(|time| *time < Duration::from_millis(400)), "{times:?}");
}

#[test]
fn a_sender_that_is_silent_half_of_the_time_gets_half_of_the_line() {
    for persistent in [true, false] {
        let traffic = Traffic::TcpOnOff(TcpOnOffSettings {
            direction: Direction::Down,
            on: Distribution::Constant(2.0),
            off: Distribution::Constant(2.0),
            persistent,
            config: goodqueue_tcp::Config::default(),
            congestion_control: AnyCongestionControl::by_name("cubic").expect("listed"),
        });
        let flow = FlowConfig::new(traffic, Duration::from_millis(20));
        let config = Config {
            series_step: Some(Duration::from_millis(500)),
            ..Config::new([link(10, 50), link(10, 50)], vec![flow], Duration::from_secs(40))
        };
        let outcome = run(&config).expect("valid");
        let series = outcome.series.expect("asked for");
        let delivered = &series.delivered[0];
        let total = outcome.flows[0].tally.delivered;
        // A queue of 50 packets takes 60 ms. Half a second after the end of the data the line is
        // silent until the next data begins.
        for (step, bytes) in delivered.iter().enumerate() {
            let silent = (5..8).contains(&(step % 8));
            let busy = (1..4).contains(&(step % 8));
            assert!(!silent || *bytes == 0, "{persistent} {step}: {bytes}");
            assert!(!busy || *bytes > 400_000, "{persistent} {step}: {bytes}");
        }
        // 20 s at 10 Mbit/s carry 191 Mbit in segments of 1448 bytes.
        assert!((total * 8).abs_diff(190_000_000) < 10_000_000, "{total}");
    }
}
