//! Any Linux router.

use std::fmt::Write as _;

use crate::question::Question;
use crate::setting::{Form, Notation, Setting, Setup, Side};

/// Commands of `tc` for any Linux router. Source: tc(8), tc-cake(8), tc-tbf(8), tc-fq_codel(8) and
/// tc-mirred(8) of iproute2 6.1; that they can be run twice was tried on Linux 6.1.
pub(super) const TC: Notation = Notation { name: "tc", title: "any Linux router", setting: tc };

fn tc(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let device = &question.device;
    let commands = Commands::from_setup(question, setup);
    let set = commands.set.iter().map(|command| command.in_shell() + "\n");
    Some(Setting {
        name: TC.name,
        place: format!("any Linux router, as root; {device} is {}", question.kind.port.title),
        form: Form::Commands,
        is_common: true,
        before: Vec::new(),
        text: set.collect(),
        undo: commands.undo,
        remarks: vec![
            "They last until the router restarts; --only systemd or networkmanager makes them stay."
                .to_owned(),
        ],
    })
}

/// The commands that set and remove the shapers.
struct Commands {
    set: Vec<Command>,
    undo: Vec<String>,
}

/// A command.
struct Command {
    text: String,
    /// True if it may fail: what it makes is there already, or what it removes is not.
    may_fail: bool,
}

impl Command {
    /// Returns the command for a shell, also for one that stops at errors.
    fn in_shell(&self) -> String {
        if self.may_fail { format!("{} 2>/dev/null || true", self.text) } else { self.text.clone() }
    }
}

impl Commands {
    /// Returns the commands. Linux shapes on egress only, so packets that enter pass through an
    /// intermediate device (`ifb`).
    fn from_setup(question: &Question, setup: &Setup<'_>) -> Self {
        let device = &question.device;
        let rates = setup.rates(question);
        let egress = question.kind.port.egress;
        let accounted = setup.accounted(question);
        let before = "ifb4";
        // A name of a device has at most 15 bytes.
        let shortened: String = device.chars().take(15 - before.len()).collect();
        let ifb = format!("{before}{shortened}");
        let must = |text: String| Command { text, may_fail: false };
        let may_fail = |text: String| Command { text, may_fail: true };
        let mut set =
            vec![may_fail(format!("ip link add name {ifb} type ifb")), must(format!("ip link set {ifb} up"))];
        let shaper = |device: &str, side: Side, rate| setup.manager.tc(device, side, rate, accounted);
        set.extend(shaper(device, Side::Egress, rates[egress]).into_iter().map(must));
        set.extend(shaper(&ifb, Side::Ingress, rates[1 - egress]).into_iter().map(must));
        // A second filter could not be added beside the first, and an ingress qdisc cannot be
        // changed, so both are made anew.
        set.extend([
            may_fail(format!("tc qdisc del dev {device} ingress")),
            must(format!("tc qdisc add dev {device} handle ffff: ingress")),
            must(format!(
                "tc filter add dev {device} parent ffff: matchall action mirred egress redirect dev {ifb}"
            )),
        ]);
        let undo = vec![
            format!("tc qdisc del dev {device} root"),
            format!("tc qdisc del dev {device} ingress"),
            format!("ip link del {ifb}"),
        ];
        Self { set, undo }
    }
}

/// A unit of systemd with the commands of `tc`, so that the shapers come back after a restart.
/// Source: systemd.unit(5), systemd.service(5), systemd.device(5) and systemd-escape(1) of systemd
/// 252.
pub(super) const SYSTEMD: Notation =
    Notation { name: "systemd", title: "any Linux router with systemd, after each start", setting: systemd };

fn systemd(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let device = &question.device;
    let unit = format!("sys-subsystem-net-devices-{}.device", escaped(device));
    let commands = Commands::from_setup(question, setup);
    let mut text = format!(
        "[Unit]\nDescription=Shaper of {device}\nBindsTo={unit}\nAfter={unit}\n\n\
         [Service]\nType=oneshot\nRemainAfterExit=yes\n"
    );
    // Writing to a string cannot fail.
    for command in &commands.set {
        // A command after a minus sign may fail.
        let mark = if command.may_fail { "-" } else { "" };
        let _ = writeln!(text, "ExecStart={mark}{}", command.text);
    }
    // A minus sign lets a command fail, so that the others still run.
    for command in &commands.undo {
        let _ = writeln!(text, "ExecStop=-{command}");
    }
    let _ = write!(text, "\n[Install]\nWantedBy={unit}\n");
    Some(Setting {
        name: SYSTEMD.name,
        place: format!(
            "any Linux router with systemd: /etc/systemd/system/{UNIT}, then `systemctl daemon-reload` and \
             `systemctl enable --now {UNIT}`; {device} is {}",
            question.kind.port.title
        ),
        form: Form::File,
        is_common: false,
        before: Vec::new(),
        text,
        undo: vec![format!("systemctl disable --now {UNIT}; rm /etc/systemd/system/{UNIT}")],
        remarks: vec![
            "It starts with the interface and stops with it. Leave out a shaper of networkd on the same interface."
                .to_owned(),
        ],
    })
}

/// Returns a name as part of the name of a unit.
fn escaped(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_:".contains(c);
    let mut escaped = String::new();
    for (place, c) in name.chars().enumerate() {
        if plain(c) || c == '.' && place > 0 {
            escaped.push(c);
        } else {
            // Names of devices are ASCII.
            escaped += &format!("\\x{:02x}", u32::from(c));
        }
    }
    escaped
}

const UNIT: &str = "shaper.service";

/// A dispatcher script of NetworkManager with the commands of `tc`. Source:
/// NetworkManager-dispatcher(8) of NetworkManager 1.42.
pub(super) const NETWORKMANAGER: Notation = Notation {
    name: "networkmanager",
    title: "any Linux router with NetworkManager",
    setting: networkmanager,
};

fn networkmanager(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let device = &question.device;
    let commands = Commands::from_setup(question, setup);
    let set: String = commands.set.iter().map(|command| format!("    {}\n", command.in_shell())).collect();
    let undo: String = commands.undo.iter().map(|command| format!("    {command} 2>/dev/null\n")).collect();
    Some(Setting {
        name: NETWORKMANAGER.name,
        place: format!(
            "any Linux router with NetworkManager: {PATH}, owned by root, mode 755; then `nmcli device reapply \
             {device}` or a restart; {device} is {}",
            question.kind.port.title
        ),
        form: Form::File,
        is_common: false,
        before: vec!["systemctl enable NetworkManager-dispatcher".to_owned()],
        text: format!(
            "#!/bin/sh\n# NetworkManager calls it with the interface and what happened.\n[ \"$1\" = \"{device}\" ] || exit 0\n\
             case \"$2\" in\nup | reapply)\n{set}    ;;\ndown)\n{undo}    ;;\nesac\n"
        ),
        undo: vec![format!("rm {PATH}"), commands.undo.join("; ")],
        remarks: Vec::new(),
    })
}

const PATH: &str = "/etc/NetworkManager/dispatcher.d/50-shaper";

/// systemd-networkd. Source: systemd.network(5) of systemd 252 and 257, section `[CAKE]`.
pub(super) const NETWORKD: Notation =
    Notation { name: "networkd", title: "systemd-networkd", setting: networkd };

/// Returns the sections of the `.network` file. networkd sets one direction only: it cannot
/// redirect packets that enter to another device.
fn networkd(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_escaped_as_by_systemd_escape() {
        for (device, unit) in [("eth0", "eth0"), ("eth0.7", "eth0.7"), ("pppoe-wan", r"pppoe\x2dwan")] {
            assert_eq!(escaped(device), unit);
        }
    }
}
