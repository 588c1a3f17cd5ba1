//! One-sigma ellipses over the repetitions of each cell, with names beside their centres.

use std::fmt::Write as _;

use crate::reproduce::picture::{Picture, Trace};
use crate::reproduce::three_figures;

use super::plane::{Axis, BOTTOM, HEIGHT, LEFT, LINE, Plane, Point, WIDTH, count, width};
use super::strokes::{Strokes, opening};
use goodqueue_report::ellipse::{self, Ellipse};
use goodqueue_report::page_parts::escape;

pub(super) fn draw(picture: &Picture, strokes: &Strokes) -> String {
    let outlines: Vec<(Vec<Point>, Point)> = picture
        .traces
        .iter()
        .map(|trace| {
            let outline =
                Ellipse::from_points(&trace.points).map_or_else(Vec::new, |ellipse| ellipse.outline(60));
            (outline, ellipse::centre(&trace.points))
        })
        .collect();
    let along = |of: fn(&Point) -> f64| {
        let centres = outlines.iter().map(move |(_, centre)| of(centre));
        let all = outlines.iter().flat_map(|(outline, centre)| outline.iter().chain([centre]));
        Along { axis: Axis::over(all.map(of), false), centres: centres.collect() }
    };
    let x = along(|point| point.0).reaching(picture.x);
    let y = along(|point| point.1).reaching(picture.y);
    let plane = Plane { reversed: true, ..Plane::new(x, y) };
    let inside = |point: &Point| {
        // A centre at the end of an axis may come out a little outside.
        let within = |share: f64| (-1e-9..=1.0 + 1e-9).contains(&share);
        within(x.share(point.0)) && within(y.share(point.1))
    };
    let outside: Vec<(&Trace, Point)> = (picture.traces.iter().zip(&outlines))
        .filter(|(_, (_, centre))| !inside(centre))
        .map(|(trace, (_, centre))| (trace, *centre))
        .collect();
    let mut out = opening(picture, HEIGHT + LINE * count(outside.len()));
    plane.frame([&picture.axes[0], &picture.axes[1]], &mut out);
    paper_range(picture, &plane, &mut out);
    out += &plane.clip();
    for (trace, (outline, _)) in picture.traces.iter().zip(&outlines) {
        let _ = writeln!(
            out,
            "<g class=\"{}\"><path class=\"line\" d=\"{}\"/></g>",
            strokes.class(trace),
            plane.path(outline)
        );
    }
    out += "</svg>\n";
    let shown = picture.traces.iter().zip(&outlines).filter(|(_, (_, centre))| inside(centre));
    let shown = shown.map(|(trace, (_, centre))| (trace, (plane.x_at(centre.0), plane.y_at(centre.1))));
    dots(&shown.collect::<Vec<_>>(), strokes, &mut out);
    for (line, (trace, centre)) in (1_u32..).zip(outside) {
        let _ = writeln!(
            out,
            "<text class=\"whole\" x=\"{:.1}\" y=\"{:.1}\">outside: {} ({}, {})</text>",
            LEFT,
            HEIGHT - 4.0 + LINE * f64::from(line),
            escape(&trace.name),
            three_figures(centre.0),
            three_figures(centre.1)
        );
    }
    out + "</svg>\n"
}

/// The values of all traces along one axis.
struct Along {
    /// The axis that shows every outline.
    axis: Axis,
    centres: Vec<f64>,
}

impl Along {
    /// Returns the paper's range, made longer where centres are outside of it. Centres that are too
    /// far outside would squeeze all others and are left out.
    fn reaching(&self, paper: Option<(f64, f64)>) -> Axis {
        let axis = self.axis.with(paper);
        // The paper gives no range.
        if axis == self.axis {
            return axis;
        }
        let (low, high) = axis.range;
        let reach = (high - low) * FAR;
        let near = self.centres.iter().filter(|value| **value >= low - reach && **value <= high + reach);
        let (least, most) =
            near.fold((low, high), |(least, most), value| (least.min(*value), most.max(*value)));
        let room = (most - least) * ROOM;
        let range =
            (if least < low { least - room } else { low }, if most > high { most + room } else { high });
        Axis { range, ..axis }
    }
}

/// Draws the border of the paper's plot where ours is larger.
fn paper_range(picture: &Picture, plane: &Plane, out: &mut String) {
    let x = plane.x.with(picture.x);
    let y = plane.y.with(picture.y);
    if x == plane.x && y == plane.y {
        return;
    }
    // The x axis is reversed, so its higher end is on the left.
    let left = plane.x_at(x.range.1);
    let right = plane.x_at(x.range.0);
    let top = plane.y_at(y.range.1);
    let bottom = plane.y_at(y.range.0);
    let _ = writeln!(
        out,
        "<path class=\"border\" d=\"M{left:.1} {top:.1}H{right:.1}V{bottom:.1}H{left:.1}z\"/>\
         <text class=\"whole\" x=\"{:.1}\" y=\"{:.1}\">the paper's plot</text>",
        left + 5.0,
        top + LINE
    );
}

/// Draws the centres with their names.
fn dots(shown: &[(&Trace, Point)], strokes: &Strokes, out: &mut String) {
    let mut names = Names { taken: shown.iter().map(|(_, dot)| Area::around(*dot)).collect() };
    for (trace, dot) in shown {
        let at = names.place(*dot, width(&trace.name));
        let leader = if at.far {
            format!("<path class=\"lead\" d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>", dot.0, dot.1, at.x, at.y - 4.0)
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "<g class=\"{}\">{leader}<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\"/><text class=\"name of\"{} x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            strokes.class(trace),
            dot.0,
            dot.1,
            if at.ends { " text-anchor=\"end\"" } else { "" },
            at.x,
            at.y,
            escape(&trace.name),
        );
    }
}

/// Share of the paper's range by which an axis may become longer at either end.
const FAR: f64 = 1.5;
/// Space between the furthest value and the end of a longer axis, as a share of the axis.
const ROOM: f64 = 0.05;

/// The areas that names must not cover.
struct Names {
    taken: Vec<Area>,
}

/// A rectangle of the drawing.
#[derive(Clone, Copy)]
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn around((x, y): Point) -> Self {
        Self { left: x - 8.0, right: x + 8.0, top: y - 5.0, bottom: y + 5.0 }
    }

    /// Returns the area that overlaps with `other`.
    fn shared(&self, other: &Self) -> f64 {
        let wide = self.right.min(other.right) - self.left.max(other.left);
        let high = self.bottom.min(other.bottom) - self.top.max(other.top);
        // Both are negative of areas that lie diagonally, and their product would be an overlap.
        wide.max(0.0) * high.max(0.0)
    }

    fn is_inside(&self) -> bool {
        self.left >= LEFT && self.right <= WIDTH - 2.0 && self.top >= 0.0 && self.bottom <= HEIGHT - BOTTOM
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
        // The nearest lines come first.
        for step in [0_i8, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6, -7, 7] {
            for ends in [false, true] {
                let far = step.abs() > 1;
                let aside = if far { 16.0 } else { 7.0 };
                let x = if ends { dot.0 - aside } else { dot.0 + aside };
                let y = dot.1 + 4.0 + f64::from(step) * LINE;
                let from = if ends { x - width } else { x };
                let area = Area { left: from, right: from + width, top: y - LINE + 3.0, bottom: y + 3.0 };
                let covered: f64 = self.taken.iter().map(|other| area.shared(other)).sum();
                if area.is_inside() && best.as_ref().is_none_or(|known| covered < known.0) {
                    best = Some((covered, Place { x, y, ends, far }, area));
                }
                if best.as_ref().is_some_and(|known| known.0 <= 0.0) {
                    break;
                }
            }
        }
        // A long name fits nowhere inside of the drawing.
        let (_, place, area) = best.unwrap_or((
            0.0,
            Place { x: dot.0 + 7.0, y: dot.1 + 4.0, ends: false, far: false },
            Area::around(dot),
        ));
        self.taken.push(area);
        place
    }
}
