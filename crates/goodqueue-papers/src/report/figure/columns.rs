//! Boxes, medians and bars: a column for each cell, grouped by experiment, upright as in the
//! papers. A column that ends far above all others is broken, and its end is written at the break.

use std::fmt::Write as _;

use crate::reproduce::paper::FigureForm;
use crate::reproduce::picture::{Picture, Trace};
use crate::reproduce::{figures, three_figures};

use super::cut::cut;
use super::plane::{Axis, BOTTOM, HEIGHT, LEFT, LINE, Plane, RIGHT, TOP, WIDTH, count, diamond, width};
use super::strokes::{Strokes, opening};
use goodqueue_report::page_parts::escape;

/// Columns side by side, with what is written below them.
struct Group<'p> {
    name: &'p str,
    traces: Vec<&'p Trace>,
}

pub(super) fn draw(picture: &Picture, strokes: &Strokes) -> String {
    let groups = groups(picture);
    let panels: Vec<Panel<'_>> = if picture.panels.is_empty() {
        let plane = Plane::new(Axis::linear((0.0, 1.0)), axis(picture));
        vec![Panel { plane, groups }]
    } else {
        side_by_side(groups, &picture.panels)
    };
    let lines = panels.iter().flat_map(Panel::names).map(|words| words.len()).max().unwrap_or(1);
    let height = HEIGHT - BOTTOM + 8.0 + count(lines) * LINE;
    let mut out = opening(picture, height);
    for panel in &panels {
        panel.draw(picture, strokes, &mut out);
    }
    out + "</svg>\n"
}

/// Groups of columns on one axis.
struct Panel<'p> {
    plane: Plane,
    groups: Vec<Group<'p>>,
}

/// A panel for each group, with the range that it has in the paper, or with room above its values.
fn side_by_side<'p>(groups: Vec<Group<'p>>, ranges: &[(f64, f64)]) -> Vec<Panel<'p>> {
    let each = WIDTH / count(groups.len().max(1));
    let panel = |(number, group): (usize, Group<'p>)| {
        let values = group.traces.iter().flat_map(|trace| trace.points.iter().chain(&trace.paper));
        // An axis needs a length, also if all values are zero.
        let highest = values.map(|point| point.0).fold(1e-9, f64::max);
        // The room above the values is for their words, as in `axis`.
        let y = Axis::linear((0.0, 1.13 * highest)).with(ranges.get(number).copied());
        let left = count(number) * each + LEFT;
        // Where panels are many, their margins leave no room.
        let right = (left - LEFT + each - RIGHT).max(left + 1.0);
        Panel { plane: Plane { left, right, ..Plane::new(Axis::linear((0.0, 1.0)), y) }, groups: vec![group] }
    };
    groups.into_iter().enumerate().map(panel).collect()
}

impl Panel<'_> {
    /// Width of a column with the space beside it. Between groups is a gap of one column.
    fn each(&self) -> f64 {
        let all: usize = self.groups.iter().map(|group| group.traces.len()).sum();
        // A figure without a column must not divide by zero.
        (self.plane.right - self.plane.left) / (count(all) + count(self.groups.len())).max(1.0)
    }

    /// The names of the groups, broken into lines.
    fn names(&self) -> Vec<Vec<String>> {
        // A name may reach into half of the gap on each side, less a little space.
        let wide = |group: &Group<'_>| (count(group.traces.len()) + 0.9) * self.each() / BOLD;
        self.groups.iter().map(|group| wrap(group.name, wide(group))).collect()
    }

    fn draw(&self, picture: &Picture, strokes: &Strokes, out: &mut String) {
        let plane = &self.plane;
        let each = self.each();
        plane.frame_y(&picture.axes[0], out);
        let mut x = plane.left + 0.5 * each;
        for (group, words) in self.groups.iter().zip(self.names()) {
            let middle = x + count(group.traces.len()) * each / 2.0;
            for (number, word) in words.iter().enumerate() {
                let _ = writeln!(
                    out,
                    "<text class=\"mid group\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text>",
                    plane.bottom() + 4.0 + LINE * (count(number) + 1.0),
                    escape(word)
                );
            }
            for trace in &group.traces {
                // 0.84 of the place: the rest is the space between columns.
                let half = (0.42 * each).min(WIDEST / 2.0);
                Column { plane, middle: x + each / 2.0, half }.draw(picture.form, trace, strokes, out);
                x += each;
            }
            x += each;
        }
        let _ = writeln!(
            out,
            "<path class=\"axis\" d=\"M{:.1} {:.1}H{:.1}\"/>",
            plane.left,
            plane.bottom(),
            plane.right
        );
    }
}

/// The groups in the order of their first columns. Without groups each column has its discipline's
/// name below.
fn groups(picture: &Picture) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for trace in &picture.traces {
        let name = trace.group.as_deref().unwrap_or(&trace.label);
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.traces.push(trace),
            None => groups.push(Group { name, traces: vec![trace] }),
        }
    }
    groups
}

/// The axis of the values: the paper's range; otherwise from zero, but for boxes far away from it.
fn axis(picture: &Picture) -> Axis {
    let values = |label: &str| -> Vec<f64> {
        let traces = picture.traces.iter().filter(|trace| trace.label == label);
        traces.flat_map(|trace| trace.points.iter().chain(&trace.paper)).map(|point| point.0).collect()
    };
    let cut = cut(picture, picture.x, picture.log, &values);
    let (low, high) = cut.axis.range;
    if picture.log && picture.form == FigureForm::Bars {
        // Room for the values above the bars, as a factor.
        return Axis { range: (low, high * 1.6), log: true };
    }
    if picture.log || cut.axis == cut.whole.with(picture.x) && picture.x.is_some() {
        return cut.axis;
    }
    // From zero on, boxes far away from it would be squeezed into the end of the axis.
    let from_zero = picture.form != FigureForm::Box || low < high / 2.0;
    // Room for the values above the bars.
    let room = if picture.form == FigureForm::Bars { (high - low.min(0.0)) * 0.13 } else { 0.0 };
    Axis::linear((if from_zero { low.min(0.0) } else { low }, high + room))
}

/// A place for a trace.
struct Column<'p> {
    plane: &'p Plane,
    middle: f64,
    /// Half of the width.
    half: f64,
}

impl Column<'_> {
    fn draw(&self, form: FigureForm, trace: &Trace, strokes: &Strokes, out: &mut String) {
        let values: Vec<f64> = trace.points.iter().map(|point| point.0).collect();
        let words = values.iter().map(|value| figures(*value)).collect::<Vec<_>>().join(", ");
        let _ = write!(
            out,
            "<g class=\"{}\"><title>{}: {words}</title>",
            strokes.class(trace),
            escape(&trace.name)
        );
        match (form, values.as_slice()) {
            (FigureForm::Box, &[least, lower, median, upper, most]) => {
                self.boxed([least, lower, median, upper, most], out);
            }
            (FigureForm::Medians | FigureForm::Bars, &[low, value, high]) => {
                self.bar([low, value, high], out)
            }
            _ => {}
        }
        *out += "</g>\n";
        for (paper, _) in &trace.paper {
            let _ = writeln!(
                out,
                "<path class=\"paper\" d=\"{}\"><title>{}, the paper: {}</title></path>",
                diamond((self.middle, self.y(*paper))),
                escape(&trace.name),
                figures(*paper)
            );
        }
        // A cell without a sample has no values, and nothing to write.
        let end = values.last().copied().unwrap_or(0.0);
        // Nothing is above the break but its own value.
        if self.is_beyond(end) {
            self.broken(end, out);
        } else if form == FigureForm::Bars
            && let Some(value) = values.get(1)
        {
            let marks: Vec<f64> = trace.paper.iter().map(|mark| self.y(mark.0)).collect();
            let words = label(*value);
            self.written(&words, self.beside(self.y(end), self.y(*value), &marks, width(&words)), out);
        }
    }

    /// Where the value of a bar is written, upright and from there on up: above the bar and below
    /// the paper's mark if it fits there, else inside of the bar, else above both. A value above a
    /// mark would be taken for the mark's.
    fn beside(&self, end: f64, top: f64, marks: &[f64], long: f64) -> f64 {
        let clear = |from: f64| {
            let to = from - long;
            to >= 0.0 && marks.iter().all(|mark| *mark < to - MARK || *mark > from + MARK)
        };
        let lowest = marks.iter().copied().fold(top, f64::max);
        let inside = [top + 6.0 + long, lowest + 2.0 * MARK + long];
        let inside = inside.into_iter().find(|from| *from < self.plane.bottom() - 2.0 && clear(*from));
        let highest = marks.iter().copied().fold(end, f64::min);
        let above = Some(end - 4.0).filter(|from| clear(*from));
        // Text that begins closer to the upper edge than its length would end above the drawing.
        above.or(inside).unwrap_or_else(|| (highest - 9.0).max(long))
    }

    fn is_beyond(&self, value: f64) -> bool {
        // A value at the end of the axis may come out a little above 1.
        self.plane.y.share(value) > 1.0 + 1e-9
    }

    /// Where a value lies, not outside of the axis.
    fn y(&self, value: f64) -> f64 {
        self.plane.y_at(value).clamp(TOP, self.plane.bottom())
    }

    fn boxed(&self, [least, lower, median, upper, most]: [f64; 5], out: &mut String) {
        let x = self.middle;
        let half = self.half;
        let [least, lower, median, upper, most] = [least, lower, median, upper, most].map(|v| self.y(v));
        let _ = write!(
            out,
            "<path class=\"line whole\" d=\"M{x:.1} {least:.1}V{lower:.1}M{x:.1} {upper:.1}V{most:.1}\"/>\
             <rect class=\"fill\" x=\"{:.1}\" y=\"{upper:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\
             <path class=\"line whole\" d=\"M{:.1} {median:.1}h{:.1}\"/>",
            x - half,
            2.0 * half,
            // A box without height stays visible.
            (lower - upper).max(1.0),
            x - half,
            2.0 * half,
        );
    }

    fn bar(&self, [low, value, high]: [f64; 3], out: &mut String) {
        let x = self.middle;
        let half = self.half;
        // A logarithmic axis has no zero, so bars stand on its lower end.
        let zero = self.y(if self.plane.y.log { self.plane.y.range.0 } else { 0.0 });
        let [low, value, high] = [low, value, high].map(|v| self.y(v));
        let cap = half / 2.0;
        let _ = write!(
            out,
            "<rect class=\"fill\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\
             <path class=\"line whole thin\" d=\"M{x:.1} {low:.1}V{high:.1}M{:.1} {low:.1}h{half:.1}M{:.1} {high:.1}h{half:.1}\"/>",
            x - half,
            // A rectangle begins at its upper edge, which is the zero line of a value below zero.
            value.min(zero),
            2.0 * half,
            // A bar of zero stays visible.
            (value - zero).abs().max(1.0),
            x - cap,
            x - cap,
        );
    }

    /// Marks a column as broken at the top, and writes where it ends.
    fn broken(&self, end: f64, out: &mut String) {
        let left = self.middle - self.half - 2.0;
        let wide = self.half + 2.0;
        let _ = writeln!(
            out,
            "<path class=\"break\" d=\"M{left:.1} {:.1}l{:.1} -5l{:.1} 5l{:.1} -5l{:.1} 5\"/>",
            TOP + 12.0,
            wide / 2.0,
            wide / 2.0,
            wide / 2.0,
            wide / 2.0,
        );
        let words = format!("to {}", three_figures(end));
        self.written(&words, TOP + 20.0 + width(&words), out);
    }

    /// Writes upright text that begins at `y` and goes up.
    fn written(&self, words: &str, y: f64, out: &mut String) {
        // Upright letters are left of their baseline, so half of their height is added.
        let x = self.middle + 4.0;
        let _ = writeln!(
            out,
            "<text class=\"value\" x=\"{x:.1}\" y=\"{y:.1}\" transform=\"rotate(-90 {x:.1} {y:.1})\">{words}</text>"
        );
    }
}

/// Three figures, or two of a value that would lose them.
fn label(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 0.001 => format!("{value:.1e}"),
        size if size < 0.01 => format!("{value:.4}"),
        _ => three_figures(value),
    }
}

/// Breaks text at spaces into lines of this width, three at most.
fn wrap(text: &str, wide: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_full = lines.len() == MOST_LINES;
        match lines.last_mut() {
            // The last line takes the rest, however wide it gets.
            Some(line) if is_full || width(line) + width(word) + width(" ") <= wide => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// How much wider than other letters those of the groups' names are.
const BOLD: f64 = 1.2;
/// Half of the height of a mark, with some space.
const MARK: f64 = 7.0;
/// Width of the widest columns.
const WIDEST: f64 = 44.0;
const MOST_LINES: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_keep_their_figures() {
        assert_eq!([0.0, 0.00357, 0.0128, 13.27].map(label), ["0", "0.0036", "0.013", "13.3"]);
    }

    #[test]
    fn names_of_groups_are_broken_at_spaces() {
        assert_eq!(wrap("edge 512K three uploads", 80.0), ["edge 512K", "three", "uploads"]);
        assert_eq!(wrap("1+1", 10.0), ["1+1"]);
        assert_eq!(wrap("a b c d e", 1.0), ["a", "b", "c d e"]);
    }
}
