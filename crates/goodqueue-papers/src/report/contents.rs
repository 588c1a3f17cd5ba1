//! The contents of the page, and the verdicts, those first that need a reader's attention.

use std::fmt::Write as _;

use crate::reproduce::picture::Picture;
use crate::reproduce::{ClaimResult, Verdict, figures as digits, scores};

use super::place;
use super::results::PaperResults;
use super::value::with_unit;
use goodqueue_report::page_parts::escape;

/// The figures of one paper, for links to them.
pub(super) struct Figures<'p> {
    paper: usize,
    pictures: &'p [Picture],
}

impl<'p> Figures<'p> {
    pub(super) const fn new(paper: usize, pictures: &'p [Picture]) -> Self {
        Self { paper, pictures }
    }

    /// Returns the name of a figure in links.
    pub(super) fn anchor(&self, number: usize) -> String {
        format!("figure-{}-{number}", self.paper)
    }

    fn link(&self, number: usize, picture: &Picture) -> String {
        format!("<a href=\"#{}\">{}</a>", self.anchor(number), escape(&picture.id))
    }

    /// Returns links to the figures that a claim is about.
    pub(super) fn links(&self, claim: &ClaimResult) -> String {
        let about = |(_, picture): &(usize, &Picture)| is_about(claim, picture);
        let links = self.pictures.iter().enumerate().filter(about);
        let links: Vec<String> = links.map(|(number, picture)| self.link(number, picture)).collect();
        if links.is_empty() { String::new() } else { format!(" → {}", links.join(", ")) }
    }
}

/// Returns the list of papers, for a page of several.
pub(super) fn papers(papers: &[PaperResults]) -> String {
    let mut list = String::from("<nav><ul>\n");
    for (number, paper) in papers.iter().enumerate() {
        let _ = write!(list, "<li><a href=\"#paper-{number}\">{}</a>", escape(&paper.title));
        for score in scores(&paper.claims) {
            let _ = write!(list, " <small>{}</small>", escape(&score.to_string()));
        }
        list.push('\n');
    }
    list + "</ul></nav>\n"
}

/// Returns the contents of the part about one paper, with its score.
pub(super) fn contents(number: usize, paper: &PaperResults, figures: &Figures<'_>) -> String {
    let mut list = String::new();
    for score in scores(&paper.claims) {
        let _ = writeln!(list, "<p class=\"detail\">{}.</p>", escape(&score.to_string()));
    }
    list += "<nav><ul>\n";
    let _ = writeln!(list, "<li><a href=\"#verdicts-{number}\">Verdicts</a>");
    if !paper.pictures.is_empty() {
        let links = paper.pictures.iter().enumerate().map(|(at, picture)| figures.link(at, picture));
        let links: Vec<String> = links.collect();
        let _ = writeln!(list, "<li><a href=\"#figures-{number}\">Figures</a>: {}", links.join(" · "));
    }
    if !paper.metrics.is_empty() {
        let _ = writeln!(list, "<li><a href=\"#metrics-{number}\">Metrics</a>");
    }
    let _ =
        writeln!(list, "<li><a href=\"#claims-{number}\">Every claim</a> with its quote, check and values");
    list + "</ul></nav>\n"
}

/// Returns the verdicts of one paper: first of the claims that count, then of all others.
pub(super) fn verdicts(number: usize, claims: &[ClaimResult], figures: &Figures<'_>) -> String {
    let mut list = format!("<h3 id=\"verdicts-{number}\">Verdicts</h3>\n");
    for verdict in ORDER {
        let counted = claims.iter().filter(|claim| claim.kind.counts() && claim.verdict == verdict);
        list += &group(verdict, "", &counted.collect::<Vec<_>>(), figures);
    }
    for verdict in ORDER {
        let others = claims.iter().filter(|claim| !claim.kind.counts() && claim.verdict == verdict);
        list += &group(verdict, ", does not count", &others.collect::<Vec<_>>(), figures);
    }
    list
}

/// Returns a list of claims; folded if nothing in it needs attention.
fn group(of: Verdict, kind: &str, claims: &[&ClaimResult], figures: &Figures<'_>) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let open = if matches!(of, Verdict::NotReproduced | Verdict::Undecided) { " open" } else { "" };
    let (class, word) = verdict(of);
    let mut list = format!(
        "<details class=\"judged\"{open}><summary><b class=\"{class}\">{word}</b>{kind}: {}</summary>\n<ul>\n",
        claims.len()
    );
    for claim in claims {
        let kind = if claim.kind.counts() { String::new() } else { format!(" ({})", claim.kind.name()) };
        let numbers = claim.numbers();
        let numbers = match numbers.as_slice() {
            [only] if of != Verdict::Reproduced => {
                format!(". <b>Paper: {}, here: {}.</b>", digits(only.expected), with_unit(claim, only.got))
            }
            _ => String::new(),
        };
        let _ = writeln!(
            list,
            "<li><a href=\"#{id}\"><code>{id}</code></a>{kind} <small>{place}{links}</small> {says}{numbers}",
            id = escape(&claim.id),
            place = escape(&claim.place),
            links = figures.links(claim),
            says = escape(&claim.says),
        );
    }
    list + "</ul></details>\n"
}

/// Returns the verdicts of the claims about one figure.
pub(super) fn of_figure(picture: &Picture, claims: &[ClaimResult]) -> String {
    let about: Vec<&ClaimResult> = claims.iter().filter(|claim| is_about(claim, picture)).collect();
    let mut parts = Vec::new();
    for of in ORDER {
        let links = about.iter().filter(|claim| claim.verdict == of);
        let links = links.map(|claim| format!("<a href=\"#{id}\">{id}</a>", id = escape(&claim.id)));
        let links: Vec<String> = links.collect();
        let (class, word) = verdict(of);
        match links.len() {
            0 => {}
            count @ 1..=MANY => {
                parts.push(format!("<b class=\"{class}\">{word}</b> {count}: {}", links.join(", ")));
            }
            count => parts.push(format!(
                "<details><summary><b class=\"{class}\">{word}</b> {count}</summary>{}</details>",
                links.join(", ")
            )),
        }
    }
    if parts.is_empty() {
        return String::new();
    }
    parts.push(command(&about));
    format!("<div class=\"of-figure\">{}</div>\n", parts.join("<br>"))
}

/// Returns the command that runs what the figure shows: the claims about it.
fn command(about: &[&ClaimResult]) -> String {
    let ids: Vec<String> = about.iter().map(|claim| escape(&claim.id)).collect();
    format!(
        "<details><summary>The command behind this figure</summary><pre class=\"command\"><code>goodqueue reproduce {} --report figure.html</code></pre></details>",
        ids.join(" ")
    )
}

/// True if the place of a claim names the figure, and a check reads runs that the figure shows. A
/// claim of several panels of a figure is about those whose runs it reads.
fn is_about(claim: &ClaimResult, picture: &Picture) -> bool {
    let shows = |check: &str| {
        let mut shown = picture.experiments.iter();
        // The page has checks in the paper's words: `[discipline, experiment]`.
        shown.any(|experiment| check.contains(&format!(", {experiment}]")))
    };
    let checks = || claim.checks.iter().map(|check| check.check.as_str());
    place::names(&claim.place, &picture.id)
        && (picture.experiments.is_empty() || claim.checks.is_empty() || checks().any(shows))
}

/// Returns the class and the word of a verdict.
pub(super) const fn verdict(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Reproduced => ("yes", "reproduced"),
        Verdict::Consistent => ("none", "consistent"),
        Verdict::Undecided => ("none", "undecided"),
        Verdict::NotReproduced => ("no", "not reproduced"),
        Verdict::NotRun => ("none", "not run"),
    }
}

const ORDER: [Verdict; 5] =
    [Verdict::NotReproduced, Verdict::Undecided, Verdict::Consistent, Verdict::Reproduced, Verdict::NotRun];
/// More claims of one verdict are folded.
const MANY: usize = 8;
