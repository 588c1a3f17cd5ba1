//! MikroTik RouterOS 7. Source: pages "Queues", "CAKE" and "Packet Flow in RouterOS" of MikroTik's
//! documentation of RouterOS 7. That `cake-bandwidth` of a queue type does not limit a queue tree
//! follows from a measurement of RouterOS 7.23 on an RB5009 that its owner published.

use super::limiters::{limited, not_simulated};
use crate::manager::Side;
use crate::notation::Notation;
use crate::question::Question;
use crate::setting::{Form, Setting};
use crate::setup::Setup;

pub(super) const ROUTEROS: Notation = Notation { name: "routeros", title: "MikroTik RouterOS 7", setting };

fn setting(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let [down, up] = limited(question, setup)?.map(|rate| rate.as_bps() / 1000);
    // RouterOS calls its first port ether1.
    let device = if question.device == question.kind.device() { "ether1" } else { &question.device };
    let types = [("down", Side::Ingress), ("up", Side::Egress)]
        .map(|(name, side)| format!("add name=goodqueue-{name} {}\n", setup.manager.routeros(side)))
        .concat();
    let marks = format!(
        "add chain=prerouting in-interface={device} action=mark-packet new-packet-mark=goodqueue-down passthrough=no comment=goodqueue\n\
         add chain=postrouting out-interface={device} action=mark-packet new-packet-mark=goodqueue-up passthrough=no comment=goodqueue\n"
    );
    let trees = [("down", down), ("up", up)].map(|(name, rate)| {
        format!(
            "add name=goodqueue-{name} parent=global packet-mark=goodqueue-{name} queue=goodqueue-{name} max-limit={rate}k\n"
        )
    });
    Some(Setting {
        name: ROUTEROS.name,
        place: format!("MikroTik RouterOS 7: paste into a terminal; {device} is its port to the modem"),
        form: Form::Commands,
        is_common: false,
        before: vec![
            "/ip firewall filter disable [find action=fasttrack-connection]   # such packets pass no queue".to_owned(),
        ],
        text: format!(
            "/queue type\n{types}/ip firewall mangle\n{marks}/ipv6 firewall mangle\n{marks}/queue tree\n{}",
            trees.concat()
        ),
        undo: vec![
            "/queue tree remove [find name~\"^goodqueue\"]".to_owned(),
            "/queue type remove [find name~\"^goodqueue\"]".to_owned(),
            "/ip firewall mangle remove [find comment=goodqueue]".to_owned(),
            "/ipv6 firewall mangle remove [find comment=goodqueue]".to_owned(),
            "/ip firewall filter enable [find action=fasttrack-connection]".to_owned(),
        ],
        remarks: vec![
            "In a queue tree max-limit sets the rate, and cake-overhead has no effect. So the rates are lower than for \
             Linux, to leave room for the overhead of the line."
                .to_owned(),
            "cake in RouterOS has no ingress mode.".to_owned(),
            not_simulated(),
        ],
    })
}
