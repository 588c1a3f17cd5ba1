//! A dispatcher script of NetworkManager with the commands of `tc`. Source:
//! NetworkManager-dispatcher(8) of NetworkManager 1.42.

use super::tc::Commands;
use crate::notation::Notation;
use crate::question::Question;
use crate::setting::{Form, Setting};
use crate::setup::Setup;

pub(super) const NETWORKMANAGER: Notation =
    Notation { name: "networkmanager", title: "any Linux router with NetworkManager", setting };

fn setting(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let device = &question.device;
    let commands = Commands::of(question, setup);
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
