//! The search: a first answer, then both rates of the shapers, then the discipline and its
//! parameters.

use goodqueue_scenario::choice::{Candidate, best, most};
use goodqueue_scenario::results::Run;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::advice::{Advice, Spread, Tried, added};
use crate::answer::answer;
use crate::fitted::fitted;
use crate::manager::Manager;
use crate::managers::managers;
use crate::mix::{NEAR_AND_FAR, SEARCHED};
use crate::model::{Model, Router, SEARCH_SEED};
use crate::observe::{First, Observe};
use crate::question::Question;
use crate::setup::Setup;
use crate::shares::Shares;
use crate::simulated::Simulator;
use crate::span::Span;
use crate::verification::verified;

/// Returns advice for a line. `threads`: of the simulation, 0 for one per processor. `None` if
/// the observer cancels.
///
/// # Errors
/// Measured pings that no buffer explains, or a trace that cannot be read.
pub fn advise(
    question: &Question,
    threads: usize,
    observer: &dyn Observe,
) -> Result<Option<Advice>, Diagnostic> {
    let simulator = Simulator { threads, observer };
    let mut model = Model::new(question);
    if let Some(measured) = question.measured {
        let Some(of_line) = fitted(&model, measured, &simulator)? else { return Ok(None) };
        model = of_line;
    }
    let managers = managers(question);
    let pairs = question.kind.shares.pairs();
    let with = |shares: [u64; 2]| Setup { manager: &*managers[0], shares, accounts: true };
    let Some(guess) = pairs.first().map(|shares| with(*shares)) else { return Ok(None) };
    let Some(first) = first(&model.lasting(Span::first(question)), &guess, &simulator)? else {
        return Ok(None);
    };
    observer.first(&first);

    // The rates must also hold on a line that is a hundredth slower than the model.
    let compared = model.slower(Span::compared(question));
    let mut search = Search { model: &compared, simulator, tried: Vec::new() };
    let Some(all) = search.tried(pairs.into_iter().map(with).collect(), [0.05, 0.3])? else {
        return Ok(None);
    };
    let Some(rates) = search.rates(&all) else { return Ok(None) };
    let variants: Vec<Box<dyn Manager>> =
        managers.iter().flat_map(|manager| manager.variants(question)).collect();
    let usual = managers[1..].iter().chain(&variants).map(|manager| Setup { manager: &**manager, ..rates });
    let Some(all) = search.tried(std::iter::once(rates).chain(usual).collect(), [0.3, 0.5])? else {
        return Ok(None);
    };
    let Some(chosen) = search.preferred(&all) else { return Ok(None) };

    let Some(checked) = verified(&model, &chosen, &simulator)? else { return Ok(None) };
    let mut tried = search.tried;
    tried.sort_by(|one, other| one.latency_s.total_cmp(&other.latency_s));
    Ok(Some(answer(&model, &chosen, checked, tried)))
}

/// Simulates today and the usual setting of such a line.
fn first(
    model: &Model<'_>,
    guess: &Setup<'_>,
    simulator: &Simulator<'_>,
) -> Result<Option<First>, Diagnostic> {
    let routers = [Router::unmanaged(), router(0, guess, model.question)];
    let documents = [model.scenario(&NEAR_AND_FAR, &routers, SEARCH_SEED)?];
    let Some(runs) = simulator.runs(&documents, None, [0.0, 0.05])? else { return Ok(None) };
    let of = |router: usize| candidate(&[&runs[router]]);
    Ok(Some(First {
        discipline: guess.manager.name(),
        shaped_bps: guess.rates(model.question).map(|rate| rate.as_bps()),
        lines: guess.lines(model.question),
        latency_s: [of(0).latency_s, of(1).latency_s],
        goodput_bps: [of(0).goodput_bps, of(1).goodput_bps],
    }))
}

struct Search<'s> {
    model: &'s Model<'s>,
    simulator: Simulator<'s>,
    tried: Vec<Tried>,
}

impl Search<'_> {
    /// Simulates settings. `None` if the observer cancels.
    fn tried<'m>(
        &mut self,
        setups: Vec<Setup<'m>>,
        part: [f64; 2],
    ) -> Result<Option<Vec<(Setup<'m>, Candidate)>>, Diagnostic> {
        let question = self.model.question;
        let routers: Vec<Router> =
            setups.iter().enumerate().map(|(number, setup)| router(number, setup, question)).collect();
        let documents = SEARCHED.iter().map(|mix| self.model.scenario(mix, &routers, SEARCH_SEED));
        let documents = documents.collect::<Result<Vec<_>, _>>()?;
        let Some(runs) = self.simulator.runs(&documents, None, part)? else { return Ok(None) };
        let count = routers.len();
        let of_router = |number: usize| runs.iter().skip(number).step_by(count).collect::<Vec<&Run>>();
        let found: Vec<(Setup<'m>, Candidate)> = setups
            .into_iter()
            .enumerate()
            .map(|(number, setup)| (setup, candidate(&of_router(number))))
            .collect();
        for (router, (_, candidate)) in routers.into_iter().zip(&found) {
            // The best rates are tried twice: with other rates, and with other disciplines.
            let is_known = self.tried.iter().any(|tried| tried.lines == router.lines);
            if !is_known {
                self.tried.push(Tried {
                    lines: router.lines,
                    latency_s: candidate.latency_s,
                    goodput_bps: candidate.goodput_bps,
                });
            }
        }
        Ok(Some(found))
    }

    /// Returns the best rates of the shapers. Where each direction has its own shaper, a faster one
    /// carries more. The candidates are then compared by these rates, because the goodput of a
    /// short run varies more between seeds than between neighbouring rates.
    fn rates<'m>(&self, all: &[(Setup<'m>, Candidate)]) -> Option<Setup<'m>> {
        let question = self.model.question;
        let carried = |(setup, measured): &(Setup<'m>, Candidate)| match question.kind.shares {
            #[expect(clippy::cast_precision_loss, reason = "rates of shapers")]
            Shares::Apart { .. } => {
                let goodput_bps = setup.rates(question).map(|rate| rate.as_bps() as f64);
                Candidate { goodput_bps, ..*measured }
            }
            Shares::Together(_) => *measured,
        };
        let candidates: Vec<Candidate> = all.iter().map(carried).collect();
        best(&candidates, question.rtt_s()).map(|number| all[number].0)
    }

    /// Returns the best setting, but the first one unless another is clearly better: it is the
    /// usual one, and a real line has other traffic than this load.
    fn preferred<'m>(&self, all: &[(Setup<'m>, Candidate)]) -> Option<Setup<'m>> {
        let candidates: Vec<Candidate> = all.iter().map(|(_, candidate)| *candidate).collect();
        let rtt_s = self.model.question.rtt_s();
        let number = best(&candidates, rtt_s)?;
        let usual = candidates[0];
        let other = candidates[number];
        let most = most(&candidates);
        let carries_more = other.share_of(most) > usual.share_of(most) * (1.0 + CLEAR);
        let is_clearly_better = carries_more || !usual.is_hardly_slower_than(other.latency_s, rtt_s);
        Some(all[if is_clearly_better { number } else { 0 }].0)
    }
}

/// Returns the means of runs with the same setting.
fn candidate(runs: &[&Run]) -> Candidate {
    let mean = |of: &dyn Fn(&Run) -> f64| Spread::of(runs.iter().map(|run| of(run))).mean;
    Candidate {
        latency_s: mean(&added),
        goodput_bps: [mean(&|run| run.goodput.down), mean(&|run| run.goodput.up)],
    }
}

fn router(number: usize, setup: &Setup<'_>, question: &Question) -> Router {
    Router { label: format!("{number}: {}", setup.manager.name()), lines: setup.lines(question) }
}

/// Share of goodput by which another setting than the usual one is clearly better. Less than a
/// tenth depends on the load, and the usual setting has advantages that one load does not show,
/// such as fairness between hosts.
const CLEAR: f64 = 0.1;
