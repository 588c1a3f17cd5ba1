//! Every claim of a paper, next to the measured values.

use std::fmt::Write as _;

use crate::reproduce::finding::Outcome;
use crate::reproduce::{ClaimResult, Number, figures, real_in_words};

use super::contents::{Figures, verdict};
use super::value::with_unit;
use goodqueue_report::page_parts::escape;

pub(super) fn claims(claims: &[ClaimResult], figures: &Figures<'_>) -> String {
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
        let (class, word) = verdict(claim.verdict);
        let in_words = claim.got.as_str().filter(|_| claim.numbers().is_empty());
        let words = in_words.map_or(String::new(), |got| format!("<br><small>Here: {}</small>", escape(got)));
        let real = if in_words.is_some() { real_in_words(&claim.checks) } else { Vec::new() };
        let real =
            real.iter().map(|(of, came)| format!("<br><small>{}: {}</small>", escape(of), escape(came)));
        let words = words + &real.collect::<String>();
        let note = if claim.note.is_empty() {
            String::new()
        } else {
            format!("<br><small>{}</small>", escape(&claim.note))
        };
        let all = every_check(claim);
        // A claim in words has the width of the columns for numbers.
        let (wide, numbers) = match (with_numbers, in_words) {
            (true, None) => (String::new(), numbers(claim, with_reference)),
            (true, Some(_)) => (format!(" colspan=\"{}\"", 4 + usize::from(with_reference)), String::new()),
            (false, _) => (String::new(), String::new()),
        };
        let _ = writeln!(
            table,
            "<tr id=\"{id}\"><td{wide}><code>{id}</code> <small>{place}{links}</small>{quote}<br>{says}{words}{note}{all}\
             {numbers}<td class=\"{class}\">{word}",
            id = escape(&claim.id),
            place = escape(&claim.place),
            links = figures.links(claim),
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
    let with_unit = |value| with_unit(claim, value);
    let got = |row: &Number<'_>| {
        let plain = with_unit(row.got);
        let stands_out = rows.len() > 1 && row.outcome == Outcome::Fails;
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
            Outcome::Consistent => "<b>consistent</b> ",
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
