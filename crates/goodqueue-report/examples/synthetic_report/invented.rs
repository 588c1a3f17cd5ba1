//! Plausible results that no simulator produced, for the example and for the browser test.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "invented numbers"
)]

use goodqueue_scenario::results::*;

/// Invented disciplines: the tc line, the delay of the standing queue down in ms at 10 Mbit/s, its
/// swing, the utilization, and the unfairness.
const QDISCS: [(&str, f64, f64, f64, f64); 6] = [
    ("pfifo limit 1000p", 780.0, 0.25, 0.999, 0.5),
    ("red limit 400000 min 30000 max 90000 avpkt 1000", 62.0, 0.5, 0.965, 0.4),
    ("codel limit 1000p target 5ms interval 100ms", 19.0, 0.7, 0.962, 0.3),
    ("pie limit 1000p target 15ms tupdate 15ms", 26.0, 0.6, 0.972, 0.35),
    ("fq_codel limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms", 4.2, 0.6, 0.982, 0.04),
    ("fq_pie limit 10240p flows 1024 target 15ms", 5.6, 0.6, 0.976, 0.06),
];

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
    Results { goodqueue: "0.1.0".into(), scenario, runs, ..Results::default() }
}

fn run(&(line, delay, swing, utilization, unfair): &(&str, f64, f64, f64, f64), seed: u64, rate: f64) -> Run {
    let mut state = seed * 7919 + line.len() as u64 * 104_729 + rate as u64;
    let mut noise = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / 2f64.powi(31) * 2.0 - 1.0
    };
    let delay = delay * 1e-3 * (10.0 / rate).powf(0.8) * (1.0 + 0.08 * noise());
    let utilization = utilization * (1.0 - 0.004 * noise().abs());
    let mut queue = |added: f64, bps: f64| {
        let (mut level, period) = (0.0, 40.0 + 30.0 * noise().abs());
        let mean: Vec<Option<f64>> = (0..600)
            .map(|i| {
                level = 0.8 * level + 0.2 * noise();
                let wave = 1.0
                    + swing * (((f64::from(i) % period) / period - 0.5) + 1.2 * level)
                    + 2.0 * (-f64::from(i) / 8.0).exp();
                Some((added * wave).max(added * 0.05))
            })
            .collect();
        let max = mean.iter().map(|v| v.map(|v| v * 1.3 + 0.0012)).collect();
        QueueSeries {
            sojourn_mean_s: mean,
            sojourn_max_s: max,
            queue_packets: vec![added * bps / 12e3; 600],
            throughput_bps: vec![bps * utilization; 600],
            drops: vec![1; 600],
        }
    };
    let (down, up) = (queue(delay, rate * 1e6), queue(delay * 1.4, rate * 1e5));
    let pings: Vec<(f64, Option<f64>)> = (0..300)
        .map(|i| {
            let at = |q: &QueueSeries| q.sojourn_mean_s[i * 2].unwrap_or(0.0);
            let lost = line.starts_with("red") && i % 37 == 5;
            (i as f64 * 0.2, (!lost).then(|| 0.050 + at(&down) + 0.3 * at(&up) + 0.0006 * noise().abs()))
        })
        .collect();
    let mut goodput: Vec<FlowSeries> = (0..8)
        .map(|id| {
            let share = 1.0 + unfair * noise();
            let mut level = 0.0;
            FlowSeries {
                id,
                values: (0..600)
                    .map(|i| {
                        level = 0.9 * level + 0.1 * noise();
                        share * (1.0 - (-f64::from(i) / 6.0).exp()) * (1.0 + 3.0 * unfair * level)
                    })
                    .collect(),
            }
        })
        .collect();
    // A link that is always busy delivers its rate, whichever flow gets it.
    for (flows, bps) in goodput.chunks_mut(4).zip([rate * 1e6, rate * 1e5]) {
        let wobble = 0.03 * unfair;
        for i in 0..600 {
            let sum: f64 = flows.iter().map(|f| f.values[i]).sum();
            let total = 0.95 * utilization * bps * (1.0 + wobble * noise()) * (sum / 4.0).min(1.0).powf(0.2);
            flows.iter_mut().for_each(|f| f.values[i] *= total / sum.max(1e-9));
        }
    }
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let per_flow: Vec<f64> = goodput.iter().map(|f| mean(&f.values)).collect();
    let jain = |x: &[f64]| {
        Some(x.iter().sum::<f64>().powi(2) / (x.len() as f64 * x.iter().map(|v| v * v).sum::<f64>()))
    };
    let rtts: Vec<f64> = pings.iter().filter_map(|p| p.1).collect();
    let waits = |q: &QueueSeries| q.sojourn_mean_s.iter().flatten().copied().collect::<Vec<_>>();
    let induced = summary(rtts.iter().map(|r| r - 0.050).collect());
    let letter = [(0.005, "A+"), (0.03, "A"), (0.06, "B"), (0.2, "C"), (0.4, "D")]
        .iter()
        .find(|(below, _)| induced.mean.is_some_and(|m| m < *below))
        .map_or("F", |l| l.1);
    let probabilities: Vec<f64> = (0..=200).map(|i| f64::from(i) / 200.0).collect();
    let quantiles = |v: Vec<f64>| {
        let v = sorted(v);
        probabilities.iter().map(|p| v[(p * (v.len() - 1) as f64) as usize]).collect::<Vec<_>>()
    };
    let link = |q: &QueueSeries, bps: f64| LinkResult {
        qdisc: line.into(),
        rate_bps: bps,
        utilization: Some(utilization),
        throughput_bps: bps * utilization,
        sojourn_s: summary(waits(q)),
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
    };
    let flow = |id: u32| FlowResult {
        id,
        kind: if id < 8 { "tcp" } else { "ping" }.into(),
        cc: (id < 8).then(|| "cubic".into()),
        direction: if (4..8).contains(&id) { "up" } else { "down" }.into(),
        rtt_s: 0.050,
        goodput_bps: per_flow.get(id as usize).copied().unwrap_or(0.0),
        bytes_delivered: 1,
        packets_sent: 1,
        packets_dropped: 0,
        retransmits: 0,
        timeouts: 0,
        fct_s: None,
        ..FlowResult::default()
    };
    Run {
        qdisc: line.into(),
        qdisc_resolved: line.into(),
        sweep: Default::default(),
        seed,
        duration_s: 60.0,
        bottleneck: Bottleneck { down: link(&down, rate * 1e6), up: link(&up, rate * 1e5) },
        hops: Vec::new(),
        wifi: None,
        flows: (0..9).map(flow).collect(),
        goodput: PerDirection { down: per_flow[..4].iter().sum(), up: per_flow[4..].iter().sum() },
        induced_latency_s: induced,
        grade: Some(letter.into()),
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
            quantiles: Quantiles {
                sojourn_down_s: quantiles(waits(&down)),
                sojourn_up_s: quantiles(waits(&up)),
                ping_s: quantiles(rtts),
                probabilities: probabilities.clone(),
            },
            queues: PerDirection { down, up },
            goodput_bps: goodput,
            pings,
        }),
    }
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
