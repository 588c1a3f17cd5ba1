//! The options of `netem` as tc prints them: a group for each part of the emulation.

use alloc::vec;

use super::NetemConfig;
use super::config::{
    BYTES, CORRUPT, CORRUPT_CORRELATION, DELAY, DELAY_CORRELATION, DELAY_JITTER, DUPLICATE,
    DUPLICATE_CORRELATION, ECN, GAP, LIMIT, LOSS, LOSS_CORRELATION, LOSS_GEMODEL, LOSS_GEMODEL_1_H,
    LOSS_GEMODEL_1_K, LOSS_GEMODEL_R, LOSS_STATE, LOSS_STATE_P14, LOSS_STATE_P23, LOSS_STATE_P31,
    LOSS_STATE_P32, PACKETS, RATE, RATE_CELLOVERHEAD, RATE_CELLSIZE, RATE_PACKETOVERHEAD, REORDER,
    REORDER_CORRELATION, SEED, SLOT, SLOT_DISTRIBUTION, SLOT_DISTRIBUTION_DELAY, SLOT_DISTRIBUTION_JITTER,
    SLOT_MAX,
};
use crate::config::{Parameter, Settings, Value};
use crate::gauge::Gauge;
use crate::nesting::InnerConfig;
use crate::shown::{self, Printed, Show, Shown};

impl<C: InnerConfig> Show for NetemConfig<C> {
    const SHOWN: &'static [Shown] = &[
        Shown::Setting(LIMIT.name),
        Shown::Computed(DELAY.name, delay),
        Shown::Computed("loss-random", |settings| chance(settings, &LOSS, &LOSS_CORRELATION)),
        Shown::Computed("loss-gemodel", loss_gemodel),
        Shown::Computed("loss-state", loss_state),
        Shown::Computed(DUPLICATE.name, |settings| chance(settings, &DUPLICATE, &DUPLICATE_CORRELATION)),
        Shown::Computed(REORDER.name, |settings| chance(settings, &REORDER, &REORDER_CORRELATION)),
        Shown::Computed(CORRUPT.name, |settings| chance(settings, &CORRUPT, &CORRUPT_CORRELATION)),
        Shown::Computed(RATE.name, rate),
        Shown::Computed(SLOT.name, slot),
        Shown::Flag(ECN.name),
        Shown::Computed(GAP.name, |settings| Some(number(settings, &GAP))),
        Shown::Setting(SEED.name),
    ];
}

fn delay(settings: &Settings) -> Option<Printed> {
    let is_set = |one: &Parameter| settings.time(one.name).is_some_and(|span| !span.is_zero());
    (is_set(&DELAY) || is_set(&DELAY_JITTER)).then(|| {
        Printed::Group(vec![
            (DELAY.name, seconds(settings, &DELAY)),
            ("jitter", seconds(settings, &DELAY_JITTER)),
            (CORRELATION, share(settings, &DELAY_CORRELATION)),
        ])
    })
}

/// Returns a share of packets, if it is not 0, and its correlation.
fn chance(settings: &Settings, of: &Parameter, correlation: &Parameter) -> Option<Printed> {
    let is_set = settings.probability(of.name).is_some_and(|part| part > 0.0);
    is_set.then(|| {
        Printed::Group(vec![(of.name, share(settings, of)), (CORRELATION, share(settings, correlation))])
    })
}

fn loss_gemodel(settings: &Settings) -> Option<Printed> {
    settings.get(LOSS_GEMODEL.name)?;
    Some(Printed::Group(vec![
        ("p", share(settings, &LOSS_GEMODEL)),
        ("r", share(settings, &LOSS_GEMODEL_R)),
        ("1-h", share(settings, &LOSS_GEMODEL_1_H)),
        ("1-k", share(settings, &LOSS_GEMODEL_1_K)),
    ]))
}

fn loss_state(settings: &Settings) -> Option<Printed> {
    settings.get(LOSS_STATE.name)?;
    Some(Printed::Group(vec![
        ("p13", share(settings, &LOSS_STATE)),
        ("p31", share(settings, &LOSS_STATE_P31)),
        ("p32", share(settings, &LOSS_STATE_P32)),
        ("p23", share(settings, &LOSS_STATE_P23)),
        ("p14", share(settings, &LOSS_STATE_P14)),
    ]))
}

fn rate(settings: &Settings) -> Option<Printed> {
    settings.get(RATE.name)?;
    let signed = |of: &Parameter| Value::Signed(shown::signed(settings, of.name)).into();
    Some(Printed::Group(vec![
        (RATE.name, number(settings, &RATE)),
        ("packetoverhead", signed(&RATE_PACKETOVERHEAD)),
        ("cellsize", number(settings, &RATE_CELLSIZE)),
        ("celloverhead", signed(&RATE_CELLOVERHEAD)),
    ]))
}

fn slot(settings: &Settings) -> Option<Printed> {
    let mut group = match settings.get(SLOT_DISTRIBUTION.name) {
        Some(distribution) => vec![
            ("distribution", distribution.into()),
            ("delay", seconds(settings, &SLOT_DISTRIBUTION_DELAY)),
            ("jitter", seconds(settings, &SLOT_DISTRIBUTION_JITTER)),
        ],
        None => {
            settings.get(SLOT.name)?;
            vec![("min-delay", seconds(settings, &SLOT)), ("max-delay", seconds(settings, &SLOT_MAX))]
        }
    };
    group.extend([PACKETS, BYTES].map(|bound| (bound.name, number(settings, &bound))));
    Some(Printed::Group(group))
}

const CORRELATION: &str = "correlation";

/// Returns a share of packets; 0 if it is not set.
fn share(settings: &Settings, of: &Parameter) -> Printed {
    Gauge::Fraction(settings.probability(of.name).unwrap_or(0.0)).into()
}

/// Returns a time; 0 if it is not set.
fn seconds(settings: &Settings, of: &Parameter) -> Printed {
    Printed::seconds(settings.time(of.name).unwrap_or_default())
}

/// Returns a whole number; 0 if it is not set.
fn number(settings: &Settings, of: &Parameter) -> Printed {
    Value::Integer(shown::number(settings, of.name)).into()
}
