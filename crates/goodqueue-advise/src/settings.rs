//! The advice as routers read it. A new kind of router is added to [`NOTATIONS`].

mod limiters;
mod linux;
mod openwrt;

use goodqueue_tc::units;

use crate::question::Question;
use crate::setting::{Notation, Setting, Setup};

/// All notations, in the order in which people read them.
const NOTATIONS: &[Notation] = &[
    openwrt::OPENWRT,
    linux::TC,
    openwrt::LUCI,
    openwrt::OPENWRT_LIGHT,
    linux::SYSTEMD,
    linux::NETWORKMANAGER,
    linux::NETWORKD,
    limiters::ROUTEROS,
    limiters::OPNSENSE,
    limiters::PFSENSE,
    limiters::UNIFI,
    limiters::EERO,
];

/// Returns the short name of each kind of router, and its name for people.
pub fn routers() -> impl Iterator<Item = (&'static str, &'static str)> {
    NOTATIONS.iter().map(|notation| (notation.name, notation.title))
}

/// Returns the configuration for each kind of router that can be set so.
pub(crate) fn settings(question: &Question, setup: &Setup<'_>) -> Vec<Setting> {
    NOTATIONS.iter().filter_map(|notation| (notation.setting)(question, setup)).collect()
}

/// Returns the steps in their order.
pub(crate) fn steps(question: &Question, setup: &Setup<'_>) -> Vec<String> {
    let total: u64 = setup.rates(question).iter().map(|rate| rate.as_bps()).sum();
    let mut steps = vec![
        "Measure now, with nothing else on the line: the Waveform bufferbloat test in a browser, or `flent rrul`. \
         Measure again afterwards with the same test; `goodqueue advise --flent FILE` reads what Flent measured."
            .to_owned(),
        format!("On OpenWrt, install SQM:\n{}\n{}", openwrt::before()[0], openwrt::before()[1]),
        format!(
            "Switch hardware flow offloading off, because packets that the hardware forwards pass no queue. On \
             OpenWrt:\n{}",
            openwrt::before()[2]
        ),
        format!(
            "Is the router fast enough? It has to shape {} in both directions together: {} If a speed test stays below \
             the shaper while one core is busy (`top`), use --only openwrt-light.",
            units::show_rate(goodqueue::Rate::from_bps(total.div_ceil(MBIT) * MBIT)),
            processor(total)
        ),
    ];
    if setup.manager.line_has_nat() {
        steps.push(
            "`nat` below is for routers that translate addresses, as home routers do for IPv4. If yours does not, ask \
             with --no-nat."
                .to_owned(),
        );
    }
    steps
}

const MBIT: u64 = 1_000_000;

/// Says which processor shapes this rate with CAKE. docs/advise.md has the sources.
const fn processor(bps: u64) -> &'static str {
    match bps {
        0..100_000_000 => "most routers are.",
        100_000_000..400_000_000 => {
            "routers of the last years with ARM cores are, older and small ones are not."
        }
        400_000_000..1_200_000_000 => "only fast ARM cores and PCs are.",
        _ => "a PC is; one core of a server shapes 2.5 to 3 Gbit/s.",
    }
}

#[cfg(test)]
mod tests;
