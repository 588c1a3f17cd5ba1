//! The advice as routers read it, one file for each kind of router.

mod networkd;
mod sqm;
mod tc;

use crate::question::Question;
use crate::setting::Setting;
use crate::setup::Setup;

/// Returns the configuration for each kind of router that can be set so.
pub(crate) fn settings(question: &Question, setup: &Setup<'_>) -> Vec<Setting> {
    let mut all = vec![tc::setting(question, setup), sqm::setting(question, setup)];
    all.extend(networkd::setting(question, setup));
    all
}
