//! Runs in steps.

use std::sync::Arc;

use goodqueue::config::Value as Setting;
use goodqueue::{AnyConfig, Duration, Instant, Link, Rate, Settings};
use goodqueue_sim::traffic::TcpSettings;
use goodqueue_sim::{Capacity, Config, Direction, FlowConfig, LinkConfig, Run, Traffic, run};
use goodqueue_tcp::congestion::parameter::Value;
use goodqueue_tcp::{AnyCongestionControl, Profile};

const RATE: Rate = Rate::from_bps(10_000_000);
const RTT: Duration = Duration::from_millis(40);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn qdisc(name: &str, settings: &Settings) -> AnyConfig {
    AnyConfig::from_settings(name, settings, &Link::default()).expect("exists").expect("valid")
}

fn codel(target: u64) -> AnyConfig {
    qdisc("codel", &Settings::new().with("target", Setting::Time(Duration::from_millis(target))))
}

/// Two downloads with this congestion control through `down`, for 5 s.
fn downloads(down: AnyConfig, controller: &str) -> Config {
    let link = |qdisc| LinkConfig::new(Capacity::Constant(RATE), qdisc);
    let profile = Profile::by_name("linux").expect("listed");
    let traffic = Traffic::Tcp(TcpSettings {
        direction: Direction::Down,
        size: None,
        config: Arc::new(profile.settings),
        congestion_control: AnyCongestionControl::by_name(controller).expect("listed"),
        local_congestion: false,
    });
    let flows = vec![FlowConfig::new(traffic.clone(), RTT), FlowConfig::new(traffic, RTT)];
    let links = [link(down), link(qdisc("pfifo", &Settings::new()))];
    Config::new(links, flows, Duration::from_secs(5))
}

/// Mean sojourn time of a step in milliseconds.
fn sojourn(run: &mut Run) -> f64 {
    let bin = run.queue(Direction::Down).bin;
    bin.sojourn_sum as f64 / bin.packets.max(1) as f64 / 1e6
}

#[test]
fn a_run_in_steps_has_the_outcome_of_the_run() {
    let config = downloads(codel(5), "cubic");
    let whole = run(&config).expect("runs");
    let mut run = Run::open_ended(config).expect("valid");
    let mut packets = 0;
    let mut drops = 0;
    let mut sent = 0.0;
    for step in 1..=50 {
        // Steps of unequal lengths.
        run.advance(at(step * 100 - step % 7), None).expect("runs");
        let queue = run.queue(Direction::Down);
        packets += queue.bin.packets;
        drops += queue.dropped.packets;
        sent += queue.bin.sent.bits();
    }
    run.advance(at(5000), None).expect("runs");
    packets += run.queue(Direction::Down).bin.packets;
    let outcome = run.finish();
    assert_eq!(format!("{:?}", outcome.flows), format!("{:?}", whole.flows));
    assert_eq!((outcome.events, outcome.links[0].stats), (whole.events, whole.links[0].stats));
    assert_eq!(packets, whole.links[0].stats.dequeued.packets);
    assert_eq!(drops, whole.links[0].stats.dropped().packets);
    assert!(sent <= whole.links[0].sent.bits());
}

#[test]
fn a_higher_target_lets_the_queue_grow_from_its_change_on() {
    let mut run = Run::open_ended(downloads(codel(5), "cubic")).expect("valid");
    run.advance(at(10_000), None).expect("runs");
    run.queue(Direction::Down);
    run.advance(at(20_000), None).expect("runs");
    let before = sojourn(&mut run);
    run.reconfigure(Direction::Down, codel(50)).expect("the same discipline");
    run.advance(at(30_000), None).expect("runs");
    let after = sojourn(&mut run);
    assert!(before < 20.0 && after > 2.0 * before, "{before} ms, then {after} ms");
}

#[test]
fn a_smaller_limit_drops_what_no_longer_fits_and_nothing_is_lost_from_the_books() {
    let mut run = Run::open_ended(downloads(qdisc("fq_codel", &Settings::new()), "cubic")).expect("valid");
    run.advance(at(1000), None).expect("runs");
    let limit = Settings::new().with("limit", Setting::Packets(1));
    run.reconfigure(Direction::Down, qdisc("fq_codel", &limit)).expect("the same discipline");
    run.advance(at(1015), None).expect("runs");
    assert!(run.queue(Direction::Down).dropped.packets > 0);
    // A debug build compares sent packets with arrived, dropped and queued ones.
    assert!(run.finish().links[0].stats.dequeued.packets > 0);
}

#[test]
fn another_discipline_is_refused() {
    let mut run = Run::open_ended(downloads(codel(5), "cubic")).expect("valid");
    let refused = run.reconfigure(Direction::Down, qdisc("pie", &Settings::new())).unwrap_err();
    assert_eq!(refused.to_string(), "`qdisc pie` is not possible: allowed is codel");
}

#[test]
fn a_window_of_an_agent_fills_the_line_or_leaves_it_idle() {
    let rate_in = |run: &mut Run, window| {
        for flow in 0..2 {
            run.set_parameter(flow, "window", Value::Count(window)).expect("a parameter");
        }
        let now = run.now();
        run.advance(now + Duration::from_secs(1), None).expect("runs");
        run.queue(Direction::Down);
        run.advance(now + Duration::from_secs(3), None).expect("runs");
        let step = run.queue(Direction::Down);
        (step.bin.sent.share_of(step.capacity).expect("time has passed"), step.bin.sojourn_max)
    };
    let mut run = Run::open_ended(downloads(qdisc("pfifo", &Settings::new()), "fixed")).expect("valid");
    // The product of rate and round-trip time is 33 segments.
    let (low, queued_low) = rate_in(&mut run, 5);
    let (high, queued_high) = rate_in(&mut run, 40);
    // Two windows of 5 segments are 10 of the 33.
    assert!((0.25..0.35).contains(&low), "{low}");
    assert!(high > 0.99, "{high}");
    // 10 segments, all at once, take 12.1 ms. Two windows of 40 leave 47 of them queued, for 57 ms.
    assert!(queued_low < Duration::from_millis(13) && queued_high > Duration::from_millis(40));
    let (low_again, _) = rate_in(&mut run, 5);
    assert!((0.25..0.35).contains(&low_again), "{low_again}");
    assert_eq!(run.so_far().sender(0).map(|sender| sender.retransmits), Some(0));
}

#[test]
fn a_pacing_rate_of_an_agent_is_the_rate_on_the_wire() {
    let mut run = Run::open_ended(downloads(qdisc("pfifo", &Settings::new()), "fixed")).expect("valid");
    for flow in 0..2 {
        run.set_parameter(flow, "window", Value::Count(200)).expect("a parameter");
        run.set_parameter(flow, "rate", Value::Count(2_000_000)).expect("a parameter");
    }
    run.advance(at(1000), None).expect("runs");
    run.queue(Direction::Down);
    run.advance(at(3000), None).expect("runs");
    let step = run.queue(Direction::Down);
    let share = step.bin.sent.share_of(step.capacity).expect("time has passed");
    assert!((0.38..0.44).contains(&share), "{share}: twice 2 Mbit/s of 10, and headers");
}

#[test]
fn a_parameter_of_another_flow_or_controller_is_refused() {
    let mut run = Run::open_ended(downloads(codel(5), "cubic")).expect("valid");
    let refused = run.set_parameter(7, "window", Value::Count(5)).unwrap_err();
    assert_eq!(refused.to_string(), "`flow 7` is not possible: allowed is the index of a TCP flow");
    assert!(run.set_parameter(0, "window", Value::Count(5)).is_err());
}
