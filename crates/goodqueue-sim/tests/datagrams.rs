//! Senders of datagrams, compared with queueing theory.

use std::sync::Arc;

use goodqueue::config::{Link, Settings, Value};
use goodqueue::{AnyConfig, Duration, Instant, Rate};
use goodqueue_sim::traffic::{
    CaptureSettings, CbrSettings, Distribution, OnOffSettings, PoissonSettings, VoipSettings,
};
use goodqueue_sim::{
    Capacity, Config, Direction, FlowConfig, LinkConfig, Outcome, Traffic, UNLIMITED, Work, run,
};

fn pfifo(limit: u64) -> AnyConfig {
    let settings = Settings::new().with("limit", Value::Packets(limit));
    AnyConfig::from_settings("pfifo", &settings, &Link::default()).expect("listed").expect("valid")
}

fn line(rate: Rate, limit: u64) -> LinkConfig {
    LinkConfig::new(Capacity::Constant(rate), pfifo(limit))
}

fn flow(traffic: Traffic) -> FlowConfig {
    FlowConfig::new(traffic, Duration::from_millis(20))
}

fn simulate(down: LinkConfig, traffic: Vec<Traffic>, seed: u64, seconds: u64) -> Outcome {
    let flows = traffic.into_iter().map(flow).collect();
    let up = line(Rate::from_bps(10_000_000), 1000);
    run(&Config {
        framing: 0,
        seed,
        warmup: Duration::from_secs(seconds / 10),
        ..Config::new([down, up], flows, Duration::from_secs(seconds))
    })
    .expect("valid")
}

/// Returns the mean of ten values and the half width of its 99 % confidence interval (Student's t,
/// 9 degrees of freedom).
fn of_ten(values: &[f64]) -> (f64, f64) {
    const T_99_9: f64 = 3.2498;
    assert_eq!(values.len(), 10);
    let mean = values.iter().sum::<f64>() / 10.0;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 9.0;
    (mean, T_99_9 * (variance / 10.0).sqrt())
}

/// Returns the mean wait behind Poisson arrivals at this load, over ten seeds. A packet of mean
/// length takes 1 ms.
fn waits(load: f64, bytes: impl Fn(f64) -> Distribution) -> (f64, f64) {
    const MEAN: u32 = 10_000;
    let rate = Rate::from_bps(u64::from(MEAN) * 8 * 1000);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a rate")]
    let offered = Rate::from_bps((load * f64::from(MEAN) * 8000.0) as u64);
    let measured: Vec<f64> = (1..=10)
        .map(|seed| {
            let traffic = Traffic::Poisson(PoissonSettings {
                direction: Direction::Down,
                rate: offered,
                mean_bytes: MEAN,
                bytes: bytes(f64::from(MEAN)),
                limits: (1, u32::MAX),
                ecn: false,
            });
            let outcome = simulate(line(rate, 1_000_000), vec![traffic], seed, 100);
            assert_eq!(outcome.links[0].stats.dropped().packets, 0);
            outcome.links[0].sojourn_mean.expect("packets left")
        })
        .collect();
    of_ten(&measured)
}

#[test]
fn random_arrivals_of_equal_packets_wait_as_in_the_m_d_1_queue() {
    // Pollaczek and Khinchine: W = rho / (2 (1 - rho)) service times.
    for load in [0.5, 0.8] {
        let theory = load / (2.0 * (1.0 - load)) * 1e-3;
        let (mean, half) = waits(load, Distribution::Constant);
        assert!((mean - theory).abs() < half, "load {load}: {mean} +- {half}, theory {theory}");
        assert!(half < 0.05 * theory, "{half} says something of {theory}");
    }
}

#[test]
fn random_arrivals_of_random_packets_wait_as_in_the_m_m_1_queue() {
    // W = rho / (1 - rho) service times.
    for load in [0.5, 0.8] {
        let theory = load / (1.0 - load) * 1e-3;
        let (mean, half) = waits(load, Distribution::Exponential);
        assert!((mean - theory).abs() < half, "load {load}: {mean} +- {half}, theory {theory}");
        assert!(half < 0.08 * theory, "{half} says something of {theory}");
    }
}

fn voice(interval_us: u64, bytes: u32) -> Traffic {
    Traffic::Voip(VoipSettings {
        direction: Direction::Down,
        interval: Duration::from_micros(interval_us),
        bytes,
        ecn: false,
    })
}

#[test]
fn what_leaves_a_token_bucket_never_exceeds_its_arrival_curve() {
    // Cruz 1991: at most burst + rate * t in any time t. The arrival of each packet of two flows is
    // known.
    let rate = 8_000_000_u64;
    let burst = 5_000_u64;
    let settings = Settings::new()
        .with("rate", Value::Rate(Rate::from_bps(rate)))
        .with("burst", Value::Bytes(burst))
        .with("limit", Value::Bytes(30_000));
    let made = AnyConfig::from_settings("tbf", &settings, &Link::default());
    let shaped = LinkConfig::new(Capacity::Constant(UNLIMITED), made.expect("listed").expect("valid"));
    // Bursts in addition to less than the rate, so the bucket is full at times and empty at times.
    let bursts = Traffic::OnOff(OnOffSettings {
        direction: Direction::Down,
        rate: Rate::from_bps(40_000_000),
        bytes: 700,
        on: Distribution::Exponential(0.01),
        off: Distribution::Exponential(0.1),
        ecn: false,
    });
    let flows = vec![flow(voice(2_000, 1_200)), flow(voice(700, 90)), flow(bursts)];
    let up = line(Rate::from_bps(10_000_000), 10);
    let outcome = run(&Config { framing: 0, ..Config::new([shaped, up], flows, Duration::from_secs(60)) })
        .expect("valid");
    let queue = &outcome.links[0];
    assert!(queue.stats.dropped().packets > 0 && queue.queue_max > 10, "the bucket was empty at times");
    assert!(queue.sojourn.value_at_quantile(0.1) < 2_000, "and full at times");
    let mut departures: Vec<(u64, u64)> = Vec::new();
    for (flow, bytes) in [(0, 1_200), (1, 90)] {
        let arrived = outcome.flows[flow].one_way.iter();
        departures.extend(arrived.filter_map(|p| Some(((p.sent_at + p.delay?).as_nanos(), bytes))));
    }
    departures.sort_unstable();
    // In a minute the calls send 30,000 and 85,714 packets, and the bursts cost some of them.
    assert!(departures.len() > 50_000);
    // In units of 10^-9 bits, which is exact.
    let full = u128::from(burst) * 8_000_000_000;
    let mut tokens = full;
    let mut last = 0;
    for (at, bytes) in departures {
        tokens = (tokens + u128::from(at - last) * u128::from(rate)).min(full);
        last = at;
        tokens = tokens.checked_sub(u128::from(bytes) * 8_000_000_000).expect("within the arrival curve");
    }
}

#[test]
fn a_call_on_an_idle_line_takes_half_the_round_trip_and_one_serialization() {
    let outcome = simulate(line(Rate::from_bps(1_000_000), 100), vec![voice(20_000, 200)], 1, 10);
    let expected = Duration::from_millis(10) + Rate::from_bps(1_000_000).serialization(200);
    let calls = &outcome.flows[0].one_way;
    assert_eq!(calls.len(), 450, "50 packets a second in the nine seconds measured");
    // The run ends before the packet that was sent last has arrived.
    let late = calls.iter().filter(|packet| packet.delay.is_none()).count();
    assert!(late <= 1, "{late} have not arrived");
    assert!(calls.iter().filter_map(|packet| packet.delay).all(|delay| delay == expected));
}

#[test]
fn bursts_and_silences_last_as_long_as_they_are_drawn() {
    let traffic = |on, off| {
        Traffic::OnOff(OnOffSettings {
            direction: Direction::Down,
            rate: Rate::from_bps(64_000),
            bytes: 210,
            on,
            off,
            ecn: false,
        })
    };
    let sent = |traffic| {
        // A tenth of the 4000 s is the warm-up, so 3600 s are measured.
        let outcome = simulate(line(Rate::from_bps(10_000_000), 1000), vec![traffic], 1, 4000);
        outcome.flows[0].tally.sent
    };
    // A packet every 26.25 ms: bursts of 0.5 s are 19 packets, followed by half a second of
    // silence.
    let regular = sent(traffic(Distribution::Constant(0.5), Distribution::Constant(0.5)));
    let period = 19.0 * 0.026_25 + 0.5;
    // 38 packets are two bursts: one at each end of the measured time may count in part.
    assert!((f64::from(u32::try_from(regular).expect("few")) - 3600.0 / period * 19.0).abs() < 38.0);
    // ns-2's defaults: bursts with this mean. Rounding to at least one packet lengthens them.
    let random = sent(traffic(Distribution::Exponential(0.5), Distribution::Exponential(0.5)));
    let x = 0.026_25_f64 / 0.5;
    // round(), at least 1: the sum over n of P(more than n - 1/2 intervals), where the first packet
    // is certain.
    let burst = 1.0 + libm::exp(-1.5 * x) / (1.0 - libm::exp(-x));
    let expected = 3600.0 * burst / (burst * 0.026_25 + 0.5);
    let measured = f64::from(u32::try_from(random).expect("few"));
    assert!((measured / expected - 1.0).abs() < 0.04, "{measured} {expected}");
}

#[test]
fn recorded_packets_are_sent_when_they_were_recorded_and_again() {
    type Packets = Arc<[(Duration, u32)]>;
    let ms = Duration::from_millis;
    let packets: Packets = Arc::new([(ms(0), 100), (ms(30), 1500), (ms(30), 40), (ms(70), 64)]);
    let play = |period, packets: &Packets| {
        let traffic = Traffic::Capture(CaptureSettings {
            direction: Direction::Up,
            packets: Arc::clone(packets),
            period,
            ecn: false,
        });
        let flows = vec![flow(traffic)];
        let link = || line(Rate::from_bps(100_000_000), 100);
        let config = Config {
            series_step: Some(ms(10)),
            framing: 0,
            ..Config::new([link(), link()], flows, Duration::from_secs(1))
        };
        run(&config).expect("valid")
    };
    let once = play(None, &packets);
    assert_eq!((once.flows[0].tally.sent, once.links[1].sent), (4, Work::of_bytes(1704)));
    assert_eq!(once.flows[0].tally.delivered, 1704 - 4 * 28, "without IP and UDP headers");
    let sent: Vec<Work> =
        once.series.expect("asked for").queues[1].iter().take(8).map(|bin| bin.sent).collect();
    assert_eq!(sent, [100, 0, 0, 1540, 0, 0, 0, 64].map(Work::of_bytes));
    let again = play(Some(ms(100)), &packets);
    assert_eq!(again.flows[0].tally.sent, 40);
    let nothing: Packets = Arc::new([]);
    assert_eq!(play(None, &nothing).flows[0].tally.sent, 0);
    assert_eq!(play(Some(Duration::ZERO), &nothing).flows[0].tally.sent, 0);
}

#[test]
fn a_flood_of_small_packets_at_ten_times_the_rate_leaves_the_line_busy_and_nothing_else() {
    let flood = Traffic::Cbr(CbrSettings {
        direction: Direction::Down,
        rate: Rate::from_bps(100_000_000),
        bytes: 64,
        ecn: false,
        l4s: false,
    });
    let outcome = simulate(line(Rate::from_bps(10_000_000), 100), vec![flood], 1, 10);
    let queue = &outcome.links[0];
    assert_eq!(queue.sent, queue.capacity, "the line never rests");
    assert_eq!(queue.queue_max, 100);
    let offered = queue.stats.offered.packets;
    let left = queue.stats.dequeued.packets;
    assert!(offered.abs_diff(10 * left) <= 10, "{offered} offered, {left} left");
}

#[test]
fn a_call_that_is_stopped_is_measured_to_its_end() {
    let call = FlowConfig {
        start: Instant::from_nanos(1_000_000_000),
        stop: Some(Instant::from_nanos(3_000_000_000)),
        ..flow(voice(10_000, 120))
    };
    let link = || line(Rate::from_bps(10_000_000), 100);
    let outcome = run(&Config::new([link(), link()], vec![call], Duration::from_secs(5))).expect("valid");
    let calls = &outcome.flows[0].one_way;
    assert_eq!(calls.len(), 200); // two seconds, a packet each 10 ms
    assert!(calls.iter().all(|packet| packet.delay.is_some()));
}
