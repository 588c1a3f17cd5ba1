//! The verification of a setting: other seeds and other traffic than the search had.

use goodqueue_scenario::results::{Results, Run};
use goodqueue_scenario::scenario::Names;
use goodqueue_scenario::summary::results;
use goodqueue_scenario::sweep::Sweep;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::cell::{Cell, Role, cells};
use crate::kind::Equipment;
use crate::mix::{Mix, VERIFIED};
use crate::model::{Model, Router, SEARCH_SEED};
use crate::question::Question;
use crate::setup::Setup;
use crate::simulated::Simulator;

/// Runs without any shaper, with the advice, and with the advice without the line's encapsulation.
pub(crate) struct Verified {
    /// Each mix with its runs.
    pub(crate) mixes: Vec<OfMix>,
    /// Added latency in the first seconds of the load of the first mix, today and with the advice.
    pub(crate) first_s: [Option<f64>; 2],
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

/// Simulates every mix with each router. `None` if the observer cancels.
pub(crate) fn verified(
    model: &Model<'_>,
    best: &Setup<'_>,
    simulator: &Simulator<'_>,
) -> Result<Option<Verified>, Diagnostic> {
    let question = model.question;
    let routers = routers(best, question);
    let other = question.kind.instead.map(|other| Question { kind: other.kind, ..question.clone() });
    let other = other.as_ref().map(|question| Model { question, ..*model });
    let cells = cells(model, other.as_ref(), &routers);
    let simulated = simulator.each(cells, [0.5, 1.0], |cell| cell.simulate(simulator))?;
    let Some(cells) = simulated else { return Ok(None) };
    let all = model.scenario(&VERIFIED[0], &routers, SEARCH_SEED + 1)?;
    let scenario = Sweep::new(&all, &Names::default())?.point(0)?.1.to_json();
    Ok(Some(found(cells, question.kind.instead, scenario)))
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
fn found(cells: Vec<Cell<'_>>, equipment: Option<Equipment>, scenario: serde_json::Value) -> Verified {
    let mut mixes: Vec<OfMix> =
        VERIFIED.iter().map(|mix| OfMix { mix, runs: Default::default(), instead: Vec::new() }).collect();
    let mut without = Vec::new();
    let mut first_s = [None; 2];
    let mut of_first = Vec::new();
    for cell in cells {
        let of = &mut mixes[cell.mix];
        if cell.mix == 0 && cell.role != Role::Instead {
            of_first.extend(cell.runs.iter().cloned());
        }
        if cell.mix == 0 {
            match cell.role {
                Role::Today => first_s[0] = cell.first_s,
                Role::Advised => first_s[1] = cell.first_s,
                Role::Without | Role::Instead => {}
            }
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

/// How results call a router with the advice.
pub(crate) const ADVICE: &str = "advice";
