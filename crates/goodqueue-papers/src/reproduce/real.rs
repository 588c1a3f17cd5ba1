//! What a real system measured in the set-ups of a paper, and what the paper's claims come to with
//! its figures.

use std::collections::BTreeMap;
use std::rc::Rc;

use goodqueue_tc::diagnostic::Diagnostic;
use serde_json::json;

use super::evidence::{Evidence, function};
use super::expression::{Cell, Check, Expression};
use super::finding::{self, Finding, Measurement, Values};
use super::recorded::Recorded;
use super::tolerance::{self, Tolerance};
use super::tree::Tree;

/// What is known of a real system.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Real {
    /// Figures without their runs.
    Figures(Figures),
    /// What each of its runs found.
    Runs(Recorded),
}

impl Real {
    /// Refuses measures and experiments that the paper does not have.
    pub(super) fn check(
        &self,
        is_measure: impl Fn(&str) -> bool,
        is_experiment: impl Fn(&str) -> bool,
    ) -> Result<(), Diagnostic> {
        let unknown = |problem: String| Err(Diagnostic::new(format!("`real`: {problem}")));
        match self {
            Self::Figures(figures) => {
                for (measure, cell) in figures.known() {
                    if !is_measure(measure) || !is_experiment(&cell.experiment) {
                        return unknown(format!(
                            "there is no measure `{measure}`, or no experiment for `{cell}`"
                        ));
                    }
                }
            }
            Self::Runs(recorded) => {
                if let Some(cell) = recorded.cells.keys().find(|cell| !is_experiment(&cell.experiment)) {
                    return unknown(format!("there is no experiment for `{cell}`"));
                }
            }
        }
        Ok(())
    }

    /// Prepares to judge checks of a paper with these measures.
    pub(super) fn judging<'p>(&'p self, measures: &'p BTreeMap<String, Expression>) -> Judging<'p> {
        match self {
            Self::Figures(figures) => Judging::Figures(figures),
            Self::Runs(recorded) => {
                let mut evidence = Evidence::new(measures);
                for (cell, found) in &recorded.cells {
                    let runs = found.iter().map(|found| Rc::new(Tree::new(found)));
                    evidence.add(cell.clone(), json!({}), runs.collect());
                }
                Judging::Runs(&recorded.system, evidence)
            }
        }
    }
}

/// A real system whose figures are looked up again and again.
pub(super) enum Judging<'p> {
    /// By figures without intervals.
    Figures(&'p Figures),
    /// By the runs of this system.
    Runs(&'p str, Evidence<'p>),
}

impl Judging<'_> {
    /// Which system.
    pub(super) fn system(&self) -> &str {
        match self {
            Self::Figures(figures) => &figures.of,
            Self::Runs(system, _) => system,
        }
    }

    /// Judges a check, with `thorough` as for our runs; `None` if it asks for a figure that is not
    /// there.
    pub(super) fn judge(&self, check: &Check, tolerance: &Tolerance, thorough: bool) -> Option<Finding> {
        match self {
            Self::Figures(figures) => figures.judge(check, tolerance),
            Self::Runs(_, evidence) => evidence.judge(check, tolerance, thorough).ok(),
        }
    }

    /// Repetitions behind the figures of these cells; `None` if that is not known.
    pub(super) fn repetitions<'c>(&self, mut cells: impl Iterator<Item = &'c Cell>) -> Option<usize> {
        match self {
            Self::Figures(_) => None,
            Self::Runs(_, evidence) => {
                cells.try_fold(usize::MAX, |least, cell| Some(least.min(evidence.repetitions(cell))))
            }
        }
    }
}

/// The figures of a real system: measures of cells.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Figures {
    /// Which system.
    pub(crate) of: String,
    figures: BTreeMap<(String, Cell), f64>,
}

impl Figures {
    /// The figures as written: by measure, by cell, each a number with its unit.
    pub(super) fn read(
        of: String,
        tables: &BTreeMap<String, BTreeMap<String, String>>,
    ) -> Result<Self, Diagnostic> {
        let mut figures = BTreeMap::new();
        for (measure, cells) in tables {
            for (cell, text) in cells {
                let place = || format!("`real.measures.{measure}`");
                let Some((label, experiment)) = cell.split_once('@') else {
                    let problem = format!("`{cell}` is no cell");
                    return Err(Diagnostic::new(problem).allowed("`label@experiment`").prefixed(&place()));
                };
                let Expression::Number(value) =
                    Expression::parse(text).map_err(|error| error.widened().prefixed(&place()))?
                else {
                    return Err(Diagnostic::new(format!("`{text}` is no number")).prefixed(&place()));
                };
                let cell = Cell { label: label.to_owned(), experiment: experiment.to_owned() };
                figures.insert((measure.clone(), cell), value);
            }
        }
        Ok(Self { of, figures })
    }

    /// The measures that it has figures of, and their cells.
    pub(crate) fn known(&self) -> impl Iterator<Item = &(String, Cell)> {
        self.figures.keys()
    }

    /// The value of a measure in a cell.
    pub(crate) fn of_cell(&self, measure: &str, cell: &Cell) -> Option<f64> {
        self.figures.get(&(measure.to_owned(), cell.clone())).copied()
    }

    /// Judges a check by its figures; `None` if it asks for one that is not there.
    fn judge(&self, check: &Check, tolerance: &Tolerance) -> Option<Finding> {
        if self.figures.is_empty() {
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

    #[test]
    fn a_check_is_judged_by_the_figures_of_a_real_system_where_it_has_them_all() {
        let cells = [("fifo@10/1", "287ms"), ("codel@10/1", "77.8ms"), ("pie@10/1", "139ms")];
        let cells = cells.map(|(cell, text)| (cell.to_owned(), text.to_owned()));
        let tables = BTreeMap::from([("latency".to_owned(), BTreeMap::from(cells))]);
        let real = Figures::read("Linux 6.1".to_owned(), &tables).unwrap();
        let judged = |text: &str| {
            let checks = checks(text).unwrap();
            let judge = |check| real.judge(check, &Tolerance::Share);
            let holds = |finding: Finding| finding.outcome == Outcome::Holds;
            checks.iter().map(|check| judge(check).map(holds)).collect::<Vec<_>>()
        };
        assert_eq!(judged("latency[{codel,pie}@10/1] < latency[fifo@10/1]"), [Some(true), Some(true)]);
        assert_eq!(judged("latency[pie@10/1] < latency[codel@10/1] < 1s"), [Some(false)]);
        assert_eq!(
            judged("latency[fifo@10/1] > max(latency[pie@10/1], 2 * latency[codel@10/1])"),
            [Some(true)]
        );
        assert_eq!(judged("latency[fifo@10/1] = 280ms +- 10ms"), [Some(true)]);
        assert_eq!(judged("latency[fifo@10/1] = 300ms +- 10ms"), [Some(false)]);
        assert_eq!(judged("latency[fifo@10/1] = 300ms"), [Some(true)], "10 % of a number are allowed");
        assert_eq!(judged("latency[fifo@10/1] > much * latency[codel@10/1]"), [Some(true)]);
        assert_eq!(judged("latency[sfq@10/1] < latency[fifo@10/1]"), [None]);
        assert_eq!(judged("mean(goodput.down)[fifo@10/1] > 1mbit"), [None]);
        for bad in [("fifo", "1s"), ("fifo@10/1", "fast")] {
            let cells = BTreeMap::from([(bad.0.to_owned(), bad.1.to_owned())]);
            let tables = BTreeMap::from([("latency".to_owned(), cells)]);
            assert!(Figures::read(String::new(), &tables).is_err(), "{bad:?}");
        }
    }
}
