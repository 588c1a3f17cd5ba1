//! Years of algorithms: a row for each kind, and a dot for each algorithm.

use std::fmt::Write as _;

use crate::reproduce::picture::Picture;

use super::plane::{LINE, RIGHT, WIDTH, count, width};
use super::strokes::opening;
use goodqueue_report::page_parts::escape;

pub(super) fn draw(picture: &Picture) -> String {
    let years = || picture.events.iter().flat_map(|row| &row.1).map(|event| f64::from(event.1));
    let first = years().fold(f64::INFINITY, f64::min);
    let last = years().fold(0.0, f64::max);
    if !first.is_finite() {
        return opening(picture, LINE) + "</svg>\n";
    }
    // A timeline of a single year needs a length, too.
    let first = first - 1.0;
    let last = last + 1.0;
    let x_at = |year: f64| EDGE + (year - first) / (last - first) * (WIDTH - RIGHT - 2.0 * EDGE);
    let height = ROW * count(picture.events.len()) + 2.0 * LINE;
    let mut out = opening(picture, height);
    let mut year = (first / 5.0).ceil() * 5.0;
    // Lines of a longer timeline could not be told apart.
    while year <= last && last - first < LONGEST {
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{:.1} 0V{:.1}\"/><text class=\"mid\" x=\"{:.1}\" y=\"{:.1}\">{year}</text>",
            x_at(year),
            height - 1.5 * LINE,
            x_at(year),
            height - 4.0
        );
        year += 5.0;
    }
    for (number, (name, events)) in picture.events.iter().enumerate() {
        let y = ROW * (count(number) + 0.75);
        let _ = writeln!(
            out,
            "<g class=\"c{number}\"><path class=\"line\" d=\"M{EDGE} {y:.1}H{:.1}\"/><text class=\"group\" x=\"0\" y=\"{:.1}\">{}</text>",
            WIDTH - RIGHT,
            y + 4.0,
            escape(name)
        );
        // A name is written above the ends of those before that it would cover.
        // A row has room for four lines of names above its dots.
        let mut ends = [f64::NEG_INFINITY; 4];
        let mut sorted: Vec<&(String, u16)> = events.iter().collect();
        sorted.sort_by_key(|event| event.1);
        for (event, year) in sorted {
            let x = x_at(f64::from(*year));
            let wide = width(event) + 6.0;
            // A name that fits nowhere covers one in the lowest line.
            let level = ends.iter().position(|end| *end < x - wide / 2.0).unwrap_or(0);
            ends[level] = x + wide / 2.0;
            let _ = writeln!(
                out,
                "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{}: {year}</title></circle><text class=\"mid name\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                escape(event),
                y - 9.0 - LINE * count(level),
                escape(event)
            );
        }
        out += "</g>\n";
    }
    out + "</svg>\n"
}

const ROW: f64 = 86.0;
/// Room for half of a name, and for the name of the row.
const EDGE: f64 = 70.0;
/// Years of a timeline that can be read.
const LONGEST: f64 = 200.0;
