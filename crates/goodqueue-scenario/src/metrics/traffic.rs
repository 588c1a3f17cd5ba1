//! What users of traffic see that only some scenarios have: calls, video, pages, transfers.

use super::metric::Better::{High, Low};
use super::metric::Digits::{AfterPoint, Three};
use super::metric::{DirectionColumns, Group, Metric, P50, P95, P99, ms, percent};
use crate::results::{Run, Summary, VideoResult, VoipResult};

pub(super) fn groups() -> Vec<Group> {
    vec![voice(), video(), pages(), completion(), responses()]
}

/// A group of the main table that only some scenarios have.
fn of_some(title: &str, heading: &str, applies: fn(&Run) -> bool, metrics: Vec<Metric>) -> Group {
    Group { applies, is_always_there: false, ..Group::new(title, heading, DirectionColumns::One, metrics) }
}

fn voice() -> Group {
    type MetricFn = fn(&VoipResult) -> Option<f64>;
    let of = |of: MetricFn| move |run: &Run, _| of(run.probes.voip.as_ref()?);
    let metrics = vec![
        Metric::new(
            "lost",
            "%",
            Low,
            of(|call| percent(call.loss)),
            "share of the packets of calls that were lost",
        )
        .digits(Three, AfterPoint(2))
        .at("probes.voip.loss"),
        Metric::new(
            "delay",
            "ms",
            Low,
            of(|call| ms(call.one_way_delay_s.mean)),
            "one-way delay of calls, mean",
        )
        .compared()
        .at("probes.voip.one_way_delay_s.mean"),
        Metric::new(
            "jitter",
            "ms",
            Low,
            of(|call| ms(call.jitter_s)),
            "interarrival jitter of calls (RFC 3550)",
        )
        .only_in_report()
        .at("probes.voip.jitter_s"),
        Metric::new("MOS", "", High, of(|call| call.mos), "score of the E-model, from 1 to 4.5")
            .digits(AfterPoint(2), AfterPoint(2))
            .at("probes.voip.mos"),
    ];
    of_some("Voice", "voice\n%, ms, MOS\nlost/one way/score", |run| run.probes.voip.is_some(), metrics)
}

fn video() -> Group {
    type MetricFn = fn(&VideoResult) -> Option<f64>;
    let of = |of: MetricFn| move |run: &Run, _| of(run.probes.video.as_ref()?);
    let bit_rate: MetricFn = |video| video.bitrate_bps.map(|bits| bits / 1e6);
    let metrics = vec![
        Metric::new("bit rate", "Mbit/s", High, of(bit_rate), "bit rate of the segments shown, mean")
            .digits(Three, AfterPoint(2))
            .at("probes.video.bitrate_bps"),
        Metric::new(
            "stalled",
            "s",
            Low,
            of(|video| Some(video.stalled_s)),
            "time for which the picture stood still",
        )
        .digits(Three, AfterPoint(1))
        .at("probes.video.stalled_s"),
        Metric::new("shown after", "s", Low, of(|video| video.shown_after_s), "time to the first picture")
            .digits(Three, AfterPoint(1))
            .only_in_terminal()
            .at("probes.video.shown_after_s"),
    ];
    of_some(
        "Video",
        "video\nMbit/s, s, s\nrate/stalled/shown after",
        |run| run.probes.video.is_some(),
        metrics,
    )
}

fn pages() -> Group {
    let page = |name: &str, of: fn(&Summary) -> Option<f64>, doc| {
        Metric::new(name, "ms", Low, move |run, _| ms(of(&run.probes.web.as_ref()?.page_fetch_s)), doc)
            .at(&format!("probes.web.page_fetch_s.{name}"))
    };
    let metrics = vec![
        page("p50", P50, "time to fetch a web page, median").compared(),
        page("p95", P95, "its 95th percentile"),
    ];
    of_some("Page fetch", "page fetch\nms\np50/p95", |run| run.probes.web.is_some(), metrics)
}

fn completion() -> Group {
    let completion = |name: &str, of: fn(&Summary) -> Option<f64>, doc| {
        Metric::new(name, "ms", Low, move |run, _| ms(of(&run.completion.as_ref()?.time_s)), doc)
            .at(&format!("completion.time_s.{name}"))
    };
    let metrics = vec![
        completion("p50", P50, "completion time of flows and transfers with a size, median").compared(),
        completion("p95", P95, "its 95th percentile"),
        completion("p99", P99, "its 99th percentile"),
    ];
    of_some("Flow completion", "completion\nms\np50/p95/p99", |run| run.completion.is_some(), metrics)
}

fn responses() -> Group {
    let response = |name: &str, of: fn(&Run) -> Option<f64>, doc| {
        Metric::new(name, "ms", Low, move |run, _| ms(of(run)), doc).at(&format!("groups.response_s.{name}"))
    };
    let metrics = vec![
        response("mean", Run::mean_response_s, "response time of groups of transfers, mean"),
        response("max", Run::max_response_s, "the longest of them"),
    ];
    of_some("Group response", "groups\nms\nmean/max", |run| !run.groups.is_empty(), metrics)
}
