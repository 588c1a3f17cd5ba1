//! The runs that a page asks for.

use goodqueue_scenario::Extensions;
use goodqueue_scenario::request::Request;
use goodqueue_scenario::run::series::Steps;
use goodqueue_scenario::session::{Outline, Session};
use goodqueue_tc::diagnostic::Diagnostic;

/// Returns the scenario of a request with its changes.
///
/// # Errors
/// What the command prints.
pub(crate) fn outline(request: &Request) -> Result<Outline, Diagnostic> {
    Outline::new(&request.document(&Extensions::new())?)
}

/// Returns the runs that the command would make.
///
/// # Errors
/// What the command prints.
pub(crate) fn session(outline: Outline) -> Result<Session, Diagnostic> {
    let asked = outline.scenario().output.series;
    outline.session(Steps::Given(asked))
}
