//! Colours and strokes of the disciplines of a paper.

use crate::reproduce::picture::{Picture, Trace};

use super::plane::WIDTH;
use goodqueue_report::page_parts::escape;

/// The colour and stroke of each discipline of a paper, by the order in its figures. The
/// disciplines of the paper come first.
pub(crate) struct Strokes(Vec<String>);

impl Strokes {
    pub(crate) fn from_pictures(pictures: &[Picture]) -> Self {
        let mut labels: Vec<String> = Vec::new();
        // The colour follows from the place, so disciplines beside the paper's must not move those.
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
    pub(super) fn class(&self, trace: &Trace) -> String {
        let number = self.0.iter().position(|label| *label == trace.label).unwrap_or(0);
        let stroke = match (trace.beyond, number < COLOURS) {
            (true, true) => " dash",
            (true, false) => " dashdot",
            (false, false) => " dots",
            (false, true) => "",
        };
        format!("c{}{stroke}", number % COLOURS)
    }

    /// Returns the same for a line of a picture. A second line of a discipline has another stroke,
    /// so that the legend tells the two apart.
    pub(super) fn class_of_line(&self, picture: &Picture, trace: &Trace) -> String {
        let mut names = Vec::new();
        for known in picture.traces.iter().filter(|known| known.label == trace.label) {
            if !names.contains(&&known.name) {
                names.push(&known.name);
            }
        }
        let class = self.class(trace);
        match names.iter().position(|name| **name == trace.name) {
            Some(1) => format!("{class} second"),
            Some(2..) => format!("{class} third"),
            _ => class,
        }
    }
}

/// Starts the drawing of a figure.
pub(super) fn opening(picture: &Picture, height: f64) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{} {}\">\n",
        escape(&picture.id),
        escape(&picture.title)
    )
}

/// Number of colours in `assets/papers.css`.
const COLOURS: usize = 12;
