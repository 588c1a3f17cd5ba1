//! One router with one traffic mix, which is simulated until its values are known well enough.

use goodqueue_scenario::results::Run;
use goodqueue_scenario::scenario::Document;
use goodqueue_tc::diagnostic::Diagnostic;

use crate::advice::added;
use crate::known::{Blocks, Known, mean};
use crate::mix::VERIFIED;
use crate::model::{Model, Router};

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
    /// The same runs in blocks.
    blocks: Blocks,
}

/// Returns all cells without runs. Only the first mix shows what the encapsulation is good for.
pub(crate) fn cells<'a>(model: &Model<'a>, other: Option<&Model<'a>>, routers: &[Router]) -> Vec<Cell<'a>> {
    let cell = |model: &Model<'a>, mix, role, router: &Router| Cell {
        model: *model,
        mix,
        role,
        router: router.clone(),
        runs: Vec::new(),
        blocks: Blocks::default(),
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
    pub(crate) fn document(&self, seed: u64) -> Result<Document, Diagnostic> {
        self.model.scenario(&VERIFIED[self.mix], std::slice::from_ref(&self.router), seed)
    }

    /// Adds a run. Only the report draws series, and only those of the first mix.
    pub(crate) fn add(&mut self, mut run: Run) {
        self.blocks.add(&run, self.model.span.warmup_s);
        if !self.model.question.effort.series || self.mix > 0 {
            run.series = None;
        }
        self.runs.push(run);
    }

    pub(crate) fn is_known(&self) -> bool {
        let question = self.model.question;
        #[expect(clippy::cast_precision_loss, reason = "rates of a line")]
        let rates = question.rates.map(|rate| rate.as_bps() as f64);
        let wanted = match self.role {
            Role::Advised | Role::Instead => Known::PROMISED,
            Role::Today | Role::Without => Known::COMPARED,
        };
        let added = mean(self.runs.iter().map(added)).unwrap_or(0.0);
        let mix = &VERIFIED[self.mix];
        self.blocks.knows_latency(added, wanted) && (!mix.is_full || self.blocks.knows_goodput(rates, wanted))
    }
}
