//! The advice as routers read it, one file for each kind of router.

mod networkd;
mod sqm;
mod tc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::question::Question;
use crate::setup::Setup;

/// A configuration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Setting {
    /// Short name: `tc`, `openwrt` or `networkd`.
    pub name: &'static str,
    /// For which router, and where it belongs.
    pub place: String,
    /// Commands or the contents of a file.
    pub text: String,
}

/// Returns the configuration for each kind of router that can be set so.
pub(crate) fn settings(question: &Question, setup: &Setup<'_>) -> Vec<Setting> {
    let mut all = vec![tc::setting(question, setup), sqm::setting(question, setup)];
    all.extend(networkd::setting(question, setup));
    all
}
