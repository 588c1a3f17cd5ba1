//! Disciplines given in the place of those of a paper.

/// A discipline that was given, and what cells call it.
#[derive(Clone, Debug)]
pub(super) struct GivenDiscipline {
    pub(super) label: String,
    pub(super) line: String,
}
