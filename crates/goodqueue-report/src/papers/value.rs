//! The numbers of claims.

use goodqueue_papers::reproduce::{ClaimResult, figures};

use crate::escape::html as escape;

/// Formats a number of a claim with the claim's unit, if it has one.
pub(super) fn with_unit(claim: &ClaimResult, value: f64) -> String {
    escape(format!("{} {}", figures(value), claim.unit).trim_end())
}
