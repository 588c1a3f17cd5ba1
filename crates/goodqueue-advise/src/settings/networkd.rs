//! systemd-networkd.

use crate::question::Question;
use crate::setting::Setting;
use crate::setup::Setup;

/// Returns the sections of the `.network` file. networkd sets one direction only: it cannot
/// redirect packets that enter to another device.
pub(super) fn setting(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let egress = question.kind.port.egress;
    let text = setup.manager.networkd(setup.rates(question)[egress], &question.kind.accounted)?;
    let device = &question.device;
    Some(Setting {
        name: "networkd",
        place: format!(
            "systemd-networkd, {} only: add to the .network file of {device}, then `networkctl reload`",
            ["download", "upload"][egress]
        ),
        text,
    })
}
