//! OpenWrt: the file of SQM, its web pages, and the same for slow processors.

use crate::managers::light;
use crate::question::Question;
use crate::setting::{Form, Manager, Notation, Setting, Setup};

/// OpenWrt: the package sqm-scripts. Source: its scripts of version 1.6.0, and the pages "SQM" and
/// "SQM configuration" of the OpenWrt wiki.
pub(super) const OPENWRT: Notation =
    Notation { name: "openwrt", title: "OpenWrt with sqm-scripts", setting: openwrt };

fn openwrt(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
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
fn options(question: &Question, setup: &Setup<'_>, manager: &dyn Manager) -> Vec<(&'static str, String)> {
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
fn section(options: &[(&'static str, String)]) -> String {
    let lines = options.iter().map(|(name, value)| format!("\toption {name} '{value}'\n"));
    std::iter::once("config queue 'wan'\n".to_owned()).chain(lines).collect()
}

/// Returns the steps before SQM works on OpenWrt.
pub(super) fn before() -> Vec<String> {
    vec![
        "opkg update && opkg install sqm-scripts luci-app-sqm   # OpenWrt up to 24.10".to_owned(),
        "apk update && apk add sqm-scripts luci-app-sqm   # OpenWrt from 25.12 on, and snapshots".to_owned(),
        "uci set firewall.@defaults[0].flow_offloading_hw=0; uci commit firewall; service firewall restart"
            .to_owned(),
    ]
}

/// The command that switches the shapers off.
const UNDO: &str = "uci set sqm.wan.enabled=0; uci commit sqm; service sqm restart";

/// About the names of SQM, for interfaces by which downloads leave, and by which uploads do.
const REMARKS: [&str; 2] = ["; its download is what enters there: your uploads", ""];

/// OpenWrt's web pages: the fields of SQM, with the labels of luci-app-sqm of OpenWrt 24.10.
pub(super) const LUCI: Notation =
    Notation { name: "luci", title: "OpenWrt's web pages, field by field", setting: luci };

fn luci(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let options = options(question, setup, setup.manager);
    let mut text = String::new();
    for (tab, fields) in TABS {
        let mut lines = String::new();
        for (label, option) in *fields {
            if let Some((_, value)) = options.iter().find(|(name, _)| name == option) {
                lines += &format!("  {label:WIDTH$}{}\n", shown(option, value));
            }
        }
        if !lines.is_empty() {
            text += &format!("{tab}\n{lines}");
        }
    }
    Some(Setting {
        name: LUCI.name,
        place: "OpenWrt's web pages (LuCI): Network > SQM QoS, then Save & Apply".to_owned(),
        form: Form::Page,
        is_common: false,
        before: before(),
        text,
        undo: vec!["clear \"Enable this SQM instance\", then Save & Apply".to_owned()],
        remarks: Vec::new(),
    })
}

/// Returns the value of an option as the page shows it.
fn shown<'v>(option: &str, value: &'v str) -> &'v str {
    match (option, value) {
        ("squash_dscp", "1") => "SQUASH",
        ("squash_dscp", _) => "DO NOT SQUASH",
        ("squash_ingress", "1") => "Ignore",
        ("squash_ingress", _) => "Allow",
        ("linklayer", "ethernet") => "Ethernet with overhead",
        ("linklayer", "atm") => "ATM",
        ("enabled" | "qdisc_advanced" | "qdisc_really_really_advanced" | "linklayer_advanced", "1") => {
            "checked"
        }
        _ => value,
    }
}

/// The tabs of the page, with the beginning of each field's label and its option.
const TABS: &[(&str, &[(&str, &str)])] = &[
    (
        "Basic Settings",
        &[
            ("Enable this SQM instance", "enabled"),
            ("Interface name", "interface"),
            ("Download speed (kbit/s)", "download"),
            ("Upload speed (kbit/s)", "upload"),
        ],
    ),
    (
        "Queue Discipline",
        &[
            ("Queuing disciplines useable on this system", "qdisc"),
            ("Queue setup script", "script"),
            ("Show and Use Advanced Configuration", "qdisc_advanced"),
            ("Squash DSCP on inbound packets", "squash_dscp"),
            ("Ignore DSCP on ingress", "squash_ingress"),
            ("ECN status on inbound packets", "ingress_ecn"),
            ("ECN status on outbound packets", "egress_ecn"),
            ("Show and Use Dangerous Configuration", "qdisc_really_really_advanced"),
            ("Latency target for ingress", "itarget"),
            ("Latency target for egress", "etarget"),
            ("Advanced option string, ingress", "iqdisc_opts"),
            ("Advanced option string, egress", "eqdisc_opts"),
        ],
    ),
    (
        "Link Layer Adaptation",
        &[
            ("Which link layer to account for", "linklayer"),
            ("Per Packet Overhead (byte)", "overhead"),
            ("Show Advanced Linklayer Options", "linklayer_advanced"),
            ("Minimal packet size, MPU (byte)", "tcMPU"),
        ],
    ),
];
const WIDTH: usize = 45;

/// OpenWrt's SQM with `fq_codel` below a token bucket, for routers whose processor is too slow for
/// CAKE. Sources: as for SQM.
pub(super) const OPENWRT_LIGHT: Notation = Notation {
    name: "openwrt-light",
    title: "OpenWrt on a slow processor: fq_codel instead of cake",
    setting: openwrt_light,
};

/// Returns the section of `/etc/config/sqm`; `None` if the advice is no heavier or has priorities,
/// which `fq_codel` does not know.
fn openwrt_light(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let light = light();
    let mine = light.sqm(&question.kind.accounted);
    if question.diffserv || setup.manager.sqm(&question.kind.accounted).first() == mine.first() {
        return None;
    }
    Some(Setting {
        name: OPENWRT_LIGHT.name,
        place: "OpenWrt with sqm-scripts on a slow processor: /etc/config/sqm, then `service sqm restart`".to_owned(),
        is_common: false,
        text: section(&options(question, setup, &*light)),
        remarks: vec![
            "fq_codel below a token bucket needs less of the processor than cake. It does not share the line between \
             devices, only between connections."
                .to_owned(),
            "On an interface without Ethernet header, such as pppoe-wan, add 14 to the overhead.".to_owned(),
        ],
        form: Form::File,
        before: before(),
        undo: vec![UNDO.to_owned()],
    })
}
