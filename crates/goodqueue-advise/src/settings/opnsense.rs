//! OPNsense: pipes of dummynet with FQ-CoDel. Source: OPNsense documentation, "Fighting Bufferbloat
//! with FQ_CoDel" (2026), and ipfw(8) of FreeBSD 14.

use super::limiters::{limited, not_simulated, overhead_of_limiters};
use crate::notation::Notation;
use crate::question::Question;
use crate::setting::{Form, Setting};
use crate::setup::Setup;

pub(super) const OPNSENSE: Notation = Notation { name: "opnsense", title: "OPNsense", setting };

fn setting(question: &Question, setup: &Setup<'_>) -> Option<Setting> {
    let [down, up] = limited(question, setup)?.map(|rate| rate.as_bps() / 1000);
    Some(Setting {
        name: OPNSENSE.name,
        place: "OPNsense: Firewall > Shaper, with advanced mode on, then Apply".to_owned(),
        form: Form::Page,
        is_common: false,
        before: Vec::new(),
        text: format!(
            "Pipes > +                      Download        Upload\n\
             \x20 enabled                      checked         checked\n\
             \x20 bandwidth                    {down:<15} {up}\n\
             \x20 bandwidth metric             Kbit/s          Kbit/s\n\
             \x20 scheduler type               FlowQueue-CoDel FlowQueue-CoDel\n\
             \x20 (FQ-)CoDel ECN               checked         checked\n\
             \x20 FQ-CoDel limit               1000            1000\n\
             \x20 description                  Download        Upload\n\
             Queues > +\n\
             \x20 enabled                      checked         checked\n\
             \x20 pipe                         Download        Upload\n\
             \x20 weight                       100             100\n\
             \x20 description                  Download-Queue  Upload-Queue\n\
             Rules > +\n\
             \x20 enabled                      checked         checked\n\
             \x20 interface                    WAN             WAN\n\
             \x20 proto                        ip              ip\n\
             \x20 direction                    in              out\n\
             \x20 target                       Download-Queue  Upload-Queue\n\
             Leave every other field as it is.\n"
        ),
        undo: vec!["clear \"enabled\" of both rules, then Apply".to_owned()],
        remarks: vec![
            overhead_of_limiters(),
            "Before OPNsense 25.7.8, leave FQ-CoDel limit empty: a full queue filled the log.".to_owned(),
            not_simulated(),
        ],
    })
}
