//! The pings of today and of the advice over time, as a picture.

use goodqueue_scenario::results::{Results, Run};
use maud::{Markup, html};

use crate::model::TODAY;
use crate::verification::ADVICE;
use crate::words::milliseconds;

/// Draws each ping of one run today, and of one with the advice unless there is nothing to set.
/// Empty without series.
pub(crate) fn pings(results: &Results, keep: bool) -> Markup {
    let pings_of =
        |router: &str| results.runs.iter().find(|run| run.qdisc == router).map(points).unwrap_or_default();
    let mut today = pings_of(TODAY);
    let mut advised = if keep { Vec::new() } else { pings_of(ADVICE) };
    // A run ends when its values are known, so one may be shorter than the other.
    let ends = [&today, &advised].map(|points| points.iter().map(|(at, _)| *at).reduce(f64::max));
    let end = ends.into_iter().flatten().reduce(f64::min);
    for points in [&mut today, &mut advised] {
        points.retain(|(at, _)| end.is_some_and(|end| *at <= end));
    }
    let all = || today.iter().chain(&advised);
    let start = all().map(|(at, _)| *at).reduce(f64::min);
    let longest = all().map(|(_, ms)| *ms).reduce(f64::max);
    let (Some(start_s), Some(end_s), Some(longest_ms)) = (start, end, longest) else { return html! {} };
    let label = if keep {
        "Round-trip time of each ping over time, today"
    } else {
        "Round-trip time of each ping over time, today and with the setting"
    };
    let axis = Axis { start_s, length_s: (end_s - start_s).max(1.0), longest_ms };
    html! {
        svg.pings viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
            aria-label=(label) {
            @for ms in axis.ticks() {
                line.grid x1=(LEFT) x2=(WIDTH) y1=(axis.y(ms)) y2=(axis.y(ms)) {}
                text x=(LEFT - 6.0) y=(axis.y(ms) + 4.0) text-anchor="end" { (milliseconds(ms / 1e3)) }
            }
            text x=(WIDTH) y=(HEIGHT - 4.0) text-anchor="end" { (format!("{:.0} s of load", axis.length_s)) }
            @for (class, points) in [("today", &today), ("with", &advised)] {
                @for (at, ms) in points {
                    circle class=(class) cx=(format!("{:.1}", axis.x(*at))) cy=(format!("{:.1}", axis.y(*ms))) r="1.6" {}
                }
            }
            text.today x=(LEFT + 6.0) y="14" { "today" }
            @if !keep { text.with x=(LEFT + 56.0) y="14" { "with the setting" } }
        }
        p { "Each dot is a ping: how long an answer takes while downloads and uploads fill the line." }
    }
}

/// Returns times in seconds and pings in milliseconds, few enough for a small file.
fn points(run: &Run) -> Vec<(f64, f64)> {
    let Some(series) = &run.series else { return Vec::new() };
    let answered: Vec<(f64, f64)> =
        series.pings.iter().filter_map(|(at, ping)| Some((*at, (*ping)? * 1e3))).collect();
    let step = answered.len().div_ceil(MOST_POINTS).max(1);
    answered.into_iter().step_by(step).collect()
}

/// A logarithmic axis from 1 ms up: both pings stay visible.
struct Axis {
    start_s: f64,
    length_s: f64,
    longest_ms: f64,
}

impl Axis {
    fn x(&self, at_s: f64) -> f64 {
        LEFT + (WIDTH - LEFT) * (at_s - self.start_s) / self.length_s
    }

    fn y(&self, ms: f64) -> f64 {
        let top = self.longest_ms.max(2.0).log10();
        HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * ms.max(1.0).log10() / top
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let longest = self.longest_ms.max(2.0);
        [1.0, 10.0, 100.0, 1000.0, 10_000.0].into_iter().filter(move |tick| *tick <= longest)
    }
}

/// Size of the picture, in units of its own.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 220.0;
/// Margins for the labels of the axis, the legend and the length of the load.
const LEFT: f64 = 60.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 22.0;
/// Most dots of each colour. More overlap, and would make the report larger than an e-mail allows.
const MOST_POINTS: usize = 400;
