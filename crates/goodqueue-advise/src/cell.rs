//! One router with one traffic mix, which is simulated until its values are known well enough.

use goodqueue::Duration;
use goodqueue_scenario::results::Run;
use goodqueue_scenario::run::series::default_step;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::known::{Blocks, Known};
use crate::mix::VERIFIED;
use crate::model::{Model, Router, SEARCH_SEED};
use crate::rule::Rule;
use crate::simulated::Simulator;
use crate::span::Span;

/// What a router is run for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Today,
    Advised,
    /// With the advice, but without the line's encapsulation.
    Without,
    /// With other equipment and no shaper.
    Instead,
}

/// One router with one mix, and its runs.
pub(crate) struct Cell<'a> {
    model: Model<'a>,
    /// Number of the mix.
    pub(crate) mix: usize,
    pub(crate) role: Role,
    router: Router,
    pub(crate) runs: Vec<Run>,
    /// Added latency in the first seconds of the load of the first run.
    pub(crate) first_s: Option<f64>,
    /// The same runs in blocks.
    blocks: Vec<Blocks>,
}

/// Returns all cells without runs, those that take longest first. Only the first mix shows what the
/// encapsulation is good for.
pub(crate) fn cells<'a>(model: &Model<'a>, other: Option<&Model<'a>>, routers: &[Router]) -> Vec<Cell<'a>> {
    let cell = |model: &Model<'a>, mix, role, router: &Router| Cell {
        model: *model,
        mix,
        role,
        router: router.clone(),
        runs: Vec::new(),
        first_s: None,
        blocks: Vec::new(),
    };
    let roles = [Role::Today, Role::Advised, Role::Without];
    let mut all = Vec::new();
    for mix in 0..VERIFIED.len() {
        let routers = routers.iter().zip(roles).filter(|(_, role)| mix == 0 || *role != Role::Without);
        all.extend(routers.map(|(router, role)| cell(model, mix, role, router)));
        all.extend(other.map(|model| cell(model, mix, Role::Instead, &Router::unmanaged())));
    }
    all
}

impl Cell<'_> {
    /// Simulates one seed after another until the values are known well enough or the question's
    /// number of seeds is reached. Returns false if the observer cancels.
    pub(crate) fn simulate(&mut self, simulator: &Simulator<'_>) -> Result<bool, Diagnostic> {
        let effort = self.model.question.effort;
        // Only the report draws series, and only those of the first mix.
        let step = (effort.series && self.mix == 0).then(|| default_step(self.duration()));
        let rule = self.rule();
        // The search has seen the first seed.
        for seed in SEARCH_SEED + 1..=SEARCH_SEED + effort.seeds {
            let mix = &VERIFIED[self.mix];
            let document = self.model.scenario(mix, std::slice::from_ref(&self.router), seed)?;
            let Some((run, seen)) = simulator.judged(&document, step, &self.blocks, rule)? else {
                return Ok(false);
            };
            self.runs.push(run);
            self.blocks.push(seen.blocks);
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
        let whole = Span::promised(question).blocks();
        Rule {
            wanted: if is_promised { Known::PROMISED } else { Known::COMPARED },
            goodput_of_bps: is_full.then_some(rates),
            least_blocks: match self.role {
                // The rate of the line has to change often enough.
                _ if question.varies() => whole,
                Role::Advised | Role::Instead if is_full => whole,
                Role::Advised | Role::Instead => LEAST_PROMISED,
                Role::Today | Role::Without => LEAST_COMPARED,
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

/// Blocks of a run with the advice whose mix does not fill the line. Pages and video come in
/// bursts.
const LEAST_PROMISED: usize = 3;
/// Blocks of each other run.
const LEAST_COMPARED: usize = 2;
