//! What `assets/report.js` draws: milliseconds and Mbit/s, rounded, and few enough numbers for a file to mail.

use goodqueue_scenario::results::{PerDirection, QueueSeries, Run, Series};
use serde::Serialize;

use crate::ellipse::{self, Ellipse};
use crate::escape::clip;
use crate::group::{Grouped, Link, Point};
use crate::metric::{Metric, Spread, columns};
use crate::number::Short;
use crate::{thin, words};

/// All charts.
#[derive(Serialize)]
pub(crate) struct Charts {
    disciplines: Vec<String>,
    link: Link,
    /// Latency axis of the latency-goodput plot: its ellipses are of logarithms.
    log_latency: bool,
    metrics: Vec<MetricName>,
    points: Vec<PointData>,
}

#[derive(Serialize)]
struct MetricName {
    name: String,
    unit: &'static str,
}

#[derive(Serialize)]
struct PointData {
    label: String,
    words: String,
    seeds: String,
    rate: PerDirection<Option<Short>>,
    cells: Vec<Option<Cell>>,
}

/// One discipline at one sweep point.
#[derive(Serialize)]
struct Cell {
    qdisc: PerDirection<String>,
    down: Cloud,
    up: Cloud,
    /// Mean of each metric, and half the width of its 95 % confidence interval.
    metrics: Vec<Option<(Short, Option<Short>)>>,
    shown: Vec<Shown>,
}

/// Runs in the latency-goodput plane.
#[derive(Serialize)]
struct Cloud {
    /// Induced latency, goodput, seed.
    dots: Vec<(Short, Short, String)>,
    centre: Option<(Short, Short)>,
    ellipse: Vec<(Short, Short)>,
}

/// Series of one run.
#[derive(Serialize)]
struct Shown {
    seed: String,
    step_s: f64,
    /// Step of the goodput: what TCP delivers after a loss comes in lumps, which say nothing at a finer scale.
    goodput_step_s: f64,
    down: Queue,
    up: Queue,
    goodput: PerDirection<Vec<Flow>>,
    pings: Vec<(Short, Option<Short>)>,
    quantiles: Quantiles,
}

#[derive(Serialize)]
struct Queue {
    mean: Vec<Option<Short>>,
    max: Vec<Option<Short>>,
}

#[derive(Serialize)]
struct Flow {
    name: String,
    mbit: Vec<Option<Short>>,
}

#[derive(Serialize)]
struct Quantiles {
    p: Vec<Short>,
    down: Vec<Short>,
    up: Vec<Short>,
    ping: Vec<Short>,
}

impl Charts {
    /// Of all runs.
    pub(crate) fn new(grouped: &Grouped<'_>) -> Self {
        let log_latency = latency_is_wide(grouped);
        let budget = Budget::new(grouped);
        let shown = columns(grouped);
        let metrics = shown.iter().map(|m| {
            let of =
                if m.group == "Sojourn time" { format!(" {}", grouped.link.name()) } else { String::new() };
            MetricName { name: format!("{}{of}, {}", m.group, m.name), unit: m.unit }
        });
        let cell = |runs: &Vec<&Run>| cell(runs, grouped.link, &shown, log_latency, budget);
        let point = |p: &Point<'_>| PointData {
            label: p.label.clone(),
            words: words::parameters(p),
            seeds: words::seeds(p),
            rate: PerDirection {
                down: p.first().and_then(|r| Short::new(r.bottleneck.down.rate_bps / 1e6)),
                up: p.first().and_then(|r| Short::new(r.bottleneck.up.rate_bps / 1e6)),
            },
            cells: p.runs.iter().map(cell).collect(),
        };
        Self {
            disciplines: grouped.labels.clone(),
            link: grouped.link,
            log_latency,
            metrics: metrics.collect(),
            points: grouped.points.iter().map(point).collect(),
        }
    }
}

fn cell(runs: &[&Run], main: Link, columns: &[&Metric], log: bool, budget: Budget) -> Option<Cell> {
    let first = runs.first()?;
    let metric = |of: fn(&Run, Link) -> Option<f64>| {
        let s = Spread::of(runs.iter().map(|r| of(r, main)))?;
        Some((Short::new(s.mean)?, s.ci95.and_then(Short::new)))
    };
    let with_series = runs.iter().filter_map(|r| Some((*r, r.series.as_ref()?)));
    Some(Cell {
        qdisc: PerDirection {
            down: clip(&first.bottleneck.down.qdisc, 400),
            up: clip(&first.bottleneck.up.qdisc, 400),
        },
        down: Cloud::new(runs, log, |r| r.goodput.down),
        up: Cloud::new(runs, log, |r| r.goodput.up),
        metrics: columns.iter().map(|m| metric(m.of)).collect(),
        shown: with_series.take(budget.seeds).map(|(r, s)| Shown::new(r, s, budget.steps)).collect(),
    })
}

impl Cloud {
    fn new(runs: &[&Run], log: bool, goodput: fn(&Run) -> f64) -> Self {
        let located: Vec<(f64, f64, u64)> = runs
            .iter()
            .filter_map(|r| Some((latency_ms(r)?, goodput(r) / 1e6, r.seed)))
            .filter(|(x, y, _)| x.is_finite() && y.is_finite())
            .collect();
        let to = |x: f64| if log { libm::log10(x) } else { x };
        let from = |x: f64| if log { libm::pow(10.0, x) } else { x };
        let plane: Vec<(f64, f64)> = located.iter().map(|(x, y, _)| (to(*x), *y)).collect();
        // An outline of few digits would have steps where the runs lie close together.
        let fine = |v: f64| Short::with_digits(v, 7).unwrap_or(Short::or_zero(0.0));
        let back = |(x, y): (f64, f64)| (fine(from(x)), fine(y));
        Self {
            dots: located.iter().map(|(x, y, seed)| (fine(*x), fine(*y), seed.to_string())).collect(),
            centre: (!plane.is_empty()).then(|| back(ellipse::centre(&plane))),
            ellipse: Ellipse::of(&plane)
                .map(|e| e.outline(48).into_iter().map(back).collect())
                .unwrap_or_default(),
        }
    }
}

impl Shown {
    fn new(run: &Run, series: &Series, max_steps: usize) -> Self {
        let steps = steps(series);
        let bucket = thin::bucket(steps, max_steps);
        let goodput_bucket = thin::bucket(steps, max_steps.min(MAX_GOODPUT_STEPS));
        Self {
            seed: run.seed.to_string(),
            step_s: series.step_s * crate::metric::count(bucket),
            goodput_step_s: series.step_s * crate::metric::count(goodput_bucket),
            down: Queue::new(&series.queues.down, bucket),
            up: Queue::new(&series.queues.up, bucket),
            goodput: PerDirection {
                down: flows(run, series, "down", goodput_bucket),
                up: flows(run, series, "up", goodput_bucket),
            },
            pings: thin::pings(&series.pings, max_steps)
                .into_iter()
                .filter_map(|(t, rtt)| Some((Short::with_digits(t, 7)?, rtt.and_then(ms))))
                .collect(),
            quantiles: Quantiles {
                p: series.quantiles.probabilities.iter().copied().map(Short::or_zero).collect(),
                down: all_ms(&series.quantiles.sojourn_down_s),
                up: all_ms(&series.quantiles.sojourn_up_s),
                ping: all_ms(&series.quantiles.ping_s),
            },
        }
    }
}

impl Queue {
    fn new(queue: &QueueSeries, bucket: usize) -> Self {
        let ms = |values: Vec<Option<f64>>| values.into_iter().map(|v| v.and_then(ms)).collect();
        Self {
            mean: ms(thin::means(&queue.sojourn_mean_s, bucket)),
            max: ms(thin::maxima(&queue.sojourn_max_s, bucket)),
        }
    }
}

/// The flows of a direction; beyond `MAX_FLOWS` the rest is summed up.
fn flows(run: &Run, series: &Series, direction: &str, bucket: usize) -> Vec<Flow> {
    let of_direction = |f: &&goodqueue_scenario::results::FlowSeries| {
        run.flows.iter().any(|known| known.id == f.id && known.direction == direction)
    };
    let mine: Vec<_> = series.goodput_bps.iter().filter(of_direction).collect();
    let mbit = |values: &[f64]| {
        let some: Vec<Option<f64>> = values.iter().map(|v| Some(v / 1e6)).collect();
        thin::means(&some, bucket).into_iter().map(|v| v.and_then(Short::new)).collect()
    };
    let own = if mine.len() > MAX_FLOWS { MAX_FLOWS - 1 } else { mine.len() };
    let (alone, rest) = mine.split_at(own);
    let mut out: Vec<Flow> = alone
        .iter()
        .map(|f| {
            let cc = run.flows.iter().find(|known| known.id == f.id).and_then(|known| known.cc.as_deref());
            let name =
                cc.map_or_else(|| format!("flow {}", f.id), |cc| format!("flow {} ({})", f.id, clip(cc, 24)));
            Flow { name, mbit: mbit(&f.values) }
        })
        .collect();
    if !rest.is_empty() {
        let mut sum = vec![0.0; rest.iter().map(|f| f.values.len()).max().unwrap_or(0)];
        for flow in rest {
            sum.iter_mut().zip(&flow.values).for_each(|(s, v)| *s += v);
        }
        out.push(Flow { name: format!("{} other flows", rest.len()), mbit: mbit(&sum) });
    }
    out
}

/// How much of the series is embedded.
#[derive(Clone, Copy)]
struct Budget {
    /// Seeds per discipline and sweep point.
    seeds: usize,
    /// Steps per series.
    steps: usize,
}

impl Budget {
    /// First fewer steps, down to what a screen can show, then fewer seeds, then fewer steps again.
    fn new(grouped: &Grouped<'_>) -> Self {
        let cells = || grouped.points.iter().flat_map(|p| &p.runs);
        let most_seeds = cells().map(Vec::len).max().unwrap_or(0);
        let fits = |b: Budget| {
            let numbers = |cell: &Vec<&Run>| {
                let shown = cell.iter().filter_map(|r| r.series.as_ref()).take(b.seeds);
                shown.map(|s| numbers(s, b.steps)).sum::<usize>()
            };
            cells().map(numbers).sum::<usize>() <= MAX_NUMBERS
        };
        let by_steps = [2000, 1200, 600].map(|steps| Self { seeds: most_seeds, steps });
        let by_seeds = (1..most_seeds).rev().map(|seeds| Self { seeds, steps: 600 });
        let last = [300, 150].map(|steps| Self { seeds: 1, steps });
        let fallback = Self { seeds: 1, steps: 75 };
        by_steps.into_iter().chain(by_seeds).chain(last).find(|b| fits(*b)).unwrap_or(fallback)
    }
}

fn numbers(series: &Series, max_steps: usize) -> usize {
    let flows = series.goodput_bps.len().min(2 * MAX_FLOWS);
    4 * steps(series).min(max_steps)
        + flows * steps(series).min(max_steps).min(MAX_GOODPUT_STEPS)
        + 2 * series.pings.len().min(max_steps)
        + 4 * series.quantiles.probabilities.len()
}

fn steps(series: &Series) -> usize {
    series.queues.down.sojourn_mean_s.len().max(series.queues.up.sojourn_mean_s.len())
}

/// Over one decade a linear axis would press the good disciplines into a corner.
fn latency_is_wide(grouped: &Grouped<'_>) -> bool {
    let all = || grouped.points.iter().flat_map(|p| p.runs.iter().flatten()).filter_map(|r| latency_ms(r));
    match (all().reduce(f64::min), all().reduce(f64::max)) {
        (Some(low), Some(high)) => high > 10.0 * low,
        _ => false,
    }
}

/// Mean induced latency; what is below the resolution of the plot is put at its edge, where a logarithm exists.
fn latency_ms(run: &Run) -> Option<f64> {
    run.induced_latency_s.mean.filter(|s| s.is_finite()).map(|s| (s * 1e3).max(0.1))
}

fn ms(seconds: f64) -> Option<Short> {
    Short::new(seconds * 1e3)
}

fn all_ms(seconds: &[f64]) -> Vec<Short> {
    seconds.iter().map(|s| Short::or_zero(s * 1e3)).collect()
}

/// Steps of a chart of goodput, which is a third of the page wide.
const MAX_GOODPUT_STEPS: usize = 75;

/// Flows drawn on their own per direction.
const MAX_FLOWS: usize = 12;

/// Numbers in the data block: about 1 MB.
const MAX_NUMBERS: usize = 190_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tests::{run, series};

    #[test]
    fn thirty_seeds_fit_the_budget() {
        let runs: Vec<Run> = (0..30).map(|seed| run("pie", seed, Some(series(5000)))).collect();
        let json = serde_json::to_string(&Charts::new(&Grouped::new(&runs))).unwrap();
        assert!(json.len() < 1_500_000, "{}", json.len());
    }

    #[test]
    fn many_flows_are_summed_up() {
        let mut r = run("pie", 1, Some(series(4)));
        let flow = r.flows[0].clone();
        r.flows = (0..40).map(|id| goodqueue_scenario::results::FlowResult { id, ..flow.clone() }).collect();
        let s = r.series.as_mut().unwrap();
        s.goodput_bps =
            (0..40).map(|id| goodqueue_scenario::results::FlowSeries { id, values: vec![1e6; 4] }).collect();
        let drawn = flows(&r, r.series.as_ref().unwrap(), "down", 1);
        assert_eq!(drawn.len(), MAX_FLOWS);
        assert_eq!(drawn[11].name, "29 other flows");
        assert_eq!(drawn[11].mbit[0], Short::new(29.0));
    }

    #[test]
    fn runs_without_pings_have_no_dot() {
        let mut r = run("pie", 1, None);
        r.induced_latency_s = goodqueue_scenario::results::Summary::default();
        let cloud = Cloud::new(&[&r], true, |r| r.goodput.down);
        assert!(cloud.dots.is_empty() && cloud.centre.is_none() && cloud.ellipse.is_empty());
    }
}
