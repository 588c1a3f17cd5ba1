//! Plausible results that no simulator produced, for the example and for the browser test.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "invented numbers"
)]

use goodqueue_scenario::measure::grade;
use goodqueue_scenario::results::*;
use goodqueue_scenario::scenario::Direction;

/// An invented discipline.
struct Invented {
    /// tc line.
    line: &'static str,
    /// Delay of the standing queue down, in ms at 10 Mbit/s.
    delay_ms: f64,
    /// Relative swing of the queue.
    swing: f64,
    utilization: f64,
    /// Relative spread of the flows' goodput.
    unfairness: f64,
}

const QDISCS: [Invented; 6] = [
    invented("pfifo limit 1000p", 780.0, 0.25, 0.999, 0.5),
    invented("red limit 400000 min 30000 max 90000 avpkt 1000", 62.0, 0.5, 0.965, 0.4),
    invented("codel limit 1000p target 5ms interval 100ms", 19.0, 0.7, 0.962, 0.3),
    invented("pie limit 1000p target 15ms tupdate 15ms", 26.0, 0.6, 0.972, 0.35),
    invented(
        "fq_codel limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms",
        4.2,
        0.6,
        0.982,
        0.04,
    ),
    invented("fq_pie limit 10240p flows 1024 target 15ms", 5.6, 0.6, 0.976, 0.06),
];

const fn invented(
    line: &'static str,
    delay_ms: f64,
    swing: f64,
    utilization: f64,
    unfairness: f64,
) -> Invented {
    Invented { line, delay_ms, swing, utilization, unfairness }
}

/// Number of steps of the series, 100 ms each.
const STEPS: usize = 600;
/// Base round-trip time in seconds.
const BASE_RTT_S: f64 = 0.050;

/// Invents results of six disciplines with seeds 1 to `seeds` and one sweep point per rate in
/// Mbit/s.
pub(crate) fn results(seeds: u64, rates: &[f64]) -> Results {
    let mut runs = Vec::new();
    for &rate in rates {
        for qdisc in &QDISCS {
            for seed in 1..=seeds {
                let mut run = run(qdisc, seed, rate);
                if rates.len() > 1 {
                    run.sweep = [("bottleneck.rate".to_owned(), format!("{rate}mbit").into())].into();
                }
                runs.push(run);
            }
        }
    }
    let scenario = serde_json::json!({"name": "RRUL on a DSL line", "question": "How much latency does each discipline add while four downloads and four uploads run?", "bottleneck": {"rate": "10mbit", "up": "1mbit"}, "rtt": "50ms", "time": "60s"});
    let scenario = ScenarioRecord::from_json(scenario);
    Results { goodqueue: "0.1.0".into(), scenario, runs, ..Results::default() }
}

/// Reproducible noise between -1 and 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        // Knuth's MMIX generator, whose highest bits are the most random.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / 2f64.powi(31) * 2.0 - 1.0
    }
}

/// Invents a run at a rate of `rate` Mbit/s down and a tenth of it up.
fn run(qdisc: &Invented, seed: u64, rate: f64) -> Run {
    let line = qdisc.line;
    // The factors are primes, so that hardly two runs have the same noise.
    let mut noise = Noise(seed * 7919 + line.len() as u64 * 104_729 + rate as u64);
    let delay = qdisc.delay_ms * 1e-3 * libm::pow(10.0 / rate, 0.8) * (1.0 + 0.08 * noise.next());
    let utilization = qdisc.utilization * (1.0 - 0.004 * noise.next().abs());
    let down = queue(delay, qdisc.swing, rate * 1e6 * utilization, &mut noise);
    let up = queue(delay * 1.4, qdisc.swing, rate * 1e5 * utilization, &mut noise);
    let pings = pings(line, &down, &up, &mut noise);
    let goodput = goodput(qdisc.unfairness, [rate * 1e6 * utilization, rate * 1e5 * utilization], &mut noise);
    let per_flow: Vec<f64> = goodput.iter().map(|f| mean(&f.values)).collect();
    let rtts: Vec<f64> = pings.iter().filter_map(|p| p.1).collect();
    let induced = summary(rtts.iter().map(|r| r - BASE_RTT_S).collect());
    let grade = induced.mean.map(grade);
    let link = |queue: &QueueSeries, bps: f64| link(line, queue, bps, utilization, delay, seed);
    Run {
        qdisc: line.into(),
        qdisc_resolved: line.into(),
        sweep: Default::default(),
        seed,
        duration_s: 60.0,
        bottleneck: Bottleneck { down: link(&down, rate * 1e6), up: link(&up, rate * 1e5) },
        hops: Vec::new(),
        wifi: None,
        flows: (0..9).map(|id| flow(id, &per_flow)).collect(),
        goodput: PerDirection { down: per_flow[..4].iter().sum(), up: per_flow[4..].iter().sum() },
        induced_latency_s: induced,
        grade,
        probes: Probes {
            ping_s: summary(rtts.clone()),
            ping_sent: 300,
            ping_lost: 300 - rtts.len() as u64,
            ..Probes::default()
        },
        fairness: Fairness {
            jain_goodput: jain(&per_flow[..4]),
            jain_goodput_up: jain(&per_flow[4..]),
            jain_drop_share: None,
            ..Fairness::default()
        },
        groups: Vec::new(),
        shared_queues: Vec::new(),
        goodput_by_kind: std::collections::BTreeMap::new(),
        completion: None,
        loss_synchronization: PerDirection::default(),
        tcp_share: Some(0.99),
        engine: Engine::default(),
        tc_stats: None,
        series: Some(Series {
            step_s: 0.1,
            quantiles: quantiles(waits(&down), waits(&up), rtts),
            queues: PerDirection { down, up },
            goodput_bps: goodput,
            pings,
        }),
    }
}

/// Invents the series of a queue with this mean delay in seconds.
fn queue(delay: f64, swing: f64, throughput_bps: f64, noise: &mut Noise) -> QueueSeries {
    let (mut level, period) = (0.0, 40.0 + 30.0 * noise.next().abs());
    let mean: Vec<Option<f64>> = (0..STEPS)
        .map(|i| {
            let at = i as f64;
            level = 0.8 * level + 0.2 * noise.next();
            let wave =
                1.0 + swing * (((at % period) / period - 0.5) + 1.2 * level) + 2.0 * libm::exp(-at / 8.0);
            Some((delay * wave).max(delay * 0.05))
        })
        .collect();
    QueueSeries {
        sojourn_max_s: mean.iter().map(|v| v.map(|v| v * 1.3 + 0.0012)).collect(),
        sojourn_mean_s: mean,
        // A packet of 1500 bytes has 12,000 bits.
        queue_packets: vec![delay * throughput_bps / 12e3; STEPS],
        throughput_bps: vec![throughput_bps; STEPS],
        drops: vec![1; STEPS],
    }
}

/// Invents a ping every 200 ms; RED loses some of them.
fn pings(line: &str, down: &QueueSeries, up: &QueueSeries, noise: &mut Noise) -> Vec<(f64, Option<f64>)> {
    (0..STEPS / 2)
        .map(|i| {
            let at = |q: &QueueSeries| q.sojourn_mean_s[i * 2].unwrap_or(0.0);
            let rtt = BASE_RTT_S + at(down) + 0.3 * at(up) + 0.0006 * noise.next().abs();
            let lost = line.starts_with("red") && i % 37 == 5;
            (i as f64 * 0.2, (!lost).then_some(rtt))
        })
        .collect()
}

/// Invents the goodput of four flows in each direction, which share what the link delivers.
fn goodput(unfairness: f64, delivered_bps: [f64; 2], noise: &mut Noise) -> Vec<FlowSeries> {
    let mut goodput: Vec<FlowSeries> = (0..8)
        .map(|id| {
            let share = 1.0 + unfairness * noise.next();
            let mut level = 0.0;
            let mut value = |step: usize| {
                level = 0.9 * level + 0.1 * noise.next();
                share * (1.0 - libm::exp(-(step as f64) / 6.0)) * (1.0 + 3.0 * unfairness * level)
            };
            FlowSeries { id, values: (0..STEPS).map(&mut value).collect() }
        })
        .collect();
    for (flows, bps) in goodput.chunks_mut(4).zip(delivered_bps) {
        for i in 0..STEPS {
            let sum: f64 = flows.iter().map(|f| f.values[i]).sum();
            let wobble = 1.0 + 0.03 * unfairness * noise.next();
            let total = 0.95 * bps * wobble * libm::pow((sum / 4.0).min(1.0), 0.2);
            flows.iter_mut().for_each(|f| f.values[i] *= total / sum.max(1e-9));
        }
    }
    goodput
}

fn link(line: &str, queue: &QueueSeries, bps: f64, utilization: f64, delay: f64, seed: u64) -> LinkResult {
    LinkResult {
        qdisc: line.into(),
        rate_bps: bps,
        utilization: Some(utilization),
        throughput_bps: bps * utilization,
        sojourn_s: summary(waits(queue)),
        queue_packets: MeanMax { mean: delay * bps / 12e3, max: delay * bps / 6e3 },
        packets: Packets {
            offered: 50_000,
            enqueued: 50_000,
            dequeued: 49_990,
            dropped: (90.0 / delay) as u64 / 8 + seed,
            marked: 0,
        },
        drops: [("aqm".to_owned(), 9)].into(),
        ..LinkResult::default()
    }
}

/// Flows 0 to 3 download, 4 to 7 upload, and flow 8 is a ping.
fn flow(id: u32, goodput_bps: &[f64]) -> FlowResult {
    FlowResult {
        id,
        kind: if id < 8 { FlowKind::Tcp } else { FlowKind::Ping },
        cc: (id < 8).then(|| "cubic".into()),
        direction: if (4..8).contains(&id) { Direction::Up } else { Direction::Down },
        rtt_s: BASE_RTT_S,
        goodput_bps: goodput_bps.get(id as usize).copied().unwrap_or(0.0),
        bytes_delivered: 1,
        packets_sent: 1,
        packets_dropped: 0,
        retransmits: 0,
        timeouts: 0,
        fct_s: None,
        ..FlowResult::default()
    }
}

fn quantiles(down: Vec<f64>, up: Vec<f64>, pings: Vec<f64>) -> Quantiles {
    let probabilities: Vec<f64> = (0..=200).map(|i| f64::from(i) / 200.0).collect();
    let quantiles = |values: Vec<f64>| {
        let values = sorted(values);
        probabilities.iter().map(|p| values[(p * (values.len() - 1) as f64) as usize]).collect::<Vec<_>>()
    };
    Quantiles {
        sojourn_down_s: quantiles(down),
        sojourn_up_s: quantiles(up),
        ping_s: quantiles(pings),
        probabilities: probabilities.clone(),
    }
}

fn waits(queue: &QueueSeries) -> Vec<f64> {
    queue.sojourn_mean_s.iter().flatten().copied().collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn jain(values: &[f64]) -> Option<f64> {
    let squares = values.iter().map(|v| v * v).sum::<f64>();
    Some(values.iter().sum::<f64>().powi(2) / (values.len() as f64 * squares))
}

fn sorted(mut v: Vec<f64>) -> Vec<f64> {
    v.sort_by(f64::total_cmp);
    v
}

fn summary(v: Vec<f64>) -> Summary {
    let v = sorted(v);
    let q = |p: f64| v.get((p * (v.len() as f64 - 1.0)) as usize).copied();
    Summary {
        count: v.len() as u64,
        mean: Some(v.iter().sum::<f64>() / v.len() as f64),
        p25: q(0.25),
        p50: q(0.5),
        p75: q(0.75),
        p95: q(0.95),
        p99: q(0.99),
        max: q(1.0),
    }
}
