//! The columns of the tables and of the sweep chart: the catalogue of metrics, as far as these runs
//! have them.

use std::collections::BTreeMap;
use std::rc::Rc;

use goodqueue_scenario::metrics::{Better, Digits, Group, Metric, SOJOURN_IN, Table, catalogue};
use goodqueue_scenario::results::Run;
use goodqueue_scenario::results::{Estimate, median_apart};
use goodqueue_scenario::scenario::Direction;

use crate::escape::clip;
use crate::group::Grouped;

/// One column.
pub(crate) struct Column {
    /// Heading above several columns.
    pub(crate) title: String,
    group: Rc<Group>,
    metric: usize,
}

impl Column {
    /// Heading of the column.
    pub(crate) fn name(&self) -> &str {
        &self.metric().name
    }

    /// Unit, or empty.
    pub(crate) fn unit(&self) -> &'static str {
        self.metric().unit
    }

    /// Meaning, for the documentation.
    pub(crate) fn doc(&self) -> &'static str {
        self.metric().doc
    }

    /// Which values are better.
    pub(crate) fn better(&self) -> Better {
        self.metric().better
    }

    /// Digits of the numbers.
    pub(crate) fn digits(&self) -> Digits {
        self.metric().report.unwrap_or(Digits::Three)
    }

    /// The table that the column is in.
    pub(crate) fn table(&self) -> Table {
        self.group.table
    }

    /// The value of a run where `loaded` carries the load.
    pub(crate) fn value(&self, run: &Run, loaded: Direction) -> Option<f64> {
        self.group.in_report(self.metric(), run, loaded)
    }

    fn metric(&self) -> &Metric {
        &self.group.metrics[self.metric]
    }
}

/// The columns that this report has: those about which any of its runs says something, and those
/// about the link always.
pub(crate) fn columns(grouped: &Grouped<'_>) -> Vec<Column> {
    let runs: Vec<&Run> = runs(grouped).collect();
    let mut of_table = BTreeMap::<_, usize>::new();
    let mut columns = Vec::new();
    for group in catalogue(&runs).into_iter().map(Rc::new) {
        let most = match group.table {
            Table::Queues => MOST_QUEUES,
            _ => usize::MAX,
        };
        let count = of_table.entry(group.table).or_default();
        *count += 1;
        if *count > most {
            continue;
        }
        let shown = (0..group.metrics.len()).filter(|metric| group.metrics[*metric].report.is_some());
        let most = if group.table == Table::Air { MOST_STATIONS } else { usize::MAX };
        // The title of a queue consists of these words and of a name that its scenario chose.
        let title = clip(&group.title, SOJOURN_IN.len() + MOST_LETTERS);
        columns.extend(shown.take(most).map(|metric| Column {
            title: title.clone(),
            group: Rc::clone(&group),
            metric,
        }));
    }
    columns.retain(|column| {
        column.group.is_always_there || runs.iter().any(|run| column.value(run, grouped.link).is_some())
    });
    columns
}

fn runs<'g>(grouped: &'g Grouped<'g>) -> impl Iterator<Item = &'g Run> {
    grouped.points.iter().flat_map(|point| point.runs.iter().flatten()).copied()
}

/// More columns than these nobody reads.
const MOST_STATIONS: usize = 16;
const MOST_QUEUES: usize = 5;
/// Letters of the name of a queue.
const MOST_LETTERS: usize = 40;

/// The mean of a metric over the seeds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Spread {
    /// Mean.
    pub(crate) mean: f64,
    /// Half width of its 95 % confidence interval; `None` with one value.
    pub(crate) ci95: Option<f64>,
    /// Median, if it differs from the mean by more than 20 %.
    pub(crate) median: Option<f64>,
}

impl Spread {
    /// Computes the mean of the values that exist and are finite.
    pub(crate) fn from_values(values: impl Iterator<Item = Option<f64>>) -> Option<Self> {
        let values: Vec<f64> = values.flatten().filter(|v| v.is_finite()).collect();
        let median = median_apart(&values);
        Estimate::from_values(&values).map(|Estimate { mean, ci95, .. }| Self { mean, ci95, median })
    }
}

/// Converts a count to a divisor.
pub(crate) fn count(n: usize) -> f64 {
    // A conversion from 32 bits is exact. The lists of a report are far shorter.
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_of_none_one_and_several() {
        assert_eq!(Spread::from_values([None, Some(f64::NAN)].into_iter()), None);
        assert_eq!(
            Spread::from_values([Some(3.0), None].into_iter()),
            Some(Spread { mean: 3.0, ci95: None, median: None })
        );
        let two = Spread::from_values([Some(1.0), Some(3.0)].into_iter()).unwrap();
        // Student's t with one degree of freedom, times the standard error of 1.
        assert!((two.mean - 2.0).abs() < 1e-12 && (two.ci95.unwrap() - 12.7062).abs() < 1e-9);
    }
}
