//! The figures of a paper as SVG that needs no JavaScript: lines, ellipses, rows of boxes or bars,
//! and parallel axes.
//!
//! A discipline has the same colour in every figure of a paper. Disciplines that are newer than the
//! paper are dashed. Legends use the same strokes as the figures.

use std::fmt::Write as _;

use goodqueue_papers::reproduce::paper::FigureForm;
use goodqueue_papers::reproduce::picture::{Picture, Trace};
use goodqueue_papers::reproduce::{figures, three_figures};

use crate::ellipse::{self, Ellipse};
use crate::escape::html as escape;

/// The colour and stroke of each discipline of a paper, by the order in its figures. The
/// disciplines of the paper come first.
pub(super) struct Strokes(Vec<String>);

impl Strokes {
    pub(super) fn of(pictures: &[Picture]) -> Self {
        let mut labels: Vec<String> = Vec::new();
        for beyond in [false, true] {
            for trace in pictures.iter().flat_map(|picture| &picture.traces) {
                if trace.beyond == beyond && !labels.contains(&trace.label) {
                    labels.push(trace.label.clone());
                }
            }
        }
        Self(labels)
    }

    /// Returns the CSS classes of a discipline's colour and stroke.
    fn class(&self, trace: &Trace) -> String {
        let number = self.0.iter().position(|label| *label == trace.label).unwrap_or(0);
        let stroke = match (trace.beyond, number < COLOURS) {
            (true, true) => " dash",
            (true, false) => " dashdot",
            (false, false) => " dots",
            (false, true) => "",
        };
        format!("c{}{stroke}", number % COLOURS)
    }
}

/// Draws one figure with its legend.
pub(super) fn figure(picture: &Picture, strokes: &Strokes) -> String {
    let traces = picture.traces.iter().filter(|trace| !trace.points.is_empty()).cloned().collect();
    let picture = &Picture { traces, ..picture.clone() };
    let drawing = match picture.form {
        FigureForm::Cdf | FigureForm::Series => lines(picture, strokes),
        FigureForm::Ellipse => ellipses(picture, strokes),
        FigureForm::Box => rows(picture, strokes, box_of),
        FigureForm::Bars => rows(picture, strokes, bar_of),
        FigureForm::Parallel => parallel(picture, strokes),
    };
    format!(
        "<figure>\n<figcaption><b>{}</b> {}</figcaption>\n<div class=\"scroll\">{drawing}</div><p class=\"legend\">{}</p>\n</figure>\n",
        escape(&picture.id),
        escape(&picture.title),
        key(picture, strokes)
    )
}

/// Draws the legend of a figure.
fn key(picture: &Picture, strokes: &Strokes) -> String {
    let mut out = String::new();
    let mut entry = |class: &str, shape: &str, words: &str| {
        let _ = write!(
            out,
            "<span><svg class=\"key\" viewBox=\"0 0 28 12\"><g class=\"{class}\">{shape}</g></svg>{words}</span> "
        );
    };
    let line = "<path class=\"line\" d=\"M0 6H28\"/>";
    let newer = picture.traces.iter().any(|trace| trace.beyond);
    match picture.form {
        FigureForm::Cdf | FigureForm::Series => {
            for trace in &picture.traces {
                let newer = if trace.beyond { " <small>(newer)</small>" } else { "" };
                entry(&strokes.class(trace), line, &format!("{}{newer}", escape(&trace.name)));
            }
        }
        FigureForm::Parallel => {
            let mut known: Vec<&str> = Vec::new();
            for trace in &picture.traces {
                if !known.contains(&trace.label.as_str()) {
                    known.push(&trace.label);
                    let newer = if trace.beyond { " <small>(newer)</small>" } else { "" };
                    entry(&strokes.class(trace), line, &format!("{}{newer}", escape(&trace.label)));
                }
            }
        }
        FigureForm::Ellipse if newer => {
            entry("plain", line, "the paper's disciplines");
            entry("plain dash", line, "newer disciplines");
        }
        FigureForm::Ellipse => {}
        FigureForm::Box | FigureForm::Bars => {
            let shape = "<rect class=\"fill\" x=\"1\" y=\"1\" width=\"26\" height=\"10\"/>";
            if newer {
                entry("plain", shape, "the paper's disciplines");
                entry("plain dash", shape, "newer disciplines");
            }
            if picture.form == FigureForm::Box {
                entry(
                    "plain",
                    "<path class=\"line\" d=\"M0 6H8M20 6H28M13 1v10\"/><rect class=\"fill\" x=\"8\" y=\"1\" width=\"12\" height=\"10\"/>",
                    "minimum, quartiles, median and maximum of the runs",
                );
            } else {
                entry("plain", line, "95 % interval");
            }
        }
    }
    if picture.traces.iter().any(|trace| !trace.paper.is_empty()) {
        entry(
            "plain",
            &format!("<path class=\"paper\" d=\"{}\"/>", diamond((14.0, 6.0))),
            "value in the paper",
        );
    }
    out
}

type Point = (f64, f64);

/// Returns the path of the mark for a value from the paper.
fn diamond((x, y): Point) -> String {
    format!("M{x:.1} {:.1}l5 5l-5 5l-5 -5z", y - 5.0)
}

/// A plane with axes, which maps values to coordinates of the drawing.
struct Plane {
    x: (f64, f64),
    y: (f64, f64),
    /// True if larger x values are further left, so that the better corner is the upper right one.
    reversed: bool,
    /// Left end of the x axis; names stand to the left of it.
    left: f64,
    /// Right end of the x axis.
    right: f64,
}

impl Plane {
    fn over(points: impl Iterator<Item = Point> + Clone, reversed: bool) -> Self {
        let (x, y) = (extent(points.clone().map(|p| p.0)), extent(points.map(|p| p.1)));
        Self { x, y, reversed, left: LEFT, right: WIDTH - RIGHT }
    }

    fn x_at(&self, value: f64) -> f64 {
        let share = (value - self.x.0) / (self.x.1 - self.x.0);
        self.left + (if self.reversed { 1.0 - share } else { share }) * (self.right - self.left)
    }

    fn y_at(&self, value: f64) -> f64 {
        TOP + (1.0 - (value - self.y.0) / (self.y.1 - self.y.0)) * (HEIGHT - TOP - BOTTOM)
    }

    /// Draws the ticks and grid lines of the x axis, which lies at `bottom`.
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

    fn frame(&self, picture: &Picture) -> String {
        let mut out = opening(picture, HEIGHT);
        self.ticks_below(HEIGHT - BOTTOM, &mut out);
        for tick in ticks(self.y) {
            let y = self.y_at(tick);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{:.1} {y:.1}H{:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{}</text>",
                self.left,
                self.right,
                self.left - 6.0,
                y + 4.0,
                figures(tick)
            );
        }
        let middle = f64::midpoint(TOP, HEIGHT - BOTTOM);
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" class=\"mid\">{}</text><text x=\"12\" y=\"{middle:.1}\" class=\"mid\" transform=\"rotate(-90 12 {middle:.1})\">{}</text>",
            f64::midpoint(self.left, self.right),
            HEIGHT - 4.0,
            escape(&picture.axes[0]),
            escape(&picture.axes[1])
        );
        out
    }

    fn path(&self, points: &[Point]) -> String {
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

fn opening(picture: &Picture, height: f64) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{} {}\">\n",
        escape(&picture.id),
        escape(&picture.title)
    )
}

/// Returns the range of the values with a small margin. The margin does not extend below zero if no
/// value is negative.
fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if !low.is_finite() {
        return (0.0, 1.0);
    }
    // If all values are zero, the axis gets the length 1.
    let least = if low == 0.0 && high == 0.0 { 1.0 } else { 1e-9 };
    let room = ((high - low) * 0.06).max(high.abs() * 1e-3).max(least);
    let bottom = low - room;
    (if low >= 0.0 && bottom < 0.0 { 0.0 } else { bottom }, high + room)
}

/// Returns about five round values within a range.
fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let power = 10_f64.powf(libm::floor(libm::log10(rough)));
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|step| *step >= rough).unwrap_or(rough);
    let first = libm::ceil(low / step);
    let at = (0_u32..12).map(|n| (first + f64::from(n)) * step);
    // 3 × 0.1 must be displayed as 0.3.
    at.take_while(|tick| *tick <= high + step * 1e-9).map(|tick| (tick / step).round() * step).collect()
}

fn lines(picture: &Picture, strokes: &Strokes) -> String {
    let all = picture.traces.iter().flat_map(|trace| trace.points.iter().chain(&trace.paper).copied());
    let plane = Plane::over(all, false);
    let mut out = plane.frame(picture);
    let mut marks = String::new();
    for trace in &picture.traces {
        let (class, name) = (strokes.class(trace), escape(&trace.name));
        let _ = writeln!(
            out,
            "<g class=\"{class}\"><path class=\"line\" d=\"{}\"><title>{name}</title></path></g>",
            plane.path(&trace.points),
        );
        for (x, y) in &trace.paper {
            let _ = writeln!(
                marks,
                "<g class=\"{class}\"><path class=\"paper own\" d=\"{}\"><title>{name}, the paper: {}, {}</title></path></g>",
                diamond((plane.x_at(*x), plane.y_at(*y))),
                figures(*x),
                figures(*y)
            );
        }
    }
    out + &marks + "</svg>\n"
}

/// Draws a vertical axis for each name, scaled to the values on it, and a line across all axes for
/// each trace.
fn parallel(picture: &Picture, strokes: &Strokes) -> String {
    let count = f64::from(u32::try_from(picture.names.len()).unwrap_or(u32::MAX));
    let plane = Plane {
        x: (0.0, (count - 1.0).max(1.0)),
        y: (0.0, 1.0),
        reversed: false,
        left: LEFT,
        right: WIDTH - LEFT,
    };
    let (top, bottom) = (plane.y_at(1.0), plane.y_at(0.0));
    let mut out = opening(picture, HEIGHT);
    let mut ranges = Vec::new();
    for (number, name) in (0_u32..).zip(&picture.names) {
        let on_axis = picture.traces.iter().flat_map(|trace| &trace.points);
        let values = on_axis.filter(|point| (point.0 - f64::from(number)).abs() < 0.5).map(|point| point.1);
        let range = extent(values);
        ranges.push(range);
        let x = plane.x_at(f64::from(number));
        let _ = writeln!(
            out,
            "<path class=\"grid axis\" d=\"M{x:.1} {top:.1}V{bottom:.1}\"/><text x=\"{x:.1}\" y=\"{:.1}\" class=\"mid\">{}</text>",
            HEIGHT - 8.0,
            escape(name)
        );
        for tick in ticks(range) {
            let y = plane.y_at((tick - range.0) / (range.1 - range.0));
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{:.1} {y:.1}h6\"/><text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{}</text>",
                x - 3.0,
                x - 6.0,
                y + 4.0,
                figures(tick)
            );
        }
    }
    for trace in &picture.traces {
        let points: Vec<Point> = trace
            .points
            .iter()
            .zip(&ranges)
            .filter(|((_, value), _)| value.is_finite())
            .map(|((axis, value), range)| (*axis, (value - range.0) / (range.1 - range.0)))
            .collect();
        let _ = writeln!(
            out,
            "<g class=\"{}\"><path class=\"line\" d=\"{}\"><title>{}</title></path></g>",
            strokes.class(trace),
            plane.path(&points),
            escape(&trace.name)
        );
    }
    out + "</svg>\n"
}

fn ellipses(picture: &Picture, strokes: &Strokes) -> String {
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
    let mut out = plane.frame(picture);
    let dots: Vec<Point> =
        outlines.iter().map(|(_, centre)| (plane.x_at(centre.0), plane.y_at(centre.1))).collect();
    let mut names = Names { taken: dots.iter().map(|dot| Area::around(*dot)).collect() };
    for ((trace, (outline, _)), dot) in picture.traces.iter().zip(&outlines).zip(&dots) {
        let at = names.place(*dot, width(&trace.name));
        let leader = if at.far {
            format!("<path class=\"lead\" d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>", dot.0, dot.1, at.x, at.y - 4.0)
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "<g class=\"{}\"><path class=\"line\" d=\"{}\"/>{leader}<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\"/><text class=\"name{}\" x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            strokes.class(trace),
            plane.path(outline),
            dot.0,
            dot.1,
            if at.ends { " end" } else { "" },
            at.x,
            at.y,
            escape(&trace.name),
        );
    }
    out + "</svg>\n"
}

/// The areas that names must not cover.
struct Names {
    taken: Vec<Area>,
}

/// A rectangle of the drawing.
#[derive(Clone, Copy)]
struct Area {
    x: (f64, f64),
    y: (f64, f64),
}

impl Area {
    fn around((x, y): Point) -> Self {
        Self { x: (x - 4.0, x + 4.0), y: (y - 4.0, y + 4.0) }
    }

    /// Returns the area that overlaps with `other`.
    fn shared(&self, other: &Self) -> f64 {
        let along = |a: (f64, f64), b: (f64, f64)| (a.1.min(b.1) - a.0.max(b.0)).max(0.0);
        along(self.x, other.x) * along(self.y, other.y)
    }

    fn is_inside(&self) -> bool {
        self.x.0 >= LEFT && self.x.1 <= WIDTH - 2.0 && self.y.0 >= 0.0 && self.y.1 <= HEIGHT - BOTTOM
    }
}

/// The position of a name.
struct Place {
    x: f64,
    y: f64,
    /// True if the text ends at `x`.
    ends: bool,
    /// True if the name is so far from its dot that a line must connect them.
    far: bool,
}

impl Names {
    /// Finds a free position beside, above or below the dot; otherwise the position that covers
    /// least.
    fn place(&mut self, dot: Point, width: f64) -> Place {
        let mut best: Option<(f64, Place, Area)> = None;
        for step in [0_i8, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6, -7, 7] {
            for ends in [false, true] {
                let far = step.abs() > 1;
                let aside = if far { 16.0 } else { 7.0 };
                let x = if ends { dot.0 - aside } else { dot.0 + aside };
                let y = dot.1 + 4.0 + f64::from(step) * LINE;
                let from = if ends { x - width } else { x };
                let area = Area { x: (from, from + width), y: (y - LINE + 3.0, y + 3.0) };
                let covered: f64 = self.taken.iter().map(|other| area.shared(other)).sum();
                if area.is_inside() && best.as_ref().is_none_or(|known| covered < known.0) {
                    best = Some((covered, Place { x, y, ends, far }, area));
                }
                if best.as_ref().is_some_and(|known| known.0 <= 0.0) {
                    break;
                }
            }
        }
        let (_, place, area) = best.unwrap_or((
            0.0,
            Place { x: dot.0 + 7.0, y: dot.1 + 4.0, ends: false, far: false },
            Area::around(dot),
        ));
        self.taken.push(area);
        place
    }
}

/// Returns the approximate width of text in the drawing.
fn width(text: &str) -> f64 {
    LETTER * f64::from(u32::try_from(text.chars().count()).unwrap_or(u32::MAX))
}

/// Draws a row for each trace, under the name of its experiment if there are several.
fn rows(picture: &Picture, strokes: &Strokes, draw: fn(&Plane, &Trace, f64) -> String) -> String {
    let all = picture.traces.iter().flat_map(|trace| trace.points.iter().chain(&trace.paper).copied());
    let all = all.chain([(0.0, 0.0)]);
    let names = picture.traces.iter().map(|trace| width(&trace.label)).fold(0.0, f64::max);
    let left = (names + 16.0).clamp(LEFT, WIDTH / 2.0);
    let right = if picture.form == FigureForm::Bars { WIDTH - VALUE } else { WIDTH - RIGHT };
    let plane = Plane { y: (0.0, 1.0), left, right, ..Plane::over(all, false) };
    let heads: Vec<bool> = (0..picture.traces.len())
        .map(|n| {
            let group = &picture.traces[n].group;
            group.is_some() && (n == 0 || picture.traces[n - 1].group != *group)
        })
        .collect();
    let count = picture.traces.len() + heads.iter().filter(|head| **head).count();
    let height = TOP + f64::from(u32::try_from(count).unwrap_or(u32::MAX)) * ROW + BOTTOM;
    let mut out = opening(picture, height);
    plane.ticks_below(height - BOTTOM, &mut out);
    let mut y = TOP + 0.5 * ROW;
    for (trace, head) in picture.traces.iter().zip(&heads) {
        if *head {
            let group = trace.group.as_deref().unwrap_or_default();
            let _ = writeln!(
                out,
                "<text class=\"group end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                left - 8.0,
                y + 6.0,
                escape(group)
            );
            y += ROW;
        }
        let _ = writeln!(
            out,
            "<g class=\"{}\"><text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{}</text>{}</g>",
            strokes.class(trace),
            left - 8.0,
            y + 4.0,
            escape(&trace.label),
            draw(&plane, trace, y)
        );
        for (paper, _) in &trace.paper {
            let _ = writeln!(
                out,
                "<path class=\"paper\" d=\"{}\"><title>the paper: {}</title></path>",
                diamond((plane.x_at(*paper), y)),
                figures(*paper)
            );
        }
        y += ROW;
    }
    let middle = f64::midpoint(left, right);
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
        "<path class=\"line whole\" d=\"M{least:.1} {y:.1}H{lower:.1}M{upper:.1} {y:.1}H{most:.1}\"/>\
         <rect class=\"fill\" x=\"{lower:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"14\"/>\
         <path class=\"line whole\" d=\"M{median:.1} {:.1}v14\"/>",
        y - 7.0,
        (upper - lower).max(1.0),
        y - 7.0
    )
}

/// Draws a bar, the interval around its end, and its value behind both, clear of the paper's mark.
fn bar_of(plane: &Plane, trace: &Trace, y: f64) -> String {
    let at: Vec<f64> = trace.points.iter().map(|point| plane.x_at(point.0)).collect();
    let &[low, value, high] = at.as_slice() else { return String::new() };
    let zero = plane.x_at(0.0);
    let words = three_figures(trace.points[1].0);
    // The value stands at the end of its bar, unless the paper's mark would overlap it.
    let at_bar = value.max(high) + 6.0;
    let room = at_bar - 6.0..at_bar + width(&words) + 6.0;
    let mark = trace.paper.first().map(|paper| plane.x_at(paper.0)).filter(|mark| room.contains(mark));
    let behind = mark.map_or(at_bar, |mark| mark + 11.0);
    format!(
        "<rect class=\"fill\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"12\"/>\
         <path class=\"line whole\" d=\"M{low:.1} {y:.1}H{high:.1}\"/><text x=\"{behind:.1}\" y=\"{:.1}\">{}</text>",
        zero.min(value),
        y - 6.0,
        (value - zero).abs().max(1.0),
        y + 4.0,
        words
    )
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 40.0;
const ROW: f64 = 22.0;
/// Room for the value behind the longest bar.
const VALUE: f64 = 56.0;
/// Number of colours in `assets/papers.css`.
const COLOURS: usize = 12;
/// Approximate width of a letter in the drawing.
const LETTER: f64 = 6.6;
/// Approximate height of a line of text in the drawing.
const LINE: f64 = 13.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(label: &str, beyond: bool, points: Vec<Point>) -> Trace {
        let (name, group) = (format!("{label}, 1+1"), Some("1+1".to_owned()));
        Trace { name, label: label.to_owned(), group, beyond, paper: vec![(3.0, 0.0)], points }
    }

    fn picture(form: FigureForm, traces: Vec<Trace>) -> Picture {
        let axes = ["delay, ms".to_owned(), "share".to_owned()];
        let names = vec!["rate".to_owned(), "delay".to_owned(), "share".to_owned()];
        Picture { id: "Fig. 2".to_owned(), title: "CDF".to_owned(), axes, form, names, traces }
    }

    fn drawn(picture: &Picture) -> String {
        figure(picture, &Strokes::of(std::slice::from_ref(picture)))
    }

    const FORMS: [FigureForm; 6] = [
        FigureForm::Cdf,
        FigureForm::Series,
        FigureForm::Ellipse,
        FigureForm::Box,
        FigureForm::Bars,
        FigureForm::Parallel,
    ];

    #[test]
    fn a_value_stands_at_its_bar_and_not_under_or_behind_the_mark_of_the_papers() {
        let place = |paper| {
            let bar = Trace {
                paper: vec![(paper, 0.0)],
                ..trace("pie", false, vec![(14.0, 0.0), (14.8, 0.0), (15.0, 0.0)])
            };
            let scale = Trace {
                paper: Vec::new(),
                ..trace("codel", false, vec![(29.0, 0.0), (30.0, 0.0), (30.0, 0.0)])
            };
            let drawn = drawn(&picture(FigureForm::Bars, vec![bar, scale]));
            let before = drawn.split(">14.8<").next().unwrap_or_default();
            let x = before
                .rsplit("<text x=\"")
                .next()
                .and_then(|text| text.split('"').next())
                .unwrap_or_default();
            x.parse::<f64>().expect("a place")
        };
        let alone = place(1.0);
        assert!((place(28.0) - alone).abs() < 0.1, "the mark is far behind it");
        assert!(place(15.5) > alone + 5.0, "the mark would lie on it");
    }

    #[test]
    fn every_form_is_drawn_and_names_are_escaped() {
        for form in FORMS {
            for points in [vec![], vec![(1.0, 2.0), (2.0, 3.0), (4.0, 1.0)], vec![(5.0, 5.0); 5]] {
                let drawn = drawn(&picture(form, vec![trace("a<b", false, points)]));
                assert!(
                    drawn.contains("<svg") && !drawn.contains("a<b") && !drawn.contains("NaN"),
                    "{drawn}"
                );
            }
        }
    }

    #[test]
    fn a_curve_its_key_and_the_mark_of_the_paper_look_alike_and_no_two_disciplines_do() {
        let points = vec![(1.0, 2.0), (2.0, 3.0)];
        let labels: Vec<String> = (0..14).map(|number| format!("q{number}")).collect();
        let traces = labels.iter().enumerate().map(|(n, label)| trace(label, n > 9, points.clone()));
        let picture = picture(FigureForm::Series, traces.collect());
        let strokes = Strokes::of(std::slice::from_ref(&picture));
        let drawn = figure(&picture, &strokes);
        let mut seen: Vec<String> = Vec::new();
        for trace in &picture.traces {
            let class = strokes.class(trace);
            assert_eq!(drawn.matches(&format!("<g class=\"{class}\">")).count(), 3, "{class}");
            assert!(!seen.contains(&class), "{class} twice");
            assert_eq!(class.contains("dash"), trace.beyond);
            seen.push(class);
        }
    }

    #[test]
    fn names_of_dots_at_the_same_place_do_not_cover_each_other() {
        let same = vec![(2.0, 8.0), (2.1, 8.1), (2.0, 8.05)];
        let traces = ["codel", "fq_codel", "cake", "dualpi2"].map(|label| trace(label, false, same.clone()));
        let drawn = drawn(&picture(FigureForm::Ellipse, traces.to_vec()));
        let places: Vec<&str> = drawn.split("<text class=\"name").skip(1).collect();
        let mut at: Vec<&str> = places.iter().filter_map(|text| text.split('>').next()).collect();
        at.sort_unstable();
        at.dedup();
        assert_eq!(at.len(), 4);
    }

    #[test]
    fn ticks_are_round_and_within_the_range() {
        assert_eq!(ticks((0.0, 1.0)).len(), 6);
        assert!(ticks((-0.3, 97.0)).iter().all(|tick| (0.0..=97.0).contains(tick)));
        assert_eq!(extent([0.0, 10.0].into_iter()).0, 0.0);
    }
}
