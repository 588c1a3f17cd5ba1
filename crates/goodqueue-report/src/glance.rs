//! Results at a glance: a piece of HTML for notebooks, a thousandth of the report.
//!
//! A notebook keeps the output of each cell, so this has no script, no style sheet and no series.

use std::fmt::Write as _;

use goodqueue_scenario::metrics::catalogue;
use goodqueue_scenario::number::trim;
use goodqueue_scenario::results::{Grade, Results, Run};

use crate::escape::{clip, html};
use crate::grade::of_mean;
use crate::group::Grouped;
use crate::headline::headline;
use crate::terminal::line::{Line, lines};
use crate::terminal::short::first_columns;

/// Returns the most important metrics as a small piece of HTML: the headline, a table and a figure
/// with a row for each discipline, at each point of a sweep.
///
/// ```
/// use goodqueue_scenario::results::Results;
///
/// let glance = goodqueue_report::glance(&Results::default());
/// assert!(glance.contains("No runs in these results"));
/// ```
#[must_use]
pub fn glance(results: &Results) -> String {
    let grouped = Grouped::new(&results.runs);
    let mut out = format!("<div>\n<p><b>{}</b></p>\n", html(&clip(&headline(&grouped).answer, 300)));
    let points: Vec<(&str, Vec<Line<'_>>)> = grouped
        .points
        .iter()
        .map(|point| (point.label.as_str(), lines(&point.runs.iter().flatten().copied().collect::<Vec<_>>())))
        .collect();
    let rows: usize = points.iter().map(|(_, lines)| lines.len()).sum();
    if rows > 0 {
        out += &table(results, &points);
        out += &figure(&points);
    }
    if rows > MOST_ROWS {
        let _ = writeln!(out, "<p>{MOST_ROWS} of {rows} rows are shown.</p>");
    }
    out + "</div>\n"
}

fn table(results: &Results, points: &[(&str, Vec<Line<'_>>)]) -> String {
    let groups = catalogue(&results.runs.iter().collect::<Vec<_>>());
    let all: Vec<Line<'_>> = lines(&results.runs.iter().collect::<Vec<_>>());
    let columns = first_columns(&all, &groups);
    let mut out = String::from("<table><thead><tr><th>qdisc</th><th>grade</th>");
    for column in &columns {
        // Writing to a string cannot fail.
        let _ = write!(out, "<th>{}</th>", html(column.heading.trim()).replace('\n', "<br>"));
    }
    out += "</tr></thead>\n<tbody>\n";
    for (point, line) in shown(points) {
        if let Some(point) = point {
            let _ = writeln!(
                out,
                "<tr><th colspan=\"{}\" style=\"text-align:left\">{}</th></tr>",
                columns.len() + 2,
                html(point)
            );
        }
        let grade = of_mean(&line.runs).map_or("–", Grade::name);
        let name = html(&clip(&line.label(), LONGEST_NAME));
        let _ = write!(out, "<tr><th style=\"text-align:left\">{name}</th><td>{grade}</td>");
        for column in &columns {
            let _ = write!(out, "<td>{}</td>", html(&line.text(column)));
        }
        out += "</tr>\n";
    }
    out + "</tbody></table>\n"
}

/// The lines that are shown. The first line of a point of a sweep has its label.
fn shown<'l, 'r>(
    points: &'l [(&'l str, Vec<Line<'r>>)],
) -> impl Iterator<Item = (Option<&'l str>, &'l Line<'r>)> {
    let lines = points.iter().flat_map(|(label, lines)| {
        lines
            .iter()
            .enumerate()
            .map(|(number, line)| ((number == 0 && !label.is_empty()).then_some(*label), line))
    });
    lines.take(MOST_ROWS)
}

/// The pings from the median to the 95th percentile, and the goodput in both directions.
fn figure(points: &[(&str, Vec<Line<'_>>)]) -> String {
    let rows: Vec<Row> = shown(points).map(|(point, line)| Row::from_line(point, line)).collect();
    let longest = |of: fn(&Row) -> f64| rows.iter().map(of).fold(0.0, f64::max);
    let ping = longest(|row| row.ping_ms.map_or(0.0, |ping| ping[1]));
    let goodput = longest(Row::goodput);
    let panels = [
        (ping > 0.0).then(|| ("ping, median to 95th percentile, ms", Scale::new(PING, ping))),
        (goodput > 0.0).then(|| ("goodput, down and up, Mbit/s", Scale::new(GOODPUT, goodput))),
    ];
    if panels.iter().all(Option::is_none) {
        return String::new();
    }
    let height = rows.iter().map(Row::height).sum::<f64>() + TOP + BOTTOM;
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" style=\"max-width:100%;height:auto\" role=\"img\" \
         aria-label=\"Ping and goodput of each discipline\" font-family=\"sans-serif\" font-size=\"11\" \
         fill=\"currentColor\">\n"
    );
    for (title, scale) in panels.iter().flatten() {
        let _ = writeln!(out, "<text x=\"{:.0}\" y=\"11\">{title}</text>", scale.left);
        scale.ticks(height - BOTTOM, &mut out);
    }
    let [ping, goodput] = panels.map(|panel| panel.map(|(_, scale)| scale));
    let mut y = TOP;
    for row in &rows {
        row.draw(y, ping, goodput, &mut out);
        y += row.height();
    }
    out + "</svg>\n"
}

/// One discipline at one point of the sweep.
struct Row {
    point: Option<String>,
    name: String,
    /// Median and 95th percentile.
    ping_ms: Option<[f64; 2]>,
    goodput_mbit: [f64; 2],
}

impl Row {
    fn from_line(point: Option<&str>, line: &Line<'_>) -> Self {
        let mean = |of: fn(&Run) -> Option<f64>| line.mean(of);
        let median = mean(|run| run.probes.ping_s.p50);
        let p95 = mean(|run| run.probes.ping_s.p95);
        let goodput = [mean(|run| Some(run.goodput.down)), mean(|run| Some(run.goodput.up))];
        Self {
            point: point.map(|label| clip(label, LONGEST_NAME)),
            name: clip(&line.label(), LONGEST_NAME),
            ping_ms: median.zip(p95).map(|(median, p95)| [median * 1e3, p95 * 1e3]),
            // A bar of length 0 shows that nothing was delivered; the ping above has no such value.
            goodput_mbit: goodput.map(|bps| bps.unwrap_or(0.0) / 1e6),
        }
    }

    fn goodput(&self) -> f64 {
        self.goodput_mbit[0].max(self.goodput_mbit[1])
    }

    fn height(&self) -> f64 {
        if self.point.is_some() { 2.0 * ROW } else { ROW }
    }

    fn draw(&self, top: f64, ping: Option<Scale>, goodput: Option<Scale>, out: &mut String) {
        let mut y = top;
        if let Some(point) = &self.point {
            let text = html(point);
            let _ = writeln!(out, "<text x=\"0\" y=\"{:.0}\" font-weight=\"bold\">{text}</text>", y + 13.0);
            y += ROW;
        }
        let text = html(&self.name);
        // SVG places text by its baseline. Letters of size 11 are in the middle of a row of 19.
        let _ = writeln!(out, "<text x=\"0\" y=\"{:.0}\">{text}</text>", y + 13.0);
        if let (Some(scale), Some([median, p95])) = (ping, self.ping_ms) {
            let from = scale.at(median);
            let to = scale.at(p95);
            let middle = y + ROW / 2.0;
            let _ = writeln!(
                out,
                "<path d=\"M{from:.1} {middle:.1}H{to:.1}\" stroke=\"#0072b2\" stroke-width=\"4\"/>\
                 <circle cx=\"{from:.1}\" cy=\"{middle:.1}\" r=\"4\" fill=\"#0072b2\"/>"
            );
        }
        let Some(scale) = goodput else { return };
        // Two bars of 6 and a gap of 1, between margins of 3, fill a row. The colours are those of
        // Okabe and Ito, which colour-blind readers tell apart.
        for ((mbit, colour), place) in self.goodput_mbit.iter().zip(["#009e73", "#d55e00"]).zip([3.0, 10.0]) {
            let _ = writeln!(
                out,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"6\" fill=\"{colour}\"/>",
                scale.left,
                y + place,
                scale.at(*mbit) - scale.left
            );
        }
    }
}

/// A linear axis from zero.
#[derive(Clone, Copy)]
struct Scale {
    left: f64,
    right: f64,
    end: f64,
}

impl Scale {
    /// Returns the axis of a panel, up to this value.
    fn new(panel: [f64; 2], most: f64) -> Self {
        Self { left: panel[0], right: panel[1], end: most * 1.02 }
    }

    fn at(&self, value: f64) -> f64 {
        self.left + (self.right - self.left) * value / self.end
    }

    fn ticks(&self, bottom: f64, out: &mut String) {
        let rough = self.end / 4.0;
        let power = libm::exp10(libm::floor(libm::log10(rough)));
        let round = [1.0, 2.0, 5.0, 10.0].map(|n| n * power);
        // The logarithm may be rounded up to the next whole number; then 1 is already large enough.
        let step = round.into_iter().find(|step| *step >= rough).unwrap_or(rough);
        // A step is at least a quarter of the axis, so more than four do not fit.
        for number in 0_u32..=4 {
            let tick = f64::from(number) * step;
            if tick > self.end {
                break;
            }
            // 3 × 0.1 is shown as 0.3.
            let words = format!("{tick:.3}");
            let words = trim(&words);
            let _ = writeln!(
                out,
                "<path d=\"M{x:.1} {TOP}V{bottom:.0}\" stroke=\"currentColor\" stroke-opacity=\".2\"/>\
                 <text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{words}</text>",
                bottom + 12.0,
                x = self.at(tick)
            );
        }
    }
}

/// More rows are a table for a program.
const MOST_ROWS: usize = 40;
/// Characters.
const LONGEST_NAME: usize = 34;
const WIDTH: f64 = 720.0;
/// Both panels from left to right, behind the names.
const PING: [f64; 2] = [220.0, 460.0];
const GOODPUT: [f64; 2] = [490.0, 710.0];
const ROW: f64 = 19.0;
const TOP: f64 = 17.0;
const BOTTOM: f64 = 16.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn results(runs: Vec<Run>) -> Results {
        Results { runs, ..Results::default() }
    }

    #[test]
    fn each_discipline_has_its_name_in_the_table_and_in_the_figure() {
        let glance =
            glance(&results(vec![fixtures::run("pfifo", 1, None), fixtures::run("fq_codel", 1, None)]));
        for name in ["pfifo", "fq_codel"] {
            assert!(
                glance.contains(&format!("<th style=\"text-align:left\">{name}</th><td>A+</td>")),
                "{glance}"
            );
            assert!(glance.contains(&format!(">{name}</text>")), "{glance}");
        }
        assert!(glance.contains("<circle") && glance.contains("<rect"));
        assert!(!glance.contains("<script") && !glance.contains("<style"));
    }

    #[test]
    fn a_large_sweep_stays_small() {
        let at = |number: u32| Run {
            sweep: [("link.rtt".to_owned(), serde_json::json!(format!("{number}ms")))].into(),
            ..fixtures::run("fq_codel target 13ms interval 200ms memory_limit 4Mb", 1, None)
        };
        let glance = glance(&results((1..1000).map(at).collect()));
        assert!(glance.len() < 50_000, "{}", glance.len());
        assert!(glance.contains("link.rtt = 40 ms") && !glance.contains("link.rtt = 41 ms"));
        assert!(glance.contains("40 of 999 rows are shown."));
    }

    #[test]
    fn texts_of_a_scenario_are_no_markup() {
        let glance = glance(&results(vec![fixtures::run("<b onclick=alert(1)>", 1, None)]));
        assert!(!glance.contains("<b onclick"), "{glance}");
    }

    #[test]
    fn runs_without_pings_and_without_goodput_have_a_table_alone() {
        let silent = Run { qdisc: "pie".to_owned(), ..Run::default() };
        let glance = glance(&results(vec![silent]));
        assert!(glance.contains("pie") && !glance.contains("<svg"), "{glance}");
    }
}
