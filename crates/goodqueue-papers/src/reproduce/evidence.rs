//! What runs say about an expression, and how sure they are: its value over all repetitions, and
//! the interval that resampling them gives.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use goodqueue_scenario::measure;
use goodqueue_scenario::results::ScenarioRecord;
use goodqueue_tc::diagnostic::Diagnostic;
use goodqueue_tc::units;
use serde_json::Value;

use super::expression::{Cell, Check, Expression};
use super::finding::{self, Finding, Measurement, Values};
use super::interval::{self, Weights};
use super::parameters::parameter;
use super::tolerance::{self, Tolerance};
use super::tree::{Found, Tree};

/// The runs of cells, and the measures of a paper.
pub struct Evidence<'m> {
    measures: &'m BTreeMap<String, Expression>,
    cells: BTreeMap<Cell, Runs>,
}

/// The runs of a cell.
struct Runs {
    /// The scenario as resolved.
    scenario: ScenarioRecord,
    runs: Vec<Rc<Tree>>,
    /// Samples by path, sorted.
    samples: RefCell<BTreeMap<String, Rc<Vec<Sample>>>>,
    steps: RefCell<BTreeMap<String, Rc<Steps>>>,
}

/// A figure, how often it occurs in its run, and the number of the run.
#[derive(Clone, Copy)]
struct Sample {
    value: f64,
    count: f64,
    run: usize,
}

/// A time series per run.
struct Steps {
    step_s: f64,
    series: Vec<Vec<Option<f64>>>,
}

/// Where an expression is evaluated.
#[derive(Clone, Copy)]
struct Context<'e> {
    cell: Option<&'e Cell>,
    weights: &'e Weights,
}

type Figure = Result<f64, Diagnostic>;

impl<'m> Evidence<'m> {
    /// Without any runs yet.
    #[must_use]
    pub const fn new(measures: &'m BTreeMap<String, Expression>) -> Self {
        Self { measures, cells: BTreeMap::new() }
    }

    /// Adds the runs of a cell.
    pub(super) fn add(&mut self, cell: Cell, scenario: ScenarioRecord, runs: Vec<Rc<Tree>>) {
        let samples = RefCell::default();
        let steps = RefCell::default();
        self.cells.insert(cell, Runs { scenario, runs, samples, steps });
    }

    /// Repetitions of a cell.
    #[must_use]
    pub fn repetitions(&self, cell: &Cell) -> usize {
        self.cells.get(cell).map_or(0, |runs| runs.runs.len())
    }

    /// Judges a check; one of a figure without a sample does not hold. With `thorough` every value
    /// has its interval.
    ///
    /// # Errors
    /// It asks for what does not exist.
    pub fn judge(&self, check: &Check, tolerance: &Tolerance, thorough: bool) -> Result<Finding, Diagnostic> {
        finding::judge(check, tolerance, thorough, &self.with_times(1))
    }

    /// The same runs, as if there were `times` as many with the same scatter.
    pub(super) const fn with_times(&self, times: u32) -> Foreseen<'_, 'm> {
        Foreseen { evidence: self, times }
    }

    /// The value of `expression`, and its interval over the repetitions. NaN where the runs know
    /// the figure but no run has a sample of it, as when no page was complete by the end.
    ///
    /// # Errors
    /// It asks for what does not exist.
    pub fn measure(&self, expression: &Expression) -> Result<Measurement, Diagnostic> {
        self.with_times(1).measure(expression)
    }

    /// The numbers of repetitions, which are seeds, of the cells that an expression names. The runs
    /// of everything that an experiment varies share their seeds, so that a resample has each load
    /// as often as any other.
    fn repetitions_of(&self, expression: &Expression) -> Vec<usize> {
        let mut cells = BTreeSet::new();
        expression.cells(&mut cells);
        let numbers: BTreeSet<usize> =
            cells.iter().filter_map(|cell| self.cells.get(cell)).map(Runs::seeds).collect();
        numbers.into_iter().collect()
    }

    /// The standard error of `value`, by leaving each repetition out in turn (the jackknife of
    /// Quenouille and Tukey); `None` if there are too few repetitions.
    fn standard_error(&self, expression: &Expression, value: f64) -> Option<f64> {
        // Cells with different numbers of repetitions have no seed in common that could be left
        // out.
        let &[repetitions] = self.repetitions_of(expression).as_slice() else { return None };
        if repetitions < FEW_REPETITIONS {
            return None;
        }
        let mut squares = 0.0;
        for left_out in 0..repetitions {
            let without = self.weighted(expression, &Weights::Without(left_out)).ok()?;
            squares += (without - value).powi(2);
        }
        let count = float(repetitions as u64);
        // The jackknife's own factor: each mean without one run is close to the mean of all.
        Some((squares * (count - 1.0) / count).sqrt())
    }

    /// All samples of the figure at `path` in a cell, in ascending order, with the number of times
    /// that each occurs.
    ///
    /// # Errors
    /// There are none.
    pub fn samples_of(&self, cell: &Cell, path: &str) -> Result<Vec<(f64, f64)>, Diagnostic> {
        Ok(self.runs(cell)?.samples(path).iter().map(|sample| (sample.value, sample.count)).collect())
    }

    /// The figure at `path` of each repetition, in their order.
    ///
    /// # Errors
    /// There is none.
    pub fn in_order(&self, cell: &Cell, path: &str) -> Result<Vec<f64>, Diagnostic> {
        let runs = &self.runs(cell)?.runs;
        Ok(runs.iter().filter_map(|run| run.number(path)).collect())
    }

    /// The mean over all repetitions of the time series at `path` in a cell, and the length of a
    /// step.
    ///
    /// # Errors
    /// There is none.
    pub fn series_of(&self, cell: &Cell, path: &str) -> Result<(f64, Vec<Option<f64>>), Diagnostic> {
        let steps = self.runs(cell)?.steps(path)?;
        Ok((steps.step_s, steps.mean(&self.runs(cell)?.counts(&Weights::Every))))
    }

    /// The time series at `path` in the first run of a cell, and the length of a step.
    ///
    /// # Errors
    /// There is none.
    pub fn series_of_first(&self, cell: &Cell, path: &str) -> Result<(f64, Vec<Option<f64>>), Diagnostic> {
        let steps = self.runs(cell)?.steps(path)?;
        Ok((steps.step_s, steps.series.first().cloned().unwrap_or_default()))
    }

    fn runs(&self, cell: &Cell) -> Result<&Runs, Diagnostic> {
        self.cells.get(cell).ok_or_else(|| Diagnostic::new(format!("there are no runs of `{cell}`")))
    }

    fn weighted(&self, expression: &Expression, weights: &Weights) -> Figure {
        self.value(expression, Context { cell: None, weights })
    }

    fn value(&self, expression: &Expression, context: Context<'_>) -> Figure {
        match expression {
            Expression::Number(number) => Ok(*number),
            Expression::Name(name) => match self.measures.get(name) {
                Some(measure) => self.value(measure, context),
                None => tolerance::word(name)
                    .ok_or_else(|| Diagnostic::new(format!("there is no measure `{name}`"))),
            },
            Expression::In(inner, cell) => self.value(inner, Context { cell: Some(cell), ..context }),
            Expression::Chain(first, rest) => {
                rest.iter().try_fold(self.value(first, context)?, |value, (operator, next)| {
                    Ok(operator.apply(value, self.value(next, context)?))
                })
            }
            Expression::Call(name, arguments) => self.call(name, arguments, context),
        }
    }

    /// `greatest(figure)` and `least(figure)`: of its values in the first runs of all cells alone,
    /// in the second ones alone, and so on. The runs of cells of one experiment are in the same
    /// order.
    fn extreme(&self, is_greatest: bool, figure: &Expression, context: Context<'_>) -> Figure {
        let mut cells = BTreeSet::new();
        figure.cells(&mut cells);
        cells.extend(context.cell.cloned());
        let counts: Vec<usize> = cells.iter().map(|cell| self.repetitions(cell)).collect();
        // Without cells the figure is a constant.
        let (Some(&most), Some(&least)) = (counts.iter().max(), counts.iter().min()) else {
            return self.value(figure, context);
        };
        if most != least {
            return Err(Diagnostic::new(format!("the runs are compared one by one: {most} and {least}")));
        }
        // `f64::max` and `f64::min` pass over NaN, so the first value replaces it.
        let mut extreme = f64::NAN;
        let seeds = cells.iter().find_map(|cell| self.cells.get(cell)).map_or(1, Runs::seeds);
        for run in (0..most).filter(|run| context.weights.of_run(*run, seeds) > 0.0) {
            let value = self.value(figure, Context { weights: &Weights::Alone(run), ..context })?;
            if value.is_nan() {
                return Ok(value);
            }
            extreme = if is_greatest { extreme.max(value) } else { extreme.min(value) };
        }
        Ok(extreme)
    }

    fn call(&self, name: &str, arguments: &[Expression], context: Context<'_>) -> Figure {
        if let Some(function) = function(name) {
            let values: Vec<f64> =
                arguments.iter().map(|argument| self.value(argument, context)).collect::<Result<_, _>>()?;
            // `f64::max` and `f64::min` pass over NaN, which would hide a figure without a sample.
            let unknown = values.iter().any(|value| value.is_nan());
            return Ok(if unknown { f64::NAN } else { function(&values) });
        }
        if let ("greatest" | "least", [figure]) = (name, arguments) {
            return self.extreme(name == "greatest", figure, context);
        }
        let Some(cell) = context.cell else {
            return Err(Diagnostic::new(format!("`{name}` is not said of which runs"))
                .help("write the cell behind it: `[codel@4+4]`"));
        };
        let Some((Expression::Name(path), rest)) = arguments.split_first() else {
            return Err(Diagnostic::new(format!("`{name}` takes the path of a figure first")));
        };
        let runs = self.runs(cell)?;
        let rest: Vec<f64> =
            rest.iter().map(|argument| self.value(argument, context)).collect::<Result<_, _>>()?;
        let figure = match name {
            "setup" => runs.setup(path),
            "parameter" => parameter(&runs.scenario, &cell.label, path),
            "jain" => runs.jain(path, &rest, context.weights),
            "steps" | "phase" | "peak" | "trough" | "after" | "settled" => {
                runs.steps(path)?.figure(name, &rest, &runs.counts(context.weights))
            }
            // A count of zero may be zero by chance, which no resample shows.
            "sum" if runs.never(path) => Some(context.weights.of_unseen(&format!("{path} of {cell}"))),
            _ => statistic(name, &runs.samples(path), &rest, &runs.counts(context.weights))
                .or_else(|| (runs.know(path) && runs.samples(path).is_empty()).then_some(f64::NAN)),
        };
        figure.ok_or_else(|| Diagnostic::new(format!("`{name}({path})` of `{cell}` has no sample")))
    }
}

/// The values of the repetitions, with the intervals that `times` as many repetitions would
/// probably give.
pub(super) struct Foreseen<'e, 'm> {
    evidence: &'e Evidence<'m>,
    times: u32,
}

impl Values for Foreseen<'_, '_> {
    type Unknown = Diagnostic;

    fn value(&self, expression: &Expression) -> Figure {
        self.evidence.weighted(expression, &Weights::Every)
    }

    fn measure(&self, expression: &Expression) -> Result<Measurement, Diagnostic> {
        let value = self.value(expression)?;
        let repetitions = self.evidence.repetitions_of(expression);
        let interval = interval::interval(&repetitions, self.times, |weights| {
            self.evidence.weighted(expression, weights).ok()
        });
        Ok(Measurement { value, interval })
    }

    fn margin(&self, difference: &Expression) -> Result<Measurement, Diagnostic> {
        let value = self.value(difference)?;
        let known = self.evidence;
        // Leaving out each run takes one evaluation per run, an interval takes 200.
        let is_clear =
            known.standard_error(difference, value).is_some_and(|error| value.abs() > CLEAR_ERRORS * error);
        if is_clear && !interval::has_unseen(value, |weights| known.weighted(difference, weights).ok()) {
            return Ok(value.into());
        }
        self.measure(difference)
    }
}

impl Runs {
    /// Seeds of each load. The runs of a load are next to each other, in the order of the seeds.
    fn seeds(&self) -> usize {
        let seeds = self.scenario.seeds();
        // Without a number of seeds all runs are of one load.
        seeds.and_then(|seeds| usize::try_from(seeds).ok()).unwrap_or(self.runs.len())
    }

    /// How often each run counts.
    fn counts(&self, weights: &Weights) -> Vec<f64> {
        let seeds = self.seeds();
        (0..self.runs.len()).map(|run| weights.of_run(run, seeds)).collect()
    }

    /// True if the count at `path` is zero in all runs.
    fn never(&self, path: &str) -> bool {
        let samples = self.samples(path);
        !samples.is_empty() && samples.iter().all(|sample| sample.value == 0.0)
    }

    /// True if the runs have a place for the figure at `path`, with samples or without.
    fn know(&self, path: &str) -> bool {
        let has_place = |found: &Found<'_>| !matches!(found, Found::Part(Tree::Fields(_)));
        self.runs.iter().any(|run| run.at(path).iter().any(has_place))
    }

    fn samples(&self, path: &str) -> Rc<Vec<Sample>> {
        // A check is evaluated some hundred times, once for each resample, and samples are sorted
        // once.
        if let Some(known) = self.samples.borrow().get(path) {
            return Rc::clone(known);
        }
        let mut samples = Vec::new();
        for (number, run) in self.runs.iter().enumerate() {
            for found in run.at(path) {
                found.samples(&mut |value, count| samples.push(Sample { value, count, run: number }));
            }
        }
        // Quantiles and extremes walk the samples from the least one on.
        samples.sort_by(|a, b| a.value.total_cmp(&b.value));
        let samples = Rc::new(samples);
        self.samples.borrow_mut().insert(path.to_owned(), Rc::clone(&samples));
        samples
    }

    fn steps(&self, path: &str) -> Result<Rc<Steps>, Diagnostic> {
        if let Some(known) = self.steps.borrow().get(path) {
            return Ok(Rc::clone(known));
        }
        let step_s = self.runs.first().and_then(|run| run.number("series.step_s"));
        let Some(step_s) = step_s else {
            return Err(Diagnostic::new(format!("`{path}`: the experiment keeps no series"))
                .help("give the experiment a `series`"));
        };
        let series = self.runs.iter().map(|run| run.at(path).pop().map(Found::series).unwrap_or_default());
        let steps = Rc::new(Steps { step_s, series: series.collect() });
        self.steps.borrow_mut().insert(path.to_owned(), Rc::clone(&steps));
        Ok(steps)
    }

    /// `jain(field, first, last)`: the index of a field of the flows from the first to the last,
    /// averaged over the runs.
    fn jain(&self, field: &str, arguments: &[f64], weights: &Weights) -> Option<f64> {
        let &[first, last] = arguments else { return None };
        let flows =
            (0..MOST_FLOWS).take_while(|flow| f64::from(*flow) <= last).skip_while(|f| f64::from(*f) < first);
        let paths: Vec<String> = flows.map(|flow| format!("flows.{flow}.{field}")).collect();
        let mut sum = 0.0;
        let mut total = 0.0;
        for (run, count) in self.runs.iter().zip(self.counts(weights)) {
            let shares: Vec<f64> =
                paths.iter().flat_map(|path| run.at(path)).filter_map(Found::number).collect();
            sum += measure::jain(&shares)? * count;
            total += count;
        }
        (total > 0.0).then(|| sum / total)
    }

    /// A setting of the scenario as a number: text is a rate or a time.
    fn setup(&self, path: &str) -> Option<f64> {
        match self.scenario.at(path)? {
            Value::String(text) => {
                let time = units::time(text).ok().map(|time| float(time.as_nanos()) / 1e9);
                time.or_else(|| units::rate(text).ok().map(|rate| float(rate.as_bps())))
            }
            Value::Array(items) => Some(float(items.len() as u64)),
            other => other.as_f64(),
        }
    }
}

impl Steps {
    fn mean(&self, counts: &[f64]) -> Vec<Option<f64>> {
        let length = self.series.iter().map(Vec::len).max().unwrap_or(0);
        let mut sums = vec![(0.0, 0.0); length];
        for (run, series) in self.series.iter().enumerate() {
            let weight = counts[run];
            for (sum, value) in sums.iter_mut().zip(series) {
                if let Some(value) = value {
                    *sum = (sum.0 + weight * value, sum.1 + weight);
                }
            }
        }
        sums.into_iter().map(|(sum, weight)| (weight > 0.0).then(|| sum / weight)).collect()
    }

    /// `steps(path, from, to)`: the mean between two times; `phase(path, from, to, period)`: the
    /// same of what comes again every so often; `peak(path, from, to)` and `trough(path, from,
    /// to)`: the greatest and the least pointwise mean between them; `settled(path, limit, from)`:
    /// the time after which no step at or after `from` is above `limit`; `after(path, limit,
    /// from)`: the end of the first step from `from` on that is above.
    fn figure(&self, name: &str, arguments: &[f64], counts: &[f64]) -> Option<f64> {
        let mean = self.mean(counts);
        let timed = mean.iter().zip(0_u32..).map(|(value, step)| (f64::from(step) * self.step_s, *value));
        let (first, second, period) = match *arguments {
            // A remainder by infinity is the number itself, so the times of all other figures stay
            // as they are.
            [first, second] if name != "phase" => (first, second, f64::INFINITY),
            [first, second, period] if name == "phase" => (first, second, period),
            _ => return None,
        };
        // The middle of a step decides, so rounding errors at its ends do not matter.
        let half = self.step_s / 2.0;
        let within = timed.clone().filter(|(at, _)| {
            let at = (*at + half) % period;
            at >= first && at < second
        });
        let within = within.filter_map(|(_, value)| value);
        match name {
            "steps" | "phase" => {
                let (sum, count) = within.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
                (count > 0.0).then(|| sum / count)
            }
            "peak" => within.max_by(f64::total_cmp),
            "trough" => within.min_by(f64::total_cmp),
            _ => {
                let mut above =
                    timed.filter(|(at, value)| *at + half >= second && value.is_some_and(|v| v > first));
                if name == "after" {
                    return above.next().map(|(at, _)| at + self.step_s);
                }
                Some(above.last().map_or(second, |(at, _)| at + self.step_s))
            }
        }
    }
}

/// A statistic of samples. Percentiles are nearest ranks, as everywhere in the results.
fn statistic(name: &str, samples: &[Sample], arguments: &[f64], counts: &[f64]) -> Option<f64> {
    let weight = |sample: &Sample| sample.count * counts[sample.run];
    let total: f64 = samples.iter().map(weight).sum();
    if total <= 0.0 {
        return None;
    }
    let quantile = |share: f64| {
        let mut below = 0.0;
        let rank = samples.iter().find(|sample| {
            below += weight(sample);
            // A share times a count may come out just above a whole number.
            below >= share * total - 1e-9 && weight(sample) > 0.0
        });
        rank.map(|sample| sample.value)
    };
    let sum = || samples.iter().map(|sample| sample.value * weight(sample)).sum::<f64>();
    let mut counted = samples.iter().filter(|sample| weight(sample) > 0.0);
    match (name, arguments) {
        ("mean", []) => Some(sum() / total),
        ("sum", []) => Some(sum()),
        ("count", []) => Some(total),
        ("median", []) => quantile(0.5),
        ("quantile", [share]) => quantile(*share),
        ("lowest", []) => counted.next().map(|sample| sample.value),
        ("highest", []) => counted.next_back().map(|sample| sample.value),
        ("below", [limit]) => {
            Some(samples.iter().filter(|sample| sample.value <= *limit).map(weight).sum::<f64>() / total)
        }
        ("sd", []) => {
            let mean = sum() / total;
            let squares: f64 =
                samples.iter().map(|sample| (sample.value - mean).powi(2) * weight(sample)).sum();
            // A single sample has a deviation of zero.
            Some((squares / (total - 1.0).max(1.0)).sqrt())
        }
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures are in floating point")]
const fn float(number: u64) -> f64 {
    number as f64
}

/// The function of numbers that has this name.
pub(super) fn function(name: &str) -> Option<fn(&[f64]) -> f64> {
    FUNCTIONS.iter().find(|function| function.0 == name).map(|function| function.1)
}

/// A name and what it does with numbers.
type Function = (&'static str, fn(&[f64]) -> f64);

/// Functions of numbers.
const FUNCTIONS: &[Function] = &[
    ("max", |values| values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
    ("min", |values| values.iter().copied().fold(f64::INFINITY, f64::min)),
    // `abs` has one argument, whose sum is itself.
    ("abs", |values| values.iter().sum::<f64>().abs()),
    // 1 if the first is less than the second, to be added up.
    ("less", |values| f64::from(values.first() < values.get(1))),
    // The greatest relative difference of two of them.
    ("differ", |values| {
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        if most == least { 0.0 } else { (most - least) / most.abs().max(least.abs()) }
    }),
];

/// No run has more.
const MOST_FLOWS: u32 = 100_000;
/// With fewer repetitions a standard error says little.
const FEW_REPETITIONS: usize = 4;
/// A difference of more standard errors has one sign in every resample that matters.
const CLEAR_ERRORS: f64 = 8.0;

#[cfg(test)]
mod tests {
    use super::super::expression::checks;
    use super::super::finding::Outcome;
    use super::*;
    use goodqueue_scenario::results::Estimate;
    use serde_json::json;

    fn cell() -> Cell {
        Cell { label: "codel".to_owned(), experiment: "x".to_owned() }
    }

    fn evidence(measures: &BTreeMap<String, Expression>) -> Evidence<'_> {
        let run = |n: u32| {
            json!({
                "delay": [[0.01, 9], [0.02, 1]], "rate": n, "page": {"count": 0, "mean": null}, "flows": [{"rate": 1}, {"rate": 3}],
                "series": {"step_s": 1.0, "delay": [0.1, 0.4, 0.2 * f64::from(n), null]},
            })
        };
        let mut evidence = Evidence::new(measures);
        let scenario = json!({"link": {"down": "2mbit", "rtt": "162ms"}, "flows": [1, 2]});
        evidence.add(
            cell(),
            ScenarioRecord::from_json(scenario),
            vec![Rc::new(Tree::new(&run(1))), Rc::new(Tree::new(&run(2)))],
        );
        evidence
    }

    fn value(text: &str) -> f64 {
        let measures =
            BTreeMap::from([("p90".to_owned(), Expression::parse("quantile(delay, 90%)").unwrap())]);
        let expression = Expression::parse(text).unwrap();
        evidence(&measures).measure(&expression).unwrap().value
    }

    #[test]
    fn a_measure_is_taken_over_the_samples_of_all_repetitions() {
        for (text, expected) in [
            ("p90[codel@x]", 0.01),
            ("quantile(delay, 91%)[codel@x] + 6ms", 0.026),
            ("mean(rate)[codel@x]", 1.5),
            ("highest(delay)[codel@x]", 0.02),
            ("below(delay, 10ms)[codel@x]", 0.9),
            ("mean(flows.*.rate)[codel@x]", 2.0),
            ("max(1, 2) - differ(1, 2)", 1.5),
            ("setup(link.down)[codel@x] / 1mbit", 2.0),
            ("setup(link.rtt)[codel@x]", 0.162),
            ("setup(flows)[codel@x]", 2.0),
            // (1 + 3)² / (2 (1² + 3²)), of the rates of the flows 0 and 1.
            ("jain(rate, 0, 1)[codel@x]", 0.8),
            ("steps(series.delay, 0s, 2s)[codel@x]", 0.25),
            // Steps 0 and 2 are at the same place of the period: 0.1, and 0.3 as the mean of 0.2
            // and 0.4.
            ("phase(series.delay, 0s, 1s, 2s)[codel@x]", 0.2),
            ("peak(series.delay, 0s, 9s)[codel@x]", 0.4),
            ("trough(series.delay, 0s, 9s)[codel@x]", 0.1),
            // The step from 1 s to 2 s has 0.4 in both runs.
            ("after(series.delay, 0.35, 0s)[codel@x]", 2.0),
            ("settled(series.delay, 0.35, 0s)[codel@x]", 2.0),
            ("greatest(mean(rate)[codel@x])", 2.0),
            ("least(mean(rate)[codel@x] - mean(flows.*.rate)[codel@x])", -1.0),
            // Run by run: 1 · 2 - 1 and 2 · 1 - 2.
            ("greatest(mean(rate) * (3 - mean(rate)) - mean(rate))[codel@x]", 1.0),
        ] {
            assert!((value(text) - expected).abs() < 1e-9, "{text}: {}", value(text));
        }
    }

    #[test]
    fn resampling_the_repetitions_gives_the_interval() {
        let measures = BTreeMap::new();
        let evidence = evidence(&measures);
        let interval = |text| evidence.measure(&Expression::parse(text).unwrap()).unwrap().interval;
        let (low, high) = interval("mean(rate)[codel@x]").unwrap();
        let half = Estimate::from_values(&[1.0, 2.0]).unwrap().ci95.unwrap();
        assert!((low - (1.5 - half)).abs() < 1e-9 && (high - (1.5 + half)).abs() < 1e-9, "{low} {high}");
        assert_eq!(interval("1 + 1"), None);
    }

    #[test]
    fn a_resample_draws_seeds_and_keeps_every_load() {
        let measures = BTreeMap::new();
        let mut evidence = Evidence::new(&measures);
        // Two loads with rates of 10 and 20, two seeds each.
        let runs = [10, 11, 20, 21].map(|rate| Rc::new(Tree::new(&json!({ "rate": rate }))));
        evidence.add(cell(), ScenarioRecord::from_json(json!({ "seeds": 2 })), runs.to_vec());
        let measured = evidence.measure(&Expression::parse("mean(rate)[codel@x]").unwrap()).unwrap();
        let (low, high) = measured.interval.unwrap();
        let half = Estimate::from_values(&[15.0, 16.0]).unwrap().ci95.unwrap();
        assert!((high - low - 2.0 * half).abs() < 1e-9, "10 and 20, or 11 and 21: {low} {high}");
    }

    #[test]
    fn a_figure_that_has_no_sample_holds_in_no_check() {
        let measures = BTreeMap::new();
        let evidence = evidence(&measures);
        for check in [
            "mean(page.mean)[codel@x] < 1",
            "mean(page.mean)[codel@x] > 1",
            "mean(page.mean)[codel@x] = 1 +- 9",
        ] {
            let finding = evidence.judge(&checks(check).unwrap()[0], &Tolerance::Share, true).unwrap();
            assert!(
                finding.outcome == Outcome::Fails && finding.values.iter().any(|value| value.is_nan()),
                "{finding:?}"
            );
        }
        assert!(value("max(mean(page.mean)[codel@x], 1)").is_nan());
    }

    #[test]
    fn checks_are_judged_and_figures_that_no_run_knows_are_errors() {
        let measures = BTreeMap::new();
        let evidence = evidence(&measures);
        let judge = |text: &str| evidence.judge(&checks(text).unwrap()[0], &Tolerance::Share, false);
        let outcome = |text: &str| judge(text).unwrap().outcome;
        // 1 and 2 in two runs: from -4.9 to 7.9.
        assert_eq!(outcome("mean(rate)[codel@x] = 1.5 +- 6.6"), Outcome::Holds);
        assert_eq!(outcome("mean(rate)[codel@x] = 1.5"), Outcome::Undecided);
        assert_eq!(outcome("mean(rate)[codel@x] = 11"), Outcome::Fails);
        assert_eq!(outcome("0 < mean(rate)[codel@x] + 9 < 18"), Outcome::Holds);
        assert_eq!(outcome("1.2 < mean(rate)[codel@x]"), Outcome::Undecided);
        assert_eq!(outcome("8 < mean(rate)[codel@x]"), Outcome::Fails);
        assert_eq!(outcome("9 + much * mean(rate)[codel@x] > -1"), Outcome::Holds, "much is a factor of 2");
        assert_eq!(outcome("9 + mean(rate)[codel@x] > 5"), Outcome::Undecided);
        for wrong in [
            "mean(nothing)[codel@x] < 1",
            "mean(page)[codel@x] < 1",
            "mean(rate)[pie@x] < 1",
            "mean(rate) < 1",
            "p95[codel@x] < 1",
        ] {
            assert!(judge(wrong).is_err(), "{wrong}");
        }
    }
}
