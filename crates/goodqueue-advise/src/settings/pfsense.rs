//! pfSense: limiters of dummynet with FQ_CODEL. Source: pfSense documentation, recipe "Configuring
//! CoDel Limiters for Bufferbloat" (2024), and ipfw(8) of FreeBSD 14.

use super::limiters::{limited, not_simulated, overhead_of_limiters};
use crate::notation::Notation;
use crate::question::Question;
use crate::setting::{Form, Setting};
use crate::setup::Setup;

pub(super) const PFSENSE: Notation = Notation { name: "pfsense", title: "pfSense", setting };

fn setting(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let [down, up] = limited(question, setup)?.map(|rate| rate.as_bps() / 1000);
    Some(Setting {
        name: PFSENSE.name,
        place: "pfSense: Firewall > Traffic Shaper > Limiters, then a floating rule, then Apply Changes"
            .to_owned(),
        form: Form::Page,
        is_common: false,
        before: Vec::new(),
        text: format!(
            "New Limiter                      Download        Upload\n\
             \x20 Enable                         checked         checked\n\
             \x20 Name                           WANDown         WANUp\n\
             \x20 Bandwidth (Kbit/s)             {down:<15} {up}\n\
             \x20 Mask                           None            None\n\
             \x20 Queue Management Algorithm     Tail Drop       Tail Drop\n\
             \x20 Scheduler                      FQ_CODEL        FQ_CODEL\n\
             \x20 Queue Length                   1000            1000\n\
             \x20 ECN                            checked         checked\n\
             Add New Queue below each\n\
             \x20 Enable                         checked         checked\n\
             \x20 Name                           WANDownQ        WANUpQ\n\
             \x20 Mask                           None            None\n\
             \x20 Queue Management Algorithm     Tail Drop       Tail Drop\n\
             Firewall > Rules > Floating > Add\n\
             \x20 Action                         Match\n\
             \x20 Interface                      WAN\n\
             \x20 Direction                      out\n\
             \x20 Address Family                 IPv4, and a second rule for IPv6\n\
             \x20 Protocol                       Any\n\
             \x20 Gateway                        the gateway of WAN\n\
             \x20 In / Out pipe                  WANUpQ / WANDownQ\n\
             Leave every other field as it is.\n"
        ),
        undo: vec!["disable the floating rule, then Apply Changes".to_owned()],
        remarks: vec![overhead_of_limiters(), not_simulated()],
    })
}
