//! OpenWrt: the package sqm-scripts. Source: its scripts of version 1.6.0, and the pages "SQM" and
//! "SQM configuration" of the OpenWrt wiki.

use crate::manager::Manager;
use crate::notation::Notation;
use crate::question::Question;
use crate::setting::{Form, Setting};
use crate::setup::Setup;

pub(super) const OPENWRT: Notation = Notation { name: "openwrt", title: "OpenWrt with sqm-scripts", setting };

fn setting(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    Some(Setting {
        name: OPENWRT.name,
        place: format!(
            "OpenWrt with sqm-scripts: /etc/config/sqm, then `service sqm restart`{}",
            REMARKS[question.kind.port.egress]
        ),
        form: Form::File,
        is_common: true,
        before: before(),
        text: section(&options(question, setup, setup.manager)),
        undo: vec![UNDO.to_owned()],
        remarks: Vec::new(),
    })
}

/// Returns the options of the section of `/etc/config/sqm` with which this manager shapes.
pub(super) fn options(
    question: &Question,
    setup: &Setup<'_>,
    manager: &dyn Manager,
) -> Vec<(&'static str, String)> {
    let egress = question.kind.port.egress;
    // In kbit/s. SQM calls the packets that enter by an interface its download.
    let rates = manager.sqm_rates(setup.rates(question), &question.kind.accounted);
    let [down, up] = [rates[1 - egress], rates[egress]].map(|rate| rate.as_bps() / 1000);
    let mut options = vec![
        ("enabled", "1".to_owned()),
        ("interface", question.device.clone()),
        ("download", down.to_string()),
        ("upload", up.to_string()),
    ];
    options.extend(manager.sqm(&question.kind.accounted));
    options
}

/// Returns these options as a section of `/etc/config/sqm`.
pub(super) fn section(options: &[(&'static str, String)]) -> String {
    let lines = options.iter().map(|(name, value)| format!("\toption {name} '{value}'\n"));
    std::iter::once("config queue 'wan'\n".to_owned()).chain(lines).collect()
}

/// Returns the steps before SQM works on OpenWrt.
pub(crate) fn before() -> Vec<String> {
    vec![
        "opkg update && opkg install sqm-scripts luci-app-sqm   # OpenWrt up to 24.10".to_owned(),
        "apk update && apk add sqm-scripts luci-app-sqm   # OpenWrt from 25.12 on, and snapshots".to_owned(),
        "uci set firewall.@defaults[0].flow_offloading_hw=0; uci commit firewall; service firewall restart"
            .to_owned(),
    ]
}

/// The command that switches the shapers off.
pub(super) const UNDO: &str = "uci set sqm.wan.enabled=0; uci commit sqm; service sqm restart";

/// About the names of SQM, for interfaces by which downloads leave, and by which uploads do.
const REMARKS: [&str; 2] = ["; its download is what enters there: your uploads", ""];
