//! The verification of a setting: other seeds and other traffic than the search had.

use goodqueue::Duration;
use goodqueue_scenario::results::{Results, Run};
use goodqueue_scenario::run::results;
use goodqueue_scenario::run::series::default_step;
use goodqueue_scenario::scenario::{Document, Names};
use goodqueue_scenario::sweep::Sweep;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::advice::added;
use crate::kind::Equipment;
use crate::known::{Blocks, Known, mean};
use crate::mix::{Mix, VERIFIED};
use crate::model::{Model, Router};
use crate::question::Question;
use crate::search::SEARCH_SEED;
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
    /// The same runs in blocks.
    blocks: [Blocks; 2],
}

/// Simulates every mix with one seed after another, until all values are known well enough or the
/// question's number of seeds is reached. `None` if the observer cancels.
pub(crate) fn verified(
    model: &Model<'_>,
    best: &Setup<'_>,
    simulator: &Simulator<'_>,
) -> Result<Option<Verified>, Diagnostic> {
    let question = model.question;
    let routers = Routers::new(best, question);
    let other = question.kind.instead.map(|other| Question { kind: other.kind, ..question.clone() });
    let other = other.as_ref().map(|question| Model { question, ..*model });
    let mut mixes: Vec<OfMix> = VERIFIED
        .iter()
        .map(|mix| OfMix { mix, runs: Default::default(), instead: Vec::new(), blocks: Default::default() })
        .collect();
    // The runs of the first mix, for each router.
    let mut of_first: Vec<Vec<Run>> = vec![Vec::new(); routers.all.len()];
    let step = if question.effort.series { default_step(duration(model)) } else { COARSE };
    let beginning =
        [model.lasting(Span::beginning()).scenario(&VERIFIED[0], &routers.all[..2], SEARCH_SEED + 1)?];
    let Some(runs) = simulator.runs(&beginning, None, [0.5, 0.52])? else { return Ok(None) };
    let first_s = [added(&runs[0]), added(&runs[1])];
    let mut scenario = None;
    let mut from = 0.52;
    // The search has seen the first seed.
    for seed in SEARCH_SEED + 1..=SEARCH_SEED + question.effort.seeds {
        let documents = routers.documents(model, other.as_ref(), seed)?;
        if scenario.is_none() {
            scenario = Some(Sweep::new(&documents[0], &Names::default())?.point(0)?.1.to_json());
        }
        // Half of what is left: nobody knows whether another seed is needed.
        let to = if seed == SEARCH_SEED + question.effort.seeds { 1.0 } else { (1.0 + from) / 2.0 };
        let Some(runs) = simulator.runs(&documents, Some(step), [from, to])? else { return Ok(None) };
        from = to;
        let mut runs = runs.into_iter();
        for (number, of) in mixes.iter_mut().enumerate() {
            let count = routers.of_mix(number).len();
            for (router, mut run) in runs.by_ref().take(count).enumerate() {
                if let Some(blocks) = of.blocks.get_mut(router) {
                    blocks.add(&run, model.span.warmup_s);
                }
                if !question.effort.series {
                    run.series = None;
                }
                if number == 0 {
                    of_first[router].push(run.clone());
                }
                run.series = None;
                // The third router is in the first mix only.
                if let Some(runs) = of.runs.get_mut(router) {
                    runs.push(run);
                }
            }
        }
        for (of, mut run) in mixes.iter_mut().zip(runs) {
            run.series = None;
            of.instead.push(run);
        }
        if mixes.iter().all(|of| of.is_known(question)) {
            break;
        }
    }
    Ok(Some(Verified {
        first_s,
        without: of_first.last().cloned().unwrap_or_default(),
        equipment: question.kind.instead,
        results: results(scenario.unwrap_or_default(), of_first.into_iter().flatten().collect()),
        mixes,
    }))
}

impl OfMix {
    fn is_known(&self, question: &Question) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "rates of a line")]
        let rates = question.rates.map(|rate| rate.as_bps() as f64);
        let wanted = [Known::COMPARED, Known::PROMISED];
        self.blocks.iter().zip(&self.runs).zip(wanted).all(|((blocks, runs), wanted)| {
            let added = mean(runs.iter().map(added)).unwrap_or(0.0);
            blocks.knows_latency(added, wanted) && (!self.mix.is_full || blocks.knows_goodput(rates, wanted))
        })
    }
}

/// The routers that are compared.
struct Routers {
    /// Today, with the advice, and with the advice without the line's encapsulation if that makes
    /// a difference. The first mix has all of them, and the others the first two.
    all: Vec<Router>,
}

impl Routers {
    fn new(best: &Setup<'_>, question: &Question) -> Self {
        let advised = Router { label: ADVICE.to_owned(), lines: best.lines(question) };
        let blind = Setup { accounts: false, ..*best };
        let label = format!("{} without overhead", best.manager.name());
        let without = Router { label, lines: blind.lines(question) };
        let differs = without.lines != advised.lines;
        let mut all = vec![Router::unmanaged(), advised];
        all.extend(differs.then_some(without));
        Self { all }
    }

    fn of_mix(&self, number: usize) -> &[Router] {
        if number == 0 { &self.all } else { &self.all[..2] }
    }

    /// Returns a scenario for each mix, then those with other equipment.
    fn documents(
        &self,
        model: &Model<'_>,
        other: Option<&Model<'_>>,
        seed: u64,
    ) -> Result<Vec<Document>, Diagnostic> {
        let this =
            VERIFIED.iter().enumerate().map(|(number, mix)| model.scenario(mix, self.of_mix(number), seed));
        let unmanaged = [Router::unmanaged()];
        let other =
            other.iter().flat_map(|model| VERIFIED.iter().map(|mix| model.scenario(mix, &unmanaged, seed)));
        this.chain(other).collect()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a run")]
fn duration(model: &Model<'_>) -> Duration {
    Duration::from_millis((model.span.total() * 1e3) as u64)
}

/// How results call a router with the advice.
const ADVICE: &str = "advice";
/// Step of the series if nobody draws them: they are only summed up in blocks of several seconds.
const COARSE: Duration = Duration::from_millis(500);
