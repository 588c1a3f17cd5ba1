//! The figures of a paper as SVG that needs no JavaScript. Each form has a file of its own.
//!
//! A discipline has the same colour in every figure of a paper. Disciplines that are newer than the
//! paper are dashed. Legends use the same strokes as the figures.

use std::fmt::Write as _;

use crate::reproduce::paper::FigureForm;
use crate::reproduce::picture::Picture;

use goodqueue_report::page_parts::escape;

mod columns;
mod cut;
mod ellipses;
mod lines;
mod parallel;
mod plane;
mod stacked;
mod strokes;
mod timeline;

use plane::diamond;
pub(super) use strokes::Strokes;

/// Draws one figure with its legend. `verdicts` stands below the caption, and `anchor` is the name
/// of the figure in links.
pub(super) fn figure(picture: &Picture, strokes: &Strokes, anchor: &str, verdicts: &str) -> String {
    // A discipline without a point has no place in the columns and the legend.
    let traces = picture.traces.iter().filter(|trace| !trace.points.is_empty()).cloned().collect();
    let picture = &Picture { traces, ..picture.clone() };
    let drawing = match picture.form {
        FigureForm::Cdf | FigureForm::Series => lines::draw(picture, strokes),
        FigureForm::Ellipse => ellipses::draw(picture, strokes),
        FigureForm::Box | FigureForm::Medians | FigureForm::Bars => columns::draw(picture, strokes),
        FigureForm::Parallel => parallel::draw(picture, strokes),
        FigureForm::Stacked => stacked::draw(picture, strokes),
        FigureForm::Timeline => timeline::draw(picture),
    };
    format!(
        "<figure id=\"{anchor}\">\n<figcaption><b>{}</b> {}</figcaption>\n{verdicts}<div class=\"scroll\">{drawing}</div><p class=\"legend\">{}</p>\n</figure>\n",
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
    let bar = "<rect class=\"fill\" x=\"1\" y=\"1\" width=\"26\" height=\"10\"/>";
    let shape = match picture.form {
        FigureForm::Cdf | FigureForm::Series | FigureForm::Parallel | FigureForm::Ellipse => line,
        _ => bar,
    };
    let is_column = matches!(picture.form, FigureForm::Box | FigureForm::Medians | FigureForm::Bars);
    let named = is_column && picture.traces.iter().all(|trace| trace.group.is_none());
    if named || picture.form == FigureForm::Ellipse {
        // The drawing has the names itself.
        if picture.traces.iter().any(|trace| trace.beyond) {
            entry("plain", shape, "the paper's disciplines");
            entry("plain dash", shape, "newer disciplines");
        }
    } else {
        let each_line = matches!(picture.form, FigureForm::Cdf | FigureForm::Series);
        let mut known: Vec<&str> = Vec::new();
        for trace in &picture.traces {
            let name = if each_line { &trace.name } else { &trace.label };
            if !known.contains(&name.as_str()) {
                known.push(name);
                let newer = if trace.beyond { " <small>(newer)</small>" } else { "" };
                let class =
                    if each_line { strokes.class_of_line(picture, trace) } else { strokes.class(trace) };
                entry(&class, shape, &format!("{}{newer}", escape(name)));
            }
        }
    }
    match picture.form {
        FigureForm::Box => entry("plain", BOX, "minimum, quartiles, median and maximum of the runs"),
        FigureForm::Medians => entry("plain", ERROR, "median and quartiles of the runs"),
        FigureForm::Bars => entry("plain", ERROR, "value and 95 % interval"),
        _ => {}
    }
    if picture.traces.iter().any(|trace| !trace.paper.is_empty()) {
        let mark = format!("<path class=\"paper\" d=\"{}\"/>", diamond((14.0, 6.0)));
        entry("plain", &mark, "value in the paper");
    }
    out
}

const BOX: &str = "<path class=\"line\" d=\"M0 6H8M20 6H28M13 1v10\"/><rect class=\"fill\" x=\"8\" y=\"1\" width=\"12\" height=\"10\"/>";
const ERROR: &str = "<path class=\"line\" d=\"M14 0V12M9 0h10M9 12h10\"/>";

#[cfg(test)]
mod tests;
