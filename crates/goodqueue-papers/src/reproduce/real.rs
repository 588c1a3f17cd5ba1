//! What a real system measured in the set-ups of a paper, and what the paper's claims come to with
//! it.
//!
//! A file in the paper's folder holds what was set up, and what each run found: see [`file`]. The
//! figures of a run have the same paths as those of a run here, so that the paper's measures and
//! checks mean the same of both, with intervals over the repetitions of each. Where only the
//! measures were kept, `figures` has them, in seconds, bits per second and shares of one.

mod file;

use std::collections::BTreeMap;
use std::rc::Rc;

use goodqueue_scenario::results::ScenarioRecord;
use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::{Value, json};

use super::evidence::{Evidence, function};
use super::expression::{Cell, Check, Expression};
use super::finding::{self, Finding, Measurement, Values};
use super::tolerance::{self, Tolerance};
use super::tree::Tree;
use file::{File, Run};

/// What is known of a real system.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Real {
    /// Which system.
    pub(crate) system: String,
    /// What each run found, by cell.
    runs: BTreeMap<Cell, Repeated>,
    /// Measures of cells whose runs were not kept.
    figures: Figures,
}

/// What the runs of a cell found: load by load, each in the order of the seeds.
#[derive(Clone, PartialEq, Debug)]
struct Repeated {
    /// Seeds of each load.
    seeds: usize,
    runs: Vec<Value>,
}

impl Repeated {
    /// Of runs in any order. Every load has the same seeds, or a resample would weigh the loads
    /// differently from how the mean does.
    fn new(mut runs: Vec<Run>) -> Result<Self, String> {
        runs.sort_by_key(|run| (run.load, run.seed));
        let mut seeds: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for run in &runs {
            let seeds = seeds.entry(run.load).or_default();
            if seeds.last() == Some(&run.seed) {
                return Err(format!("`{}` has two runs with the seed {}", run.cell, run.seed));
            }
            seeds.push(run.seed);
        }
        let first = seeds.values().next().cloned().unwrap_or_default();
        if let (Some(run), Some(load)) = (runs.first(), seeds.values().position(|of| *of != first)) {
            return Err(format!("the load {load} of `{}` has other seeds than its first load", run.cell));
        }
        Ok(Self { seeds: first.len(), runs: runs.into_iter().map(|run| run.found).collect() })
    }
}

impl Real {
    /// Reads the text of a file; `name` stands for it in messages.
    pub(super) fn read(name: &str, text: &str) -> Result<Self, Diagnostic> {
        let file = File::read(name, text)?;
        let refuse = |problem: String| Diagnostic::new(problem).allowed(file::FORM).in_file(name);
        let mut runs: BTreeMap<Cell, Repeated> = BTreeMap::new();
        for (cell, found) in file.by_cell().map_err(refuse)? {
            runs.insert(cell, Repeated::new(found).map_err(refuse)?);
        }
        let mut figures = Figures::default();
        for (measure, cells) in file.figures {
            for (cell, value) in cells {
                let Some((label, experiment)) = cell.split_once('@') else {
                    let problem = refuse(format!("`{cell}` in `figures.{measure}` is no cell"));
                    return Err(problem.help("write `label@experiment`"));
                };
                let cell = Cell { label: label.to_owned(), experiment: experiment.to_owned() };
                figures.0.insert((measure.clone(), cell), value);
            }
        }
        let mut cells = runs.keys().chain(figures.0.keys().map(|(_, cell)| cell));
        if let Some(cell) = cells.find(|cell| !file.set_ups.contains_key(&cell.experiment)) {
            return Err(refuse(format!("`set_ups` does not say how `{}` was set up", cell.experiment)));
        }
        Ok(Self { system: file.system, runs, figures })
    }

    /// Refuses measures and experiments that the paper does not have.
    pub(super) fn check(
        &self,
        is_measure: impl Fn(&str) -> bool,
        is_experiment: impl Fn(&str) -> bool,
    ) -> Result<(), Diagnostic> {
        let refuse = |problem: String| Err(Diagnostic::new(format!("{}: {problem}", self.system)));
        if let Some((measure, _)) = self.figures.0.keys().find(|(measure, _)| !is_measure(measure)) {
            return refuse(format!("the paper has no measure `{measure}`"));
        }
        let mut cells = self.runs.keys().chain(self.figures.0.keys().map(|(_, cell)| cell));
        match cells.find(|cell| !is_experiment(&cell.experiment)) {
            Some(cell) => refuse(format!("the paper has no experiment for `{cell}`")),
            None => Ok(()),
        }
    }

    /// The measures whose runs were not kept.
    #[cfg(test)]
    pub(crate) const fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Prepares to judge checks of a paper with these measures.
    pub(super) fn judging<'p>(&'p self, measures: &'p BTreeMap<String, Expression>) -> RealSystem<'p> {
        let mut evidence = Evidence::new(measures);
        for (cell, found) in &self.runs {
            let runs = found.runs.iter().map(|found| Rc::new(Tree::new(found)));
            let scenario = ScenarioRecord::from_json(json!({ "seeds": found.seeds }));
            evidence.add(cell.clone(), scenario, runs.collect());
        }
        RealSystem { real: self, evidence }
    }
}

/// A real system by which many checks are judged.
pub(super) struct RealSystem<'p> {
    real: &'p Real,
    evidence: Evidence<'p>,
}

impl RealSystem<'_> {
    /// Which system.
    pub(super) fn system(&self) -> &str {
        &self.real.system
    }

    /// Judges a check by the runs, or by figures if the runs lack a value; `None` if both do. With
    /// `thorough` every value of runs has its interval. Also returns the number of repetitions,
    /// which is known for runs only.
    pub(super) fn judge(
        &self,
        check: &Check,
        tolerance: &Tolerance,
        thorough: bool,
    ) -> Option<(Finding, Option<usize>)> {
        let cells = check.cells();
        let repetitions = cells.iter().map(|cell| self.evidence.repetitions(cell)).min()?;
        if repetitions > 0
            && let Ok(finding) = self.evidence.judge(check, tolerance, thorough)
        {
            return Some((finding, Some(repetitions)));
        }
        self.real.figures.judge(check, tolerance).map(|finding| (finding, None))
    }
}

/// Measures of cells.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Figures(BTreeMap<(String, Cell), f64>);

impl Figures {
    /// The measures that it has of cells.
    #[cfg(test)]
    pub(crate) fn known(&self) -> impl Iterator<Item = &(String, Cell)> {
        self.0.keys()
    }

    /// The value of a measure in a cell.
    pub(crate) fn of_cell(&self, measure: &str, cell: &Cell) -> Option<f64> {
        self.0.get(&(measure.to_owned(), cell.clone())).copied()
    }

    fn judge(&self, check: &Check, tolerance: &Tolerance) -> Option<Finding> {
        if self.0.is_empty() {
            return None;
        }
        finding::judge(check, tolerance, false, self).ok()
    }

    fn figure(&self, expression: &Expression, cell: Option<&Cell>) -> Option<f64> {
        match expression {
            Expression::Number(number) => Some(*number),
            Expression::Name(name) => match cell {
                Some(cell) => self.of_cell(name, cell),
                None => tolerance::word(name),
            },
            Expression::In(inner, cell) => self.figure(inner, Some(cell)),
            Expression::Chain(first, rest) => {
                rest.iter().try_fold(self.figure(first, cell)?, |value, (operator, next)| {
                    Some(operator.apply(value, self.figure(next, cell)?))
                })
            }
            Expression::Call(name, arguments) => {
                let function = function(name)?;
                let values: Vec<f64> =
                    arguments.iter().map(|argument| self.figure(argument, cell)).collect::<Option<_>>()?;
                Some(function(&values))
            }
        }
    }
}

impl Values for Figures {
    type Unknown = ();

    fn value(&self, expression: &Expression) -> Result<f64, ()> {
        self.figure(expression, None).ok_or(())
    }

    fn measure(&self, expression: &Expression) -> Result<Measurement, ()> {
        self.value(expression).map(Measurement::from)
    }

    fn margin(&self, difference: &Expression) -> Result<Measurement, ()> {
        self.measure(difference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::expression::checks;
    use crate::reproduce::finding::Outcome;

    fn file(more: &str) -> String {
        format!(r#"{{"system":"Linux","source":"","set_ups":{{"10/1":"four flows"}},{more}}}"#)
    }

    fn judged(real: &Real, text: &str) -> Vec<Option<(Outcome, Option<usize>)>> {
        let measures = BTreeMap::from([("latency".to_owned(), Expression::parse("mean(delay)").unwrap())]);
        let judging = real.judging(&measures);
        let judge = |check| {
            let (finding, repetitions) = judging.judge(check, &Tolerance::Share, false)?;
            Some((finding.outcome, repetitions))
        };
        checks(text).unwrap().iter().map(judge).collect()
    }

    #[test]
    fn a_check_is_judged_by_the_figures_of_a_real_system_where_it_has_them_all() {
        let figures = r#""figures":{"latency":{"fifo@10/1":0.287,"codel@10/1":0.0778,"pie@10/1":0.139}}"#;
        let real = Real::read("r.json", &file(figures)).unwrap();
        let of = |text: &str| judged(&real, text);
        let holds = Some((Outcome::Holds, None));
        let fails = Some((Outcome::Fails, None));
        assert_eq!(of("latency[{codel,pie}@10/1] < latency[fifo@10/1]"), [holds, holds]);
        assert_eq!(of("latency[pie@10/1] < latency[codel@10/1] < 1s"), [fails]);
        assert_eq!(of("latency[fifo@10/1] > max(latency[pie@10/1], 2 * latency[codel@10/1])"), [holds]);
        assert_eq!(of("latency[fifo@10/1] = 280ms +- 10ms"), [holds]);
        assert_eq!(of("latency[fifo@10/1] = 300ms"), [holds], "10 % of a number are allowed");
        assert_eq!(of("latency[fifo@10/1] > much * latency[codel@10/1]"), [holds]);
        assert_eq!(of("latency[sfq@10/1] < latency[fifo@10/1]"), [None]);
        assert_eq!(of("mean(goodput.down)[fifo@10/1] > 1mbit"), [None]);
    }

    #[test]
    fn a_check_is_judged_by_the_runs_of_a_real_system_over_their_repetitions() {
        let run = |seed: u64, delay: f64| {
            format!(r#"{{"experiment":"10/1","label":"codel","seed":{seed},"found":{{"delay":{delay}}}}}"#)
        };
        let runs = [run(2, 0.08), run(1, 0.07), run(3, 0.075)].join(",");
        let real = Real::read("r.json", &file(&format!(r#""runs":[{runs}]"#))).unwrap();
        let of = |text: &str| judged(&real, text);
        assert_eq!(of("latency[codel@10/1] < 100ms"), [Some((Outcome::Holds, Some(3)))]);
        assert_eq!(of("latency[codel@10/1] < 78ms"), [Some((Outcome::Undecided, Some(3)))]);
        assert_eq!(of("latency[pie@10/1] < 78ms"), [None]);
        let cell = Cell { label: "codel".to_owned(), experiment: "10/1".to_owned() };
        let delays: Vec<f64> =
            real.runs[&cell].runs.iter().filter_map(|found| found["delay"].as_f64()).collect();
        assert_eq!(delays, [0.07, 0.08, 0.075], "in the order of the seeds");
    }

    #[test]
    fn a_table_has_the_runs_of_every_load_with_the_same_seeds() {
        let table = |rows: &str| {
            let columns = r#""columns":["delay","losses.up"]"#;
            file(&format!(r#""tables":[{{"experiment":"10/1","label":"codel",{columns},"rows":[{rows}]}}]"#))
        };
        let rows = "[1,1,[0.3,1]],[1,2,[0.3,2]],[0,2,[0.1,3]],[0,1,[0.1,null]]";
        let real = Real::read("r.json", &table(rows)).unwrap();
        assert_eq!(judged(&real, "latency[codel@10/1] = 200ms"), [Some((Outcome::Holds, Some(4)))]);
        let cell = Cell { label: "codel".to_owned(), experiment: "10/1".to_owned() };
        assert_eq!(real.runs[&cell].seeds, 2);
        let losses: Vec<Option<f64>> =
            real.runs[&cell].runs.iter().map(|found| found["losses"]["up"].as_f64()).collect();
        assert_eq!(losses, [None, Some(3.0), Some(1.0), Some(2.0)], "load by load, seed by seed");
        let refused = |rows: &str| Real::read("r.json", &table(rows)).unwrap_err().to_string();
        assert!(
            refused("[0,1,[0.1,3]],[1,2,[0.3,1]]").contains("the load 1 of `codel@10/1` has other seeds")
        );
        assert!(refused("[0,1,[0.1]]").contains("has 1 figures for 2 columns"));
        assert!(refused("[0,1,[0.1,1]],[0,1,[0.1,1]]").contains("two runs with the seed 1"));
    }

    #[test]
    fn a_column_inside_another_one_or_given_twice_is_refused() {
        let read = |columns: &str| {
            let rows = r#""rows":[[0,1,[1,2]]]"#;
            let table = format!(r#"{{"experiment":"10/1","label":"codel","columns":[{columns}],{rows}}}"#);
            Real::read("r.json", &file(&format!(r#""tables":[{table}]"#)))
        };
        for columns in [r#""a","a.b""#, r#""a.b","a""#, r#""a","a.b.c""#] {
            let refused = read(columns).unwrap_err().to_string();
            assert!(refused.contains("of `codel@10/1` has parts"), "{columns}: {refused}");
        }
        let refused = read(r#""a.b","a.b""#).unwrap_err().to_string();
        assert!(refused.contains("the column `a.b` of `codel@10/1` twice"), "{refused}");
        assert!(read(r#""a","ab""#).is_ok() && read(r#""a.b","a.c""#).is_ok());
    }

    #[test]
    fn a_figure_that_was_not_recorded_is_replaced_by_the_one_that_the_file_names() {
        let read = |columns: &str, instead: &str| {
            let rows = r#""rows":[[0,1,[0.0799]],[0,2,[0.0801]]]"#;
            let table = format!(r#"{{"experiment":"10/1","label":"codel","columns":["{columns}"],{rows}}}"#);
            Real::read("r.json", &file(&format!(r#""instead":{instead},"tables":[{table}]"#))).unwrap()
        };
        let check = "latency[codel@10/1] = 80ms";
        let holds = [Some((Outcome::Holds, Some(2)))];
        assert_eq!(judged(&read("wait", r#"{"delay":"wait"}"#), check), holds);
        assert_eq!(judged(&read("delay", r#"{"delay":"wait"}"#), check), holds, "it was recorded");
        assert_eq!(judged(&read("wait", "{}"), check), [None]);
    }

    #[test]
    fn what_is_no_cell_or_has_no_set_up_is_refused() {
        let refused = |more: &str| Real::read("r.json", &file(more)).unwrap_err().to_string();
        let run = r#"{"experiment":"x","label":"codel","seed":1,"found":{}}"#;
        assert!(refused(&format!(r#""runs":[{run}]"#)).contains("does not say how `x` was set up"));
        assert!(refused(&format!(r#""runs":[{run},{run}]"#)).contains("two runs with the seed 1"));
        assert!(refused(r#""figures":{"latency":{"codel":1}}"#).contains("`codel` in `figures.latency`"));
        let refused = Real::read("r.json", "{\n\"system\": 3}").unwrap_err().to_string();
        assert!(refused.starts_with("r.json:2"), "{refused}");
    }
}
