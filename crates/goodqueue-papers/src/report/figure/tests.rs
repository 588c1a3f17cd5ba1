//! Stories about drawings.

use crate::reproduce::picture::Trace;

use super::plane::Point;
use super::*;

fn trace(label: &str, beyond: bool, points: Vec<Point>) -> Trace {
    let name = format!("{label}, 1+1");
    let group = Some("1+1".to_owned());
    Trace { name, label: label.to_owned(), group, beyond, paper: vec![(3.0, 0.0)], points }
}

fn picture(form: FigureForm, traces: Vec<Trace>) -> Picture {
    let axes = ["delay, ms".to_owned(), "share".to_owned()];
    let names = vec!["rate".to_owned(), "delay".to_owned(), "share".to_owned()];
    Picture {
        id: "Fig. 2".to_owned(),
        title: "CDF".to_owned(),
        axes,
        form,
        names,
        panels: Vec::new(),
        experiments: Vec::new(),
        x: None,
        y: None,
        log: false,
        events: vec![("AQM".to_owned(), vec![("R<D".to_owned(), 1993)])],
        traces,
    }
}

fn drawn(picture: &Picture) -> String {
    figure(picture, &Strokes::from_pictures(std::slice::from_ref(picture)), "figure-0-0", "")
}

const FORMS: [FigureForm; 9] = [
    FigureForm::Cdf,
    FigureForm::Series,
    FigureForm::Ellipse,
    FigureForm::Box,
    FigureForm::Medians,
    FigureForm::Bars,
    FigureForm::Parallel,
    FigureForm::Stacked,
    FigureForm::Timeline,
];

#[test]
fn every_form_is_drawn_and_names_are_escaped() {
    for form in FORMS {
        for points in [vec![], vec![(1.0, 2.0), (2.0, 3.0), (4.0, 1.0)], vec![(5.0, 5.0); 5]] {
            let drawn = drawn(&picture(form, vec![trace("a<b", false, points)]));
            assert!(drawn.contains("<svg") && !drawn.contains("a<b") && !drawn.contains("NaN"), "{drawn}");
        }
    }
}

#[test]
fn a_curve_its_key_and_the_mark_of_the_paper_look_alike_and_no_two_disciplines_do() {
    let points = vec![(1.0, 2.0), (2.0, 3.0)];
    let labels: Vec<String> = (0..14).map(|number| format!("q{number}")).collect();
    let traces = labels.iter().enumerate().map(|(n, label)| trace(label, n > 9, points.clone()));
    let picture = picture(FigureForm::Series, traces.collect());
    let strokes = Strokes::from_pictures(std::slice::from_ref(&picture));
    let drawn = figure(&picture, &strokes, "figure-0-0", "");
    let mut seen: Vec<String> = Vec::new();
    for trace in &picture.traces {
        let class = strokes.class(trace);
        // Once each for the key, the curve and the paper's mark.
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
