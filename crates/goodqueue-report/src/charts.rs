//! The data of the charts that `assets/report.js` draws, in milliseconds and Mbit/s. Values are
//! rounded and series are thinned, so that the file is small enough for an e-mail.

use std::collections::BTreeMap;

use goodqueue_scenario::metrics::SOJOURN;
use goodqueue_scenario::results::{Band, FlowKind, PerDirection, QueueSeries, Run, Series};
use goodqueue_scenario::scenario::Direction;
use goodqueue_scenario::summary::series::pings_per_step;
use serde::Serialize;

use crate::ellipse::{self, Ellipse};
use crate::escape::clip;
use crate::group::{Grouped, Point};
use crate::metric::{Column, Spread, columns};
use crate::number::ShortNumber;
use crate::style::Style;
use crate::{thin, words};

/// The data of all charts.
#[derive(Serialize)]
pub(crate) struct Charts {
    disciplines: Vec<String>,
    /// Colour and dashes of each discipline.
    styles: Vec<(usize, usize)>,
    link: &'static str,
    /// True if the latency axis of the latency-goodput plot is logarithmic. The ellipses are then
    /// computed from logarithms.
    log_latency: bool,
    metrics: Vec<MetricName>,
    /// Swept keys.
    keys: Vec<String>,
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
    /// Values of the swept keys for readers.
    values: Vec<String>,
    words: String,
    seeds: String,
    /// Values of the swept keys of the scenario.
    sweep: BTreeMap<String, serde_json::Value>,
    /// First seed, for the link to the playground. Text, because a number of JavaScript is exact
    /// up to 2^53 only.
    seed: Option<String>,
    rate: PerDirection<Option<ShortNumber>>,
    cells: Vec<Option<Cell>>,
}

/// One discipline at one sweep point.
#[derive(Serialize)]
struct Cell {
    qdisc: PerDirection<String>,
    /// Means in ms: of the base round-trip time, of the ping, and of its 95th percentile.
    ping: Option<(ShortNumber, ShortNumber, ShortNumber)>,
    down: Cloud,
    up: Cloud,
    /// Mean of each metric, and half the width of its 95 % confidence interval.
    metrics: Vec<Option<(ShortNumber, Option<ShortNumber>)>>,
    shown: Vec<ShownSeries>,
}

/// The runs of one direction in the latency-goodput plane.
#[derive(Serialize)]
struct Cloud {
    /// Induced latency in ms, goodput in Mbit/s, and seed of each run.
    dots: Vec<(ShortNumber, ShortNumber, String)>,
    centre: Option<(ShortNumber, ShortNumber)>,
    ellipse: Vec<(ShortNumber, ShortNumber)>,
}

/// The series of one run, or the pointwise mean over the runs of several seeds.
#[derive(Serialize)]
struct ShownSeries {
    /// Entry in the menu of seeds.
    seed: String,
    /// Description in a sentence.
    says: String,
    step_s: f64,
    /// Step of the goodput series in seconds. It is longer than `step_s`, because TCP delivers data
    /// in bursts after a loss, which a fine scale would show as noise.
    goodput_step_s: f64,
    down: Queue,
    up: Queue,
    goodput: PerDirection<Vec<Flow>>,
    /// Send time in seconds, round-trip time in ms, and for a mean half the width of its confidence
    /// interval.
    pings: Vec<(ShortNumber, Option<ShortNumber>, Option<ShortNumber>)>,
    /// True if the pings are those of one flow, or a mean, so that a line may connect them.
    joined: bool,
    lost: Lost,
    quantiles: Quantiles,
}

/// The share of the pings that were lost, in percent per step; empty if none was lost.
#[derive(Serialize)]
struct Lost {
    step_s: f64,
    percent: Vec<Option<ShortNumber>>,
}

#[derive(Serialize)]
struct Queue {
    mean: Line,
    max: Line,
}

/// The values at each step, and for a mean half the width of the confidence interval at each step.
#[derive(Serialize)]
struct Line(Vec<Option<ShortNumber>>, Vec<Option<ShortNumber>>);

#[derive(Serialize)]
struct Flow {
    name: String,
    mbit: Vec<Option<ShortNumber>>,
}

#[derive(Serialize)]
struct Quantiles {
    p: Vec<ShortNumber>,
    down: Vec<ShortNumber>,
    up: Vec<ShortNumber>,
    ping: Vec<ShortNumber>,
}

impl Charts {
    /// Computes the data of all charts.
    pub(crate) fn new(grouped: &Grouped<'_>) -> Self {
        let log_latency = latency_is_wide(grouped);
        let budget = Budget::new(grouped);
        let shown = columns(grouped);
        let metrics = shown.iter().map(|m| {
            // Sojourn times are those of the loaded direction only, so their name says which it is.
            let of = if m.title == SOJOURN { format!(" {}", grouped.link.name()) } else { String::new() };
            MetricName { name: format!("{}{of}, {}", m.title, m.name()), unit: m.unit() }
        });
        let cell = |runs: &Vec<&Run>| cell(runs, grouped.link, &shown, log_latency, budget);
        let point = |p: &Point<'_>| PointData {
            label: p.label.clone(),
            values: p.values.iter().map(|(_, value)| value.clone()).collect(),
            words: words::parameters(p),
            seeds: words::seeds(p),
            sweep: p.first().map(|run| run.sweep.clone()).unwrap_or_default(),
            seed: p.runs.iter().flatten().map(|run| run.seed).min().map(|seed| seed.to_string()),
            rate: PerDirection {
                down: p.first().and_then(|r| ShortNumber::new(r.bottleneck.down.rate_bps / 1e6)),
                up: p.first().and_then(|r| ShortNumber::new(r.bottleneck.up.rate_bps / 1e6)),
            },
            cells: p.runs.iter().map(cell).collect(),
        };
        Self {
            disciplines: grouped.labels.clone(),
            styles: Style::all(grouped).into_iter().map(|style| (style.colour, style.dash)).collect(),
            link: grouped.link.name(),
            log_latency,
            metrics: metrics.collect(),
            keys: grouped
                .points
                .first()
                .map_or_else(Vec::new, |p| p.values.iter().map(|pair| pair.0.clone()).collect()),
            points: grouped.points.iter().map(point).collect(),
        }
    }
}

fn cell(runs: &[&Run], main: Direction, columns: &[Column], log: bool, budget: Budget) -> Option<Cell> {
    let first = runs.first()?;
    let mean = |metric: &Column| {
        let s = Spread::from_values(runs.iter().map(|r| metric.value(r, main)))?;
        Some((unrounded(s.mean)?, s.ci95.and_then(unrounded)))
    };
    let with_series: Vec<(&Run, &Series)> =
        runs.iter().filter_map(|r| Some((*r, r.series.as_ref()?))).collect();
    let pointwise =
        (with_series.len() > 1).then(|| ShownSeries::mean(&with_series, budget.steps.min(MAX_MEAN_STEPS)));
    let alone = with_series.iter().take(budget.seeds).map(|(r, s)| ShownSeries::new(r, s, budget.steps));
    Some(Cell {
        qdisc: PerDirection {
            down: clip(&first.bottleneck.down.qdisc, 400),
            up: clip(&first.bottleneck.up.qdisc, 400),
        },
        ping: ping(runs),
        down: Cloud::new(runs, log, |r| r.goodput.down),
        up: Cloud::new(runs, log, |r| r.goodput.up),
        metrics: columns.iter().map(mean).collect(),
        shown: pointwise.into_iter().chain(alone).collect(),
    })
}

/// Returns a number that the page writes next to a table with the same value. The page rounds it
/// for readers: 614.46 ms are 614 ms, but would be 615 ms if they were 614.5 ms already.
fn unrounded(value: f64) -> Option<ShortNumber> {
    ShortNumber::with_digits(value, 9)
}

fn ping(runs: &[&Run]) -> Option<(ShortNumber, ShortNumber, ShortNumber)> {
    let mean_ms = |of: fn(&Run) -> Option<f64>| {
        unrounded(1e3 * Spread::from_values(runs.iter().map(|run| of(run)))?.mean)
    };
    Some((
        // The part of the ping that counts as induced is what the base round-trip time is not.
        mean_ms(|run| Some(run.probes.ping_s.mean? - run.induced_latency_s.mean?))?,
        mean_ms(|run| run.probes.ping_s.mean)?,
        mean_ms(|run| run.probes.ping_s.p95)?,
    ))
}

/// Returns the pings without the last ones: those sent so late that a slow answer would have come
/// after the end of the run.
fn known_pings(series: &Series) -> &[(f64, Option<f64>)] {
    let slowest = series.pings.iter().filter_map(|(_, time)| *time).fold(0.0, f64::max);
    let Some((last, _)) = series.pings.last() else { return &[] };
    let known = series.pings.iter().position(|(sent, _)| *sent > last - slowest);
    &series.pings[..known.unwrap_or(series.pings.len())]
}

impl Lost {
    fn from_series(runs: &[&Series]) -> Self {
        let is_lost = |series: &&Series| known_pings(series).iter().any(|(_, time)| time.is_none());
        let Some(first) = runs.first().filter(|_| runs.iter().any(is_lost)) else {
            return Self { step_s: 0.0, percent: Vec::new() };
        };
        // A series without steps must not divide by zero below.
        let merged = steps(first).div_ceil(LOST_STEPS).max(1);
        let step_s = first.step_s * crate::metric::count(merged);
        let share = |series: &&Series| {
            let known = known_pings(series);
            let lost: Vec<_> =
                // A lost ping counts as 1 and an answer as 0, so the mean of a step is the share
                // that was lost.
                known.iter().map(|(sent, time)| (*sent, Some(f64::from(u8::from(time.is_none()))))).collect();
            pings_per_step(&lost, step_s, steps(first).div_ceil(merged))
        };
        let mean = Band::from_series(&runs.iter().map(share).collect::<Vec<_>>()).mean;
        let percent = |share: Option<f64>| share.and_then(|share| ShortNumber::new(100.0 * share));
        Self { step_s, percent: mean.into_iter().map(percent).collect() }
    }
}

impl Cloud {
    fn new(runs: &[&Run], log: bool, goodput: fn(&Run) -> f64) -> Self {
        let located: Vec<(f64, f64, u64)> = runs
            .iter()
            .filter_map(|r| Some((latency_ms(r)?, goodput(r) / 1e6, r.seed)))
            // Results may come from another program. One NaN would be the median of the whole
            // cloud.
            .filter(|(x, y, _)| x.is_finite() && y.is_finite())
            .collect();
        // The logarithm of the system may round differently on another machine.
        let to = |x: f64| if log { libm::log10(x) } else { x };
        let from = |x: f64| if log { libm::pow(10.0, x) } else { x };
        let plane: Vec<(f64, f64)> = located.iter().map(|(x, y, _)| (to(*x), *y)).collect();
        // With few digits, outlines around nearly equal runs would show steps.
        let fine = |v: f64| ShortNumber::with_digits(v, 7).unwrap_or(ShortNumber::or_zero(0.0));
        let back = |(x, y): (f64, f64)| (fine(from(x)), fine(y));
        Self {
            // A seed is text, because a number of JavaScript is exact up to 2^53 only.
            dots: located.iter().map(|(x, y, seed)| (fine(*x), fine(*y), seed.to_string())).collect(),
            centre: (!plane.is_empty()).then(|| back(ellipse::centre(&plane))),
            ellipse: Ellipse::from_points(&plane)
                .map(|e| e.outline(48).into_iter().map(back).collect())
                .unwrap_or_default(),
        }
    }
}

impl ShownSeries {
    fn new(run: &Run, series: &Series, max_steps: usize) -> Self {
        let steps = Steps::new(series, max_steps);
        let flows = |direction| {
            flows(run, series, direction, steps.goodput).into_iter().map(|(name, mbit)| Flow::new(name, mbit))
        };
        Self {
            seed: run.seed.to_string(),
            says: format!("seed {}", run.seed),
            step_s: series.step_s * crate::metric::count(steps.all),
            goodput_step_s: series.step_s * crate::metric::count(steps.goodput),
            down: Queue::new(&series.queues.down, steps.all),
            up: Queue::new(&series.queues.up, steps.all),
            goodput: PerDirection {
                down: flows(Direction::Down).collect(),
                up: flows(Direction::Up).collect(),
            },
            pings: thin::pings(&series.pings, max_steps)
                .into_iter()
                // With four digits, all pings of a second would have the same time in a run of more
                // than 1000 s.
                .filter_map(|(t, rtt)| Some((ShortNumber::with_digits(t, 7)?, rtt.and_then(ms), None)))
                .collect(),
            // A line through the pings of several flows would jump between their round-trip times.
            joined: run.flows.iter().filter(|flow| flow.kind == FlowKind::Ping).count() < 2,
            lost: Lost::from_series(&[series]),
            quantiles: Quantiles::new(&series.quantiles),
        }
    }

    /// Computes the pointwise mean of several runs.
    fn mean(runs: &[(&Run, &Series)], max_steps: usize) -> Self {
        // All runs of a cell have the same scenario, and so the same steps.
        let series = runs[0].1;
        let steps = Steps::new(series, max_steps);
        let queue = |of: fn(&Series) -> &QueueSeries| {
            let line = |values: fn(&QueueSeries, usize) -> Vec<Option<f64>>| {
                let all: Vec<_> = runs.iter().map(|(_, series)| values(of(series), steps.all)).collect();
                Line::from_band(&Band::from_series(&all), all.len())
            };
            Queue { mean: line(thinned_mean), max: line(thinned_max) }
        };
        let goodput = |direction: Direction| {
            let all: Vec<_> =
                runs.iter().map(|(run, series)| flows(run, series, direction, steps.goodput)).collect();
            let flow = |number: usize, name: &str| {
                let alike: Vec<_> =
                    all.iter().filter_map(|run| run.get(number)).map(|flow| flow.1.clone()).collect();
                Flow::new(name.to_owned(), Band::from_series(&alike).mean)
            };
            // Flows of the same number are alike in all runs, which differ in their seeds only.
            all[0].iter().enumerate().map(|(number, (name, _))| flow(number, name)).collect()
        };
        let all = self::steps(series);
        // If pings are less frequent than steps, a mean per step would have more gaps than points.
        let apart = all.div_ceil(series.pings.len().clamp(1, max_steps)).max(steps.all);
        let apart_s = series.step_s * crate::metric::count(apart);
        let pings = Band::from_series(
            &runs
                .iter()
                .map(|(_, series)| pings_per_step(&series.pings, apart_s, all.div_ceil(apart)))
                .collect::<Vec<_>>(),
        );
        let has_band = runs.len() >= FEWEST_FOR_BAND;
        // The pings of a step were sent around its middle.
        let at = (0..).map(|step| (crate::metric::count(step) + 0.5) * apart_s);
        Self {
            seed: format!("all {}: mean", runs.len()),
            says: format!("pointwise mean over {} seeds", runs.len()),
            step_s: series.step_s * crate::metric::count(steps.all),
            goodput_step_s: series.step_s * crate::metric::count(steps.goodput),
            down: queue(|series| &series.queues.down),
            up: queue(|series| &series.queues.up),
            goodput: PerDirection { down: goodput(Direction::Down), up: goodput(Direction::Up) },
            pings: at
                .zip(pings.mean.iter().zip(&pings.ci95))
                .filter_map(|(t, (mean, half))| {
                    Some((
                        ShortNumber::with_digits(t, 7)?,
                        Some((*mean)?).and_then(ms),
                        half.filter(|_| has_band).and_then(ms),
                    ))
                })
                .collect(),
            joined: true,
            lost: Lost::from_series(&runs.iter().map(|(_, series)| *series).collect::<Vec<_>>()),
            quantiles: Quantiles::pooled(runs),
        }
    }
}

/// The number of steps of a series that are merged into one step of a chart.
#[derive(Clone, Copy)]
struct Steps {
    all: usize,
    goodput: usize,
}

impl Steps {
    fn new(series: &Series, max: usize) -> Self {
        let steps = steps(series);
        Self { all: thin::bucket(steps, max), goodput: thin::bucket(steps, max.min(MAX_GOODPUT_STEPS)) }
    }
}

impl Queue {
    fn new(queue: &QueueSeries, bucket: usize) -> Self {
        Self {
            mean: Line(in_ms(&thinned_mean(queue, bucket)), Vec::new()),
            max: Line(in_ms(&thinned_max(queue, bucket)), Vec::new()),
        }
    }
}

fn thinned_mean(queue: &QueueSeries, bucket: usize) -> Vec<Option<f64>> {
    thin::means(&queue.sojourn_mean_s, bucket)
}

fn thinned_max(queue: &QueueSeries, bucket: usize) -> Vec<Option<f64>> {
    thin::maxima(&queue.sojourn_max_s, bucket)
}

impl Line {
    fn from_band(band: &Band, seeds: usize) -> Self {
        Self(in_ms(&band.mean), if seeds < FEWEST_FOR_BAND { Vec::new() } else { in_ms(&band.ci95) })
    }
}

impl Flow {
    fn new(name: String, mbit: Vec<Option<f64>>) -> Self {
        Self { name, mbit: mbit.into_iter().map(|v| v.and_then(ShortNumber::new)).collect() }
    }
}

impl Quantiles {
    fn new(of: &goodqueue_scenario::results::Quantiles) -> Self {
        Self {
            p: of.probabilities.iter().copied().map(ShortNumber::or_zero).collect(),
            down: all_ms(&of.sojourn_down_s),
            up: all_ms(&of.sojourn_up_s),
            ping: all_ms(&of.ping_s),
        }
    }

    /// Computes the quantiles over all runs together, each with the same weight.
    fn pooled(runs: &[(&Run, &Series)]) -> Self {
        type Of = fn(&goodqueue_scenario::results::Quantiles) -> &[f64];
        let probabilities = &runs[0].1.quantiles.probabilities;
        let pool = |of: Of| -> Vec<f64> {
            let mut all: Vec<f64> =
                runs.iter().flat_map(|(_, series)| of(&series.quantiles)).copied().collect();
            all.sort_by(f64::total_cmp);
            // A run without packets has no quantiles. `get` then finds none.
            let last = all.len().saturating_sub(1);
            // One quantile has no step, and must not divide by zero.
            let steps = probabilities.len().saturating_sub(1).max(1);
            // Half of the divisor is added, so that the division rounds to the nearest rank.
            let rank = |step: usize| all.get((step * last + steps / 2) / steps).copied();
            (0..probabilities.len()).filter_map(rank).collect()
        };
        Self::new(&goodqueue_scenario::results::Quantiles {
            probabilities: probabilities.clone(),
            sojourn_down_s: pool(|of| &of.sojourn_down_s),
            sojourn_up_s: pool(|of| &of.sojourn_up_s),
            ping_s: pool(|of| &of.ping_s),
        })
    }
}

/// Returns the name and the goodput in Mbit/s of each flow of a direction. Flows beyond `MAX_FLOWS`
/// are added up.
fn flows(run: &Run, series: &Series, direction: Direction, bucket: usize) -> Vec<(String, Vec<Option<f64>>)> {
    let of_direction = |f: &&goodqueue_scenario::results::FlowSeries| {
        run.flows.iter().any(|known| known.id == f.id && known.direction == direction)
    };
    let mine: Vec<_> = series.goodput_bps.iter().filter(of_direction).collect();
    let mbit = |values: &[f64]| {
        let some: Vec<Option<f64>> = values.iter().map(|v| Some(v / 1e6)).collect();
        thin::means(&some, bucket)
    };
    // The sum of the others takes the last place.
    let own = if mine.len() > MAX_FLOWS { MAX_FLOWS - 1 } else { mine.len() };
    let (alone, rest) = mine.split_at(own);
    let mut out: Vec<(String, Vec<Option<f64>>)> = alone
        .iter()
        .map(|f| {
            let cc = run.flows.iter().find(|known| known.id == f.id).and_then(|known| known.cc.as_deref());
            let name =
                cc.map_or_else(|| format!("flow {}", f.id), |cc| format!("flow {} ({})", f.id, clip(cc, 24)));
            (name, mbit(&f.values))
        })
        .collect();
    if !rest.is_empty() {
        let mut sum = vec![0.0; rest.iter().map(|f| f.values.len()).max().unwrap_or(0)];
        for flow in rest {
            sum.iter_mut().zip(&flow.values).for_each(|(s, v)| *s += v);
        }
        out.push((format!("{} other flows", rest.len()), mbit(&sum)));
    }
    out
}

/// The amount of series data that is embedded.
#[derive(Clone, Copy)]
struct Budget {
    /// Number of seeds per discipline and sweep point.
    seeds: usize,
    /// Number of steps per series.
    steps: usize,
}

impl Budget {
    /// Reduces first the steps, down to the resolution of a screen, then the seeds, then the steps
    /// again, until the data fits.
    fn new(grouped: &Grouped<'_>) -> Self {
        let cells = || grouped.points.iter().flat_map(|p| &p.runs);
        let most_seeds = cells().map(Vec::len).max().unwrap_or(0);
        let fits = |b: Budget| {
            let numbers = |cell: &Vec<&Run>| {
                let series = || cell.iter().filter_map(|r| r.series.as_ref());
                // Several seeds add their mean and its confidence band.
                let mean = series().nth(1).map_or(0, |s| 2 * numbers(s, b.steps));
                mean + series().take(b.seeds).map(|s| numbers(s, b.steps)).sum::<usize>()
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
    // Both directions have up to `MAX_FLOWS` lines.
    let flows = series.goodput_bps.len().min(2 * MAX_FLOWS);
    // Mean and maximum of two queues, the goodput of each flow, time and answer of each ping, and
    // four lists of quantiles.
    4 * steps(series).min(max_steps)
        + flows * steps(series).min(max_steps).min(MAX_GOODPUT_STEPS)
        + 2 * series.pings.len().min(max_steps)
        + 4 * series.quantiles.probabilities.len()
}

fn steps(series: &Series) -> usize {
    series.queues.down.sojourn_mean_s.len().max(series.queues.up.sojourn_mean_s.len())
}

/// Returns true if latencies span more than a decade. A linear axis would then press the good
/// disciplines into a corner.
fn latency_is_wide(grouped: &Grouped<'_>) -> bool {
    let all = || grouped.points.iter().flat_map(|p| p.runs.iter().flatten()).filter_map(|r| latency_ms(r));
    match (all().reduce(f64::min), all().reduce(f64::max)) {
        (Some(low), Some(high)) => high > 10.0 * low,
        _ => false,
    }
}

/// Returns the mean induced latency in ms, at least 0.1, so that it has a logarithm.
fn latency_ms(run: &Run) -> Option<f64> {
    run.induced_latency_s.mean.filter(|s| s.is_finite()).map(|s| (s * 1e3).max(0.1))
}

fn ms(seconds: f64) -> Option<ShortNumber> {
    ShortNumber::new(seconds * 1e3)
}

fn in_ms(seconds: &[Option<f64>]) -> Vec<Option<ShortNumber>> {
    seconds.iter().map(|s| s.and_then(ms)).collect()
}

fn all_ms(seconds: &[f64]) -> Vec<ShortNumber> {
    seconds.iter().map(|s| ShortNumber::or_zero(s * 1e3)).collect()
}

/// Number of steps in a goodput chart, which takes a third of the page width.
const MAX_GOODPUT_STEPS: usize = 75;

/// Number of steps of the rate of lost pings: each has several pings.
const LOST_STEPS: usize = 30;

/// Number of steps in a mean over seeds. With more steps the confidence bands of several
/// disciplines hide each other.
const MAX_MEAN_STEPS: usize = 120;

/// Number of seeds from which on a confidence band is drawn. With two seeds the band has a half
/// width of 13 standard errors.
const FEWEST_FOR_BAND: usize = 3;

/// Number of flows per direction that are drawn individually.
const MAX_FLOWS: usize = 12;

/// Number of values in the data block, which amounts to about 1 MB.
const MAX_NUMBERS: usize = 190_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{run, series};

    #[test]
    fn thirty_seeds_fit_the_budget() {
        let runs: Vec<Run> = (0..30).map(|seed| run("pie", seed, Some(series(5000)))).collect();
        let json = serde_json::to_string(&Charts::new(&Grouped::new(&runs))).unwrap();
        assert!(json.len() < 1_500_000, "{}", json.len());
    }

    #[test]
    fn a_seed_keeps_all_its_digits_on_the_way_to_the_playground() {
        // The first whole number that a number of JavaScript cannot hold.
        let seed = (1 << 53) + 1;
        let runs = [run("pie", seed, None)];
        let charts = serde_json::to_value(Charts::new(&Grouped::new(&runs))).unwrap();
        assert_eq!(charts["points"][0]["seed"], "9007199254740993");
    }

    #[test]
    fn many_flows_are_summed_up() {
        let mut r = run("pie", 1, Some(series(4)));
        let flow = r.flows[0].clone();
        r.flows = (0..40).map(|id| goodqueue_scenario::results::FlowResult { id, ..flow.clone() }).collect();
        let s = r.series.as_mut().unwrap();
        s.goodput_bps =
            (0..40).map(|id| goodqueue_scenario::results::FlowSeries { id, values: vec![1e6; 4] }).collect();
        let drawn = flows(&r, r.series.as_ref().unwrap(), Direction::Down, 1);
        assert_eq!(drawn.len(), MAX_FLOWS);
        // Eleven of the 40 flows stand alone, and each of the others has 1 Mbit/s.
        assert_eq!(drawn[11], ("29 other flows".to_owned(), vec![Some(29.0); 4]));
    }

    #[test]
    fn several_seeds_have_their_pointwise_mean_first_with_its_band() {
        let mut runs: Vec<Run> = (1..=3).map(|seed| run("pie", seed, Some(series(8)))).collect();
        for (run, wait) in runs.iter_mut().zip([0.010, 0.020, 0.030]) {
            let series = run.series.as_mut().unwrap();
            series.queues.down.sojourn_mean_s = vec![Some(wait); 8];
            series.quantiles.probabilities = vec![0.0, 0.5, 1.0];
            series.quantiles.sojourn_down_s = vec![wait; 3];
        }
        let charts = Charts::new(&Grouped::new(&runs));
        let shown = &charts.points[0].cells[0].as_ref().unwrap().shown;
        assert_eq!((shown.len(), shown[0].seed.as_str(), shown[1].seed.as_str()), (4, "all 3: mean", "1"));
        let Line(mean, half) = &shown[0].down.mean;
        // Standard deviation 10 ms, standard error 5.7735 ms, t(2) = 4.3027.
        assert_eq!((mean[7], half[7]), (ShortNumber::new(20.0), ShortNumber::new(24.84)));
        assert!(shown[1].down.mean.1.is_empty(), "a run has no band");
        let pooled: Vec<_> = [10.0, 20.0, 30.0].into_iter().map(ShortNumber::or_zero).collect();
        assert_eq!(shown[0].quantiles.down, pooled);
        // All pings except the lost one, which is the same in every run.
        assert_eq!(shown[0].pings.len(), 7);
        assert_eq!(shown[0].pings[0].1, ShortNumber::new(54.0));
    }

    #[test]
    fn lost_pings_are_a_rate_and_absent_if_none_was_lost() {
        let mut some = series(300);
        some.pings =
            (0..300).map(|i| (f64::from(i) * 0.1, (i % 4 != 0 || i >= 100).then_some(0.05))).collect();
        let lost = Lost::from_series(&[&some]);
        assert!((lost.step_s - 1.0).abs() < 1e-9);
        let ten: f64 = serde_json::to_value(&lost.percent[..10])
            .unwrap()
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .sum();
        // Every fourth of the first hundred pings was lost: two or three of the ten in a step.
        assert!((ten / 10.0 - 25.0).abs() < 3.0, "{ten}");
        assert_eq!(lost.percent[20], ShortNumber::new(0.0));
        some.pings.retain(|(_, time)| time.is_some());
        for (sent, time) in &mut some.pings {
            *time = (*sent < 29.0).then_some(1.5);
        }
        assert!(Lost::from_series(&[&some]).percent.is_empty());
    }

    #[test]
    fn runs_without_pings_have_no_dot() {
        let mut r = run("pie", 1, None);
        r.induced_latency_s = goodqueue_scenario::results::Summary::default();
        let cloud = Cloud::new(&[&r], true, |r| r.goodput.down);
        assert!(cloud.dots.is_empty() && cloud.centre.is_none() && cloud.ellipse.is_empty());
    }
}
