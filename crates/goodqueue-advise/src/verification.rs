//! The verification of a setting: other seeds and other traffic than the search had.

use goodqueue::Duration;
use goodqueue_scenario::results::{Results, Run};
use goodqueue_scenario::run::results;
use goodqueue_scenario::run::series::default_step;
use goodqueue_scenario::scenario::Names;
use goodqueue_scenario::sweep::Sweep;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::advice::added;
use crate::cell::{Cell, Role, cells};
use crate::kind::Equipment;
use crate::mix::{Mix, VERIFIED};
use crate::model::{Model, Router, SEARCH_SEED};
use crate::question::Question;
use crate::setup::Setup;
use crate::simulated::Simulator;
use crate::span::Span;

/// Runs without any shaper, with the advice, and with the advice without the line's encapsulation.
pub(crate) struct Verified {
    /// Each mix with its runs.
    pub(crate) mixes: Vec<OfMix>,
    /// Added latency in the first seconds of the load of the first mix, today and with the advice.
    pub(crate) first_s: [f64; 2],
    /// Without the line's encapsulation, with the first mix. The runs with the advice if it makes
    /// no difference.
    pub(crate) without: Vec<Run>,
    /// Other equipment instead of a shaper.
    pub(crate) equipment: Option<Equipment>,
    /// The first mix as a result.
    pub(crate) results: Results,
}

/// The runs of a mix.
pub(crate) struct OfMix {
    pub(crate) mix: &'static Mix,
    /// Today and with the advice.
    pub(crate) runs: [Vec<Run>; 2],
    /// With other equipment and no shaper.
    pub(crate) instead: Vec<Run>,
}

/// Simulates every mix with one seed after another, each router until its values are known well
/// enough or the question's number of seeds is reached. `None` if the observer cancels.
pub(crate) fn verified(
    model: &Model<'_>,
    best: &Setup<'_>,
    simulator: &Simulator<'_>,
) -> Result<Option<Verified>, Diagnostic> {
    let question = model.question;
    let routers = routers(best, question);
    let beginning =
        [model.lasting(Span::beginning()).scenario(&VERIFIED[0], &routers[..2], SEARCH_SEED + 1)?];
    let Some(runs) = simulator.runs(&beginning, None, [0.5, 0.52])? else { return Ok(None) };
    let first_s = [added(&runs[0]), added(&runs[1])];

    let other = question.kind.instead.map(|other| Question { kind: other.kind, ..question.clone() });
    let other = other.as_ref().map(|question| Model { question, ..*model });
    let mut cells = cells(model, other.as_ref(), &routers);
    let step = if question.effort.series { default_step(duration(model)) } else { COARSE };
    let mut from = 0.52;
    // The search has seen the first seed.
    let last = SEARCH_SEED + question.effort.seeds;
    for seed in SEARCH_SEED + 1..=last {
        let unknown: Vec<&mut Cell<'_>> = cells.iter_mut().filter(|cell| !cell.is_known()).collect();
        if unknown.is_empty() {
            break;
        }
        let documents = unknown.iter().map(|cell| cell.document(seed)).collect::<Result<Vec<_>, _>>()?;
        // Half of what is left: nobody knows whether another seed is needed.
        let to = if seed == last { 1.0 } else { (1.0 + from) / 2.0 };
        let Some(runs) = simulator.runs(&documents, Some(step), [from, to])? else { return Ok(None) };
        from = to;
        for (cell, run) in unknown.into_iter().zip(runs) {
            cell.add(run);
        }
    }
    let all = model.scenario(&VERIFIED[0], &routers, SEARCH_SEED + 1)?;
    let scenario = Sweep::new(&all, &Names::default())?.point(0)?.1.to_json();
    Ok(Some(found(cells, first_s, question.kind.instead, scenario)))
}

/// Returns the routers that are compared: today, with the advice, and with the advice without the
/// line's encapsulation if that makes a difference.
fn routers(best: &Setup<'_>, question: &Question) -> Vec<Router> {
    let advised = Router { label: ADVICE.to_owned(), lines: best.lines(question) };
    let blind = Setup { accounts: false, ..*best };
    let label = format!("{} without overhead", best.manager.name());
    let without = Router { label, lines: blind.lines(question) };
    let differs = without.lines != advised.lines;
    let mut all = vec![Router::unmanaged(), advised];
    all.extend(differs.then_some(without));
    all
}

/// Sorts the runs of all cells.
fn found(
    cells: Vec<Cell<'_>>,
    first_s: [f64; 2],
    equipment: Option<Equipment>,
    scenario: serde_json::Value,
) -> Verified {
    let mut mixes: Vec<OfMix> =
        VERIFIED.iter().map(|mix| OfMix { mix, runs: Default::default(), instead: Vec::new() }).collect();
    let mut without = Vec::new();
    let mut of_first = Vec::new();
    for cell in cells {
        let of = &mut mixes[cell.mix];
        if cell.mix == 0 && cell.role != Role::Instead {
            of_first.extend(cell.runs.iter().cloned());
        }
        match cell.role {
            Role::Today => of.runs[0] = cell.runs,
            Role::Advised => of.runs[1] = cell.runs,
            Role::Instead => of.instead = cell.runs,
            Role::Without => without = cell.runs,
        }
    }
    if without.is_empty() {
        without.clone_from(&mixes[0].runs[1]);
    }
    Verified { mixes, first_s, without, equipment, results: results(scenario, of_first) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a run")]
fn duration(model: &Model<'_>) -> Duration {
    Duration::from_millis((model.span.total() * 1e3) as u64)
}

/// How results call a router with the advice.
pub(crate) const ADVICE: &str = "advice";
/// Step of the series if nobody draws them: they are only summed up in blocks of several seconds.
const COARSE: Duration = Duration::from_millis(500);
