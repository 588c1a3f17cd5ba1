//! The advice as routers read it, one file for each kind of router. A new one is added to
//! [`NOTATIONS`].

mod eero;
mod limiters;
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

#[cfg(test)]
mod tests;
