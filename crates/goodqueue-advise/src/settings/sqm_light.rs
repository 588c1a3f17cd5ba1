//! OpenWrt's SQM with `fq_codel` below a token bucket, for routers whose processor is too slow for
//! CAKE. Sources: as for SQM.

use super::sqm;
use crate::managers::light;
use crate::notation::Notation;
use crate::question::Question;
use crate::setting::{Form, Setting};
use crate::setup::Setup;

pub(super) const OPENWRT_LIGHT: Notation = Notation {
    name: "openwrt-light",
    title: "OpenWrt on a slow processor: fq_codel instead of cake",
    setting,
};

/// Returns the section of `/etc/config/sqm`; `None` if the advice is no heavier or has priorities,
/// which `fq_codel` does not know.
fn setting(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let light = light();
    let mine = light.sqm(&question.kind.accounted);
    if question.diffserv || setup.manager.sqm(&question.kind.accounted).first() == mine.first() {
        return None;
    }
    Some(Setting {
        name: OPENWRT_LIGHT.name,
        place: "OpenWrt with sqm-scripts on a slow processor: /etc/config/sqm, then `service sqm restart`".to_owned(),
        is_common: false,
        text: sqm::section(&sqm::options(question, setup, &*light)),
        remarks: vec![
            "fq_codel below a token bucket needs less of the processor than cake. It does not share the line between \
             devices, only between connections."
                .to_owned(),
            "On an interface without Ethernet header, such as pppoe-wan, add 14 to the overhead.".to_owned(),
        ],
        form: Form::File,
        before: sqm::before(),
        undo: vec![sqm::UNDO.to_owned()],
    })
}
