//! Adaptive video: the playback on a fast line, on a line that becomes slow, and on a shared line.

use std::sync::Arc;

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Instant, Rate};
use goodqueue_sim::traffic::{Playback, TcpSettings, VideoSettings};
use goodqueue_sim::{Capacity, Config, Direction, FlowConfig, LinkConfig, Outcome, Traffic, run};
use goodqueue_tcp::AnyCongestionControl;

// The bit rates of Pensieve (Mao, Netravali & Alizadeh, SIGCOMM 2017), the default of scenarios.
const LADDER: [u64; 6] = [300_000, 750_000, 1_200_000, 1_850_000, 2_850_000, 4_300_000];

fn cubic() -> AnyCongestionControl {
    AnyCongestionControl::by_name("cubic").expect("listed")
}

fn viewer(buffer_s: u64) -> FlowConfig {
    let traffic = Traffic::Video(VideoSettings {
        direction: Direction::Down,
        ladder: LADDER.map(Rate::from_bps).to_vec(),
        segment: Duration::from_secs(2),
        buffer: Duration::from_secs(buffer_s),
        ready: Duration::from_secs(4),
        request: 300,
        config: goodqueue_tcp::Config::default(),
        congestion_control: cubic(),
    });
    FlowConfig::new(traffic, Duration::from_millis(50))
}

fn bulk() -> FlowConfig {
    let traffic = Traffic::Tcp(TcpSettings {
        direction: Direction::Down,
        size: None,
        config: Arc::default(),
        congestion_control: cubic(),
        local_congestion: false,
    });
    FlowConfig::new(traffic, Duration::from_millis(50))
}

fn codel() -> AnyConfig {
    let settings = Settings::new().with("limit", Value::Packets(1000));
    AnyConfig::from_settings("codel", &settings, &Link::default()).expect("listed").expect("valid")
}

fn simulate(down: Capacity, flows: Vec<FlowConfig>, seconds: u64) -> Outcome {
    let up = Capacity::Constant(Rate::from_bps(10_000_000));
    let links = [down, up].map(|capacity| LinkConfig::new(capacity, codel()));
    run(&Config::new(links, flows, Duration::from_secs(seconds))).expect("valid")
}

fn constant(mbit: u64) -> Capacity {
    Capacity::Constant(Rate::from_bps(mbit * 1_000_000))
}

/// Returns a line whose rate changes once.
fn falling(from_mbit: u64, to_mbit: u64, at_s: u64) -> Capacity {
    let change =
        |at_s: u64, mbit: u64| (Instant::ZERO + Duration::from_secs(at_s), Rate::from_bps(mbit * 1_000_000));
    Capacity::Schedule(vec![change(0, from_mbit), change(at_s, to_mbit)])
}

fn shown(outcome: &Outcome) -> &Playback {
    outcome.flows[0].playback.as_ref().expect("a viewer")
}

fn rates(playback: &Playback) -> Vec<u64> {
    playback.segments.iter().map(|segment| segment.rate.as_bps()).collect()
}

#[test]
fn a_fast_line_leads_step_by_step_to_the_top_of_the_ladder_where_the_viewer_stays() {
    let outcome = simulate(constant(10), vec![viewer(30)], 120);
    let playback = shown(&outcome);
    // The lowest rate is used while the buffer holds fewer than two segments.
    assert_eq!(rates(playback)[..8], [[300_000; 2].as_slice(), &LADDER[1..], &[4_300_000]].concat());
    assert!(rates(playback)[7..].iter().all(|rate| *rate == 4_300_000), "{:?}", rates(playback));
    assert!(playback.stalls.is_empty());
    // Two segments of 75 kB: at least two round trips, for the handshake and the request of each.
    let begun = playback.shown_from.expect("shown").since(Instant::ZERO);
    assert!(begun > Duration::from_millis(200) && begun < Duration::from_secs(1), "{begun}");
}

#[test]
fn a_full_buffer_holds_fetches_back_to_the_pace_at_which_the_film_is_shown() {
    let outcome = simulate(constant(10), vec![viewer(30)], 120);
    let segments = &shown(&outcome).segments;
    // At most 120 s are shown, and 30 s are in the buffer.
    assert!((70..=75).contains(&segments.len()), "{}", segments.len());
    let late = segments.iter().filter(|segment| segment.begun_at > Instant::ZERO + Duration::from_secs(60));
    let begun: Vec<Instant> = late.map(|segment| segment.begun_at).collect();
    assert!(begun.windows(2).all(|pair| pair[1].since(pair[0]) == Duration::from_secs(2)), "{begun:?}");
    // 150 s of video at 4.3 Mbit/s take 5.6 Mbit/s for 120 s. The line is idle for the rest of the
    // time.
    assert!(outcome.links[0].sent.bits() < 120.0 * 10e6 * 0.6);
}

#[test]
fn a_line_that_falls_to_a_megabit_leads_down_the_ladder_without_a_stall() {
    let outcome = simulate(falling(10, 1, 60), vec![viewer(30)], 180);
    let playback = shown(&outcome);
    assert_eq!(playback.stalls, [], "30 s in the buffer outlast the way down");
    let last: Vec<u64> = rates(playback).into_iter().rev().take(20).collect();
    assert!(last.iter().all(|rate| *rate <= 750_000), "0.85 of the line are 0.81 Mbit/s: {last:?}");
}

#[test]
fn with_a_short_buffer_the_same_fall_stalls_the_film_once_for_as_long_as_the_segment_under_way_needs() {
    let outcome = simulate(falling(10, 1, 60), vec![viewer(8)], 180);
    let stalls = &shown(&outcome).stalls;
    assert!(!stalls.is_empty());
    let total: Duration = stalls
        .iter()
        .fold(Duration::ZERO, |sum, (begun, ended)| sum + ended.expect("shown again").since(*begun));
    // At 1 Mbit/s the segment of 4.3 Mbit/s in progress takes 9 s and the following one of 2.85
    // Mbit/s takes 6 s. The buffer held 8 s.
    assert!(total > Duration::from_secs(1) && total < Duration::from_secs(12), "{stalls:?}");
    let last_ended = stalls.last().and_then(|stall| stall.1).expect("shown again");
    assert!(last_ended < Instant::ZERO + Duration::from_secs(90), "{stalls:?}");
}

#[test]
fn beside_two_transfers_without_end_it_shares_the_line() {
    let outcome = simulate(constant(10), vec![viewer(30), bulk(), bulk()], 180);
    let playback = shown(&outcome);
    let rates = rates(playback);
    let mean = rates.iter().sum::<u64>() / rates.len() as u64;
    // A third of the line is 3.2 Mbit/s, and 0.85 of it is 2.7 Mbit/s. Pauses and small windows
    // cost some of that.
    assert!((1_000_000..3_200_000).contains(&mean), "{mean}: {rates:?}");
    assert_eq!(playback.stalls, []);
    let bulk: u64 = outcome.flows[1..].iter().map(|flow| flow.tally.delivered).sum();
    assert!(bulk > 180 * 1_250_000 / 2, "the others have the rest: {bulk}");
}

#[test]
fn a_line_too_slow_for_the_lowest_rate_stalls_again_and_again() {
    let rate = Capacity::Constant(Rate::from_bps(200_000));
    let outcome = simulate(rate, vec![viewer(30)], 120);
    let playback = shown(&outcome);
    assert!(rates(playback).iter().all(|rate| *rate == 300_000));
    // Two segments take 6.3 s to fetch and last 4 s.
    assert!((10..=20).contains(&playback.stalls.len()), "{:?}", playback.stalls);
}

#[test]
fn a_viewer_who_leaves_sends_no_more_and_one_elsewhere_is_the_mirror_image() {
    let mut flow = viewer(30);
    flow.stop = Some(Instant::ZERO + Duration::from_secs(5));
    let outcome = simulate(constant(10), vec![flow], 20);
    assert_eq!(outcome.in_flight.packets, 0);
    assert!(
        shown(&outcome)
            .segments
            .iter()
            .all(|segment| segment.begun_at <= Instant::ZERO + Duration::from_secs(5))
    );
    assert_eq!(shown(&outcome).stalls, []);

    let mut elsewhere = viewer(30);
    if let Traffic::Video(video) = &mut elsewhere.traffic {
        video.direction = Direction::Up;
    }
    let [down, up] = [viewer(30), elsewhere].map(|flow| simulate(constant(10), vec![flow], 60));
    assert_eq!((shown(&down), down.flows[0].tally), (shown(&up), up.flows[0].tally));
}
