//! `papers/AUDIT.md` shows every claim with its quote, its check and its verdict. It is generated
//! from the claims and from the verdicts that `make score` wrote.
//!
//! `make page` writes the file. Without `UPDATE` this test compares it with the present claims.

#![allow(missing_docs)]

mod statements;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use goodqueue_papers::reproduce::finding::Outcome;
use goodqueue_papers::reproduce::tolerance::{READING, SHARE, UNSEEN, WORDS};
use goodqueue_papers::reproduce::{
    CheckResult, Claim, ClaimKind, ClaimResult, Paper, Verdict, figures, papers, scores, verdicts,
};

#[test]
fn the_audit_shows_every_claim_with_its_quote_check_and_verdict() {
    for paper in papers().expect("the built-in papers are valid") {
        verdicts_have_the_notes_and_real_values_of_the_claims(&paper);
    }
    let audit = audit();
    let path = folder().join("AUDIT.md");
    if updates() {
        std::fs::write(&path, &audit).expect("the audit is written");
    }
    let kept = std::fs::read_to_string(&path).expect("the audit");
    assert!(kept == audit, "AUDIT.md is stale: UPDATE=1 cargo test -p goodqueue-papers --test audit");
}

fn updates() -> bool {
    std::env::var("UPDATE").is_ok_and(|update| !update.is_empty())
}

/// Compares the notes and the real systems' values in the kept verdicts with those of the claims.
/// With `UPDATE` it first copies them from the claims.
fn verdicts_have_the_notes_and_real_values_of_the_claims(paper: &Paper) {
    let path = folder().join(&paper.name).join("verdicts.json");
    let kept = std::fs::read(&path).expect("the verdicts; run `make score`");
    let mut results = verdicts::read(&paper.name, &kept).expect("verdicts");
    paper.renew(&mut results);
    let mut file: serde_json::Value = serde_json::from_slice(&kept).expect("JSON");
    file["claims"] = serde_json::to_value(&results).expect("verdicts are JSON");
    let mut present = serde_json::to_vec_pretty(&file).expect("JSON");
    present.push(b'\n');
    if updates() {
        std::fs::write(&path, &present).expect("the verdicts are written");
    }
    let kept = std::fs::read(&path).expect("the verdicts");
    let paper = &paper.name;
    assert!(kept == present, "verdicts.json of {paper} is stale beside claims.toml: make page");
}

fn audit() -> String {
    let mut text = String::from(INTRODUCTION);
    let (share, reading) = (SHARE * 100.0, READING * 100.0);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "A number agrees if it is within {share} % of the paper's, or within the spread that the paper gives. A number that was\n\
         read from a plot may also differ by {reading} % of the axis. Where the paper counted no lost packet among many, up to {UNSEEN}\n\
         lost packets in as many agree. This is the upper end of the 95 % interval of a Poisson variable (Garwood 1936). Words of\n\
         degree have one meaning in all claims:\n\n\
         | in a check | value | stands for |\n|---|---|---|"
    );
    for (word, value, meaning) in WORDS {
        let _ = writeln!(text, "| `{word}` | {value} | {meaning} |");
    }
    for paper in papers().expect("the built-in papers are valid") {
        let results = verdicts::load(&folder().join(&paper.name).join("verdicts.json"));
        of_paper(&mut text, &paper, &results.expect("the verdicts; run `make score`"));
    }
    text
}

fn of_paper(text: &mut String, paper: &Paper, results: &[ClaimResult]) {
    let _ = writeln!(text, "\n## {}\n\n{}\n", paper.title, paper.source);
    for score in scores(results) {
        let _ = writeln!(text, "{score}.");
    }
    for kind in ClaimKind::ALL {
        let of_kind: Vec<&Claim> = paper.claims.iter().filter(|claim| claim.kind == *kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let _ = writeln!(
            text,
            "\n### {}: {}\n\n\
             | claim | the paper says | check | tolerance | paper | here, with 95 % interval | real systems | verdict |\n\
             |---|---|---|---|---|---|---|---|",
            paper.name,
            heading(*kind)
        );
        for claim in of_kind {
            let result = results.iter().find(|result| result.id == claim.id);
            let result = result.unwrap_or_else(|| panic!("{} has no verdict; run `make score`", claim.id));
            row(text, claim, result);
        }
    }
    statements::write(text, paper);
}

const fn heading(kind: ClaimKind) -> &'static str {
    match kind {
        ClaimKind::Number => "numbers",
        ClaimKind::Order => "orders",
        ClaimKind::Shape => "shapes",
        ClaimKind::SetUp => "set-up (not counted)",
        ClaimKind::Arithmetic => "arithmetic (not counted)",
        ClaimKind::Fitted => "fitted (not counted)",
        ClaimKind::Own => "our own checks (not counted)",
    }
}

fn row(text: &mut String, claim: &Claim, result: &ClaimResult) {
    let quote = if claim.quote.is_empty() { String::new() } else { format!("“{}”", claim.quote) };
    let place = if claim.place.is_empty() { String::new() } else { format!(" ({})", claim.place) };
    let fitted = claim.fitted.as_ref().map_or(String::new(), |what| format!(" Fitted: {what}."));
    let note = if result.note.is_empty() { String::new() } else { format!("<br>{}", result.note) };
    let numbers = result.numbers();
    let tolerance = match (numbers.is_empty(), result.tolerance.as_str()) {
        (true, "") => "–".to_owned(),
        (false, "") => "as the check says".to_owned(),
        (_, rule) => rule.to_owned(),
    };
    let with_unit = |value: f64| format!("{} {}", figures(value), result.unit).trim_end().to_owned();
    let paper: Vec<String> = numbers.iter().map(|number| with_unit(number.expected)).collect();
    let cells = [
        format!("`{}`", claim.id),
        format!("{quote}{place}"),
        format!("{}{fitted}", claim.says),
        tolerance,
        if paper.is_empty() { "in words".to_owned() } else { paper.join("<br>") },
        format!("{}{note}", here(result)),
        real(result),
        verdict(result.verdict).to_owned(),
    ];
    for cell in cells {
        let _ = write!(text, "| {} ", cell.replace('|', "\\|").replace('\n', " "));
    }
    text.push_str("|\n");
}

/// What was measured: the numbers, or how many checks hold and those that do not.
fn here(result: &ClaimResult) -> String {
    if result.verdict == Verdict::NotRun {
        return "not run".to_owned();
    }
    let few = result.checks.len() <= 3;
    let holding = result.checks.iter().filter(|check| check.outcome == Outcome::Holds).count();
    let mut text = match result.checks.len() {
        1 => String::new(),
        all => format!("{holding} of {all} hold"),
    };
    let shown: Vec<&CheckResult> =
        result.checks.iter().filter(|check| few || check.outcome != Outcome::Holds).collect();
    for check in shown.iter().take(MOST_SHOWN) {
        let word = match check.outcome {
            Outcome::Holds => "",
            Outcome::Undecided => "undecided: ",
            Outcome::Fails => "not: ",
        };
        let named =
            if result.numbers().is_empty() { format!("{word}`{}`: ", check.check) } else { String::new() };
        let _ = write!(text, "{}{named}{}", if text.is_empty() { "" } else { "<br>" }, values(check));
    }
    if shown.len() > MOST_SHOWN {
        let _ = write!(text, "<br>and {} more", shown.len() - MOST_SHOWN);
    }
    let runs = result.repetitions;
    format!("{text}<br>({runs} {})", if runs == 1 { "run" } else { "runs" })
}

fn values(check: &CheckResult) -> String {
    let values = check.values.iter().enumerate().map(|(number, value)| {
        match check.intervals.get(number).copied().flatten() {
            Some((low, high)) => format!("{} [{}, {}]", figures(*value), figures(low), figures(high)),
            None => figures(*value),
        }
    });
    values.collect::<Vec<_>>().join("; ")
}

/// What real systems give: their numbers, or how many of the checks hold for them.
fn real(result: &ClaimResult) -> String {
    let mut lines: Vec<String> = result
        .real
        .iter()
        .map(|real| format!("{}: {} {}", real.of, figures(real.value), result.unit))
        .collect();
    let mut systems: Vec<&str> = Vec::new();
    for real in result.checks.iter().flat_map(|check| &check.real) {
        if !systems.contains(&real.of.as_str()) {
            systems.push(&real.of);
        }
    }
    for system in systems {
        let known = result.checks.iter().filter_map(|check| check.real.iter().find(|real| real.of == system));
        let known: Vec<_> = known.collect();
        let holding = known.iter().filter(|real| real.outcome == Outcome::Holds).count();
        let numbers: Vec<String> = match known.len() {
            1..=3 => known.iter().flat_map(|real| &real.values).map(|value| figures(*value)).collect(),
            _ => Vec::new(),
        };
        let numbers = if numbers.is_empty() { String::new() } else { format!(" ({})", numbers.join("; ")) };
        lines.push(format!("{system}: {holding} of {} hold{numbers}", known.len()));
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("<br>")
}

const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::Undecided => "**undecided**",
        Verdict::NotReproduced => "**not reproduced**",
        Verdict::NotRun => "not run",
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("papers")
}

/// Failing checks shown for one claim; `goodqueue reproduce` shows them all.
const MOST_SHOWN: usize = 5;

const INTRODUCTION: &str = "# Every claim, its check and its verdict

This page is for readers who have a paper open and want to verify what goodqueue reproduces. `make page` writes it from the
claims and from the verdicts of `goodqueue reproduce`.

Numbers, orders and shapes count towards the score: values of a table or figure, which is above which, and trends or bounds
in words. A claim is reproduced if all of its checks hold. It is undecided if the limit of a check lies within its
95 % confidence interval. Other checks do not count. They compare our set-up with the paper's, repeat a paper's arithmetic,
concern a result by which we chose a parameter, or are our own.

The intervals come from resampling the repetitions. With few repetitions Student's t widens them. The interval of a count of
zero, such as of lost packets, reaches up to 3.6 expected occurrences.

The last table of each paper lists what the paper states, and the claims that test it or the reason why none does.

";
