//! The options of `cake` as tc prints them: a word for each group of flags that exclude each other.

use super::config::{
    ACK_FILTER, ACK_FILTER_AGGRESSIVE, ATM, AUTORATE_INGRESS, BANDWIDTH, DIFFSERV3, FWMARK, INGRESS,
    MEMLIMIT, MPU, NAT, OVERHEAD, PTM, RAW, RTT, SPLIT_GSO, TRIPLE_ISOLATE, UNLIMITED, WASH,
};
use super::config::{CakeConfig, Classes, Isolation};
use crate::config::{Settings, Value};
use crate::shown::{Printed, Show, Shown, number, signed};

impl Show for CakeConfig {
    const SHOWN: &'static [Shown] = &[
        Shown::Computed(BANDWIDTH.name, |settings| {
            Some(settings.get(BANDWIDTH.name).unwrap_or(Value::Choice(UNLIMITED.name)).into())
        }),
        Shown::Computed("autorate", |settings| {
            let is_on = settings.flag(AUTORATE_INGRESS.name) == Some(true);
            is_on.then_some(Value::Choice(AUTORATE_INGRESS.name).into())
        }),
        Shown::Computed("diffserv", |settings| the_one_on(settings, &Classes::ALL, DIFFSERV3.name)),
        Shown::Computed("flowmode", |settings| the_one_on(settings, &Isolation::ALL, TRIPLE_ISOLATE.name)),
        Shown::Flag(NAT.name),
        Shown::Flag(WASH.name),
        Shown::Flag(INGRESS.name),
        Shown::Computed(ACK_FILTER.name, ack_filter),
        Shown::Computed("split_gso", |settings| {
            Some(Value::Flag(settings.flag(SPLIT_GSO.name).unwrap_or(true)).into())
        }),
        Shown::Setting(RTT.name),
        Shown::FlagIfOn(RAW.name),
        Shown::FlagIfOn(ATM.name),
        Shown::FlagIfOn(PTM.name),
        Shown::Computed(OVERHEAD.name, |settings| {
            Some(Value::Signed(signed(settings, OVERHEAD.name)).into())
        }),
        Shown::Computed(MPU.name, |settings| {
            let bytes = number(settings, MPU.name);
            (bytes > 0).then_some(Value::Integer(bytes).into())
        }),
        Shown::Setting(MEMLIMIT.name),
        Shown::Computed(FWMARK.name, fwmark),
    ];
}

/// Returns the flag among `choices` that is on.
fn the_one_on<T>(
    settings: &Settings,
    choices: &[(&'static str, T)],
    default: &'static str,
) -> Option<Printed> {
    let mut names = choices.iter().map(|choice| choice.0);
    let word = names.find(|name| settings.flag(name) == Some(true)).unwrap_or(default);
    Some(Value::Choice(word).into())
}

fn ack_filter(settings: &Settings) -> Option<Printed> {
    let is_on = |name| settings.flag(name) == Some(true);
    let word = if is_on(ACK_FILTER.name) {
        "enabled"
    } else if is_on(ACK_FILTER_AGGRESSIVE.name) {
        "aggressive"
    } else {
        "disabled"
    };
    Some(Value::Choice(word).into())
}

/// Returns the mask as tc prints it: hexadecimal with a prefix, and 0 without one.
fn fwmark(settings: &Settings) -> Option<Printed> {
    Some(match u32::try_from(number(settings, FWMARK.name)).unwrap_or(0) {
        0 => Value::Choice("0").into(),
        mask => Value::Class(mask).into(),
    })
}
