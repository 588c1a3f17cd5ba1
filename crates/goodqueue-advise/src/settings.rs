//! The advice as routers read it, one file for each kind of router. A new one is added to
//! [`NOTATIONS`].

mod eero;
mod luci;
mod networkd;
mod networkmanager;
mod opnsense;
mod pfsense;
mod routeros;
mod sqm;
mod sqm_light;
mod systemd;
mod tc;
mod unifi;

use goodqueue::Rate;

use crate::notation::Notation;
use crate::question::Question;
use crate::setting::Setting;
use crate::setup::Setup;

pub(crate) use sqm::before as before_openwrt;

/// All notations, in the order in which people read them.
const NOTATIONS: &[Notation] = &[
    sqm::OPENWRT,
    tc::TC,
    luci::LUCI,
    sqm_light::OPENWRT_LIGHT,
    systemd::SYSTEMD,
    networkmanager::NETWORKMANAGER,
    networkd::NETWORKD,
    routeros::ROUTEROS,
    opnsense::OPNSENSE,
    pfsense::PFSENSE,
    unifi::UNIFI,
    eero::EERO,
];

/// Returns the short name of each kind of router, and its name for people.
pub fn routers() -> impl Iterator<Item = (&'static str, &'static str)> {
    NOTATIONS.iter().map(|notation| (notation.name, notation.title))
}

/// Returns the configuration for each kind of router that can be set so.
pub(crate) fn settings(question: &Question, setup: &Setup<'_>) -> Vec<Setting> {
    NOTATIONS.iter().filter_map(|notation| (notation.setting)(question, setup)).collect()
}

/// True if the router shapes at its interface towards the Internet. Some routers can shape nowhere
/// else.
fn is_for_internet(question: &Question) -> bool {
    question.kind.port.egress == 1
}

/// Returns the rates for routers that count the bytes of IP packets only, towards the home and the
/// Internet.
fn limited(question: &Question, setup: &Setup<'_>) -> Option<[Rate; 2]> {
    let kind = question.kind;
    is_for_internet(question).then(|| kind.accounted.rates_of_ip(setup.rates(question), kind.mtu))
}

/// Says what limiters of dummynet cannot express.
fn overhead_of_limiters() -> String {
    "A limiter counts the bytes of IP packets and knows no overhead, no cells and no smallest packet. So the rates are \
     lower than for Linux, to leave room for them. There is no sharing between devices and no ACK filter either."
        .to_owned()
}

/// Says that the values of the advice are those of another shaper.
fn not_simulated() -> String {
    "The values of the advice were simulated with the shaper of Linux. Measure this one, and lower the rates by a few \
     percent if pings under load are longer."
        .to_owned()
}

#[cfg(test)]
mod tests;
