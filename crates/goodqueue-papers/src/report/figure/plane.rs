//! A plane with axes, which maps values to coordinates of the drawing.

use std::fmt::Write as _;

use crate::reproduce::figures;

use goodqueue_report::page_parts::escape;

pub(super) type Point = (f64, f64);

/// The values along an axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Axis {
    /// Lowest and highest value that is drawn.
    pub range: (f64, f64),
    /// True if the logarithm of the values is drawn.
    pub log: bool,
}

impl Axis {
    pub(super) const fn linear(range: (f64, f64)) -> Self {
        Self { range, log: false }
    }

    /// An axis for these values. A logarithmic axis leaves out values that have no logarithm.
    pub(super) fn over(values: impl Iterator<Item = f64> + Clone, log: bool) -> Self {
        if !log {
            return Self::linear(extent(values));
        }
        let positive = values.filter(|value| value.is_finite() && *value > 0.0);
        let (low, high) = positive.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        if !low.is_finite() {
            return Self { range: (0.1, 1.0), log };
        }
        let least = low.max(high * LEAST_SHARE);
        // On a logarithmic axis equal margins are equal factors.
        Self { range: (least / 1.15, high * 1.15), log }
    }

    /// The axis with the range that the paper has, if that is one.
    pub(super) fn with(self, paper: Option<(f64, f64)>) -> Self {
        let usable = |(low, high): &(f64, f64)| {
            low.is_finite()
                && high.is_finite()
                && high > low
                && (high - low).is_finite()
                && !(self.log && *low <= 0.0)
        };
        match paper.map(|(a, b)| (a.min(b), a.max(b))).filter(usable) {
            Some(range) => Self { range, ..self },
            None => self,
        }
    }

    /// Returns where a value lies, from 0 to 1 inside of the range.
    pub(super) fn share(&self, value: f64) -> f64 {
        let (low, high) = self.range;
        if self.log {
            // Zero has no logarithm. It is drawn far below the axis.
            let value = value.max(low * 1e-3);
            return libm::log(value / low) / libm::log(high / low);
        }
        (value - low) / (high - low)
    }

    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.log { decades(self.range.into()) } else { ticks(self.range.into()) }
    }
}

/// A part of the drawing with axes.
#[derive(Clone, Copy)]
pub(super) struct Plane {
    pub x: Axis,
    pub y: Axis,
    /// True if larger x values are further left, so that the better corner is the upper right one.
    pub reversed: bool,
    /// Left end of the x axis.
    pub left: f64,
    /// Right end of the x axis.
    pub right: f64,
}

impl Plane {
    pub(super) const fn new(x: Axis, y: Axis) -> Self {
        Self { x, y, reversed: false, left: LEFT, right: WIDTH - RIGHT }
    }

    pub(super) fn x_at(&self, value: f64) -> f64 {
        let share = self.x.share(value);
        self.left + (if self.reversed { 1.0 - share } else { share }) * (self.right - self.left)
    }

    #[expect(clippy::unused_self, reason = "the drawings have the same height today")]
    pub(super) const fn bottom(&self) -> f64 {
        HEIGHT - BOTTOM
    }

    pub(super) fn y_at(&self, value: f64) -> f64 {
        TOP + (1.0 - self.y.share(value)) * (self.bottom() - TOP)
    }

    /// Draws the grid lines and ticks of both axes, and their names.
    pub(super) fn frame(&self, axes: [&str; 2], out: &mut String) {
        for tick in self.x.ticks() {
            let x = self.x_at(tick);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{x:.1} {TOP}V{:.1}\"/><text x=\"{x:.1}\" y=\"{:.1}\" class=\"mid\">{}</text>",
                self.bottom(),
                self.bottom() + 16.0,
                figures(tick)
            );
        }
        let middle = f64::midpoint(self.left, self.right);
        let _ = writeln!(
            out,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" class=\"mid\">{}</text>",
            HEIGHT - 4.0,
            escape(axes[0])
        );
        self.frame_y(axes[1], out);
    }

    /// Draws the grid lines and ticks of the y axis, and its name.
    pub(super) fn frame_y(&self, name: &str, out: &mut String) {
        for tick in self.y.ticks() {
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
        let middle = f64::midpoint(TOP, self.bottom());
        let x = self.left - LEFT + 12.0;
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{middle:.1}\" class=\"mid\" transform=\"rotate(-90 {x:.1} {middle:.1})\">{}</text>",
            escape(name)
        );
    }

    /// Starts a part of the drawing in which nothing shows outside of the axes; `</svg>` ends it.
    pub(super) fn clip(&self) -> String {
        let width = self.right - self.left;
        let height = self.bottom() - TOP;
        format!(
            "<svg x=\"{:.1}\" y=\"{TOP}\" width=\"{width:.1}\" height=\"{height:.1}\" viewBox=\"{:.1} {TOP} {width:.1} {height:.1}\">\n",
            self.left, self.left
        )
    }

    pub(super) fn path(&self, points: &[Point]) -> String {
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

/// Returns the path of the mark for a value from the paper.
pub(super) fn diamond((x, y): Point) -> String {
    format!("M{x:.1} {:.1}l5 5l-5 5l-5 -5z", y - 5.0)
}

/// Returns the range of the values with a small margin. The margin does not extend below zero if no
/// value is negative.
pub(super) fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
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
pub(super) fn ticks([low, high]: [f64; 2]) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let power = libm::exp10(libm::floor(libm::log10(rough)));
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|step| *step >= rough).unwrap_or(rough);
    // A rounding error must not hide a tick at the very beginning of the range.
    let first = libm::ceil(low / step - 1e-9);
    // A step is a fifth of the range at least, so no more than six ticks are within it.
    let at = (0_u32..12).map(|n| (first + f64::from(n)) * step);
    // 3 × 0.1 must be displayed as 0.3.
    at.take_while(|tick| *tick <= high + step * 1e-9).map(|tick| (tick / step).round() * step).collect()
}

/// Returns the powers of ten within a range, and between them 2 and 5 if there are few.
fn decades([low, high]: [f64; 2]) -> Vec<f64> {
    let first = libm::floor(libm::log10(low));
    let powers = (0_u32..MOST_DECADES).map(|n| libm::exp10(first + f64::from(n)));
    let within = |tick: &f64| *tick >= low * (1.0 - 1e-9) && *tick <= high * (1.0 + 1e-9);
    let few: &[f64] = if high / low < 1000.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    powers.flat_map(|power| few.iter().map(move |n| n * power)).filter(within).collect()
}

/// Returns the approximate width of text in the drawing.
pub(super) fn width(text: &str) -> f64 {
    LETTER * f64::from(u32::try_from(text.chars().count()).unwrap_or(u32::MAX))
}

pub(super) fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

pub(super) const WIDTH: f64 = 760.0;
pub(super) const HEIGHT: f64 = 340.0;
/// Room for ticks of seven digits and the name of the axis.
pub(super) const LEFT: f64 = 74.0;
pub(super) const RIGHT: f64 = 14.0;
pub(super) const TOP: f64 = 10.0;
pub(super) const BOTTOM: f64 = 40.0;
/// Approximate width of a letter in the drawing.
const LETTER: f64 = 6.6;
/// Approximate height of a line of text in the drawing.
pub(super) const LINE: f64 = 13.0;
/// A logarithmic axis begins at this share of its end at the least.
const LEAST_SHARE: f64 = 1e-5;
// A paper's file may give a range of hundreds of decades.
const MOST_DECADES: u32 = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_range() {
        assert_eq!(ticks([0.0, 1.0]).len(), 6);
        assert!(ticks([-0.3, 97.0]).iter().all(|tick| (0.0..=97.0).contains(tick)));
        assert_eq!(extent([0.0, 10.0].into_iter()).0, 0.0);
        assert_eq!(decades([0.9, 1100.0]), [1.0, 10.0, 100.0, 1000.0]);
    }

    #[test]
    fn an_axis_has_the_range_of_the_paper_unless_that_is_none() {
        let axis = Axis::over([1.0, 100.0].into_iter(), false);
        assert_eq!(axis.with(Some((80.0, 0.0))).range, (0.0, 80.0), "given from right to left");
        for wrong in [(f64::NAN, 1.0), (1.0, 1.0), (0.0, f64::INFINITY), (f64::MIN, f64::MAX)] {
            assert_eq!(axis.with(Some(wrong)), axis);
        }
        let log = Axis::over([0.0, 1.0, 100.0].into_iter(), true);
        assert_eq!(log.with(Some((0.0, 80.0))), log, "zero has no logarithm");
        assert!((log.share(10.0) - 0.5).abs() < 1e-9 && log.share(0.0) < 0.0);
    }
}
