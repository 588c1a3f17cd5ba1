//! Disciplines compared pairwise over equal seeds.
//!
//! Runs with the same seed have the same starts and sizes of flows. The difference within a seed
//! therefore varies less than the values themselves, and its interval is that of a paired t test.

use std::collections::BTreeMap;

use crate::estimate::Estimate;
use crate::metrics;
use crate::results::{Difference, Run};

/// The metrics of one discipline at one point of a sweep, by key and seed.
pub(super) struct Group<'r> {
    pub(super) runs: Vec<&'r Run>,
    /// Values of the catalogue's metrics in the order of the runs; NaN for a run without the
    /// metric.
    values: BTreeMap<String, Vec<f64>>,
}

impl<'r> Group<'r> {
    pub(super) fn new(runs: Vec<&'r Run>) -> Self {
        let mut values = BTreeMap::new();
        for (number, run) in runs.iter().enumerate() {
            for (key, value) in metrics::values(run) {
                // NaN marks a run without the value, so that the places of the others stay those of
                // their runs.
                let of_runs = values.entry(key).or_insert_with(|| vec![f64::NAN; runs.len()]);
                of_runs[number] = value;
            }
        }
        Self { runs, values }
    }

    /// Returns the values of each metric, of the runs that have it.
    pub(super) fn metrics(&self) -> impl Iterator<Item = (&String, Vec<f64>)> {
        let present = |values: &[f64]| values.iter().copied().filter(|value| !value.is_nan()).collect();
        self.values.iter().map(move |(key, values)| (key, present(values)))
    }

    /// Returns the difference of this group's metrics `keys` from those of `other`.
    pub(super) fn minus(&self, other: &Group<'_>, keys: &[String]) -> Difference {
        let earlier: BTreeMap<u64, usize> =
            (0..).zip(&other.runs).map(|(number, run)| (run.seed, number)).collect();
        let of_key = |key: &String| {
            let own = self.values.get(key)?;
            let others = other.values.get(key)?;
            let own = self.runs.iter().zip(own);
            let pairs = own.filter_map(|(run, value)| Some(value - others[*earlier.get(&run.seed)?]));
            let present: Vec<f64> = pairs.filter(|difference| !difference.is_nan()).collect();
            let estimate = Estimate::from_values(&present)?;
            (estimate.count > 1).then(|| (key.clone(), estimate))
        };
        Difference { from: other.runs[0].qdisc.clone(), figures: keys.iter().filter_map(of_key).collect() }
    }
}

#[cfg(test)]
mod tests {
    use crate::results::Run;
    use crate::summary::over_seeds;

    fn run(qdisc: &str, seed: u64, goodput: f64) -> Run {
        let mut run = Run { qdisc: qdisc.to_owned(), seed, ..Run::default() };
        run.goodput.down = goodput;
        run
    }

    #[test]
    fn each_discipline_is_compared_with_those_before_it_seed_by_seed() {
        // The seeds differ much, the disciplines by 1 and 3 within each seed.
        let runs = [
            run("pfifo", 1, 10.0),
            run("pfifo", 2, 50.0),
            run("codel", 2, 53.0),
            run("codel", 1, 11.0),
            run("codel", 3, 99.0),
            run("pie", 1, 10.0),
            run("pie", 2, 50.0),
        ];
        let summary = over_seeds(&runs);
        assert!(summary[0].differences.is_empty());
        let codel = &summary[1].differences[0];
        assert_eq!((codel.from.as_str(), summary[1].differences.len()), ("pfifo", 1));
        let goodput = codel.figures["goodput.down"];
        assert_eq!((goodput.count, goodput.mean), (2, 2.0));
        // Standard deviation sqrt(2), standard error 1, t(1) = 12.706.
        assert!((goodput.ci95.unwrap() - 12.7062).abs() < 1e-9);
        let froms: Vec<&str> =
            summary[2].differences.iter().map(|difference| difference.from.as_str()).collect();
        assert_eq!(froms, ["pfifo", "codel"]);
        assert_eq!(summary[2].differences[0].figures["goodput.down"].ci95, Some(0.0));
    }

    #[test]
    fn points_of_a_sweep_are_not_compared_with_each_other_but_swept_disciplines_are() {
        let at = |key: &str, value: &str, qdisc: &str, seed| {
            let mut run = run(qdisc, seed, 1.0);
            run.sweep.insert(key.to_owned(), value.into());
            run
        };
        let two = |key: &str| {
            let runs = [("a", "pfifo"), ("b", "codel")];
            runs.iter()
                .flat_map(|(value, qdisc)| [1, 2].map(|seed| at(key, value, qdisc, seed)))
                .collect::<Vec<_>>()
        };
        assert!(over_seeds(&two("link.up")).iter().all(|one| one.differences.is_empty()));
        assert_eq!(over_seeds(&two("qdiscs"))[1].differences[0].from, "pfifo");
    }
}
