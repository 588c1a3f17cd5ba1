//! Reproductions of papers as one HTML file: each claim next to the measured value, and the figures
//! in the form of the papers, as SVG that needs no JavaScript.

use std::fmt::Write as _;

use goodqueue_papers::reproduce::picture::Picture;
use goodqueue_papers::reproduce::{
    ClaimResult, MetricsTable, Number, Verdict, figures, finding::Outcome, real_in_words, scores,
    three_figures,
};

use crate::escape::html as escape;
use crate::policy::policy;

mod figure;

use figure::{Strokes, figure};

/// A paper and its reproduction.
#[derive(Clone, PartialEq, Debug)]
pub struct PaperResults {
    /// Short citation.
    pub title: String,
    /// Full citation.
    pub source: String,
    /// Claims of the paper.
    pub claims: Vec<ClaimResult>,
    /// Figures of the paper.
    pub pictures: Vec<Picture>,
    /// Tables of metrics, for every discipline in every experiment.
    pub metrics: Vec<MetricsTable>,
}

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
    for paper in papers {
        // Writing to a string cannot fail.
        let _ =
            write!(page, "<section>\n<h2>{}</h2>\n<p>{}</p>\n", escape(&paper.title), escape(&paper.source));
        for score in scores(&paper.claims) {
            let _ = writeln!(page, "<p class=\"detail\">{}.</p>", escape(&score.to_string()));
        }
        let strokes = Strokes::of(&paper.pictures);
        for picture in &paper.pictures {
            page += &figure(picture, &strokes);
        }
        page.extend(paper.metrics.iter().map(metrics));
        page += &claims(&paper.claims);
        page += "</section>\n";
    }
    page + "</body>\n</html>\n"
}

fn metrics(of: &MetricsTable) -> String {
    let mut table =
        String::from("<div class=\"scroll\"><table class=\"claims\">\n<thead><tr><th>section<th>discipline");
    for (name, unit) in &of.metrics {
        let _ = write!(table, "<th class=\"n\">{}<br><small>{}</small>", escape(name), escape(unit));
    }
    table += "</thead>\n<tbody>\n";
    let mut last = "";
    for row in &of.measured {
        let first = if row.experiment == last { "" } else { row.experiment.as_str() };
        last = &row.experiment;
        let _ = write!(table, "<tr><td>{}<td>{}", escape(first), escape(&row.qdisc));
        for value in &row.values {
            let _ = write!(table, "<td class=\"n\">{}", value.map_or_else(|| "–".to_owned(), three_figures));
        }
        table.push('\n');
    }
    table + "</tbody></table></div>\n"
}

fn claims(claims: &[ClaimResult]) -> String {
    let with_reference =
        claims.iter().any(|claim| claim.numbers().iter().any(|number| !number.real.is_empty()));
    // If no claim is a number, there are no columns for numbers.
    let with_numbers = claims.iter().any(|claim| !claim.numbers().is_empty());
    let real = if with_reference { "<th class=\"n\">real system" } else { "" };
    let heads = if with_numbers {
        format!("<th class=\"n\">paper{real}<th class=\"n\">goodqueue<th class=\"n\">95 % interval")
    } else {
        String::new()
    };
    let mut table = format!(
        "<div class=\"scroll\"><table class=\"claims verdicts\">\n<thead><tr><th>claim{heads}<th>verdict</thead>\n<tbody>\n"
    );
    for claim in claims {
        let (class, word) = match claim.verdict {
            Verdict::Reproduced => ("yes", "reproduced"),
            Verdict::Undecided => ("none", "undecided"),
            Verdict::NotReproduced => ("no", "not reproduced"),
            Verdict::NotRun => ("none", "not run"),
        };
        let in_words = claim.got.as_str().filter(|_| claim.numbers().is_empty());
        let words = in_words.map_or(String::new(), |got| format!("<br><small>Here: {}</small>", escape(got)));
        let real = if in_words.is_some() { real_in_words(&claim.checks) } else { Vec::new() };
        let real =
            real.iter().map(|(of, came)| format!("<br><small>{}: {}</small>", escape(of), escape(came)));
        let words = words + &real.collect::<String>() + &every_check(claim);
        let note = if claim.note.is_empty() {
            String::new()
        } else {
            format!("<br><small>{}</small>", escape(&claim.note))
        };
        let numbers = if with_numbers { numbers(claim, with_reference) } else { String::new() };
        let _ = writeln!(
            table,
            "<tr id=\"{id}\"><td><code>{id}</code> <small>{place}</small>{quote}<br>{says}{words}{note}\
             {numbers}<td class=\"{class}\">{word}",
            id = escape(&claim.id),
            place = escape(&claim.place),
            quote = quote(&claim.quote),
            says = escape(&claim.says),
        );
    }
    table + "</tbody></table></div>\n"
}

fn quote(quote: &str) -> String {
    if quote.is_empty() { String::new() } else { format!("<br><q>{}</q>", escape(quote)) }
}

/// Formats the cells of a claim's numbers, one line for each. Among several numbers, those outside
/// their bounds are bold.
fn numbers(claim: &ClaimResult, with_reference: bool) -> String {
    let rows = claim.numbers();
    let cell = |name: &str, of: &dyn Fn(&Number<'_>) -> String| {
        let lines: Vec<String> = rows.iter().map(of).collect();
        format!("<td class=\"n\" data-is=\"{name}\">{}", lines.join("<br>"))
    };
    let with_unit = |value: f64| escape(format!("{} {}", figures(value), claim.unit).trim_end());
    let got = |row: &Number<'_>| {
        let (plain, stands_out) = (with_unit(row.got), rows.len() > 1 && row.outcome == Outcome::Fails);
        if stands_out { format!("<b>{plain}</b>") } else { plain }
    };
    let interval = |row: &Number<'_>| {
        row.interval.map_or_else(String::new, |(low, high)| format!("{} to {}", figures(low), figures(high)))
    };
    let mut cells = cell("paper", &|row| with_unit(row.expected));
    if with_reference {
        cells += &cell("real system", &|row| {
            let real = row.real.iter();
            let real = real.map(|(of, value)| format!("{} <small>{}</small>", with_unit(*value), escape(of)));
            real.collect::<Vec<_>>().join("<br>")
        });
    }
    cells + &cell("goodqueue", &got) + &cell("95 % interval", &interval)
}

/// Formats the measured value of each check of a claim in words, folded.
fn every_check(claim: &ClaimResult) -> String {
    if claim.checks.len() < 2 {
        return String::new();
    }
    let mut list = String::from("<details><summary><small>every check</small></summary><small>");
    for check in &claim.checks {
        let in_words =
            |values: &[f64]| values.iter().map(|value| figures(*value)).collect::<Vec<_>>().join(", ");
        let not = |outcome: Outcome| match outcome {
            Outcome::Holds => "",
            Outcome::Undecided => "<b>undecided</b> ",
            Outcome::Fails => "<b>not</b> ",
        };
        let _ = write!(list, "{}{} ({}", not(check.outcome), escape(&check.check), in_words(&check.values));
        for real in &check.real {
            let _ = write!(list, "; {}: {}{}", escape(&real.of), not(real.outcome), in_words(&real.values));
        }
        list += ")<br>";
    }
    list + "</small></details>"
}

const CSS: &str = include_str!("../assets/report.css");
const OWN_CSS: &str = include_str!("../assets/papers.css");
