//! Remarks below the tables about means that a few seeds move.

use goodqueue_scenario::metrics::{Better, Column, KeyedMetric, Metric};
use goodqueue_scenario::results::Run;
use goodqueue_scenario::results::{Estimate, median_apart};
use goodqueue_tc::printable;

use super::line::{Line, digits_of, show, value};

/// Returns one line for each discipline with metrics of these columns whose median differs from
/// their mean, below a line that says so; empty without any.
pub(super) fn remarks(lines: &[Line<'_>], columns: &[Column<'_>]) -> String {
    let told = lines.iter().filter_map(|line| {
        let all: Vec<String> = columns.iter().flat_map(|column| of_column(line, column)).collect();
        let beyond = all.len().saturating_sub(MOST);
        let more = if beyond > 0 { format!("; {beyond} more (--json)") } else { String::new() };
        let shown = all.into_iter().take(MOST).collect::<Vec<_>>().join("; ");
        (!shown.is_empty()).then(|| format!("  {}: {shown}{more}", line.label()))
    });
    below(told.collect())
}

/// Describes the numbers of a column by the words of its heading.
fn of_column(line: &Line<'_>, column: &Column<'_>) -> Vec<String> {
    let title = column.heading.split('\n').next().unwrap_or_default();
    let names = column.heading.rsplit('\n').next().unwrap_or_default().split('/');
    let told = column.parts.iter().zip(names).filter_map(|(part, name)| {
        // Drops, for example, are no result by themselves.
        let metric = Some(part.0).filter(|metric| metric.better != Better::Neither)?;
        let both = both(line, |run| value(run, part.0, part.1), metric)?;
        // Of a mean over seeds, the mean of a run needs no mention.
        let name = if name == "mean" { "" } else { name };
        Some(
            format!("{title} {name} {both} {}", metric.unit).split_whitespace().collect::<Vec<_>>().join(" "),
        )
    });
    told.collect()
}

/// Returns the same about one metric at all points of a sweep, each with its name.
pub(super) fn across<'l>(
    points: impl Iterator<Item = (String, &'l Line<'l>)>,
    metric: &KeyedMetric<'_>,
) -> String {
    let told = points.filter_map(|(name, line)| {
        Some(format!("  {name}: {}", both(line, |run| metric.value_of(run), metric.metric)?))
    });
    let mut told: Vec<String> = told.collect();
    let beyond = told.len().saturating_sub(MOST_POINTS);
    told.truncate(MOST_POINTS);
    if beyond > 0 {
        told.push(format!("  {beyond} more values (--json)"));
    }
    below(told)
}

fn below(told: Vec<String>) -> String {
    if told.is_empty() {
        return String::new();
    }
    let told: Vec<_> = told.iter().map(|line| printable::line(line)).collect();
    format!("The mean and the median over the seeds differ by more than 20 %:\n{}\n", told.join("\n"))
}

/// Formats the mean and the median; `None` if they are shown alike.
fn both(line: &Line<'_>, of: impl Fn(&Run) -> Option<f64>, metric: &Metric) -> Option<String> {
    let values: Vec<f64> = line.runs.iter().map(|run| of(run)).collect::<Option<_>>()?;
    let median = median_apart(&values)?;
    let mean = Estimate::from_values(&values)?.mean;
    let digits = digits_of(metric);
    let mean = show(Some(mean), digits);
    let median = show(Some(median), digits);
    (mean != median).then(|| format!("mean {mean}, median {median}"))
}

/// Metrics of a discipline.
const MOST: usize = 3;
/// Values of a sweep.
const MOST_POINTS: usize = 5;

#[cfg(test)]
mod tests {
    use goodqueue_scenario::metrics::{Group, by_key, catalogue};
    use goodqueue_scenario::results::Run;

    use super::super::line::lines;
    use super::*;
    use crate::fixtures::run;

    fn with_pings(qdisc: &str, added_s: &[f64]) -> Vec<Run> {
        let one = |(seed, added): (u64, &f64)| {
            let mut run = run(qdisc, seed, None);
            run.induced_latency_s.mean = Some(*added);
            run
        };
        (1..).zip(added_s).map(one).collect()
    }

    #[test]
    fn a_mean_that_one_seed_moves_has_its_median_in_a_remark() {
        let collision = with_pings("sfq", &[0.02, 0.02, 0.3, 0.02, 0.021]);
        let steady = with_pings("pie", &[0.02, 0.021, 0.022, 0.02, 0.021]);
        let runs: Vec<&Run> = collision.iter().chain(&steady).collect();
        let groups = catalogue(&runs);
        let columns: Vec<Column<'_>> = groups.iter().flat_map(Group::columns).collect();
        assert_eq!(
            remarks(&lines(&runs), &columns),
            "The mean and the median over the seeds differ by more than 20 %:\n  \
             sfq: induced latency mean 76.2, median 20.0 ms\n"
        );
        assert_eq!(remarks(&lines(&[&collision[2]]), &columns), "", "one seed has no median");
    }

    #[test]
    fn a_sweep_names_the_points_of_such_means_and_counts_further_ones() {
        let runs = with_pings("sfq", &[0.02, 0.02, 0.3]);
        let runs: Vec<&Run> = runs.iter().collect();
        let groups = catalogue(&runs);
        let keyed = by_key(&groups);
        let metric = keyed.iter().find(|of| of.key == "induced_latency_s.mean").unwrap();
        let lines = lines(&runs);
        let points = (1..9).map(|number| (format!("link.up = {number}mbit, sfq"), &lines[0]));
        let told = across(points, metric);
        assert!(told.contains("\n  link.up = 1mbit, sfq: mean 113, median 20.0\n"), "{told}");
        assert!(told.ends_with("\n  3 more values (--json)\n"), "{told}");
    }
}
