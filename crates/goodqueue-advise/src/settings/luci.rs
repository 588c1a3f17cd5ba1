//! OpenWrt's web pages: the fields of SQM, with the labels of luci-app-sqm of OpenWrt 24.10.

use super::sqm;
use crate::notation::Notation;
use crate::question::Question;
use crate::setting::{Form, Setting};
use crate::setup::Setup;

pub(super) const LUCI: Notation =
    Notation { name: "luci", title: "OpenWrt's web pages, field by field", setting };

fn setting(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let options = sqm::options(question, setup, setup.manager);
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
        before: sqm::before(),
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
