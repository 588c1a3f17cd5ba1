//! The page of papers in a real browser. Without Chromium or Chrome in `PATH` nothing is tested.

use goodqueue_papers::report::{PaperResults, papers_html};

#[path = "../../goodqueue-report/tests/browser/mod.rs"]
mod browser;

use browser::{chromium, dump_dom};

#[test]
fn the_page_of_papers_has_its_style() {
    let papers = PaperResults {
        title: "A paper".to_owned(),
        source: String::new(),
        claims: Vec::new(),
        pictures: Vec::new(),
        metrics: Vec::new(),
    };
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("papers.html");
    std::fs::write(&file, papers_html(&[papers], "goodqueue reproduce")).expect("to write the page");
    let dom = dump_dom(&chromium, dir.path(), &format!("file://{}", file.display()), 1400);
    assert!(dom.contains("A paper"), "{dom}");
}
