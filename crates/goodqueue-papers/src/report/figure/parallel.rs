//! Parallel coordinates: a vertical axis for each quantity, and a line across all axes for each
//! cell.

use std::fmt::Write as _;

use crate::reproduce::figures;
use crate::reproduce::picture::{Picture, Trace};

use super::plane::{Axis, HEIGHT, LEFT, LINE, Plane, Point, WIDTH, count, width};
use super::strokes::{Strokes, opening};
use goodqueue_report::page_parts::escape;

pub(super) fn draw(picture: &Picture, strokes: &Strokes) -> String {
    // The plane needs a width, also with one axis.
    let last = (count(picture.names.len()) - 1.0).max(1.0);
    let names = picture.traces.iter().map(|trace| width(&trace.name)).fold(0.0, f64::max);
    let plane = Plane {
        right: WIDTH - (names + 24.0).clamp(LEFT, WIDTH / 2.5),
        ..Plane::new(Axis::linear((0.0, last)), Axis::linear((0.0, 1.0)))
    };
    let mut out = opening(picture, HEIGHT);
    let mut axes = Vec::new();
    for (number, name) in (0_u32..).zip(&picture.names) {
        let on_axis = picture.traces.iter().flat_map(|trace| &trace.points);
        // The x of a point is the number of its axis.
        // Numbers of axes are whole, so less than a half apart means equal.
        let values = on_axis.filter(|point| (point.0 - f64::from(number)).abs() < 0.5).map(|point| point.1);
        let axis = Axis::over(values, false).with(picture.y);
        axes.push(axis);
        let x = plane.x_at(f64::from(number));
        vertical(&plane, x, &axis, name, &mut out);
    }
    let mut ends = Vec::new();
    for trace in &picture.traces {
        let points: Vec<Point> = trace
            .points
            .iter()
            .zip(&axes)
            .filter(|((_, value), _)| value.is_finite())
            .map(|((number, value), axis)| (*number, axis.share(*value)))
            .collect();
        let _ = writeln!(
            out,
            "<g class=\"{}\"><path class=\"line\" d=\"{}\"><title>{}</title></path></g>",
            strokes.class(trace),
            plane.path(&points),
            escape(&trace.name)
        );
        if let Some(end) = points.last() {
            ends.push((plane.y_at(end.1), trace));
        }
    }
    named(ends, &plane, strokes, &mut out);
    out + "</svg>\n"
}

/// Draws an axis with its ticks and its name.
fn vertical(plane: &Plane, x: f64, axis: &Axis, name: &str, out: &mut String) {
    let top = plane.y_at(1.0);
    let bottom = plane.y_at(0.0);
    let _ = writeln!(
        out,
        "<path class=\"grid axis\" d=\"M{x:.1} {top:.1}V{bottom:.1}\"/><text x=\"{x:.1}\" y=\"{:.1}\" class=\"mid\">{}</text>",
        bottom + 22.0,
        escape(name)
    );
    for tick in axis.ticks() {
        let y = plane.y_at(axis.share(tick));
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

/// Writes the names of the lines at their right ends, moved apart where they would cover each
/// other. More lines than have room remain without.
fn named(mut ends: Vec<(f64, &Trace)>, plane: &Plane, strokes: &Strokes, out: &mut String) {
    if count(ends.len()) > plane.bottom() / LINE {
        return;
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut places: Vec<f64> = Vec::new();
    for (end, _) in &ends {
        let least = places.last().map_or(LINE, |above| above + LINE);
        places.push(end.max(least));
    }
    // Names that were pushed below the drawing push the others back up.
    let mut lowest = plane.bottom();
    for place in places.iter_mut().rev() {
        *place = place.min(lowest);
        lowest = *place - LINE;
    }
    for ((end, trace), place) in ends.iter().zip(places) {
        let x = plane.right;
        let _ = writeln!(
            out,
            "<g class=\"{}\"><path class=\"lead\" d=\"M{x:.1} {end:.1}L{:.1} {:.1}\"/><text class=\"name\" x=\"{:.1}\" y=\"{place:.1}\">{}</text></g>",
            strokes.class(trace),
            x + 12.0,
            place - 4.0,
            x + 15.0,
            escape(&trace.name)
        );
    }
}
