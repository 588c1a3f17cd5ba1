//! The experiments of papers, and what comes out of them beside what the papers say.
//!
//! A claim is data: `papers/NAME/claims.toml` says what a paper states, in which runs it shows, and
//! what must hold ([`paper`] has the format, [`expression`] the language of checks). The runs that
//! the claims asked for need are collected first, so that claims share them, and kept in a
//! [`Store`], so that what was interrupted goes on where it was.

pub mod agreement;
mod clock;
pub mod details;
pub mod evidence;
pub mod expression;
mod fetches;
pub mod finding;
mod initial_windows;
mod interval;
mod measures;
pub mod paper;
mod parameters;
pub mod picture;
mod prediction;
pub(crate) mod real;
mod results;
pub mod score;
pub mod tolerance;
mod tree;
pub mod verdicts;
mod words;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use goodqueue::Duration;
use goodqueue_scenario::results::ScenarioRecord;
use goodqueue_scenario::run::{ExtraMeasurements, PointRuns, RunSpec, Runs, no_run};
use goodqueue_scenario::scenario::Scenario;
use goodqueue_scenario::session::{Session, Watch};
use goodqueue_scenario::store::Store;
use goodqueue_scenario::sweep::MAX_RUNS;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::Value;

use details::DetailedRun;
use evidence::Evidence;
use expression::{Cell, Check, Statement};
use finding::{Finding, Measurement, Outcome};
pub use paper::{Claim, ClaimKind, Effort, Paper, papers, papers_in};
use paper::{Experiment, Metric};
use real::RealSystem;
pub use results::{
    CheckResult, ClaimResult, MetricsResult, MetricsTable, Number, RealResult, Verdict, figures,
    real_in_words, three_figures,
};
use results::{FEW_CHECKS, NO_SAMPLE, in_words};
pub use score::{Score, scores};
use tree::Tree;

/// Claims of one paper that are to be tried, with their runs.
#[derive(Debug)]
pub struct Plan<'p> {
    paper: &'p Paper,
    claims: Vec<&'p Claim>,
    /// Scenarios with the number of runs up to their last one, and what is counted in these.
    scenarios: Vec<(usize, PointRuns, ExtraMeasurements)>,
    /// Which of the runs belong to a cell, and the scenario as resolved (the first, if the
    /// experiment varies it).
    cells: BTreeMap<Cell, (ScenarioRecord, Vec<usize>)>,
    /// Simulated time of all runs in seconds.
    simulated_s: f64,
}

impl<'p> Plan<'p> {
    /// The runs that these claims of `paper` need, and these cells beside.
    ///
    /// # Errors
    /// A scenario that does not resolve.
    pub fn new(
        paper: &'p Paper,
        claims: Vec<&'p Claim>,
        more: &BTreeSet<Cell>,
        effort: Effort,
    ) -> Result<Self, Diagnostic> {
        let mut wanted: BTreeSet<Cell> = claims.iter().flat_map(|claim| claim.cells()).collect();
        wanted.extend(more.iter().cloned());
        let mut plan =
            Self { paper, claims, scenarios: Vec::new(), cells: BTreeMap::new(), simulated_s: 0.0 };
        for experiment in &paper.experiments {
            let labels: BTreeSet<&str> = wanted
                .iter()
                .filter(|cell| cell.experiment == experiment.name)
                .map(|cell| cell.label.as_str())
                .collect();
            if labels.is_empty() {
                continue;
            }
            for scenario in paper.scenarios(experiment, effort, &labels)? {
                plan.add(experiment, scenario)?;
            }
        }
        Ok(plan)
    }

    fn add(&mut self, experiment: &Experiment, scenario: Scenario) -> Result<(), Diagnostic> {
        let kept = experiment.series_step()?;
        let step = if experiment.spikes.is_empty() { kept } else { Some(SPIKE_STEP) };
        let resolved = ScenarioRecord::from(&scenario);
        let details = ExtraMeasurements {
            groups: scenario.flows.iter().map(|group| group.count).collect(),
            spikes: experiment.spikes.clone(),
            series: kept.is_some(),
            initial_windows: experiment.initial_windows,
            tc_stats: false,
        };
        let begin = self.runs();
        let of_one_run = seconds(scenario.duration);
        let runs = PointRuns::new((BTreeMap::new(), scenario), step);
        let end = begin + runs.count();
        if end > MAX_RUNS {
            let message = format!("the experiments up to `{}` make {end} runs", experiment.name);
            return Err(Diagnostic::new(message)
                .allowed(format!("at most {MAX_RUNS}"))
                .help("ask for fewer claims, vary fewer values, or lower `seeds`"));
        }
        // Seeds differ in nothing that could be refused.
        runs.spec(0)?;
        for number in begin..end {
            let label = runs.label(number - begin).to_owned();
            let cell = Cell { label, experiment: experiment.name.clone() };
            // Every combination that an experiment varies adds its runs to the same cell.
            self.cells.entry(cell).or_insert_with(|| (resolved.clone(), Vec::new())).1.push(number);
        }
        self.simulated_s += (0..runs.count()).map(|_| of_one_run).sum::<f64>();
        self.scenarios.push((end, runs, details));
        Ok(())
    }

    /// The paper.
    #[must_use]
    pub const fn paper(&self) -> &'p Paper {
        self.paper
    }

    /// The number of runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.scenarios.last().map_or(0, |scenario| scenario.0)
    }

    /// Simulated time of all runs in seconds.
    #[must_use]
    pub const fn simulated_s(&self) -> f64 {
        self.simulated_s
    }

    /// Runs what is needed, `threads` at the same time (0: as many as there are processors).
    /// `None`: it was cancelled.
    ///
    /// # Errors
    /// A run that is impossible, or a store that cannot be written.
    pub fn run(
        &self,
        threads: usize,
        store: Option<&Store>,
        watch: &dyn Watch,
    ) -> Result<Option<Evidence<'p>>, Diagnostic> {
        let session = Session::from_runs(self).threads(threads).with_store(store.cloned());
        let Some(runs) = session.run_as::<DetailedRun>(watch)?.whole() else { return Ok(None) };
        let mut trees = Vec::new();
        for run in runs {
            let value = serde_json::to_value(&run);
            let value = value.map_err(|error| Diagnostic::new(format!("a result is not JSON: {error}")))?;
            trees.push(Rc::new(Tree::new(&value)));
        }
        let mut evidence = Evidence::new(&self.paper.measures);
        for (cell, (scenario, numbers)) in &self.cells {
            let of_cell = numbers.iter().filter_map(|number| trees.get(*number).map(Rc::clone));
            evidence.add(cell.clone(), scenario.clone(), of_cell.collect());
        }
        Ok(Some(evidence))
    }

    /// The metrics of the paper, experiment by experiment: those that all have, then those that
    /// some have.
    #[must_use]
    pub fn metrics(&self, evidence: &Evidence<'_>) -> Vec<MetricsTable> {
        let mut tables: Vec<MetricsTable> = Vec::new();
        let mut rest: Vec<&Metric> = self.paper.metrics.iter().collect();
        while let Some(Metric { only, table, .. }) = rest.first() {
            let (alike, others) =
                rest.iter().partition(|metric| &metric.only == only && &metric.table == table);
            tables.push(self.metrics_of(alike, only, evidence));
            rest = others;
        }
        // A table may be about experiments that no chosen claim needs.
        tables.retain(|table| !table.measured.is_empty());
        tables
    }

    fn metrics_of(&self, metrics: Vec<&Metric>, only: &[String], evidence: &Evidence<'_>) -> MetricsTable {
        let has =
            |experiment: &&Experiment| only.is_empty() || only.iter().any(|o| experiment.name.starts_with(o));
        let in_order = self.paper.experiments.iter().filter(has).flat_map(|experiment| {
            let cells = self.cells.iter().filter(|(cell, _)| cell.experiment == experiment.name);
            let mut cells: Vec<(usize, &Cell)> =
                cells.map(|(cell, (_, runs))| (runs.first().copied().unwrap_or(0), cell)).collect();
            // The map has the cells in alphabetical order. The first run of each has the scenario's
            // order.
            cells.sort();
            cells.into_iter().map(|(_, cell)| cell)
        });
        let measured = in_order.map(|cell| MetricsResult {
            experiment: cell.experiment.clone(),
            qdisc: cell.label.clone(),
            values: (metrics.iter())
                .map(|metric| {
                    let of = expression::Expression::In(Box::new(metric.of.clone()), cell.clone());
                    let value = evidence.measure(&of).ok()?.value * metric.scale;
                    (!value.is_nan()).then_some(value)
                })
                .collect(),
        });
        MetricsTable {
            measured: measured.collect(),
            metrics: metrics.iter().map(|metric| (metric.name.clone(), metric.unit.clone())).collect(),
        }
    }

    /// Judges every claim.
    ///
    /// # Errors
    /// A check that asks for what does not exist.
    pub fn judge(&self, evidence: &Evidence<'_>) -> Result<Vec<ClaimResult>, Diagnostic> {
        let beside = self.paper.judging();
        self.claims.iter().map(|claim| judge(self.paper, claim, evidence, &beside)).collect()
    }

    /// Returns true if `times` as many repetitions would probably decide a claim: if their values
    /// and scatter were those of the repetitions in `evidence`.
    ///
    /// # Errors
    /// A check that asks for what does not exist.
    pub fn would_decide(
        &self,
        claim: &Claim,
        evidence: &Evidence<'_>,
        times: u32,
    ) -> Result<bool, Diagnostic> {
        let foreseen = evidence.with_times(times);
        let repetitions = claim.repetitions(evidence).saturating_mul(times as usize);
        let mut outcomes = Vec::new();
        for check in &claim.checks {
            let mut found = finding::judge(check, &claim.tolerance, false, &foreseen)
                .map_err(|error| error.prefixed(&claim.id))?;
            predict(&mut found, repetitions, claim.paper_runs);
            outcomes.push(found.outcome);
        }
        Ok(finding::all(outcomes) != Outcome::Undecided)
    }
}

impl Runs for Plan<'_> {
    fn count(&self) -> usize {
        self.runs()
    }

    fn spec(&self, number: usize) -> Result<Cow<'_, RunSpec>, Diagnostic> {
        let index = self.scenarios.partition_point(|(end, ..)| *end <= number);
        let (_, runs, details) = self.scenarios.get(index).ok_or_else(|| no_run(number))?;
        let begin = index.checked_sub(1).map_or(0, |before| self.scenarios[before].0);
        let mut run = runs.spec(number - begin)?;
        // Runs that keep other details must not share an entry of the store.
        run.key.push_str(&format!(" | details {details:?}"));
        run.wanted = details.clone();
        Ok(Cow::Owned(run))
    }
}

fn judge(
    paper: &Paper,
    claim: &Claim,
    evidence: &Evidence<'_>,
    beside: &[RealSystem<'_>],
) -> Result<ClaimResult, Diagnostic> {
    let judged = |check| evidence.judge(check, &claim.tolerance, is_short(claim));
    let mut findings: Vec<Finding> = (claim.checks.iter().map(judged).collect::<Result<_, _>>())
        .map_err(|error: Diagnostic| error.prefixed(&claim.id))?;
    let repetitions = claim.repetitions(evidence);
    for finding in &mut findings {
        predict(finding, repetitions, claim.paper_runs);
    }
    let checks: Vec<CheckResult> = claim
        .checks
        .iter()
        .zip(&findings)
        .map(|(check, finding)| paper.beside(claim, check, finding, beside))
        .collect();
    let verdict = verdict(claim, &checks);
    // A claim of a single number is shown as that number; all others in words.
    let number = match findings.as_slice() {
        [only] => only.expected.map(|expected| (only, expected)),
        _ => None,
    };
    let has_number = findings.iter().any(|finding| finding.expected.is_some());
    Ok(ClaimResult {
        id: claim.id.clone(),
        paper: paper.name.clone(),
        kind: claim.kind,
        expected: number
            .map_or_else(|| Value::from(claim.says.as_str()), |(_, expected)| Value::from(expected)),
        got: match number {
            Some((finding, _)) if finding.values[0].is_nan() => Value::from(NO_SAMPLE),
            Some((finding, _)) => Value::from(finding.values[0]),
            None if claim.not_run.is_some() => Value::Null,
            None => Value::from(in_words(&checks)),
        },
        verdict,
        interval: number.and_then(|(finding, _)| finding.intervals[0]),
        unit: claim.unit.clone(),
        place: claim.place.clone(),
        quote: claim.quote.clone(),
        says: claim.says.clone(),
        limits: number.and_then(|(finding, _)| finding.limits),
        tolerance: claim.rule(has_number),
        fitted: claim.fitted.clone(),
        unknown: claim.unknown.clone(),
        paper_runs: claim.paper_runs,
        repetitions,
        checks,
        note: claim.shown_note().to_owned(),
    })
}

impl Claim {
    /// Repetitions of the cell with the fewest.
    fn repetitions(&self, evidence: &Evidence<'_>) -> usize {
        self.cells().iter().map(|cell| evidence.repetitions(cell)).min().unwrap_or(0)
    }
}

/// True if each value of the claim is shown with its interval.
const fn is_short(claim: &Claim) -> bool {
    claim.checks.len() <= FEW_CHECKS
}

/// Widens the outcome of a number by the prediction interval for the paper's repetitions.
fn predict(finding: &mut Finding, repetitions: usize, paper_runs: Option<usize>) {
    if let (Some(expected), [value]) = (finding.expected, finding.values.as_slice()) {
        let measured = Measurement { value: *value, interval: finding.intervals.first().copied().flatten() };
        finding.outcome = prediction::outcome(finding.outcome, expected, measured, repetitions, paper_runs);
    }
}

/// The verdict that follows from the checks of a claim.
fn verdict(claim: &Claim, checks: &[CheckResult]) -> Verdict {
    match finding::all(checks.iter().map(|check| check.outcome)) {
        // A claim that was not run has no checks, and all of none hold.
        _ if claim.not_run.is_some() => Verdict::NotRun,
        Outcome::Holds => Verdict::Reproduced,
        Outcome::Consistent => Verdict::Consistent,
        Outcome::Undecided => Verdict::Undecided,
        Outcome::Fails => Verdict::NotReproduced,
    }
}

impl Paper {
    /// Prepares every real system of the paper to judge checks.
    fn judging(&self) -> Vec<RealSystem<'_>> {
        self.real.iter().map(|real| real.judging(&self.measures)).collect()
    }

    /// The result of a check, with what real systems give for it.
    fn beside(
        &self,
        claim: &Claim,
        check: &Check,
        finding: &Finding,
        beside: &[RealSystem<'_>],
    ) -> CheckResult {
        CheckResult {
            check: finding.check.clone(),
            outcome: finding.outcome,
            values: finding.values.clone(),
            intervals: finding.intervals.clone(),
            expected: finding.expected,
            real: self.real_of(claim, check, beside),
        }
    }

    /// Judges a check by what is known of each real system that has all of its figures.
    fn real_of(&self, claim: &Claim, check: &Check, beside: &[RealSystem<'_>]) -> Vec<RealResult> {
        let judged = beside.iter().filter_map(|real| {
            let (mut finding, repetitions) = real.judge(check, &claim.tolerance, is_short(claim))?;
            if let Some(repetitions) = repetitions {
                predict(&mut finding, repetitions, claim.paper_runs);
            }
            let Finding { outcome, values, intervals, .. } = finding;
            let own = self.systems.iter().any(|system| system == real.system());
            Some(RealResult { of: real.system().to_owned(), own, outcome, values, intervals, repetitions })
        });
        judged.collect()
    }

    /// Brings kept verdicts up to date with the claims: their kinds and notes, the real systems'
    /// values, and the limits of numbers. None of these depends on our runs, so a change of them
    /// needs no run.
    pub fn renew(&self, kept: &mut [ClaimResult]) {
        let beside = self.judging();
        for result in kept {
            let Some(claim) = self.claims.iter().find(|claim| claim.id == result.id) else { continue };
            result.kind = claim.kind;
            result.fitted.clone_from(&claim.fitted);
            result.unknown.clone_from(&claim.unknown);
            result.paper_runs = claim.paper_runs;
            claim.shown_note().clone_into(&mut result.note);
            let has_number = result.checks.iter().any(|check| check.expected.is_some());
            result.tolerance = claim.rule(has_number);
            let is_number = result.checks.len() == 1;
            for (shown, check) in result.checks.iter_mut().zip(&claim.checks) {
                shown.real = self.real_of(claim, check, &beside);
                // The limits of all other checks are in their own text.
                let Statement::Equal { within: None, .. } = check.statement else { continue };
                if let (Some(expected), [value]) = (shown.expected, shown.values.as_slice()) {
                    let measured =
                        Measurement { value: *value, interval: shown.intervals.first().copied().flatten() };
                    let limits = claim.tolerance.limits(expected);
                    // A claim of several numbers shows no limits, as in `judge`.
                    if is_number {
                        result.limits = Some(limits);
                    }
                    let by_limits = finding::within_limits(measured, limits.into());
                    shown.outcome = prediction::outcome(
                        by_limits,
                        expected,
                        measured,
                        result.repetitions,
                        claim.paper_runs,
                    );
                }
            }
            result.verdict = verdict(claim, &result.checks);
            // A claim of a number without a sample has words as its result, too, but expects a
            // number.
            if result.got.is_string() && result.expected.is_string() {
                result.got = Value::from(in_words(&result.checks));
            }
        }
    }
}

/// The claims that `words` ask for: papers, ids, or beginnings of ids; all of them if there are
/// none. Each paper's claims are in the paper's order.
///
/// # Errors
/// A word that means nothing.
pub fn select<'p>(
    papers: &'p [Paper],
    words: &[String],
) -> Result<Vec<(&'p Paper, Vec<&'p Claim>)>, Diagnostic> {
    let matches = |claim: &Claim, paper: &Paper, word: &str| {
        word == paper.name
            || claim.id == word
            // A prefix ends where a part of the id ends: `rfc7928-5.1` is no prefix of
            // `rfc7928-5.10`.
            || claim.id.strip_prefix(word).is_some_and(|rest| rest.starts_with(['-', '.']))
    };
    for word in words {
        if !papers.iter().any(|paper| paper.claims.iter().any(|claim| matches(claim, paper, word))) {
            let mut known: Vec<&str> = papers.iter().map(|paper| paper.name.as_str()).collect();
            known.extend(papers.iter().flat_map(|paper| &paper.claims).map(|claim| claim.id.as_str()));
            let near = goodqueue_tc::diagnostic::nearest(word, known.iter().copied());
            let names: Vec<&str> = papers.iter().map(|paper| paper.name.as_str()).collect();
            let message = Diagnostic::new(format!("there is no paper and no claim `{word}`"))
                .allowed(format!("{}, or an id that `goodqueue list claims` shows", names.join(", ")))
                .in_argument("PAPER or CLAIM-ID", word);
            return Err(match near {
                Some(near) => message.help(format!("did you mean `{near}`?")),
                None => message,
            });
        }
    }
    let chosen = papers.iter().map(|paper| {
        let wanted =
            |claim: &&Claim| words.is_empty() || words.iter().any(|word| matches(claim, paper, word));
        (paper, paper.claims.iter().filter(wanted).collect::<Vec<_>>())
    });
    Ok(chosen.filter(|(_, claims)| !claims.is_empty()).collect())
}

#[expect(clippy::cast_precision_loss, reason = "for an estimate")]
const fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// Spikes are measured in steps of a millisecond, a sixth of the shortest packet time of the papers
/// that ask for them.
const SPIKE_STEP: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_verdicts_take_the_limits_of_numbers_from_the_claims() {
        let mut paper = papers().unwrap().into_iter().find(|paper| paper.name == "jk").unwrap();
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("papers/jk/verdicts.json");
        let mut kept = verdicts::load(&path).unwrap();
        kept.retain(|result| result.limits.is_some());
        kept.truncate(1);
        let claim = paper.claims.iter_mut().find(|claim| claim.id == kept[0].id).unwrap();
        let expected = kept[0].checks[0].expected.unwrap();
        let old = (kept[0].limits, kept[0].tolerance.clone());
        claim.tolerance = tolerance::Tolerance::Spread(2.0 * expected, "a test".to_owned());
        paper.renew(&mut kept);
        assert_eq!(kept[0].limits, Some((-expected, 3.0 * expected)), "instead of {old:?}");
        assert_eq!(kept[0].tolerance, "10 % or the paper's own spread (a test)");
        // Claims of this kind have no rule for their numbers.
        paper.claims.iter_mut().find(|claim| claim.id == kept[0].id).unwrap().kind = ClaimKind::Own;
        paper.renew(&mut kept);
        assert_eq!(kept[0].tolerance, "");
    }

    #[test]
    fn a_paper_an_id_or_the_beginning_of_ids_selects() {
        let papers = papers().unwrap();
        let ids = |words: &[&str]| -> Vec<String> {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let chosen = select(&papers, &words).unwrap();
            chosen.iter().flat_map(|(_, claims)| claims.iter().map(|claim| claim.id.clone())).collect()
        };
        assert_eq!(ids(&["jk-table2-codel-4+4"]), ["jk-table2-codel-4+4"]);
        assert_eq!(ids(&["jk-table2-codel"]).len(), 4);
        assert_eq!(ids(&["rfc7928-5.1"]), ["rfc7928-5.1.1", "rfc7928-5.1.2"]);
        assert!(ids(&["jk"]).iter().all(|id| id.starts_with("jk-")));
        assert!(ids(&[]).len() >= ids(&["jk"]).len());
        let refusal = select(&papers, &["jk-table2-codell-4+4".to_owned()]).unwrap_err().to_string();
        assert!(refusal.contains("did you mean `jk-table2-codel-4+4`?"), "{refusal}");
    }
}
