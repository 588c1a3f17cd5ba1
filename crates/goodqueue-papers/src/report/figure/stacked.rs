//! Shares of the flows in one run over time, stacked: a panel for each discipline.

use std::fmt::Write as _;

use crate::reproduce::picture::{Picture, Trace};

use super::plane::{Axis, HEIGHT, LEFT, LINE, Plane, RIGHT, WIDTH, count};
use super::strokes::{Strokes, opening};
use goodqueue_report::page_parts::escape;

pub(super) fn draw(picture: &Picture, strokes: &Strokes) -> String {
    let mut panels: Vec<(&str, Vec<&Trace>)> = Vec::new();
    for trace in &picture.traces {
        let name = trace.group.as_deref().unwrap_or_default();
        match panels.iter_mut().find(|panel| panel.0 == name) {
            Some(panel) => panel.1.push(trace),
            None => panels.push((name, vec![trace])),
        }
    }
    let times = picture.traces.iter().flat_map(|trace| &trace.points).map(|point| point.0);
    // The axis needs a length, also without a trace.
    let last = times.filter(|time| time.is_finite()).fold(1.0, f64::max);
    let x = Axis::linear((0.0, last)).with(picture.x);
    let each = WIDTH / count(panels.len().max(1));
    let mut out = opening(picture, HEIGHT + LINE);
    for (number, (name, traces)) in panels.iter().enumerate() {
        let left = count(number) * each;
        let plane = Plane {
            left: left + LEFT,
            // Where panels are many, their margins leave no room.
            right: (left + each - RIGHT).max(left + LEFT + 1.0),
            ..Plane::new(x, Axis::linear((0.0, 100.0)))
        };
        plane.frame([&picture.axes[0], &picture.axes[1]], &mut out);
        let _ = writeln!(
            out,
            "<text class=\"mid group\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            f64::midpoint(plane.left, plane.right),
            HEIGHT - 4.0 + LINE,
            escape(name)
        );
        out += &plane.clip();
        panel(traces, &plane, strokes, &mut out);
        out += "</svg>\n";
    }
    out + "</svg>\n"
}

/// Draws the areas between the upper edges, from the bottom up.
fn panel(traces: &[&Trace], plane: &Plane, strokes: &Strokes, out: &mut String) {
    let mut below: Vec<(f64, f64)> = Vec::new();
    for trace in traces {
        let (Some(first), Some(last)) = (trace.points.first(), trace.points.last()) else { continue };
        let mut back: Vec<(f64, f64)> =
            if below.is_empty() { vec![(first.0, 0.0), (last.0, 0.0)] } else { below };
        // The outline runs along the upper edge and back along the lower one.
        back.reverse();
        let outline: Vec<(f64, f64)> = trace.points.iter().chain(&back).copied().collect();
        let _ = writeln!(
            out,
            "<g class=\"{}\"><path class=\"area\" d=\"{}Z\"><title>{}</title></path></g>",
            strokes.class(trace),
            plane.path(&outline),
            escape(&trace.name)
        );
        below = trace.points.clone();
    }
}
