//! eero: a switch without rates. Source: bufferbloat.net, "What Can I Do About Bufferbloat", which
//! names the switch, and eero's programming interface, in which it is one truth value.

use super::limiters::is_for_internet;
use crate::notation::Notation;
use crate::question::Question;
use crate::setting::{Form, Setting};
use crate::setup::Setup;

pub(super) const EERO: Notation = Notation { name: "eero", title: "eero", setting };

fn setting(question: &Question, _: &Setup<'_>) -> Option<Setting> {
    is_for_internet(question).then(|| Setting {
        name: EERO.name,
        place: "eero: the app, Discover or Settings > eero Labs".to_owned(),
        form: Form::Page,
        is_common: false,
        before: Vec::new(),
        text: "Optimize for Conferencing and Gaming     on\n".to_owned(),
        undo: vec!["switch it off".to_owned()],
        remarks: vec![
            "Newer versions of the app call it SQM (Settings > Advanced networking).".to_owned(),
            "eero takes no rates: it measures the line itself. So nothing of this advice can be set, and its values say \
             nothing about your eero. Measure before and after."
                .to_owned(),
        ],
    })
}
