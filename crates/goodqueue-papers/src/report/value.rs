//! The numbers of claims.

use crate::reproduce::{ClaimResult, figures};

use goodqueue_report::page_parts::escape;

/// Formats a number of a claim with the claim's unit, if it has one.
pub(super) fn with_unit(claim: &ClaimResult, value: f64) -> String {
    escape(format!("{} {}", figures(value), claim.unit).trim_end())
}
