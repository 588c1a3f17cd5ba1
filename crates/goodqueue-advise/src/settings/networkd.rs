//! systemd-networkd. Source: systemd.network(5) of systemd 252 and 257, section `[CAKE]`.

use crate::notation::Notation;
use crate::question::Question;
use crate::setting::{Form, Setting};
use crate::setup::Setup;

pub(super) const NETWORKD: Notation = Notation { name: "networkd", title: "systemd-networkd", setting };

/// Returns the sections of the `.network` file. networkd sets one direction only: it cannot
/// redirect packets that enter to another device.
fn setting(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let egress = question.kind.port.egress;
    let text = setup.manager.networkd(setup.rates(question)[egress], &question.kind.accounted)?;
    let device = &question.device;
    let this = ["download", "upload"][egress];
    let other = ["upload", "download"][egress];
    let mut remarks = vec![format!(
        "networkd cannot redirect packets to another interface, so the {other} has no shaper here: take the \
         commands of `--only tc`, or the unit of `--only systemd` instead of this."
    )];
    let newer: Vec<&str> = NEWER.iter().copied().filter(|key| text.contains(key)).collect();
    if !newer.is_empty() {
        remarks.push(format!(
            "{} needs systemd 253 or newer (`networkctl --version`). Older ones ignore it and log a warning.",
            newer.join(" and ")
        ));
    }
    Some(Setting {
        name: NETWORKD.name,
        place: format!(
            "systemd-networkd 250 or newer, {this} only: add to the .network file of {device}, then `networkctl reload`"
        ),
        form: Form::File,
        is_common: false,
        before: Vec::new(),
        text,
        undo: vec![format!(
            "remove the section, then `networkctl reload` and `tc qdisc del dev {device} root`"
        )],
        remarks,
    })
}

/// Keys that systemd knows since version 253.
const NEWER: &[&str] = &["RTTSec", "AckFilter"];
