//! What a place of the bottleneck decides: which lines can be modelled, how, and why the advice
//! helps.

use goodqueue_tc::diagnostic::Diagnostic;

use crate::advice::Advice;
use crate::model::Model;
use crate::question::Question;

/// A place of the bottleneck.
pub(crate) trait Place {
    /// Refuses lines that cannot be modelled.
    fn check(&self, question: &Question) -> Result<(), Diagnostic>;

    /// Returns the links, with the router's port first, in TOML.
    fn links(&self, model: &Model<'_>, seed: u64) -> String;

    /// Returns the reason for the advice. `without_s`: latency without the line's encapsulation.
    fn reason(&self, question: &Question, advice: &Advice, without_s: f64) -> String;
}
