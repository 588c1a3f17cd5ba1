//! Reproductions of papers as one HTML file: the verdicts, failures first; the figures in the form
//! of the papers, as SVG that needs no JavaScript; and each claim next to the measured value.

use std::fmt::Write as _;

use goodqueue_report::page_parts::{CSS, escape, policy};

mod claims;
mod contents;
mod figure;
mod metrics;
mod place;
mod results;
mod value;

use contents::Figures;
use figure::{Strokes, figure};
pub use results::PaperResults;

/// Returns the reproductions as one HTML document that loads nothing.
#[must_use]
pub fn papers_html(papers: &[PaperResults], command: &str) -> String {
    let css = format!("{CSS}{OWN_CSS}");
    let policy = policy(&[], &css);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"generator\" content=\"goodqueue\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <title>Papers, reproduced</title>\n<style>{css}</style>\n<body>\n<h1>Papers, reproduced</h1>\n\
         <pre class=\"command\"><code>{}</code></pre>\n",
        escape(command)
    );
    if papers.len() > 1 {
        page += &contents::papers(papers);
    }
    page.extend(papers.iter().enumerate().map(|(number, paper)| section(number, paper)));
    page + "</body>\n</html>\n"
}

/// Returns the part of the page about one paper.
fn section(number: usize, paper: &PaperResults) -> String {
    let figures = Figures::new(number, &paper.pictures);
    let mut part = format!(
        "<section id=\"paper-{number}\">\n<h2>{}</h2>\n<p>{}</p>\n",
        escape(&paper.title),
        escape(&paper.source)
    );
    part += &contents::contents(number, paper, &figures);
    part += &contents::verdicts(number, &paper.claims, &figures);
    if !paper.pictures.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(part, "<h3 id=\"figures-{number}\">Figures</h3>");
    }
    let strokes = Strokes::from_pictures(&paper.pictures);
    for (at, picture) in paper.pictures.iter().enumerate() {
        part += &figure(picture, &strokes, &figures.anchor(at), &contents::of_figure(picture, &paper.claims));
    }
    if !paper.metrics.is_empty() {
        let _ = writeln!(part, "<h3 id=\"metrics-{number}\">Metrics</h3>");
    }
    part.extend(paper.metrics.iter().map(metrics::metrics));
    let _ = writeln!(part, "<h3 id=\"claims-{number}\">Every claim, in the order of the paper</h3>");
    part + &claims::claims(&paper.claims, &figures) + "</section>\n"
}

const OWN_CSS: &str = include_str!("../assets/papers.css");

#[cfg(test)]
mod tests;
