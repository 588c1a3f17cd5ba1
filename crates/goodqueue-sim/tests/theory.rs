//! The simulator compared with theory, exactly where the theory is exact.

use std::sync::Arc;

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Instant, Rate};
use goodqueue_sim::traffic::{
    CbrSettings, Distribution, Habits, PingSettings, TcpSettings, TransfersSettings,
};
use goodqueue_sim::{
    Capacity, Config, Direction, Driver, FlowConfig, HopConfig, LinkConfig, Opportunities, Outcome, Traffic,
    Work, run,
};
use goodqueue_tcp::AnyCongestionControl;

const FRAMING: u32 = 14;

fn pfifo(limit: u64) -> AnyConfig {
    let settings = Settings::new().with("limit", Value::Packets(limit));
    AnyConfig::from_settings("pfifo", &settings, &Link::default()).expect("listed").expect("valid")
}

fn constant(mbit: u64, limit: u64) -> LinkConfig {
    LinkConfig::new(Capacity::Constant(Rate::from_bps(mbit * 1_000_000)), pfifo(limit))
}

fn flow(traffic: Traffic, rtt_ms: u64, start: Instant) -> FlowConfig {
    FlowConfig { start, ..FlowConfig::new(traffic, Duration::from_millis(rtt_ms)) }
}

fn profile(name: &str) -> &'static goodqueue_tcp::Profile {
    let catalogue = goodqueue_tcp_historic::add_to(goodqueue_tcp::Catalogue::new());
    catalogue.profile(name).expect("listed")
}

fn download(size: Option<u64>, change: impl Fn(&mut goodqueue_tcp::Config)) -> Traffic {
    let mut config = goodqueue_tcp::Config::default();
    change(&mut config);
    let congestion_control = AnyCongestionControl::by_name("newreno").expect("listed");
    Traffic::Tcp(TcpSettings {
        direction: Direction::Down,
        size,
        config: config.into(),
        congestion_control,
        local_congestion: false,
    })
}

fn cbr(kbit: u64, bytes: u32) -> Traffic {
    Traffic::Cbr(CbrSettings {
        direction: Direction::Down,
        rate: Rate::from_bps(kbit * 1000),
        bytes,
        ecn: false,
        l4s: false,
    })
}

fn simulate(down: LinkConfig, flows: Vec<FlowConfig>, seconds: u64) -> Outcome {
    simulate_after(0, down, flows, seconds)
}

fn simulate_after(warmup: u64, down: LinkConfig, flows: Vec<FlowConfig>, seconds: u64) -> Outcome {
    run(&Config {
        warmup: Duration::from_secs(warmup),
        series_step: Some(Duration::from_millis(100)),
        ..Config::new([down, constant(10, 1000)], flows, Duration::from_secs(seconds))
    })
    .expect("valid")
}

#[test]
fn a_ping_on_an_idle_line_takes_the_round_trip_and_two_serializations() {
    let ping = Traffic::Ping(PingSettings { interval: Duration::from_millis(200), bytes: 84, l4s: false });
    let outcome = simulate(constant(1, 100), vec![flow(ping, 50, Instant::ZERO)], 2);
    let wire = 84 + FRAMING;
    let expected = Duration::from_millis(50)
        + Rate::from_bps(10_000_000).serialization(wire)
        + Rate::from_bps(1_000_000).serialization(wire);
    let answered: Vec<Duration> =
        outcome.flows[0].round_trips.iter().filter_map(|probe| probe.time).collect();
    assert!(answered.len() >= 9 && answered.iter().all(|time| *time == expected), "{answered:?}");
}

#[test]
fn waiting_times_follow_lindleys_recursion_exactly() {
    // Two unresponsive senders, with rates that do not divide each other, use 98.5 % of the link:
    // W' = max(0, W + S - A).
    let sources = [(5_700_u64, 1500_u32), (3_917, 300)];
    let flows = sources.iter().map(|&(kbit, bytes)| flow(cbr(kbit, bytes), 10, Instant::ZERO)).collect();
    let outcome = simulate(constant(10, 10_000), flows, 5);
    let end = 5_000_000_000_u64;
    let mut arrivals: Vec<(u64, usize, u64)> = Vec::new();
    for (source, &(kbit, bytes)) in sources.iter().enumerate() {
        let service = Rate::from_bps(10_000_000).serialization(bytes + FRAMING).as_nanos();
        let times = (0_u64..).map(|n| n * u64::from(bytes) * 8_000_000 / kbit).take_while(|&at| at < end);
        arrivals.extend(times.map(|at| (at, source, service)));
    }
    arrivals.sort_unstable();
    let mut free_at = 0_u64;
    let mut waited = 0_u64;
    let mut count = 0_u64;
    let mut longest = 0_u64;
    for (at, _, service) in arrivals {
        let wait = free_at.saturating_sub(at);
        if at + wait < end {
            waited += wait;
            count += 1;
            longest = longest.max(wait);
        }
        free_at = at + wait + service;
    }
    let queue = &outcome.links[0];
    assert_eq!(queue.stats.dequeued.packets, count);
    #[allow(clippy::cast_precision_loss)]
    let expected = waited as f64 / count as f64 / 1e9;
    assert!((queue.sojourn_mean.expect("packets left") - expected).abs() < 1e-12);
    assert!(
        queue.sojourn.max().abs_diff(longest) <= longest / 1000 + 1000,
        "the histogram has three figures"
    );
}

#[test]
fn a_window_five_packets_above_the_pipe_keeps_a_standing_queue_of_five() {
    // Nichols & Jacobson 2012, Fig. 1: a window of 25 packets on a path of 20 packets leaves a
    // permanent queue of 5.
    let link = Rate::from_bps(10_000_000);
    let packet = link.serialization(1460 + 40 + FRAMING);
    let ack = link.serialization(40 + FRAMING);
    // The path holds 20 packets: its propagation delay, one serialization of data and one of an
    // ACK.
    let rtt = packet.saturating_mul(20).saturating_sub(packet).saturating_sub(ack);
    let traffic = download(None, |config| {
        config.rwnd = 25 * config.mss;
        config.delayed_ack = goodqueue_tcp::DelayedAck::OFF;
    });
    let outcome = simulate(constant(10, 1000), vec![FlowConfig::new(traffic, rtt)], 20);
    let series = outcome.series.expect("asked for");
    // Two seconds for the start.
    let queued: Vec<u64> = series.queues[0].iter().skip(20).map(|bin| bin.queue_packets).collect();
    assert!(queued.iter().all(|packets| (4..=6).contains(packets)), "{queued:?}");
    assert_eq!(outcome.flows[0].tally.retransmits, 0);
    assert!(outcome.links[0].sent.bits() >= 20.0 * 9_900_000.0, "the link is never idle");
}

#[test]
fn every_byte_that_a_transfer_sends_arrives_once_and_every_packet_is_accounted_for() {
    let start = |n: u64| Instant::from_nanos(n * 1_000_000);
    let transfer = |n: u64| flow(download(Some(200_000 + n), |_| ()), 20 + 10 * n, start(n));
    let outcome = simulate(constant(5, 20), (0..5).map(transfer).collect(), 30);
    for (n, flow) in (0_u64..).zip(&outcome.flows) {
        assert_eq!(flow.tally.delivered, 200_000 + n);
        assert!(flow.tally.completed_at.is_some());
    }
    let stats = &outcome.links[0].stats;
    let (sent, dropped) = outcome
        .flows
        .iter()
        .fold((0, 0), |sum, flow| (sum.0 + flow.fates[0].sent, sum.1 + flow.fates[0].dropped));
    assert_eq!(stats.offered.packets, sent);
    assert_eq!(stats.offered.packets, stats.dequeued.packets + stats.dropped().packets, "the queue is empty");
    assert!(dropped > 0);
    assert_eq!(stats.dropped().packets, dropped);
}

#[test]
fn throughput_under_periodic_loss_is_that_of_the_square_root_law() {
    // Mathis et al. 1997: rate = MSS/RTT * sqrt(3/2) / sqrt(p), with an ACK for each segment and
    // one BDP of buffer.
    let bulk = download(None, |config| config.delayed_ack = goodqueue_tcp::DelayedAck::OFF);
    // The overshoot of slow start is not part of the law.
    let outcome = simulate_after(60, constant(10, 83), vec![flow(bulk, 100, Instant::ZERO)], 600);
    let flow = &outcome.flows[0];
    #[allow(clippy::cast_precision_loss)]
    let loss = flow.fates[0].dropped as f64 / flow.tally.sent as f64;
    let rate = flow.tally.delivered as f64 / 540.0; // 600 s without the warm-up
    // 1.3 ms are the serialization of a segment and of its ACK.
    let mean_rtt = 0.1 + outcome.links[0].sojourn_mean.expect("packets") + 0.0013;
    let law = 1460.0 / mean_rtt * (1.5 / loss).sqrt();
    assert!((0.85..1.15).contains(&(rate / law)), "rate {rate}, law {law}, loss {loss}");
}

#[test]
fn a_blocked_link_keeps_its_packets_and_goes_on_when_it_is_back() {
    let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    let on = Rate::from_bps(10_000_000);
    let off = Rate::from_bps(0);
    let outage =
        LinkConfig::new(Capacity::Schedule(vec![(at(0), on), (at(500), off), (at(1500), on)]), pfifo(10_000));
    let outcome = simulate(outage, vec![flow(cbr(1_000, 1250), 10, at(0))], 3);
    let longest = Duration::from_nanos(outcome.links[0].sojourn.max());
    // A packet comes every 10 ms, so one of them waits for nearly the whole second.
    assert!(longest >= Duration::from_millis(989) && longest <= Duration::from_millis(1001), "{longest}");
    assert_eq!(outcome.links[0].stats.dropped().packets, 0);
    let series = outcome.series.expect("asked for");
    assert!(
        series.queues[0][6..15].iter().all(|bin| bin.sent == Work::ZERO),
        "nothing is sent during the outage"
    );
}

#[test]
fn a_link_that_never_works_sends_nothing_and_ends() {
    let capacity = Capacity::Schedule(vec![(Instant::ZERO, Rate::from_bps(0))]);
    let blocked = LinkConfig::new(capacity, pfifo(10));
    let outcome = simulate(blocked, vec![flow(download(None, |_| ()), 10, Instant::ZERO)], 10);
    assert_eq!((outcome.links[0].sent, outcome.flows[0].tally.delivered), (Work::ZERO, 0));
}

#[test]
fn a_trace_carries_1504_bytes_per_opportunity_and_wastes_what_nobody_uses() {
    // The first opportunity comes at 1 ms. The run ends before the one at 10 s.
    let sent = |at_ms: &[u32], kbit, bytes| {
        let opportunities = Arc::new(Opportunities::new(at_ms.to_vec()).expect("ordered"));
        let link = LinkConfig::new(Capacity::Trace(opportunities), pfifo(10_000));
        simulate(link, vec![flow(cbr(kbit, bytes), 10, Instant::ZERO)], 10).links[0].sent
    };
    let packets = |number: u64, bytes: u64| Work::of_bytes(number * bytes);
    assert_eq!(
        sent(&[1], 20_000, 1500),
        packets(9_999, 1504),
        "overload: a full packet for each opportunity"
    );
    assert_eq!(sent(&[1], 20_000, 748), packets(19_998, 752), "two packets of 748 + 4 bytes share one");
    assert_eq!(sent(&[1], 40_000, 3004), packets(9_999, 1504), "a packet of 3004 + 4 bytes needs two");
    assert_eq!(sent(&[1, 1, 10], 20_000, 1500), packets(2_999, 1504), "three in each period of 10 ms");
    assert_eq!(sent(&[1], 1_000, 1250), packets(1_000, 1254), "under light load every packet finds one");
}

#[test]
fn every_opportunity_comes_at_its_time_in_every_period() {
    let all = Opportunities::new(vec![0, 3, 3, 7]).expect("ordered");
    let before = |ms: u64| all.count_before(Instant::from_nanos(ms * 1_000_000));
    // Period 7: opportunities at 0, 3, 3, 7, then at 7 (the 0 of the next period), 10, 10, 14, ...
    assert_eq!([0, 1, 3, 4, 7, 8, 10, 11, 14].map(before), [0, 1, 1, 3, 3, 5, 5, 7, 7]);
    for bad in [vec![], vec![0], vec![0, 0], vec![3, 1]] {
        assert!(Opportunities::new(bad).is_none());
    }
}

#[test]
fn a_flow_that_is_stopped_sends_no_more() {
    let mut bulk = flow(download(None, |_| ()), 20, Instant::ZERO);
    bulk.stop = Some(Instant::from_nanos(1_000_000_000));
    let outcome = simulate(constant(10, 50), vec![bulk], 5);
    let series = outcome.series.expect("asked for");
    assert!(series.delivered[0][11..].iter().all(|bytes| *bytes == 0));
    assert!(outcome.flows[0].active <= Duration::from_secs(1));
}

#[test]
fn a_fetch_takes_a_handshake_a_round_trip_and_its_bytes() {
    // 10 full segments fit into the initial window. An idle line carries SYN, SYN/ACK, request and
    // answer.
    let config = goodqueue_tcp::Config::default();
    for persistent in [false, true] {
        let traffic = Traffic::Transfers(TransfersSettings {
            direction: Direction::Down,
            habits: Habits {
                size: Distribution::Constant(f64::from(10 * config.mss)),
                think: Distribution::Constant(1.0),
                persistent,
                count: Some(3),
            },
            request: 300,
            config,
            congestion_control: AnyCongestionControl::by_name("cubic").expect("listed"),
        });
        let outcome = simulate(constant(10, 1000), vec![flow(traffic, 100, Instant::ZERO)], 10);
        let times: Vec<Duration> = outcome.flows[0]
            .transfers
            .iter()
            .map(|transfer| transfer.ended_at.expect("complete").since(transfer.begun_at))
            .collect();
        assert_eq!(times.len(), 3);
        let line = Rate::from_bps(10_000_000);
        let one_way = |bytes: u32| Duration::from_millis(50) + line.serialization(bytes + 40 + 12 + FRAMING);
        // The client's ACK of the handshake leaves just before the request.
        let handshake = one_way(0) + one_way(0) + line.serialization(52 + FRAMING);
        let answer = Duration::from_nanos(
            one_way(config.payload()).as_nanos() + 9 * line.serialization(1514).as_nanos(),
        );
        let first = handshake + one_way(300) + answer;
        let later = if persistent { one_way(300) + answer } else { first };
        let near = |a: Duration, b: Duration| a.as_nanos().abs_diff(b.as_nanos()) < 300_000;
        assert!(
            near(times[0], first) && near(times[1], later) && near(times[2], later),
            "{times:?} {first:?}"
        );
        assert!(outcome.flows[0].tally.retransmits == 0 && outcome.in_flight.packets == 0);
    }
}

#[test]
fn a_hop_in_series_adds_its_serialization_and_the_slower_one_queues() {
    let hop = |mbit, limit, delay| HopConfig {
        links: [constant(mbit, limit), constant(mbit, limit)],
        delay: Duration::from_millis(delay),
    };
    let ping = || {
        flow(
            Traffic::Ping(PingSettings { interval: Duration::from_millis(200), bytes: 84, l4s: false }),
            50,
            Instant::ZERO,
        )
    };
    let config = |flows| Config {
        before: vec![hop(1, 100, 3)],
        after: vec![hop(2, 100, 4), hop(1, 100, 5)],
        ..Config::new([constant(4, 100), constant(4, 100)], flows, Duration::from_secs(2))
    };
    let outcome = run(&config(vec![ping()])).expect("valid");
    let wire: u64 =
        [1, 4, 2, 1].iter().map(|mbit| Rate::from_bps(mbit * 1_000_000).serialization(98).as_nanos()).sum();
    let expected = Duration::from_nanos(50_000_000 + 2 * wire);
    let answered: Vec<Duration> =
        outcome.flows[0].round_trips.iter().filter_map(|probe| probe.time).collect();
    assert!(
        answered.len() >= 9 && answered.iter().all(|time| *time == expected),
        "{answered:?} {expected:?}"
    );

    let far = FlowConfig { access: Duration::from_millis(13), ..ping() };
    let outcome = run(&config(vec![far])).expect("valid");
    assert_eq!(
        outcome.flows[0].round_trips[0].time,
        Some(expected),
        "access is a part of the round-trip time"
    );

    let slow = Rate::from_bps(1_000_000);
    let own_link = FlowConfig { access: Duration::from_millis(13), access_rate: Some(slow), ..ping() };
    let outcome = run(&config(vec![own_link])).expect("valid");
    assert_eq!(
        outcome.flows[0].round_trips[0].time,
        Some(expected + slow.serialization(98) + slow.serialization(98)),
        "both hosts send over links of their own"
    );

    // A router at 100 Mbit/s before a modem at 10 Mbit/s: the queue forms in the modem, whatever
    // the router does.
    let behind = Config {
        after: vec![hop(10, 50, 0)],
        ..Config::new(
            [constant(100, 50), constant(100, 50)],
            vec![flow(cbr(20_000, 1500), 20, Instant::ZERO)],
            Duration::from_secs(5),
        )
    };
    let outcome = run(&behind).expect("valid");
    assert!(outcome.links[0].queue_max <= 1, "the fast link holds nothing");
    assert_eq!(outcome.hops[0][0].queue_max, 50, "the slow one behind it is full");
}

#[test]
fn a_ring_below_the_discipline_hides_its_packets_from_it() {
    // 64 packets in the device at 10 Mbit/s: 77 ms of delay that no discipline sees.
    let load = || vec![flow(cbr(20_000, 1500), 20, Instant::ZERO)];
    let with = |driver| {
        let down = LinkConfig { driver, ..constant(10, 100) };
        simulate(down, load(), 5)
    };
    let without = with(None);
    let hidden = with(Some(Driver::Packets(64)));
    let bql = with(Some(Driver::Bql));
    let one = with(Some(Driver::Packets(1)));
    assert_eq!(one.links[0].stats, without.links[0].stats, "a device of one packet is no queue");
    assert_eq!(hidden.links[0].sent, without.links[0].sent, "the line is busy all the same");
    let extra = hidden.in_flight.packets - without.in_flight.packets;
    assert_eq!(extra, 63, "the ring holds one on the wire and 63 behind it");
    let extra = bql.in_flight.packets - without.in_flight.packets;
    assert!(extra <= 2, "byte queue limits leave {extra} in the ring");
}

#[test]
fn every_profile_of_linux_fills_a_line_without_flooding_it() {
    // Computing the window from the packets in flight once let it grow with every timeout.
    for name in ["linux", "linux314", "linux32"] {
        let profile = profile(name);
        let traffic = Traffic::Tcp(TcpSettings {
            direction: Direction::Down,
            size: None,
            config: profile.settings.into(),
            congestion_control: profile.controller("cubic").expect("listed"),
            local_congestion: false,
        });
        let codel = AnyConfig::from_settings("codel", &Settings::new(), &Link::default());
        let down = LinkConfig::new(
            Capacity::Constant(Rate::from_bps(10_000_000)),
            codel.expect("listed").expect("valid"),
        );
        let outcome = simulate(down, vec![flow(traffic, 50, Instant::ZERO)], 20);
        let bits = outcome.links[0].sent.bits();
        let stats = outcome.links[0].stats;
        let sent = stats.dequeued.packets;
        let dropped = stats.dropped().packets;
        assert!(bits > 20.0 * 8_000_000.0, "{name}: {bits} bits in 20 s of 10 Mbit/s");
        assert!(dropped * 50 < sent, "{name}: {dropped} of {sent} packets");
    }
}

#[test]
fn a_sender_whose_own_host_drops_hears_of_it_at_once_and_loses_next_to_nothing() {
    let dropped = |local_congestion| {
        let Traffic::Tcp(settings) = download(None, |_| {}) else { unreachable!("it is TCP") };
        let flow = flow(Traffic::Tcp(TcpSettings { local_congestion, ..settings }), 50, Instant::ZERO);
        simulate(constant(1, 50), vec![flow], 20).flows[0].fates[0].dropped
    };
    let told = dropped(true);
    let not_told = dropped(false);
    assert!(told >= 1, "the queue is full now and then");
    assert!(told * 4 < not_told, "{told} {not_told}");
}

#[test]
fn linux_offers_again_what_its_own_full_queue_refuses_and_sends_again_what_its_aqm_drops() {
    let retransmits = |discipline: &str, limit: Value, profile: &str| {
        let profile = self::profile(profile);
        let traffic = Traffic::Tcp(TcpSettings {
            direction: Direction::Down,
            size: None,
            config: profile.settings.into(),
            congestion_control: profile.controller("reno").expect("listed"),
            local_congestion: true,
        });
        let settings = Settings::new().with("limit", limit);
        let down = AnyConfig::from_settings(discipline, &settings, &Link::default()).expect("listed");
        let down = LinkConfig::new(Capacity::Constant(Rate::from_bps(1_000_000)), down.expect("valid"));
        let outcome = simulate(down, vec![flow(traffic, 50, Instant::ZERO)], 30);
        assert!(outcome.flows[0].fates[0].dropped >= 1, "{discipline}");
        assert!(outcome.links[0].sent.bits() > 25.0 * 1_000_000.0, "{discipline}");
        outcome.flows[0].tally.retransmits
    };
    assert_eq!(retransmits("pfifo", Value::Packets(50), "linux32"), 0);
    assert!(retransmits("pfifo", Value::Packets(50), "rfc") >= 1, "it counts as lost");
    assert!(retransmits("red", Value::Bytes(200_000), "linux32") >= 1);
}
