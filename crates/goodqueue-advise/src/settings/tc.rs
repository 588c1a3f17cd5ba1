//! Commands of `tc` for any Linux router. Source: tc(8), tc-cake(8), tc-tbf(8), tc-fq_codel(8) and
//! tc-mirred(8) of iproute2 6.1; that they can be run twice was tried on Linux 6.1.

use crate::manager::Side;
use crate::notation::Notation;
use crate::question::Question;
use crate::setting::{Form, Setting};
use crate::setup::Setup;

pub(super) const TC: Notation = Notation { name: "tc", title: "any Linux router", setting };

fn setting(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let device = &question.device;
    let commands = Commands::of(question, setup);
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
pub(super) struct Commands {
    pub(super) set: Vec<Command>,
    pub(super) undo: Vec<String>,
}

/// A command.
pub(super) struct Command {
    pub(super) text: String,
    /// True if it may fail: what it makes is there already, or what it removes is not.
    pub(super) may_fail: bool,
}

impl Command {
    /// Returns the command for a shell, also for one that stops at errors.
    pub(super) fn in_shell(&self) -> String {
        if self.may_fail { format!("{} 2>/dev/null || true", self.text) } else { self.text.clone() }
    }
}

impl Commands {
    /// Returns the commands. Linux shapes on egress only, so packets that enter pass through an
    /// intermediate device (`ifb`).
    pub(super) fn of(question: &Question, setup: &Setup<'_>) -> Self {
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
