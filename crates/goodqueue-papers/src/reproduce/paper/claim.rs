//! A claim: the paper's words, what must hold, and whether it counts.

use std::collections::BTreeSet;

use goodqueue_tc::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::given::GivenDiscipline;
use crate::reproduce::expression::{Cell, Check, Statement};
use crate::reproduce::tolerance::Tolerance;

/// What a claim is. Only numbers, orders and shapes count towards the score.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimKind {
    /// The value of a table or of a figure.
    Number,
    /// Which is above which.
    Order,
    /// A trend, or a bound in words.
    Shape,
    /// Our scenario is set up as the paper says.
    SetUp,
    /// It follows from other numbers of the paper.
    Arithmetic,
    /// We chose a parameter by looking at this very result.
    Fitted,
    /// Our own check, which the paper does not state.
    Own,
}

impl ClaimKind {
    /// All kinds; those that count first.
    pub const ALL: &'static [Self] =
        &[Self::Number, Self::Order, Self::Shape, Self::SetUp, Self::Arithmetic, Self::Fitted, Self::Own];

    /// True if claims of this kind count towards the score.
    #[must_use]
    pub const fn counts(self) -> bool {
        matches!(self, Self::Number | Self::Order | Self::Shape)
    }

    /// True if the tolerance of a number follows from a rule; otherwise the check states it.
    #[must_use]
    pub const fn has_rule(self) -> bool {
        self.counts() || matches!(self, Self::Fitted)
    }

    /// As `claims.toml` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Order => "order",
            Self::Shape => "shape",
            Self::SetUp => "set-up",
            Self::Arithmetic => "arithmetic",
            Self::Fitted => "fitted",
            Self::Own => "own",
        }
    }
}

/// One claim.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its id, which begins with the paper's name.
    pub id: String,
    /// What it is.
    pub kind: ClaimKind,
    /// Section, figure or table, and page of the paper.
    pub place: String,
    /// The paper's own words; empty if the claim is our own.
    pub quote: String,
    /// What is checked, in words.
    pub says: String,
    /// What must hold; none if it cannot be tried.
    pub checks: Vec<Check>,
    /// How far a number may be from the paper's.
    pub tolerance: Tolerance,
    /// The parameter that we chose by looking at this result.
    pub fitted: Option<String>,
    /// What was tried where it does not reproduce, or what differs.
    pub note: String,
    /// Unit of the number.
    pub unit: String,
    /// Why it cannot be tried.
    pub not_run: Option<String>,
    /// Parameter that decides it and that the paper does not give.
    pub unknown: Option<String>,
    /// Repetitions behind the paper's number, where the paper says so.
    pub paper_runs: Option<usize>,
}

impl Claim {
    /// The reason why it cannot be tried, or the note.
    pub(crate) fn shown_note(&self) -> &str {
        self.not_run.as_ref().unwrap_or(&self.note)
    }

    /// The rule for its limits in words; empty without a number to which a rule applies.
    pub(crate) fn rule(&self, has_number: bool) -> String {
        if has_number && self.kind.has_rule() { self.tolerance.in_words() } else { String::new() }
    }

    /// The cells that its checks are about.
    #[must_use]
    pub fn cells(&self) -> BTreeSet<Cell> {
        self.checks.iter().flat_map(Check::cells).collect()
    }

    pub(super) fn check(&self) -> Result<(), Diagnostic> {
        if self.checks.is_empty() != self.not_run.is_some() {
            return Err(Diagnostic::new("a claim must have either `check` or `not_run`"));
        }
        if self.fitted.is_some() != (self.kind == ClaimKind::Fitted) {
            return Err(Diagnostic::new("`fitted` names the parameter of a claim of the kind `fitted`"));
        }
        let own_tolerance =
            |check: &Check| matches!(check.statement, Statement::Equal { within: Some(_), .. });
        if let Some(check) = self.checks.iter().find(|check| self.kind.has_rule() && own_tolerance(check)) {
            let problem = format!("`{}`: the tolerance follows from a rule, and has no `+-`", check.text);
            return Err(Diagnostic::new(problem).help("see `tolerance`"));
        }
        self.checks.iter().try_for_each(|check| self.tolerance.check(&check.statement))
    }

    /// Forgets checks that are not about these disciplines.
    pub(super) fn keep_what_is_about(&mut self, given: &[GivenDiscipline]) {
        self.checks.retain(|check| {
            check.cells().iter().any(|cell| given.iter().any(|given| given.label == cell.label))
        });
        // All of no checks would hold, and the claim would count as reproduced.
        if self.checks.is_empty() && self.not_run.is_none() {
            self.not_run = Some("it is about other disciplines than those given".to_owned());
        }
    }
}
