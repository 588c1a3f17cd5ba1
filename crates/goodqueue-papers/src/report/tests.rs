//! Stories about the page of papers.

use crate::reproduce::paper::FigureForm;
use crate::reproduce::picture::{Picture, Trace};
use crate::reproduce::verdicts;

use super::*;

type Point = (f64, f64);

fn trace(label: &str, group: &str, points: Vec<Point>) -> Trace {
    Trace {
        name: format!("{label}, {group}"),
        label: label.to_owned(),
        group: Some(group.to_owned()),
        beyond: label == "cake",
        paper: Vec::new(),
        points,
    }
}

fn picture(id: &str, form: FigureForm, traces: Vec<Trace>) -> Picture {
    Picture {
        id: id.to_owned(),
        title: "Something".to_owned(),
        axes: ["first axis, ms".to_owned(), "second axis".to_owned()],
        form,
        names: Vec::new(),
        panels: Vec::new(),
        experiments: Vec::new(),
        x: None,
        y: None,
        log: false,
        events: Vec::new(),
        traces,
    }
}

/// Samples that differ by label, group and place.
fn sample(label: usize, group: usize, place: usize) -> f64 {
    let number = |number: usize| f64::from(u32::try_from(number).unwrap());
    // Label 6 is FIFO.
    let outlier = if label == 6 { 8.0 } else { 1.0 };
    outlier * (20.0 + 11.0 * number((label * 5 + group * 3) % 7) + 9.0 * number(place))
}

fn columns(id: &str, form: FigureForm, places: usize) -> Picture {
    let labels =
        ["CoDel", "PIEupdate", "PIEthresh", "HRED", "HRED (aggressive)", "SFQ CoDel", "FIFO", "cake"];
    let groups = ["1+1", "2+2", "4+4 with 101 msec for the rest of the path", "6+6"];
    let mut traces = Vec::new();
    for (g, group) in groups.iter().enumerate() {
        for (l, label) in labels.iter().enumerate() {
            let points = (0..places).map(|place| (sample(l, g, place), 0.0)).collect();
            let paper = if l == 2 { vec![(80.0, 0.0)] } else { Vec::new() };
            traces.push(Trace { paper, ..trace(label, group, points) });
        }
    }
    picture(id, form, traces)
}

fn lines(id: &str, form: FigureForm) -> Picture {
    let labels = ["CoDel", "PIEupdate", "HRED", "FIFO"];
    let of = |l: usize| {
        let far = if l == 3 { 9.0 } else { 1.0 };
        (0_u32..=50).map(move |n| {
            let share = f64::from(n) / 50.0;
            let l = f64::from(u32::try_from(l).unwrap());
            match form {
                FigureForm::Series => (share * 25.0, far * (20.0 + l * 10.0) * (1.5 - share)),
                _ => (far * (40.0 + l * 30.0) * share * share, share),
            }
        })
    };
    let traces = labels.iter().enumerate().map(|(l, label)| trace(label, "4+4", of(l).collect()));
    picture(id, form, traces.collect())
}

fn every_form() -> Vec<Picture> {
    let mut bars = columns("Table II", FigureForm::Bars, 3);
    bars.traces.retain(|trace| trace.label != "cake");
    let mut log = columns("Table III", FigureForm::Bars, 3);
    log.log = true;
    let mut panels = bars.clone();
    panels.panels = vec![(0.0, 100.0), (0.0, 0.0), (0.0, 50.0), (0.0, 200.0)];
    let mut single = bars.clone();
    single.traces.retain(|trace| trace.group.as_deref() == Some("1+1"));
    single.traces.iter_mut().for_each(|trace| trace.group = None);
    let mut parallel = columns("Fig. 4", FigureForm::Parallel, 2);
    parallel.names = vec!["E[Q]/Qmax, %".to_owned(), "TCP's share, %".to_owned()];
    for trace in &mut parallel.traces {
        for (number, point) in (0_u32..).zip(&mut trace.points) {
            *point = (f64::from(number), point.0);
        }
    }
    parallel.traces.truncate(24);
    let flows = ["DropTail", "RED"].iter().flat_map(|group| {
        (1_u32..=10).map(move |flow| {
            let sort = if flow <= 5 { "TCP" } else { "LEDBAT" };
            let edge = |n: u32| {
                (
                    f64::from(n),
                    f64::from(flow * 10) - f64::from((n * flow) % 3) * (if flow < 10 { 1.0 } else { 0.0 }),
                )
            };
            trace(sort, group, (0..60).map(edge).collect())
        })
    });
    let mut timeline = picture("Fig. 5", FigureForm::Timeline, Vec::new());
    let rows = [
        ("AQM", vec![("SFQ", 1990), ("RED", 1993), ("DRR", 1995), ("CHOKe", 2000), ("CoDel", 2012)]),
        ("LPCC", vec![("NICE", 2002), ("TCP-LP", 2003), ("LEDBAT", 2009)]),
    ];
    timeline.events = rows
        .map(|(name, events)| (name.to_owned(), events.into_iter().map(|(e, y)| (e.to_owned(), y)).collect()))
        .to_vec();
    let ellipses = ["CoDel", "PIEupdate", "HRED", "FIFO"].iter().enumerate().map(|(l, label)| {
        let points = (0..5).map(|place| (sample(l * 2, 0, place), 9.0 + sample(place, l, 1) / 100.0));
        trace(label, "10/10", points.collect())
    });
    let mut ellipse = picture("Fig. 2", FigureForm::Ellipse, ellipses.collect());
    ellipse.x = Some((0.0, 150.0));
    ellipse.y = Some((9.0, 9.3));
    vec![
        lines("Fig. 2, delay", FigureForm::Cdf),
        lines("Fig. 7", FigureForm::Series),
        ellipse,
        columns("Fig. 3", FigureForm::Medians, 3),
        columns("Fig. 6", FigureForm::Box, 5),
        bars,
        log,
        panels,
        single,
        parallel,
        picture("Fig. 1", FigureForm::Stacked, flows.collect()),
        timeline,
    ]
}

fn page_of(paper: &str, pictures: Vec<Picture>) -> String {
    let papers = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../goodqueue-papers/papers");
    let results = PaperResults {
        title: "A paper".to_owned(),
        source: "Somebody, A paper, 2014".to_owned(),
        claims: verdicts::load(&papers.join(paper).join("verdicts.json")).unwrap(),
        pictures,
        metrics: Vec::new(),
    };
    papers_html(&[results], &format!("goodqueue reproduce {paper}"))
}

fn page() -> String {
    page_of("jk", every_form())
}

#[test]
fn the_page_begins_with_the_failures_and_leads_from_each_to_its_figure() {
    let page = page();
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    let failures = at("<b class=\"no\">not reproduced</b>");
    assert!(at("<nav>") < failures && failures < at("<b class=\"yes\">reproduced</b>"));
    assert!(at("<b class=\"yes\">reproduced</b>") < at("<figure id=\"figure-0-0\">"));
    // Of the claims about Table II one at least is linked with the figure, which links it in turn.
    let table = at("<b>Table II</b>");
    let anchor = page[..table].rsplit("<figure id=\"").next().and_then(|text| text.split('"').next());
    let link = format!("<a href=\"#{}\">Table II</a>", anchor.unwrap());
    let listed = &page[failures..table];
    assert!(listed.matches(&link).count() > 2, "{listed}");
    assert!(page[table..].split("<svg").next().unwrap().contains("<a href=\"#jk-table2-"));
    let command = page[table..].split("<svg").next().unwrap();
    assert!(command.contains("<code>goodqueue reproduce jk-table2-"), "the command behind the figure");
}

#[test]
fn the_value_of_a_failed_claim_ends_with_its_unit_or_with_a_digit() {
    let values = |page: &str| -> Vec<String> {
        let values = page.split("<b>Paper: ").skip(1).filter_map(|text| text.split(".</b>").next());
        values.map(str::to_owned).collect()
    };
    let seconds = values(&page());
    assert!(!seconds.is_empty() && seconds.iter().all(|value| value.ends_with(" s")), "{seconds:?}");
    let shares = values(&page_of("nj", Vec::new()));
    assert!(shares.iter().any(|value| value.ends_with(char::is_numeric)), "{shares:?}");
    assert!(!shares.iter().any(|value| value.ends_with(' ')), "{shares:?}");
}

#[test]
fn every_link_of_the_page_leads_somewhere_and_nothing_is_a_program() {
    let page = page();
    for link in page.split("href=\"#").skip(1).filter_map(|text| text.split('"').next()) {
        assert!(page.contains(&format!(" id=\"{link}\"")), "{link}");
    }
    assert!(!page.contains("<script") && !page.contains("NaN"));
}

#[test]
fn an_outlier_does_not_squeeze_the_others() {
    let page = page();
    assert_eq!(page.matches("the whole range").count(), 2, "beside the lines");
    assert!(page.contains("the paper's plot") && page.contains("outside: FIFO"), "beside the ellipses");
    assert!(page.contains("class=\"break\""), "of the columns");
}

#[test]
fn each_panel_has_its_own_axis_and_only_what_leaves_the_paper_s_range_is_broken() {
    let mut figure = columns("Fig. 4", FigureForm::Bars, 3);
    figure.traces.retain(|trace| trace.label != "cake" && trace.label != "FIFO");
    figure.panels = vec![(0.0, 500.0), (0.0, 0.0), (0.0, 500.0), (0.0, 50.0)];
    let paper = PaperResults {
        title: String::new(),
        source: String::new(),
        claims: Vec::new(),
        pictures: vec![figure],
        metrics: Vec::new(),
    };
    let page = papers_html(&[paper], "");
    let (whole, last) = page.rsplit_once("<text class=\"mid group\"").unwrap();
    assert!(!whole.contains("class=\"break\"") && last.contains("class=\"break\""));
    assert_eq!(page.matches("first axis, ms").count(), 4, "an axis for each");
}
