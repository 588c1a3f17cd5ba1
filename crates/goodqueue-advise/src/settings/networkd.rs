//! systemd-networkd.

use crate::question::Question;
use crate::setting::Setting;
use crate::setup::Setup;

/// Returns the sections of the `.network` file. networkd sets the upload only: it cannot redirect
/// packets from the Internet to another device.
pub(super) fn setting(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let [_, up] = setup.rates(question);
    let text = setup.manager.networkd(up, &question.kind.accounted)?;
    let device = &question.device;
    Some(Setting {
        name: "networkd",
        place: format!(
            "systemd-networkd, upload only: add to the .network file of {device}, then `networkctl reload`"
        ),
        text,
    })
}
