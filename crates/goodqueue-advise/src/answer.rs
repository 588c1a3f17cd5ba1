//! What the search and the verification found, as an answer.

use goodqueue_scenario::results::Run;

use crate::advice::{Advice, InMix, Instead, Measured, Spread, Tried, added, goodput};
use crate::before::steps;
use crate::mix::NEAR_AND_FAR;
use crate::model::{Model, Router, SEARCH_SEED};
use crate::places::place;
use crate::settings::settings;
use crate::setup::Setup;
use crate::verification::{OfMix, Verified};
use crate::words;

pub(crate) fn answer(model: &Model<'_>, best: &Setup<'_>, checked: Verified, tried: Vec<Tried>) -> Advice {
    let question = model.question;
    let today = measured(&checked.mixes, |of| &of.runs[0], checked.first_s[0]);
    let mut advised = measured(&checked.mixes, |of| &of.runs[1], checked.first_s[1]);
    advised.cap(today.goodput_bps);
    let without = Spread::of(checked.without.iter().map(added)).mean;
    let instead = checked.equipment.map(|equipment| Instead {
        equipment: equipment.how,
        measured: measured(&checked.mixes, |of| &of.instead, None),
    });
    let mixes = checked.mixes.iter().map(|of| InMix {
        name: of.mix.name,
        today_s: Spread::of(of.runs[0].iter().map(added)),
        advised_s: Spread::of(of.runs[1].iter().map(added)),
        instead_s: checked.equipment.map(|_| Spread::of(of.instead.iter().map(added))),
        today_goodput_bps: goodput(&of.runs[0]),
        advised_goodput_bps: goodput(&of.runs[1]),
    });
    let routers = [Router::unmanaged(), Router { label: best.manager.name(), lines: best.lines(question) }];
    let mut advice = Advice {
        line: words::line(question),
        sources: question.kind.source.to_owned(),
        rate_bps: question.rates.map(|rate| rate.as_bps()),
        rtt_s: question.rtt_s(),
        buffer_bytes: model.buffers,
        is_measured: question.measured.is_some(),
        keep: today.latency_s.mean - advised.latency_s.mean < WORTH_S,
        reason: String::new(),
        mixes: mixes.collect(),
        discipline: best.manager.name(),
        shaped_bps: best.rates(question).map(|rate| rate.as_bps()),
        lines: best.lines(question),
        steps: steps(question, best),
        settings: settings(question, best),
        today,
        advised,
        instead,
        tried,
        scenario: model.text(&NEAR_AND_FAR, &routers, SEARCH_SEED),
        results: checked.results,
    };
    advice.reason = place(question.kind.bottleneck).reason(question, &advice, without);
    advice
}

/// Summarises some of the runs of each mix, with the added latency in the first seconds.
fn measured(mixes: &[OfMix], runs: impl Fn(&OfMix) -> &[Run] + Copy, first_s: Option<f64>) -> Measured {
    let full: Vec<&[Run]> = mixes.iter().filter(|of| of.mix.is_full).map(runs).collect();
    let all: Vec<&[Run]> = mixes.iter().map(runs).collect();
    Measured::of(&full, &all, first_s)
}

/// A shaper that saves less is not worth its price.
const WORTH_S: f64 = 0.005;
