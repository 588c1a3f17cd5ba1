//! The verification of a setting with other seeds and other traffic than the search had, and the
//! answer.

use goodqueue::Duration;
use goodqueue_scenario::results::{Results, Run, ScenarioRecord};
use goodqueue_scenario::run::series::default_step;
use goodqueue_scenario::scenario::Names;
use goodqueue_scenario::summary::results;
use goodqueue_scenario::sweep::Sweep;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::advice::{Advice, InMix, Instead, Measured, Spread, Tried, added, goodput};
use crate::judge::{BEGINNING, Blocks, Precision, Rule, seconds};
use crate::kind::Equipment;
use crate::model::{Mix, Model, NEAR_AND_FAR, Router, SEARCH_SEED, Span, VERIFIED, block_s};
use crate::places::place;
use crate::question::Question;
use crate::setting::Setup;
use crate::settings::{settings, steps};
use crate::simulated::Simulator;
use crate::words;

/// Runs without any shaper, with the advice, and with the advice without the line's encapsulation.
pub(crate) struct Verified {
    /// Each mix with its runs.
    pub(crate) mixes: Vec<MixRuns>,
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
pub(crate) struct MixRuns {
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
    // The search was the first half of the progress.
    let simulated = simulator.each(cells, [0.5, 1.0], |cell| cell.simulate(simulator))?;
    let Some(cells) = simulated else { return Ok(None) };
    // The first seed that the search has not seen.
    let all = model.scenario(&VERIFIED[0], &routers, SEARCH_SEED + 1)?;
    let scenario = Sweep::new(&all, &Names::default())?.point(0)?.1;
    Ok(Some(found(cells, question.kind.instead, ScenarioRecord::from(&scenario))))
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
fn found(cells: Vec<Cell<'_>>, equipment: Option<Equipment>, scenario: ScenarioRecord) -> Verified {
    let mut mixes: Vec<MixRuns> =
        VERIFIED.iter().map(|mix| MixRuns { mix, runs: Default::default(), instead: Vec::new() }).collect();
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
    // The line has no encapsulation to account for, so both settings are the same.
    if without.is_empty() {
        without.clone_from(&mixes[0].runs[1]);
    }
    Verified { mixes, first_s, without, equipment, results: results(scenario, of_first) }
}

/// How results call a router with the advice.
pub(crate) const ADVICE: &str = "advice";

/// What a router is run for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Today,
    Advised,
    /// With the advice, but without the line's encapsulation.
    Without,
    /// With other equipment and no shaper.
    Instead,
}

/// One router with one mix, and its runs.
struct Cell<'a> {
    model: Model<'a>,
    /// Number of the mix.
    mix: usize,
    role: Role,
    router: Router,
    runs: Vec<Run>,
    /// Added latency in the first seconds of the load of the first run.
    first_s: Option<f64>,
    /// The same runs in blocks.
    blocks: Vec<Blocks>,
}

/// Returns all cells without runs, those that take longest first. Only the first mix shows what the
/// encapsulation is good for.
fn cells<'a>(model: &Model<'a>, other: Option<&Model<'a>>, routers: &[Router]) -> Vec<Cell<'a>> {
    let cell = |model: &Model<'a>, mix: usize, role, router: &Router| Cell {
        model: model.lasting(Span::promised(model.question, &VERIFIED[mix])),
        mix,
        role,
        router: router.clone(),
        runs: Vec::new(),
        first_s: None,
        blocks: Vec::new(),
    };
    // In the order of `routers`.
    let roles = [Role::Today, Role::Advised, Role::Without];
    let mut all = Vec::new();
    for mix in 0..VERIFIED.len() {
        // `routers` ends without `Role::Without` if the encapsulation makes no difference.
        let routers = routers.iter().zip(roles).filter(|(_, role)| mix == 0 || *role != Role::Without);
        all.extend(routers.map(|(router, role)| cell(model, mix, role, router)));
        all.extend(other.map(|model| cell(model, mix, Role::Instead, &Router::unmanaged())));
    }
    all
}

impl Cell<'_> {
    /// Simulates one seed after another until the values are known well enough or the question's
    /// number of seeds is reached. Returns false if the observer cancels.
    fn simulate(&mut self, simulator: &Simulator<'_>) -> Result<bool, Diagnostic> {
        let effort = self.model.question.effort;
        // Only the report draws series, and only those of the first mix.
        let step = (effort.series && self.mix == 0).then(|| default_step(self.duration()));
        // The search has seen the first seed.
        for seed in SEARCH_SEED + 1..=SEARCH_SEED + effort.seeds {
            let rule = self.rule();
            let mix = &VERIFIED[self.mix];
            let document = self.model.scenario(mix, std::slice::from_ref(&self.router), seed)?;
            let Some((run, seen)) = simulator.judged(&document, step, &self.blocks, rule)? else {
                return Ok(false);
            };
            self.runs.push(run);
            self.blocks.push(seen.blocks);
            // Later seeds are run only if the first one did not suffice, so a mean would have other
            // seeds for each setting.
            self.first_s = self.first_s.or(seen.first_s);
            if rule.is_met(&self.blocks.iter().collect::<Vec<_>>()) {
                break;
            }
        }
        Ok(true)
    }

    fn rule(&self) -> Rule {
        let question = self.model.question;
        let is_full = VERIFIED[self.mix].is_full;
        #[expect(clippy::cast_precision_loss, reason = "rates of a line")]
        let rates = question.rates.map(|rate| rate.as_bps() as f64);
        let is_promised = matches!(self.role, Role::Advised | Role::Instead);
        let least = if is_promised { LEAST_PROMISED } else { LEAST_COMPARED };
        let block_s = block_s(question);
        let Span { warmup_s, measured_s } = self.model.span;
        Rule {
            wanted: if is_promised { Precision::PROMISED } else { Precision::COMPARED },
            goodput_of_bps: is_full.then_some(rates),
            block_s,
            least_blocks: match self.role {
                // The rate of the line has to change often enough.
                _ if question.varies() => blocks(measured_s, block_s),
                // The answer tells the latency in the beginning of the first run.
                Role::Today | Role::Advised if self.mix == 0 && self.runs.is_empty() => {
                    blocks(seconds(BEGINNING) - warmup_s, block_s).max(least)
                }
                _ => least,
            },
            rtt_s: question.rtt_s(),
            // The queue of today fills differently after each start.
            least_runs: if self.role == Role::Today && is_full { 2 } else { 1 },
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a run")]
    fn duration(&self) -> Duration {
        Duration::from_millis((self.model.span.total() * 1e3) as u64)
    }
}

/// Returns the number of blocks that last at least this long.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few blocks")]
fn blocks(seconds: f64, block_s: f64) -> usize {
    (seconds / block_s).ceil() as usize
}

/// Blocks of a run with the advice. Pages and video come in bursts.
const LEAST_PROMISED: usize = 3;
/// Blocks of each other run.
const LEAST_COMPARED: usize = 2;

/// Returns what the search and the verification found, as an answer.
pub(crate) fn answer(model: &Model<'_>, best: &Setup<'_>, checked: Verified, tried: Vec<Tried>) -> Advice {
    let question = model.question;
    let today = measured(&checked.mixes, |of| &of.runs[0], checked.first_s[0]);
    let mut advised = measured(&checked.mixes, |of| &of.runs[1], checked.first_s[1]);
    advised.cap(today.goodput_bps);
    let without = Spread::from_values(checked.without.iter().map(added)).mean;
    let instead = checked.equipment.map(|equipment| Instead {
        equipment: equipment.how,
        measured: measured(&checked.mixes, |of| &of.instead, None),
    });
    let mixes = checked.mixes.iter().map(|of| InMix {
        name: of.mix.name,
        today_s: Spread::from_values(of.runs[0].iter().map(added)),
        advised_s: Spread::from_values(of.runs[1].iter().map(added)),
        instead_s: checked.equipment.map(|_| Spread::from_values(of.instead.iter().map(added))),
        today_goodput_bps: goodput(&of.runs[0]),
        advised_goodput_bps: goodput(&of.runs[1]),
    });
    let routers = [Router::unmanaged(), Router { label: best.manager.name(), lines: best.lines(question) }];
    let mut advice = Advice {
        line: words::line(question),
        sources: question.kind.source(),
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
fn measured(mixes: &[MixRuns], runs: impl Fn(&MixRuns) -> &[Run] + Copy, first_s: Option<f64>) -> Measured {
    let full: Vec<&[Run]> = mixes.iter().filter(|of| of.mix.is_full).map(runs).collect();
    let all: Vec<&[Run]> = mixes.iter().map(runs).collect();
    Measured::from_runs(&full, &all, first_s)
}

/// A shaper that saves less is not worth its price.
const WORTH_S: f64 = 0.005;
