//! Results for the tests of this crate.

use goodqueue_scenario::results::{
    Bottleneck, Engine, Fairness, FlowKind, FlowResult, FlowSeries, Grade, LinkResult, MeanMax, Packets,
    PerDirection, Probes, Quantiles, QueueSeries, Run, Series, Summary,
};
use goodqueue_scenario::scenario::Direction;

pub(crate) fn summary(s: f64) -> Summary {
    let v = Some(s);
    Summary { count: 100, mean: v, p25: v, p50: v, p75: v, p95: v, p99: v, max: v }
}

fn link(rate_bps: f64) -> LinkResult {
    LinkResult {
        qdisc: "pfifo limit 1000p".into(),
        rate_bps,
        utilization: Some(0.9),
        throughput_bps: 0.9 * rate_bps,
        sojourn_s: summary(0.004),
        queue_packets: MeanMax { mean: 5.0, max: 50.0 },
        packets: Packets { offered: 10, enqueued: 9, dequeued: 9, dropped: 1, marked: 0 },
        drops: [("overlimit".to_owned(), 1)].into(),
        ..LinkResult::default()
    }
}

fn flow(id: u32, kind: FlowKind, cc: Option<&str>) -> FlowResult {
    FlowResult {
        id,
        kind,
        cc: cc.map(Into::into),
        direction: Direction::Down,
        rtt_s: 0.05,
        goodput_bps: 9e6,
        bytes_delivered: 1,
        packets_sent: 1,
        packets_dropped: 0,
        retransmits: 0,
        timeouts: 0,
        fct_s: None,
        ..FlowResult::default()
    }
}

pub(crate) fn run(qdisc: &str, seed: u64, series: Option<Series>) -> Run {
    Run {
        qdisc: qdisc.into(),
        qdisc_resolved: format!("{qdisc} limit 1000p"),
        sweep: std::collections::BTreeMap::new(),
        seed,
        duration_s: 60.0,
        bottleneck: Bottleneck { down: link(10e6), up: link(1e6) },
        hops: Vec::new(),
        wifi: None,
        flows: vec![flow(0, FlowKind::Tcp, Some("cubic")), flow(1, FlowKind::Ping, None)],
        goodput: PerDirection { down: 9e6, up: 0.0 },
        induced_latency_s: summary(0.004),
        grade: Some(Grade::APlus),
        probes: Probes { ping_s: summary(0.054), ping_sent: 100, ping_lost: 0, ..Probes::default() },
        fairness: Fairness {
            jain_goodput: Some(0.99),
            jain_goodput_up: None,
            jain_drop_share: None,
            ..Fairness::default()
        },
        loss_synchronization: PerDirection::default(),
        groups: Vec::new(),
        shared_queues: Vec::new(),
        goodput_by_kind: std::collections::BTreeMap::new(),
        completion: None,
        tcp_share: Some(1.0),
        engine: Engine::default(),
        tc_stats: None,
        series,
    }
}

pub(crate) fn series(steps: u32) -> Series {
    let n = usize::try_from(steps).unwrap();
    let queue = QueueSeries {
        sojourn_mean_s: (0..steps).map(|i| (i % 7 != 0).then(|| f64::from(i) * 1.234e-5)).collect(),
        sojourn_max_s: vec![None; n],
        queue_packets: vec![1.0; n],
        throughput_bps: vec![1e6; n],
        drops: vec![0; n],
    };
    Series {
        step_s: 0.1,
        queues: PerDirection { down: queue.clone(), up: queue },
        goodput_bps: vec![FlowSeries { id: 0, values: vec![9e6; n] }],
        pings: (0..steps).map(|i| (f64::from(i) * 0.1, (i % 9 != 0).then_some(0.054))).collect(),
        quantiles: Quantiles::default(),
    }
}
