//! Distribution functions and series: a line for each cell.

use std::fmt::Write as _;

use crate::reproduce::figures;
use crate::reproduce::paper::FigureForm;
use crate::reproduce::picture::Picture;

use super::cut::cut;
use super::plane::{Axis, HEIGHT, LEFT, Plane, Point, RIGHT, diamond};
use super::strokes::{Strokes, opening};
use goodqueue_report::page_parts::escape;

pub(super) fn draw(picture: &Picture, strokes: &Strokes) -> String {
    let all = |label: &str| -> Vec<Point> {
        let traces = picture.traces.iter().filter(|trace| trace.label == label);
        traces.flat_map(|trace| trace.points.iter().chain(&trace.paper).copied()).collect()
    };
    let firsts = |label: &str| all(label).into_iter().map(|point| point.0).collect::<Vec<f64>>();
    let seconds = |label: &str| all(label).into_iter().map(|point| point.1).collect::<Vec<f64>>();
    let every = || picture.traces.iter().flat_map(|trace| trace.points.iter().chain(&trace.paper));
    // The values of a distribution are on the x axis, those of a series on the y axis.
    let (whole, shown) = if picture.form == FigureForm::Cdf {
        let y = Axis::over(every().map(|point| point.1), false).with(picture.y.or(Some((0.0, 1.0))));
        let x = cut(picture, picture.x, picture.log, &firsts);
        (x.is_cut().then(|| Plane::new(x.whole, y)), Plane::new(x.axis, y))
    } else {
        let times = || every().map(|point| point.0).filter(|time| time.is_finite());
        let whole = (times().fold(f64::INFINITY, f64::min), times().fold(f64::NEG_INFINITY, f64::max));
        // A series begins and ends at the border of its plot, without the margin of `over`.
        let x = Axis::over(times(), false).with(Some(whole)).with(picture.x);
        let y = cut(picture, picture.y, picture.log, &seconds);
        (y.is_cut().then(|| Plane::new(x, y.whole)), Plane::new(x, y.axis))
    };
    let mut out = opening(picture, HEIGHT);
    let Some(whole) = whole else {
        part(picture, strokes, shown, &mut out);
        return out + "</svg>\n";
    };
    part(picture, strokes, Plane { right: MIDDLE - RIGHT, ..shown }, &mut out);
    let axes = ["the whole range".to_owned(), picture.axes[1].clone()];
    let whole_range = Picture { axes, ..picture.clone() };
    part(&whole_range, strokes, Plane { left: MIDDLE + LEFT, ..whole }, &mut out);
    out + "</svg>\n"
}

fn part(picture: &Picture, strokes: &Strokes, plane: Plane, out: &mut String) {
    plane.frame([&picture.axes[0], &picture.axes[1]], out);
    *out += &plane.clip();
    let mut marks = String::new();
    for trace in &picture.traces {
        let class = strokes.class_of_line(picture, trace);
        let name = escape(&trace.name);
        let _ = writeln!(
            out,
            "<g class=\"{class}\"><path class=\"line\" d=\"{}\"><title>{name}</title></path></g>",
            plane.path(&trace.points),
        );
        let inside = |axis: Axis, value: f64| (0.0..=1.0).contains(&axis.share(value));
        for (x, y) in trace.paper.iter().filter(|(x, y)| inside(plane.x, *x) && inside(plane.y, *y)) {
            let _ = writeln!(
                marks,
                "<g class=\"{class}\"><path class=\"paper own\" d=\"{}\"><title>{name}, the paper: {}, {}</title></path></g>",
                diamond((plane.x_at(*x), plane.y_at(*y))),
                figures(*x),
                figures(*y)
            );
        }
    }
    // A mark on the border of the plot is drawn whole.
    *out += "</svg>\n";
    *out += &marks;
}

/// Where the part that shows the whole range begins.
const MIDDLE: f64 = 520.0;
