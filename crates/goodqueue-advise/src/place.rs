//! Where the bottleneck is, and where the router can manage its queue.

use std::fmt::Debug;

use goodqueue_tc::diagnostic::Diagnostic;

use crate::advice::Advice;
use crate::model::Model;
use crate::question::Question;

/// A place of the bottleneck.
pub(crate) trait Place: Debug + Sync {
    /// Name of the router's interface, unless given.
    fn device(&self) -> &'static str;

    /// What this interface is, for people.
    fn port(&self) -> &'static str;

    /// Direction of the packets that leave the router there: 0 towards the home, 1 towards the
    /// Internet.
    fn egress(&self) -> usize;

    /// Refuses lines that cannot be modelled.
    fn check(&self, question: &Question) -> Result<(), Diagnostic>;

    /// Returns the links, with the router's port first, in TOML.
    fn links(&self, model: &Model<'_>, seed: u64) -> String;

    /// Returns the reason for the advice. `without_s`: latency without the line's encapsulation.
    fn reason(&self, question: &Question, advice: &Advice, without_s: f64) -> String;
}
