//! What each paper states, and the claims that test it: `papers/NAME/statements.toml`.

use std::fmt::Write as _;
use std::path::Path;

use goodqueue_papers::reproduce::{ClaimKind, Paper, papers};
use serde::Deserialize;

/// A statement of a paper.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    /// The statement, in our words.
    says: String,
    /// Ids of the claims that test it. `*` at the end stands for the rest of an id.
    #[serde(default)]
    claims: Vec<String>,
    /// Why no claim tests it.
    untested: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    statements: Vec<Statement>,
}

impl Statement {
    fn is_tested_by(&self, id: &str) -> bool {
        self.claims.iter().any(|pattern| names(pattern, id))
    }
}

fn names(pattern: &str, id: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == id, |beginning| id.starts_with(beginning))
}

/// Returns the statements of a paper; none if all of its claims are our own.
fn of(paper: &Paper) -> Vec<Statement> {
    if paper.claims.iter().all(|claim| claim.kind == ClaimKind::Own) {
        return Vec::new();
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("papers").join(&paper.name).join("statements.toml");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    toml::from_str::<File>(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display())).statements
}

#[test]
fn every_statement_of_a_paper_is_tested_or_says_why_not() {
    for paper in papers().unwrap() {
        for Statement { says, claims, untested } in of(&paper) {
            let name = format!("{}, `{says}`", paper.name);
            assert_ne!(claims.is_empty(), untested.is_none(), "{name}: either `claims` or `untested`");
            for pattern in claims {
                let known = paper.claims.iter().any(|claim| names(&pattern, &claim.id));
                assert!(known, "{name}: no claim is named `{pattern}`");
            }
        }
    }
}

#[test]
fn every_claim_that_counts_tests_a_statement_of_its_paper() {
    for paper in papers().unwrap() {
        let statements = of(&paper);
        for claim in paper.claims.iter().filter(|claim| claim.kind != ClaimKind::Own) {
            let is_named = statements.iter().any(|statement| statement.is_tested_by(&claim.id));
            assert!(is_named, "{}: which statement of the paper does it test?", claim.id);
        }
    }
}

/// Writes the table of a paper's statements.
pub(super) fn write(text: &mut String, paper: &Paper) {
    let statements = of(paper);
    if statements.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n## What the paper states\n\n| the paper states | tested by |\n|---|---|");
    for Statement { says, claims, untested } in statements {
        let claims: Vec<String> = claims.iter().map(|id| format!("`{id}`")).collect();
        let by = untested.map_or_else(|| claims.join(", "), |why| format!("not tested: {why}"));
        let _ = writeln!(text, "| {} | {} |", says.replace('|', "\\|"), by.replace('|', "\\|"));
    }
}
