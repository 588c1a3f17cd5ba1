//! Reproductions of papers as one HTML file: each claim beside what came out, and the figures in the papers' own form, as
//! SVG that needs no JavaScript.

use std::fmt::Write as _;

use goodqueue_scenario::reproduce::paper::FigureForm;
use goodqueue_scenario::reproduce::picture::{Picture, Trace};
use goodqueue_scenario::reproduce::{ClaimResult, MetricsResult, Verdict, figures, score};

use crate::ellipse::{self, Ellipse};
use crate::escape::html as escape;

/// A paper and what came out of it.
#[derive(Clone, PartialEq, Debug)]
pub struct PaperResults {
    /// As people cite it.
    pub title: String,
    /// As a bibliography does.
    pub source: String,
    /// Its claims.
    pub claims: Vec<ClaimResult>,
    /// Its figures.
    pub pictures: Vec<Picture>,
    /// Names and units of what is listed for every discipline in every experiment, and the list.
    pub metrics: (Vec<(String, String)>, Vec<MetricsResult>),
}

/// The report of reproductions as one HTML document that loads nothing.
#[must_use]
pub fn papers_html(papers: &[PaperResults], command: &str) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Papers, reproduced</title>\n<style>{CSS}{OWN_CSS}</style>\n<body>\n<h1>Papers, reproduced</h1>\n\
         <pre class=\"command\"><code>{}</code></pre>\n",
        escape(command)
    );
    for paper in papers {
        // Writing to a string cannot fail.
        let _ =
            write!(page, "<section>\n<h2>{}</h2>\n<p>{}</p>\n", escape(&paper.title), escape(&paper.source));
        for (_, reproduced, tried, all) in score(&paper.claims) {
            let _ = writeln!(
                page,
                "<p class=\"detail\">{reproduced} of {tried} claims reproduced, {} not run.</p>",
                all - tried
            );
        }
        for picture in &paper.pictures {
            page += &figure(picture);
        }
        page += &metrics(&paper.metrics.0, &paper.metrics.1);
        page += &claims(&paper.claims);
        page += "</section>\n";
    }
    page + "</body>\n</html>\n"
}

fn metrics(heads: &[(String, String)], rows: &[MetricsResult]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table =
        String::from("<div class=\"scroll\"><table class=\"claims\">\n<thead><tr><th>section<th>discipline");
    for (name, unit) in heads {
        let _ = write!(table, "<th class=\"n\">{}<br><small>{}</small>", escape(name), escape(unit));
    }
    table += "</thead>\n<tbody>\n";
    let mut last = "";
    for row in rows {
        let first = if row.experiment == last { "" } else { row.experiment.as_str() };
        last = &row.experiment;
        let _ = write!(table, "<tr><td>{}<td>{}", escape(first), escape(&row.qdisc));
        for value in &row.values {
            let _ = write!(table, "<td class=\"n\">{}", value.map_or_else(|| "–".to_owned(), three));
        }
        table.push('\n');
    }
    table + "</tbody></table></div>\n"
}

/// Three significant figures are enough where columns stand side by side.
fn three(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 || size == 0.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

fn claims(claims: &[ClaimResult]) -> String {
    let with_reference = claims.iter().any(|claim| claim.reference.is_some());
    let third = if with_reference { "<th>real system" } else { "" };
    let mut table = format!(
        "<div class=\"scroll\"><table class=\"claims\">\n<thead><tr><th>claim<th>paper<th>here<th>95 % interval{third}<th>verdict</thead>\n<tbody>\n"
    );
    for claim in claims {
        let number = |value: &serde_json::Value| {
            value.as_f64().map(|value| escape(&format!("{} {}", figures(value), claim.unit)))
        };
        let interval = claim
            .interval
            .map_or(String::new(), |(low, high)| format!("{} to {}", figures(low), figures(high)));
        let reference = match &claim.reference {
            Some(of) => format!(
                "<td class=\"n\" title=\"{}\">{} {}",
                escape(&of.of),
                figures(of.value),
                escape(&claim.unit)
            ),
            None if with_reference => "<td>".to_owned(),
            None => String::new(),
        };
        let (class, word) = match claim.verdict {
            Verdict::Reproduced => ("yes", "reproduced"),
            Verdict::NotReproduced => ("no", "not reproduced"),
            Verdict::NotRun => ("none", "not run"),
        };
        let words = claim
            .got
            .as_str()
            .map_or(String::new(), |got| format!("<br><small>Here: {}</small>", escape(got)));
        let note = if claim.note.is_empty() {
            String::new()
        } else {
            format!("<br><small>{}</small>", escape(&claim.note))
        };
        let _ = writeln!(
            table,
            "<tr id=\"{id}\"><td><code>{id}</code> <small>{place}</small><br>{says}{words}{note}\
             <td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{interval}{reference}<td class=\"{class}\">{word}",
            number(&claim.expected).unwrap_or_default(),
            number(&claim.got).unwrap_or_default(),
            id = escape(&claim.id),
            place = escape(&claim.place),
            says = escape(&claim.says),
        );
    }
    table + "</tbody></table></div>\n"
}

/// One figure with its legend.
fn figure(picture: &Picture) -> String {
    let traces = picture.traces.iter().filter(|trace| !trace.points.is_empty()).cloned().collect();
    let picture = &Picture { traces, ..picture.clone() };
    let drawing = match picture.form {
        FigureForm::Cdf | FigureForm::Series => lines(picture),
        FigureForm::Ellipse => ellipses(picture),
        FigureForm::Box => rows(picture, box_of),
        FigureForm::Bars => rows(picture, bar_of),
    };
    let mut legend = String::new();
    if matches!(picture.form, FigureForm::Cdf | FigureForm::Series) {
        for (number, trace) in picture.traces.iter().enumerate() {
            let _ = write!(
                legend,
                "<span><i class=\"c{}\"></i>{}{}</span> ",
                number % COLOURS,
                escape(&trace.name),
                if trace.beyond { " <small>(today)</small>" } else { "" }
            );
        }
    }
    if matches!(picture.form, FigureForm::Box | FigureForm::Bars) {
        legend += "<span><i class=\"c0\"></i>the paper's disciplines</span> ";
        if picture.traces.iter().any(|trace| trace.beyond) {
            legend += "<span><i class=\"c2\"></i>those of today</span> ";
        }
        if picture.traces.iter().any(|trace| trace.paper.is_some()) {
            legend += "<span>◇ what the paper has</span>";
        }
    }
    format!(
        "<figure>\n<figcaption><b>{}</b> {}</figcaption>\n{drawing}<p class=\"legend\">{legend}</p>\n</figure>\n",
        escape(&picture.id),
        escape(&picture.title)
    )
}

type Point = (f64, f64);

/// A plane with axes, from values to the coordinates of the drawing.
struct Plane {
    x: (f64, f64),
    y: (f64, f64),
    /// Larger x is left: the better corner is then the upper right one.
    reversed: bool,
    /// Where x begins; what is left of it is for names.
    left: f64,
}

impl Plane {
    fn over(points: impl Iterator<Item = (f64, f64)> + Clone, reversed: bool) -> Self {
        let extent = |values: &mut dyn Iterator<Item = f64>| {
            let (low, high) = values
                .filter(|value| value.is_finite())
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                    (low.min(value), high.max(value))
                });
            // What is nothing everywhere stands in the middle of an axis of the usual length.
            let least = if low == 0.0 && high == 0.0 { 1.0 } else { 1e-9 };
            let room = ((high - low) * 0.04).max(high.abs() * 1e-3).max(least);
            if low.is_finite() { (low - room, high + room) } else { (0.0, 1.0) }
        };
        let (x, y) = (extent(&mut points.clone().map(|p| p.0)), extent(&mut points.map(|p| p.1)));
        Self { x, y, reversed, left: LEFT }
    }

    fn x_at(&self, value: f64) -> f64 {
        let share = (value - self.x.0) / (self.x.1 - self.x.0);
        self.left + (if self.reversed { 1.0 - share } else { share }) * (WIDTH - self.left - RIGHT)
    }

    fn y_at(&self, value: f64) -> f64 {
        TOP + (1.0 - (value - self.y.0) / (self.y.1 - self.y.0)) * (HEIGHT - TOP - BOTTOM)
    }

    /// The ticks of the x axis, which lies at `bottom`, with their lines.
    fn ticks_below(&self, bottom: f64, out: &mut String) {
        for tick in ticks(self.x) {
            let x = self.x_at(tick);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom:.1}\"/><text x=\"{x:.1}\" y=\"{:.1}\" class=\"mid\">{}</text>",
                bottom + 16.0,
                figures(tick)
            );
        }
    }

    fn frame(&self, axes: &[String; 2]) -> String {
        let mut out = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n");
        self.ticks_below(HEIGHT - BOTTOM, &mut out);
        for tick in ticks(self.y) {
            let y = self.y_at(tick);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
                figures(tick)
            );
        }
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" class=\"mid\">{}</text><text x=\"12\" y=\"{:.1}\" class=\"mid\" transform=\"rotate(-90 12 {:.1})\">{}</text>",
            f64::midpoint(LEFT, WIDTH - RIGHT),
            HEIGHT - 4.0,
            escape(&axes[0]),
            HEIGHT / 2.0,
            HEIGHT / 2.0,
            escape(&axes[1])
        );
        out
    }

    fn path(&self, points: &[(f64, f64)]) -> String {
        let mut d = String::new();
        for (number, point) in points.iter().enumerate() {
            let _ = write!(
                d,
                "{}{:.1} {:.1}",
                if number == 0 { 'M' } else { 'L' },
                self.x_at(point.0),
                self.y_at(point.1)
            );
        }
        d
    }
}

/// Round values within a range, five or so.
fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let power = 10_f64.powf(libm::floor(libm::log10(rough)));
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|step| *step >= rough).unwrap_or(rough);
    let first = libm::ceil(low / step);
    let at = (0_u32..12).map(|n| (first + f64::from(n)) * step);
    // 3 × 0.1 is to be shown as 0.3.
    at.take_while(|tick| *tick <= high + step * 1e-9).map(|tick| (tick / step).round() * step).collect()
}

fn lines(picture: &Picture) -> String {
    let all = picture.traces.iter().flat_map(|trace| trace.points.iter().copied());
    let plane = Plane::over(all, false);
    let mut out = plane.frame(&picture.axes);
    for (number, trace) in picture.traces.iter().enumerate() {
        let dash = if trace.beyond { " dash" } else { "" };
        let _ = writeln!(
            out,
            "<path class=\"line c{}{dash}\" d=\"{}\"><title>{}</title></path>",
            number % COLOURS,
            plane.path(&trace.points),
            escape(&trace.name)
        );
    }
    out + "</svg>\n"
}

fn ellipses(picture: &Picture) -> String {
    let outlines: Vec<(Vec<Point>, Point)> = picture
        .traces
        .iter()
        .map(|trace| {
            let outline = Ellipse::of(&trace.points).map_or_else(Vec::new, |ellipse| ellipse.outline(60));
            (outline, ellipse::centre(&trace.points))
        })
        .collect();
    let all = outlines.iter().flat_map(|(outline, centre)| outline.iter().copied().chain([*centre]));
    let plane = Plane::over(all, true);
    let mut out = plane.frame(&picture.axes);
    let mut taken: Vec<(f64, f64, f64)> = Vec::new();
    for (number, (trace, (outline, centre))) in picture.traces.iter().zip(&outlines).enumerate() {
        let dash = if trace.beyond { " dash" } else { "" };
        let (x, y) = (plane.x_at(centre.0), plane.y_at(centre.1));
        let length = LETTER * f64::from(u32::try_from(trace.name.chars().count()).unwrap_or(u32::MAX));
        // Beside the dot where there is room, and below the names that are there already.
        let ends = x + 6.0 + length > WIDTH - RIGHT;
        let (label_x, anchor) = if ends { (x - 6.0, " class=\"end\"") } else { (x + 6.0, "") };
        let from = if ends { label_x - length } else { label_x };
        let mut label_y = y - 5.0;
        while label_y < HEIGHT - BOTTOM
            && taken
                .iter()
                .any(|(begin, end, at)| *begin < from + length && from < *end && (at - label_y).abs() < LINE)
        {
            label_y += LINE;
        }
        taken.push((from, from + length, label_y));
        let _ = writeln!(
            out,
            "<path class=\"line c{n}{dash}\" d=\"{}\"/><circle class=\"dot c{n}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/><text x=\"{label_x:.1}\" y=\"{label_y:.1}\"{anchor}>{}</text>",
            plane.path(outline),
            escape(&trace.name),
            n = number % COLOURS,
        );
    }
    out + "</svg>\n"
}

/// A row for each trace, below each other.
fn rows(picture: &Picture, draw: fn(&Plane, &Trace, f64) -> String) -> String {
    let of_paper = picture.traces.iter().filter_map(|trace| Some((trace.paper?, 0.0)));
    let all = picture.traces.iter().flat_map(|trace| trace.points.iter().copied());
    let all = all.chain(of_paper).chain([(0.0, 0.0)]);
    let names = picture.traces.iter().map(|trace| trace.name.chars().count()).max().unwrap_or(0);
    let left = LEFT.max(LETTER * f64::from(u32::try_from(names).unwrap_or(u32::MAX)) + 10.0).min(WIDTH / 2.0);
    let plane = Plane { y: (0.0, 1.0), left, ..Plane::over(all, false) };
    let count = u32::try_from(picture.traces.len()).unwrap_or(u32::MAX);
    let height = TOP + f64::from(count) * ROW + BOTTOM;
    let mut out = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n");
    plane.ticks_below(height - BOTTOM, &mut out);
    for (row, trace) in (0_u32..).zip(&picture.traces) {
        let y = TOP + (f64::from(row) + 0.5) * ROW;
        let _ = writeln!(
            out,
            "<g class=\"{}\"><text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{}</text>{}</g>",
            if trace.beyond { "c2" } else { "c0" },
            left - 6.0,
            y + 4.0,
            escape(&trace.name),
            draw(&plane, trace, y)
        );
        if let Some(paper) = trace.paper {
            let x = plane.x_at(paper);
            let _ = writeln!(
                out,
                "<path class=\"paper\" d=\"M{x:.1} {:.1}l5 5l-5 5l-5 -5z\"><title>the paper: {}</title></path>",
                y - 5.0,
                figures(paper)
            );
        }
    }
    let middle = f64::midpoint(left, WIDTH - RIGHT);
    let _ = writeln!(
        out,
        "<text x=\"{middle:.1}\" y=\"{:.1}\" class=\"mid\">{}</text>",
        height - 4.0,
        escape(&picture.axes[0])
    );
    out + "</svg>\n"
}

fn box_of(plane: &Plane, trace: &Trace, y: f64) -> String {
    let at: Vec<f64> = trace.points.iter().map(|point| plane.x_at(point.0)).collect();
    let &[least, lower, median, upper, most] = at.as_slice() else { return String::new() };
    format!(
        "<path class=\"line\" d=\"M{least:.1} {y:.1}H{lower:.1}M{upper:.1} {y:.1}H{most:.1}\"/>\
         <rect class=\"fill\" x=\"{lower:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"14\"/>\
         <path class=\"line\" d=\"M{median:.1} {:.1}v14\"/>",
        y - 7.0,
        (upper - lower).max(1.0),
        y - 7.0
    )
}

fn bar_of(plane: &Plane, trace: &Trace, y: f64) -> String {
    let at: Vec<f64> = trace.points.iter().map(|point| plane.x_at(point.0)).collect();
    let &[low, value, high] = at.as_slice() else { return String::new() };
    let zero = plane.x_at(0.0);
    format!(
        "<rect class=\"fill\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"12\"/><path class=\"line\" d=\"M{low:.1} {y:.1}H{high:.1}\"/>",
        zero.min(value),
        y - 6.0,
        (value - zero).abs().max(1.0)
    )
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 40.0;
const ROW: f64 = 22.0;
const COLOURS: usize = 8;
/// About what a letter and a line of the drawing's text take.
const LETTER: f64 = 6.6;
const LINE: f64 = 13.0;

const CSS: &str = include_str!("../assets/report.css");
const OWN_CSS: &str = include_str!("../assets/papers.css");

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(form: FigureForm, points: Vec<(f64, f64)>) -> Picture {
        let trace = Trace { name: "a<b".to_owned(), beyond: false, paper: Some(3.0), points };
        let axes = ["delay, ms".to_owned(), "share".to_owned()];
        Picture { id: "Fig. 2".to_owned(), title: "CDF".to_owned(), axes, form, traces: vec![trace] }
    }

    #[test]
    fn every_form_is_drawn_and_names_are_escaped() {
        let forms =
            [FigureForm::Cdf, FigureForm::Series, FigureForm::Ellipse, FigureForm::Box, FigureForm::Bars];
        for form in forms {
            for points in [vec![], vec![(1.0, 2.0), (2.0, 3.0), (4.0, 1.0)], vec![(5.0, 5.0); 5]] {
                let drawn = figure(&picture(form, points));
                assert!(
                    drawn.contains("<svg") && !drawn.contains("a<b") && !drawn.contains("NaN"),
                    "{drawn}"
                );
            }
        }
    }

    #[test]
    fn ticks_are_round_and_within_the_range() {
        assert_eq!(ticks((0.0, 1.0)).len(), 6);
        assert!(ticks((-0.3, 97.0)).iter().all(|tick| (0.0..=97.0).contains(tick)));
    }
}
