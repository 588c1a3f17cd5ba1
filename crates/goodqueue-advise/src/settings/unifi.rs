//! UniFi gateways: Smart Queues, an `fq_codel` below a shaper. Source: settings of UniFi Network 9
//! as its programming interface names them (`wan_smartq_down_rate`, `wan_smartq_up_rate`).

use goodqueue::Rate;

use super::limiters::{limited, not_simulated};
use crate::notation::Notation;
use crate::question::Question;
use crate::setting::{Form, Setting};
use crate::setup::Setup;

pub(super) const UNIFI: Notation = Notation { name: "unifi", title: "UniFi gateways", setting };

fn setting(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let [down, up] = limited(question, setup)?.map(mbit);
    Some(Setting {
        name: UNIFI.name,
        place: "UniFi: Settings > Internet > your WAN > Advanced: Manual".to_owned(),
        form: Form::Page,
        is_common: false,
        before: Vec::new(),
        text: format!(
            "Smart Queues     on\n\
             \x20 Down Rate      {down} Mbps\n\
             \x20 Up Rate        {up} Mbps\n"
        ),
        undo: vec!["switch Smart Queues off".to_owned()],
        remarks: vec![
            "Smart Queues take two rates, and neither the overhead of the line nor parameters of the queue. So the rates \
             are lower than for Linux, to leave room for the overhead."
                .to_owned(),
            "Smart Queues switch hardware acceleration off: the gateway becomes slower at high rates.".to_owned(),
            not_simulated(),
        ],
    })
}

/// Returns a rate in Mbit/s, rounded down.
fn mbit(rate: Rate) -> String {
    let tenths = rate.as_bps() / 100_000;
    if tenths < 100 { format!("{}.{}", tenths / 10, tenths % 10) } else { (tenths / 10).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded_down() {
        let shown = [985_000, 9_990_000, 87_900_000].map(|bps| mbit(Rate::from_bps(bps)));
        assert_eq!(shown, ["0.9", "9.9", "87"]);
    }
}
