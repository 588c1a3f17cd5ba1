//! What routers with simpler shapers than Linux's have in common.

use goodqueue::Rate;

use crate::question::Question;
use crate::setup::Setup;

/// True if the router shapes at its interface towards the Internet. Some routers can shape nowhere
/// else.
pub(super) fn is_for_internet(question: &Question) -> bool {
    question.kind.port.egress == 1
}

/// Returns the rates for routers that count the bytes of IP packets only, towards the home and the
/// Internet.
pub(super) fn limited(question: &Question, setup: &Setup<'_>) -> Option<[Rate; 2]> {
    let kind = question.kind;
    is_for_internet(question).then(|| kind.accounted.rates_of_ip(setup.rates(question), kind.mtu))
}

/// Says what limiters of dummynet cannot express.
pub(super) fn overhead_of_limiters() -> String {
    "A limiter counts the bytes of IP packets and knows no overhead, no cells and no smallest packet. So the rates are \
     lower than for Linux, to leave room for them. There is no sharing between devices and no ACK filter either."
        .to_owned()
}

/// Says that the values of the advice are those of another shaper.
pub(super) fn not_simulated() -> String {
    "The values of the advice were simulated with the shaper of Linux. Measure this one, and lower the rates by a few \
     percent if pings under load are longer."
        .to_owned()
}
