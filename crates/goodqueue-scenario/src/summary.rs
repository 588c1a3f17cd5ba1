//! Metrics over seeds: their means, and the differences between disciplines, with confidence
//! intervals.

mod pairs;
pub mod series;

use std::collections::BTreeMap;

use self::pairs::Group;
use crate::estimate::{Estimate, median_apart};
use crate::metrics;
use crate::results::{Aggregate, Results, Run, ScenarioRecord};

/// Returns the results of the runs of a scenario, with the means over their seeds.
#[must_use]
pub fn results(scenario: ScenarioRecord, runs: Vec<Run>) -> Results {
    let summary = over_seeds(&runs);
    Results { goodqueue: env!("CARGO_PKG_VERSION").to_owned(), scenario, runs, summary }
}

/// Returns the means over the seeds of `runs`. The list is empty if there is only one seed.
#[must_use]
pub fn over_seeds(runs: &[Run]) -> Vec<Aggregate> {
    let mut groups: Vec<Vec<&Run>> = Vec::new();
    for run in runs {
        let alike = |group: &&mut Vec<&Run>| group[0].qdisc == run.qdisc && group[0].sweep == run.sweep;
        // The group is one of the last: runs are in the order of points.
        match groups.iter_mut().rev().find(alike) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    if groups.iter().all(|group| group.len() < 2) {
        return Vec::new();
    }
    let mut points: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, group) in groups.iter().enumerate() {
        points.entry(group[0].point()).or_default().push(number);
    }
    let mut all = vec![Aggregate::default(); groups.len()];
    for numbers in points.values() {
        // Each group is of one point only, so it can be moved out of the list.
        let of_point = of_point(numbers.iter().map(|number| std::mem::take(&mut groups[*number])));
        for (number, one) in numbers.iter().zip(of_point) {
            all[*number] = one;
        }
    }
    all
}

/// Returns the summaries of the disciplines at one point of the sweep.
fn of_point<'r>(groups: impl Iterator<Item = Vec<&'r Run>>) -> Vec<Aggregate> {
    let groups: Vec<Group<'_>> = groups.map(Group::new).collect();
    let all: Vec<&Run> = groups.iter().flat_map(|group| &group.runs).copied().collect();
    let catalogue = metrics::catalogue(&all);
    let keys: Vec<String> = metrics::by_key(&catalogue).into_iter().map(|metric| metric.key).collect();
    let with_differences = |(number, group): (usize, &Group<'_>)| {
        // Each pair has one difference, which the later of its disciplines lists.
        let differences = groups[..number].iter().map(|earlier| group.minus(earlier, &keys)).collect();
        Aggregate { differences, ..aggregate(group) }
    };
    groups.iter().enumerate().map(with_differences).collect()
}

fn aggregate(group: &Group<'_>) -> Aggregate {
    let runs = &group.runs;
    Aggregate {
        qdisc: runs[0].qdisc.clone(),
        sweep: runs[0].sweep.clone(),
        seeds: runs.len() as u64,
        medians: group
            .metrics()
            .filter_map(|(key, values)| Some((key.clone(), median_apart(&values)?)))
            .collect(),
        figures: group
            .metrics()
            .filter_map(|(key, values)| Some((key.clone(), Estimate::from_values(&values)?)))
            .collect(),
        differences: Vec::new(),
        series: series::means(runs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seed: u64, goodput: f64) -> Run {
        let mut run = Run { qdisc: "sfq".to_owned(), seed, ..Run::default() };
        run.goodput.down = goodput;
        run
    }

    #[test]
    fn medians_are_listed_only_where_they_differ_from_the_means() {
        // The mean is 6.3e6, so the median of 9e6 is more than a fifth away.
        let moved = over_seeds(&[run(1, 1e6), run(2, 9e6), run(3, 9e6)]);
        assert_eq!(moved[0].medians, BTreeMap::from([("goodput.down".to_owned(), 9e6)]));
        // The mean of 8.7e6 is near the median.
        let steady = over_seeds(&[run(1, 8e6), run(2, 9e6), run(3, 9e6)]);
        assert!(!serde_json::to_string(&steady).unwrap_or_default().contains("medians"));
    }
}
