//! Commands of `tc` for any Linux router.

use crate::manager::Side;
use crate::question::Question;
use crate::setting::Setting;
use crate::setup::Setup;

/// Returns the commands. Linux shapes on egress only, so packets that enter pass through an
/// intermediate device (`ifb`).
pub(super) fn setting(question: &Question, setup: &Setup<'_>) -> Setting {
    let device = &question.device;
    let port = question.kind.port;
    let (rates, egress) = (setup.rates(question), port.egress);
    let accounted = setup.accounted(question);
    let before = "ifb4";
    // A name of a device has at most 15 bytes.
    let shortened: String = device.chars().take(15 - before.len()).collect();
    let ifb = format!("{before}{shortened}");
    let mut commands = setup.manager.tc(device, Side::Egress, rates[egress], accounted);
    commands.extend([format!("ip link add name {ifb} type ifb"), format!("ip link set {ifb} up")]);
    commands.extend(setup.manager.tc(&ifb, Side::Ingress, rates[1 - egress], accounted));
    commands.extend([
        format!("tc qdisc replace dev {device} handle ffff: ingress"),
        format!(
            "tc filter replace dev {device} parent ffff: matchall action mirred egress redirect dev {ifb}"
        ),
    ]);
    Setting {
        name: "tc",
        place: format!("any Linux router, as root; {device} is {}", port.title),
        text: commands.join("\n") + "\n",
    }
}
