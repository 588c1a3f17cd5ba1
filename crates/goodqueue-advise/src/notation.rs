//! How a kind of router is told the advice.

use crate::question::Question;
use crate::setting::Setting;
use crate::setup::Setup;

/// A notation of the advice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notation {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// Kind of router, for people.
    pub(crate) title: &'static str,
    /// Returns the configuration; `None` if such a router cannot be set so.
    pub(crate) setting: fn(&Question, &Setup<'_>) -> Option<Setting>,
}
