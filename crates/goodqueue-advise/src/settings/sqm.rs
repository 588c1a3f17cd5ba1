//! OpenWrt: the package sqm-scripts.

use crate::question::Question;
use crate::setting::Setting;
use crate::setup::Setup;

/// Returns the section of `/etc/config/sqm`.
pub(super) fn setting(question: &Question, setup: &Setup<'_>) -> Setting {
    let device = &question.device;
    let egress = question.kind.port.egress;
    // In kbit/s. SQM calls the packets that enter by an interface its download.
    let rates = setup.manager.sqm_rates(setup.rates(question), &question.kind.accounted);
    let [down, up] = [rates[1 - egress], rates[egress]].map(|rate| rate.as_bps() / 1000);
    let mut lines = vec![
        "config queue 'wan'".to_owned(),
        option("enabled", "1"),
        option("interface", device),
        option("download", &down.to_string()),
        option("upload", &up.to_string()),
    ];
    lines.extend(setup.manager.sqm(&question.kind.accounted).iter().map(|(name, value)| option(name, value)));
    Setting {
        name: "openwrt",
        place: format!(
            "OpenWrt with sqm-scripts: /etc/config/sqm, then `service sqm restart`{}",
            REMARKS[egress]
        ),
        text: lines.join("\n") + "\n",
    }
}

/// About the names of SQM, for interfaces by which downloads leave, and by which uploads do.
const REMARKS: [&str; 2] = ["; its download is what enters there: your uploads", ""];

fn option(name: &str, value: &str) -> String {
    format!("\toption {name} '{value}'")
}
