//! `goodqueue list papers` and `goodqueue list claims`.

use goodqueue_papers::reproduce::{self, Claim, Paper};
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::unknown::unknown;
use crate::papers::{self, Cost};
use crate::{columns, output};

/// Returns the names of all papers. Their number of runs takes a while to find.
pub(super) fn names() -> Result<Vec<Value>, Diagnostic> {
    Ok(reproduce::papers()?.iter().map(|paper| json!({"name": paper.name})).collect())
}

/// Returns the entries of papers and their list for people: all of them in columns, or the one of
/// this name with its claims.
pub(super) fn papers(name: Option<&str>) -> Result<(Vec<Value>, String), Diagnostic> {
    let all = reproduce::papers()?;
    let Some(name) = name else {
        let costs = papers::costs(&all)?;
        let entries = costs.iter().map(|(paper, cost)| paper_json(paper, *cost)).collect();
        return Ok((entries, papers::listed(&costs, None)));
    };
    let names: Vec<String> = all.iter().map(|paper| paper.name.clone()).collect();
    let paper = all.iter().find(|paper| paper.name == name).ok_or_else(|| unknown(name, &names))?;
    let claims: Vec<(&Paper, &Claim)> = paper.claims.iter().map(|claim| (paper, claim)).collect();
    let text = format!("{} – {}\n  {}\n\n{}", paper.name, paper.title, paper.source, claims_text(&claims));
    Ok((vec![paper_json(paper, Cost::new(paper)?)], text))
}

fn paper_json(paper: &Paper, cost: Cost) -> Value {
    let Cost { claims, runs, cpu_s } = cost;
    json!({
        "name": paper.name, "title": paper.title, "source": paper.source, "claims": claims, "runs": runs,
        "cpu_s": cpu_s.map(f64::round),
    })
}

/// Returns the entries of claims and their list for people. `name` selects a paper, a claim, or the
/// claims whose ids begin so.
pub(super) fn claims(name: Option<&str>) -> Result<(Vec<Value>, String), Diagnostic> {
    let papers = reproduce::papers()?;
    let words: Vec<String> = name.into_iter().map(str::to_owned).collect();
    let chosen = reproduce::select(&papers, &words)?;
    let claims: Vec<(&Paper, &Claim)> =
        chosen.iter().flat_map(|(paper, claims)| claims.iter().map(|claim| (*paper, *claim))).collect();
    let entries = claims.iter().map(|(paper, claim)| claim_json(paper, claim)).collect();
    let text = match claims.as_slice() {
        [(paper, claim)] => details(paper, claim),
        several => claims_text(several),
    };
    Ok((entries, text))
}

fn claim_json(paper: &Paper, claim: &Claim) -> Value {
    let checks: Vec<&str> = claim.checks.iter().map(|check| check.text.as_str()).collect();
    let mut entry = json!({
        "name": claim.id, "paper": paper.name, "source": paper.source, "kind": claim.kind,
        "where": claim.place, "quote": claim.quote, "says": claim.says, "checks": checks,
        "tolerance": claim.tolerance.in_words(),
    });
    if let Some(why) = &claim.not_run {
        entry["not_run"] = json!(why);
    }
    entry
}

/// Lists claims, a line each.
fn claims_text(claims: &[(&Paper, &Claim)]) -> String {
    let row = |(_, claim): &(&Paper, &Claim)| vec![claim.id.clone(), claim.says.clone()];
    let rows: Vec<Vec<String>> = claims.iter().map(row).collect();
    let mut text = columns::rows(&rows, &[], output::width());
    if let Some((_, first)) = claims.first() {
        text.push_str(&format!("\n`goodqueue list claims {}` shows a claim as a whole.\n", first.id));
    }
    text
}

/// Describes one claim.
fn details(paper: &Paper, claim: &Claim) -> String {
    let place = if claim.place.is_empty() { &paper.title } else { &claim.place };
    let mut parts = vec![("claim", claim.says.clone()), ("where", format!("{}: {place}", paper.name))];
    if !claim.quote.is_empty() {
        parts.push(("paper", format!("\"{}\"", claim.quote)));
    }
    parts.extend(claim.checks.iter().map(|check| ("check", check.text.clone())));
    if let Some(why) = &claim.not_run {
        parts.push(("not run", why.clone()));
    }
    let line = |(name, text): &(&str, String)| {
        let text = columns::wrapped(text, INDENT + 2, output::width());
        format!("  {:INDENT$}{text}", format!("{name}:"))
    };
    format!("{}\n{}", claim.id, parts.iter().map(line).collect::<String>())
}

/// Columns of the names of a claim's parts.
const INDENT: usize = 10;
