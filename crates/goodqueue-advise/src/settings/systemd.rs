//! A unit of systemd with the commands of `tc`, so that the shapers come back after a restart.
//! Source: systemd.unit(5), systemd.service(5), systemd.device(5) and systemd-escape(1) of systemd
//! 252.

use std::fmt::Write as _;

use super::tc::Commands;
use crate::notation::Notation;
use crate::question::Question;
use crate::setting::{Form, Setting};
use crate::setup::Setup;

pub(super) const SYSTEMD: Notation =
    Notation { name: "systemd", title: "any Linux router with systemd, after each start", setting };

fn setting(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let device = &question.device;
    let unit = format!("sys-subsystem-net-devices-{}.device", escaped(device));
    let commands = Commands::of(question, setup);
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
