//! `papers/AUDIT.md` has the rules and the summary, and `papers/NAME/CLAIMS.md` every claim of a
//! paper with its quote, its check and its verdict. They are generated from the claims and from the
//! verdicts that `make score` wrote. `docs/l4s-tests.md` has the rows of the L4S tests.
//!
//! `make page` writes the files. Without `UPDATE` this test compares them with the present claims.

#![allow(missing_docs)]

mod page;
mod rows;
mod statements;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use goodqueue_papers::reproduce::agreement::{Agreements, Class};
use goodqueue_papers::reproduce::tolerance::{READING, SHARE, UNSEEN, WORDS};
use goodqueue_papers::reproduce::{ClaimResult, Paper, papers, verdicts};

#[test]
fn the_audit_shows_every_claim_with_its_quote_check_and_verdict() {
    for paper in papers().expect("the built-in papers are valid") {
        verdicts_have_the_notes_and_real_values_of_the_claims(&paper);
    }
    is_kept(&folder().join("AUDIT.md"), &audit());
    for paper in papers().expect("the built-in papers are valid") {
        if paper.name == "l4s" {
            is_kept(&folder().join("../../../docs/l4s-tests.md"), &rows::of(&results(&paper)));
        }
        is_kept(&folder().join(&paper.name).join("CLAIMS.md"), &page::of(&paper, &results(&paper)));
    }
}

/// Compares a generated page with the kept one. With `UPDATE` it first writes the page.
fn is_kept(path: &Path, page: &str) {
    if updates() {
        std::fs::write(path, page).expect("the page is written");
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    let name = path.display();
    assert!(kept == page, "{name} is stale: UPDATE=1 cargo test -p goodqueue-papers --test audit");
}

fn results(paper: &Paper) -> Vec<ClaimResult> {
    verdicts::load(&folder().join(&paper.name).join("verdicts.json")).expect("the verdicts; run `make score`")
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
    let share = SHARE * 100.0;
    let reading = READING * 100.0;
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "A number agrees if it is within {share} % of the paper's, or within the spread that the paper gives. A number that was\n\
         read from a plot may also differ by {reading} % of the axis. Where the paper counted no lost packet among many, up to {UNSEEN}\n\
         lost packets in as many agree. This is the upper end of the 95 % interval of a Poisson variable (Garwood 1936). A number\n\
         also agrees if it lies in the 95 % prediction interval for as many repetitions as the paper had. Where this interval is\n\
         wider than a factor of 1.5 the claim is *consistent*, which is counted apart. Words of degree have one meaning in all\n\
         claims:\n\n\
         | in a check | value | stands for |\n|---|---|---|"
    );
    for (word, value, meaning) in WORDS {
        let _ = writeln!(text, "| `{word}` | {value} | {meaning} |");
    }
    let mut all: Vec<(Paper, Vec<ClaimResult>)> = papers()
        .expect("the built-in papers are valid")
        .into_iter()
        .map(|paper| {
            let results = results(&paper);
            (paper, results)
        })
        .filter(|(_, results)| results.iter().any(|result| result.kind.counts()))
        .collect();
    // Published tests without a system of their own come last, and are no part of the sums.
    all.sort_by_key(|(paper, _)| systems(paper).is_empty());
    let own = all.iter().take_while(|(paper, _)| !systems(paper).is_empty()).count();
    text.push_str("\n## As the system that the paper ran\n\n");
    text.push_str("| paper | its system | claims with the same verdict | values within 10 %, or within the interval | claims that one of them does not decide | claims without reference |\n|---|---|---|---|---|---|\n");
    let mut sum = Agreements::default();
    for (paper, results) in &all[..own] {
        let of = Agreements::from_results(results);
        sum = sum.plus(of);
        row_of_agreements(&mut text, &linked(paper), &systems(paper), of);
    }
    row_of_agreements(&mut text, "all papers", "", sum);
    text.push_str(
        "\nA system is judged by the same measures, checks and rules as goodqueue. Its values are in the paper's folder:\n\
         nearly all of it is run by run, with seeds. Where a file has `figures`, only means over runs were kept. A system with one run of a load has no interval: its value decides as it is.\n\
         One of the two does not decide if its repetitions leave a check undecided, if the system has values for some\n\
         of the checks only, or if one is consistent with the paper and the other is not.\n",
    );
    text.push_str("\n## What the claims come to\n\n| |");
    for (paper, _) in &all[..own] {
        let _ = write!(text, " {} |", linked(paper));
    }
    text.push_str(" all papers |");
    for (paper, _) in &all[own..] {
        let _ = write!(text, " {} |", linked(paper));
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(all.len() + 1));
    text.push('\n');
    for class in Class::ALL {
        let counts: Vec<usize> =
            all.iter().map(|(_, results)| page::of_class(results, class).count()).collect();
        let cells = |counts: &[usize]| counts.iter().map(|count| format!(" {count} |")).collect::<String>();
        let sum: usize = counts[..own].iter().sum();
        let _ =
            writeln!(text, "| {} |{} {sum} |{}", class.words(), cells(&counts[..own]), cells(&counts[own..]));
    }
    text
}

fn row_of_agreements(text: &mut String, paper: &str, system: &str, of: Agreements) {
    let Agreements { same, open, no_reference, near, numbers, .. } = of;
    let decided = of.decided();
    let _ = writeln!(
        text,
        "| {paper} | {system} | {same} of {decided} | {near} of {numbers} | {open} | {no_reference} |"
    );
}

/// The paper's own systems, without what a reference adds about its runs.
fn systems(paper: &Paper) -> String {
    paper.systems.iter().filter(|system| !system.contains(',')).cloned().collect::<Vec<_>>().join(", ")
}

fn linked(paper: &Paper) -> String {
    format!("[{}]({}/CLAIMS.md)", paper.title, paper.name)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("papers")
}

const INTRODUCTION: &str = "# Every claim, its check and its verdict

These pages are for readers who have a paper open and want to verify what goodqueue reproduces. `make page` writes them from the
claims and from the verdicts of `goodqueue reproduce`. Two questions are answered apart: does goodqueue behave as the system that the
authors ran, and does what the paper states hold here as worded? Often the paper's own system misses a sentence of the paper, too.

Numbers, orders and shapes count towards the score: values of a table or figure, which is above which, and trends or bounds
in words. A claim is reproduced if all of its checks hold. It is undecided if the limit of a check lies within its
95 % confidence interval. Other checks do not count. They compare our set-up with the paper's, repeat a paper's arithmetic,
concern a result by which we chose a parameter, or are our own.

The intervals come from resampling the repetitions. With few repetitions Student's t widens them. The interval of a count of
zero, such as of lost packets, reaches up to 3.6 expected occurrences.

";
