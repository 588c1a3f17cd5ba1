//! What the page shows of a paper.

use crate::reproduce::picture::Picture;
use crate::reproduce::{ClaimResult, MetricsTable};

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
