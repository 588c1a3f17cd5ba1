//! Facts that several claims of a paper share: `[[about]]` in its `claims.toml`.

use goodqueue_tc::diagnostic::Diagnostic;
use serde::Deserialize;

use super::claim::{Claim, ClaimKind};

/// Facts about all claims whose ids match one of `claims`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimNotes {
    /// Ids of claims. `*` at the end stands for the rest of an id.
    claims: Vec<String>,
    /// Repetitions behind the paper's numbers.
    runs: Option<usize>,
    /// Parameter that decides these claims and that the paper does not give.
    unknown: Option<String>,
    /// Parameter that was chosen by looking at these results: the claims do not count.
    fitted: Option<String>,
    /// Reason why these claims differ, for those that have no note of their own.
    note: Option<String>,
}

impl ClaimNotes {
    pub(super) fn apply(&self, claims: &mut [Claim]) -> Result<(), Diagnostic> {
        for pattern in &self.claims {
            let mut found = false;
            for claim in claims.iter_mut().filter(|claim| matches(pattern, &claim.id)) {
                found = true;
                claim.paper_runs = self.runs.or(claim.paper_runs);
                if self.unknown.is_some() {
                    claim.unknown.clone_from(&self.unknown);
                }
                if let Some(note) = self.note.as_ref().filter(|_| claim.note.is_empty()) {
                    claim.note.clone_from(note);
                }
                if self.fitted.is_some() {
                    claim.fitted.clone_from(&self.fitted);
                    claim.kind = ClaimKind::Fitted;
                }
            }
            if !found {
                return Err(Diagnostic::new(format!("`[[about]]`: no claim has the id `{pattern}`")));
            }
        }
        Ok(())
    }
}

fn matches(pattern: &str, id: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == id, |beginning| id.starts_with(beginning))
}
